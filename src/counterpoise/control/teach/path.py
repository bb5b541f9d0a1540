"""A taught path: where the joints were, when, and on which arm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ...calibration.identity import kinematics_fingerprint
from ...description.frozen import Array, PublishedData, frozen
from ...dynamics.inputs import numbers
from ...dynamics.joint_units import position_units
from ...dynamics.robot import Robot
from ...errors import InputError, listed

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
