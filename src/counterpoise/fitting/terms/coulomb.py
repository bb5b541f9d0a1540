"""Coulomb friction of every actuator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import DryFrictionTerm, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation


@registered
class CoulombTerm(DryFrictionTerm):
    """F_c tanh(u/v₀), with u the actuator's speed."""

    name = "coulomb"
    number = 3
    label = "friction"
    summary = "friction of a constant size against the motion"

    def magnitude(self, at: Evaluation) -> Array:
        """Return 1, shape (k, n)."""
        return np.ones_like(at.speed)
