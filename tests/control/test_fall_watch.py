"""A joint that falls while a run takes the arm over ends it; what a law or a hand does on purpose does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.fault import Fault
from counterpoise.control.gravity import Gravity, PDGravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.reference import Sine
from counterpoise.control.report import EndState
from counterpoise.control.start import FALLEN_LINEAR, FALLEN_ROTARY
from counterpoise.recording import Sample, SampleFlag
from library.braked_arm import ENDS_AT_START, INERTIA, NEEDED, SLIDE, BareArm, side_by_side

ROBOT = side_by_side()
MOST = np.array([FALLEN_ROTARY, FALLEN_LINEAR])
KP, KD = np.array([100.0 * INERTIA, 100.0 * SLIDE]), np.array([16.0 * INERTIA, 16.0 * SLIDE])


def law_of(**more: Any) -> PDGravity:
    return PDGravity(ROBOT, KP, KD, **more)


def held(arm: BareArm) -> BareArm:
    """Let the arm be found with the torque that holds it."""
    arm.tau = NEEDED.copy()
    return arm


@pytest.mark.parametrize("law", [law_of, lambda: Gravity(ROBOT)], ids=["PD", "gravity alone"])
@pytest.mark.parametrize("kind", ["torque", "current"])
def test_an_arm_that_drops_ends_the_run(law: Callable[[], Any], kind: str) -> None:
    """Brakes that opened on their own, or an effort of 0: the run ends within little more than 20 mrad, named."""
    arm = BareArm(ROBOT)
    arm.effort_kind = kind  # type: ignore[assignment]
    with arm, pytest.raises(cp.errors.FallError) as caught:
        ControlLoop(arm, law(), ROBOT).run(2.0)
    error = caught.value
    assert error.report.fault is Fault.FELL
    assert error.report.end is ENDS_AT_START[Fault.FELL]
    for words in ("fell by", "Brakes that have just opened", "effort of 0", "held='brakes'", "release()"):
        assert words in str(error)
    told = [event for event in error.report.events if event.kind == "fell"]
    assert len(told) == 1
    assert told[0].joint in ROBOT.joint_names
    assert told[0].time < 0.1
    assert 1.0 < (np.abs(arm.trace[told[0].tick - 1]) / MOST).max() < 1.1


def test_brakes_catch_it_at_once() -> None:
    """Where the plant's stop is brakes, they close on the tick that sees the fall."""
    arm = BareArm(ROBOT)
    arm.stop = "brake"
    with arm, pytest.raises(cp.errors.FallError) as caught:
        ControlLoop(arm, law_of(), ROBOT).run(2.0)
    assert caught.value.report.end is EndState.PLANT_STOP
    assert caught.value.report.stop_ticks == 0
    assert (np.abs(arm.q) / MOST).max() < 1.1


def test_one_joint_is_enough() -> None:
    """The slide falls although the pendulum is held; the message names it."""
    arm = BareArm(ROBOT)
    arm.tau = NEEDED * [1.0, 0.1]
    with arm, pytest.raises(cp.errors.FallError, match=r"'lift' fell by 0\.006\d* m .* 2\.94 N and needs 29\.4 N"):
        ControlLoop(arm, law_of(), ROBOT).run(1.0)


def test_friction_that_holds_the_arm_is_no_fall() -> None:
    """An arm that stands by friction is found with 0, does not move, and is driven."""
    arm = BareArm(ROBOT, friction=1.2)
    with arm:
        assert ControlLoop(arm, law_of(), ROBOT).run(1.0).end is EndState.COMPLETED
        assert np.abs(arm.q).max() < 1e-3


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("found", [1.0, 0.7])
def test_a_law_may_move_at_once(sign: float, found: float) -> None:
    """A quick reference takes an arm that is held far beyond 20 mrad within the blend, up or down."""
    arm = BareArm(ROBOT, friction=0.0 if found == 1.0 else 0.35)
    arm.tau = found * NEEDED
    seen: list[np.ndarray] = []

    def until(sample: Sample) -> bool:
        seen.append(sample.q)
        return False

    with arm:
        law = law_of(reference=Sine(sign * np.array([0.3, 0.1]), 0.8))
        assert ControlLoop(arm, law, ROBOT).run(1.5, until=until).end is EndState.COMPLETED
    assert np.all(np.abs(seen[:500]).max(axis=0) > MOST)


def test_a_law_that_wants_down_is_not_called_a_fall() -> None:
    """Found with 0 and held by friction, sent down on purpose by a law that pulls harder than what is missing."""
    arm = BareArm(ROBOT, friction=1.5)
    law = law_of(reference=Sine(np.array([-0.9, -0.3]), 1.5))
    with arm:
        assert ControlLoop(arm, law, ROBOT).run(0.7, then="keep").end is EndState.COMPLETED
        assert np.all(arm.q < -MOST)


@pytest.mark.parametrize("push", [1.0, -1.0])
def test_a_hand_may_move_it(push: float) -> None:
    """Somebody moves an arm that is held, with an effort that reads a little wrong, while the run begins."""
    arm = held(BareArm(ROBOT, friction=0.05))
    arm.tau = 0.97 * NEEDED
    arm.push = push * np.array([4.0, 6.0])
    with arm:
        assert ControlLoop(arm, Gravity(ROBOT), ROBOT).run(0.6, then="keep").end is EndState.COMPLETED
        assert np.all(np.abs(arm.q) > MOST)


def test_a_plant_that_adds_gravity_is_not_watched() -> None:
    """It is found with zero command, which is right."""

    class Carried(BareArm):
        adds_gravity = True

        def write(self, tau: np.ndarray) -> np.ndarray:
            return super().write(tau + NEEDED * [np.cos(self.q[0]), 1.0]) - NEEDED * [np.cos(self.q[0]), 1.0]

        def read(self) -> Sample:
            sample = super().read()
            return Sample(sample.time, sample.q, sample.dq, sample.tau, None, SampleFlag.TAU_INVALID)

    class Push:
        adds_gravity = uses_wrench = False

        def reset(self, sample: Sample) -> None:
            pass

        def torque(self, sample: Sample, time: float) -> np.ndarray:
            return np.array([-2.0, -3.0])

    arm = Carried(ROBOT)
    with arm:
        assert ControlLoop(arm, Push(), ROBOT).run(0.5, then="keep").end is EndState.COMPLETED
        assert np.all(arm.q < -MOST)


def test_a_second_run_is_not_watched() -> None:
    """What was kept holds the arm, also where no effort is measured."""
    arm = held(BareArm(ROBOT))
    arm.effort_kind = "current"
    arm.tau = NEEDED.copy()
    arm.q = np.array([1.45, 0.0])
    arm.heavier = 1.0
    loop = ControlLoop(arm, law_of(), ROBOT)
    arm.friction = 1.5
    with arm:
        loop.run(0.8, then="keep")
        arm.friction = 0.0
        assert loop.run(0.5).end is EndState.COMPLETED
