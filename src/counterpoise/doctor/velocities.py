"""Whether recorded velocities go with the recorded positions: a change of the positions is theirs too only then."""

from __future__ import annotations

import math

import numpy as np

from ..description.frozen import Array
from ..logs.filters import increasing
from ..logs.log import Log
from .motion import RecordedMotion

ALIKE = 0.5
"""Correlation from which a velocity is its position's, up to a factor."""


def velocity_slopes(log: Log, motion: RecordedMotion) -> Array:
    """Return recorded velocity over the rate at which the recorded position changes, shape (n,).

    1 where both are in one unit and of one sign, −1 where their signs differ, 0 where they have nothing to do with each
    other, NaN where the velocity was not measured or the joint stands.

    Args:
        log: The recording.
        motion: Its points.
    """
    slopes = np.full(len(log.joint_names), np.nan)
    if log.declared.velocity_from == "position":
        return slopes
    rows = increasing(log.time)
    for joint in range(len(slopes)):
        known = rows[np.isfinite(log.dq[rows, joint])]
        change = motion.dq[:, joint]
        power = float(change @ change)
        if len(known) < 2 or power == 0.0:
            continue
        recorded = np.interp(motion.time, log.time[known], log.dq[known, joint])
        size = math.sqrt(power * float(recorded @ recorded))
        both = float(change @ recorded)
        slopes[joint] = both / power if size > 0.0 and abs(both) > ALIKE * size else 0.0
    return slopes
