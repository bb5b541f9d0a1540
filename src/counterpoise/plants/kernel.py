"""Which steppers run: the native ones where they were built, else the Python reference.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..foundation import native_part
from . import layout
from .reference import ReferenceDrives, ReferenceLowPass, ReferenceOneJoint

__all__ = ["NATIVE", "Drives", "LowPass", "OneJoint"]


def _fitting_module() -> Any:
    """Return the extension module, or None where it was not built, is disabled or was built for another layout."""
    module = native_part("plants")
    if module is None:
        return None
    names = ("DRIVE_PARAMETERS", "DRIVE_STATES", "LINK_PARAMETERS", "LINK_STATES")
    return module if all(getattr(module, name) == getattr(layout, name) for name in names) else None


_MODULE = _fitting_module()

NATIVE = _MODULE is not None
"""Whether the native steppers are in use."""

if TYPE_CHECKING:
    Drives, OneJoint, LowPass = ReferenceDrives, ReferenceOneJoint, ReferenceLowPass
else:
    Drives = ReferenceDrives if _MODULE is None else _MODULE.Drives
    OneJoint = ReferenceOneJoint if _MODULE is None else _MODULE.OneJoint
    LowPass = ReferenceLowPass if _MODULE is None else _MODULE.LowPass
