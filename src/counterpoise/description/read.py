"""One way in: a description from a file of any supported format, or a bundled arm by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..errors import ModelFileError
from .files import read_bounded
from .model import Description

SUFFIXES = (".urdf", ".xml", ".mjcf", ".toml", ".xacro")


def read_description(
    source: str | Path,
    *,
    strict: bool = False,
    allow_xacro: bool = False,
    xacro_arguments: Mapping[str, str] | None = None,
) -> Description:
    """Read a robot description.

    Args:
        source: Path to .urdf, .xml (MJCF, or URDF by its root element), .toml (DH table) or .xacro; or a bundled name.
        strict: Turn warnings into an error.
        allow_xacro: Permit .xacro files, which run code and read other files.
        xacro_arguments: Values of the xacro file's arguments.

    Raises:
        CounterpoiseError: The source cannot be found or read; the message names file and line.
    """
    description = _read(source, allow_xacro, xacro_arguments or {})
    if strict and description.warnings:
        listed = "\n  ".join(description.warnings)
        raise ModelFileError(f"strict=True and {len(description.warnings)} warning(s):\n  {listed}", path=source)
    return description


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a name too long, or with a NUL byte, is no file
        return False


def _read(source: str | Path, allow_xacro: bool, xacro_arguments: Mapping[str, str]) -> Description:
    text = str(source)
    suffix = Path(text).suffix.lower()
    if suffix not in SUFFIXES:
        if isinstance(source, str) and suffix == "" and not _is_file(text):
            from .catalog import read_bundled

            return read_bundled(text)
        raise ModelFileError(f"unknown kind of file '{suffix}'; expected one of {', '.join(SUFFIXES)}", path=text)
    if suffix == ".xacro":
        if not allow_xacro:
            raise ModelFileError(
                "xacro files run code and read other files; pass allow_xacro=True (--allow-xacro) for one you trust",
                path=text,
            )
        from .urdf import parse_urdf
        from .xacro import expand_xacro

        return parse_urdf(expand_xacro(source, xacro_arguments), text)
    data = read_bounded(source)
    if suffix == ".toml":
        from .dh import parse_dh

        return parse_dh(data, text)
    from .xml_guard import parse_xml

    if suffix == ".urdf" or parse_xml(data, text).tag == "robot":
        from .urdf import parse_urdf

        return parse_urdf(data, text)
    from .mjcf import parse_mjcf

    return parse_mjcf(data, text)
