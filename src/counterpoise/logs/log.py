"""A recording: samples as arrays, with what was declared about them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..errors import InputError
from .sample import Sample, SampleFlag

CHOICES: dict[str, tuple[object, ...]] = {
    "effort_kind": ("torque", "current"),
    "effort_side": ("link", "motor"),
    "adds_gravity": (True, False),
    "sensor_reads": ("on_robot", "on_sensor"),
}
"""Declarations with a fixed meaning and their values; others are free."""


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """A recording of k samples of n joints, as they came, bad ones included. Arrays are read-only.

    Attributes:
        joint_names: Names of the n joints.
        time: When each sample was measured [s], shape (k,).
        q: Joint positions [rad or m], shape (k, n).
        dq: Joint velocities [rad/s or m/s], shape (k, n).
        tau: Measured efforts, shape (k, n): torques [N m or N] or currents [A], see ``declared["effort_kind"]``.
        wrench: The plate's raw readings, force first [N, N m], shape (k, 6); None where there is no plate.
        flags: SampleFlag bits, shape (k,), int64.
        sent: What was sent after each sample [N m or N], shape (k, n); None where nothing was.
        declared: What the source said of itself: effort_kind ("torque" or "current"), effort_side ("link" or "motor"),
            adds_gravity, sensor_reads ("on_robot" or "on_sensor"), and anything else that JSON can hold.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    dq: Array
    tau: Array
    wrench: Array | None = None
    flags: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sent: Array | None = None
    declared: Mapping[str, Any] = field(default_factory=dict)

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
        if flags.shape != (k,) or flags.dtype.kind not in "iu" or np.any(flags < 0):
            raise InputError(f"flags is {flags.dtype} of shape {flags.shape}; expected {k} whole numbers from 0")
        flags = flags.astype(np.int64)
        flags.setflags(write=False)
        values: dict[str, Any] = {"joint_names": names, "time": time, "flags": flags}
        for name in ("q", "dq", "tau"):
            values[name] = _array(getattr(self, name), name, (k, n))
        for name, shape in (("wrench", (k, 6)), ("sent", (k, n))):
            given = getattr(self, name)
            values[name] = None if given is None else _array(given, name, shape)
        values["declared"] = _declared(self.declared)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def from_samples(
        samples: Iterable[Sample],
        joint_names: Sequence[str],
        *,
        sent: npt.ArrayLike | None = None,
        declared: Mapping[str, Any] | None = None,
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
        builder = LogBuilder(joint_names, declared=declared or {})
        for sample in samples:
            builder.append(sample)
        log = builder.finish()
        return log if sent is None else replace(log, sent=np.asarray(sent, dtype=np.float64))

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def sample(self, index: int) -> Sample:
        """Return one sample; negative indices count from the end."""
        if not -len(self) <= index < len(self):
            raise InputError(f"there is no sample {index}; the log has {len(self)}")
        return Sample(
            time=float(self.time[index]),
            q=self.q[index],
            dq=self.dq[index],
            effort=self.tau[index],
            wrench=None if self.wrench is None else self.wrench[index],
            flags=SampleFlag(int(self.flags[index])),
        )

    def slice(self, start: float = -math.inf, end: float = math.inf) -> Self:
        """Return the samples with start ≤ time < end [s].

        Raises:
            InputError: There are none.
        """
        kept = (self.time >= start) & (self.time < end)
        if not kept.any():
            raise InputError(
                f"no sample lies from {start:g} s to {end:g} s; the log runs from {np.nanmin(self.time):g} s to "
                f"{np.nanmax(self.time):g} s"
            )
        return replace(
            self,
            time=self.time[kept],
            q=self.q[kept],
            dq=self.dq[kept],
            tau=self.tau[kept],
            wrench=None if self.wrench is None else self.wrench[kept],
            flags=self.flags[kept],
            sent=None if self.sent is None else self.sent[kept],
        )

    def save(self, path: str | Path) -> None:
        """Write the log as .npz or .csv, by its ending; both read back exactly.

        Raises:
            DataFileError: Another ending, or the file cannot be written.
        """
        from .files import save_log

        save_log(self, path)

    @staticmethod
    def load(path: str | Path) -> Log:
        """Read a log that was written by :meth:`save`.

        Raises:
            DataFileError: The file cannot be read or is no log.
        """
        from .files import load_log

        return load_log(path)


class LogBuilder:
    """Collects samples into arrays that double when full."""

    def __init__(self, joint_names: Sequence[str], *, declared: Mapping[str, Any], capacity: int = 1024) -> None:
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
        q, dq, tau, told = self._columns
        try:
            row[0] = sample.time
            row[q], row[dq], row[tau] = sample.q, sample.dq, sample.effort
            row[told] = np.nan if sent is None else sent
            row[-6:] = np.nan if sample.wrench is None else sample.wrench
            self._flags[self.count] = int(sample.flags)
        except (ValueError, TypeError) as error:
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
        q, dq, tau, told = (rows[:, columns] for columns in self._columns)
        return Log(
            joint_names=self.joint_names,
            time=rows[:, 0],
            q=q,
            dq=dq,
            tau=tau,
            wrench=rows[:, -6:] if self._has_wrench else None,
            flags=self._flags[: self.count],
            sent=told if self._has_sent else None,
            declared=self.declared,
        )


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


def _declared(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a read-only copy of declarations, checked."""
    for key, choices in CHOICES.items():
        if key in given and given[key] not in choices:
            raise InputError(f"declared['{key}'] is {given[key]!r}; expected one of {', '.join(map(repr, choices))}")
    try:
        copy = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"declared holds something that JSON cannot: {error}") from error
    return MappingProxyType(copy)
