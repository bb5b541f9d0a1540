"""A simulated run as a library: what it refuses, and that it is no more than a loop with a law and a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import Eased, PDGravity, Sine, default_gains
from counterpoise.errors import InputError
from counterpoise.identification import PosePlan
from counterpoise.tasks import LinkPush, PushScript, Simulation, SimulationSettings
from counterpoise.tasks.float.check import CheckResult, JointCheck
from library.floating_arms import PLANAR, PLANAR_POSE, planar
from library.ideal_arm import IdealArm


def test_what_does_not_go_together_is_refused() -> None:
    """Poses without the reference for them, the reference without poses; an arm that is not simulated; no such link."""
    plan = PosePlan.of(PLANAR, np.zeros((2, 3)))
    for wrong in ({"poses": plan}, {"reference": "poses"}):
        with pytest.raises(InputError, match="poses="):
            SimulationSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no simulated arm"):
        Simulation(cp.Rig(IdealArm(PLANAR), PLANAR))
    with pytest.raises(InputError, match="no joint 'elbow'"):
        Simulation(cp.Rig(planar(), PLANAR), SimulationSettings(joints=("elbow",)))
    with pytest.raises(InputError, match="no link 'elbow'"):
        PushScript(planar(), [LinkPush("elbow", (0.0, 0.0, 1.0), 0.5)])


def test_it_is_a_loop_with_a_law_and_a_reference() -> None:
    """The same torques, tick by tick, as of a loop that is made by hand."""
    settings = SimulationSettings(reference="sine", joints=("joint2",), amplitude=0.1, period=2.0, duration=1.5)
    told: list[Any] = []
    result = Simulation(cp.Rig(planar(), PLANAR), settings).run(lambda *done: told.append(done), watch_friction=True)
    arm = planar()
    with arm:
        gains = default_gains(PLANAR, arm.read().q, arm.effort_limit, arm.dt)
        reference = Eased(Sine([0.0, 0.1, 0.0], 2.0), 1.0)
        law = PDGravity(PLANAR, gains.kp, gains.kd, reference, reach=gains.reach)
        by_hand = cp.ControlLoop(arm, law, PLANAR).run(1.5, log=True).log
    log = result.report.log
    assert log is not None and by_hand is not None and log.sent is not None and by_hand.sent is not None
    np.testing.assert_array_equal(log.sent, by_hand.sent)
    np.testing.assert_array_equal(log.q, by_hand.q)
    assert result.error is None and result.interruption is None and len(told) > 100
    assert result.hidden is not None and np.abs(result.hidden.friction[:, 1]).max() > 0.0
    assert np.all(np.diff(result.hidden.time) > 0.0) and result.hidden.time[0] == 0.0
    assert result.hidden.time[-1] == pytest.approx(1.5, abs=0.05)
    assert [done for done, _ in told] == pytest.approx(result.hidden.time) and {whole for _, whole in told} == {1.5}
    asked = [reference.at(tick * arm.dt).q for tick in range(len(result.desired))]
    np.testing.assert_array_equal(result.desired, asked)


def test_pushes_follow_each_other_with_pauses() -> None:
    """The time that they take, and when each one acts."""
    arm = planar()
    link = arm.robot.link_names[-1]
    pushes = [LinkPush(link, (0.0, 0.0, 1.0), 0.5), LinkPush(link, (0.0, 0.0, -1.0), 0.25)]
    script = PushScript(arm, pushes, first=1.0, pause=2.0)
    assert script.seconds == pytest.approx(1.0 + 0.5 + 2.0 + 0.25 + 2.0)
    given: list[Any] = []
    arm.push = given.append  # type: ignore[method-assign]
    script.begin()
    assert [time for one in given for time in (one.start, one.end)] == pytest.approx([1.0, 1.5, 3.5, 3.75])
    assert PushScript(arm, []).seconds > PushScript(arm, [], pause=1.0).seconds


@pytest.mark.parametrize("q", [(0.0, 0.0, 0.0), (0.3, 0.5, -0.4), (1.5, 0.1, 0.0)])
def test_the_push_that_is_chosen_just_moves_the_arm(q: tuple[float, float, float]) -> None:
    """Along one axis of the base: twice what the joint needs that gives way first, and no axis would need less."""
    arm, told = planar(), []
    friction = np.array([2.0, 1.0, 0.4])
    joints = [
        JointCheck(name, "N m", 0.0, 0.0, 0.0, float(level), 1.0, 0.0, True)
        for name, level in zip(PLANAR.joint_names, friction, strict=True)
    ]
    arm.push = told.append  # type: ignore[method-assign]
    script = PushScript(arm, [])
    script.begin(CheckResult(tuple(joints), np.array(q), "effort", 1.0, None))
    (push,) = told
    force, tip = push.wrench[:3], PLANAR.link_names[-1]
    assert np.count_nonzero(force) == 1 and not np.any(push.wrench[3:])
    levers = np.abs(PLANAR.jacobian(np.array(q), at=tip)[:3])

    def pulls(axis: int, size: float) -> float:
        """Return the largest torque over its friction."""
        return float(np.max(levers[axis] * size / joint_friction))

    joint_friction = np.array([joint.friction for joint in joints])
    (axis,) = np.flatnonzero(force)
    size = abs(float(np.sum(force)))
    assert pulls(int(axis), size) == pytest.approx(2.0)
    assert all(pulls(other, size) <= 2.0 + 1e-9 for other in range(3))


@pytest.mark.parametrize("reference", ["sine", "triangle"])
def test_a_reference_that_is_too_fast_names_the_first_joint(reference: str) -> None:
    """Of several joints that would need more than their speed limit."""
    for joints, first in ((("joint2", "joint3"), "joint2"), ((), "joint1")):
        with pytest.raises(InputError, match=f"'{first}': the {reference} needs a speed of"):
            Simulation(cp.Rig(planar(), PLANAR), SimulationSettings(reference=reference, joints=joints, period=0.02))


def test_the_reach_is_how_far_the_reference_leads_from_the_start() -> None:
    """A sine's amplitude, wherever the arm begins."""
    settings = SimulationSettings(reference="sine", joints=("joint2",), amplitude=0.1, period=2.0, duration=6.0)
    assert abs(PLANAR_POSE[1]) > 0.2
    assert Simulation(cp.Rig(planar(), PLANAR), settings)._reach() == pytest.approx(0.1, rel=0.01)
