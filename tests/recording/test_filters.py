"""Filters without delay: their gain, their derivative, their ends, and an independent filter."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.recording.filters import bridged, even_grid, filtered, increasing, interpolated, near_times, smoothed

TIME = np.arange(4000) * 0.002


@pytest.mark.parametrize(("frequency", "gain"), [(0.5, 1.0), (5.0, 0.5), (10.0, 1.0 / 257.0)])
def test_gain_and_phase(frequency: float, gain: float) -> None:
    """A wave comes out with the stated gain and in phase; its derivative is that of the wave."""
    wave = np.sin(2 * np.pi * frequency * TIME)[:, None]
    inner = slice(1000, -1000)
    assert filtered(wave, 0.002, 5.0)[inner] == pytest.approx(gain * wave[inner], abs=2e-6)
    slope = 2 * np.pi * frequency * np.cos(2 * np.pi * frequency * TIME)[:, None]
    assert filtered(wave, 0.002, 5.0, derivative=1)[inner] == pytest.approx(gain * slope[inner], abs=1e-4)
    bend = -((2 * np.pi * frequency) ** 2) * wave
    assert filtered(wave, 0.002, 5.0, derivative=2)[inner] == pytest.approx(gain * bend[inner], abs=1e-2)


def test_like_a_butterworth_filter_run_both_ways() -> None:
    """SciPy's fourth-order filter, run both ways, gives the same, but for the bilinear transform and the ends."""
    signal = pytest.importorskip("scipy.signal")
    rng = np.random.default_rng(1)
    noise = np.cumsum(rng.normal(size=(4000, 2)), axis=0)
    theirs = signal.sosfiltfilt(signal.butter(4, 5.0, fs=500.0, output="sos"), noise, axis=0)
    ours = filtered(noise, 0.002, 5.0)
    inner = slice(500, -500)
    assert ours[inner] == pytest.approx(theirs[inner], abs=0.02 * np.std(noise))


def test_a_ramp_stays_a_ramp() -> None:
    """To the ends: value, slope and no bend."""
    ramp = np.stack([3.0 + 2.0 * TIME, -TIME], axis=1)
    assert filtered(ramp, 0.002, 5.0) == pytest.approx(ramp, abs=1e-9)
    assert filtered(ramp, 0.002, 5.0, derivative=1) == pytest.approx(np.tile([2.0, -1.0], (4000, 1)), abs=1e-7)
    assert filtered(ramp, 0.002, None, derivative=2) == pytest.approx(np.zeros((4000, 2)), abs=1e-3)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_short_recordings(count: int) -> None:
    """A handful of samples gives a handful of finite numbers."""
    values = np.arange(float(count))[:, None] ** 2
    for derivative in (0, 1, 2):
        for cutoff in (None, 0.1, 100.0):
            assert np.isfinite(filtered(values, 0.01, cutoff, derivative)).all()
            assert smoothed(np.arange(count) * 0.01, values, cutoff, derivative).shape == (count, 1)


def test_gaps_cut_a_recording() -> None:
    """What lies behind a long gap, even one of years, does not leak into what lies before it."""
    time = np.concatenate([TIME, 1.7e9 + TIME])
    values = np.concatenate([np.zeros(4000), np.ones(4000)])[:, None]
    assert smoothed(time, values, 5.0) == pytest.approx(values, abs=1e-9)
    assert smoothed(time, values, 5.0, derivative=1) == pytest.approx(np.zeros((8000, 1)), abs=1e-9)


def test_missing_values_stay_missing() -> None:
    """They are bridged for the filter and NaN in its result; a channel without any number is all NaN."""
    wave = np.sin(2 * np.pi * TIME)[:, None].repeat(2, axis=1)
    wave[1000:1010, 0] = np.nan
    wave[:, 1] = np.inf
    smooth = smoothed(TIME, wave, 10.0)
    assert np.isnan(smooth[1000:1010, 0]).all()
    assert np.isnan(smooth[:, 1]).all()
    assert smooth[500:900, 0] == pytest.approx(wave[500:900, 0], abs=1e-3)
    assert bridged(TIME, wave)[1005, 0] == pytest.approx(wave[999, 0], abs=0.1)


def test_interpolation() -> None:
    """Exact on a row, straight between rows, NaN beside NaN, the nearest row beyond the ends."""
    time, values = np.array([0.0, 1.0, 3.0]), np.array([[0.0], [10.0], [np.nan]])
    at = np.array([-1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 4.0, np.nan])
    found = interpolated(at, time, values)[:, 0]
    assert found == pytest.approx([0.0, 0.0, 2.5, 10.0, np.nan, np.nan, np.nan, np.nan], nan_ok=True)
    assert interpolated(at[:3], time[:1], values[:1])[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_grids_and_order() -> None:
    """Even times end inside the span; only later times count."""
    assert even_grid(np.array([0.0, 1.0]), 10.0) == pytest.approx(np.arange(11) / 10.0)
    assert even_grid(np.array([0.0, 0.99]), 10.0) == pytest.approx(np.arange(10) / 10.0)
    assert increasing(np.array([np.nan, 1.0, 0.5, 0.7, 2.0, np.inf, 3.0])).tolist() == [2, 3, 4, 6]
    assert increasing(np.array([1.0, 2.0, 2.0, 1.5, 3.0])).tolist() == [0, 1, 4]
    assert increasing(np.array([3.0, 2.0, 1.0])).tolist() == [0]
    assert increasing(np.full(3, np.nan)).tolist() == []
    for bad in (0.0, np.nan, np.inf, 1e9):
        with pytest.raises(InputError):
            even_grid(np.array([0.0, 1.0]), bad)
    with pytest.raises(InputError, match="cutoff"):
        smoothed(TIME, TIME[:, None], -1.0)


@pytest.mark.parametrize("wild", [1e9, 0.0, -1.0, np.inf])
@pytest.mark.parametrize("at", [0, 1, 500, 998, 999])
def test_a_wild_stamp_costs_its_own_sample(wild: float, at: int) -> None:
    """Too late or too early, at the ends or inside."""
    time = 1.0 + np.arange(1000) * 0.01
    time[at] = wild
    kept = at == 0 and wild < 1.0  # 1 s too early at the begin is a gap, no more
    assert increasing(time).tolist() == [row for row in range(1000) if row != at or kept]
    assert increasing(1.7e9 + np.concatenate([[-1.7e9], np.arange(1000.0)])).tolist() == list(range(1, 1001))


def _most(values: list[float]) -> int:
    """Return the length of the longest increasing part, by the textbook."""
    ends: list[float] = []
    for value in values:
        place = bisect_left(ends, value)
        ends[place : place + 1] = [value]
    return len(ends)


@given(st.lists(st.one_of(st.integers(0, 30).map(float), st.just(np.nan), st.just(1e9)), max_size=40), st.booleans())
def test_no_more_samples_are_left_out_than_needed(values: list[float], ordered: bool) -> None:
    """Whatever the stamps: what is kept increases, and no choice would keep more."""
    time = np.array(sorted(values) + values[:3] if ordered else values, dtype=np.float64)
    rows = increasing(time)
    assert np.all(np.diff(rows) > 0)
    assert np.all(np.diff(time[rows]) > 0.0)
    assert len(rows) == _most([value for value in time.tolist() if np.isfinite(value)])


def test_what_lies_near_a_marked_time() -> None:
    """Marked times come in any order, and some are unknown."""
    near = near_times(0.1 * np.arange(10), np.array([0.52, np.nan, 0.1]), 0.11)
    assert np.flatnonzero(near).tolist() == [0, 1, 2, 5, 6]
    assert not near_times(0.1 * np.arange(10), np.array([np.nan]), 1.0).any()
