"""A robot's gravity torques as one C header: no memory is taken, nothing is remembered, the time is always the same.

The recursion is that of dynamics/gravity.py: poses from the base outwards, masses and first moments of what each joint
carries from the tips inwards. The header holds poses with their torques, by which it tests itself where it runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.joint_units import effort_units
from ..dynamics.robot import Robot
from ..dynamics.tree import REVOLUTE
from ..errors import InputError, ModelError
from .c_template import TEMPLATE

CHECK_POSES = 4
"""Poses of the self-test, the zero pose among them ..."""
CHECK_SEED = 1
"""... the others drawn within the limits by this seed."""
TOLERANCE = 1e-9
"""Of the self-test, relative to the torques that the arm's weight can cause at its full length."""

FINGERPRINT = 16
"""Hexadecimal digits of a header's fingerprint in its include guard ..."""
SHORT = 8
"""... and in its names, where no prefix is given."""


def c_code(robot: Robot, prefix: str | None = None, *, about: Sequence[str] = ()) -> str:
    """Return a C99 header (C++ too) with ``<prefix>_gravity(q, tau)`` and ``<prefix>_gravity_check()``.

    Its include guard holds the fingerprint of its content: one file may include headers of several robots, or of one
    robot with several loads. Two that have the same prefix and other content do not compile together.

    Args:
        robot: The robot; mount and payloads count.
        prefix: What the names begin with; None for :func:`c_prefix`.
        about: Lines for the comment on top, e.g. where the masses come from.

    Raises:
        InputError: The prefix is no C identifier.
        ModelError: The robot has no moving joint.
    """
    values = _values(robot)
    content = _fingerprint(values)
    name = _content_name(robot, content) if prefix is None else prefix
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) is None:
        raise InputError(f"prefix is {name!r}; expected a C identifier: letters, digits and _, no digit first")
    comment = "\n".join([*(f" * {_comment(line)}".rstrip() for line in about), values.pop("comment")])
    return TEMPLATE.substitute(values, name=name, content=content, comment=comment)


def c_prefix(robot: Robot) -> str:
    """Return what the names of a robot's header begin with where nothing is given: its name and its fingerprint.

    Another load, mount, calibration or limit gives another prefix.

    Raises:
        ModelError: The robot has no moving joint.
    """
    return _content_name(robot, _fingerprint(_values(robot)))


def _values(robot: Robot) -> dict[str, str]:
    """Return what the template's places are filled with, all but names."""
    tree = robot.tree
    if robot.n == 0:
        raise ModelError(f"'{robot.name}' has no moving joint, so there is no torque to compute")
    poses = check_poses(robot)
    torques = robot.gravity(poses)
    limits = np.where(np.isfinite(robot.effort_limit), robot.effort_limit, -1.0)
    joints = [
        f"tau[{index}], q[{index}]: {joint} [{unit}, {'rad' if unit == 'N m' else 'm'}]"
        for index, (joint, unit) in enumerate(zip(robot.joint_names, effort_units(robot), strict=True))
    ]
    return {
        "comment": "\n".join(f" * {_comment(line)}".rstrip() for line in joints),
        "n": str(robot.n),
        "bodies": str(tree.bodies),
        "parent": _integers(tree.parent),
        "rotary": _integers(tree.kind == REVOLUTE),
        "joint": _integers(tree.q_index),
        "gain": _row(tree.q_gain),
        "offset": _row(tree.q_offset),
        "rotation": _rows(tree.rotation.reshape(-1, 9)),
        "origin": _rows(tree.origin),
        "mass": _row(tree.mass),
        "moment": _rows(tree.first_moment),
        "gravity": _row(robot.gravity_base),
        "limit": _row(limits),
        "poses": str(len(poses)),
        "check_q": _rows(poses),
        "check_tau": _rows(torques),
        "tolerance": repr(TOLERANCE * _size(robot)),
    }


def _fingerprint(values: Mapping[str, str]) -> str:
    """Return the fingerprint of a header, whatever its names: of its code, its numbers and its joints."""
    text = TEMPLATE.substitute(values, name="", content="")
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT]


def _content_name(robot: Robot, content: str) -> str:
    return f"{_identifier(robot.name)}_{content[:SHORT]}"


def check_poses(robot: Robot) -> Array:
    """Return the poses of the self-test: zero, then random ones within the limits and ±π, shape (CHECK_POSES, n)."""
    random = np.random.default_rng(CHECK_SEED)
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    drawn = random.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (CHECK_POSES - 1, robot.n))
    return np.vstack([np.zeros(robot.n), drawn])


def _size(robot: Robot) -> float:
    """Return a bound of the torques that gravity can cause with joints at zero [N m], or forces [N]."""
    tree = robot.tree
    length = 1.0 + float(np.linalg.norm(tree.origin, axis=1).sum())
    moments = float(np.linalg.norm(tree.first_moment, axis=1).sum())
    return float(np.linalg.norm(robot.gravity_base)) * (float(np.abs(tree.mass).sum()) * length + moments)


def _identifier(text: str) -> str:
    """Return a C identifier that resembles a name."""
    plain = re.sub(r"[^a-z0-9_]+", "_", text.lower(), flags=re.ASCII).strip("_") or "arm"
    return f"arm_{plain}" if plain[0].isdigit() else plain


def _comment(line: str) -> str:
    """Return text that cannot end a C comment, nor hide the next line."""
    return re.sub(r"[^ -~]|\\", "?", line).replace("*/", "* /").replace("/*", "/ *")


def _row(values: Array) -> str:
    return "{" + ", ".join(repr(float(value) + 0.0) for value in values) + "}"


def _rows(values: Array) -> str:
    return "{\n    " + ",\n    ".join(_row(row) for row in values) + "}"


def _integers(values: npt.NDArray[np.generic]) -> str:
    return "{" + ", ".join(str(int(value)) for value in values) + "}"
