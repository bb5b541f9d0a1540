"""Finding a room's native extension: the one that was built, unless the environment forces the specifications."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from .native_check import KernelCheck, check_extension, warn_of


def native_disabled() -> bool:
    """Return whether ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the Python specifications."""
    return os.environ.get("COUNTERPOISE_DISABLE_NATIVE", "") not in ("", "0")


def imported_module(room: str) -> Any:
    """Return the extension module of a room, unchecked; None where it was not built or is disabled.

    Args:
        room: The room, such as "recording".

    Raises:
        ImportError: It was built and cannot be loaded.
    """
    if native_disabled():
        return None
    try:
        return import_module(f"counterpoise.{room}._native")
    except ModuleNotFoundError:
        return None


def check_room(room: str, module: Any) -> list[KernelCheck]:
    """Compare the entry points of a room's extension with their stored results."""
    return check_extension(room, module, import_module(f"counterpoise.{room}.kernel_cases").CASES)


@cache
def native_part(room: str) -> Any:
    """Return the extension module of a room without instruction sets; None where it is not to be used.

    That is where it was not built, is disabled, or disagrees with the stored results of its specification; then it
    warns.

    Args:
        room: The room, such as "recording".

    Raises:
        ImportError: It was built and cannot be loaded.

    Warns:
        RuntimeWarning: It disagrees. The warning names CPU, compiler and entry points.
    """
    module = imported_module(room)
    if module is None:
        return None
    faults = [check for check in check_room(room, module) if check.fault]
    if faults:
        warn_of(faults, module.COMPILER, f"The Python specification of the room '{room}' is used instead.")
        return None
    return module
