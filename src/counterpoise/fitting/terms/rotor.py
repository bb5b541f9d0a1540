"""The inertia of every actuator's rotor, reflected to the link side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import ActuatorTerm, ArmLimits, Scales, registered

if TYPE_CHECKING:
    from ..effort_model import EffortModel, Evaluation


@registered
class RotorTerm(ActuatorTerm):
    """J u̇, with u̇ the actuator's acceleration. A rotor may be as heavy as what it drives: gears are chosen so."""

    name = "rotor"
    number = 5
    label = "rotor inertias"
    summary = "the inertia of the rotor behind its gear"
    units = ("kg m²", "kg")
    motion_only = True
    lasting = True

    def start(self, model: EffortModel) -> Array:
        """Return the description's rotors."""
        return model.robot.rotor_inertia[model.joints_of(self.name)]

    def spread(self, scales: Scales) -> Array:
        """Return the inertia that every joint drives, shape (n,)."""
        return np.maximum(scales.inertia, 1e-6)

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold [kg m² or kg]."""
        return limits.inertia

    def shape(self, at: Evaluation) -> Array:
        """Return the actuators' accelerations, shape (k, n)."""
        return at.acceleration
