"""Units that recordings come in, as factors to ours (SI)."""

from __future__ import annotations

import math
from collections.abc import Mapping

TIME: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""To s."""
ANGLE: Mapping[str, float] = {"rad": 1.0, "deg": math.pi / 180.0, "turn": 2.0 * math.pi, "mrad": 1e-3}
"""To rad."""
LENGTH: Mapping[str, float] = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
"""To m."""
ANGULAR_SPEED: Mapping[str, float] = {
    "rad/s": 1.0,
    "deg/s": math.pi / 180.0,
    "rpm": 2.0 * math.pi / 60.0,
    "turn/s": 2.0 * math.pi,
    "mrad/s": 1e-3,
}
"""To rad/s."""
SPEED: Mapping[str, float] = {"m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2}
"""To m/s."""
TORQUE: Mapping[str, float] = {"Nm": 1.0, "mNm": 1e-3, "Nmm": 1e-3, "kNm": 1e3}
"""To N m."""
FORCE: Mapping[str, float] = {"N": 1.0, "mN": 1e-3, "kN": 1e3}
"""To N."""
CURRENT: Mapping[str, float] = {"A": 1.0, "mA": 1e-3}
"""To A."""
EFFORT: Mapping[str, float] = {**TORQUE, **CURRENT}
"""To N m or A; linear joints have the force without the m."""

UNIT_WORDS: Mapping[str, str] = {
    "rad": "rad",
    "radian": "rad",
    "radians": "rad",
    "deg": "deg",
    "degree": "deg",
    "degrees": "deg",
    "nm": "Nm",
    "mnm": "mNm",
    "nmm": "Nmm",
    "a": "A",
    "amp": "A",
    "amps": "A",
    "ma": "mA",
    "rpm": "rpm",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "msec": "ms",
    "usec": "us",
    "nsec": "ns",
    "millis": "ms",
    "micros": "us",
    "nanos": "ns",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "s": "s",
    "mm": "mm",
    "m": "m",
    "n": "N",
}
"""How units are written in names of columns, in small letters."""
