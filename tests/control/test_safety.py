"""The safety filter's promise: finite, within the limit, within the rate, for any input whatever."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.control.fault import Fault, FilterFlag
from counterpoise.control.filter_core import FilterCore, ReferenceFilterCore
from counterpoise.control.safety import Budget, SafetyFilter
from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag

PLANAR = cp.load("planar3")
N = PLANAR.n
PERIOD = 1e-3
CORES = [FilterCore] if FilterCore is ReferenceFilterCore else [FilterCore, ReferenceFilterCore]

any_float = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True, width=64)
any_row = st.lists(any_float, min_size=N, max_size=N).map(lambda row: np.array(row, dtype=np.float64))
limit = st.one_of(st.just(0.0), st.floats(1e-300, 1e9), st.floats(5e-324, 1e-300))
rate = st.one_of(st.floats(1e-300, 1e9), st.floats(5e-324, 1e-300))


def core(kind: type[ReferenceFilterCore], effort: Array, rates: Array) -> ReferenceFilterCore:
    """Return a bare filter with these limits and no others."""
    return kind(
        dt=PERIOD,
        lower=np.full(N, -np.inf),
        upper=np.full(N, np.inf),
        velocity_limit=np.full(N, np.inf),
        effort_limit=effort,
        rate_limit=rates,
        wrench_range=np.full(6, np.inf),
        jump_slack=0.01,
        max_gap=6.5 * PERIOD,
        max_lag=10.0 * PERIOD,
        frozen_ticks=20,
        frozen_travel=2e-3,
        frozen_torque=0.02,
    )


def filter_of(**more: Any) -> SafetyFilter:
    options: dict[str, Any] = {"dt": PERIOD, "effort_limit": [10.0, 5.0, 1.0], "velocity_limit": 3.0} | more
    return SafetyFilter(PLANAR, lower=-np.pi, upper=np.pi, **options)


def sample(time: float = 0.0, **more: Any) -> Sample:
    values: dict[str, Any] = {"q": np.zeros(N), "dq": np.zeros(N), "tau": np.zeros(N)} | more
    return Sample(time, **values)


@pytest.mark.parametrize("kind", CORES)
@given(
    effort=st.lists(limit, min_size=N, max_size=N),
    rates=st.lists(rate, min_size=N, max_size=N),
    start=any_row,
    rows=st.lists(st.tuples(st.lists(any_row, max_size=3), st.none() | any_row), min_size=1, max_size=6),
)
@settings(max_examples=150)
def test_output_is_bounded_for_any_float(
    kind: type[ReferenceFilterCore], effort: list[float], rates: list[float], start: Array, rows: list[Any]
) -> None:
    """Finite, |τ| ≤ limit and |Δτ| ≤ rate · dt in exact arithmetic, over any torques, limits, rates and reports."""
    filter_ = core(kind, np.array(effort), np.array(rates))
    filter_.start_from(start)
    before = filter_.last.copy()
    assert np.all(np.abs(before) <= effort)
    assert np.all(before[~np.isfinite(start)] == 0.0)
    for torques, really_sent in rows:
        filter_.limit(*torques)
        after = filter_.out.copy()
        assert np.all(np.isfinite(after))
        assert np.all(np.abs(after) <= effort)
        for joint in range(N):
            step = abs(Fraction(after[joint]) - Fraction(before[joint]))
            assert step <= Fraction(rates[joint] * PERIOD)
        assert np.array_equal(filter_.last, after)
        if really_sent is not None:
            filter_.sent(really_sent)
            assert np.all(np.abs(filter_.last) <= effort)
        before = filter_.last.copy()


@pytest.mark.parametrize("kind", CORES)
@given(
    limits=st.lists(st.lists(limit, min_size=N, max_size=N), min_size=2, max_size=6),
    rates=st.lists(rate, min_size=N, max_size=N),
    torques=st.lists(any_row, min_size=6, max_size=6),
)
@settings(max_examples=150)
def test_magnitude_wins_when_limits_change(
    kind: type[ReferenceFilterCore], limits: list[list[float]], rates: list[float], torques: list[Array]
) -> None:
    """|τ| ≤ the limit of the tick, always; the rate bound gives way only where the limit has shrunk below the last."""
    filter_ = core(kind, np.array(limits[0]), np.array(rates))
    for effort, tau in zip(limits, torques, strict=False):
        filter_.set_effort_limit(np.array(effort))
        before = filter_.last.copy()
        filter_.limit(tau)
        after = filter_.out.copy()
        assert np.all(np.isfinite(after))
        assert np.all(np.abs(after) <= effort)
        for joint in range(N):
            broke = abs(Fraction(after[joint]) - Fraction(before[joint])) > Fraction(rates[joint] * PERIOD)
            if broke:
                assert abs(before[joint]) > effort[joint]
                assert abs(after[joint]) == effort[joint]
                assert filter_.joint_flags[joint] & FilterFlag.LIMIT_SHRUNK


@pytest.mark.parametrize("kind", CORES)
@given(effort=st.lists(limit, min_size=N, max_size=N), other=any_row, tau=any_row)
@settings(max_examples=100)
def test_no_limit_is_ever_raised(
    kind: type[ReferenceFilterCore], effort: list[float], other: Array, tau: Array
) -> None:
    """Whatever is set later, infinity and NaN too, the limits that a filter was made with hold."""
    filter_ = core(kind, np.array(effort), np.full(N, 1e9))
    filter_.set_effort_limit(other)
    assert np.all((filter_.effort_limit >= 0.0) & (filter_.effort_limit <= effort))
    filter_.limit(tau)
    assert np.all(np.abs(filter_.out) <= effort)
    filter_.set_effort_limit(np.array(effort))
    assert filter_.effort_limit.tolist() == effort


@pytest.mark.parametrize("kind", CORES)
def test_shrunk_limit_is_kept_in_one_step(kind: type[ReferenceFilterCore]) -> None:
    """The example that cannot satisfy both bounds: 2 was sent, the limit is now 1, the rate allows 0.1 a tick."""
    filter_ = core(kind, np.full(N, 2.0), np.full(N, 100.0))
    filter_.start_from(np.full(N, 2.0))
    filter_.set_effort_limit(np.full(N, 1.0))
    flags = filter_.limit(np.full(N, -2.0))
    assert filter_.out.tolist() == [1.0] * N
    assert flags == FilterFlag.SATURATED | FilterFlag.RATE_LIMITED | FilterFlag.LIMIT_SHRUNK


@pytest.mark.parametrize("kind", CORES)
def test_rate_smaller_than_a_rounding_step(kind: type[ReferenceFilterCore]) -> None:
    """Where the rate allows less than one unit in the last place, the torque stays: it does not step by a unit."""
    filter_ = core(kind, np.full(N, 1e9), np.full(N, 0.7 * np.spacing(1e8) / PERIOD))
    filter_.start_from(np.full(N, 1e8))
    filter_.limit(np.full(N, 2e8))
    assert filter_.out.tolist() == [1e8] * N


@pytest.mark.parametrize("kind", CORES)
def test_torque_below_the_rate_passes_unchanged(kind: type[ReferenceFilterCore]) -> None:
    """A torque that breaks no bound goes through bit by bit, and several are summed."""
    filter_ = core(kind, np.full(N, 5.0), np.full(N, 1e9))
    tau = np.array([0.1, -2.7, 5.0])
    assert filter_.limit(tau) == 0
    assert np.array_equal(filter_.out, tau)
    assert filter_.limit(tau, np.array([0.2, 0.7, -9.0]), np.array([0.0, 0.0, 0.25])) == 0
    assert filter_.out.tolist() == [0.1 + 0.2, -2.7 + 0.7, 5.0 - 9.0 + 0.25]


@pytest.mark.parametrize("kind", CORES)
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        1.0,
        [0.0, 0.0, 0.0],
        np.zeros(N - 1),
        np.zeros(N + 1),
        np.zeros((1, N)),
        np.zeros(()),
        np.zeros(N, dtype=np.float32),
        np.zeros(N, dtype=np.int64),
        np.zeros(N, dtype=">f8"),
        np.zeros(N, dtype=complex),
        np.array(["a"] * N),
        np.ma.array(np.zeros(N), mask=[True, False, False]),
        np.zeros(N).view(np.recarray),
        np.frombuffer(b"\0" * 8 * (N + 1), dtype=np.uint8)[1 : 8 * N + 1].view(np.float64),
    ],
    ids=repr,
)
def test_what_is_no_torque_is_held(kind: type[ReferenceFilterCore], wrong: Any) -> None:
    """Wrong type, shape, byte order or alignment: nothing is used, the last torque stays, the flags say so."""
    filter_ = core(kind, np.full(N, 5.0), np.full(N, 1e9))
    filter_.limit(np.full(N, 2.0))
    for torques in ((wrong,), (np.zeros(N), wrong)):
        assert filter_.limit(*torques) == FilterFlag.MALFORMED | FilterFlag.HELD
        assert filter_.out.tolist() == [2.0] * N


@pytest.mark.parametrize("kind", CORES)
def test_strided_torque_is_read_right(kind: type[ReferenceFilterCore]) -> None:
    """A column of a matrix is a torque too."""
    filter_ = core(kind, np.full(N, 50.0), np.full(N, 1e9))
    table = np.arange(3.0 * N).reshape(N, 3)
    assert filter_.limit(table[:, 1], table[::-1, 0]) == 0
    assert np.array_equal(filter_.out, table[:, 1] + table[::-1, 0])


@pytest.mark.parametrize("kind", CORES)
def test_one_bad_joint_holds_them_all(kind: type[ReferenceFilterCore]) -> None:
    """A law that is NaN on one joint is not trusted on the others; the joint is named."""
    filter_ = core(kind, np.full(N, 5.0), np.full(N, 1e9))
    filter_.limit(np.full(N, 2.0))
    flags = filter_.limit(np.array([0.0, np.nan, 0.0]))
    assert flags == FilterFlag.NON_FINITE | FilterFlag.HELD
    assert filter_.out.tolist() == [2.0] * N
    assert [bool(bits & FilterFlag.NON_FINITE) for bits in filter_.joint_flags] == [False, True, False]
    assert filter_.counts[3].tolist() == [0, 1, 0]
    assert filter_.counts[5].tolist() == [1, 1, 1]
    assert filter_.limit(np.array([np.inf, 0.0, 0.0]), np.array([-np.inf, 0.0, 0.0])) & FilterFlag.NON_FINITE
    assert filter_.limit(np.array([1e308, 0.0, 0.0]), np.array([1e308, 0.0, 0.0])) & FilterFlag.NON_FINITE


@pytest.mark.parametrize("kind", CORES)
def test_next_step_starts_from_what_was_really_sent(kind: type[ReferenceFilterCore]) -> None:
    """A plant that clips moves the start of the next step; what is no torque is not believed."""
    filter_ = core(kind, np.full(N, 5.0), np.full(N, 1000.0))
    filter_.limit(np.full(N, 1.0))
    assert filter_.sent(filter_.out) == 0
    assert filter_.sent(np.array(filter_.out)) == 0
    assert filter_.sent(np.array([0.25, filter_.out[1], 1e9])) == FilterFlag.CHANGED_BY_PLANT
    assert filter_.last.tolist() == [0.25, filter_.out[1], 5.0]
    assert filter_.counts[6].tolist() == [1, 0, 1]
    filter_.limit(np.full(N, 5.0))
    assert filter_.out[0] == pytest.approx(1.25, rel=1e-5)
    last = filter_.last.copy()
    for wrong in (None, np.zeros(N + 1), np.full(N, np.nan)):
        assert filter_.sent(wrong) == FilterFlag.CHANGED_BY_PLANT  # type: ignore[arg-type]
        assert np.array_equal(filter_.last, last)


@pytest.mark.parametrize("kind", CORES)
def test_nobody_writes_into_the_filter(kind: type[ReferenceFilterCore]) -> None:
    """All arrays that a filter shows are read-only: a plant or a law cannot change them."""
    filter_ = core(kind, np.full(N, 5.0), np.full(N, 1.0))
    for array in (filter_.out, filter_.last, filter_.effort_limit, filter_.joint_flags, filter_.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_step_does_a_whole_tick() -> None:
    """Good: the torque, limited. Bad sample or bad torque: the last torque, until must_stop."""
    filter_ = filter_of(rate_limit=1e6)
    assert filter_.step(sample(0.0), np.ones(N)).tolist() == [1.0] * N
    assert filter_.flags == FilterFlag.NONE
    assert filter_.step(sample(1e-3), np.full(N, 3.0)).tolist() == [3.0, 3.0, 1.0]
    assert filter_.flags == FilterFlag.SATURATED
    out = filter_.step(sample(2e-3, q=np.full(N, np.nan)), np.zeros(N))
    assert filter_.fault is Fault.Q_INVALID
    assert out.tolist() == [3.0, 3.0, 1.0]
    assert filter_.flags == FilterFlag.HELD
    out = filter_.step(sample(3e-3), np.full(N, np.nan))
    assert filter_.fault is Fault.NONE
    assert out.tolist() == [3.0, 3.0, 1.0]
    assert not filter_.must_stop
    for _ in range(4):
        filter_.step(sample(3e-3), np.zeros(N))
    assert filter_.must_stop
    assert filter_.counts[int(FilterFlag.HELD).bit_length() - 1].tolist() == [6, 6, 6]
    filter_.reset([1.0, 1.0, 1.0])
    assert not filter_.must_stop
    assert filter_.step(sample(0.0), np.ones(N)).tolist() == [1.0] * N


def test_budget_bridges_so_many_and_no_more() -> None:
    """Five bad ticks in a row are bridged, the sixth is not; four good ones make up for one bad one."""
    budget = Budget(5, 4)
    assert [budget.bad() for _ in range(6)] == [False] * 5 + [True]
    budget.clear()
    for _ in range(1000):
        assert not budget.bad()
        for _ in range(4):
            budget.good()
    for tick in range(60):
        budget.good() if tick % 2 else budget.bad()
    assert budget.spent


def test_effort_limit_can_be_lowered_only() -> None:
    """A limit may be tightened and put back, never raised beyond what the filter was made with."""
    filter_ = filter_of()
    filter_.lower_effort_limit(2.0)
    assert filter_.effort_limit.tolist() == [2.0, 2.0, 1.0]
    filter_.lower_effort_limit([100.0, 4.0, 0.0])
    assert filter_.effort_limit.tolist() == [10.0, 4.0, 0.0]
    for wrong in (-1.0, np.nan, [1.0, 2.0], "x"):
        with pytest.raises(InputError, match="effort_limit"):
            filter_.lower_effort_limit(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [np.nan] * N, [np.inf] * N, "x", [[1.0] * N]])
def test_reset_refuses_what_is_no_torque(wrong: Any) -> None:
    """The torque to start from is checked."""
    with pytest.raises(InputError, match="tau"):
        filter_of().reset(wrong)


@pytest.mark.parametrize("dt", [None, 0.0, -1e-3, np.nan, np.inf, 100.0, "1 ms", True])
def test_dt_is_required_and_sane(dt: Any) -> None:
    """Without a plant the period must be given."""
    with pytest.raises(InputError, match="dt"):
        filter_of(dt=dt)


def test_message_names_joint_value_limit_and_cause() -> None:
    """The words of a joint outside its limits."""
    filter_ = filter_of()
    fault = filter_.check(sample(0.0, q=np.array([0.0, 0.0, 3.5])), 0.0)
    assert fault == Fault.OUTSIDE_LIMITS
    text = filter_.reason(fault)
    for part in (PLANAR.joint_names[2], "3.5", "3.24159", "zero position is offset"):
        assert part in text


@pytest.mark.parametrize(
    "fault", [fault for fault in Fault if 0 < fault < Fault.LAW_RAISED and fault != Fault.READ_FAILED]
)
def test_every_sample_fault_has_words(fault: Fault) -> None:
    """Each fault of a sample can be said in one sentence, with a joint or without."""
    filter_ = filter_of()
    filter_.check(sample(0.0, q=np.array([np.nan, 0.0, 0.0])), 0.0)
    assert len(filter_.reason(fault)) > 20
    filter_.check(sample(0.0, flags=SampleFlag.Q_INVALID), 0.0)
    assert len(filter_.reason(fault)) > 20
