"""Poses at rest: where an arm stands, its mean position and effort there, and from which side each joint arrived.

**A joint stands** at a time t where |q(t + WINDOW/2) − q(t − WINDOW/2)| ≤ ``BAND``, or two counts of its encoder where
that is more: neither the noise of a measured velocity nor an encoder's counts look like motion, a creep does. The arm
stands where every joint does. The first SETTLE of a standing are left out; what follows is a rest.

**The side** from which a joint arrived is the direction of its last travel of more than ``REVERSAL`` (path.py):
friction then pushes from that side.

:func:`find_rests` does this with a recording, :class:`RestGatherer` with samples as they come, by the same rule. They
differ where they do not see the same:

- the gatherer averages samples over SLOT first; what it finds is what find_rests finds in a log of these means;
- it judges a slot WINDOW/2 later, and the last WINDOW/2 of what it has seen not at all;
- it does not bridge what is missing: a slot without a valid sample ends the rest;
- of a swing with a period of WINDOW the two ends of the window see nothing. So a joint that goes farther than the band
  (or faster than FAST) from one slot to the next moves, too;
- a rest ends where the mean of its first slots is left by more than CREEP, or by a torque or a wrench as the caller
  states: what was attached meanwhile is another measurement. find_rests leaves that to those who use the rests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..dynamics import MAX_INPUT
from ..errors import InputError
from ..foundation import Array, PublishedData, frozen
from .filters import bridged, increasing, resolution, true_stretches
from .log import Log, SampleFlag
from .path import REVERSAL, Follower, direction_of_travel

if TYPE_CHECKING:
    from ..dynamics import Robot

STILL_SPEED = 5e-3
"""Speed below which a joint counts as standing [rad/s or m/s]: a tenth of a slow creep of 0.05 rad/s."""
WINDOW = 0.2
"""Time over which speed is judged [s]: long beside an encoder's counts, short beside a dwell."""
BAND = STILL_SPEED * WINDOW
"""Change of position over WINDOW up to which a joint stands [rad or m]."""
SETTLE = 0.3
"""Time cut off at the beginning of a standing [s]: drives and gears come to rest after the joint does."""
LEAST_TIME = 0.3
"""Shortest rest that counts [s], after settling."""
DIRECTION_PERIOD = 0.01
"""How often the direction of motion is looked at in a recording [s]."""
CREEP = 0.01
"""A joint may creep by this much while it stands [rad or m]. Where friction just holds, a joint held by a soft loop
goes on creeping towards its pose by milliradians; the holding torque hardly changes by that, and friction keeps its
side."""
STOP_MARGIN = 0.01
"""Distance from a joint limit that counts as resting on it [rad or m]."""
SLOT = 0.02
"""Time over which the gatherer averages samples [s]."""
FAST = 0.05
"""Speed from slot to slot above which a joint moves at any rate [rad/s or m/s]."""
FEW_SLOTS = 10
"""First slots of a rest, whose mean the others are compared with."""
LEFT_SLOTS = 3
"""Slots in a row that must have left the mean: one may be a knock."""
ROUNDING = 1e-9
"""Differences of times below this are rounding [s]."""
UNUSABLE = int(SampleFlag.Q_INVALID | SampleFlag.DQ_INVALID | SampleFlag.TAU_INVALID | SampleFlag.STALE)
"""Flags of samples that are not used ..."""
WITHOUT_WRENCH = int(SampleFlag.WRENCH_INVALID | SampleFlag.WRENCH_SATURATED)
"""... and of those whose wrench is not."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Rest(PublishedData):
    """A stretch of samples in which every joint stands.

    Attributes:
        start: First sample; of a gatherer counted from its first one.
        end: Sample after the last.
        begin: Time of the first [s].
        duration: Time from the first to the last [s].
        count: Samples, or slots of the gatherer, that were averaged.
        q: Mean position [rad or m], shape (n,).
        tau: Mean effort in the log's unit, shape (n,); NaN where none was measured.
        scatter: Standard deviation of the efforts about that mean, shape (n,); NaN likewise.
        wrench: Mean reading of the plate, shape (6,); None where there is none.
        side: Side from which each joint arrived, shape (n,): +1 moving upwards, −1 downwards, 0 where it never moved.
    """

    start: int
    end: int
    begin: float
    duration: float
    count: int
    q: Array
    tau: Array
    scatter: Array
    wrench: Array | None
    side: Array


def find_rests(log: Log, *, least_time: float = LEAST_TIME, settle: float = 0.0) -> tuple[Rest, ...]:
    """Find where the arm stands in a recording.

    Args:
        log: The recording. Samples whose time does not increase are left out of the search.
        least_time: Shortest rest that counts [s], after settling.
        settle: Time at the beginning of each standing that is cut off [s].

    Returns:
        The rests in order; those that remain shorter than ``least_time`` are left out.
    """
    rows = increasing(log.time)
    if len(rows) < 3:
        return ()
    time, q = log.time[rows], bridged(log.time[rows], log.q[rows])
    steps = np.array([resolution(column) for column in q.T])
    moving = np.zeros(len(time), dtype=bool)
    for column, step in zip(q.T, steps, strict=True):
        change = np.interp(time + 0.5 * WINDOW, time, column) - np.interp(time - 0.5 * WINDOW, time, column)
        moving |= np.abs(change) > max(BAND, 2.0 * step)
    every = max(1, int(DIRECTION_PERIOD / float(np.median(np.diff(time)))))
    directions = direction_of_travel(q[::every], np.maximum(REVERSAL, 3.0 * steps))
    found = []
    for still_from, last in true_stretches(~moving).tolist():
        first = int(np.searchsorted(time, time[still_from] + settle, side="left"))
        duration = float(time[last - 1] - time[min(first, last - 1)])
        if duration < least_time:
            continue
        inside = rows[first:last]
        tau, scatter = measured_means(log.tau[inside])
        found.append(
            Rest(
                start=int(inside[0]),
                end=int(inside[-1]) + 1,
                begin=float(time[first]),
                duration=duration,
                count=len(inside),
                q=frozen(q[first:last].mean(axis=0)),
                tau=frozen(tau),
                scatter=frozen(scatter),
                wrench=None if log.wrench is None else frozen(measured_means(log.wrench[inside])[0]),
                side=frozen(directions[(last - 1) // every]),
            )
        )
    return tuple(found)


def measured_means(values: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of what was measured, shape (m,); NaN where nothing was.

    Args:
        values: Channels in any unit, shape (k, m); what is not finite was not measured.
    """
    measured = np.isfinite(values)
    counts = measured.sum(axis=0)
    mean, scatter = np.full((2, values.shape[1]), np.nan)
    np.divide(np.where(measured, values, 0.0).sum(axis=0), counts, out=mean, where=counts > 0)
    squares = (np.where(measured, values - mean, 0.0) ** 2).sum(axis=0)
    np.sqrt(squares / np.maximum(counts - 1, 1), out=scatter, where=counts > 0)
    return mean, scatter


def sides_by_order(q: Array, least: float) -> Array:
    """Return the sides from which poses were reached that were visited in their order, shape (k, n): −1, 0 or +1.

    0 for the first pose, and where a joint hardly moved. Between two poses of a table nobody knows the path: a side is
    not taken over from the pose before, as :func:`direction_of_travel` does it with a motion.

    Args:
        q: Poses [rad or m], shape (k, n).
        least: Change from which a joint moved [rad or m].
    """
    steps = np.diff(q, axis=0, prepend=q[:1])
    return np.where(np.abs(steps) > least, np.sign(steps), 0.0)


def on_stops(robot: Robot, q: Array) -> Mask:
    """Return which joints rest at a limit of the model, where a stop may carry part of the load, shape (n,).

    Args:
        robot: The arm.
        q: Position [rad or m], shape (n,).
    """
    lower, upper = robot.lower, robot.upper
    return np.asarray((np.minimum(q - lower, upper - q) < STOP_MARGIN) & (upper - lower > 4.0 * STOP_MARGIN))


class RestPhase(IntEnum):
    """What the gatherer says of the slot that it judged last."""

    UNKNOWN = 0
    """No slot was judged: there are too few yet, or none with a valid sample."""
    MOVES = 1
    """A joint moves."""
    SETTLES = 2
    """All joints stand, for less than the settling time."""
    RESTS = 3
    """The slot is part of a rest."""


class Means:
    """Running means and scatter of rows, taken about the first row against rounding; allocates when it is asked only.

    Attributes:
        count: Number of rows.
    """

    def __init__(self, size: int) -> None:
        """Begin with no row of ``size`` numbers."""
        self.count = 0
        self._first, self._away, self._sum, self._squares = np.zeros((4, size))

    def clear(self) -> None:
        """Forget all rows."""
        self.count = 0

    def add(self, row: Array) -> None:
        """Take one more row in."""
        if self.count == 0:
            self._first[:] = row
            self._sum[:] = self._squares[:] = 0.0
        np.subtract(row, self._first, out=self._away)
        self._sum += self._away
        self._away *= self._away
        self._squares += self._away
        self.count += 1

    def mean(self) -> Array:
        """Return the mean of one row or more."""
        return np.asarray(self._first + self._sum / self.count)

    def scatter(self) -> Array:
        """Return the standard deviation of the rows about their mean; 0 of a single row."""
        squares = np.maximum(self._squares - self._sum**2 / self.count, 0.0)
        return np.asarray(np.sqrt(squares / max(self.count - 1, 1)))


class RestGatherer:
    """Gathers rests out of a stream of samples. Memory does not grow, and most samples are only copied.

    Several estimators may follow one gatherer: after each sample they look at ``slot_done``, and then at the rest.

    Attributes:
        period: Time of a slot [s].
        reversal: Travel after which a joint counts as moving the other way [rad or m], shape (n,).
        refused: Samples that were flagged, missing or absurd.
        slot_done: Whether the last sample completed a slot; only then anything below has changed.
        phase: What the slot is that was judged: the one WINDOW/2 before.
        follower: What the joints drag along behind them up to that slot: direction and place.
        finished: The rest that ended with it; None where none did.
    """

    def __init__(
        self,
        n: int,
        dt: float,
        *,
        band: npt.ArrayLike = BAND,
        settle: float = SETTLE,
        least_time: float = LEAST_TIME,
        torque_step: npt.ArrayLike = np.inf,
        wrench_step: npt.ArrayLike = np.inf,
    ) -> None:
        """Begin without a sample.

        Args:
            n: Number of joints.
            dt: Time between samples [s].
            band: Change of position over WINDOW up to which a joint stands [rad or m], one or (n,): BAND, or two
                counts of an encoder where that is more.
            settle: Time at the beginning of each standing that is cut off [s].
            least_time: Shortest rest that counts [s], after settling.
            torque_step: A torque that leaves the mean by more ends the rest [N m or N], one or (n,).
            wrench_step: Likewise of the plate [N, N m], one or (6,).

        Raises:
            InputError: A time or a band makes no sense.
        """
        if not 0.0 < dt <= 1.0:
            raise InputError(f"dt is {dt!r}; expected the time between samples in s, above 0 and at most 1")
        if not np.all((np.asarray(band) > 0.0) & np.isfinite(band)) or np.shape(band) not in ((), (n,)):
            raise InputError(f"band is {band!r}; expected positive distances [rad or m], one or {n}")
        samples = max(1, round(SLOT / dt))
        self.period = samples * dt
        self._n, self._shape, self._samples, self._dt = n, (n,), samples, dt
        self._settle, self._least_time = settle, least_time
        stands = np.broadcast_to(np.asarray(band, dtype=np.float64), (n,))
        self._limits = np.array([stands, np.maximum(stands, FAST * self.period)])
        self.reversal = np.maximum(REVERSAL, 1.5 * stands)
        steps = (np.full(n, CREEP), np.broadcast_to(torque_step, (n,)), np.broadcast_to(wrench_step, (6,)))
        self._steps = np.concatenate(steps).astype(np.float64)
        # Half a window, in slots: a whole number and a fraction.
        half = 0.5 * WINDOW / self.period
        self._whole = round(half) if abs(half - round(half)) < ROUNDING else math.floor(half)
        self._fraction = half - self._whole if half - self._whole > ROUNDING else 0.0
        self._lag = self._whole + (self._fraction > 0.0)
        width = 2 * n + 6
        self._motion, self._plate = np.zeros((samples, 3 * n)), np.zeros((samples, 6))  # q, tau, dq; wrench
        self._weighed, self._plate_seen = 0, False
        self._ring = [np.full(width, np.nan) for _ in range(2 * self._lag + 1)]  # of slots: q, tau, wrench
        self._judged = self._ring[0]
        self._change = np.zeros((2, n))
        self._reference, self._away = np.zeros((2, width))
        self._filled = self._slots = self._known = 0
        self._means = Means(width)
        self._first = self._last = self._left = 0
        self._standing_since: float | None = None
        self.refused = 0
        self.slot_done = False
        self.phase = RestPhase.UNKNOWN
        self.follower = Follower(np.full(n, np.nan), self.reversal)
        self.finished: Rest | None = None

    def add(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrench: npt.ArrayLike | None = None,
        flags: int = 0,
    ) -> Rest | None:
        """Take one sample in and return the rest that ended with it. Bad numbers are refused and counted, not raised.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,): where one is no number, the sample is not used.
            tau: Torques of the actuators [N m or N], shape (n,).
            wrench: The plate's wrench [N, N m], shape (6,), in axes of the caller's choice; None where there is none.
            flags: What the source knows to be wrong (SampleFlag).

        Raises:
            InputError: A shape or a type does not fit, or an array is missing.
        """
        row, n, shape = self._motion[self._filled], self._n, self._shape
        row[:n] = q if type(q) is np.ndarray and q.shape == shape else _numbers(q, "q", shape)
        row[2 * n :] = dq if type(dq) is np.ndarray and dq.shape == shape else _numbers(dq, "dq", shape)
        row[n : 2 * n] = tau if type(tau) is np.ndarray and tau.shape == shape else _numbers(tau, "tau", shape)
        if wrench is not None:
            self._plate[self._filled] = _numbers(wrench, "wrench", (6,))
            self._weighed += 1
            self._plate_seen = True
        if flags:
            if int(flags) & UNUSABLE:
                row[:n] = np.nan
            if int(flags) & WITHOUT_WRENCH:
                self._weighed = -self._samples  # too few for a mean
        self._filled += 1
        self.slot_done = self._filled == self._samples
        if not self.slot_done:
            return None
        self._filled = 0
        self.finished = None
        self._take_slot()
        self._slots += 1
        self._weighed = 0
        return self.finished

    @property
    def slot(self) -> Array:
        """Mean positions and efforts of the slot that was judged [rad or m, N m or N], shape (2 n,): for reading."""
        return self._judged[: 2 * self._n]

    @property
    def q(self) -> Array:
        """Mean positions of the slot that was judged [rad or m], shape (n,): for reading."""
        return self._judged[: self._n]

    @property
    def tau(self) -> Array:
        """Mean efforts of the slot that was judged [N m or N], shape (n,): for reading."""
        return self._judged[self._n : 2 * self._n]

    def present(self) -> Rest | None:
        """Return the rest that goes on; None where there is none yet that counts."""
        period, first, last = self.period, self._first, self._last
        duration = (last - first) * period
        if self._means.count == 0 or duration < self._least_time - ROUNDING:
            return None
        n, mean = self._n, self._means.mean()
        return Rest(
            start=first * self._samples,
            end=(last + 1) * self._samples,
            begin=self._time(first),
            duration=duration,
            count=self._means.count,
            q=frozen(mean[:n]),
            tau=frozen(mean[n : 2 * n]),
            scatter=frozen(self._means.scatter()[n : 2 * n]),
            wrench=frozen(mean[2 * n :]) if np.isfinite(mean[2 * n :]).all() else None,
            side=frozen(self.follower.direction),
        )

    def _time(self, slot: int) -> float:
        """Return the mean time of a slot [s]."""
        return slot * self.period + 0.5 * (self._samples - 1) * self._dt

    def _take_slot(self) -> None:
        """Average a slot and judge the one that half a window has passed since."""
        row = self._ring[self._known % len(self._ring)]
        if not self._average(row):
            self._close()
            self._known = 0
            self._standing_since = None
            self.phase = RestPhase.UNKNOWN
            return
        n = self._n
        if self._known == 0:
            for other in self._ring:
                other[:n] = row[:n]  # before the first slot the arm was where it is then
        self._known += 1
        judged = self._known - 1 - self._lag
        if judged < 0:
            self.phase = RestPhase.UNKNOWN
            return
        stands = self._stands(judged)
        self._judged = self._ring[judged % len(self._ring)]
        if not stands:
            self._close()
            self._standing_since = None
            self.phase = RestPhase.MOVES
        else:
            slot = self._slots - self._lag
            time = self._time(slot)
            if self._standing_since is None:
                self._standing_since = time
            settles = time < self._standing_since + self._settle - ROUNDING
            self.phase = RestPhase.SETTLES if settles else self._collected(self._judged, slot)
        self.follower.update(self.q)

    def _average(self, row: Array) -> bool:
        """Write the means of the slot's valid samples into ``row``; return whether there was one."""
        n, motion, samples = self._n, self._motion, self._samples
        good = motion
        if not np.vdot(motion, motion) <= MAX_INPUT:  # the usual case at once; false for NaN
            good = motion[(np.abs(motion) <= MAX_INPUT).all(axis=1)]
            self.refused += samples - len(good)
            if len(good) == 0:
                return False
        if samples == 1:
            row[: 2 * n] = good[0, : 2 * n]
        else:
            np.add.reduce(good[:, : 2 * n], axis=0, out=row[: 2 * n])
            row[: 2 * n] /= len(good)
        if self._plate_seen:
            known = self._weighed == samples and bool((np.abs(self._plate) <= MAX_INPUT).all())
            row[2 * n :] = self._plate.mean(axis=0) if known else np.nan
        return True

    def _stands(self, slot: int) -> bool:
        """Return whether all joints stand at a slot, counted from the first one that is known."""
        ring, n, whole, fraction = self._ring, self._n, self._whole, self._fraction
        size = len(ring)
        change, hop = self._change
        np.subtract(ring[(slot + whole) % size][:n], ring[(slot - whole) % size][:n], out=change)
        if fraction:
            change *= 1.0 - fraction
            change += fraction * (ring[(slot + whole + 1) % size][:n] - ring[(slot - whole - 1) % size][:n])
        np.subtract(ring[slot % size][:n], ring[(slot - 1) % size][:n], out=hop)
        np.abs(self._change, out=self._change)
        return bool((self._change <= self._limits).all())

    def _collected(self, values: Array, slot: int) -> RestPhase:
        """Add a slot to the rest, unless it has left the rest's mean; return what the slot is."""
        means = self._means
        if means.count == FEW_SLOTS:
            self._reference[:] = means.mean()
        away = self._away
        np.subtract(values, self._reference, out=away)
        np.abs(away, out=away)
        if means.count >= FEW_SLOTS and (away > self._steps).any():  # false without a plate
            self._left += 1
            if self._left < LEFT_SLOTS:
                return RestPhase.RESTS
            self._close()
            self._standing_since = self._time(slot)
            return RestPhase.SETTLES
        if means.count == 0:
            self._first = slot
        self._left, self._last = 0, slot
        means.add(values)
        return RestPhase.RESTS

    def _close(self) -> None:
        """End the rest."""
        if self._means.count:
            self.finished = self.present()
            self._means.clear()


def _numbers(value: object, name: str, shape: tuple[int, ...]) -> Array:
    """Return numbers of this shape; NaN and infinity pass."""
    if value is None:
        raise InputError(f"{name} is missing; expected {shape[0]} numbers")
    try:
        row = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not a list of numbers: {error}") from error
    if row.shape != shape:
        raise InputError(f"{name} has shape {row.shape}; expected {shape[0]} numbers")
    return row
