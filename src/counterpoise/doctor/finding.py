"""A finding: what the doctor says of a recording, and how lists of names and numbers with units are worded in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any


class Consequence(IntEnum):
    """What follows from a finding; larger is worse."""

    NOTE = 0
    """Good to know."""
    LIMITS = 1
    """A fit still works but is less certain, or less is identifiable."""
    INVALIDATES = 2
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
    SPRING = "spring"
    COUNTERBALANCE = "counterbalance"
    CABLE = "cable"
    MODEL_DIFFERS = "description-differs"
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
        *(LogFault.GRAVITY_COMPENSATED, LogFault.MODEL_POOR, LogFault.MODEL_DIFFERS),
        *(LogFault.SPRING, LogFault.COUNTERBALANCE, LogFault.CABLE),
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
        confidence: How sure the doctor is, 0 to 1, that it is this or one of the alternatives.
        alternatives: Other faults that these data cannot distinguish from this one (a gain error and a mass scale). The
            consequence is then the least that any of them has.
        fix: Changes of the mapping that fix it: a nested table as in the mapping file (see recording/mapping.py),
            empty where no mapping can fix it, and where an alternative would need another change.
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


PLATE_CHANNELS = ("plate fx", "plate fy", "plate fz", "plate mx", "plate my", "plate mz")
"""Names of the plate's channels in findings."""
MOST_NAMES = 8


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: "a", "a and b", "a, b and 3 others"."""
    shown = list(names)
    if len(shown) > MOST_NAMES:
        shown = [*shown[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def short(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:.3g}"


def spread(value: float) -> str:
    """Return a standard deviation with two digits."""
    return f"{value:.2g}"


def percent(share: float) -> str:
    """Return a share as a percentage with as many digits as matter."""
    return f"{100.0 * share:.2g} %" if share < 0.1 else f"{100.0 * share:.0f} %"


def times(count: int) -> str:
    """Return how often: "once", "twice", "5 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
