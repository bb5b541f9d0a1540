"""Which inner loops run: the native ones where they were built, else the NumPy specification.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import gate, square_root

__all__ = ["NATIVE", "fold", "fold_torque", "solve", "watch"]


def _native_module() -> Any:
    """Return the extension module, or None where it was not built or is disabled."""
    if os.environ.get("COUNTERPOISE_DISABLE_NATIVE", "") not in ("", "0"):
        return None
    try:
        return import_module("._native", __package__)
    except ModuleNotFoundError:
        return None


_MODULE = _native_module()

NATIVE = _MODULE is not None
"""Whether the native loops are in use."""

if TYPE_CHECKING:
    watch, fold, fold_torque, solve = gate.watch, square_root.fold, square_root.fold_torque, square_root.solve
else:
    _FROM = (gate, square_root, square_root, square_root) if _MODULE is None else (_MODULE,) * 4
    watch, fold, fold_torque, solve = (
        getattr(module, name) for module, name in zip(_FROM, ("watch", "fold", "fold_torque", "solve"), strict=True)
    )
