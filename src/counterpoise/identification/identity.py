"""What a result was made with: robot, mounting and recordings, by fingerprints; and what of the recordings was guessed.

The file of a result belongs to one robot: another geometry or mounting is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np

from ..description import MAX_GRAVITY
from ..dynamics import Robot
from ..errors import DataFileError, InputError
from ..fitting import Samples, StaticPoses
from ..foundation import Array, read_document
from ..recording import Log, RateSource, effort_guesses

RATES: tuple[RateSource, ...] = get_args(RateSource)
"""From best to worst."""
Data = Log | StaticPoses | Samples


def guessed_keys(*data: Data) -> tuple[str, ...]:
    """Return the dotted keys of all numbers of the recordings' mappings that are guessed."""
    return tuple(dict.fromkeys(key for log in _logs(data) for key in log.declared.guessed))


def rate_source(*data: Data) -> RateSource | Literal[""]:
    """Return source of the time, of several recordings the worst; "" where nobody said, and for poses."""
    worst: RateSource | Literal[""] = ""
    for log in _logs(data):
        told: RateSource | None = "guessed" if log.declared.rate_is_guessed else log.declared.rate_source
        if told is not None and (not worst or RATES.index(told) > RATES.index(worst)):
            worst = told
    return worst


def no_torques(*data: Data) -> bool:
    """Whether the efforts of a recording are no torques, or torques of a guessed size."""
    return any(log.declared.effort_is_command or log.declared.effort_is_guessed for log in _logs(data))


def why_command_units(keys: Sequence[str]) -> str:
    """Say why efforts are in command units, from the guessed keys."""
    return effort_guesses(keys) or "efforts are no torques, and no weighed load was recorded"


def unit_notes(*data: Data) -> list[str]:
    """Say which guesses leave efforts in command units; nothing where none does."""
    guessed = effort_guesses(guessed_keys(*data))
    return [f"{guessed}: nothing shows that efforts are torques"] if guessed else []


def clock_doubts(*data: Data) -> tuple[str, ...]:
    """Say where nobody knows how fast the time of a motion goes."""
    if rate_source(*data) != "guessed":
        return ()
    return ("how fast time goes is a guess; state the rate, time.rate, or record the time or velocities",)


def _logs(data: Sequence[Data]) -> list[Log]:
    return [one for one in data if isinstance(one, Log)]


MOUNT_TOLERANCE = math.radians(2.0)
"""Angle between two gravity vectors above which they are two different mountings [rad]."""


def mount_angle(gravity_base: Array, other: Array) -> float:
    """Return the angle between two gravity vectors in base axes, shapes (3,) [rad]."""
    across = float(np.linalg.norm(np.cross(gravity_base, other)))
    return math.atan2(across, float(gravity_base @ other))


def mount_rpy(gravity_base: Array) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of a base that feels gravity so, fixed axes as in URDF [rad]; the yaw is 0.

    A turn about the vertical changes no gravity, so any yaw would do.

    Args:
        gravity_base: Gravity in base axes [m/s²], shape (3,), not 0.
    """
    x, y, z = (np.asarray(gravity_base) / np.linalg.norm(gravity_base)).tolist()
    # The last row of the rotation, [−sin p, cos p sin r, cos p cos r], is the vertical in base axes.
    return math.atan2(-y, -z) if math.hypot(y, z) > 1e-9 else 0.0, math.atan2(x, math.hypot(y, z)), 0.0


def refuse_other_mount(robot: Robot, gravity_base: Array) -> None:
    """Refuse a log whose gravity is not the robot's.

    Args:
        robot: The robot as mounted.
        gravity_base: Gravity that the log declares, in base axes [m/s²], shape (3,).

    Raises:
        InputError: They lie further apart than MOUNT_TOLERANCE.
    """
    angle = mount_angle(gravity_base, robot.gravity_base)
    if angle > MOUNT_TOLERANCE:
        raise InputError(
            f"the log was recorded with gravity along {np.round(gravity_base, 2).tolist()} in base axes, "
            f"{math.degrees(angle):.0f}° from the robot's {np.round(robot.gravity_base, 2).tolist()}; mount the robot "
            "as it was: robot.mounted(rpy=…)"
        )


DIGITS = 9
"""Decimals of lengths [m] and rotations that count: files print about as many, and rounding differs between
machines."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a result was made with.

    Attributes:
        name: The robot's name.
        joints: Its joints.
        kinematics_sha256: Fingerprint of joints, their order and the geometry between them.
        masses_sha256: Fingerprint of the description's masses; another one only changes the prior.
        serial: Serial number, where it was given.
        tool: What was mounted at the tip, where it was given.
        gravity_base: Gravity in the axes of the base [m/s²]: how it was mounted.
    """

    name: str
    joints: tuple[str, ...]
    kinematics_sha256: str
    masses_sha256: str
    serial: str
    tool: str
    gravity_base: tuple[float, float, float]

    def refuse_other(self, robot: Robot, path: str | Path) -> None:
        """Refuse a robot of other joints, another geometry or another mounting than a file was made for.

        Raises:
            DataFileError: It is another; the message says how.
        """
        if self.joints != robot.joint_names:
            raise DataFileError(
                f"belongs to robot '{self.name}' with joints {', '.join(self.joints)}; robot '{robot.name}' has "
                f"{', '.join(robot.joint_names)}",
                path=path,
            )
        if self.kinematics_sha256 != kinematics_fingerprint(robot):
            raise DataFileError(
                f"belongs to robot '{self.name}': joints of the same names, but another geometry than robot "
                f"'{robot.name}'. Load it with the description it was made with, or calibrate again",
                path=path,
            )
        then, now = np.array(self.gravity_base), robot.gravity_base
        if not np.abs(then).max() <= MAX_GRAVITY:
            raise DataFileError(
                f"identity.gravity_base holds {np.abs(then).max():g} m/s²; expected at most {MAX_GRAVITY:g}", path=path
            )
        strengths = np.linalg.norm([then, now], axis=1)
        if mount_angle(then, now) > MOUNT_TOLERANCE or abs(strengths[0] - strengths[1]) > 0.01 * strengths[1]:
            raise DataFileError(
                f"was made with gravity along {np.round(then, 2).tolist()} in base axes; the robot is mounted with "
                f"{np.round(now, 2).tolist()}. What was measured on one mounting does not determine everything on "
                "another: mount the robot as it was (robot.mounted), or calibrate again",
                path=path,
            )


def identity_of(robot: Robot, *, serial: str = "", tool: str = "") -> Identity:
    """Return a robot's identity as it is mounted.

    Args:
        robot: The robot.
        serial: Serial number, "" where unknown.
        tool: What it carries, "" where unknown.
    """
    x, y, z = robot.gravity_base.tolist()
    return Identity(
        name=robot.name,
        joints=robot.joint_names,
        kinematics_sha256=kinematics_fingerprint(robot),
        masses_sha256=_sha256([_rounded(robot.inertial_parameters)]),
        serial=serial,
        tool=tool,
        gravity_base=(x, y, z),
    )


class HasIdentity(Protocol):
    """What a file of something that belongs to one robot holds."""

    @property
    def identity(self) -> Identity:
        """Which robot it was made for."""


OfRobot = TypeVar("OfRobot", bound=HasIdentity)
Result = TypeVar("Result")


def read_for_robot(
    path: str | Path,
    robot: Robot,
    table: type[OfRobot],
    made: Callable[[OfRobot], Result],
    *,
    schema: str,
    version: int,
    kind: str,
) -> Result:
    """Read a file that was made for one robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter.
        table: What the file holds.
        made: Makes the result; it raises where numbers do not hold together.
        schema: What the file must be.
        version: The version that is read.
        kind: What such a file is called in messages.

    Raises:
        DataFileError: The file cannot be read, is of another kind or version, is damaged, or belongs to another robot
            or mounting; the message says which.
    """
    content = read_document(path, {schema: table}, version, kind=kind)
    content.identity.refuse_other(robot, path)
    try:
        return made(content)
    except DataFileError:
        raise
    except (ValueError, TypeError, OverflowError) as error:  # numbers that nothing real has, or rows of other lengths
        raise DataFileError(f"does not hold together: {error}", path=path) from error


def kinematics_fingerprint(robot: Robot) -> str:
    """Return the sha256 of a robot's joints, their order and geometry; masses and limits do not count."""
    tree = robot.tree
    return _sha256(
        [
            list(tree.joint_names),
            list(tree.body_names),
            tree.parent.tolist(),
            tree.kind.tolist(),
            tree.q_index.tolist(),
            *(_rounded(part) for part in (tree.q_gain, tree.q_offset, tree.rotation, tree.origin, tree.joint_rotation)),
        ]
    )


def data_fingerprint(*recordings: Log | StaticPoses | Samples) -> str:
    """Return the sha256 of the numbers and joint names of recordings."""
    digest = hashlib.sha256(json.dumps(list(recordings[0].joint_names)).encode())
    for data in recordings:
        names = ("q", "tau") if isinstance(data, StaticPoses) else ("time", "q", "dq", "tau")
        for name in names:
            values = np.ascontiguousarray(getattr(data, name), dtype="<f8")
            digest.update(f"{name}{values.shape}".encode())
            digest.update(values.tobytes())
    return digest.hexdigest()


def _rounded(values: Array) -> list[float]:
    """Return values that rounding errors do not change, without a negative zero."""
    return (np.round(values, DIGITS) + 0.0).ravel().tolist()


def _sha256(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
