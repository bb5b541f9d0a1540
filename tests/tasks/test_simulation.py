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
from library.floating_arms import PLANAR, planar
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
