"""Numbers, names and rotations as XML files state them, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..description.frozen import Array

GIMBAL = 1e-7
"""Cosine of the pitch below which roll and yaw are one angle."""


def numbers_text(values: Iterable[float]) -> str:
    """Return numbers, separated by spaces, that read back as the same doubles."""
    return " ".join(repr(float(value) + 0.0) for value in values)  # + 0.0: no minus zeros


def rpy_of(rotation: Array) -> tuple[float, float, float]:
    """Return fixed-axis roll, pitch and yaw [rad] of a rotation matrix: R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF."""
    cosine = math.hypot(rotation[0, 0], rotation[1, 0])
    pitch = math.atan2(-rotation[2, 0], cosine)
    if cosine < GIMBAL:
        return math.atan2(-rotation[1, 2], rotation[1, 1]), pitch, 0.0
    return math.atan2(rotation[2, 1], rotation[2, 2]), pitch, math.atan2(rotation[1, 0], rotation[0, 0])
