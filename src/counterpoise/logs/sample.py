"""One instant of a robot, as its drives and its plate reported it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from ..description.frozen import Array, PublishedData


class SampleFlag(IntFlag):
    """What the source of a sample itself knows to be wrong with it; a flagged part is not used."""

    NONE = 0
    Q_INVALID = 1
    """The positions are not measurements."""
    DQ_INVALID = 2
    """The velocities are not measurements."""
    EFFORT_INVALID = 4
    """The efforts are not measurements; also of a plant that senses none."""
    WRENCH_INVALID = 8
    """The plate's reading is not a measurement."""
    WRENCH_SATURATED = 16
    """A channel of the plate is at the end of its range."""
    STALE = 32
    """Nothing new has been measured since the sample before."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample(PublishedData):
    """One instant of a robot.

    Nobody writes to the arrays of a sample once it has been handed over: a plant gives each sample arrays of its own.
    The numbers are as they came, NaN and all; what may be relied on is the business of the safety filter.

    Attributes:
        time: When it was measured, by the plant's own clock [s]. Only differences mean something.
        q: Joint positions [rad or m], shape (n,), float64.
        dq: Joint velocities [rad/s or m/s], shape (n,), float64.
        effort: Measured efforts, shape (n,), float64: torques [N m or N] or motor currents [A], as the plant declares.
        wrench: The plate's raw reading, force first [N, N m], shape (6,), float64, in the sensor's axes at the sensor's
            origin, in the sign convention that the plant declares; None where there is no plate.
        flags: What the source knows to be wrong.
    """

    time: float
    q: Array
    dq: Array
    effort: Array
    wrench: Array | None = None
    flags: SampleFlag = SampleFlag.NONE
