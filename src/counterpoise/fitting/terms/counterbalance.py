"""A counterweight or a spring balancer at a rotary joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...foundation import Array
from ..term import JointTerm, registered

if TYPE_CHECKING:
    from ..effort_model import Evaluation


@registered
class CounterbalanceTerm(JointTerm):
    """a cos q + b sin q."""

    name = "counterbalance"
    number = 9
    label = "counterbalances"
    summary = "a counterweight or spring balancer, of rotary joints"
    quantities = ("cosine", "sine")
    acts_at_rest = True
    follows_position = True
    lasting = True
    rotary_only = True
    tried = True

    def shapes(self, at: Evaluation) -> tuple[Array, ...]:
        """Return cosine and sine of the measured positions, shapes (k, n)."""
        return np.cos(at.samples.q), np.sin(at.samples.q)
