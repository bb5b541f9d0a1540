"""Serving without a browser: states reach a client, a killed server stops the arm safely, and the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from counterpoise.cli.main import main
from counterpoise.errors import InputError
from counterpoise.view.arms import view_arm
from counterpoise.view.comparison import compared
from counterpoise.view.session import Session

viser = pytest.importorskip("viser", reason="viser is not installed: pip install 'counterpoise[view]'")
pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'counterpoise[sim]'")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def test_states_of_a_seven_joint_arm_reach_a_client() -> None:
    """A client gets message after message while the arm floats; how many a second is only told."""
    from websockets.sync.client import connect

    from counterpoise.view.page import ViewPage

    with Session(view_arm("wam7")) as session:
        page = ViewPage(session, port=18095)
        try:
            address = page.url.replace("http", "ws")
            with connect(address, subprotocols=[f"viser-v{viser.__version__}"], max_size=None) as client:
                client.recv(timeout=30)
                session.set_gravity(False)  # what does not move is not sent again
                sent, messages, begun = page.frames, 0, time.monotonic()
                while time.monotonic() < begun + 3.0:
                    client.recv(timeout=30)
                    messages += 1
                rate = (page.frames - sent) / (time.monotonic() - begun)
            shot = session.snapshot
            print(f"{rate:.1f} states a second sent, {messages / 3.0:.1f} messages got, pace {shot.pace:.2f}")
            assert messages > 5
            assert page.frames > sent + 5
        finally:
            page.close()
            page.close()


@pytest.mark.parametrize(
    ("arm", "number", "stop"),
    [("puma550", signal.SIGTERM, "brake"), ("planar3", signal.SIGINT, "zero"), ("planar3", signal.SIGHUP, "zero")],
)
def test_a_killed_server_leaves_the_arm_in_its_safe_state(arm: str, number: signal.Signals, stop: str) -> None:
    """The process ends by itself, with exit code 0, after the loop's safe stop and the plant's own."""
    # Tests that were started in the background ignore SIGINT and SIGHUP, and so would the server: it must be as from
    # a terminal.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    start += "signal.signal(signal.SIGHUP, signal.SIG_DFL)\nfrom counterpoise.cli.main import main; main()"
    command = [sys.executable, "-c", start, "view", arm, "--port", "18096", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert "is at http://127.0.0.1:" in line
        process.send_signal(number)
        told, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    served = json.loads(told.strip().splitlines()[-1])
    assert process.returncode == 0
    assert (served["ended_by"], served["end"], served["stop"]) == (number.name, "gravity stop", stop)


A_THOUSAND_KILLS = """
import random, signal
from counterpoise.view import page

class Quiet:  # a page and a session that do nothing
    url, frames, report = "", 0, None
    def __init__(self, *_, **__): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def close(self): pass

page.Session = page.ViewPage = Quiet
page.NAP = 1e-3
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
for _ in range(1000):
    started = lambda _: signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 1e-4))
    assert page.serve(None, started=started).ended_by == "SIGTERM"
"""


def test_no_moment_of_a_signal_is_missed() -> None:
    """A signal at any instruction around the wait ends it: a lock held there once hung it."""
    subprocess.run([sys.executable, "-c", A_THOUSAND_KILLS], check=True, timeout=60)


def test_it_ends_by_itself_after_a_time() -> None:
    """--duration ends it; the line says how the arm ended."""
    result = CliRunner().invoke(main, ["view", "planar3", "--port", "18097", "--duration", "0.5"])
    assert result.exit_code == 0, result.output
    assert "ended by time" in result.output
    assert "completed" in result.output


def test_an_open_address_is_warned_about() -> None:
    """Whoever listens to others is told what that means."""
    result = CliRunner().invoke(main, ["view", "planar3", "--port", "18098", "--duration", "0.2", "--host", "0.0.0.0"])
    assert "without a password" in result.output


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["view", "titan2:flow-valve"], "cannot float", 1),
        (["view", "nothing"], "nothing", 1),
        (["view", "wam7", "--mount-rpy", "0", "0", "1"], "presets stand upright", 2),
        (["view", "planar3", "--replay", "none.npz"], "cannot be read", 1),
        (["view", "planar3", "--friction-fraction", "1.5"], "--friction-fraction", 2),
        (["view", "planar3", *(["--calibration", "x"] * 3)], "once or twice", 2),
    ],
)
def test_what_cannot_be_shown_is_refused_before_anything_runs(arguments: list[str], words: str, code: int) -> None:
    """With a message and an exit code that a script can use."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code
    assert words in result.output


def test_a_calibration_is_compared_with_the_description(tmp_path: Path) -> None:
    """One file: the description against it; two: one against the other; three are refused."""
    from counterpoise.dynamics import load
    from counterpoise.fitting import static_poses
    from counterpoise.identification import calibrate, design_poses
    from library.calibration_data import other_masses

    robot = load("wam4")
    real, poses = other_masses(robot), design_poses(robot, 10)
    fit = calibrate(robot, static_poses(robot.joint_names, poses, real.gravity(poses)))
    file = str(fit.save(tmp_path / "real.calibration.json"))
    q = np.array([0.1, 0.4, -0.3, 1.2])
    one = compared(robot, (file,))
    assert one is not None
    assert one.labels[0] == "description"
    assert np.allclose(one.first.gravity(q), robot.gravity(q))
    assert np.abs(one.second.gravity(q) - real.gravity(q)).max() < np.abs(robot.gravity(q) - real.gravity(q)).max()
    two = compared(robot, (file, file))
    assert two is not None
    assert np.array_equal(two.first.gravity(q), two.second.gravity(q))
    assert compared(robot, ()) is None
    with pytest.raises(InputError, match="two can be compared"):
        compared(robot, (file, file, file))
