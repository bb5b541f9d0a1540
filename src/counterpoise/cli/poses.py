"""Poses that a command line gives, as arguments or as a file, in joint order and SI units."""

from __future__ import annotations

import math
import re

import click
import numpy as np

from ..dynamics import Robot, rotary
from ..errors import InputError, ModelFileError
from ..foundation import Array, parse_number
from ..identification import read_poses
from .output import Progressing


def given_poses(
    robot: Robot, arguments: tuple[str, ...], csv_path: str | None, *, degrees: bool
) -> tuple[Array, list[str]]:
    """Return the poses that a command line gives, and notes about how they were read.

    Args:
        robot: The robot.
        arguments: Poses as arguments: n numbers, or one argument of n numbers with commas per pose.
        csv_path: Or a file of poses, "-" for standard input. With neither, the zero pose is taken.
        degrees: Positions of rotary joints are given in degrees.

    Returns:
        Joint positions [rad or m], shape (k, n), and notes.

    Raises:
        InputError: A pose has another count of numbers than the robot has joints.
        DataFileError: The file cannot be read.
    """
    notes: list[str] = []
    if csv_path is not None:
        with Progressing(f"reading {csv_path}") as progressing:
            read = read_poses(csv_path, robot.joint_names, progressing.update)
        if read.ignored:
            notes.append(f"columns of no joint are ignored: {', '.join(name or '(no name)' for name in read.ignored)}")
        q = read.q
    else:
        q = _from_arguments(robot, arguments) if arguments else np.zeros((1, robot.n))
    return (q * np.where(rotary(robot), math.pi / 180.0, 1.0) if degrees else q), notes


def outside_limits(robot: Robot, q: Array) -> list[str]:
    """Name poses beyond the joint limits: often degrees taken for radians, or joints in another order."""
    outside = np.argwhere((q < robot.lower) | (q > robot.upper))
    if not len(outside):
        return []
    pose, joint = outside[0].tolist()
    found = (
        f"pose {pose + 1}: {robot.joint_names[joint]} = {q[pose, joint]:.5g} is outside its limits "
        f"{robot.lower[joint]:.5g} … {robot.upper[joint]:.5g} {'rad' if rotary(robot)[joint] else 'm'}"
    )
    poses = len(np.unique(outside[:, 0]))
    if len(outside) > 1:
        found += f", and so are {len(outside) - 1} more positions in {poses} of {len(q)} poses; check unit and order"
    return [found]


def _from_arguments(robot: Robot, arguments: tuple[str, ...]) -> Array:
    groups = [re.split(r"\s*[,;]\s*|\s+", text.strip()) for text in arguments]
    if all(len(group) == 1 for group in groups):
        numbers = [group[0] for group in groups]
        # With one joint, each number is a pose; otherwise all numbers are one pose.
        groups = [[number] for number in numbers] if robot.n == 1 else [numbers]
    for group in groups:
        if len(group) != robot.n:
            raise InputError(
                f"the pose {' '.join(group)} has {len(group)} numbers; expected {robot.n}, one for each of "
                f"{', '.join(robot.joint_names)} (several poses: one argument each, such as "
                f"{' '.join([','.join(['0'] * min(robot.n, 3)) + (',…' if robot.n > 3 else '')] * 2)})"
            )
    return np.array([[_number(entry) for entry in group] for group in groups])


def _number(text: str) -> float:
    try:
        return parse_number(text, what="POSE", path=None, line=None)
    except ModelFileError:
        raise click.UsageError(
            f"POSE {text!r} is not a number; expected a plain decimal such as 0.5 or -1.2e-3"
        ) from None
