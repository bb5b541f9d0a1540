"""Calls to MuJoCo that read MJCF: a parse, a compilation, and every failure as our own error with its line."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import MissingExtraError
from .mjcf_sources import MjcfSource, SpecText

Result = TypeVar("Result")


def mujoco_module() -> Any:
    """Import MuJoCo.

    Raises:
        MissingExtraError: It is not installed, or its installation is broken.
    """
    try:
        return importlib.import_module("mujoco")
    except (ImportError, OSError) as error:  # OSError: the package is there and its shared library is not
        raise MissingExtraError("reading MJCF", "sim") from error


def parsed_spec(source: MjcfSource, text: SpecText) -> Any:
    """Parse XML into a fresh ``MjSpec`` with default classes resolved and every body and joint named.

    Nothing is shared between two parses: a failed compilation leaves its specification altered.

    Raises:
        ModelFileError: MuJoCo refuses the text.
    """
    spec = _translated(source, text, lambda: mujoco_module().MjSpec.from_string(text.xml))
    _name_all(spec.bodies, "body")
    _name_all(spec.joints, "joint")
    return spec


def compiled_model(source: MjcfSource, text: SpecText, spec: Any) -> Any:
    """Compile a specification made by :func:`parsed_spec` into an ``MjModel``.

    Raises:
        ModelFileError: MuJoCo refuses it.
    """
    return _translated(source, text, spec.compile)


def _translated(source: MjcfSource, text: SpecText, call: Callable[[], Result]) -> Result:
    mujoco = mujoco_module()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MuJoCo announces deprecations here; what matters has its own warning
            return call()
    except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        said = str(error)
        # MuJoCo's own place ("Element name 'arm', id 3, line 40") counts lines of our rewritten text.
        reason = re.sub(r"^(XML Error: |Error: )+|,?\s*line\D{0,3}\d+\s*$", "", said.strip()).replace("\n", "; ")
        raise source.refusal(f"MuJoCo cannot read it: {reason}", text.element(said)) from error


def _name_all(items: list[Any], what: str) -> None:
    """Name the unnamed after their place in the file, e.g. "body3", stepping aside for names already taken."""
    taken = {item.name for item in items}
    for index, item in enumerate(items):
        if not item.name:
            item.name = unused_name(f"{what}{index}", taken)


def unused_name(name: str, taken: set[str]) -> str:
    """Return the name, with underscores behind it until nobody has it, and add it to those taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
