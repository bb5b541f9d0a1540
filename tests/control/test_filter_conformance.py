"""The native filter repeats its Python specification bit by bit, over any samples and torques."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.control.filter_core import FilterCore, ReferenceFilterCore
from counterpoise.foundation import Array
from counterpoise.recording import Sample

pytestmark = pytest.mark.skipif(FilterCore is ReferenceFilterCore, reason="the native filter is not built or disabled")

N = 3
LIMITS: dict[str, Any] = {
    "dt": 1e-3,
    "lower": np.array([-1.0, -2.0, -np.inf]),
    "upper": np.array([1.0, 2.0, np.inf]),
    "velocity_limit": np.array([2.0, 1.0, np.inf]),
    "effort_limit": np.array([10.0, 0.5, 0.0]),
    "rate_limit": np.array([100.0, 1e-3, 1.0]),
    "wrench_range": np.array([100.0, 100.0, 200.0, 10.0, 10.0, np.inf]),
    "jump_slack": 0.01,
    "max_gap": 6.5e-3,
    "max_lag": 3e-3,
    "frozen_ticks": 3,
    "frozen_travel": 1e-3,
    "frozen_torque": 0.02,
}


def row(size: int, usual: st.SearchStrategy[float]) -> st.SearchStrategy[Array]:
    """Rows that are mostly plausible, sometimes anything."""
    one = st.one_of(usual, usual, usual, usual, usual, usual, st.floats())
    return st.lists(one, min_size=size, max_size=size).map(np.array)


few = st.sampled_from([0.0, 0.0, 0.5, -0.5, 0.501])
SAMPLES = st.builds(
    lambda steps, q, dq, effort, wrench, flags: (steps, q, dq, effort, wrench, flags),
    st.one_of(st.sampled_from([1, 1, 1, 1, 0.7, 2, 0, -1, 8]), st.floats()),
    row(N, few),
    row(N, few),
    row(N, few),
    st.one_of(st.none(), row(6, few)),
    st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 63]),
)
TORQUES = st.lists(row(N, st.floats(-20.0, 20.0)), max_size=3)


@given(
    ticks=st.lists(st.tuples(SAMPLES, TORQUES, st.booleans(), st.booleans()), min_size=1, max_size=25),
    uses_wrench=st.booleans(),
    late=st.sampled_from([0.0, 0.3e-3]),
)
@settings(max_examples=80)
def test_same_faults_flags_and_bits(ticks: list[Any], uses_wrench: bool, late: float) -> None:
    """Over a whole run: the same fault, joint, value, flags, counts and torque, bit by bit."""
    native, reference = FilterCore(**LIMITS), ReferenceFilterCore(**LIMITS)
    both = (native, reference)
    for core in both:
        core.uses_wrench = uses_wrench
        core.start_from(np.array([3.0, 0.7, 0.0]))
    time = 0.0
    for tick, ((steps, q, dq, effort, wrench, flags), torques, shrink, plant_clips) in enumerate(ticks):
        time += steps * 1e-3 if np.isfinite(steps) else 0.0
        stamp = time if np.isfinite(steps) else steps
        sample = Sample(stamp, q, dq, effort, wrench, flags)  # type: ignore[arg-type]
        faults = [core.check(sample, tick * (1e-3 + late)) for core in both]
        assert faults[0] == faults[1]
        if faults[0]:
            assert native.fault_joint == reference.fault_joint
            assert np.array_equal(native.fault_value, reference.fault_value, equal_nan=True)
        if shrink:
            for core in both:
                core.set_effort_limit(np.array([1.0 + tick % 3, 0.25, 0.0]))
        raised = [core.hold() if faults[0] else core.limit(*torques) for core in both]
        assert raised[0] == raised[1]
        assert native.out.tobytes() == reference.out.tobytes()
        if plant_clips:
            told = [core.sent(np.clip(core.out, -0.3, 0.3)) for core in both]
            assert told[0] == told[1]
        assert native.last.tobytes() == reference.last.tobytes()
        assert native.joint_flags.tobytes() == reference.joint_flags.tobytes()
        assert native.counts.tobytes() == reference.counts.tobytes()


def assert_alike(samples: list[Sample], *, now: float, torque: float = 0.0) -> set[int]:
    """Judge samples with both filters, tick by tick, and return the verdicts found."""
    native, reference = FilterCore(**LIMITS), ReferenceFilterCore(**LIMITS)
    found = set()
    for tick, sample in enumerate(samples):
        verdict = native.check(sample, tick * now)
        assert verdict == reference.check(sample, tick * now), tick
        found.add(verdict)
        for core in (native, reference):
            core.limit(np.full(N, torque * tick))
    return found


def test_borders_agree() -> None:
    """Just below and just above each border of the rules, both say the same, and the border is met from both sides."""
    zeros = np.zeros(N)
    for joint, most in ((0, 1.5 * 2.0 * 1e-3 + 0.01), (1, 1.5 * 1.0 * 1e-3 + 0.01)):
        for share, fault in ((0.9999, 0), (1.0001, 6)):
            moved = zeros.copy()
            moved[joint] = share * most
            samples = [Sample(0.0, zeros, zeros, zeros), Sample(1e-3, moved, zeros, zeros)]
            assert assert_alike(samples, now=1e-3) == {0, fault}
    for drift, late in ((1.0099, False), (1.0101, False), (1.02, True)):
        samples = [Sample(tick * 1e-3, zeros + 1e-6 * tick, zeros, zeros) for tick in range(800)]
        assert (17 in assert_alike(samples, now=1e-3 * drift)) == late
    for flags, frozen in ((0, True), (4, False)):
        samples = [Sample(tick * 1e-3, zeros, zeros, zeros, None, flags) for tick in range(20)]  # type: ignore[arg-type]
        assert (7 in assert_alike(samples, now=1e-3, torque=0.05)) == frozen
    for speed, frozen in ((0.0, False), (0.3, True)):
        samples = [Sample(tick * 1e-3, zeros, zeros + speed, zeros + tick) for tick in range(20)]
        assert (7 in assert_alike(samples, now=1e-3)) == frozen


ARRAY = np.zeros(N)
ODD: list[Any] = [
    None,
    object(),
    Sample(0.0, ARRAY, ARRAY, np.zeros(N + 1)),
    Sample(0.0, ARRAY, ARRAY.astype(np.float32), ARRAY),  # type: ignore[arg-type]
    Sample(0.0, [0.0] * N, ARRAY, ARRAY),  # type: ignore[arg-type]
    Sample(0.0, ARRAY, ARRAY, ARRAY, np.zeros(5)),
    Sample(0.0, np.ma.array(ARRAY, mask=[True] * N), ARRAY, ARRAY),
    Sample("0", ARRAY, ARRAY, ARRAY),  # type: ignore[arg-type]
    Sample(np.float32(0), ARRAY, ARRAY, ARRAY),  # type: ignore[arg-type]
    Sample(10**400, ARRAY, ARRAY, ARRAY),
    Sample(7, ARRAY, ARRAY, ARRAY),
    Sample(0.0, ARRAY, ARRAY, ARRAY, None, -1),  # type: ignore[arg-type]
    Sample(0.0, ARRAY, ARRAY, ARRAY, None, 2**40),  # type: ignore[arg-type]
    Sample(0.0, ARRAY, ARRAY, ARRAY, None, 1.0),  # type: ignore[arg-type]
    Sample(0.0, np.zeros((N, 4))[:, 2], ARRAY, ARRAY),
]


@pytest.mark.parametrize("sample", ODD, ids=range(len(ODD)))
def test_odd_samples_are_judged_alike(sample: Any) -> None:
    """What is no sample gets the same verdict from both."""
    native, reference = FilterCore(**LIMITS), ReferenceFilterCore(**LIMITS)
    assert native.check(sample, 0.0) == reference.check(sample, 0.0)


def test_native_type_protects_itself() -> None:
    """An uninitialised or doubly initialised filter raises instead of crashing, and so do wrong arguments."""
    bare = FilterCore.__new__(FilterCore)
    for call in (bare.hold, lambda: bare.out, lambda: bare.check(None, 0.0), bare.limit):
        with pytest.raises(RuntimeError):
            call()
    core = FilterCore(**LIMITS)
    with pytest.raises(RuntimeError):
        core.__init__(**LIMITS)  # type: ignore[misc]
    for name in ("lower", "upper", "rate_limit", "wrench_range"):
        with pytest.raises(TypeError):
            FilterCore(**(LIMITS | {name: np.zeros(7)}))
    with pytest.raises(TypeError):
        core.start_from([0.0] * N)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        core.set_effort_limit(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        core.check(None)  # type: ignore[call-arg]
