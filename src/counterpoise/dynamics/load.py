"""Robots from files and from the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..description.read import read_description
from .robot import Robot


def load(
    source: str | Path,
    *,
    strict: bool = False,
    allow_unphysical: bool = False,
    allow_xacro: bool = False,
    xacro_arguments: Mapping[str, str] | None = None,
) -> Robot:
    """Load a robot from a file or from the catalog.

    Args:
        source: Path to .urdf, .xml (MJCF), .toml (DH table) or .xacro; or a bundled name like "wam7" (see catalog()).
        strict: Turn warnings about the description into an error.
        allow_unphysical: Let inverse_dynamics compute even with inertias that no real body has.
        allow_xacro: Permit .xacro files, which run code and read other files.
        xacro_arguments: Values of the xacro file's arguments.

    Returns:
        The robot, upright, without payload. ``robot.warnings`` lists what is suspicious about the file.

    Raises:
        CounterpoiseError: The source cannot be found or read, or describes no arm of ours; the message says why.
    """
    description = read_description(source, strict=strict, allow_xacro=allow_xacro, xacro_arguments=xacro_arguments)
    return Robot(description, allow_unphysical=allow_unphysical)
