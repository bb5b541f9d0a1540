"""A taught path: where the joints were, when, and on which arm; its file, and how a recording is tidied into one.

**The file** is CSV with a commented head, for people, spreadsheets and scripts alike.

::

    # counterpoise path 1
    # name: wipe the table
    # kind: continuous
    # robot: wam7
    # kinematics: 8d2f…                   fingerprint of joints and lengths; may be left out
    # note taught: floating, 9.1 s        any number of notes; may be left out
    time [s],joint1 [rad],lift [m]
    0.0,0.1,0.25
    0.01,0.1002,0.25

Every column states its unit: s or ms; rad, mrad or deg; m, cm or mm. Joints are matched by name. Blank lines and
further lines that begin with # are passed over below the head of columns. Nothing is guessed: what is not as written
here is refused with its line.

**Tidying** a hand-guided recording cuts the idle ends off and smooths the hand's tremor away, within a stated bound.
Smoothing has no delay (recording/filters.py) and keeps the first and the last position. It starts from a low cutoff and
doubles it until no joint is moved by more than a bound; where even a high one does not do, nothing is smoothed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ...dynamics import MAX_INPUT, Robot, numbers, position_units
from ...errors import DataFileError, InputError, listed, reason_of
from ...foundation import Array, PublishedData, frozen, quoted, write_atomically
from ...identification import kinematics_fingerprint
from ...recording import filtered, interpolated

Kind = Literal["continuous", "waypoints"]
KINDS: tuple[Kind, ...] = ("continuous", "waypoints")
MOST_ROWS = 1_000_000
"""Longest path."""
LONGEST_TEXT = 1000
"""Longest name or note [characters]."""
NOTE_KEY = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""What the key of a note looks like."""


@dataclass(frozen=True, slots=True, eq=False)
class TaughtPath(PublishedData):
    """Joint positions over time; arrays are read-only.

    A "continuous" path is followed in its own time. Of "waypoints" only the poses count, and their order; their times
    say when they were marked.

    Attributes:
        name: What the path is called.
        joint_names: Names of the n joints.
        units: Unit of each joint's position: "rad" or "m".
        time: Increasing times from 0 [s], shape (k,), k from 2.
        q: Joint positions [rad or m], shape (k, n).
        kind: "continuous" or "waypoints".
        robot: Name of the arm; "" where unknown.
        kinematics: Fingerprint of its joints and geometry (calibration.identity); "" where unknown.
        notes: How it was made, by key.
    """

    name: str
    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    time: Array
    q: Array
    kind: Kind = "continuous"
    robot: str = ""
    kinematics: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse what no arm can follow."""
        object.__setattr__(self, "name", one_line(self.name, "name"))
        object.__setattr__(self, "robot", one_line(self.robot, "robot", may_be_empty=True))
        object.__setattr__(self, "kinematics", one_line(self.kinematics, "kinematics", may_be_empty=True))
        names = tuple(one_line(name, "joint name") for name in self.joint_names)
        if not names or len(set(names)) != len(names):
            raise InputError(f"joint_names {list(names)} must be different names, at least one")
        object.__setattr__(self, "joint_names", names)
        units = tuple(self.units)
        if len(units) != len(names) or not all(unit in ("rad", "m") for unit in units):
            raise InputError(f"units {list(units)} must be 'rad' or 'm', one for each of {len(names)} joints")
        object.__setattr__(self, "units", units)
        if self.kind not in KINDS:
            raise InputError(f"kind is {self.kind!r}; expected {' or '.join(map(repr, KINDS))}")
        time, q = numbers(self.time, "time"), numbers(self.q, "q")
        if time.ndim != 1 or not 2 <= len(time) <= MOST_ROWS or q.shape != (len(time), len(names)):
            raise InputError(
                f"time has shape {time.shape} and q {q.shape}; expected (k,) and (k, {len(names)}), k from 2 to "
                f"{MOST_ROWS}"
            )
        time = time - time[0]
        if (back := np.flatnonzero(np.diff(time) <= 0.0)).size:
            row = int(back[0]) + 1
            raise InputError(f"time[{row}] = {time[row]:g} s is not after time[{row - 1}] = {time[row - 1]:g} s")
        object.__setattr__(self, "time", frozen(time))
        object.__setattr__(self, "q", frozen(q))
        notes = {str(key): one_line(text, f"note '{key}'", may_be_empty=True) for key, text in self.notes.items()}
        for key in notes:
            if NOTE_KEY.fullmatch(key) is None:
                raise InputError(f"the note's key {key!r} must be letters, digits, - and _, at most 40")
        object.__setattr__(self, "notes", MappingProxyType(notes))

    @classmethod
    def of(
        cls,
        robot: Robot,
        time: npt.ArrayLike,
        q: npt.ArrayLike,
        *,
        name: str,
        kind: Kind = "continuous",
        notes: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a path of a robot.

        Args:
            robot: The arm; its joints, in its order.
            time: Increasing times [s], shape (k,).
            q: Joint positions [rad or m], shape (k, n).
            name: What the path is called.
            kind: "continuous" or "waypoints".
            notes: How it was made, by key.

        Raises:
            InputError: Something has the wrong shape or value.
        """
        return cls(
            name,
            robot.joint_names,
            tuple(position_units(robot)),
            np.asarray(time),
            np.asarray(q),
            kind,
            robot.name if robot.name.isprintable() and robot.name == robot.name.strip() else "",
            kinematics_fingerprint(robot),
            {} if notes is None else notes,
        )

    @property
    def duration(self) -> float:
        """Time from the first row to the last [s]."""
        return float(self.time[-1])

    def for_robot(self, robot: Robot, *, other_robot: bool = False) -> Self:
        """Return the path with the joints in a robot's order.

        Args:
            robot: The arm that is to follow it.
            other_robot: Accept a path that was taught to an arm of another geometry, if its joints have the same names.

        Raises:
            InputError: The joints or their units are not the robot's, or the path was taught to another arm.
        """
        if sorted(self.joint_names) != sorted(robot.joint_names):
            missing = [name for name in robot.joint_names if name not in self.joint_names]
            extra = [name for name in self.joint_names if name not in robot.joint_names]
            parts = [f"{word} {listed(names)}" for word, names in (("lacks", missing), ("has also", extra)) if names]
            raise InputError(
                f"path '{self.name}' {' and '.join(parts)}; '{robot.name}' has the joints "
                f"{listed(robot.joint_names)}. It was taught to another arm"
            )
        if self.kinematics and not other_robot and self.kinematics != kinematics_fingerprint(robot):
            raise InputError(
                f"path '{self.name}' was taught to '{self.robot}' with other joints or lengths than '{robot.name}'; "
                "joint angles mean other places there. Teach it again, or say other_robot=True if you know better"
            )
        order = [self.joint_names.index(name) for name in robot.joint_names]
        units = tuple(self.units[place] for place in order)
        wanted = tuple(position_units(robot))
        if units != wanted:
            joint = next(joint for joint in range(robot.n) if units[joint] != wanted[joint])
            raise InputError(
                f"path '{self.name}' gives joint '{robot.joint_names[joint]}' in {units[joint]}; the robot's is in "
                f"{wanted[joint]}"
            )
        return replace(self, joint_names=robot.joint_names, units=units, q=self.q[:, order])


def one_line(value: object, what: str, *, may_be_empty: bool = False) -> str:
    """Return a text that fits on a line of a path's file.

    Args:
        value: The text.
        what: What to call it in messages.
        may_be_empty: Whether it may be left out.

    Raises:
        InputError: It has several lines, is too long or empty, or has blanks at its ends.
    """
    if not isinstance(value, str) or not value.isprintable() or value != value.strip() or len(value) > LONGEST_TEXT:
        raise InputError(
            f"the {what} {str(value)[:60]!r} must be one line of at most {LONGEST_TEXT} printable characters, without "
            "blanks at its ends"
        )
    if not value and not may_be_empty:
        raise InputError(f"the {what} is empty")
    return value


FIRST_LINE = "# counterpoise path 1"
MAX_BYTES = 64 * 1024**2
"""Largest file read: an hour of 7 joints at 100 Hz."""
MOST_LINES = MOST_ROWS + 100_000
MOST_JOINTS = 1000
MOST_NOTES = 1000
TIMES: Mapping[str, float] = {"s": 1.0, "ms": 1e-3}
"""Units of time, as factors to s."""
POSITIONS: Mapping[str, tuple[str, float]] = {
    "rad": ("rad", 1.0),
    "mrad": ("rad", 1e-3),
    "deg": ("rad", np.pi / 180.0),
    "m": ("m", 1.0),
    "cm": ("m", 1e-2),
    "mm": ("m", 1e-3),
}
"""Units of positions: ours, and the factor to it."""

_COLUMN = re.compile(r"(.*) \[([^\[\]]*)\]")
_NUMBER = re.compile(r"[ \t]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?[ \t]*")
_FIELDS = ("name", "kind", "robot", "kinematics")
_LONGEST_LINE = 200_000


def write_path(path: TaughtPath, file: str | Path) -> None:
    """Write a path, all or nothing; it reads back exactly.

    Raises:
        DataFileError: The file cannot be written.
    """
    write_atomically(file, path_text(path).encode())


def path_text(path: TaughtPath) -> str:
    """Return a path as the text of its file."""
    lines = [FIRST_LINE, f"# name: {path.name}", f"# kind: {path.kind}"]
    lines += [f"# {key}: {value}" for key, value in (("robot", path.robot), ("kinematics", path.kinematics)) if value]
    lines += [f"# note {key}: {text}".rstrip() for key, text in path.notes.items()]
    head = io.StringIO()
    columns = [f"{name} [{unit}]" for name, unit in zip(path.joint_names, path.units, strict=True)]
    csv.writer(head, lineterminator="").writerow(["time [s]", *columns])
    lines.append(head.getvalue())
    table = np.column_stack([path.time, path.q])
    lines += [",".join(map(repr, row)) for row in table.tolist()]
    return "\n".join(lines) + "\n"


def read_path(file: str | Path) -> TaughtPath:
    """Read a path.

    Raises:
        DataFileError: The file cannot be read, or is not as the format says; with its line.
    """
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=file) from error
    return path_from_bytes(data, file)


def path_from_bytes(data: bytes, file: str | Path) -> TaughtPath:
    """Return the path that the bytes of a file describe.

    Args:
        data: The bytes.
        file: Where they came from, for messages.

    Raises:
        DataFileError: They are no path; with the line.
    """
    if len(data) > MAX_BYTES:
        raise DataFileError(f"has more than {MAX_BYTES / 1e6:.0f} MB; a path this long cannot be replayed", path=file)
    if data.count(b"\n") > MOST_LINES:
        raise DataFileError(f"has more than {MOST_LINES} lines; a path this long cannot be replayed", path=file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFileError("is not UTF-8 text; save it as UTF-8", path=file, line=line) from error
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[0].rstrip() != FIRST_LINE:
        raise DataFileError(f"is no taught path: its first line is not '{FIRST_LINE}'", path=file, line=1)
    fields, notes, body = _head(lines, file)
    names, units, factors = _columns(lines[body], file, body + 1)
    table = _rows(lines, body + 1, factors, ["time", *names], file)
    try:
        return TaughtPath(
            name=fields["name"],
            joint_names=names,
            units=units,
            time=table[:, 0],
            q=table[:, 1:],
            kind=fields["kind"],  # type: ignore[arg-type]  # checked by the path itself
            robot=fields.get("robot", ""),
            kinematics=fields.get("kinematics", ""),
            notes=notes,
        )
    except InputError as error:
        raise DataFileError(str(error), path=file) from error


def _head(lines: list[str], file: str | Path) -> tuple[dict[str, str], dict[str, str], int]:
    """Return the fields, the notes, and the index of the line that names the columns."""
    fields: dict[str, str] = {}
    notes: dict[str, str] = {}
    at = 1
    for at in range(1, len(lines)):
        line = lines[at].strip()
        if not line.startswith("#"):
            if line:
                break
            continue
        content = line[1:].strip()
        if not content:
            continue
        key, colon, value = (part.strip() for part in content.partition(":"))
        is_note = key.startswith("note ")
        store, key = (notes, key[5:].strip()) if is_note else (fields, key)
        if not colon or not (is_note or key in _FIELDS):
            known = ", ".join(_FIELDS)
            told = f"{quoted(content)} is no line of a path's head; expected {known} or note KEY, then ': text'"
            raise DataFileError(told, path=file, line=at + 1)
        if key in store:
            raise DataFileError(f"{quoted(key)} is given twice", path=file, line=at + 1)
        if len(notes) >= MOST_NOTES:
            raise DataFileError(f"has more than {MOST_NOTES} notes", path=file, line=at + 1)
        store[key] = value
    else:
        raise DataFileError("has no columns: 'time [s],JOINT [rad],…' is missing below its head", path=file)
    for key in ("name", "kind"):
        if key not in fields:
            raise DataFileError(f"lacks '# {key}: …' in its head", path=file, line=at + 1)
    if fields["kind"] not in KINDS:
        told = f"kind is {quoted(fields['kind'])}; expected {' or '.join(KINDS)}"
        raise DataFileError(told, path=file)
    return fields, notes, at


def _columns(line: str, file: str | Path, number: int) -> tuple[tuple[str, ...], tuple[str, ...], Array]:
    """Return the joints, their units in our terms, and the factor of every column, time first."""
    if len(line) > _LONGEST_LINE:
        raise DataFileError(f"has a line of {len(line)} characters", path=file, line=number)
    try:
        (columns,) = csv.reader([line], strict=True)
    except (csv.Error, ValueError) as error:
        raise DataFileError(f"names its columns not as CSV: {error}", path=file, line=number) from error
    if not 2 <= len(columns) <= MOST_JOINTS + 1:
        told = f"has {len(columns)} columns; expected 'time [s]' and one for each joint, separated by commas"
        raise DataFileError(told, path=file, line=number)
    names: list[str] = []
    units: list[str] = []
    factors: list[float] = []
    for place, column in enumerate(columns):
        found = _COLUMN.fullmatch(column.strip())
        name, unit = (found[1].strip(), found[2].strip()) if found else (column.strip(), "")
        known = TIMES if place == 0 else POSITIONS
        if unit not in known:
            what = "has no unit" if not found else f"has the unit {quoted(unit)}"
            told = f"column {quoted(name)} {what}; expected one of {', '.join(f'[{one}]' for one in known)}"
            raise DataFileError(told, path=file, line=number)
        if place == 0:
            if name != "time":
                raise DataFileError(f"the first column is {quoted(name)}; expected time", path=file, line=number)
            factors.append(TIMES[unit])
            continue
        if name in names:
            raise DataFileError(f"column {quoted(name)} is there twice", path=file, line=number)
        ours, factor = POSITIONS[unit]
        names.append(name)
        units.append(ours)
        factors.append(factor)
    return tuple(names), tuple(units), np.array(factors)


def _rows(lines: list[str], begin: int, factors: Array, names: list[str], file: str | Path) -> Array:
    """Return the numbers below the head in our units, shape (k, n + 1)."""
    rows: list[list[float]] = []
    for at in range(begin, len(lines)):
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(rows) >= MOST_ROWS:
            raise DataFileError(f"has more than {MOST_ROWS} rows", path=file, line=at + 1)
        entries = line.split(",", len(names) + 1)
        if len(entries) != len(names):
            told = f"has {line.count(',') + 1} numbers; expected {len(names)}, separated by commas"
            raise DataFileError(told, path=file, line=at + 1)
        row: list[float] = []
        for name, entry in zip(names, entries, strict=True):
            # float() alone would let "nan", "inf", "1_000" and other scripts' digits pass.
            value = float(entry) if len(entry) <= 100 and _NUMBER.fullmatch(entry) else np.nan
            if not abs(value) <= MAX_INPUT:
                told = f"{quoted(name)} is {quoted(entry)}; expected a decimal number within ±{MAX_INPUT:g}"
                raise DataFileError(told, path=file, line=at + 1)
            row.append(value)
        if rows and row[0] <= rows[-1][0]:
            told = f"time {quoted(entries[0])} is not after that of the row before; times must increase"
            raise DataFileError(told, path=file, line=at + 1)
        rows.append(row)
    if len(rows) < 2:
        raise DataFileError(f"has {len(rows)} rows of numbers; a path needs at least 2", path=file)
    table = np.array(rows)
    # A factor of 1 must not touch a bit.
    return np.asarray(np.where(factors == 1.0, table, table * factors))


CUTOFF = 4.0
"""Frequency at which half of a motion passes [Hz]: a guiding hand moves slower, and trembles faster (8 to 12 Hz)."""
RATE = 100.0
"""Rows per second that are kept of a continuous path [Hz]."""
STILL_ROTARY, STILL_LINEAR = 0.005, 0.001
"""A joint that is nearer than this to where it began (or ended) has not left yet (has arrived) [rad, m]."""
MOVED_ROTARY, MOVED_LINEAR = 0.01, 0.003
"""How far smoothing may move a joint [rad, m]."""
KEPT_IDLE = 0.2
"""Time at rest that is left at both ends [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """A smoothed path on an even grid.

    Attributes:
        time: Times from 0 [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        cutoff: The cutoff that was used [Hz]; None where nothing was smoothed.
        moved: How far it is from the recorded positions at most, per joint [rad or m], shape (n,).
    """

    time: Array
    q: Array
    cutoff: float | None
    moved: Array


def moving_part(time: Array, q: Array, still: Array) -> slice:
    """Return which rows to keep so that at most KEPT_IDLE of idle time is left at either end.

    Args:
        time: Increasing times [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        still: How far a joint may be from its first (last) position and count as not moving [rad or m], shape (n,).

    Raises:
        InputError: No joint moves.
    """
    away = np.flatnonzero(np.any(np.abs(q - q[0]) > still, axis=1))
    back = np.flatnonzero(np.any(np.abs(q - q[-1]) > still, axis=1))
    if not away.size or not back.size:
        raise InputError(
            f"nothing moved by more than {', '.join(f'{value:g}' for value in still)} rad or m; guide the arm while "
            "it is being recorded"
        )
    begin = int(np.searchsorted(time, time[away[0]] - KEPT_IDLE))
    end = int(np.searchsorted(time, time[back[-1]] + KEPT_IDLE, side="right"))
    return slice(begin, max(end, begin + 2))


def smooth(time: Array, q: Array, *, cutoff: float | None, most_moved: npt.ArrayLike, rate: float = RATE) -> Smoothed:
    """Return a path on an even grid, smoothed without delay, its ends kept.

    Args:
        time: Increasing times [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        cutoff: Lowest frequency at which the low-pass may have gain 1/2 (−6 dB) [Hz]; None smooths nothing.
        most_moved: How far a joint may be moved [rad or m], shape (n,) or one number.
        rate: Rows per second of the result [Hz].

    Raises:
        InputError: A bad cutoff or rate, or a path too long for the rate.
    """
    for value, name in ((cutoff, "cutoff"), (rate, "rate")):
        if value is not None and not 0.0 < value < 1e5:
            raise InputError(f"{name} is {value!r}; expected a positive number [Hz]")
    start, span = time[0], float(time[-1] - time[0])
    own = max((len(time) - 1) / span, rate)  # filter at the recording's own rate, so that nothing is folded down
    rows = round(span * own) + 1
    if rows > MOST_ROWS:
        own = rate
        rows = round(span * own) + 1
    if rows > MOST_ROWS:
        raise InputError(f"a path of {span:g} s has more than {MOST_ROWS} rows at {rate:g} Hz; keep fewer a second")
    fine = np.linspace(0.0, span, max(rows, 3))
    even = interpolated(fine, time - start, q)
    grid = np.linspace(0.0, span, max(round(span * rate) + 1, 3))
    dt = span / (len(fine) - 1)
    bound = np.broadcast_to(np.asarray(most_moved, dtype=np.float64), (q.shape[1],))
    tried = cutoff
    while tried is not None and tried < 0.4 / dt:
        soft = filtered(even, dt, tried)
        # Point reflection keeps the ends to rounding and to what the padding cuts off; this keeps them exactly.
        share = np.linspace(0.0, 1.0, len(fine))[:, None]
        soft = soft + (1.0 - share) * (even[0] - soft[0]) + share * (even[-1] - soft[-1])
        result = interpolated(grid, fine, soft)
        moved = _distance(time - start, q, grid, result)
        if np.all(moved <= bound):
            return Smoothed(grid, result, tried, moved)
        tried *= 2.0
    result = interpolated(grid, time - start, q)
    moved = _distance(time - start, q, grid, result)
    if np.all(moved <= bound):
        return Smoothed(grid, result, None, moved)
    return Smoothed(
        time - start, q.copy(), None, np.zeros(q.shape[1])
    )  # kinks that the grid would cut: every row stays


def _distance(time: Array, q: Array, grid: Array, result: Array) -> Array:
    """Return the largest distance of a result from the recorded rows, per joint, shape (n,)."""
    return np.asarray(np.max(np.abs(interpolated(time, grid, result) - q), axis=0))
