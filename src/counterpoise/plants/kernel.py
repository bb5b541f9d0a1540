"""Which steppers run: the native ones, or else the Python specification.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation import native_part
from .reference import ReferenceDrives, ReferenceLowPass, ReferenceOneJoint

_PART = native_part("plants")

NATIVE = _PART is not None
"""Whether the native steppers are in use."""

if TYPE_CHECKING or not NATIVE:
    Drives, OneJoint, LowPass = ReferenceDrives, ReferenceOneJoint, ReferenceLowPass
else:
    Drives, OneJoint, LowPass = _PART.Drives, _PART.OneJoint, _PART.LowPass
