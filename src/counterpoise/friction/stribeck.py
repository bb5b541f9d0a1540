"""Dry friction that drops from its static to its sliding level, plus viscous friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..errors import InputError
from .law import velocities
from .parameters import JointParameters, joint_values


@dataclass(frozen=True, slots=True, eq=False)
class Stribeck(JointParameters):
    """f = [F_c + (F_s − F_c) exp(−|q̇/v_s|^δ)] sgn(q̇) + F_v q̇.

    Attributes:
        coulomb: Sliding level F_c ≥ 0 [N m or N], shape (n,), or one number for all joints.
        static: Level F_s ≥ F_c that the friction reaches as q̇ → 0 [N m or N].
        stribeck_velocity: v_s > 0 [rad/s or m/s].
        viscous: F_v ≥ 0 [N m s/rad or N s/m].
        exponent: δ > 0; 2 is a Gaussian, 1 an exponential.
    """

    coulomb: Array
    static: Array
    stribeck_velocity: Array
    viscous: Array
    exponent: Array

    def __init__(
        self,
        coulomb: npt.ArrayLike,
        static: npt.ArrayLike,
        stribeck_velocity: npt.ArrayLike,
        viscous: npt.ArrayLike = 0.0,
        exponent: npt.ArrayLike = 2.0,
    ) -> None:
        """Check and store as arrays."""
        parameters = {
            "coulomb": joint_values(coulomb, "coulomb", least=0.0),
            "static": joint_values(static, "static", least=0.0),
            "stribeck_velocity": joint_values(stribeck_velocity, "stribeck_velocity", above=0.0),
            "viscous": joint_values(viscous, "viscous", least=0.0),
            "exponent": joint_values(exponent, "exponent", above=0.0, most=10.0),
        }
        self._store(parameters)
        refuse_static_below_coulomb(self.coulomb, self.static)

    def level(self, dq: npt.ArrayLike) -> Array:
        """Return the dry friction at the velocities dq, never negative [N m or N]; the static level where dq is 0."""
        v = np.abs(velocities(dq, self.n))
        fade = np.exp(-((v / self.stribeck_velocity) ** self.exponent))
        return np.asarray(self.coulomb + (self.static - self.coulomb) * fade)

    def torque(self, dq: npt.ArrayLike) -> Array:
        """Return the friction at the velocities dq, shape (n,) or (k, n) [N m or N]."""
        v = velocities(dq, self.n)
        return np.asarray(self.level(v) * np.sign(v) + self.viscous * v)


def refuse_static_below_coulomb(coulomb: Array, static: Array) -> None:
    """Raise InputError where the static level lies below the sliding one."""
    low = np.argwhere(np.atleast_1d(static < coulomb))
    if low.size:
        at = int(low[0, 0])
        pair = [float(np.broadcast_to(array, (max(coulomb.size, static.size),))[at]) for array in (static, coulomb)]
        raise InputError(f"static[{at}] is {pair[0]}, below coulomb[{at}] = {pair[1]}; expected at least that")
