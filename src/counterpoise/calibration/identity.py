"""Which robot a calibration belongs to: a fingerprint of its kinematics and names; and which recording."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..logs.log import Log
from .samples import Samples
from .static_poses import StaticPoses

DIGITS = 9
"""Decimals of lengths [m] and rotations that count: files print about as many, and rounding differs between
machines."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a calibration was made with.

    Attributes:
        robot: The robot's name.
        kinematics: Fingerprint of joints, their order and the geometry between them (sha256).
        masses: Fingerprint of the description's masses (sha256); another one only changes the prior.
        serial: Serial number, where it was given.
        tool: What was mounted at the tip, where it was given.
        gravity_base: Gravity in the axes of the base [m/s²]: how it was mounted.
    """

    robot: str
    kinematics: str
    masses: str
    serial: str
    tool: str
    gravity_base: tuple[float, float, float]


def identity_of(robot: Robot, *, serial: str = "", tool: str = "") -> Identity:
    """Return a robot's identity as it is mounted.

    Args:
        robot: The robot.
        serial: Serial number, "" where unknown.
        tool: What it carries, "" where unknown.
    """
    gravity = tuple(float(value) for value in robot.gravity_base)
    return Identity(
        robot=robot.name,
        kinematics=kinematics_fingerprint(robot),
        masses=_sha256([_rounded(robot.inertial_parameters)]),
        serial=serial,
        tool=tool,
        gravity_base=(gravity[0], gravity[1], gravity[2]),
    )


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
