"""Who may open the page, over real sockets: foreign pages and foreign names get 403, before a WebSocket or a file."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.cli.main import main
from counterpoise.errors import InputError
from counterpoise.view import page as page_module
from counterpoise.view.doorkeeper import Doorkeeper, guarding, refuse_open_door

viser = pytest.importorskip("viser", reason="viser is not installed: pip install 'counterpoise[view]'")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

FIRST_PORT = 18110


@contextlib.contextmanager
def served(host: str = "127.0.0.1", allow_origins: tuple[str, ...] = ()) -> Iterator[int]:
    """The page's own server, without an arm; yields its port."""
    server = page_module._server(host, FIRST_PORT, Doorkeeper.at(host, allow_origins))
    try:
        yield server.get_port()
    finally:
        server.stop()


def status(port: int, *headers: str, address: str = "127.0.0.1", upgrade: bool = True) -> int:
    """Send one request with exactly these headers, and return the answer's status."""
    lines = ["GET / HTTP/1.1", *headers]
    if upgrade:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", f"Sec-WebSocket-Protocol: viser-v{viser.__version__}"]
    with socket.create_connection((address, port), 30.0) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = client.recv(200).decode("latin-1")
    return int(answer.split()[1])


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served() as found:
        yield found


@pytest.mark.parametrize(
    "headers",
    [
        ("Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}"),
        ("Host: localhost:{port}", "Origin: http://localhost:{port}"),
        ("Host: LOCALHOST:9000", "Origin: http://localhost:9000"),  # ssh -L 9000:localhost:8080
        ("Host: [::1]:7000", "Origin: http://[::1]:7000"),
        ("Host: 127.1.2.3", "Origin: http://127.1.2.3"),
        ("Host: localhost", "Origin: https://localhost"),  # behind a proxy that ends TLS on this machine
        ("Host: localhost:443", "Origin: https://localhost"),
        ("Host: localhost:{port}",),  # no browser: a program on this machine
    ],
)
def test_the_page_itself_is_let_in(port: int, headers: tuple[str, ...]) -> None:
    made = [header.format(port=port) for header in headers]
    assert status(port, *made) == 101
    assert status(port, *made, upgrade=False) == 200


@pytest.mark.parametrize(
    "headers",
    [
        ("Host: 127.0.0.1:{port}", "Origin: http://evil.example"),
        ("Host: 127.0.0.1:{port}", "Origin: http://evil.example:{port}"),
        ("Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:9"),  # another program's page on this machine
        ("Host: 127.0.0.1:{port}", "Origin: http://localhost:{port}"),
        ("Host: 127.0.0.1:{port}", "Origin: null"),
        ("Host: 127.0.0.1:{port}", "Origin: "),
        ("Host: 127.0.0.1:{port}", "Origin: file://"),
        ("Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}.evil.example"),
        ("Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}@evil.example"),
        ("Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}", "Origin: http://evil.example"),
        ("Host: evil.example:{port}", "Origin: http://evil.example:{port}"),  # DNS rebinding
        ("Host: evil.example:{port}",),
        ("Host: 127.0.0.1.evil.example",),
        ("Host: localhost.evil.example",),
        ("Host: 192.168.0.5:{port}",),
        ("Host: 2130706433",),
        ("Host: localhost@evil.example",),
        ("Host: localhost:99999",),
        ("Host: ",),
        (),
        ("Host: localhost", "Host: evil.example"),
    ],
)
def test_foreign_pages_and_names_get_403(port: int, headers: tuple[str, ...]) -> None:
    made = [header.format(port=port) for header in headers]
    assert status(port, *made) == 403
    assert status(port, *made, upgrade=False) == 403


def test_a_server_for_everybody_takes_addresses_but_no_foreign_names() -> None:
    """A phone opens it by the machine's address; a name that a foreign server made lead here is turned away."""
    with served("0.0.0.0") as port:
        assert status(port, "Host: 192.168.0.5:8080", "Origin: http://192.168.0.5:8080") == 101
        assert status(port, f"Host: {socket.gethostname()}:8080") == 101
        assert status(port, "Host: 192.168.0.5:8080", "Origin: http://evil.example") == 403
        assert status(port, "Host: evil.example:8080", "Origin: http://evil.example:8080") == 403


def test_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with served("::1") as port:
        own = (f"Host: [::1]:{port}", f"Origin: http://[0:0:0:0:0:0:0:1]:{port}")
        assert status(port, *own, address="::1") == 101
        assert status(port, "Host: [::1]", "Origin: http://evil.example", address="::1") == 403
        assert status(port, "Host: [2001:db8::1]", address="::1") == 403


def test_a_name_that_was_given_is_taken() -> None:
    keeper = Doorkeeper.at("Robot.Local")
    assert keeper.refusal(["robot.local:8080"], ["http://robot.local:8080"]) == ""
    assert keeper.refusal(["localhost:8080"], ["http://localhost:8080"]) == ""
    assert keeper.refusal(["other.local:8080"], []) != ""


def test_an_origin_that_was_allowed_is_let_in() -> None:
    """By its own name, behind a proxy, or from its own page to this machine; another port or scheme is another page."""
    with served(allow_origins=("https://robot.example",)) as port:
        assert status(port, "Host: robot.example", "Origin: https://robot.example") == 101
        assert status(port, f"Host: 127.0.0.1:{port}", "Origin: https://robot.example") == 101
        assert status(port, f"Host: 127.0.0.1:{port}", "Origin: https://robot.example:8443") == 403
        assert status(port, f"Host: 127.0.0.1:{port}", "Origin: http://robot.example") == 403
        assert status(port, f"Host: 127.0.0.1:{port}", "Origin: https://evil.example") == 403


def test_what_is_no_origin_is_refused() -> None:
    for text in ("robot.example", "*", "ftp://a", "https://", "https://a/b", "https://a:99999", "null"):
        with pytest.raises(InputError, match="is no origin"):
            Doorkeeper.at("127.0.0.1", (text,))
    result = CliRunner().invoke(main, ["view", "planar3", "--duration", "0.1", "--allow-origin", "robot.example"])
    assert result.exit_code == 1 and "is no origin" in result.output


LOCAL = Doorkeeper.at("127.0.0.1")
PIECES = st.text(alphabet="localhost127.0:[]@/%ev\u0660 ", max_size=20) | st.sampled_from(["localhost", "127.0.0.1:1"])


@given(st.lists(PIECES, max_size=2), st.lists(PIECES.map("http://{}".format) | PIECES, max_size=2))
@settings(max_examples=100)
def test_any_headers_are_judged(hosts: list[str], origins: list[str]) -> None:
    """Never an exception; what is let in names this machine."""
    why = LOCAL.refusal(hosts, origins)
    assert why or hosts[0].startswith(("localhost", "127.", "[::1]", "[0", "[::"))


def test_the_page_cannot_be_framed(port: int) -> None:
    """A foreign page that shows ours inside itself could have it clicked on unseen."""
    with socket.create_connection(("127.0.0.1", port), 30.0) as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = client.recv(2000).decode("latin-1")
    assert "X-Frame-Options: DENY" in head and "frame-ancestors 'none'" in head


def test_a_viser_that_cannot_be_guarded_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version may start its server in another way: the page asks itself before anybody else can."""
    monkeypatch.setattr(page_module, "guarding", lambda _: contextlib.nullcontext())
    with pytest.raises(InputError, match="foreign pages push the arm"):
        page_module._server("127.0.0.1", FIRST_PORT + 40, Doorkeeper.at("127.0.0.1"))


def test_a_silent_server_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        other.close()
        with pytest.raises(InputError, match="instead of 403"):
            refuse_open_door("127.0.0.1", number)


def test_other_servers_are_left_alone() -> None:
    """The function that is exchanged for a moment guards viser's server and no other."""
    from websockets.asyncio import server

    async def handler(_: Any) -> None: ...

    async def ask() -> int:
        with guarding(LOCAL):
            other = await server.serve(handler, "127.0.0.1", 0)
        async with other:
            number = next(iter(other.sockets)).getsockname()[1]
            return await asyncio.to_thread(status, number, "Host: other.example", "Origin: http://other.example")

    before = server.serve
    assert asyncio.run(ask()) == 101
    assert server.serve is before
