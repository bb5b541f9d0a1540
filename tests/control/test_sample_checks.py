"""Each rule by which a sample is judged, at its border."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.fault import Fault
from counterpoise.control.plant import PlateInfo
from counterpoise.control.safety import SafetyFilter, SafetySettings
from counterpoise.recording import Sample, SampleFlag
from library.ideal_arm import IdealArm

ROBOT = cp.load("planar3")
N = ROBOT.n
T = 1e-3


def new_filter(**more: Any) -> SafetyFilter:
    options: dict[str, Any] = {"effort_limit": 10.0, "velocity_limit": 2.0, "lower": -1.0, "upper": 1.0} | more
    return SafetyFilter(ROBOT, dt=T, **options)


def sample(tick: float, q: Any = 0.0, dq: Any = 0.0, effort: Any = 0.0, **more: Any) -> Sample:
    full = [np.array(np.broadcast_to(value, (N,)), dtype=np.float64) for value in (q, dq, effort)]
    return Sample(tick * T, *full, **more)


def verdicts(safety: SafetyFilter, samples: list[Sample]) -> list[Fault]:
    return [Fault(safety.check(item, tick * T)) for tick, item in enumerate(samples)]


def test_steady_samples_are_good() -> None:
    """An honest noiseless arm at rest, bit-identical for ever, is not frozen."""
    safety = new_filter()
    assert set(verdicts(safety, [sample(tick, 0.3) for tick in range(3000)])) == {Fault.NONE}


def test_position_margin() -> None:
    """Within 0.1 beyond the limits is accepted, further is not; a small range has a smaller margin."""
    safety = new_filter(upper=[1.0, 1.0, -0.9])
    assert verdicts(safety, [sample(0, [1.09, -1.09, -0.9049])]) == [Fault.NONE]
    for joint, q in ((0, [1.11, 0.0, -0.95]), (1, [0.0, -1.11, -0.95]), (2, [0.0, 0.0, -0.894])):
        safety.reset()
        assert verdicts(safety, [sample(0, q)]) == [Fault.OUTSIDE_LIMITS]
        assert safety.faulty_joint(Fault.OUTSIDE_LIMITS) == ROBOT.joint_names[joint]
        assert safety.fault_value == q[joint]


def test_speed_limit() -> None:
    """At the limit is accepted, beyond it is not; an infinite limit, given so, switches the check off."""
    assert verdicts(new_filter(), [sample(0, dq=2.0), sample(1, dq=[0.0, -2.01, 0.0])]) == [
        Fault.NONE,
        Fault.OVER_SPEED,
    ]
    assert verdicts(new_filter(velocity_limit=np.inf), [sample(0, dq=1e6)]) == [Fault.NONE]


def test_jump() -> None:
    """Between two samples q may move by 1.5 times what the top speed allows, and 0.01 more."""
    for moved, fault in ((0.0129, Fault.NONE), (0.0131, Fault.Q_JUMPED), (-0.0131, Fault.Q_JUMPED)):
        safety = new_filter()
        assert verdicts(safety, [sample(0), sample(1, [0.0, moved, 0.0])])[-1] is fault
    safety = new_filter()
    assert verdicts(safety, [sample(0), sample(5, 0.0249)])[-1] is Fault.NONE


def test_time() -> None:
    """Time must go forward, by no more than the bridged ticks and a half more."""
    after = {0: Fault.TIME_REPEATED, -0.5: Fault.TIME_BACKWARDS, 0.5: Fault.NONE, 6.4: Fault.NONE, 6.6: Fault.TIME_GAP}
    for step, fault in after.items():
        assert verdicts(new_filter(), [sample(10), sample(10 + step)])[-1] is fault
    for time in (np.nan, np.inf, -np.inf):
        assert verdicts(new_filter(), [sample(0), replace(sample(1), time=time)])[-1] is Fault.TIME_INVALID


def test_one_wrong_stamp_does_not_outlast_its_tick() -> None:
    """After a stamp far ahead the true ones are good again, and none of them counts as late."""
    safety = new_filter()
    stamps = [0, 1, 2, 1e9, 4, 5, 6, 7, 8]
    found = verdicts(safety, [sample(tick) for tick in stamps])
    assert found == [Fault.NONE] * 3 + [Fault.TIME_GAP] + [Fault.NONE] * 5


def test_lateness() -> None:
    """Samples may arrive up to ten periods later than at the start; slow drift of the clocks does not count."""
    safety = new_filter(settings=SafetySettings(hold_ticks=100))
    assert safety.check(sample(0), 0.0) == Fault.NONE
    assert safety.check(sample(1), 10.9 * T) == Fault.NONE
    assert safety.check(sample(2), 13.1 * T) == Fault.LATE
    assert safety.check(sample(3), 3.0 * T) == Fault.NONE
    drifting = new_filter()
    assert {drifting.check(sample(tick), tick * T * 1.009) for tick in range(5000)} == {Fault.NONE}


def test_stale_mark() -> None:
    """A sample that its plant calls stale is a repeated one, whatever its time."""
    found = verdicts(new_filter(), [sample(0), sample(1, flags=SampleFlag.STALE)])
    assert found == [Fault.NONE, Fault.TIME_REPEATED]


@pytest.mark.parametrize("speed", [0.05, -0.4, 1.9])
def test_frozen_joint(speed: float) -> None:
    """A joint that reports a speed and the same position is frozen after 20 ticks and 2 mrad of missed way."""
    safety = new_filter()
    found = verdicts(safety, [sample(tick, [0.1, 0.0, 0.0], [speed, 0.0, 0.0], tick) for tick in range(100)])
    first = found.index(Fault.FROZEN)
    assert first == max(20, int(np.floor(2e-3 / abs(speed) / T)) + 1)
    assert safety.faulty_joint(Fault.FROZEN) == ROBOT.joint_names[0]


def test_slow_quantised_joint_is_not_frozen() -> None:
    """A velocity of one count over a filter's length with a position that has yet to step is honest."""
    safety = new_filter()
    step = 1.5e-3
    q = [step * np.floor(tick / 40) for tick in range(1000)]
    found = verdicts(safety, [sample(tick, value, step / (40 * T)) for tick, value in enumerate(q)])
    assert set(found) == {Fault.NONE}


def held_samples(*, follows: bool, flags: SampleFlag = SampleFlag.NONE) -> set[Fault]:
    """Verdicts on an arm at rest whose torque rises by 5 % of the limit; effort follows three ticks later, or not."""
    safety = new_filter()
    found, sent = set(), [np.zeros(N)] * 3
    for tick in range(60):
        effort = sent[-3] if follows else np.zeros(N)
        found.add(Fault(safety.check(sample(tick, 0.2, 0.0, effort, flags=flags), tick * T)))
        safety.limit(np.full(N, 0.5 if tick > 5 else 0.0))
        sent.append(safety.out.copy())
    return found


def test_arm_at_rest_whose_effort_does_not_follow_is_frozen() -> None:
    """The torque changed by 5 % of the limit and no reading did: the drive repeats old values."""
    assert Fault.FROZEN in held_samples(follows=False)
    assert held_samples(follows=True) == {Fault.NONE}
    assert held_samples(follows=False, flags=SampleFlag.TAU_INVALID) == {Fault.NONE}


def test_effort() -> None:
    """Efforts must be numbers, unless the plant says that it senses none."""
    bad = sample(1, effort=[0.0, np.nan, 0.0])
    assert verdicts(new_filter(), [sample(0), bad])[-1] is Fault.TAU_INVALID
    excused = replace(bad, flags=SampleFlag.TAU_INVALID)
    assert verdicts(new_filter(), [sample(0), excused])[-1] is Fault.NONE


def test_plate() -> None:
    """A plate that is needed must be there, valid, finite and below its range."""
    arm = IdealArm(cp.load("puma560"), plate=PlateInfo("on_robot", np.eye(4), np.array([9.0, 9, 9, 2, 2, 2])))
    zeros = np.zeros(6)
    full = Sample(0.0, arm.q, arm.dq, arm.tau, np.array([1.0, 0, 0, 0, -2.0, 0]))
    cases = {
        Fault.NONE: replace(full, wrench=zeros),
        Fault.WRENCH_SATURATED: full,
        Fault.WRENCH_INVALID: replace(full, wrench=None),
    }
    for fault, item in cases.items():
        for needed in (True, False):
            safety = SafetyFilter(arm.robot, plant=arm)
            safety.uses_wrench = needed
            assert safety.check(item, 0.0) == (fault if needed else Fault.NONE)
    marked = {SampleFlag.WRENCH_INVALID: Fault.WRENCH_INVALID, SampleFlag.WRENCH_SATURATED: Fault.WRENCH_SATURATED}
    for flag, fault in marked.items():
        safety = SafetyFilter(arm.robot, plant=arm)
        safety.uses_wrench = True
        assert safety.check(replace(full, wrench=zeros, flags=flag), 0.0) == fault
        assert safety.faulty_joint(fault) is None
    safety = SafetyFilter(arm.robot, plant=arm)
    safety.uses_wrench = True
    assert "plate channel my: " in safety.reason(safety.check(full, 0.0))


def test_worst_fault_wins() -> None:
    """Of several faults the one that leaves least to rely on is reported."""
    bad = sample(1, [np.nan, 0.0, 0.0], np.nan, np.inf, flags=SampleFlag.STALE)
    assert verdicts(new_filter(), [sample(0), bad])[-1] is Fault.Q_INVALID
    bad = sample(0, 0.0, np.nan, np.inf)
    assert verdicts(new_filter(), [sample(0), bad])[-1] is Fault.TIME_REPEATED
    bad = sample(1, 0.0, [0.0, np.nan, 9.0], np.inf)
    assert verdicts(new_filter(), [sample(0), bad])[-1] is Fault.DQ_INVALID
