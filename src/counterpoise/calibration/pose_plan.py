"""The poses to record for a calibration, and how an arm is to come to rest at each of them.

Friction hides up to its whole breakaway torque in a measured holding torque. So each pose is reached from both sides:
go past it by ``approach``, creep back at ``creep_speed``, settle, and measure for ``dwell``; then the same from below.
The mean of the two has little friction left (procedure of Barrett's WAM calibration: 0.03 rad, 0.05 rad/s, 4 s).

A plan file is TOML::

    schema = "counterpoise/poses-1"
    joints = ["shoulder", "elbow"]
    poses = [[0.0, 0.5], [0.3, -0.2]]   # rad, m for linear joints

and, where the defaults do not fit, ``approach``, ``creep_speed``, ``travel_speed`` (one number or one per joint),
``settle`` and ``dwell`` [s]. A CSV file of poses with a header of joint names is a plan with all defaults.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, PublishedData, frozen
from ..description.toml_lines import TomlDocument
from ..dynamics.inputs import numbers
from ..dynamics.joint_units import rotary
from ..dynamics.robot import Robot
from ..errors import DataFileError, InputError
from ..logs.atomic import write_atomically
from ..logs.data_file import read_toml
from .pose_file import read_poses

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
            raise DataFileError(f"{key} holds what is no number", path=path, line=document.line(where))
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
