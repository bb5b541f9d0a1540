"""Taught paths as text: CSV with a commented head, for people, spreadsheets and scripts alike.

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
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...description.frozen import Array
from ...description.numbers import quoted
from ...dynamics.inputs import MAX_INPUT
from ...errors import DataFileError, InputError, reason_of
from ...logs.atomic import write_atomically
from .path import KINDS, MOST_ROWS, TaughtPath

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
