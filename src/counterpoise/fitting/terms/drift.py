"""An offset that changes evenly with time: a sensor or drive that warms up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import ActuatorTerm, ArmLimits, Scales, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation

DURATION = 60.0
"""Time in which a drift may make up the whole effort, by one standard deviation [s]."""


@registered
class DriftTerm(ActuatorTerm):
    """r t, with t the time since the beginning of the recording: every recording begins with the offset."""

    name = "drift"
    number = 13
    label = "drifts"
    summary = "an offset that grows with the time since the recording began"
    units = ("N m/s", "N/s")
    motion_only = True  # poses have no clock

    def spread(self, scales: Scales) -> Array:
        """Return what makes up the whole effort in DURATION, shape (n,)."""
        return scales.wide_effort / DURATION

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold [N m/s or N/s]."""
        return limits.effort / DURATION

    def shape(self, at: Evaluation) -> Array:
        """Return the times, shape (k, n)."""
        return np.broadcast_to(at.samples.elapsed[:, None], at.speed.shape)
