"""What can go wrong in a tick, and how much of the sample can still be used when it does."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from ..dynamics import WRENCH_COMPONENTS
from ..errors import (
    FallError,
    JointLimitError,
    LawError,
    OverrunError,
    PlantError,
    SafetyError,
    SensorFaultError,
    StaleSampleError,
)


class Fault(IntEnum):
    """Why a tick was not a good one.

    Of several faults of a sample the smallest number is reported: it leaves the fewest usable readings.

    Up to 15 the position cannot be used, from 16 to 31 the position can but the velocity cannot, from 32 both can.
    """

    NONE = 0
    SAMPLE_MALFORMED = 1
    Q_INVALID = 2
    TIME_INVALID = 3
    TIME_REPEATED = 4
    TIME_BACKWARDS = 5
    Q_JUMPED = 6
    FROZEN = 7
    READ_FAILED = 8
    DQ_INVALID = 16
    LATE = 17
    OUTSIDE_LIMITS = 32
    OVER_SPEED = 33
    TAU_INVALID = 34
    WRENCH_INVALID = 35
    WRENCH_SATURATED = 36
    TIME_GAP = 37
    LAW_RAISED = 48
    LAW_OUTPUT = 49
    OVERRUN = 50
    WRITE_FAILED = 51
    BRAKES_NOT_OPENED = 52
    BRAKES_CLOSED_AGAIN = 53
    FELL = 54


FIRST_WITH_POSITION = 16
"""From this fault on the sample's q can be used."""
FIRST_WITH_VELOCITY = 32
"""From this fault on the sample's dq can be used as well."""


class FilterFlag(IntFlag):
    """What the safety filter did to the torque of a joint."""

    NONE = 0
    SATURATED = 1
    """The torque asked for was beyond the effort limit."""
    RATE_LIMITED = 2
    """It would have changed faster than the rate limit allows."""
    LIMIT_SHRUNK = 4
    """The torque sent before was beyond a limit that has shrunk since: magnitude wins, the rate bound gives way."""
    NON_FINITE = 8
    """The torque asked for was NaN or infinite: refused."""
    MALFORMED = 16
    """What was asked for is no float64 array of shape (n,): refused."""
    HELD = 32
    """The torque sent before was sent again."""
    CHANGED_BY_PLANT = 64
    """The plant reports that it sent something else."""


FLAG_COUNT = 7
"""Number of filter flags."""
REFUSED = FilterFlag.NON_FINITE | FilterFlag.MALFORMED
"""Flags of a torque that was not used at all."""

_ERRORS: dict[Fault, type[SafetyError]] = {
    Fault.SAMPLE_MALFORMED: SensorFaultError,
    Fault.Q_INVALID: SensorFaultError,
    Fault.TIME_INVALID: StaleSampleError,
    Fault.TIME_REPEATED: StaleSampleError,
    Fault.TIME_BACKWARDS: StaleSampleError,
    Fault.Q_JUMPED: SensorFaultError,
    Fault.FROZEN: SensorFaultError,
    Fault.READ_FAILED: PlantError,
    Fault.DQ_INVALID: SensorFaultError,
    Fault.LATE: StaleSampleError,
    Fault.OUTSIDE_LIMITS: JointLimitError,
    Fault.OVER_SPEED: JointLimitError,
    Fault.TAU_INVALID: SensorFaultError,
    Fault.WRENCH_INVALID: SensorFaultError,
    Fault.WRENCH_SATURATED: SensorFaultError,
    Fault.TIME_GAP: StaleSampleError,
    Fault.LAW_RAISED: LawError,
    Fault.LAW_OUTPUT: LawError,
    Fault.OVERRUN: OverrunError,
    Fault.WRITE_FAILED: PlantError,
    Fault.BRAKES_NOT_OPENED: PlantError,
    Fault.BRAKES_CLOSED_AGAIN: FallError,
    Fault.FELL: FallError,
}


def error_of(fault: Fault) -> type[SafetyError]:
    """Return the exception that a stop for this fault ends in."""
    return _ERRORS[fault]


def describe(
    fault: Fault, *, joint: str, index: int, value: float, lower: float, upper: float, velocity_limit: float
) -> str:
    """Say in one sentence what is wrong with a sample, where, and what the cause may be.

    Args:
        fault: A fault of a sample.
        joint: Name of the joint at fault; "" where none is.
        index: Its index; for a wrench that of the channel.
        value: The offending number: a position [rad or m], a speed, an effort, a time difference [s] or the like.
        lower: The joint's lower position limit [rad or m], margin included.
        upper: The joint's upper position limit [rad or m], margin included.
        velocity_limit: The joint's speed limit [rad/s or m/s].
    """
    channel = WRENCH_COMPONENTS[index] if fault in (Fault.WRENCH_INVALID, Fault.WRENCH_SATURATED) and index >= 0 else ""
    where = f"joint '{joint}': " if joint else (f"plate channel {channel}: " if channel else "")
    reads = f"reads {value:g}" if index >= 0 else "is marked as invalid by the plant"
    texts = {
        Fault.SAMPLE_MALFORMED: "the sample is no Sample with plain float64 arrays of shape (n,); the driver is at "
        "fault",
        Fault.Q_INVALID: f"the position {reads}; encoder, cable or driver",
        Fault.TIME_INVALID: f"the sample's time is {value:g}; the driver is at fault",
        Fault.TIME_REPEATED: "nothing new was measured; the bus dropped a message, or the loop outruns the plant",
        Fault.TIME_BACKWARDS: f"the sample is {-value:g} s older than the one before; messages arrive out of order",
        Fault.Q_JUMPED: f"the position jumped by {value:g}, more than the joint can travel at {velocity_limit:g} per "
        "second; the encoder slipped or lost its zero",
        Fault.FROZEN: f"the readings have not changed by a bit for {value:g} s although the arm must have moved or its "
        "torque did change; the drive repeats old values",
        Fault.DQ_INVALID: f"the velocity {reads}; encoder, cable or driver",
        Fault.LATE: f"samples arrive {value:g} s later than at the start, more than allowed; a queue has built up, "
        "or the declared dt is wrong",
        Fault.OUTSIDE_LIMITS: f"the position {value:g} lies outside {lower:g} to {upper:g} (limits with margin); most "
        "often the zero position is offset, otherwise the model's limits are not the arm's",
        Fault.OVER_SPEED: f"the speed {value:g} exceeds {velocity_limit:g}; the arm runs away, or the reading is wrong",
        Fault.TAU_INVALID: f"the effort reads {value:g}; drive or cable (a plant that senses none must say so)",
        Fault.WRENCH_INVALID: "the plate gives no valid reading, and the law needs one; cable, amplifier or driver",
        Fault.WRENCH_SATURATED: f"the plate {f'reads {value:g},' if channel else 'is at'} the end of its range, and "
        "the law needs it; it is overloaded",
        Fault.TIME_GAP: f"{value:g} s passed since the last good sample, more than may be bridged; the plant stalled",
    }
    return where + texts[fault]
