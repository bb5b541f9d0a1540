"""The gate: what stands, what endures, from which side it came; native and specification alike."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording import REVERSAL, direction_of_travel
from counterpoise.sensing import gate, kernel
from counterpoise.sensing.gate import Row, Seen, fresh_memory, thresholds

ROBOT = cp.load("wam7")
POSE = np.array([0.1, -0.5, 0.2, 1.0, 0.1, 0.3, 0.2])
ZERO = np.zeros(7)


def seen(memory: np.ndarray, q: np.ndarray, tau: np.ndarray = ZERO, *, dq: np.ndarray = ZERO) -> Seen:
    return Seen(kernel.watch(memory, q, dq, tau, thresholds(), True))


def test_native_and_specification_agree() -> None:
    """Over a walk with rests, faults, saturation and stops, codes and memories are the same."""
    rng = np.random.default_rng(0)
    ours, theirs = fresh_memory(ROBOT), fresh_memory(ROBOT)
    q, codes = POSE.copy(), set()
    for _ in range(3000):
        q = q + (rng.standard_normal(7) * 2e-3 if rng.random() < 0.2 else 1e-5 * rng.standard_normal(7))
        sample = [q.copy(), 0.01 * rng.standard_normal(7), rng.standard_normal(7)]
        if rng.random() < 0.05:
            sample[int(rng.integers(3))][int(rng.integers(7))] = rng.choice([np.nan, np.inf, 1e12, 70.0])
        collect = bool(rng.random() < 0.7)
        first = kernel.watch(ours, *sample, thresholds(), collect)
        assert first == gate.watch(theirs, *sample, thresholds(), collect)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        codes.add(Seen(first))
    assert codes == set(Seen)


def test_the_side_is_the_logs_direction_of_travel() -> None:
    """The same rule as for recordings, sample by sample."""
    rng = np.random.default_rng(1)
    path = np.cumsum(rng.standard_normal((400, 7)) * 1.5e-3, axis=0) + POSE
    expected = direction_of_travel(path, REVERSAL)
    memory = fresh_memory(ROBOT)
    for q, direction in zip(path, expected, strict=True):
        seen(memory, q)
        np.testing.assert_array_equal(memory[Row.DIRECTION], direction)


def test_a_slow_creep_never_stands_for_long() -> None:
    """At 6 mrad/s the band is left again and again."""
    memory = fresh_memory(ROBOT)
    codes = [seen(memory, POSE + 6e-3 * tick * 1e-3) for tick in range(1000)]
    moved = np.flatnonzero(np.array(codes) == Seen.MOVED)
    assert np.diff(moved).max() < 250


@pytest.mark.parametrize("share", [0.99, -0.99])
def test_a_saturated_drive_is_not_endured(share: float) -> None:
    memory = fresh_memory(ROBOT)
    seen(memory, POSE)
    tau = ZERO.copy()
    tau[3] = share * ROBOT.effort_limit[3]
    assert seen(memory, POSE, tau) is Seen.LOADED
    assert not memory[Row.SUM_TAU].any()
    assert seen(memory, POSE, 0.9 * tau) is Seen.STILL


def test_a_joint_at_its_stop_is_not_endured() -> None:
    memory = fresh_memory(ROBOT)
    pose = POSE.copy()
    pose[1] = ROBOT.upper[1] - 0.005
    seen(memory, pose)
    assert seen(memory, pose) is Seen.LOADED


def test_what_is_no_number_is_invalid_and_leaves_no_trace() -> None:
    memory = fresh_memory(ROBOT)
    seen(memory, POSE)
    seen(memory, POSE, ZERO + 1.0)
    before = memory.copy()
    for place in range(3):
        sample = [POSE.copy(), ZERO.copy(), ZERO.copy()]
        sample[place][2] = np.nan
        assert kernel.watch(memory, *sample, thresholds(), True) == Seen.INVALID
    np.testing.assert_array_equal(memory, before)


def test_a_fast_joint_moves_whatever_its_position_says() -> None:
    memory = fresh_memory(ROBOT)
    seen(memory, POSE)
    assert seen(memory, POSE, dq=ZERO + 0.1) is Seen.MOVED
