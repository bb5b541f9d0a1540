"""The error of a joint's zero."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import ArmLimits, EffortTerm, RigidBody, Scales, registered

if TYPE_CHECKING:
    from ..effort_model import EffortModel, Evaluation


STEP = 1e-5
"""Change of a joint's position for a central difference [rad or m]: its error is 1e-10 of the torque."""
ZERO_STD = 0.05
"""Standard deviation of a joint's zero [rad or m]."""


@registered
class ZeroTerm(EffortTerm):
    """z: the true position is the measured one + z."""

    name = "zero"
    number = 8
    label = "errors of the joints' zeros"
    summary = "the error of the joint's zero position"
    units = ("rad", "m")
    adjusts = True
    in_effort_unit = False
    acts_at_rest = True

    def spread(self, scales: Scales) -> Array:
        """Return ZERO_STD, shape (n,)."""
        return np.full(len(scales.effort), ZERO_STD)

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold [rad or m]."""
        return limits.length

    def adjusted(self, body: RigidBody, model: EffortModel, values: Array) -> RigidBody:
        """Return the rigid bodies at the true positions."""
        shift = body.shift.copy()
        shift[model.joints_of(self.name)] += values
        return replace(body, shift=shift)

    def columns(self, at: Evaluation) -> Array:
        """Return the rigid-body efforts' derivatives by the positions."""
        joints = at.model.joints_of(self.name)
        columns = np.zeros((*at.torques.shape, len(joints)))
        for place, joint in enumerate(joints):
            step = STEP * np.eye(at.model.robot.n)[joint]
            change = at.regressor_at(at.q + step) - at.regressor_at(at.q - step)
            columns[:, :, place] = at.gain * ((change[:, at.model.active] @ at.bodies) / (2.0 * STEP))
        return columns
