"""``counterpoise record``: the plan, the log, real plants only with --yes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import counterpoise as cp
from counterpoise.identification import arrivals
from counterpoise.plants import SimulatedArm, ideal
from counterpoise.recording import read_log

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

QUICK = ("--dwell", 0.1, "--settle", 0.3)


@pytest.fixture
def poses(tmp_path):
    """One pose of the planar arm."""
    path = tmp_path / "poses.csv"
    path.write_text(",".join(cp.load("planar3").joint_names) + "\n0.2,-0.3,0.4\n")
    return path


class Registered:
    """An entry point whose plant is not simulated as far as the command can know."""

    value = "tests:arm"

    def __init__(self) -> None:
        self.entered = 0
        self.options: dict[str, Any] = {}

    def load(self) -> Any:
        """Return what makes the plant."""

        def make(port: str = "", rate: int = 0, watchdog: float | None = 0.1) -> SimulatedArm:
            self.options = {"port": port, "rate": rate}
            registered = self

            class Arm(SimulatedArm):
                def __enter__(self) -> Any:
                    registered.entered += 1
                    return super().__enter__()

            return Arm(cp.load("planar3"), replace(ideal(dt=2e-3), watchdog=watchdog))

        return make


@pytest.fixture
def driver(monkeypatch):
    """Register a plant called "mydriver"."""
    registered = Registered()
    for place in ("control", "control.plant"):
        monkeypatch.setattr(f"counterpoise.{place}.installed_plants", lambda: {"mydriver": registered})
    return registered


def test_simulated_arm_is_recorded(run, tmp_path):
    """The plan is printed first; the log has both approaches of the pose."""
    poses = tmp_path / "poses.csv"
    poses.write_text("joint1,joint2,joint3,joint4,joint5,joint6\n0.1,0.7,-3.0,0.1,0.7,0.1\n")
    out = tmp_path / "run.npz"
    result = run("record", "puma550", "--poses", poses, "--out", out, *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Plan: 1 poses, each from both sides") < result.stdout.index("Recorded ")
    assert "2 of 2 approaches" in result.stdout
    assert "did not come to rest" not in result.stderr
    found = arrivals(read_log(out))
    assert [(arrival.pose, arrival.side) for arrival in found] == [(0, "above"), (0, "below")]
    assert all(arrival.failed == [] for arrival in found)


def test_real_plant_needs_yes_and_is_not_even_switched_on(run, poses, tmp_path, driver):
    """Without --yes the plan is shown and nothing else happens."""
    arguments = ("record", "mydriver", "--robot", "planar3", "--poses", poses, "--out", tmp_path / "run.npz")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Plan: 1 poses" in result.stdout and "add --yes" in result.stderr
    assert driver.entered == 0
    assert not (tmp_path / "run.npz").exists()


def test_real_plant_is_driven_with_its_options(run_json, poses, tmp_path, driver):
    """Options are numbers where they read as such, text otherwise."""
    options = ("--option", "port=/dev/tty0", "--option", "rate=500")
    out = tmp_path / "run.npz"
    document = run_json(
        *("record", "mydriver", "--robot", "planar3", "--poses", poses, "--out", out, *QUICK, *options, "--yes")
    )
    assert driver.options == {"port": "/dev/tty0", "rate": 500}
    assert driver.entered == 1
    assert document["reached"] == document["approaches"] == 2 and out.exists()
    assert document["largest_speed"].keys() == set(cp.load("planar3").joint_names)


def test_plant_without_watchdog_needs_the_words(run, poses, tmp_path, driver):
    """The loop refuses before anything moves, unless the words are said."""
    arguments = ("record", "mydriver", "--robot", "planar3", "--poses", poses, "--out", tmp_path / "run.npz", "--yes")
    result = run(*arguments, "--option", "watchdog=null")
    assert result.exit_code == 1 and "no watchdog" in result.stderr
    assert driver.entered == 0
    words = "I have an emergency stop within reach"
    assert run(*arguments, *QUICK, "--option", "watchdog=null", "--estop", words).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("mydriver",), 2, "needs the arm's model"),
        (("mydriver", "--robot", "planar3", "--option", "x"), 2, "key=value"),
        (("mydriver", "--robot", "planar3", "--option", "speed=1"), 1, "cannot be made with speed"),
        (("mydriver", "--robot", "wam7"), 1, "joint"),
        (("nothing",), 1, "there is no plant 'nothing'"),
        (("puma550", "--robot", "planar3"), 2, "brings its own model"),
        (("puma550",), 1, "joint6"),
    ],
)
def test_refusals(run, poses, tmp_path, driver, arguments, code, said):
    """Named, with the right exit code, and nothing is switched on."""
    result = run("record", *arguments, "--poses", poses, "--out", tmp_path / "run.npz")
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert driver.entered == 0
