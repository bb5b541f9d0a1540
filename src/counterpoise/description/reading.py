"""Reading a robot description: from a file of any supported format, xacro included, or a bundled arm by name.

Xacro is expanded to URDF by the optional packages xacrodoc and xacro. A xacro file is a program: it evaluates
expressions, reads environment variables and any file that it names, and can run for as long as it likes. Nothing in
this package expands one by itself; whoever calls :func:`expand_xacro` trusts the file, and a server or a fleet tool
should ask its user first.
"""

from __future__ import annotations

import importlib
import threading
import xml.dom
from collections.abc import Mapping
from pathlib import Path
from xml.parsers import expat

from ..errors import MissingExtraError, ModelFileError
from ..foundation import read_bounded
from .model import Description

_ONE_AT_A_TIME = threading.Lock()
"""xacro keeps its file stack and arguments in module globals."""

_MAX_REASON_CHARACTERS = 500


def expand_xacro(path: str | Path, arguments: Mapping[str, str]) -> bytes:
    """Run a trusted xacro file and return the URDF that it makes.

    Relative includes are searched beside the including file; ``$(find package)`` by walking up from ``path`` to a
    package.xml of that name, then in the ROS environment. Packages that were registered with xacrodoc before are
    forgotten, so that a cached path never stands in for another package of the same name.

    Args:
        path: The .xacro file. **It can run code and read files**; call this only where the user asked for it.
        arguments: Values of its ``<xacro:arg>``, by name.

    Returns:
        UTF-8 XML. Lines are those of the expansion, not of the file.

    Raises:
        MissingExtraError: xacrodoc is not installed.
        ModelFileError: The file cannot be read, or xacro cannot expand it.
    """
    try:
        xacro = importlib.import_module("xacro")
        substitution = importlib.import_module("xacro.substitution_args")
        packages = importlib.import_module("xacrodoc").packages  # replaces xacro's search for packages by its own
    except ImportError as error:
        raise MissingExtraError("reading xacro", "xacro") from error
    read_bounded(path)
    # Expressions in the file can raise any of the builtin kinds; xacro wraps most, not all, in its own.
    failures: tuple[type[Exception], ...] = (
        xacro.XacroException,
        substitution.SubstitutionException,
        packages.PackageNotFoundError,
        expat.ExpatError,
        xml.dom.DOMException,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        NameError,
        OSError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
    )
    with _ONE_AT_A_TIME:
        try:
            packages.reset()
            packages.walk_up_from(path)
            document = xacro.process_file(str(path), mappings=dict(arguments))
            expanded: bytes = document.toxml(encoding="utf-8")
        except failures as error:
            reason = " ".join(str(error).split())[:_MAX_REASON_CHARACTERS] or type(error).__name__
            reading = xacro.filestack[-1] if xacro.filestack else str(path)
            place = "" if reading == str(path) else f" (in {reading})"
            raise ModelFileError(f"xacro cannot expand it: {reason}{place}", path=path) from error
    return expanded


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
            from .bundled import read_bundled

            return read_bundled(text)
        raise ModelFileError(f"unknown kind of file '{suffix}'; expected one of {', '.join(SUFFIXES)}", path=text)
    if suffix == ".xacro":
        if not allow_xacro:
            raise ModelFileError(
                "xacro files run code and read other files; pass allow_xacro=True (--allow-xacro) for one you trust",
                path=text,
            )
        from .urdf import parse_urdf

        return parse_urdf(expand_xacro(source, xacro_arguments), text)
    data = read_bounded(source)
    if suffix == ".toml":
        from .dh import parse_dh

        return parse_dh(data, text)
    from ..foundation import parse_xml

    if suffix == ".urdf" or parse_xml(data, text).tag == "robot":
        from .urdf import parse_urdf

        return parse_urdf(data, text)
    from .mjcf import parse_mjcf

    return parse_mjcf(data, text)
