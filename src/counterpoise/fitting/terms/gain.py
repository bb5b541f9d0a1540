"""Effort per torque of every joint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import ArmLimits, JointTerm, RigidBody, Scales, registered

if TYPE_CHECKING:
    from ..effort_model import EffortModel, Evaluation


GAIN_SHARE = 1.0
"""Standard deviation of a gain, as a share of its first guess: it does not matter where an effort shows the weight, and
keeps the gain of a joint that carries none from running away."""
MOST_GAIN = 1e3
"""A file's gain lies between this and its inverse."""


@registered
class GainTerm(JointTerm):
    """κ, e.g. in A/(N m): separable from the masses only by runs with a weighed load."""

    name = "gain"
    number = 7
    label = "gains"
    summary = "effort per torque; needs a run with a weighed load"
    units = ("per N m", "per N")
    adjusts = True
    scales_efforts = True
    in_effort_unit = False

    def start(self, model: EffortModel) -> Array:
        """Return 1."""
        return np.ones(len(self.names(model)))

    def deviations(self, model: EffortModel, scales: Scales, start: Array) -> Array:
        """Return GAIN_SHARE of the first guess."""
        return np.asarray(GAIN_SHARE * np.abs(start))

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold."""
        return MOST_GAIN

    def adjusted(self, body: RigidBody, model: EffortModel, values: Array) -> RigidBody:
        """Return the rigid bodies' efforts with these gains."""
        gain = body.gain.copy()
        gain[model.joints_of(self.name)] = values
        return replace(body, gain=gain)

    def shapes(self, at: Evaluation) -> tuple[Array, ...]:
        """Return the rigid-body torques, shape (k, n)."""
        torques = np.zeros(at.speed.shape)
        torques[:, at.model.active] = at.torques
        return (torques,)
