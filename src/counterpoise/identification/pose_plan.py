"""The poses to record for a calibration, and how an arm is to come to rest at each of them.

Friction hides up to its whole breakaway torque in a measured holding torque. So each pose is reached from both sides:
go past it by ``approach``, creep back at ``creep_speed``, settle, and measure for ``dwell``; then the same from below.
The mean of the two has little friction left (procedure of Barrett's WAM calibration: 0.03 rad, 0.05 rad/s, 4 s).

A plan file is TOML::

    schema = "counterpoise/poses-1"
    joints = ["shoulder", "elbow"]
    poses = [[0.0, 0.5], [0.3, -0.2]]   # rad, m for linear joints

and, where the defaults do not fit, ``approach``, ``creep_speed``, ``travel_speed`` (one number or one per joint),
``settle`` and ``dwell`` [s].

A CSV file of poses is a plan with all defaults: columns by joint name, or in joint order where there is no header;
nothing is guessed. Fields are separated by commas, semicolons or tabs, whichever the first line has most of, and may be
quoted. The first line is a header when one of its fields is not a number or is the name of a joint. Blank lines are
skipped. A refusal names the file, the line and the column.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..dynamics import MAX_INPUT, Robot, numbers, rotary
from ..errors import DataFileError, InputError, ModelFileError, listed, reason_of
from ..foundation import Array, PublishedData, TomlDocument, frozen, parse_number, quoted, read_toml, write_atomically

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


SCHEMA = "counterpoise/poses-1"
ROTARY = {"approach": 0.03, "creep_speed": 0.05, "travel_speed": 0.5}
"""Defaults of a rotary joint [rad, rad/s, rad/s]."""
LINEAR = {"approach": 0.01, "creep_speed": 0.015, "travel_speed": 0.1}
"""Defaults of a linear joint [m, m/s, m/s]."""
SETTLE = 0.5
"""Time for a joint to come to rest after a move [s]."""
DWELL = 4.0
"""Time to measure [s]."""
SHARE_OF_TOP_SPEED = 0.25
"""Default travel speeds are at most this share of a joint's velocity limit."""

_PER_JOINT = tuple(ROTARY)
_KEYS = ("schema", "joints", "poses", *_PER_JOINT, "settle", "dwell")


@dataclass(frozen=True, slots=True, eq=False)
class PosePlan(PublishedData):
    """Poses and how to come to rest at them; arrays are read-only.

    Attributes:
        joint_names: Names of the n joints.
        poses: Joint positions [rad or m], shape (k, n).
        approach: How far beyond a pose its two approaches begin [rad or m], > 0, shape (n,).
        creep_speed: Largest speed on the way back to it [rad/s or m/s], > 0, shape (n,).
        travel_speed: Largest speed from pose to pose [rad/s or m/s], > 0, shape (n,).
        settle: Time to come to rest after each move [s].
        dwell: Time to measure at each pose, on each side [s].
    """

    joint_names: tuple[str, ...]
    poses: Array
    approach: Array
    creep_speed: Array
    travel_speed: Array
    settle: float = SETTLE
    dwell: float = DWELL

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse what no arm can follow."""
        names = tuple(self.joint_names)
        if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
            raise InputError(f"joint_names is {list(names)}; expected different, non-empty names")
        object.__setattr__(self, "joint_names", names)
        poses = numbers(self.poses, "poses")
        if poses.ndim != 2 or poses.shape[1] != len(names) or not len(poses):
            raise InputError(f"poses has shape {poses.shape}; expected (k, {len(names)}) with k of at least 1")
        object.__setattr__(self, "poses", frozen(poses))
        for name in _PER_JOINT:
            given = numbers(getattr(self, name), name)
            if given.shape not in ((), (len(names),)) or not np.all(given > 0.0):
                raise InputError(f"{name} is {given.tolist()}; expected one positive number or {len(names)}")
            object.__setattr__(self, name, frozen(np.broadcast_to(given, (len(names),))))
        for name, least in (("settle", 0.0), ("dwell", 1e-3)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 3600.0:
                raise InputError(f"{name} is {value!r}; expected a time from {least:g} to 3600 s")
            object.__setattr__(self, name, float(value))

    @classmethod
    def of(cls, robot: Robot, poses: npt.ArrayLike, **settings: Any) -> Self:
        """Return a plan for a robot: defaults by the kind of joint, unless ``settings`` gives other values.

        Args:
            robot: The robot.
            poses: Joint positions in its joint order [rad or m], shape (k, n).
            settings: Any of approach, creep_speed, travel_speed, settle, dwell.

        Raises:
            InputError: Something has the wrong shape or value.
        """
        turns = np.array(rotary(robot), dtype=bool)
        values = {name: np.where(turns, ROTARY[name], LINEAR[name]) for name in _PER_JOINT}
        top = np.where(robot.velocity_limit > 0.0, robot.velocity_limit, np.inf)
        values["travel_speed"] = np.minimum(values["travel_speed"], SHARE_OF_TOP_SPEED * top)
        return cls(robot.joint_names, np.asarray(poses), **(values | settings))

    def replaced(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, such as dwell=1.0.

        Raises:
            InputError: A value is not acceptable.
        """
        return replace(self, **changes)

    def as_data(self) -> dict[str, Any]:
        """Return the plan as JSON and TOML have it."""
        per_joint = {name: getattr(self, name).tolist() for name in _PER_JOINT}
        head = {"schema": SCHEMA, "joints": list(self.joint_names), "settle": self.settle, "dwell": self.dwell}
        return head | per_joint | {"poses": self.poses.tolist()}

    def write(self, path: str | Path) -> None:
        """Write the plan as TOML; it reads back exactly.

        Raises:
            DataFileError: The file cannot be written.
        """
        data = self.as_data()
        poses = data.pop("poses")
        # JSON's strings, numbers and lists of them are TOML's.
        lines = [f"{key} = {json.dumps(value)}" for key, value in data.items()]
        lines += ["poses = [", *(f"    {json.dumps(pose)}," for pose in poses), "]"]
        write_atomically(path, ("\n".join(lines) + "\n").encode())


def read_plan(path: str | Path, robot: Robot, **settings: Any) -> PosePlan:
    """Read a plan as TOML, or a CSV of poses with a header of joint names; joints are matched by name.

    Args:
        path: The file; .toml for a plan, anything else is read as CSV.
        robot: The robot that is to follow it.
        settings: Fields that replace those of the file, such as dwell=1.0.

    Raises:
        DataFileError: The file cannot be read, or its joints are not the robot's.
        InputError: A setting is not acceptable.
    """
    if Path(path).suffix.lower() != ".toml":
        read = read_poses(str(path), robot.joint_names)
        if not read.by_name:
            message = f"has no header; name its columns: {', '.join(robot.joint_names)}"
            raise DataFileError(message, path=path, line=1)
        if read.ignored:
            raise _other_joints([*robot.joint_names, *read.ignored], robot.joint_names, path, 1)
        return PosePlan.of(robot, read.q, **settings)
    return _from_toml(read_toml(path), robot, path, settings)


def approach_within(plan: PosePlan, lower: Array, upper: Array, margin: npt.ArrayLike) -> tuple[Array, list[str]]:
    """Return how far each joint goes beyond each pose so that it stays clear of its limits, and what was shortened.

    Where a limit is too near on either side, the approach of that joint to that pose is shortened on both sides alike,
    so that the two stay comparable. Below a third of what was asked for it would no longer turn friction around, and
    the pose is refused.

    Args:
        plan: The plan.
        lower: Lower position limits [rad or m], shape (n,); −inf for none.
        upper: Upper position limits [rad or m], shape (n,); +inf for none.
        margin: Distance to be kept from them [rad or m], one or n.

    Returns:
        Approaches [rad or m], shape (k, n), and one sentence for each that was shortened.

    Raises:
        InputError: A pose is beyond the limits, or too near to one; all such joints are named.
    """
    room = np.minimum(plan.poses - lower, upper - plan.poses) - np.asarray(margin)
    offsets = np.minimum(np.broadcast_to(plan.approach, plan.poses.shape), room)
    refused = np.argwhere(offsets < plan.approach / 3.0)
    if len(refused):
        shown = "; ".join(_too_near(plan, pose, joint, lower, upper, offsets) for pose, joint in refused[:5].tolist())
        more = f"; and {len(refused) - 5} more" if len(refused) > 5 else ""
        raise InputError(f"too near to a limit to be approached from both sides: {shown}{more}. Move these poses")
    notes = [
        f"pose {pose + 1}: {plan.joint_names[joint]} is approached from {offsets[pose, joint]:.4g} instead of "
        f"{plan.approach[joint]:.4g} to either side: its limit is near"
        for pose, joint in np.argwhere(offsets < plan.approach).tolist()
    ]
    return frozen(offsets), notes


def _too_near(plan: PosePlan, pose: int, joint: int, lower: Array, upper: Array, offsets: Array) -> str:
    return (
        f"pose {pose + 1}: {plan.joint_names[joint]} = {plan.poses[pose, joint]:.5g} leaves {offsets[pose, joint]:.3g} "
        f"within {lower[joint]:.5g} … {upper[joint]:.5g}, less its margin (at least {plan.approach[joint] / 3:.3g} is "
        "needed)"
    )


def _from_toml(document: TomlDocument, robot: Robot, path: str | Path, settings: Mapping[str, Any]) -> PosePlan:
    root = document.root
    if root.get("schema") != SCHEMA:
        message = f"schema is {root.get('schema')!r}; expected {SCHEMA!r}"
        raise DataFileError(message, path=path, line=document.line(("schema",)))
    for key in root:
        if key not in _KEYS:
            message = f"'{key}' is no key of a plan; known are {', '.join(_KEYS)}"
            raise DataFileError(message, path=path, line=document.line((key,)))
    for key in ("joints", "poses"):
        if key not in root:
            raise DataFileError(f"'{key}' is missing", path=path)
    names = root["joints"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataFileError("joints is no list of names", path=path, line=document.line(("joints",)))
    if sorted(names) != sorted(robot.joint_names):
        raise _other_joints(names, robot.joint_names, path, document.line(("joints",)))
    order = [names.index(name) for name in robot.joint_names]
    values: dict[str, Any] = {}
    for key in (*_PER_JOINT, "settle", "dwell", "poses"):
        if key in root:
            values[key] = _in_order(root[key], key, order, document, path)
    try:
        return PosePlan.of(robot, **{**values, **settings})
    except InputError as error:
        raise DataFileError(str(error), path=path) from error


def _in_order(value: Any, key: str, order: list[int], document: TomlDocument, path: str | Path) -> Any:
    """Bring lists with one entry per joint into the robot's order."""
    rows = value if key == "poses" else [value]
    if not isinstance(rows, list):
        raise DataFileError("poses is no list of poses", path=path, line=document.line((key,)))
    turned = []
    for index, row in enumerate(rows):
        where = (key, index) if key == "poses" else (key,)
        entries = row if isinstance(row, list) else [row]
        if not all(isinstance(entry, int | float) and not isinstance(entry, bool) for entry in entries):
            raise DataFileError(f"{key} has an entry that is not a number", path=path, line=document.line(where))
        if isinstance(row, list) and len(row) != len(order):
            message = f"{key} has {len(row)} numbers; expected {len(order)}, one per joint"
            raise DataFileError(message, path=path, line=document.line(where))
        if key == "poses" and not isinstance(row, list):
            raise DataFileError("poses is no list of poses", path=path, line=document.line(where))
        turned.append([row[i] for i in order] if isinstance(row, list) else row)
    return turned if key == "poses" else turned[0]


def _other_joints(found: Sequence[str], wanted: Sequence[str], path: str | Path, line: int | None) -> DataFileError:
    """Return the error of a file whose joints are not the robot's: what differs, and both lists."""
    missing = [name for name in wanted if name not in found]
    extra = [name for name in dict.fromkeys(found) if name not in wanted]
    twice = [name for name in dict.fromkeys(found) if found.count(name) > 1]
    parts = [f"{word} {', '.join(names)}" for word, names in (("lacks", missing), ("has also", extra)) if names]
    parts += [f"has {', '.join(twice)} more than once"] if twice else []
    return DataFileError(
        f"{' and '.join(parts)}; the file's joints are {', '.join(found)}; the robot's are {', '.join(wanted)}",
        path=path,
        line=line,
    )
