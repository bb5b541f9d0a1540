"""The both-sides reference, and what it does to arms with real friction."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import Reference
from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.identification import PosePlan, arrivals
from counterpoise.plants import preset
from counterpoise.tasks import BidirectionalApproach, Recording, Rig

SCARA = cp.load("scara")
START = np.array([0.0, 0.1, -0.06, 0.2])
PLAN = PosePlan.of(SCARA, [[0.4, -0.2, -0.08, 0.3], [-0.1, 0.5, -0.05, 0.0]], dwell=0.4, settle=0.1)


def begun() -> BidirectionalApproach:
    """The reference, reset."""
    reference = BidirectionalApproach(PLAN)
    reference.reset(START)
    return reference


def test_is_a_reference_that_begins_and_ends_where_the_arm_stood() -> None:
    """So that an arm without brakes is let down where its user had put it."""
    reference = begun()
    assert isinstance(reference, Reference)
    for time in (0.0, reference.duration, 1e6):
        assert reference.at(time).q == pytest.approx(START)
        assert reference.at(time).dq == pytest.approx(np.zeros(4), abs=1e-12)


def test_is_smooth_and_keeps_its_speeds() -> None:
    """Velocity is the slope; no joint is faster than its travel speed, nor than its creep speed while creeping."""
    reference = begun()
    times = np.arange(0.0, reference.duration, 2e-3)
    wanted = [reference.at(time) for time in times]
    q, dq = np.array([w.q for w in wanted]), np.array([w.dq for w in wanted])
    assert np.diff(q, axis=0) / 2e-3 == pytest.approx(0.5 * (dq[1:] + dq[:-1]), abs=2e-3)
    assert np.all(np.abs(dq) <= PLAN.travel_speed + 1e-9)
    assert np.all(np.abs(np.diff(dq, axis=0)) / 2e-3 <= 1.01 * PLAN.travel_speed / 0.5)  # reached in half a second
    for window in reference.windows:
        creeping = (times >= window.creep) & (times < window.begin)
        assert np.all(np.abs(dq[creeping]) <= PLAN.creep_speed + 1e-9)


def test_every_pose_is_reached_from_above_and_from_below() -> None:
    """In each window the reference rests at the pose; before, every joint moves only towards it."""
    reference = begun()
    assert [(w.pose, w.side) for w in reference.windows] == [(0, "above"), (0, "below"), (1, "above"), (1, "below")]
    for window in reference.windows:
        sign = 1.0 if window.side == "above" else -1.0
        assert reference.at(window.creep).q == pytest.approx(PLAN.poses[window.pose] + sign * PLAN.approach)
        times = np.linspace(window.creep, window.end, 200)
        way = np.diff([reference.at(time).q for time in times], axis=0)
        assert np.all(sign * way <= 1e-12)
        assert window.end - window.begin == pytest.approx(PLAN.dwell)
        for time in np.linspace(window.begin, window.end - 1e-9, 7):
            assert reference.at(time).q == pytest.approx(PLAN.poses[window.pose])
            assert reference.resting(time)
        assert reference.resting(window.begin - 0.5 * PLAN.settle)
        assert not reference.resting(window.creep + 1e-3)
        assert not reference.resting(window.end + 1e-6)


def test_shortened_offsets_are_used() -> None:
    """What approach_within() returns replaces the plan's approach."""
    reference = BidirectionalApproach(PLAN, 0.5 * np.broadcast_to(PLAN.approach, PLAN.poses.shape))
    reference.reset(START)
    first = reference.windows[0]
    assert reference.at(first.creep).q == pytest.approx(PLAN.poses[0] + 0.5 * PLAN.approach)


def test_it_waits_before_the_first_move() -> None:
    """The same motion, later by the wait; until then the arm is left where it is."""
    later, now = BidirectionalApproach(PLAN, wait=0.5), begun()
    later.reset(START)
    assert later.duration == pytest.approx(now.duration + 0.5)
    for time in (0.0, 0.3, 0.5):
        assert later.at(time).q == pytest.approx(START) and not later.at(time).dq.any()
    for time in np.linspace(0.0, now.duration, 23):
        assert later.at(time + 0.5).q == pytest.approx(now.at(time).q)
    assert [window.begin - 0.5 for window in later.windows] == pytest.approx([w.begin for w in now.windows])


def test_it_travels_more_gently_when_told() -> None:
    """Four times the rise time is a quarter of the acceleration; creeping stays as it is."""
    gentle = BidirectionalApproach(PLAN, rise_time=2.0)
    gentle.reset(START)
    times = np.arange(0.0, gentle.windows[0].creep, 2e-3)
    dq = np.array([gentle.at(time).dq for time in times])
    assert np.all(np.abs(np.diff(dq, axis=0)) / 2e-3 <= 1.01 * PLAN.travel_speed / 2.0)
    for slow, quick in zip(gentle.windows, begun().windows, strict=True):
        assert slow.begin - slow.creep == pytest.approx(quick.begin - quick.creep)


def test_it_says_when_the_arm_is_measured() -> None:
    """From the beginning of a window to its end, not while the arm settles before it."""
    reference = begun()
    for window in reference.windows:
        assert reference.measuring(window.begin + 1e-9) and reference.measuring(window.end - 1e-9)
        assert not reference.measuring(window.begin - 1e-6) and not reference.measuring(window.end + 1e-6)
    assert not reference.measuring(0.0)


def test_misuse_is_refused() -> None:
    """Not reset, other joints, other shapes."""
    with pytest.raises(InputError, match="not reset"):
        BidirectionalApproach(PLAN).at(0.0)
    with pytest.raises(InputError, match="4 joints"):
        BidirectionalApproach(PLAN).reset(np.zeros(3))
    with pytest.raises(InputError, match="offsets"):
        BidirectionalApproach(PLAN, np.ones((1, 4)))


@pytest.mark.parametrize(("name", "integral"), [("puma550", ()), ("wam7", ("joint3", "joint7"))])
def test_arms_with_friction_come_to_rest_from_the_stated_side(name: str, integral: tuple[str, ...]) -> None:
    """Each joint creeps towards the pose, hardly ever back, and friction then holds it with the sign of that side.

    Above, the joint moved down: friction is negative; below, positive. More than a third of the sliding friction must
    still be on, on both sides: what is on cancels in the mean of both.
    """
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    arm = preset(name).arm(seed=3)
    start = np.asarray(arm.config.position)
    recording = Recording(Rig(arm, arm.robot), PosePlan.of(arm.robot, [start + 0.15], dwell=0.4))
    assert set(integral) <= set(recording.with_integral)
    frictions: list[Array] = []
    law = recording.reference
    with arm:
        original = law.at

        def watched(time: float) -> object:
            if len(frictions) <= round(time / arm.dt):
                frictions.append(arm.truth().friction_torque)
            return original(time)

        law.at = watched  # type: ignore[method-assign, assignment]
        log = recording.run()
    coulomb = np.asarray(arm.config.drive.friction.coulomb)  # type: ignore[union-attr]
    assert len(arrivals(log)) == 2
    for arrival, window in zip(arrivals(log), law.windows, strict=True):
        assert arrival.failed == []
        assert np.all(arrival.moved > 0.3 * arrival.approach)
        assert np.all(arrival.back < 0.03 * arrival.approach)
        part = slice(round(window.begin / arm.dt), round(window.end / arm.dt))
        held = np.mean(frictions[part], axis=0) * (-1.0 if window.side == "above" else 1.0)
        assert np.all(held > coulomb / 3.0), held / coulomb
