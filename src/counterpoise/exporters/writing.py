"""Write a robot to a file; the ending says in which language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..description import parse_urdf
from ..dynamics import Robot, refuse_command_units
from ..errors import CounterpoiseError, InputError, ModelError
from ..foundation import parse_xml, read_bounded, write_atomically
from .c_code import c_code, check_poses
from .mjcf import mjcf_text
from .urdf import urdf_copy, urdf_text

LANGUAGES = {".h": "C", ".urdf": "URDF", ".xml": "MJCF"}
"""What is written, by the ending of the file."""
SAME = 1e-9
"""Share of the largest torque by which a file that is read again may differ: rounding."""


def language_of(path: str | Path) -> str:
    """Return what a file's ending asks for.

    Raises:
        InputError: It is none of LANGUAGES.
    """
    language = LANGUAGES.get(Path(path).suffix.lower())
    if language is None:
        raise InputError(f"{path}: expected a name that ends in {', '.join(LANGUAGES)}: C, URDF or MJCF")
    return language


def export(robot: Robot, path: str | Path, *, prefix: str | None = None, about: Sequence[str] = ()) -> None:
    """Write a robot as a C header (``.h``), URDF (``.urdf``) or MJCF (``.xml``).

    A robot that was read from a URDF file is written as a copy of that file with the robot's masses: meshes and all
    else stay. Other URDF and MJCF is written anew, without meshes. URDF is read again before it is written: it must
    have the robot's torques.

    Args:
        robot: The robot, e.g. ``fit.robot`` of a calibration.
        path: The file; replaced at once, never half written.
        prefix: C: what the names begin with; None for the robot's name and its fingerprint (``c_prefix``).
        about: Lines for a comment on top.

    Raises:
        InputError: Another ending, a prefix that is no C identifier, the file that the robot was read from, or a
            calibration in command units.
        ModelError: The language cannot say it, or no joint moves.
        ModelFileError: The URDF file is not that of the robot any more.
        DataFileError: The file cannot be written.
    """
    language = language_of(path)
    refuse_command_units(robot)
    own = robot.description.path
    if own is not None and Path(own).exists() and Path(path).exists() and Path(path).samefile(own):
        raise InputError(f"{path} is the file that '{robot.name}' was read from; give another name, so that it stays")
    if language == "C":
        text = c_code(robot, prefix, about=about)
    elif language == "URDF":
        source = copied_from(robot)
        text = urdf_text(robot, about) if source is None else urdf_copy(read_bounded(source), robot, about)
        _refuse_other_torques(robot, text)
    else:
        text = mjcf_text(robot, about)
        parse_xml(text.encode())
    write_atomically(path, text.encode())


def copied_from(robot: Robot) -> Path | None:
    """Return the URDF file that a robot was read from; None where it was none, or is gone."""
    path = robot.description.path
    if path is None or not Path(path).is_file() or not path.lower().endswith((".urdf", ".xml")):
        return None
    return Path(path) if parse_xml(read_bounded(path), path).tag == "robot" else None


def _refuse_other_torques(robot: Robot, text: str) -> None:
    """Refuse a URDF text that is not the robot.

    Raises:
        ModelError: It cannot be read, or gives other torques.
    """
    try:
        again = Robot(parse_urdf(text.encode()), mount=robot.mount, gravity=robot.gravity_world)
    except CounterpoiseError as error:
        raise ModelError(f"'{robot.name}' cannot be said in URDF: {error}") from error
    q = check_poses(robot)
    expected = robot.gravity(q)
    most = SAME * max(float(np.abs(expected).max(initial=0.0)), robot.total_mass)
    if again.joint_names != robot.joint_names or not np.allclose(again.gravity(q), expected, rtol=0.0, atol=most):
        raise ModelError(f"'{robot.name}' read again from the URDF that would be written gives other torques")
