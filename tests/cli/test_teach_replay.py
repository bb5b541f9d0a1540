"""``counterpoise teach`` and ``counterpoise replay``: from a guided arm to a followed path, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import counterpoise as cp
from counterpoise.cli.main import main
from counterpoise.plants import SimulatedArm, ideal
from counterpoise.recording import Sample
from counterpoise.tasks import TaughtPath, read_path, write_path
from library.floating_arms import PLANAR, planar, pushed

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

pytestmark = pytest.mark.usefixtures("creeping_twice")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, creeping_twice: None) -> tuple[Path, Any]:
    """A path that the simulated hand taught to the WAM, and what the command printed."""
    file = tmp_path_factory.mktemp("taught") / "loop.path.csv"
    arguments = ["teach", "wam7", "--demo", "--demo-size", "0.05", "--duration", "7.5", "--out", str(file), "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return file, json.loads(result.stdout)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A short reach of the WAM from where its preset stands."""
    robot, start = cp.load("wam7"), np.array([0.0, -1.0, 0.0, 2.0, 0.0, 0.5, 0.0])
    file = tmp_path / "reach.path.csv"
    shift = np.array([0.1, 0.1, 0.0, -0.1, 0.0, 0.0, 0.0])
    write_path(TaughtPath.of(robot, [0.0, 0.5, 1.0], [start, start + 0.5 * shift, start + shift], name="reach"), file)
    return file


def test_a_guided_arm_leaves_a_path(taught: tuple[Path, Any]) -> None:
    """The file holds the loop that the hand led the tip around, with joints and units; the ends were cut off."""
    file, told = taught
    path = read_path(file)
    robot = cp.load("wam7")
    assert told["rows"] == len(path.time) and told["name"] == path.name == "loop"
    assert path.robot == "wam7" and path.units == ("rad",) * 7 and "plant" in path.notes
    tip = robot.forward_kinematics(path.for_robot(robot).q)[:, :3, 3]
    assert 0.07 < np.ptp(tip[:, 2]) < 0.12  # a loop of 10 cm
    assert np.linalg.norm(tip[0] - tip[-1]) < 0.03
    assert sum(told["trimmed"]) > 0.5 and told["ended"] == "done"
    assert told["moved_tips"]["toolplate"] < 2e-3


def test_the_taught_path_is_replayed(taught: tuple[Path, Any], run_json: Any, tmp_path: Path) -> None:
    """Planned, followed within a centimetre, drawn on a page."""
    page = tmp_path / "replay.html"
    told = run_json("replay", "wam7", taught[0], "--speed", 2, "--page", page)
    assert told["report"]["outcome"] == "completed"
    assert 0.0 < told["report"]["tips"][0]["largest"] < 0.015
    assert "Replay of loop" in page.read_text(encoding="utf-8")


def test_a_dry_run_moves_nothing(short: Path, run: Any, run_json: Any, tmp_path: Path) -> None:
    """The plan is told and drawn, and there is no report."""
    page = tmp_path / "plan.html"
    told = run_json("replay", "wam7", short, "--dry-run", "--page", page)
    assert told["report"] is None and told["plan"]["path"] == "reach"
    assert "can follow this path" in page.read_text(encoding="utf-8")
    shown = run("replay", "wam7", short, "--dry-run")
    assert shown.exit_code == 0 and "Plan: 'reach'" in shown.stdout
    assert "collisions" in shown.stderr


def test_a_short_replay_prints_its_errors(short: Path, run: Any, tmp_path: Path) -> None:
    """A table with tip and joints; the recording is written where asked."""
    log = tmp_path / "run.npz"
    result = run("replay", "wam7", short, "--out", log)
    assert result.exit_code == 0, result.output
    assert "completed" in result.stdout and "tip toolplate" in result.stdout and "joint7" in result.stdout
    assert len(cp.read_log(log)) > 500


def test_infeasible_paths_name_instant_joint_and_speed(short: Path, run_json: Any) -> None:
    """As JSON, for scripts."""
    error = run_json("replay", "wam7", short, "--speed", 10, "--dry-run", exit_code=1)["error"]
    assert error["kind"] == "InfeasiblePathError"
    assert error["joint"] in cp.load("wam7").joint_names and error["time"] >= 0.0
    assert 0.01 < error["feasible_speed"] < 10.0


def test_an_arm_that_strays_ends_with_an_error(short: Path, run_json: Any) -> None:
    """A bound that PD without gravity cannot keep."""
    told = run_json("replay", "wam7", short, "--law", "pd", "--bound", 0.01, exit_code=1)
    assert told["report"]["outcome"] == "aborted" and "joint" in told["report"]["reason"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("teach", "wam7", "--out", "x.path.csv"), 2, "--demo"),
        (("teach", "wam7", "--demo", "--out", "x.json"), 2, ".csv"),
        (("teach", "wam7", "--demo", "--mark-every", "1", "--out", "x.csv"), 2, "waypoints"),
        (("teach", "wam7", "--push", "link7,1,2", "--out", "x.csv"), 2, "--push"),
        (
            ("teach", "wam7", "--push", "nose,1,2,3,1", "--out", "x.csv"),
            1,
            "--push names no link of the robot: there is no link 'nose'",
        ),
        (("teach", "wam7", "--demo", "--friction-fraction", "1.2", "--out", "x.csv"), 1, "friction_fraction"),
        (("teach", "wam7", "--demo", "--demo-link", "nose", "--out", "x.csv"), 1, "--demo-link names no link"),
        (("teach", "wam7", "--demo", "--name", " wipe", "--out", "x.csv"), 1, "name ' wipe'"),
        (("teach", "wam7", "--demo", "--smooth", "nan", "--out", "x.csv"), 2, "--smooth"),
        (("teach", "wam7", "--demo", "--duration", "nan", "--out", "x.csv"), 1, "seconds is nan"),
        (
            ("teach", "dualarm19", "--demo", "--out", "x.csv"),
            1,
            "--demo-link is required: the robot has 2 leaf links (right_hand",
        ),
        (("teach", "wam7", "--demo", "--payload-link", "toolplate", "--out", "x.csv"), 2, "--payload MASS"),
        (("replay", "wam7", "absent.csv"), 1, "absent.csv"),
        (("replay", "wam7", "absent.csv", "--page", "x.pdf"), 2, ".html"),
    ],
)
def test_wrong_command_lines(run: Any, arguments: tuple[str, ...], code: int, says: str) -> None:
    """Refused before anything moves, with what to do."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert says in result.stderr


def test_another_arms_path_is_refused(short: Path, run: Any) -> None:
    """The PUMA has no seventh joint."""
    result = run("replay", "puma550", short, "--dry-run")
    assert result.exit_code == 1 and "joint7" in result.stderr


class Registered:
    """An entry point whose plant is not simulated as far as the commands can know."""

    value = "tests:arm"

    def __init__(self) -> None:
        self.arms: list[SimulatedArm] = []

    def load(self) -> Any:
        """Return what makes the plant."""

        def make() -> SimulatedArm:
            self.arms.append(SimulatedArm(cp.load("planar3"), replace(ideal(dt=2e-3), watchdog=0.1)))
            return self.arms[-1]

        return make


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Registered:
    """Register a plant called "mydriver"."""
    registered = Registered()
    for place in ("control", "control.plant"):
        monkeypatch.setattr(f"counterpoise.{place}.installed_plants", lambda: {"mydriver": registered})
    return registered


def test_a_real_arm_moves_only_with_yes(driver: Registered, run: Any, tmp_path: Path) -> None:
    """Neither teach nor replay touches it without; a dry run reads it, and no time passes."""
    robot, file = cp.load("planar3"), tmp_path / "shift.path.csv"
    write_path(TaughtPath.of(robot, [0.0, 1.0], [np.zeros(3), np.full(3, 0.1)], name="s", kind="waypoints"), file)
    real = ("mydriver", "--robot", "planar3")
    result = run("teach", *real, "--out", tmp_path / "x.csv")
    assert result.exit_code == 2 and "--yes" in result.stderr
    result = run("replay", "mydriver", file, "--robot", "planar3")
    assert result.exit_code == 2 and "--yes" in result.stderr
    result = run("replay", "mydriver", file, "--robot", "planar3", "--dry-run")
    assert result.exit_code == 0 and driver.arms[-1].time == 0.0
    result = run("replay", "mydriver", file, "--robot", "planar3", "--yes")
    assert result.exit_code == 0, result.output
    assert driver.arms[-1].time > 1.0


def test_an_arm_that_its_model_does_not_carry_is_refused(
    run_json: Any, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3 as of ``float``: it is not let go, and no path is written."""

    class Point:
        value = "tests:arm"

        def load(self) -> Any:
            return lambda: SimulatedArm(PLANAR.with_payload(3.0), planar().config)

    for place in ("control", "control.plant"):
        monkeypatch.setattr(f"counterpoise.{place}.installed_plants", lambda: {"mydriver": Point()})
    file = tmp_path / "x.path.csv"
    arguments = ("teach", "mydriver", "--robot", "planar3", "--friction-fraction", 0.5, "--yes", "--out", file)
    told = run_json(*arguments, exit_code=3)
    assert told["end"] == told["ended"] == "refused" and told["out"] is None and not told["check"]["passed"]
    result = run(*arguments)
    assert result.exit_code == 3 and "the arm was not let go" in result.stderr and "holding takes" in result.stderr
    assert not file.exists()


def test_way_points_of_a_pushed_arm(run_json: Any, tmp_path: Path) -> None:
    """Pushes move it, marks at even times are kept, a locked joint stays."""
    file = tmp_path / "points.path.csv"
    arguments = ("--push", "toolplate,0,4,0,0.6", "--kind", "waypoints", "--mark-every", 0.5, "--duration", 2)
    told = run_json("teach", "wam7", *arguments, "--lock", "joint1", "--out", file)
    path = read_path(file)
    assert told["kind"] == path.kind == "waypoints" and 4 <= len(path.time) <= 5
    travel = np.ptp(path.q, axis=0)
    assert travel.max() > 0.02 and travel[0] < 5e-3


def test_an_arm_that_is_flung_leaves_no_path(run: Any, tmp_path: Path) -> None:
    """The speed watch ends it; the reason comes before what is missing because of it."""
    file = tmp_path / "flung.path.csv"
    result = run("teach", "wam7", "--push", "toolplate,0,60,0,1", "--kind", "waypoints", "--out", file)
    assert result.exit_code == 1 and "No path is written" in result.stderr
    assert not file.exists()


class Guided(SimulatedArm):
    """The planar arm of the floating tests, not simulated as far as the commands can know: its tip is pushed at 21 s,
    and what ``befalls`` it comes at 23 s."""

    befalls: BaseException | str = ""

    def read(self) -> Sample:
        """Return a sample, unless something befalls it."""
        if 21.0 <= self.time < 21.0 + 0.5 * self.dt:
            pushed(self, (0.0, 0.0, 5.0), 0.0, 0.3)
        sample = super().read()
        if self.time < 23.0:
            return sample
        if isinstance(self.befalls, BaseException):
            error, self.befalls = self.befalls, ""
            raise error
        return replace(sample, q=np.full(3, np.nan)) if self.befalls == "no position" else sample


@pytest.mark.parametrize(("befalls", "code"), [(KeyboardInterrupt(), 0), ("no position", 1)], ids=["Ctrl-C", "a fault"])
def test_what_was_taught_before_the_end_is_kept(
    befalls: Any, code: int, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has guided the arm: the path is written, the arm was stopped safely, and the file says how it ended."""
    arms: list[Guided] = []

    class Point:
        value = "tests:arm"

        def load(self) -> Any:
            def make() -> Guided:
                arms.append(Guided(PLANAR, planar().config))
                arms[-1].befalls = befalls
                return arms[-1]

            return make

    for place in ("control", "control.plant"):
        monkeypatch.setattr(f"counterpoise.{place}.installed_plants", lambda: {"mydriver": Point()})
    file = tmp_path / "wipe.path.csv"
    result = run("teach", "mydriver", "--robot", "planar3", "--friction-fraction", 0.5, "--yes", "--out", file)
    assert result.exit_code == code, result.output
    path = read_path(file)
    assert path.notes["ended"] == ("fault" if code else "interrupted") and np.ptp(path.q, axis=0).max() > 0.02
    assert arms[0].time > (23.05 if code else 24.2)  # held blindly for a moment; or settled and let down
    if code:
        assert "before the fault is written" in result.stderr and "error:" in result.stderr


def test_the_plan_says_which_law_follows(short: Path, run: Any) -> None:
    """Without gravity where that was asked for."""
    assert "PD with the model's gravity" in run("replay", "wam7", short, "--dry-run").stdout
    assert "PD without gravity" in run("replay", "wam7", short, "--dry-run", "--law", "pd").stdout
