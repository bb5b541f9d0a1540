"""Who may open the page: requests of foreign pages and of foreign names are turned away before anything is said.

A page of any site may open a WebSocket to 127.0.0.1 in the browser of whoever looks at it, and a name may be made to
lead there (DNS rebinding). The browser tells both: in ``Origin`` which page asks, in ``Host`` which name it used. So

- ``Host`` must be a loopback address or name, or what the server was told to listen at, with any port: a port that ssh
  forwards is another one. A server that listens at every address also takes any address written as a number, which no
  name server can turn elsewhere, and this machine's own name.
- ``Origin``, where there is one, must be the page itself: the same host and port as ``Host``.
- What has no ``Origin`` is no web page: programs on this machine may ask. Browsers send it with every WebSocket.

Origins that are allowed besides are told one by one.
"""

from __future__ import annotations

import contextlib
import http
import importlib
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..errors import InputError

EVERYWHERE = ("", "0.0.0.0", "::", "*")
"""Addresses that stand for all of this machine's."""
PORTS = {"http": 80, "https": 443}
PATIENCE = 10.0
"""How long the server may take to turn away a request [s]."""
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_starting = threading.Lock()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a page comes from: scheme, host in lower case (an address in its shortest form), port."""

    scheme: str
    host: str
    port: int

    @staticmethod
    def parsed(text: str) -> Origin | None:
        """Return an origin as browsers write it, e.g. "http://localhost:8080"; None where it is none."""
        scheme, _, rest = text.partition("://")
        place = _place(rest)
        if scheme.lower() not in PORTS or place is None:
            return None
        return Origin(scheme.lower(), place[0], place[1] or PORTS[scheme.lower()])


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """What is let in.

    Attributes:
        hosts: Names and addresses that are taken besides loopback ones.
        any_address: Whether every address written as a number is taken.
        origins: Origins that are taken besides the page's own; their hosts are taken too.
    """

    hosts: frozenset[str]
    any_address: bool
    origins: frozenset[Origin]

    @staticmethod
    def at(host: str, allow_origins: Sequence[str] = ()) -> Doorkeeper:
        """Return the rules of a server.

        Args:
            host: Address or name that it listens at.
            allow_origins: Further origins, e.g. "https://robot.example".

        Raises:
            InputError: One is no origin.
        """
        origins = set()
        for text in allow_origins:
            origin = Origin.parsed(text)
            if origin is None:
                raise InputError(
                    f"{text!r} is no origin; expected scheme, host and perhaps a port, e.g. https://robot.example:8443"
                )
            origins.add(origin)
        everywhere = host in EVERYWHERE
        own = socket.gethostname().lower()
        names = {own, f"{own.partition('.')[0]}.local"} if everywhere else {_plain(host)}
        return Doorkeeper(frozenset(names | {origin.host for origin in origins}), everywhere, frozenset(origins))

    def refusal(self, hosts: Sequence[str], origins: Sequence[str]) -> str:
        """Return why a request is turned away; "" where it is let in.

        Args:
            hosts: Its Host headers.
            origins: Its Origin headers.
        """
        if len(hosts) != 1 or (place := _place(hosts[0])) is None:
            return "the request needs one valid Host header"
        name, port = place
        if not self._takes(name):
            return f"host {name!r} is not this page; open it by the address that was printed"
        if not origins:
            return ""
        origin = Origin.parsed(origins[0]) if len(origins) == 1 else None
        if origin is None:
            return "the request needs one valid Origin header, or none"
        own = (origin.host, origin.port) == (name, port or PORTS[origin.scheme])
        return "" if own or origin in self.origins else "another page asks; start with --allow-origin to let it in"

    def _takes(self, name: str) -> bool:
        if name in self.hosts or name == "localhost":
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.any_address or address.is_loopback

    def asked(self, inner: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
        """Return what websockets calls with every request, of pages and of WebSockets alike.

        Args:
            inner: What it called before.
        """

        def process_request(connection: Any, request: Any) -> Any:
            why = self.refusal(request.headers.get_all("Host"), request.headers.get_all("Origin"))
            if why:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{why}\n")
            response = None if inner is None else inner(connection, request)
            if response is not None:  # a page inside a foreign one could be clicked on unseen
                response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
                response.headers["X-Frame-Options"] = "DENY"
            return response

        return process_request


@contextlib.contextmanager
def guarding(keeper: Doorkeeper) -> Iterator[None]:
    """Give the viser server that is started inside this context a doorkeeper.

    viser starts ``websockets.asyncio.server.serve`` and has no option for what that asks of a request, so the function
    is exchanged meanwhile. :func:`refuse_open_door` tells whether it worked.
    """
    module = importlib.import_module("websockets.asyncio.server")
    with _starting:
        plain = module.serve

        def serve(handler: Any, *arguments: Any, **options: Any) -> Any:
            if handler.__module__.partition(".")[0] == "viser":
                options["process_request"] = keeper.asked(options.get("process_request"))
            return plain(handler, *arguments, **options)

        setattr(module, "serve", serve)  # noqa: B010
        try:
            yield
        finally:
            setattr(module, "serve", plain)  # noqa: B010


def refuse_open_door(host: str, port: int) -> None:
    """Ask a started server as a foreign page would, and refuse to go on where it lets that in.

    Args:
        host: Address that it listens at.
        port: Its port.

    Raises:
        InputError: The request was not turned away.
    """
    asked = (
        "GET / HTTP/1.1\r\nHost: foreign.invalid\r\nOrigin: http://foreign.invalid\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    near = {"": "127.0.0.1", "*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    try:
        with socket.create_connection((near, port), PATIENCE) as client:
            client.sendall(asked.encode())
            answer = client.recv(64)
    except OSError as error:
        answer = str(error).encode()
    if not answer.startswith(b"HTTP/1.1 403 "):
        raise InputError(
            f"the page would let foreign pages push the arm: it answered {answer[:40]!r} instead of 403. Install "
            "another version of viser (1.1)"
        )


def _plain(name: str) -> str:
    """Return a host as it is compared: in lower case, an address in its shortest form, without brackets."""
    bare = name.strip("[]").lower()
    try:
        return ipaddress.ip_address(bare).compressed
    except ValueError:
        return bare


def _place(text: str) -> tuple[str, int | None] | None:
    """Return host and port of "host", "host:port" or "[::1]:port"; None where it is none of them."""
    if _HOST.fullmatch(text) is None:
        return None
    try:
        split = urlsplit(f"//{text}")
        return _plain(split.hostname or ""), split.port
    except ValueError:  # a port beyond 65535, or brackets around no address
        return None
