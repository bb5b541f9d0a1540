"""``counterpoise float``: the check's table, the push that shows it floats, refusals and exit codes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.cli.floating import parsed
from counterpoise.foundation import Verdict
from counterpoise.plants import SimulatedArm
from counterpoise.tasks import TaughtPath, write_path
from library.calibration_data import visits
from library.floating_arms import PLANAR, planar

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

pytestmark = pytest.mark.usefixtures("creeping_twice")


def test_a_preset_floats_and_is_pushed_once(run, tmp_path):
    """The check's table, the push and what came of it; the recording is written."""
    out = tmp_path / "float.npz"
    result = run("float", "wam7", "--friction-fraction", 0.7, "--out", out)
    assert result.exit_code == 0, result.output
    for word in ("what holding takes", "joint2", "toolplate", "mm", "Floated 7.4 s; done."):
        assert word in result.stdout
    log = cp.read_log(out, cp.load("wam7"))
    assert log.time[-1] - log.time[0] > 7.0


def test_pushes_locks_and_the_report_as_json(run_json):
    """What is scripted happens, to the joints that are not locked; after it the arm stays within 1 mm."""
    document = run_json(
        "float", "puma550", "--friction-fraction", 0.5, "--lock", "joint1", "--push", "link6,0,0,25,0.4", "--damping", 5
    )
    assert document["end"] == "done" and document["floated"] and document["check"]["passed"]
    assert document["locked"] == ["joint1"] and "joint1" not in [each["joint"] for each in document["check"]["joints"]]
    assert document["travel"][0] < 0.01 < max(document["travel"][1:3])
    (push,) = document["pushes"]
    assert push["force"] == [0.0, 0.0, 25.0] and push["moved"] > 0.01 and push["drifted"] < 1e-3


def test_a_model_that_is_too_light_is_refused_by_name(run):
    """Exit code 3; the joint is named on the screen."""
    result = run("float", "wam7", "--friction-fraction", 0.7, "--model-error", -3)
    assert result.exit_code == 3
    assert "joint 'joint2': holding takes" in result.stderr and "the arm was not let go" in result.stderr
    assert "refused" in result.stdout and "Floated" not in result.stdout


def test_a_thrown_arm_ends_with_its_own_exit_code(run_json):
    """Too fast: stopped safely, told as such."""
    document = run_json("float", "wam7", "--push", "toolplate,0,0,40,0.5", exit_code=3)
    assert document["end"] == "too fast" and "rad/s" in document["reason"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("wam7", "--friction-fraction", 1.2), 1, "the arm runs away"),
        (("wam7", "--friction-fraction", 1), 1, "leaves no friction"),
        (("wam7", "--lock", "nose"), 1, "no joint 'nose'"),
        (("wam7", "--push", "toolplate,1,2"), 2, "link,Fx,Fy,Fz,seconds"),
        (("wam7", "--push", "nose,0,0,1,1"), 1, "nose"),
        (("wam7", "--payload-link", "toolplate"), 2, "--payload MASS"),
        (("wam7", "--unknown-payload"), 2, "--payload MASS"),
        (("wam7", "--duration", "nan"), 1, "seconds is nan"),
        (("wam7", "--out", "float.txt"), 2, ".npz or .csv"),
        (
            (
                "wam7",
                "--skip-check",
            ),
            2,
            "No such option",
        ),
        (("nosuch",), 1, "there is no plant"),
    ],
)
def test_refusals_before_anything_moves(run, arguments, code, words):
    """Above all there is no way around the check."""
    result = run("float", *arguments)
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_push_is_read_with_commas_in_the_name():
    """The last four fields are numbers; the rest is the link."""
    push = parsed("tool,left,1,-2,3e0,0.5")
    assert push.link == "tool,left" and push.force == (1.0, -2.0, 3.0) and push.seconds == 0.5


def test_real_plant_needs_yes_and_is_not_even_switched_on(run, run_json, monkeypatch):
    """Without --yes nothing happens; with it the arm is checked and floats; pushes are for simulated arms."""
    entered = []

    class Arm(SimulatedArm):
        def __enter__(self):
            entered.append(self)
            return super().__enter__()

    class Registered:
        value = "tests:arm"

        def load(self):
            return lambda: Arm(PLANAR, planar().config)

    for place in ("control", "control.plant"):
        monkeypatch.setattr(f"counterpoise.{place}.installed_plants", lambda: {"mydriver": Registered()})
    arguments = ("float", "mydriver", "--robot", "planar3", "--friction-fraction", 0.5, "--duration", 0.5)
    result = run(*arguments)
    assert result.exit_code == 2 and "add --yes" in result.stderr and not entered
    assert run(*arguments, "--yes", "--push", "link3,0,0,1,1").exit_code == 2 and not entered
    document = run_json(*arguments, "--yes")
    assert document["end"] == "done" and document["seconds"] == pytest.approx(0.5) and len(entered) == 1


class Interrupted(SimulatedArm):
    """The planar arm; Ctrl-C comes at ``when`` by its clock [s]."""

    when = np.inf

    def read(self):
        if self.time >= self.when:
            self.when = np.inf
            raise KeyboardInterrupt
        return super().read()


class Broken(SimulatedArm):
    """The planar arm; it has no position from ``when`` on [s]."""

    when = np.inf

    def read(self):
        sample = super().read()
        return replace(sample, q=np.full(3, np.nan)) if self.time >= self.when else sample


@pytest.fixture
def register(monkeypatch):
    """Register an arm of a class as the plant "mydriver", and return a list that will hold it."""

    def registered(kind, when):
        made = []

        class Point:
            value = "tests:arm"

            def load(self):
                def make():
                    made.append(kind(PLANAR, planar().config))
                    made[-1].when = when
                    return made[-1]

                return make

        for place in ("control", "control.plant"):
            monkeypatch.setattr(f"counterpoise.{place}.installed_plants", lambda: {"mydriver": Point()})
        return made

    return registered


REAL = ("mydriver", "--robot", "planar3", "--friction-fraction", 0.5, "--yes")


@pytest.mark.parametrize(
    ("when", "seconds", "code", "floated"),
    [(5.0, (), 1, False), (22.0, (), 0, True), (22.0, ("--duration", 60), 1, True)],
    ids=["in the check", "until Ctrl-C", "before its time"],
)
def test_ctrl_c_ends_in_the_safe_stop_and_keeps_the_recording(
    register, run_json, tmp_path, when, seconds, code, floated
):
    """Without --duration it is the way to end; what was recorded is written, and the arm is let down."""
    made, out = register(Interrupted, when), tmp_path / "run.npz"
    document = run_json("float", *REAL, *seconds, "--out", out, exit_code=code)
    assert document["end"] == "interrupted" and document["floated"] is floated and out.exists() is floated
    assert made[0].time > when + 1.2  # settled and let down
    if floated:
        assert document["safe_stop"]["then"] == "zero" and len(cp.read_log(out, PLANAR)) > 100


def test_a_fault_while_floating_is_an_error(register, run):
    """It names the joint and the stop, as any other."""
    register(Broken, 16.0)
    result = run("float", *REAL, "--json")
    error = json.loads(result.stdout)["error"]
    assert result.exit_code == 1 and error["kind"] == "SensorFaultError" and "was stopped" in error["message"]


def test_the_safe_stop_is_not_counted_as_drift(run_json):
    """Of a push whose time to be left alone was cut short, what the arm did until it was let down is told."""
    document = run_json("float", "wam7", "--friction-fraction", 0.5, "--push", "toolplate,0,0,4,0.5", "--duration", 3)
    (push,) = document["pushes"]
    assert push["moved"] > 0.05 and push["drifted"] < 1e-3


@pytest.mark.parametrize("command", ["float", "teach", "replay"])
def test_an_untrusted_calibration_is_told(register, run, tmp_path, command):
    """By each command that drives an arm: they make it in one place."""
    log = visits(PLANAR, cp.design_poses(PLANAR, 8, seed=0)[:2], friction=0.5, noise=0.5)
    fit = cp.calibrate(PLANAR, log, findings=(), uses=("extrapolate",))
    assert not fit.trusted
    file = fit.save(tmp_path / "arm.calibration.json")
    path = TaughtPath.of(PLANAR, [0.0, 1.0], [np.zeros(3), np.full(3, 0.1)], name="shift")
    write_path(path, tmp_path / "shift.path.csv")
    register(Interrupted, np.inf)
    given = {"teach": ("--out", tmp_path / "x.path.csv"), "replay": (tmp_path / "shift.path.csv",)}.get(command, ())
    calibrated = ("--robot", "planar3", "--calibration", file)
    result = run(command, "mydriver", *given, *calibrated)
    assert result.exit_code == 2 and f"{file.name} is not trusted" in result.stderr


def test_a_calibration_for_something_else_is_told(register, run, tmp_path):
    """It is trusted for what it was made for; that the arm floats with it is another question."""
    fit = cp.calibrate(PLANAR, visits(PLANAR, cp.design_poses(PLANAR, 8, seed=0), friction=0.5), findings=())
    other = tuple(one for one in fit.statements if one.use != "float")
    checks = Verdict(check for check in fit.verdict if check.name != "float")
    file = replace(fit, uses=("hold",), statements=other, verdict=checks).save(tmp_path / "arm.calibration.json")
    register(Interrupted, np.inf)
    result = run("float", "mydriver", "--robot", "planar3", "--calibration", file)
    assert result.exit_code == 2
    assert f"{file.name} is trusted for hold, but it is not good to float" in result.stderr


def test_a_calibration_in_command_units_is_refused(register, run, tmp_path):
    """Its masses are none, so nothing is driven by them."""
    fit = cp.calibrate(PLANAR, visits(PLANAR, cp.design_poses(PLANAR, 8, seed=0), friction=0.5), findings=())
    file = replace(fit, units="command units").save(tmp_path / "arm.calibration.json")
    register(Interrupted, np.inf)
    for command in (("float", "mydriver"), ("teach", "mydriver", "--out", tmp_path / "path.csv")):
        result = run(*command, "--robot", "planar3", "--calibration", file)
        assert result.exit_code == 1 and "command units" in result.stderr
