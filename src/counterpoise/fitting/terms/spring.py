"""A linear spring at a joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import JointTerm, Scales, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation


@registered
class SpringTerm(JointTerm):
    """k q; the spring's rest position is part of the offset."""

    name = "spring"
    number = 6
    label = "springs"
    summary = "a linear spring or a cable at the joint"
    units = ("N m/rad", "N/m")
    acts_at_rest = True
    follows_position = True
    lasting = True
    tried = True

    def spread(self, scales: Scales) -> Array:
        """Return what makes up the whole effort, shape (n,)."""
        return np.asarray(scales.wide_effort / np.where(scales.position > 1e-9, scales.position, 1.0))

    def shapes(self, at: Evaluation) -> tuple[Array, ...]:
        """Return the measured positions, shape (k, n)."""
        return (at.samples.q,)
