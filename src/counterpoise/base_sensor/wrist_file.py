"""The file of a wrist sensor that was calibrated from poses: JSON with schema, version and checksum."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ..calibration.document import read_for_robot, refuse_beyond, robot_table, write_document
from ..calibration.file_schema import RobotTable
from ..calibration.identity import identity_of
from ..description.frozen import frozen
from ..dynamics.inputs import numbers
from ..dynamics.robot import Robot
from ..errors import InputError
from .wrench_frame import checked_pose
from .wrist_poses import WristFit
from .wrist_solve import Turn

SCHEMA = "counterpoise-wrist"
VERSION = 1
Row = tuple[float, ...]
OpenRow = tuple[float | None, ...]
"""None where a deviation is infinite."""
_VECTORS = {"com": (3,), "bias": (6,), "gravity_base": (3,), "residual": (6,), "heldout": (6,), "spread": (3,)}
_OPEN = {"com_std": 3, "bias_std": 6, "turn_std": 3}
MOST_MASS, MOST_LEVER, MOST_READING = 1e4, 10.0, 1e6
"""Heaviest tool [kg], farthest centre [m], largest reading [N, N m]."""


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that the checksum covers; names and units as in WristFit."""

    robot: RobotTable
    created: str
    package: str
    link: str
    T_link_sensor: tuple[Row, ...]
    reads: Literal["on_robot", "on_tool"]
    mass: float
    mass_std: float
    com: Row
    com_std: OpenRow
    bias: Row
    bias_std: OpenRow
    turn: Turn
    turn_std: OpenRow
    gravity_base: Row
    tilt: float
    tilt_std: float
    residual: Row
    heldout: Row
    spread: Row
    poses: int
    source: str
    determined: dict[str, bool]
    checks: dict[str, bool]
    sentences: tuple[str, ...]


_SAME = ("link", "reads", "mass", "mass_std", "turn", "tilt", "tilt_std", "poses", "source", "sentences")


def save_wrist_fit(fit: WristFit, robot: Robot, path: str | Path) -> Path:
    """Write a calibrated wrist sensor, all or nothing.

    Args:
        fit: The calibration.
        robot: The robot that it was made with.
        path: The file.

    Returns:
        The file that was written.

    Raises:
        DataFileError: It cannot be written.
    """
    from .. import __version__

    content: dict[str, Any] = {name: getattr(fit, name) for name in _SAME}
    content |= {name: getattr(fit, name).tolist() for name in (*_VECTORS, "T_link_sensor")}
    content |= {
        name: [value if np.isfinite(value) else None for value in getattr(fit, name).tolist()] for name in _OPEN
    }
    content |= {"determined": dict(fit.determined), "checks": dict(fit.checks)}
    content |= {"created": datetime.now(UTC).isoformat(timespec="seconds"), "package": __version__}
    content["robot"] = robot_table(identity_of(robot), robot.joint_names)
    write_document(path, SCHEMA, VERSION, msgspec.to_builtins(content))
    return Path(path)


def load_wrist_fit(path: str | Path, robot: Robot) -> WristFit:
    """Read a calibrated wrist sensor for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter.

    Raises:
        DataFileError: The file cannot be read, is of another kind, is damaged, was written by a newer version, or
            belongs to another robot or mounting; the message says which.
    """
    return read_for_robot(
        path,
        robot,
        _Content,
        lambda content: _fit_of(content, robot),
        schema=SCHEMA,
        newest=VERSION,
        kind="calibrated wrist sensor",
    )


def _fit_of(content: _Content, robot: Robot) -> WristFit:
    given: dict[str, Any] = {name: numbers(getattr(content, name), name, shape) for name, shape in _VECTORS.items()}
    for name, size in _OPEN.items():
        row = np.array([np.inf if value is None else value for value in getattr(content, name)], dtype=np.float64)
        if row.shape != (size,) or not np.all(row >= 0.0):
            raise InputError(f"{name} is {row.tolist()}; expected {size} numbers from 0 on")
        given[name] = frozen(row)
    if content.link not in robot.link_names:
        raise InputError(f"the robot has no link '{content.link}'")
    for check in (
        ("mass", content.mass, 0.0, MOST_MASS),
        ("mass_std", content.mass_std, 0.0, MOST_MASS),
        ("com", given["com"], -MOST_LEVER, MOST_LEVER),
        ("bias", given["bias"], -MOST_READING, MOST_READING),
        ("gravity_base", np.linalg.norm(given["gravity_base"]), 0.1, 100.0),
        ("poses", content.poses, 1, 1e9),
    ):
        refuse_beyond(*check)
    same = {name: getattr(content, name) for name in _SAME}
    pose = checked_pose(content.T_link_sensor, "T_link_sensor")
    return WristFit(
        T_link_sensor=frozen(pose), determined=dict(content.determined), checks=dict(content.checks), **same, **given
    )
