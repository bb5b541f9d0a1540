"""Robots from files and from the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy.typing as npt

from ..description.read import read_description
from .robot import Robot


def load(
    source: str | Path,
    *,
    strict: bool = False,
    allow_unphysical: bool = False,
    allow_xacro: bool = False,
    xacro_arguments: Mapping[str, str] | None = None,
    rotor_inertia: npt.ArrayLike | Mapping[str, float | None] | None = None,
) -> Robot:
    """Load a robot from a file or from the catalog.

    Args:
        source: Path to .urdf, .xml (MJCF), .toml (DH table) or .xacro; or a bundled name like "wam7" (see catalog()).
        strict: Turn warnings about the description into an error.
        allow_unphysical: Let inverse_dynamics compute even with inertias that no real body has.
        allow_xacro: Permit .xacro files, which run code and read other files.
        xacro_arguments: Values of the xacro file's arguments.
        rotor_inertia: Inertias of the drives at the link side [kg m² or kg], n numbers or some by joint name: a URDF
            file states none, and none is assumed (see Robot.with_rotor_inertia).

    Returns:
        The robot, upright, without payload. ``robot.warnings`` lists what is suspicious about the file.

    Raises:
        CounterpoiseError: The source cannot be found or read, or describes no arm of ours; the message says why.
    """
    description = read_description(source, strict=strict, allow_xacro=allow_xacro, xacro_arguments=xacro_arguments)
    robot = Robot(description, allow_unphysical=allow_unphysical)
    return robot if rotor_inertia is None else robot.with_rotor_inertia(rotor_inertia)
