"""Floating from the check to the safe stop: what moves and stays, what is refused, how it is stopped and reported."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import CoulombViscous
from counterpoise.errors import InputError, SafetyError, SensorFaultError
from counterpoise.plants import AttachPayload, SimulatedArm, preset
from counterpoise.recording import Sample
from counterpoise.tasks import FloatSettings, Rig
from counterpoise.tasks.float.floating import Floating, FloatReport, float_arm
from counterpoise.tasks.float.watch import WatchSettings
from library.floating_arms import GANTRY, PLANAR, gantry, lighter, planar, pushed, tip_travel

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


def pushed_float(
    plant: SimulatedArm, robot: cp.Robot, force: Any, seconds: float = 7.5, **settings: Any
) -> FloatReport:
    """Float the arm with a log, and push its tip from 1 s to 1.3 s."""
    with plant:
        return float_arm(
            Rig(plant, robot), seconds, log=True, repeats=2, began=lambda: pushed(plant, force, 1.0, 0.3), **settings
        )


@pytest.fixture(scope="module")
def planar_floated() -> FloatReport:
    """The planar arm with the exact model, pushed once, with 70 % of the friction that the check found away."""
    return pushed_float(planar(), PLANAR, (0.0, 0.0, 4.0), friction_fraction=0.7)


@pytest.mark.parametrize("hold", [False, True])
def test_a_pushed_arm_moves_and_stays(hold: bool, planar_floated: FloatReport) -> None:
    """With the exact model and 70 % of the friction away: centimetres by the push; 1 s later, less than 1 mm in 5 s."""
    report = planar_floated
    if hold:
        report = pushed_float(planar(), PLANAR, (0.0, 0.0, 4.0), friction_fraction=0.7, hold_when_released=True)
    assert report.end == "done" and report.floated and report.check is not None and report.check.passed
    assert report.run is not None and report.run.log is not None
    assert tip_travel(PLANAR, report.run.log, 0.9, 1.3) > 0.01
    assert tip_travel(PLANAR, report.run.log, 2.3, 7.3) < 1e-3
    assert report.seconds == pytest.approx(7.5) and report.drifts == 0


def test_linear_joints_float() -> None:
    """A gantry moves along and up, and stays."""
    report = pushed_float(gantry(), GANTRY, (25.0, 0.0, 15.0), friction_fraction=0.5)
    assert report.end == "done" and report.run is not None and report.run.log is not None
    assert np.all(report.travel[[0, 2]] > 5e-3) and report.travel[1] < 1e-3
    assert tip_travel(GANTRY, report.run.log, 2.3, 7.3) < 1e-3


def test_wam_with_a_model_3_per_cent_low_is_refused_by_name() -> None:
    """The error names the shoulder, the arm ends in its safe stop, and the report has the numbers."""
    chosen = preset("wam7")
    plant = chosen.arm(seed=1)
    floating = Floating(Rig(plant, lighter(chosen.robot(), 0.03)), FloatSettings(friction_fraction=0.7, repeats=2))
    with plant, pytest.raises(SafetyError, match="the arm is not let go: joint 'joint2'") as caught:
        floating.run(1.0)
    report = caught.value.report
    assert report is floating.report and report.end == "refused" and not report.floated
    assert [joint.joint for joint in report.check.joints if not joint.passed] == ["joint2"]
    document = json.loads(json.dumps(report.as_data(), allow_nan=False))
    assert document["end"] == "refused" and document["damping"] is None and document["check"]["passed"] is False


def test_friction_that_was_found_is_what_is_compensated(planar_floated: FloatReport) -> None:
    """Where no law is given; a given one is used as it is."""
    found = planar_floated
    given = pushed_float(
        planar(), PLANAR, (0.0, 0.0, 0.0), 0.2, friction_fraction=0.5, friction=CoulombViscous([1.2, 0.8, 0.3])
    )
    assert found.check is not None and given.check is not None
    assert all(joint.friction_law == joint.friction for joint in found.check.joints)
    assert [joint.friction_law for joint in given.check.joints] == pytest.approx([1.2, 0.8, 0.3])


def test_plant_that_adds_gravity_floats_without_ours() -> None:
    """The weight is carried once."""
    report = pushed_float(planar(adds_gravity=True), PLANAR, (0.0, 0.0, 0.0), 2.0)
    assert report.end == "done" and np.all(report.travel < 2e-3)


def test_locked_joints_stay() -> None:
    """The push that moves the others does not move them."""
    report = pushed_float(planar(), PLANAR, (0.0, 0.0, 5.0), 3.0, friction_fraction=0.7, locked=("joint1",))
    assert report.travel[0] < 5e-3 and report.travel[1:].max() > 0.02


def test_too_fast_ends_in_the_safe_stop_with_its_reason() -> None:
    """A hard push: the run ends early, and report and events name the joint."""
    report = pushed_float(
        planar(), PLANAR, (0.0, 0.0, 40.0), friction_fraction=0.5, watch=WatchSettings(speed_rotary=0.4)
    )
    assert report.end == "too fast" and "rad/s is the most" in report.reason and report.seconds < 2.0
    assert report.run is not None and report.run.stop == "zero"
    assert "too_fast" in [event.kind for event in report.run.events]


def test_a_drift_is_held() -> None:
    """A load hung on the floating arm makes it sink; the drift is found and held, and the arm stays from there on."""
    plant = planar()
    load = AttachPayload(mass=0.25)
    with plant:
        report = float_arm(
            Rig(plant, PLANAR),
            9.0,
            log=True,
            friction_fraction=0.7,
            damping=6.0,
            repeats=2,
            began=lambda: plant.attach_payload(load),
        )
    assert report.end == "done" and report.drifts == 1 and report.run is not None and report.run.log is not None
    (when,) = [event.time for event in report.run.events if event.kind == "drift"]
    assert tip_travel(PLANAR, report.run.log, 0.1, when) > 0.02
    assert tip_travel(PLANAR, report.run.log, when + 1.0, 8.9) < 2e-3


def test_stopped_from_another_thread_while_floating_and_while_checking() -> None:
    """Both end in the safe stop; a second run needs another object."""
    for while_checking in (False, True):
        plant, let_go = planar(), threading.Event()
        with plant:
            floating = Floating(Rig(plant, PLANAR), FloatSettings(repeats=2), began=let_go.set)
            floating.start()
            if not while_checking:
                assert let_go.wait(60.0)
            floating.stop()
            report = floating.wait(60.0)
            with pytest.raises(InputError, match="ended"):
                floating.run(1.0)
            assert not np.any(plant.write(np.ones(3)))  # it was stopped: nothing is sent any more
        assert report.end == "stopped" and report.floated is not while_checking and floating.phase == "ended"


def test_who_waits_for_a_time_does_not_wait_longer() -> None:
    """An arm that floats on is no error of its own: wait() says so when its time is up, and can be called again."""
    plant, let_go = planar(), threading.Event()
    with plant:
        floating = Floating(Rig(plant, PLANAR), FloatSettings(repeats=2), began=let_go.set)
        floating.start(20.0)
        assert let_go.wait(60.0)
        begun = time.monotonic()
        with pytest.raises(InputError, match="still floating"):
            floating.wait(0.3)
        assert 0.3 <= time.monotonic() - begun < 30.0
        floating.stop()
        assert floating.wait(60.0).end == "stopped"


def test_a_floating_that_looks_at_its_check_does_not_count_as_hanging() -> None:
    """Its loops send; it does not, and has at least the time of its longest stop when it is asked to end."""
    rig = Rig(planar(), PLANAR)
    job = Floating(rig, FloatSettings())._new_job()
    assert not job.sends and job.plant is rig.plant
    settings = rig.safety.settings
    assert job.longest > settings.settle_time + settings.ramp_time


def test_what_a_thread_raises_reaches_who_waits() -> None:
    """A refusal in the thread is raised by wait()."""
    plant = planar()
    with plant:
        floating = Floating(Rig(plant, lighter(PLANAR, 0.2)), FloatSettings(friction_fraction=0.5, repeats=2))
        floating.start()
        with pytest.raises(SafetyError, match="not let go"):
            floating.wait()


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"friction_fraction": 1.2}, InputError, "runs away"),
        ({"friction_fraction": 1.0}, SafetyError, "leaves no friction"),
        ({"locked": ("nose",)}, InputError, "no joint 'nose'"),
        ({"damping": -1.0}, InputError, "damping"),
    ],
)
def test_wrong_settings_are_refused_before_anything_moves(settings: Any, error: type[Exception], said: str) -> None:
    """The plant is not even entered."""
    with pytest.raises(error, match=said):
        Floating(Rig(planar(), PLANAR), FloatSettings(**settings))


@pytest.mark.parametrize("seconds", [np.nan, np.inf, -1.0])
def test_a_time_that_is_none_is_refused_before_anything_moves(seconds: float) -> None:
    """It would otherwise be found when the arm is held and the check is over."""
    plant = planar()
    with plant:
        floating = Floating(Rig(plant, PLANAR), FloatSettings(repeats=2))
        for begin in (floating.run, floating.start):
            with pytest.raises(InputError, match="seconds"):
                begin(seconds)
    assert plant.time == 0.0 and floating.phase == "ready"


def test_stopped_before_it_runs_it_does_not_move() -> None:
    """A stop is not forgotten."""
    plant = planar()
    with plant:
        floating = Floating(Rig(plant, PLANAR), FloatSettings(repeats=2))
        floating.stop()
        report = floating.run(1.0)
    assert plant.time == 0.0 and report.end == "stopped" and not report.floated and report.check is None


def test_each_good_sample_is_handed_over_while_it_floats() -> None:
    """From the moment it is let go, in order; what it raises ends in the safe stop."""
    times: list[float] = []
    plant = planar()
    with plant:
        begun: list[float] = []
        floating = Floating(
            Rig(plant, PLANAR),
            FloatSettings(repeats=2),
            began=lambda: begun.append(plant.time),
            each=lambda sample: times.append(float(sample.time)),
        )
        floating.run(0.2)
    assert times[0] == pytest.approx(begun[0]) and len(times) == 50 and np.all(np.diff(times) > 0.0)


class BadAt(SimulatedArm):
    """The planar arm; its next sample has no position once ``armed``."""

    armed = False

    def read(self) -> Sample:
        sample = super().read()
        if self.armed:
            self.armed = False
            return replace(sample, q=np.full(3, np.nan))
        return sample


def test_a_bad_sample_between_check_and_floating_ends_in_the_safe_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arm, still held by the check's last torque, is let down by gravity's own; it did not float, and the error
    and the report say why."""
    plant = BadAt(PLANAR, planar().config)
    floating = Floating(Rig(plant, PLANAR), FloatSettings(repeats=2))
    made = floating._made_law

    def arm(result: Any) -> Any:
        plant.armed = True
        return made(result)

    monkeypatch.setattr(floating, "_made_law", arm)
    with plant:
        with pytest.raises(SensorFaultError, match="not started"):
            floating.run(1.0)
        checked = plant.time
        assert not np.any(plant.write(np.ones(3)))
    report = floating.report
    assert report is not None and report.end == "fault" and "not started" in report.reason
    assert not report.floated and report.check is not None and report.seconds == 0.0
    assert checked > report.check.seconds + 1.0  # settled and let down: 1.3 s


POSE_TIME = 2e-5
"""What the gravity of a pose costs on the slow computer of the next test, by the plant's clock [s]."""


def test_the_plant_does_not_wait_for_the_check_to_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a plant whose clock goes on while gravity is computed, from the check to the floating no two writes are more
    than five ticks apart: bad samples are bridged for as long."""
    clock = 0.0
    gravity = cp.Robot.gravity

    def slow(robot: cp.Robot, q: Any, out: Any = None) -> Any:
        nonlocal clock
        clock += POSE_TIME * np.size(q) / robot.n
        return gravity(robot, q, out)

    class Watched(SimulatedArm):
        writes: list[float]

        def write(self, tau: Any) -> Any:
            nonlocal clock
            clock += self.dt
            self.writes.append(clock)
            return super().write(tau)

    plant = Watched(PLANAR, planar().config)
    plant.writes = []
    monkeypatch.setattr(cp.Robot, "gravity", slow)
    with plant:
        report = float_arm(Rig(plant, PLANAR), 0.5, repeats=3)
    assert report.end == "done" and report.check is not None
    assert len(plant.writes) > (report.check.seconds + 0.5) / plant.dt
    assert np.diff(plant.writes).max() < 5.0 * plant.dt


def test_a_joint_at_its_limit_is_told_in_the_report_too() -> None:
    """An InputError from the check is the report's reason."""
    plant = planar(position=(0.2, float(PLANAR.upper[1]), 0.9))
    floating = Floating(Rig(plant, PLANAR))
    with plant, pytest.raises(InputError, match=r"'joint2'.*lock it"):
        floating.run(1.0)
    assert floating.report is not None and "joint2" in floating.report.reason and floating.report.end == "fault"
