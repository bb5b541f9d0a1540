"""The native extension and its parts, one for each subpackage that has native code.

A part is checked before it is used: its layouts are compared with Python's and its entry points with stored results. In
the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the Python specifications.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from .native_check import KernelCheck, check_cases, check_layout, warn_of

EXTENSION = "counterpoise._native"
PARTS = ("control", "dynamics", "plants", "recording", "sensing")
"""Subpackages with native code."""


def native_disabled() -> bool:
    """Return whether ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the Python specifications."""
    return os.environ.get("COUNTERPOISE_DISABLE_NATIVE", "") not in ("", "0")


def unchecked_part(subpackage: str) -> Any:
    """Return the native code of a subpackage, unchecked; None where there is no extension or it is disabled.

    Args:
        subpackage: One of PARTS.

    Raises:
        ImportError: The extension was built and cannot be loaded.
    """
    if native_disabled():
        return None
    try:
        return getattr(import_module(EXTENSION), subpackage)
    except ModuleNotFoundError:
        return None


def check_part(subpackage: str, part: Any) -> list[KernelCheck]:
    """Compare a part without instruction sets: its layouts with Python's, its entry points with stored results."""
    cases = import_module(f"counterpoise.{subpackage}.kernel_cases")
    return [*check_layout(subpackage, part, cases.LAYOUT), *check_cases(subpackage, part, cases.CASES)]


@cache
def native_part(subpackage: str) -> Any:
    """Return the native code of a subpackage without instruction sets; None where it is not to be used.

    That is where there is no extension, it is disabled, or this part of it disagrees with its specification; then it
    warns. Other parts are not affected.

    Args:
        subpackage: One of PARTS.

    Raises:
        ImportError: The extension was built and cannot be loaded.

    Warns:
        RuntimeWarning: It disagrees. The warning names CPU, compiler and entry points.
    """
    part = unchecked_part(subpackage)
    if part is None:
        return None
    faults = [check for check in check_part(subpackage, part) if check.fault]
    if faults:
        warn_of(faults, part.COMPILER, f"The Python specification of '{subpackage}' is used instead.")
        return None
    return part
