"""A log: a recording as arrays, with what was declared about them, and samples of one instant each.

A sample is what drives and plate of a robot reported at that instant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntFlag
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, PublishedData, frozen
from .declared import Declared
from .filters import even_grid, increasing, resampled, smoothed


class SampleFlag(IntFlag):
    """What the source of a sample itself knows to be wrong with it; a flagged part is not used."""

    NONE = 0
    Q_INVALID = 1
    """The positions are not measurements."""
    DQ_INVALID = 2
    """The velocities are not measurements."""
    TAU_INVALID = 4
    """The efforts are not measurements; also of a plant that senses none."""
    WRENCH_INVALID = 8
    """The plate's reading is not a measurement."""
    WRENCH_SATURATED = 16
    """A channel of the plate is at the end of its range."""
    STALE = 32
    """Nothing new has been measured since the sample before."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample(PublishedData):
    """One instant of a robot.

    Nobody writes to the arrays of a sample once it has been handed over: a plant gives each sample arrays of its own.
    The numbers are as they came, NaN and all; what may be relied on is the business of the safety filter.

    Attributes:
        time: When it was measured, by the plant's own clock [s]. Only differences mean something.
        q: Joint positions [rad or m], shape (n,), float64.
        dq: Joint velocities [rad/s or m/s], shape (n,), float64.
        tau: Measured efforts, shape (n,), float64: torques [N m or N] or motor currents [A], as the plant declares.
        wrench: The plate's raw reading, force first [N, N m], shape (6,), float64, in the sensor's axes at the sensor's
            origin, in the sign convention that the plant declares; None where there is no plate. One that is slower
            than the control loop repeats its last reading.
        flags: What the source knows to be wrong.
    """

    time: float
    q: Array
    dq: Array
    tau: Array
    wrench: Array | None = None
    flags: SampleFlag = SampleFlag.NONE


Rows = slice | npt.NDArray[Any]
"""A range, a mask or a list of indices."""
ARRAYS = ("time", "q", "dq", "tau", "wrench", "flags", "sent", "side", "pair")
"""Parts of a log that have a row per sample."""
FLAGS_END = 2**31
"""Flags are smaller: those of a sample are an int."""


@dataclass(frozen=True, slots=True, eq=False)
class Log(PublishedData):
    """A recording of k samples of n joints, as they came, bad ones included. Arrays are read-only.

    Attributes:
        joint_names: Names of the n joints.
        time: When each sample was measured [s], shape (k,).
        q: Joint positions [rad or m], shape (k, n).
        dq: Joint velocities [rad/s or m/s], shape (k, n).
        tau: Measured efforts, shape (k, n): torques [N m or N] or currents [A], see ``declared.effort_kind``; NaN where
            there is none.
        wrench: The plate's raw readings, force first [N, N m], shape (k, 6); None where there is no plate.
        flags: SampleFlag bits, shape (k,), int64.
        sent: What was sent after each sample, shape (k, n): torques [N m or N], or goals [rad or m] where
            ``declared.sent_kind`` says so; None where nothing was.
        declared: What is known about these numbers.
        side: Of poses at rest, the direction of each joint's last motion before it stood, shape (k, n): +1 where the
            position rose, −1 where it fell, 0 where that is not known; None where nothing was declared.
        pair: Of poses at rest, rows with the same number ≥ 0 are one pose reached from both sides, shape (k,); −1 where
            there is no pair; None where nothing was declared.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    dq: Array
    tau: Array
    wrench: Array | None = None
    flags: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sent: Array | None = None
    declared: Declared = field(default_factory=Declared)
    side: Array | None = None
    pair: Array | None = None

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse shapes that do not belong together."""
        names = tuple(self.joint_names)
        if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
            raise InputError(f"joint_names {list(names)} must be different, non-empty names")
        time = _array(self.time, "time", (-1,))
        k, n = len(time), len(names)
        if k == 0:
            raise InputError("a log needs at least one sample")
        flags = np.asarray(self.flags if np.size(self.flags) else np.zeros(k, dtype=np.int64))
        if flags.shape != (k,) or flags.dtype.kind not in "iu" or np.any((flags < 0) | (flags >= FLAGS_END)):
            raise InputError(
                f"flags is {flags.dtype} of shape {flags.shape}; expected {k} whole numbers from 0 to 2^31"
            )
        flags = flags.astype(np.int64)
        flags.setflags(write=False)
        values: dict[str, Any] = {"joint_names": names, "time": time, "flags": flags}
        for name in ("q", "dq", "tau"):
            values[name] = _array(getattr(self, name), name, (k, n))
        for name, shape in (("wrench", (k, 6)), ("sent", (k, n)), ("side", (k, n)), ("pair", (k,))):
            given = getattr(self, name)
            values[name] = None if given is None else _array(given, name, shape)
        if values["side"] is not None and not np.isin(values["side"], (-1.0, 0.0, 1.0)).all():
            raise InputError("side has other numbers than −1, 0 and +1; expected the sign of each joint's last motion")
        if values["pair"] is not None and np.any(values["pair"] != np.floor(values["pair"])):  # NaN too
            raise InputError("pair has numbers that are not whole; expected one number for each pose, −1 for no pair")
        _check_declared(self.declared, n)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def from_samples(
        samples: Iterable[Sample],
        joint_names: Sequence[str],
        *,
        sent: npt.ArrayLike | None = None,
        declared: Declared | None = None,
    ) -> Log:
        """Return a log of samples.

        Args:
            samples: Samples of the n joints; the log has wrenches when the first sample has one, NaN where one lacks.
            joint_names: Names of the n joints.
            sent: What was sent after each sample [N m or N], shape (k, n).
            declared: What is known of the source.

        Raises:
            InputError: There are no samples, or they do not fit the joints.
        """
        builder = LogBuilder(joint_names, declared=declared or Declared())
        for sample in samples:
            builder.append(sample)
        log = builder.finish()
        return log if sent is None else replace(log, sent=np.asarray(sent, dtype=np.float64))

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def __repr__(self) -> str:
        """One line: joints, samples, duration, rate, which parts hold numbers, the unit of efforts that are no torques.

        Duration and rate are those of :meth:`ordered`'s samples. A table of poses at rest has no rate.
        """
        times = self.time[increasing(self.time)]
        lasts = f"{times[-1] - times[0]:.4g} s" if len(times) > 1 else "no duration"
        if self.side is not None or self.pair is not None:
            lasts += ", poses at rest"
        elif len(times) > 1:
            lasts += f" at {self.rate:.4g} Hz"
        parts = [
            f"{name}{f' [{self._effort_unit}]' if name == 'tau' and self._effort_unit else ''}"
            for name in ("q", "dq", "tau", "wrench", "sent")
            if (part := getattr(self, name)) is not None and np.isfinite(part).any()
        ]
        joints, samples = _counted(len(self.joint_names), "joint"), _counted(len(self), "sample")
        return f"<Log: {joints}, {samples}, {lasts}; {', '.join(parts) or 'no numbers'}>"

    @property
    def _effort_unit(self) -> str:
        """Unit of ``tau`` where it does not hold torques [N m] or forces [N] on the links; "" where it does."""
        if self.declared.effort_kind == "current":
            return "A"
        return "N m at the motor" if self.declared.effort_side == "motor" else ""

    def sample(self, index: int) -> Sample:
        """Return one sample; negative indices count from the end."""
        if not -len(self) <= index < len(self):
            raise InputError(f"there is no sample {index}; the log has {len(self)}")
        return Sample(
            time=float(self.time[index]),
            q=self.q[index],
            dq=self.dq[index],
            tau=self.tau[index],
            wrench=None if self.wrench is None else self.wrench[index],
            flags=SampleFlag(int(self.flags[index])),
        )

    def __getitem__(self, rows: Rows) -> Self:
        """Return the samples of a range (``log[100:200]``), of a mask of k booleans or of a list of indices.

        Raises:
            InputError: There are none, or an index does not exist.
        """
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.ndim != 1 or rows.dtype.kind not in "biu":
                raise InputError("a log is cut by a range, a mask or a list of indices; log.sample(i) gives one sample")
        try:
            arrays = ((name, getattr(self, name)) for name in ARRAYS)
            changes: dict[str, Any] = {name: None if array is None else array[rows] for name, array in arrays}
        except IndexError as error:
            raise InputError(f"the log has {len(self)} samples: {error}") from error
        return replace(self, **changes)

    def slice(self, start: float = -math.inf, end: float = math.inf) -> Self:
        """Return the samples with start ≤ time < end [s].

        Raises:
            InputError: There are none.
        """
        kept = (self.time >= start) & (self.time < end)
        if not kept.any():
            known = self.time[np.isfinite(self.time)]
            runs = f"runs from {known.min():g} s to {known.max():g} s" if known.size else "has no times"
            raise InputError(f"no sample lies from {start:g} s to {end:g} s; the log {runs}")
        return self[kept]

    @property
    def rate(self) -> float:
        """Samples per second [Hz], by the median time between samples; NaN where that is unknown."""
        with np.errstate(over="ignore"):
            steps = np.diff(self.time[increasing(self.time)])
        return 1.0 / float(np.median(steps)) if steps.size else math.nan

    def ordered(self) -> Self:
        """Return the most samples whose times increase: duplicates, steps back and single wild stamps are left out.

        Raises:
            InputError: No sample has a time.
        """
        rows = increasing(self.time)
        return self if len(rows) == len(self) else self[rows]

    def without_infinities(self) -> Self:
        """Return the log with NaN, which means no measurement, in the place of infinite numbers."""
        changes: dict[str, Any] = {}
        for name in ("time", "q", "dq", "tau", "wrench"):
            values = getattr(self, name)
            if values is not None and np.isinf(values).any():
                changes[name] = np.where(np.isinf(values), np.nan, values)
        return replace(self, **changes) if changes else self

    def resampled(self, rate: float) -> Self:
        """Return the log at evenly spaced times, by straight lines between samples.

        When the rate is lower than the log's, it is smoothed before (see :func:`.filters.resampled`). ``sent`` is a
        command and keeps its last value. Flags are those of both neighbours. Sides and pairs of poses are left out.

        Args:
            rate: Samples per second [Hz].

        Raises:
            InputError: A bad rate.
        """
        log = self.ordered()
        grid = even_grid(log.time, rate)
        left = np.clip(np.searchsorted(log.time, grid, side="right") - 1, 0, len(log) - 1)
        right = np.minimum(left + (grid > log.time[left]), len(log) - 1)
        return replace(
            log,
            time=grid,
            q=resampled(log.time, log.q, grid, rate),
            dq=resampled(log.time, log.dq, grid, rate),
            tau=resampled(log.time, log.tau, grid, rate),
            wrench=None if log.wrench is None else resampled(log.time, log.wrench, grid, rate),
            flags=log.flags[left] | log.flags[right],
            sent=None if log.sent is None else log.sent[left],
            side=None,
            pair=None,
        )

    def low_passed(self, cutoff: float) -> Self:
        """Return the log with q, dq, tau and wrench smoothed without delay; see :mod:`.filters` for the filter.

        Args:
            cutoff: Frequency at which the low-pass has gain 1/2 (−6 dB) [Hz].

        Raises:
            InputError: A bad cutoff.
        """
        log = self.ordered()
        names = [name for name in ("q", "dq", "tau", "wrench") if getattr(log, name) is not None]
        changes: dict[str, Any] = {name: smoothed(log.time, getattr(log, name), cutoff) for name in names}
        return replace(log, **changes)

    def differentiated(self, cutoff: float) -> Self:
        """Return the log with dq taken from q, smoothed and differentiated without delay; see :mod:`.filters`.

        Args:
            cutoff: Frequency at which the low-pass has gain 1/2 (−6 dB) [Hz].

        Raises:
            InputError: A bad cutoff.
        """
        log = self.ordered()
        dq = smoothed(log.time, log.q, cutoff, derivative=1)
        return replace(log, dq=dq, declared=replace(log.declared, velocity_from="position"))


def joined(pieces: Sequence[Log]) -> Log:
    """Return pieces of one recording, one or more, as one log with what the last of them declares.

    Raises:
        InputError: They do not belong together.
    """
    last = pieces[-1]
    if len(pieces) == 1:
        return last
    parts = [(getattr(piece, name) is None for name in ("wrench", "sent", "side", "pair")) for piece in pieces]
    if len({(piece.joint_names, *part) for piece, part in zip(pieces, parts, strict=True)}) > 1:
        raise InputError("pieces of one recording have different joints or parts")
    whole = object.__new__(Log)  # the arrays are large and those of logs already: they are not copied once more
    for entry in fields(last):
        value = getattr(last, entry.name)
        if entry.name in ARRAYS and value is not None:
            value = np.concatenate([getattr(piece, entry.name) for piece in pieces])
            value.setflags(write=False)
        object.__setattr__(whole, entry.name, value)
    return whole


class LogBuilder:
    """Collects samples into arrays that double when full."""

    def __init__(self, joint_names: Sequence[str], *, declared: Declared, capacity: int = 1024) -> None:
        """Start an empty recording.

        Args:
            joint_names: Names of the n joints.
            declared: What is known of the source.
            capacity: Samples to make room for; more are possible.
        """
        self.joint_names = tuple(joint_names)
        self.declared = declared
        self.count = 0
        n = len(self.joint_names)
        self._rows = np.empty((max(capacity, 1), 4 * n + 7))  # time, q, dq, tau, sent, wrench
        self._flags = np.zeros(max(capacity, 1), dtype=np.int64)
        self._columns = [slice(1 + part * n, 1 + (part + 1) * n) for part in range(4)]
        self._has_wrench = False
        self._has_sent = False

    def append(self, sample: Sample, sent: Array | None = None) -> None:
        """Add a sample, and what was sent after it.

        Raises:
            InputError: It does not fit the joints.
        """
        if self.count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._flags = np.concatenate([self._flags, np.zeros_like(self._flags)])
        row = self._rows[self.count]
        q, dq, tau, commands = self._columns
        try:
            row[0] = sample.time
            row[q], row[dq], row[tau] = sample.q, sample.dq, sample.tau
            row[commands] = np.nan if sent is None else sent
            row[-6:] = np.nan if sample.wrench is None else sample.wrench
            self._flags[self.count] = int(sample.flags)
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"sample {self.count} does not fit {len(self.joint_names)} joints: {error}") from error
        self._has_wrench = self._has_wrench or sample.wrench is not None
        self._has_sent = self._has_sent or sent is not None
        self.count += 1

    def finish(self) -> Log:
        """Return the log.

        Raises:
            InputError: Nothing was recorded.
        """
        rows = self._rows[: self.count]
        q, dq, tau, sent = (rows[:, columns] for columns in self._columns)
        return Log(
            joint_names=self.joint_names,
            time=rows[:, 0],
            q=q,
            dq=dq,
            tau=tau,
            wrench=rows[:, -6:] if self._has_wrench else None,
            flags=self._flags[: self.count],
            sent=sent if self._has_sent else None,
            declared=self.declared,
        )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _array(value: npt.ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} is not a rectangular array: {error}") from error
    fits = given.ndim == len(shape) and all(want in (-1, have) for want, have in zip(shape, given.shape, strict=True))
    if given.dtype.kind not in "fiu" or not fits:
        shown = "(k,)" if shape == (-1,) else str(shape)
        raise InputError(f"{name} is {given.dtype} of shape {given.shape}; expected numbers of shape {shown}")
    return frozen(given)


def _check_declared(declared: Declared, n: int) -> None:
    if not isinstance(declared, Declared):
        raise InputError(f"declared is a {type(declared).__name__}; expected counterpoise.recording.declared.Declared")
    for name, shape in (("motor_per_link", (n, n)), ("torque_constant", (n,))):
        value = getattr(declared, name)
        if value is not None and value.shape != shape:
            raise InputError(f"declared.{name} has shape {value.shape}; expected {shape}, one per joint")
