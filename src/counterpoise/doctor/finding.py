"""A finding: what the doctor says of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any


class Consequence(IntEnum):
    """What follows from a finding; larger is worse."""

    NOTE = 0
    """Good to know."""
    LIMITS = 1
    """A fit still works but is less certain, or less is identifiable."""
    SPOILS = 2
    """A fit would be wrong."""
    DANGER = 3
    """A compensation made from this would push the wrong way."""


class LogFault(StrEnum):
    """What can be named. A confusion matrix has one row for each."""

    EFFORT_SIGN = "effort-sign"
    POSITION_SIGN = "position-sign"
    JOINT_ORDER = "joint-order"
    DEGREES = "degrees"
    EFFORT_IS_CURRENT = "effort-is-current"
    MOTOR_SIDE = "motor-side"
    GAIN = "gain"
    OFFSET = "offset"
    MOUNT = "mount"
    GRAVITY_COMPENSATED = "gravity-compensated"
    PAYLOAD = "payload"
    DEAD = "dead-channel"
    FROZEN = "frozen-channel"
    SATURATED = "saturated-channel"
    QUANTISED = "quantised-channel"
    TIME_GAPS = "time-gaps"
    TIME_JITTER = "time-jitter"
    TIME_DUPLICATES = "time-duplicates"
    DELAY = "delay-between-channels"
    NO_TIME = "no-time-column"
    RATE = "wrong-rate"
    FRICTION = "friction-band"
    ONE_SIDED = "one-sided-approach"
    JOINT_STOPS = "poses-at-joint-stops"
    EXCITATION = "not-enough-excitation"
    REPEATED_PATH = "path-repeats"
    PLATE_SIGN = "plate-sign"
    PLATE_YAW = "plate-yaw"
    PLATE_TILT = "plate-tilt"
    PLATE_LAG = "plate-lag"
    PLATE_CROSS_TALK = "plate-cross-talk"
    PLATE_HANDEDNESS = "plate-handedness"
    MODEL_POOR = "model-explains-little"
    NO_MASSES = "no-masses"


ABOUT_MODEL = frozenset(
    {
        *(LogFault.EFFORT_SIGN, LogFault.POSITION_SIGN, LogFault.JOINT_ORDER, LogFault.DEGREES, LogFault.GAIN),
        *(LogFault.EFFORT_IS_CURRENT, LogFault.MOTOR_SIDE, LogFault.OFFSET, LogFault.MOUNT, LogFault.PAYLOAD),
        *(LogFault.GRAVITY_COMPENSATED, LogFault.MODEL_POOR),
    }
)
"""Faults that show when positions and efforts are compared with the model."""
ABOUT_PLATE = frozenset(fault for fault in LogFault if fault.value.startswith("plate-"))
"""Faults of the plate under the base."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with, or worth knowing of, a recording.

    Attributes:
        fault: What it is.
        consequence: What follows from it.
        subjects: Joints or channels concerned, by name; empty for the whole recording.
        sentence: What it is, in one plain sentence with the numbers that decide.
        remedy: What to change, in one plain sentence.
        evidence: The numbers that show it, by name with unit ("correlation", "gain", "lag_s"), plain JSON values.
        confidence: How sure the doctor is, 0 to 1.
        alternatives: Other faults that these data cannot tell from this one (a gain error and a mass scale).
        fix: Changes of the mapping that mend it: a nested table as in the mapping file (see logs/mapping.py), empty
            where no mapping can mend it.
    """

    fault: LogFault
    consequence: Consequence
    subjects: tuple[str, ...]
    sentence: str
    remedy: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    confidence: float = 1.0
    alternatives: tuple[str, ...] = ()
    fix: Mapping[str, Any] = field(default_factory=dict)
