"""Which filter computes: the native one where it was built, else its Python specification.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .filter_reference import ReferenceFilterCore

__all__ = ["FilterCore", "ReferenceFilterCore"]


def _native_core() -> Any:
    """Return the native type, or None where it was not built or is disabled."""
    if os.environ.get("COUNTERPOISE_DISABLE_NATIVE", "") not in ("", "0"):
        return None
    try:
        return import_module("._native", __package__).NativeFilterCore
    except ModuleNotFoundError:
        return None


if TYPE_CHECKING:
    FilterCore = ReferenceFilterCore
else:
    FilterCore = _native_core() or ReferenceFilterCore
