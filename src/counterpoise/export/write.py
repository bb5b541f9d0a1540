"""Write a robot to a file; the ending says in which language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..description.files import read_bounded
from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.atomic import write_atomically
from .c_code import c_code
from .mjcf import mjcf_text
from .urdf import urdf_text
from .urdf_copy import urdf_copy

ENDINGS = (".h", ".urdf", ".xml")
"""C, URDF, MJCF."""


def write_robot(robot: Robot, path: str | Path, *, prefix: str | None = None, about: Sequence[str] = ()) -> None:
    """Write a robot as a C header (``.h``), URDF (``.urdf``) or MJCF (``.xml``).

    A robot that was read from a URDF file is written as a copy of that file with the robot's masses: meshes and all
    else stay. Other URDF and MJCF is written anew, without meshes.

    Args:
        robot: The robot, e.g. ``fit.robot`` of a calibration.
        path: The file; replaced at once, never half written.
        prefix: C: what the names begin with; None for the robot's name.
        about: C: lines for the comment on top.

    Raises:
        InputError: Another ending, no prefix for C, or the file that the robot itself was read from.
        ModelError: The language cannot say it (:func:`~.mjcf.mjcf_text`).
        DataFileError: The file cannot be written.
    """
    own = robot.description.path
    if own is not None and Path(own).exists() and Path(path).exists() and Path(path).samefile(own):
        raise InputError(f"{path} is the file that '{robot.name}' was read from; give another name, so that it stays")
    ending = Path(path).suffix.lower()
    if ending == ".h":
        text = c_code(robot, prefix, about=about)
    elif ending == ".urdf":
        source = copied_from(robot)
        text = urdf_text(robot) if source is None else urdf_copy(read_bounded(source), robot)
    elif ending == ".xml":
        text = mjcf_text(robot)
    else:
        raise InputError(f"{path}: expected an ending of {', '.join(ENDINGS)}: C, URDF or MJCF")
    write_atomically(path, text.encode())


def copied_from(robot: Robot) -> Path | None:
    """Return the URDF file that a robot was read from, None where it was none or is gone."""
    path = robot.description.path
    return Path(path) if path is not None and path.lower().endswith(".urdf") and Path(path).is_file() else None
