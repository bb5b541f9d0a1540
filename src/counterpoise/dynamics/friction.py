"""Friction laws of the joints in steady sliding: dry plus viscous friction, by direction, and with Stribeck effect.

Sign: the torque f of M q̈ + C q̇ + g + f = τ. It has the sign of the velocity, so that −f acts on the joint.

``FrictionLaw`` is what every law offers. ``CoulombViscous``, dry plus viscous friction, is the law that calibrations
fit first; ``Asymmetric`` has a law for each direction of motion; with ``Stribeck`` dry friction drops from its static
to its sliding level. Parameters are per joint: ``joint_values`` makes them read-only arrays, and its errors name the
entry at fault.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, frozen

MAX_VALUE = 1e12
"""Largest magnitude accepted for a parameter: beyond it a unit was mistaken."""


def joint_values(
    value: npt.ArrayLike,
    name: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    may_be_infinite: bool = False,
) -> Array:
    """Return one number for all joints, or one per joint, as a read-only array of shape (1,) or (n,).

    Args:
        value: A number or a sequence of numbers.
        name: What the value is called, for messages.
        least: Smallest value accepted.
        most: Largest value accepted.
        above: Bound that every value must exceed.
        may_be_infinite: Accept +inf, where it stands for "none" or "rigid".

    Raises:
        InputError: Not numbers, not one-dimensional, empty, NaN, or outside the bounds.
    """
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a number or one number per joint, got {value!r}") from error
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}; expected a number or one number per joint")
    top = math.inf if may_be_infinite else min(most, MAX_VALUE)
    good = (array >= max(least, -MAX_VALUE)) & (array > above) & (array <= top)
    if not good.all():
        at = int(np.argmin(good))
        where = f"[{at}]" if array.size > 1 else ""
        raise InputError(f"{name}{where} is {array[at]}; expected a number {_bounds(least, most, above)}")
    return frozen(array)


class JointParameters:
    """A frozen set of per-joint parameters, each of shape (n,), or (1,) where one number serves all joints."""

    __slots__: tuple[str, ...] = ()

    def _store(self, parameters: Mapping[str, Array]) -> None:
        """Set the attributes, once.

        Raises:
            InputError: Two of them have different numbers of joints.
        """
        count, first = 1, ""
        for name, array in parameters.items():
            if array.size not in (1, count) and count > 1:
                raise InputError(f"{name} has {array.size} entries and {first} has {count}; expected the same joints")
            if array.size > count:
                count, first = array.size, name
            object.__setattr__(self, name, array)

    @property
    def n(self) -> int:
        """Number of joints; 1 where one number serves all."""
        return max(int(getattr(self, name).size) for name in self.__slots__)


def for_joints(array: Array, name: str, joints: Sequence[str]) -> Array:
    """Return the array with one entry per joint, shape (n,), repeating a single number.

    Raises:
        InputError: It has another number of entries than the robot has joints.
    """
    if array.size not in (1, len(joints)):
        raise InputError(
            f"{name} has {array.size} entries; expected 1 or {len(joints)}, one each for {', '.join(joints)}"
        )
    return frozen(np.broadcast_to(array, (len(joints),)))


def _bounds(least: float, most: float, above: float) -> str:
    low = f"above {above:g}" if above > least else f"of at least {least:g}" if least > -math.inf else ""
    high = f"of at most {most:g}" if most < math.inf else ""
    return " and ".join(part for part in (low, high) if part) or f"within ±{MAX_VALUE:g}"


@runtime_checkable
class FrictionLaw(Protocol):
    """Friction in steady sliding."""

    def torque(self, dq: npt.ArrayLike) -> Array:
        """Return the friction at the velocities dq, shape (n,) or (k, n) [N m or N]; 0 where dq is 0.

        Args:
            dq: Joint velocities [rad/s or m/s], shape (n,) or (k, n).
        """
        ...


def velocities(dq: npt.ArrayLike, n: int) -> Array:
    """Return dq as a float64 array whose last axis fits a law for n joints (n = 1 fits any).

    Raises:
        InputError: Not numbers, or another number of joints.
    """
    try:
        array = np.asarray(dq, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"dq must be velocities, got {dq!r}") from error
    if n > 1 and (array.ndim not in (1, 2) or array.shape[-1] != n):
        raise InputError(f"dq has shape {array.shape}; expected ({n},) or (k, {n})")
    return array


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


@dataclass(frozen=True, slots=True, eq=False)
class Asymmetric:
    """f = positive.torque(q̇) where q̇ > 0, negative.torque(q̇) where q̇ < 0.

    Attributes:
        positive: Law for motion in the positive direction.
        negative: Law for motion in the negative direction; symmetric itself, so it is called with q̇ < 0 as it is.
    """

    positive: FrictionLaw
    negative: FrictionLaw

    def __post_init__(self) -> None:
        """Check the laws."""
        for name in self.__slots__:
            if not isinstance(getattr(self, name), FrictionLaw):
                raise InputError(f"{name} must be a friction law with torque(dq), got {getattr(self, name)!r}")

    def torque(self, dq: npt.ArrayLike) -> Array:
        """Return the friction at the velocities dq, shape (n,) or (k, n) [N m or N]."""
        up, down = self.positive.torque(dq), self.negative.torque(dq)
        return np.asarray(np.where(np.asarray(dq, dtype=np.float64) < 0.0, down, up))


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
