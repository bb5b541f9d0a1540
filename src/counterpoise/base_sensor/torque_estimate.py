"""What an estimate says of itself: torque, standard deviation, whether it may be relied on, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, PublishedData


class EstimateFlag(IntFlag):
    """What is wrong with an estimate, or what it leaves out."""

    NONE = 0
    NO_WRENCH = 1
    """The sample has no plate reading."""
    WRENCH_INVALID = 2
    """The reading is not a number, or its source marked it so."""
    SATURATED = 4
    """A channel of the plate is at the end of its range."""
    FROZEN = 8
    """The reading has not changed for many ticks although it should have."""
    STALE = 16
    """The sample repeats an older one, or goes back in time."""
    DROPOUT = 32
    """Samples were missing before this one: the acceleration starts anew."""
    POSITION_INVALID = 64
    """The joint positions are not measurements."""
    OUT_OF_TARE_RANGE = 128
    """A joint has left the pose of the tare by more than the form's stated range."""
    CONTACT = 256
    """The plate feels more than the model explains: something touches the robot, or the model is wrong."""
    OUTSIDE_TABLE = 512
    """A joint is outside the gravity table."""
    NO_VELOCITY = 1024
    """There is no velocity: what the links' motion takes is left out. Not a fault of a robot at rest."""
    NO_ACCELERATION = 2048
    """There is no acceleration yet: what it takes is left out."""


UNUSABLE = (
    EstimateFlag.NO_WRENCH
    | EstimateFlag.WRENCH_INVALID
    | EstimateFlag.SATURATED
    | EstimateFlag.FROZEN
    | EstimateFlag.STALE
    | EstimateFlag.POSITION_INVALID
    | EstimateFlag.OUT_OF_TARE_RANGE
    | EstimateFlag.OUTSIDE_TABLE
)
"""Flags that make the estimates of all joints invalid."""


@dataclass(frozen=True, slots=True, eq=False)
class TorqueEstimate(PublishedData):
    """Torques of all joints at one instant.

    Attributes:
        value: Torques [N m, or N for linear joints], shape (n,); NaN where there is nothing to compute from.
        std: Standard deviations, shape (n,); infinite where the value is NaN.
        valid: Whether all joints' values may be relied on.
        valid_joints: Whether each joint's may, shape (n,), bool: a contact leaves those right that carry everything.
        flags: What is wrong or left out.
        includes_gravity: False for τ_d; True for τ_d + g, the torque at the joint.
        form: The form that was computed.
        time: When the sample was measured [s].
    """

    value: Array
    std: Array
    valid: bool
    valid_joints: npt.NDArray[np.bool_]
    flags: EstimateFlag
    includes_gravity: bool
    form: str
    time: float

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the flags that are set, e.g. ("SATURATED",)."""
        return tuple(flag.name for flag in EstimateFlag if flag in self.flags and flag.name is not None)
