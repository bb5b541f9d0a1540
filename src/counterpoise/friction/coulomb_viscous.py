"""Dry friction plus viscous friction: the law that calibrations fit first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from .law import velocities
from .parameters import JointParameters, joint_values


@dataclass(frozen=True, slots=True, eq=False)
class CoulombViscous(JointParameters):
    """f = F_c sgn(q̇) + F_v q̇.

    Attributes:
        coulomb: F_c ≥ 0 [N m or N], shape (n,), or one number for all joints.
        viscous: F_v ≥ 0 [N m s/rad or N s/m], shape (n,), or one number for all joints.
    """

    coulomb: Array
    viscous: Array

    def __init__(self, coulomb: npt.ArrayLike, viscous: npt.ArrayLike = 0.0) -> None:
        """Check and store as arrays."""
        self._store(
            {
                "coulomb": joint_values(coulomb, "coulomb", least=0.0),
                "viscous": joint_values(viscous, "viscous", least=0.0),
            }
        )

    def torque(self, dq: npt.ArrayLike) -> Array:
        """Return the friction at the velocities dq, shape (n,) or (k, n) [N m or N]."""
        v = velocities(dq, self.n)
        return np.asarray(self.coulomb * np.sign(v) + self.viscous * v)
