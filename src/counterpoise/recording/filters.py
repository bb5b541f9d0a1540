r"""Smoothing and differentiation without delay, and the step of a channel.

A channel is multiplied in the frequency domain by

.. math:: G(f) = \frac{(2 \pi i f)^d}{1 + (f / f_c)^8},

which is what a Butterworth filter of fourth order does when run forwards and then backwards, before sampling warps its
axis, and the d-th derivative of it. The gain at the cutoff is 1/2 (−6 dB), the phase is zero everywhere. Before its
ends the channel is continued by point reflection, as is usual for forward–backward filters, so a ramp stays a ramp.

The step of a channel (``resolution``) is how finely its converter, its encoder or its file's digits resolve.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array

ROUNDING = 1e-9
"""Differences below this share of a channel's range are rounding of the file, not steps."""
WHOLE = 0.1
"""A multiple counts as whole when it is this close to a whole number."""
MOST_VALUES = 200_000
"""Values that are looked at; more would not make the step clearer."""


def resolution(values: Array) -> float:
    """Return the step that a channel's values are multiples of, 0 where they are not of any step that shows.

    Differences of neighbouring distinct values are whole multiples of the step. The smallest of them is tried, refined
    by the others, and refused when the others are no multiples of it, as for a signal that was never counted.

    Args:
        values: A channel in any unit, shape (k,); what is not finite is left out.

    Returns:
        The step in the channel's unit.
    """
    finite = values[np.isfinite(values)]
    if len(finite) > MOST_VALUES:
        finite = finite[:MOST_VALUES]
    levels = np.unique(finite)
    if len(levels) < 2:
        return 0.0
    span = float(levels[-1] - levels[0])
    gaps = np.diff(levels)
    gaps = gaps[gaps > ROUNDING * max(span, float(np.abs(levels).max()))]
    if len(gaps) == 0:
        return 0.0
    step = float(gaps.min())
    near = gaps[gaps < 20.5 * step]
    multiples = np.round(near / step)
    step = float(near.sum() / multiples.sum())
    near = gaps[gaps < 20.5 * step]
    off = np.abs(near / step - np.round(near / step))
    # Of a signal that was never counted, gaps spread evenly between multiples, and few lie near the smallest one.
    counted = len(near) >= 0.5 * len(gaps) and float(np.mean(off < WHOLE)) > 0.9
    return step if counted else 0.0


def hop_noise(values: Array) -> float:
    """Return the standard deviation of what changes from sample to sample, robust against motion and jumps.

    Third differences take slow signals away; of white noise of deviation σ they have deviation √20 σ.

    Args:
        values: An evenly sampled channel, shape (k,); what is not finite is left out.
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 8:
        return 0.0
    thirds = np.diff(finite, 3)
    return float(1.4826 * np.median(np.abs(thirds)) / np.sqrt(20.0))


SETTLING_PERIODS = 6.0
"""Periods of the cutoff after which the filter's memory is below 1e-6: the slowest poles decay with 0.38 · 2π f_c."""

GAP_PERIODS = 20.0
"""A gap longer than so many median periods cuts a recording into parts that are filtered by themselves."""
EVEN_WITHIN = 0.01
"""Times that deviate from even ones by less than this share of a period count as even."""
MAX_ROWS = 50_000_000
"""Most rows that resampling makes: 14 hours at 1 kHz."""

FINER = 0.8
"""Channels are low-passed before they are read at a rate below this share of their own ..."""
OF_COARSE_RATE = 0.4
"""... with a cutoff of this share of the lower rate."""

LEAST_ROWS = 50
"""Times of which one can say that a few at the ends are wild."""
WILD_ENDS = 2
"""Wild stamps at either end that are recognised ..."""
WILD_SPANS = 10.0
"""... by a distance of so many times all that lies between."""
WILD_STEPS = 10.0
"""Usual steps by which the last stamp but one may be ahead of the one before it when the last goes back."""


def settling_rows(rate: float, cutoff: float) -> int:
    """Return how many samples the filter looks back and ahead, to 1e-6."""
    return math.ceil(SETTLING_PERIODS * rate / cutoff)


def filtered(values: Array, dt: float, cutoff: float | None, derivative: int = 0) -> Array:
    """Return channels smoothed and differentiated, without delay.

    Args:
        values: Finite, evenly sampled channels, shape (k, m).
        dt: Time between two rows [s].
        cutoff: Frequency at which the low-pass has gain 1/2 (−6 dB) [Hz]; None lets all pass.
        derivative: How often to differentiate: 0, 1 or 2.

    Returns:
        Shape (k, m), in the unit of ``values`` per s for each differentiation.
    """
    k = len(values)
    if k < 3:
        return values.copy() if derivative == 0 else np.zeros_like(values)
    pad = k - 1 if cutoff is None else min(k - 1, settling_rows(1.0 / dt, cutoff))
    before = 2.0 * values[0] - values[pad:0:-1]
    after = 2.0 * values[-1] - values[-2 : -pad - 2 : -1]
    longer = np.concatenate([before, values, after])
    # The straight line between the ends is set aside: what remains joins up when repeated.
    total = len(longer) - 1
    slope = (longer[-1] - longer[0]) / total
    line = longer[0] + np.arange(total + 1)[:, None] * slope
    frequency = np.fft.rfftfreq(total, dt)[:, None]
    gain = (2j * np.pi * frequency) ** derivative
    if cutoff is not None:
        gain = gain / (1.0 + (frequency / cutoff) ** 8)
    elif derivative % 2 and total % 2 == 0:
        gain[-1] = 0.0  # the derivative of the fastest wave is not defined by its samples
    wave = np.fft.irfft(np.fft.rfft((longer - line)[:-1], axis=0) * gain, n=total, axis=0)
    smooth: Array = wave[pad : pad + k]
    if derivative == 0:
        smooth = smooth + line[pad : pad + k]
    elif derivative == 1:
        smooth = smooth + slope / dt
    return smooth


def bridged(time: Array, values: Array) -> Array:
    """Return channels whose gaps (NaN, infinity) are filled by straight lines, and by the nearest value at the ends.

    Args:
        time: Increasing times [s], shape (k,).
        values: Channels, shape (k, m). A channel without any finite value becomes zeros.
    """
    good = np.isfinite(values)
    if good.all():
        return values
    filled = np.zeros_like(values)
    for column in range(values.shape[1]):
        kept = good[:, column]
        if kept.any():
            filled[:, column] = np.interp(time, time[kept], values[kept, column])
    return filled


@np.errstate(over="ignore", invalid="ignore")  # absurd numbers stay absurd
def smoothed(time: Array, values: Array, cutoff: float | None, derivative: int = 0) -> Array:
    """Return unevenly sampled channels smoothed and differentiated at their own times, without delay.

    The recording is cut where a gap is longer than GAP_PERIODS median periods. Each part is put on an even grid by
    straight lines (unless it is even already), filtered there and read back by straight lines.

    Args:
        time: Increasing times [s], shape (k,).
        values: Channels, shape (k, m); values that are not finite are bridged for the filter, and NaN in the result.
        cutoff: Frequency at which the low-pass has gain 1/2 (−6 dB) [Hz]; None lets all pass.
        derivative: How often to differentiate: 0, 1 or 2.

    Raises:
        InputError: The cutoff is no positive number.
    """
    if cutoff is not None and not (math.isfinite(cutoff) and cutoff > 0.0):
        raise InputError(f"cutoff is {cutoff!r}; expected a positive number [Hz]")
    result = np.zeros(values.shape)
    if len(time) < 2:
        return result if derivative else values.copy()
    steps = np.diff(time)
    dt = float(np.median(steps))
    cuts = np.flatnonzero(steps > GAP_PERIODS * dt) + 1
    for part in np.split(np.arange(len(time)), cuts):
        rows = slice(part[0], part[-1] + 1)
        result[rows] = _part_smoothed(time[rows], bridged(time[rows], values[rows]), dt, cutoff, derivative)
    result[~np.isfinite(values)] = np.nan
    return result


def _part_smoothed(time: Array, values: Array, dt: float, cutoff: float | None, derivative: int) -> Array:
    if len(time) < 3:
        return filtered(values, dt, cutoff, derivative)
    even = np.linspace(time[0], time[-1], len(time))
    if np.max(np.abs(time - even)) < EVEN_WITHIN * dt:
        return filtered(values, (time[-1] - time[0]) / (len(time) - 1), cutoff, derivative)
    grid = even_grid(time, 1.0 / dt)
    if len(grid) < 3:
        return filtered(values, dt, cutoff, derivative)
    smooth = filtered(interpolated(grid, time, values), dt, cutoff, derivative)
    return interpolated(time, grid, smooth)


@np.errstate(over="ignore", invalid="ignore")
def interpolated(at: Array, time: Array, values: Array) -> Array:
    """Return channels at other times, by straight lines between their rows and the nearest row beyond the ends.

    A row that lies exactly ``at`` a time is given exactly; next to a NaN the result is NaN.

    Args:
        at: Times to read at [s], shape (j,).
        time: Increasing times of the rows [s], shape (k,), k ≥ 1.
        values: Channels, shape (k, m).

    Returns:
        Shape (j, m); NaN where ``at`` is NaN.
    """
    if len(time) == 1:
        return np.where(np.isnan(at)[:, None], np.nan, np.repeat(values, len(at), axis=0))
    left = np.clip(np.searchsorted(time, at, side="right") - 1, 0, len(time) - 2)
    share = np.clip((at - time[left]) / (time[left + 1] - time[left]), 0.0, 1.0)[:, None]
    first, second = values[left], values[left + 1]
    between = first + share * (second - first)
    result: Array = np.where(share == 0.0, first, np.where(share == 1.0, second, between))
    return result


def resampled(time: Array, values: Array, grid: Array, rate: float) -> Array:
    """Return channels at even times, by straight lines between their rows.

    Where these times are fewer than the rows, the channels are low-passed first, so that fast vibrations do not
    reappear as slow ones.

    Args:
        time: Increasing times of the rows [s], shape (k,).
        values: Channels, shape (k, m).
        grid: Even times, shape (j,).
        rate: Their rate [Hz].

    Returns:
        Shape (j, m).
    """
    steps = np.diff(time)
    if len(steps) and rate < FINER / float(np.median(steps)):
        values = smoothed(time, values, OF_COARSE_RATE * rate)
    return interpolated(grid, time, values)


def even_grid(time: Array, rate: float) -> Array:
    """Return evenly spaced times [s] from the first to at most the last of ``time``, at ``rate`` [Hz].

    Raises:
        InputError: The rate is no positive number, or would make more than MAX_ROWS rows.
    """
    if not (math.isfinite(rate) and rate > 0.0):
        raise InputError(f"rate is {rate!r}; expected a positive number [Hz]")
    span = float(time[-1] - time[0])
    rows = span * rate * (1.0 + 1e-9) + 1.0
    if not rows <= MAX_ROWS:
        raise InputError(f"{span:g} s at {rate:g} Hz would be {rows:.3g} samples; expected at most {MAX_ROWS}")
    return np.asarray(time[0] + np.arange(math.floor(rows)) / rate, dtype=np.float64)


def near_times(time: Array, marked: Array, within: float) -> npt.NDArray[np.bool_]:
    """Say which times lie near a marked one, shape (k,).

    Args:
        time: Times [s], shape (k,).
        marked: Marked times [s], in any order; NaN ones are passed over.
        within: Distance [s].
    """
    at = np.sort(marked[np.isfinite(marked)])
    if len(at) == 0:
        return np.zeros(len(time), dtype=bool)
    after = np.clip(np.searchsorted(at, time), 0, len(at) - 1)
    before = np.maximum(after - 1, 0)
    return np.asarray(np.minimum(np.abs(at[after] - time), np.abs(at[before] - time)) <= within)


def true_stretches(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return [first, after the last) of every stretch of true values, shape (m, 2)."""
    return np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))).reshape(-1, 2)


@np.errstate(over="ignore", invalid="ignore")
def increasing(time: Array) -> npt.NDArray[np.intp]:
    """Return the indices of the most samples whose times increase; others, also those without a time, are left out.

    One wild stamp, too late or too early, costs its own sample and no other. Where two choices are as many, the earlier
    samples are kept. In LEAST_ROWS or more, up to WILD_ENDS samples at either end that are far from all others are left
    out too.

    Args:
        time: Times in any unit, shape (k,).
    """
    rows = np.flatnonzero(np.isfinite(time))
    rows = rows[_increasing(time[rows])]
    known = time[rows]
    if len(known) < LEAST_ROWS:
        return rows
    # Before or after all others, a wild stamp breaks no order; its distance shows it.
    inner = float(known[-1 - WILD_ENDS] - known[WILD_ENDS])
    apart = np.flatnonzero(np.diff(known) > WILD_SPANS * inner) + 1
    first = int(apart[apart <= WILD_ENDS].max(initial=0))
    last = int(apart[apart >= len(known) - WILD_ENDS].min(initial=len(known)))
    return rows[first:last]


def _increasing(known: Array) -> npt.NDArray[np.intp]:
    """Return the indices of the most finite times that increase."""
    rows = np.arange(len(known))
    for leave_out in (_repeated, _single):
        steps = np.diff(known[rows])
        if np.all(steps > 0.0):
            return rows
        rows = rows[~leave_out(known[rows], steps)]
    known = known[rows]
    if np.all(np.diff(known) > 0.0):
        return rows
    # A sample that is later than all before it and earlier than all after it belongs to every answer.
    newest = np.maximum.accumulate(known)
    oldest = np.minimum.accumulate(known[::-1])[::-1]
    certain = np.ones(len(known), dtype=bool)
    certain[1:] &= known[1:] > newest[:-1]
    certain[:-1] &= known[:-1] < oldest[1:]
    parts = [np.flatnonzero(certain)]
    parts += [first + _longest_increasing(known[first:end]) for first, end in true_stretches(~certain)]
    return np.asarray(rows[np.sort(np.concatenate(parts))], dtype=np.intp)


def _repeated(time: Array, steps: Array) -> npt.NDArray[np.bool_]:
    """Return which samples have the time of the one before them."""
    return np.concatenate([[False], steps == 0.0])


def _single(time: Array, steps: Array) -> npt.NDArray[np.bool_]:
    """Return which samples are wild by themselves, where leaving those out leaves none that goes back; else none.

    Every step back costs one of its two samples. Where steps back have no sample in common, none costs more.
    """
    back = np.flatnonzero(steps <= 0.0)
    wild = np.zeros(len(time), dtype=bool)
    if np.any(np.diff(back) < 2):
        return wild
    after = time[np.minimum(back + 2, len(time) - 1)]
    if back[-1] + 2 == len(time):  # nothing comes after it: the usual step tells
        after[-1] = time[max(back[-1] - 1, 0)] + WILD_STEPS * float(np.median(np.abs(steps)))
    wild[np.where(time[back] < after, back + 1, back)] = True
    return wild if np.all(np.diff(time[~wild]) > 0.0) else np.zeros(len(time), dtype=bool)


def _longest_increasing(values: Array) -> npt.NDArray[np.intp]:
    """Return the indices of a longest strictly increasing part of some values, by patience sorting from behind.

    From behind, so that where two parts are as long, the one that begins before a step back is kept.
    """
    begins: list[float] = []  # minus the largest value that a part of each length begins with, and where it stands
    where: list[int] = []
    after = np.full(len(values), -1, dtype=np.intp)
    for index, value in zip(range(len(values) - 1, -1, -1), (-values[::-1]).tolist(), strict=True):
        length = bisect_left(begins, value)
        if length:
            after[index] = where[length - 1]
        if length == len(begins):
            begins.append(value)
            where.append(index)
        else:
            begins[length], where[length] = value, index
    found = np.empty(len(begins), dtype=np.intp)
    index = where[-1]
    for length in range(len(begins)):
        found[length] = index
        index = int(after[index])
    return found
