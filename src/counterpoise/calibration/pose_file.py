"""Poses from a CSV file: columns by joint name, or in joint order where there is no header; nothing is guessed.

Fields are separated by commas, semicolons or tabs, whichever the first line has most of, and may be quoted. The first
line is a header when one of its fields is not a number or is the name of a joint. Blank lines are skipped. A refusal
names the file, the line and the column.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path

import numpy as np

from ..description.frozen import Array
from ..description.numbers import parse_number, quoted
from ..dynamics.inputs import MAX_INPUT
from ..errors import DataFileError, ModelFileError, listed, reason_of

MAX_POSE_FILE_BYTES = 1024**3
"""Largest file read; a million poses of 19 joints in full precision are about 400 MB."""
CHUNK_ROWS = 10_000
STDIN = "-"

_DELIMITERS = ",;\t"
_SEPARATED = "columns are separated by commas, semicolons or tabs"
_NOT_IN_A_NUMBER = re.compile(r"[^0-9eE+\-. \t]")
Row = list[str]


@dataclass(frozen=True, slots=True)
class PoseFile:
    """Poses read from a file.

    Attributes:
        q: Joint positions as the file has them, columns in joint order, shape (k, n).
        ignored: Names of columns that belong to no joint.
        by_name: Whether a header named the columns; without one they were taken in joint order.
    """

    q: Array
    ignored: tuple[str, ...]
    by_name: bool


def read_poses(
    path: str, joint_names: Sequence[str], progress: Callable[[float, float], None] | None = None
) -> PoseFile:
    """Read a pose file.

    Args:
        path: The file, or "-" for standard input.
        joint_names: Names of the n joints.
        progress: Called now and then with the lines read so far and the lines in all.

    Raises:
        DataFileError: The file cannot be read or decoded, is empty, lacks a joint's column or has it twice, or holds a
            field that is not a number within ±MAX_INPUT, or a line with another count of fields than the first.
    """
    shown = "<stdin>" if path == STDIN else path
    data = _read(path, shown)
    last_line = data.count(b"\n") + 1
    rows = _rows(data, shown)
    first_line, first = next(rows, (1, []))
    if not first:
        raise DataFileError("is empty; expected poses, one a line", path=shown)
    columns, ignored, is_header = _columns(first, joint_names, shown, first_line)
    names = [joint_names[columns.index(i)] if i in columns else f"column {i + 1}" for i in range(len(first))]
    remaining = rows if is_header else chain([(first_line, first)], rows)
    parts = []
    while chunk := list(islice(remaining, CHUNK_ROWS)):
        parts.append(_numbers(chunk, columns, names, shown))
        if progress is not None:
            progress(chunk[-1][0], last_line)
    if not parts:
        raise DataFileError("has a header and no pose below it", path=shown)
    return PoseFile(np.concatenate(parts), ignored, is_header)


def _read(path: str, shown: str) -> bytes:
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(MAX_POSE_FILE_BYTES + 1)
        else:
            with Path(path).open("rb") as stream:
                data = stream.read(MAX_POSE_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=shown) from error
    if len(data) > MAX_POSE_FILE_BYTES:
        raise DataFileError(f"has more than {MAX_POSE_FILE_BYTES / 1e9:.1f} GB; split it", path=shown)
    return data


def _rows(data: bytes, shown: str) -> Iterator[tuple[int, Row]]:
    """Yield (line, fields) of every line that is not blank; the line is the one on which the fields begin."""
    first = next((line for line in io.BytesIO(data) if line.strip()), b"").decode(errors="replace")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(
        io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=""), delimiter=delimiter, strict=True
    )
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataFileError(f"is not CSV: {error}", path=shown, line=line) from error
        except UnicodeDecodeError as error:
            raise DataFileError(
                "is not UTF-8 text; save it as CSV in UTF-8", path=shown, line=_undecodable_line(data)
            ) from error
        if row and (len(row) > 1 or row[0].strip()):
            yield line, row


def _undecodable_line(data: bytes) -> int | None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return None


def _columns(first: Row, joint_names: Sequence[str], shown: str, line: int) -> tuple[list[int], tuple[str, ...], bool]:
    """Return the column of each joint, the names of unused columns, and whether the first line is a header."""
    fields = [field.strip() for field in first]
    fields[0] = fields[0].removeprefix("#").lstrip()  # as numpy.savetxt marks its header
    not_numbers = [field for field in fields if not _is_number(field)]
    if not not_numbers and not set(fields) & set(joint_names):
        if len(fields) != len(joint_names):
            raise DataFileError(
                f"has {len(fields)} columns and no header; expected {len(joint_names)}, one for each of "
                f"{_listed(joint_names)} ({_SEPARATED})",
                path=shown,
                line=line,
            )
        return list(range(len(fields))), (), False
    missing = [name for name in joint_names if name not in fields]
    repeated = [name for name in joint_names if fields.count(name) > 1]
    if missing or repeated:
        fault = f"no column for {_listed(missing)}" if missing else f"more than one column for {_listed(repeated)}"
        why = f": {quoted(not_numbers[0])} is not a number" if not_numbers else ""
        hint = f", {_SEPARATED}" if len(fields) == 1 else ""
        raise DataFileError(
            f"{fault}; the robot's joints are {_listed(joint_names)}; the file's columns are {_listed(fields)} "
            f"(line {line} is read as the header{why}{hint})",
            path=shown,
            line=line,
        )
    ignored = tuple(field for field in fields if field not in joint_names)
    return [fields.index(name) for name in joint_names], ignored, True


def _numbers(chunk: list[tuple[int, Row]], columns: list[int], names: list[str], shown: str) -> Array:
    """Convert the joints' fields of some lines, or refuse the first that is no number, naming its line and column."""
    width = len(names)
    for line, row in chunk:
        if len(row) != width:
            raise DataFileError(f"has {len(row)} fields; the first line has {width}", path=shown, line=line)
    chosen = itemgetter(*columns)
    fields: list[str] = [field for _, row in chunk for field in (chosen(row) if len(columns) > 1 else (chosen(row),))]
    # float() alone would let "nan", "inf" and "1_000" pass. Looking at all characters at once, then converting, is
    # several times faster than looking at each number; only a refused chunk is looked at field by field.
    if _NOT_IN_A_NUMBER.search("".join(fields)) is None:
        try:
            q = np.array(list(map(float, fields))).reshape(len(chunk), len(columns))
        except ValueError:
            pass
        else:
            if np.all(np.abs(q) <= MAX_INPUT):
                return q
    return np.array([[_number(row[i], names[i], shown, line) for i in columns] for line, row in chunk])


def _number(field: str, name: str, shown: str, line: int) -> float:
    if not _is_number(field):
        raise DataFileError(
            f"{name} is {quoted(field)}; expected a plain decimal number such as 0.5 or -1.2e-3",
            path=shown,
            line=line,
        )
    value = float(field)
    if abs(value) > MAX_INPUT:
        raise DataFileError(f"{name} is {value:g}; expected a number within ±{MAX_INPUT:g}", path=shown, line=line)
    return value


def _is_number(field: str) -> bool:
    try:
        parse_number(field, what="field", path=None, line=None)
    except ModelFileError:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    return listed([name or "''" for name in names], most=40)
