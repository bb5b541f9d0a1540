"""Finding a room's native extension: the one that was built, unless the environment forces the specifications."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def native_disabled() -> bool:
    """Return whether ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the Python specifications."""
    return os.environ.get("COUNTERPOISE_DISABLE_NATIVE", "") not in ("", "0")


def native_module(room: str) -> Any:
    """Return the extension module of a room; None where it was not built or is disabled.

    Args:
        room: The room, such as "logs".

    Raises:
        ImportError: It was built and cannot be loaded.
    """
    if native_disabled():
        return None
    try:
        return import_module(f"counterpoise.{room}._native")
    except ModuleNotFoundError:
        return None
