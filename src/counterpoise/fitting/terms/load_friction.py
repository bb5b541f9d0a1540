"""Friction that grows with the load: what gears lose of what they transmit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import ArmLimits, DryFrictionTerm, Scales, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation

FRACTION_STD = 0.5
"""Standard deviation of the fraction that is lost. Assumed: gears that lose more than half hardly turn backwards."""
MOST_FRACTION = 10.0
"""A file's fraction is at most this."""


@registered
class LoadFrictionTerm(DryFrictionTerm):
    """μ |τ_load| tanh(u/v₀), with τ_load what the actuator transmits to the links, by the present estimate.

    The load is taken as it is known: its own derivatives are left out, so that every pass of a fit corrects it.
    """

    name = "load_friction"
    number = 11
    label = "friction"
    summary = "friction that grows with the load, as a fraction of it"
    units = ("", "")
    in_effort_unit = False

    def spread(self, scales: Scales) -> Array:
        """Return FRACTION_STD, shape (n,)."""
        return np.full(len(scales.effort), FRACTION_STD)

    def most(self, limits: ArmLimits) -> float:
        """Return the largest value that a file may hold."""
        return MOST_FRACTION

    def magnitude(self, at: Evaluation) -> Array:
        """Return the sizes of the loads, shape (k, n)."""
        return np.abs(at.transmitted)
