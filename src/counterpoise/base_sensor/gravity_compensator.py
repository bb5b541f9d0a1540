"""The gravity compensator, the first of the patent's two stages: base wrench in, dynamic wrench out."""

from __future__ import annotations

from ..description.frozen import Array
from .gravity_wrench import GravityWrench


class GravityCompensator:
    """Subtracts the gravity wrench: w_d = w − w_g(q) ([Patent], claim 2; [Morel2000], eq. (12), sign corrected).

    Args:
        generator: What generates w_g.
    """

    def __init__(self, generator: GravityWrench) -> None:
        """Keep the generator."""
        self.generator = generator

    def dynamic_wrench(self, q: Array, wrench: Array) -> Array:
        """Return w_d [N, N m] on the robot, base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
            wrench: w, same frame, shape (6,) or (k, 6).
        """
        return wrench - self.generator.wrench(q)
