"""The motion of a recording: its channels through one zero-phase low-pass, differentiated, and where to rely on them.

Positions, velocities, accelerations, efforts and readings of a plate go through the same low-pass (:mod:`.filters`), so
that what belongs together stays together. Accelerations are second derivatives of the positions, or first ones of the
measured velocity.

A motion is taken at one of two kinds of times.

- :meth:`Motion.at_samples`, for fits: at the recording's own times. Where a gap is longer than GAP_PERIODS periods of
  the recording, its parts are filtered by themselves, and what lies within EDGE_PERIODS periods of the cutoff of a
  begin, an end or a gap is not usable: the filter saw a continuation there that was never measured. Cutoff and source
  of the velocities are those of the recording's band (:mod:`.band`), unless they are arguments.
- :meth:`Motion.on_grid`, for checks that compare neighbours and shift channels in time: at even times. Gaps and numbers
  that are missing are bridged by straight lines, so that all channels are finite; what lies in a gap, at the ends or
  near a jump of the position is not usable.

A recording that comes in pieces is streamed in constant memory (:meth:`Motion.stream`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, PublishedData
from .band import motion_band
from .filters import (
    GAP_PERIODS,
    bridged,
    even_grid,
    increasing,
    near_times,
    resampled,
    resolution,
    settling_rows,
    smoothed,
)
from .log import Log, joined
from .path import REVERSAL, direction_of_travel

Mask = npt.NDArray[np.bool_]

EDGE_PERIODS = 2.0
"""Periods of the cutoff that are cut off at both ends, where the filter sees a continuation that was never measured; of
that it has forgotten 99 % after two periods (its slowest poles decay with 0.38 · 2π f_c)."""

GRID_CUTOFF = 5.0
"""Cutoff on an even grid [Hz]: arms are driven below, structures ring above."""
MOST_RATE = 100.0
"""Highest rate of an even grid [Hz]."""
MOST_GRID_SAMPLES = 30_000
"""Most samples of an even grid: 5 min at the highest rate."""
LEAST_SAMPLES = 20
"""Fewest samples of a recording, and of its grid, that are a motion."""
LEAST_PER_PERIOD = 6.0
"""Samples per period of the cutoff on an even grid, at least."""
MISSED_PERIODS = 5.0
"""On an even grid, more than so many usual times between two samples are a gap; what lies in it was not measured."""
JUMP = 8.0
"""A change of position of more than so many of the largest usual ones (99.5 %) is a jump; what filters make of it is
none of the arm's motion."""
LEAST_JUMP = 0.02
"""... and of at least this [rad or m]."""
NEAR_JUMP = 1.5
"""Periods of the cutoff within which a jump is near."""


@dataclass(frozen=True, eq=False)
class Motion(PublishedData):
    """A recording at k times, low-passed without delay and differentiated; n joints. Arrays are read-only.

    Attributes:
        log: The recording, in the order of its times, not filtered.
        time: Times [s], shape (k,), increasing: those of ``log``, or even ones.
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n).
        ddq: Accelerations [rad/s² or m/s²], shape (k, n).
        tau: Efforts in the recording's unit, shape (k, n).
        wrench: The plate's reading [N, N m], shape (k, 6); None where there is no plate.
        usable: Which samples may be relied on, shape (k,): away from ends and gaps, and on even times from jumps.
        rate: Samples per second [Hz].
        cutoff: Of the low-pass [Hz]; infinite for none.
        velocity_measured: Whether a joint's velocity is the measured one, shape (n,); else it is that of the positions.
        on_even_times: Whether the times are even ones.
        side: Of poses at rest, the direction of each joint's last motion before it stood, shape (k, n), as in a log.
    """

    log: Log
    time: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    wrench: Array | None
    usable: Mask
    rate: float
    cutoff: float
    velocity_measured: Mask
    on_even_times: bool
    side: Array | None = None

    def __post_init__(self) -> None:
        """Refuse shapes that do not belong together; publish the arrays read-only."""
        k, n = len(self.time), len(self.log.joint_names)
        shapes = {"time": (k,), "wrench": (k, 6), "usable": (k,), "velocity_measured": (n,)}
        for name in ("time", "q", "dq", "ddq", "tau", "wrench", "usable", "velocity_measured", "side"):
            values = getattr(self, name)
            if values is None:
                continue
            if values.shape != shapes.get(name, (k, n)):
                raise InputError(f"{name} has shape {values.shape}; expected {shapes.get(name, (k, n))}")
            published = values.view()
            published.setflags(write=False)
            object.__setattr__(self, name, published)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    @classmethod
    def at_samples(
        cls,
        log: Log,
        cutoff: float | None = None,
        *,
        velocity_measured: Mask | None = None,
        rate: float | None = None,
    ) -> Self:
        """Return the motion at the recording's own times, in their order.

        A number that is missing in the recording is NaN.

        Args:
            log: The recording.
            cutoff: Of the low-pass [Hz], infinite for none; None to choose it from the motion.
            velocity_measured: Joints whose measured velocity is used, shape (n,); None for those where it is better.
            rate: Samples per second of the whole recording where this is a piece of it [Hz]; None for the log's.

        Raises:
            InputError: A bad cutoff, or a motion of which none can be chosen.
        """
        log = log.ordered()
        if cutoff is None or velocity_measured is None:
            cutoff, velocity_measured = _chosen(log, cutoff, velocity_measured)
        low_pass = None if cutoff == math.inf else cutoff
        dq, ddq = (_velocity(log, low_pass, velocity_measured, derivative) for derivative in (0, 1))
        q = smoothed(log.time, log.q, low_pass)
        finite = np.isfinite(q).all(axis=1) & np.isfinite(dq).all(axis=1) & np.isfinite(ddq).all(axis=1)
        return cls(
            log=log,
            time=log.time,
            q=q,
            dq=dq,
            ddq=ddq,
            tau=smoothed(log.time, log.tau, low_pass),
            wrench=None if log.wrench is None else smoothed(log.time, log.wrench, low_pass),
            usable=finite & _inside(log.time, EDGE_PERIODS / cutoff),
            rate=log.rate if rate is None else rate,
            cutoff=cutoff,
            velocity_measured=velocity_measured,
            on_even_times=False,
        )

    @classmethod
    def on_grid(cls, log: Log, cutoff: float = GRID_CUTOFF) -> Self | None:
        """Return the motion at even times, from the positions alone, or None where the recording is too short.

        The rate is the recording's, MOST_RATE at most, and less where that makes more than MOST_GRID_SAMPLES.

        Args:
            log: The recording.
            cutoff: Of the low-pass [Hz]; lowered where the grid has fewer than LEAST_PER_PERIOD samples for a period.
        """
        rows = increasing(log.time)
        if len(rows) < LEAST_SAMPLES:
            return None
        left_out = np.diff(rows) > 2
        log = log.ordered()
        period = float(np.median(np.diff(log.time)))
        rate = min(1.0 / period, MOST_RATE, MOST_GRID_SAMPLES / float(log.time[-1] - log.time[0]))
        cutoff = min(cutoff, rate / LEAST_PER_PERIOD)
        grid = even_grid(log.time, rate)
        if len(grid) < LEAST_SAMPLES:
            return None
        raw = {name: _at_even_times(log, getattr(log, name), grid, rate) for name in ("q", "tau")}
        wrench = None if log.wrench is None else _at_even_times(log, log.wrench, grid, rate)
        return cls(
            log=log,
            time=grid,
            q=smoothed(grid, raw["q"], cutoff),
            dq=smoothed(grid, raw["q"], cutoff, derivative=1),
            ddq=smoothed(grid, raw["q"], cutoff, derivative=2),
            tau=smoothed(grid, raw["tau"], cutoff),
            wrench=None if wrench is None else smoothed(grid, wrench, cutoff),
            usable=_measured(log, grid, period, cutoff) & ~_near_jumps(log, grid, left_out, cutoff),
            rate=rate,
            cutoff=cutoff,
            velocity_measured=np.zeros(len(log.joint_names), dtype=bool),
            on_even_times=True,
        )

    @classmethod
    def stream(
        cls,
        pieces: Iterable[Log],
        cutoff: float | None = None,
        *,
        velocity_measured: Mask | None = None,
        rate: float | None = None,
    ) -> Iterator[Self]:
        """Yield the motion at the samples of a recording that comes in consecutive pieces, in constant memory.

        Neighbouring motions overlap for the filter. Each sample is usable in one of them at most, and the usable ones
        of all are those of the whole recording, to the filter's 1e-6.

        Args:
            pieces: The pieces in order, as stream_log gives them.
            cutoff: Of the low-pass [Hz]; None to choose it from the first piece.
            velocity_measured: Joints whose measured velocity is used, shape (n,); None to choose from the first piece.
            rate: Samples per second [Hz]; None for that of the first piece.

        Raises:
            InputError: As at_samples.
        """
        window: Log | None = None
        used = -math.inf
        for piece in chain(pieces, (None,)):
            if piece is not None:
                window = piece if window is None else joined([window, piece])
            if window is None:
                return
            window = window.ordered()
            if cutoff is None or velocity_measured is None:
                cutoff, velocity_measured = _chosen(window, cutoff, velocity_measured)
            rate = window.rate if rate is None else rate
            overlap = settling_rows(rate, cutoff)
            if piece is not None and len(window) <= 3 * overlap:
                continue
            motion = cls.at_samples(window, cutoff, velocity_measured=velocity_measured, rate=rate)
            # The overlap is longer than the edges of a motion: of inner windows it alone counts.
            settled = len(window) if piece is None else len(window) - overlap
            usable = motion.usable & (window.time > used) & (np.arange(len(window)) < settled)
            if usable.any():
                used = float(window.time[settled - 1])
                yield replace(motion, usable=usable)
            window = window[len(window) - 2 * overlap :]

    @property
    def dt(self) -> float:
        """Time between two samples [s]; a typical one where they are not even."""
        return 1.0 / self.rate

    @property
    def travel(self) -> Array:
        """How far each joint moved, from its lowest to its highest position [rad or m], shape (n,)."""
        return np.asarray(np.ptp(bridged(self.time, self.q), axis=0))

    @property
    def effort_measured(self) -> Mask:
        """Whether a joint's effort was measured most of the time, shape (n,)."""
        return np.asarray(np.mean(np.isfinite(self.log.tau), axis=0) > 0.5)

    @cached_property
    def direction(self) -> Array:
        """Direction of each joint's last motion, shape (k, n): −1, 0 (none yet) or +1; ``side`` of poses at rest.

        It turns round after REVERSAL, and not within a few steps of the encoder.
        """
        if self.side is not None:
            return self.side
        steps = np.array([resolution(column) for column in self.log.q.T])
        directions = direction_of_travel(bridged(self.time, self.q), np.maximum(REVERSAL, 3.0 * steps))
        directions.setflags(write=False)
        return directions

    def filtered(self, channels: Array, derivative: int = 0) -> Array:
        """Return further channels through the same low-pass, or their derivative, at the motion's times, shape (k, m).

        Args:
            channels: At the samples of ``log``, shape (len(log), m).
            derivative: How often to differentiate: 0, 1 or 2.
        """
        if self.on_even_times:
            channels = _at_even_times(self.log, channels, self.time, self.rate)
        return smoothed(self.time, channels, None if self.cutoff == math.inf else self.cutoff, derivative)

    def thinned(self, per_period: float) -> Mask:
        """Return which samples are enough for the band, shape (k,).

        They are chosen by the clock, not by counting: pieces of a stream keep the samples that the whole would.

        Args:
            per_period: Samples to keep per period of the cutoff, about.
        """
        every = max(1, math.floor(self.rate / (per_period * self.cutoff)))
        tick = np.floor(self.time * self.rate / every + 1e-6)
        return np.concatenate([[True], np.diff(tick) > 0.0])


def _chosen(log: Log, cutoff: float | None, velocity_measured: Mask | None) -> tuple[float, Mask]:
    """Return the cutoff [Hz] and the joints whose measured velocity is used, from the log where they are None."""
    band = motion_band(log, cutoff)
    return band.cutoff, band.velocity_measured if velocity_measured is None else velocity_measured


def _velocity(log: Log, cutoff: float | None, measured: Mask, derivative: int) -> Array:
    """Return the filtered velocity or its derivative, from the source of each joint, shape (k, n)."""
    values = np.empty(log.q.shape)
    for joints, source, order in ((measured, log.dq, derivative), (~measured, log.q, derivative + 1)):
        if joints.any():
            values[:, joints] = smoothed(log.time, source[:, joints], cutoff, order)
    return values


def _at_even_times(log: Log, channels: Array, grid: Array, rate: float) -> Array:
    """Return channels of a log at even times; what is missing is bridged."""
    return resampled(log.time, bridged(log.time, channels), grid, rate)


def _inside(time: Array, edge: float) -> Mask:
    """Say which samples lie ``edge`` [s] after the last begin or gap, and before the next gap or end, shape (k,)."""
    steps = np.diff(time)
    period = float(np.median(steps)) if len(steps) else math.inf
    gaps = np.flatnonzero(steps > GAP_PERIODS * period)
    starts, stops = (np.concatenate(parts) for parts in ((time[:1], time[gaps + 1]), (time[gaps], time[-1:])))
    segment = np.searchsorted(time[gaps], time, side="left")
    return np.asarray((time - starts[segment] >= edge) & (stops[segment] - time >= edge))


def _measured(log: Log, grid: Array, period: float, cutoff: float) -> Mask:
    """Return which grid times are neither in a gap, nor among positions that are no numbers, nor at the ends."""
    known = log.time[np.isfinite(log.q).all(axis=1)]
    if len(known) < 2:
        return np.zeros(len(grid), dtype=bool)
    right = np.clip(np.searchsorted(known, grid), 1, len(known) - 1)
    near = known[right] - known[right - 1] <= MISSED_PERIODS * period
    edge = min(1.0 / cutoff, 0.1 * float(grid[-1] - grid[0]))
    return np.asarray(near & (grid >= grid[0] + edge) & (grid <= grid[-1] - edge))


def _near_jumps(log: Log, grid: Array, left_out: Mask, cutoff: float) -> Mask:
    """Return which grid times are near a jump of the position, or near samples that were left out for their time."""
    changes = np.abs(np.diff(bridged(log.time, log.q), axis=0))
    usual = np.quantile(changes, 0.995, axis=0)
    jumped = (changes > np.maximum(JUMP * usual, LEAST_JUMP)).any(axis=1) | left_out
    return near_times(grid, log.time[:-1][jumped], NEAR_JUMP / cutoff)
