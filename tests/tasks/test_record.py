"""Recording a plan: what is refused before anything moves, what the log carries, what an interruption leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.identification import PosePlan
from counterpoise.plants import ArmConfig, SimulatedArm, ideal
from counterpoise.tasks import Recording, Rig, record

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

PLANAR = cp.load("planar3")
POSES = [[0.2, -0.3, 0.4]]


def arm(**changes: Any) -> SimulatedArm:
    """An ideal planar arm at 500 Hz."""
    config: ArmConfig = replace(ideal(dt=2e-3), **changes)
    return SimulatedArm(PLANAR, config)


def quick_plan(**changes: Any) -> PosePlan:
    """One pose, measured for 0.1 s."""
    return PosePlan.of(PLANAR, POSES, **({"dwell": 0.1, "settle": 0.5} | changes))


def test_log_carries_plan_and_declarations() -> None:
    """What the plant declares, gravity, the plan with its windows; in each window the arm is at the pose."""
    plant, plan, seen = arm(), quick_plan(), []
    with plant:
        log = record(Rig(plant, PLANAR), plan, progress=lambda done, total: seen.append((done, total)))
    carried = log.declared.notes["plan"]
    assert log.declared.effort_kind == "torque" and log.declared.adds_gravity is False
    assert log.declared.sensor_reads == "on_robot"
    assert log.declared.gravity_base == pytest.approx(PLANAR.gravity_base)
    assert list(carried["joints"]) == list(PLANAR.joint_names)
    assert np.array(carried["poses"]) == pytest.approx(plan.poses)
    for window in carried["windows"]:
        part = log.slice(log.time[0] + window["begin"], log.time[0] + window["end"])
        assert np.max(np.abs(part.q - plan.poses[0])) < 2e-3
        assert np.max(np.abs(part.dq)) < 2e-2
    assert seen and all(0.0 < done <= total + 0.1 for done, total in seen)
    assert np.abs(log.q[round(seen[-1][1] / 2e-3)] - log.q[0]).max() < 5e-3  # back where it began


@pytest.mark.parametrize(
    ("plan", "settings", "said"),
    [
        (PosePlan.of(PLANAR, [PLANAR.upper]), {}, "too near to a limit"),
        (PosePlan.of(PLANAR, POSES, travel_speed=100.0), {}, "exceeds the limit"),
        (PosePlan.of(cp.load("wam7"), np.zeros((1, 7))), {}, "joints"),
        (PosePlan.of(PLANAR, POSES), {"integral": "some"}, "integral"),
    ],
)
def test_unfit_plans_are_refused_before_the_plant_is_entered(plan: PosePlan, settings: Any, said: str) -> None:
    """The plant is never switched on: reading it would raise."""
    with pytest.raises(InputError, match=said):
        Recording(Rig(arm(), PLANAR), plan, **settings)


def test_pose_that_cannot_be_held_is_refused() -> None:
    """A load that takes the whole effort limit."""
    heavy = PLANAR.with_payload(500.0)
    with pytest.raises(InputError, match="of the effort limit of joint"):
        Recording(Rig(SimulatedArm(heavy, ideal(dt=2e-3)), heavy), quick_plan())


def test_gravity_is_left_to_a_plant_that_adds_it() -> None:
    """Compensating twice would be refused by the loop; here it is not even asked for."""
    plant = arm(adds_gravity=True)
    with plant:
        log = record(Rig(plant, PLANAR), quick_plan())
    window = log.declared.notes["plan"]["windows"][-1]
    part = log.slice(log.time[0] + window["begin"], log.time[0] + window["end"])
    assert log.declared.adds_gravity is True
    assert part.sent is not None
    assert np.max(np.abs(part.sent)) < 0.1 * np.max(np.abs(PLANAR.gravity(POSES[0])))
    assert np.max(np.abs(part.q - np.array(POSES[0]))) < 2e-3


def test_integral_can_be_chosen() -> None:
    """For all joints, for none, or for those that the guess names."""
    named = {
        choice: Recording(Rig(arm(), PLANAR), quick_plan(), integral=choice).with_integral  # type: ignore[arg-type]
        for choice in ("all", "none", "auto")
    }
    assert named["all"] == PLANAR.joint_names and named["none"] == ()
    assert set(named["auto"]) <= set(PLANAR.joint_names)


def test_interruption_leaves_the_log() -> None:
    """Ctrl-C ends in the safe stop, and what was recorded until then carries the windows that were completed."""
    plant = arm()
    recording = Recording(Rig(plant, PLANAR), quick_plan())

    def interrupt(done: float, total: float) -> None:
        if done > 4.7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), plant:
        recording.run(interrupt)
    assert recording.log is not None
    assert 4.7 < recording.log.time[-1] - recording.log.time[0] < 7.5
    assert [window["side"] for window in recording.log.declared.notes["plan"]["windows"]] == ["above"]
