r"""Dry friction with memory: the LuGre law ([Canudas1995]), and the Dahl law, its limit in slow motion ([Dahl1968]).

**LuGre**: dry friction as the bending of bristles, with presliding, Stribeck effect and memory.

.. math::

    \dot z = v - \frac{\sigma_0 |v|}{g(v)} z, \qquad
    f = \sigma_0 z + \sigma_1 \dot z + \sigma_2 v, \qquad
    g(v) = F_c + (F_s - F_c)\, e^{-|v / v_s|^\delta}

Three variants widen g: other levels for v < 0 (asymmetric), a part that grows with the torque the gear transmits, and
levels and viscosity that depend on the temperature,

.. math::

    g(v, \tau_g, T) = k_c(T) \left[ F_c^\pm + (F_s^\pm - F_c^\pm)\, e^{-|v / v_s|^\delta} \right] + c\, |\tau_g|, \qquad
    k_c = 1 + a_c (T - T_r), \qquad \sigma_2(T) = \sigma_2^\pm e^{-a_v (T - T_r)}

Here are the parameters and the steady-state curve; :mod:`counterpoise.plants` steps the bristles in time.

**Dahl**: dry friction along a displacement, without rates; what LuGre friction is in slow motion.

.. math::

    \frac{\mathrm d f}{\mathrm d x} = \frac{F_\pm - s f}{x_0}, \qquad s = \operatorname{sgn} \mathrm d x

After a reversal friction passes from one level to the other within a few x_0: the presliding displacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array
from .friction import JointParameters, joint_values, refuse_static_below_coulomb, velocities


@dataclass(frozen=True, slots=True)
class Dahl:
    """Friction of one joint in slow motion.

    Attributes:
        forward: Level F₊ ≥ 0 of a joint that moves forwards [N m or N].
        backward: Level F₋ ≥ 0 of one that moves backwards [N m or N].
        presliding: x_0 > 0 [rad or m].
    """

    forward: float
    backward: float
    presliding: float

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for name in ("forward", "backward"):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise InputError(f"{name} is {value!r}; expected a friction level from 0")
        if not 0.0 < self.presliding < math.inf:
            raise InputError(f"presliding is {self.presliding!r}; expected a displacement above 0")

    def moved(self, friction: float, displacement: float) -> float:
        """Return the friction after a displacement in one direction, exactly.

        Args:
            friction: Before it, along the joint's positive direction as the drive must overcome it [N m or N].
            displacement: How far the joint moves [rad or m].
        """
        if displacement == 0.0:
            return friction
        target = self.forward if displacement > 0.0 else -self.backward
        return target + (friction - target) * math.exp(-abs(displacement) / self.presliding)

    def along(self, path: Array, start: float = 0.0) -> Array:
        """Return the friction at each point of a path [N m or N], shape (k,).

        Args:
            path: Positions in their order [rad or m], shape (k,).
            start: Friction at the first.
        """
        found = np.empty(len(path))
        found[0] = friction = start
        for place, step in enumerate(np.diff(path).tolist(), start=1):
            found[place] = friction = self.moved(friction, step)
        return found


LEAST_TEMPERATURE_FACTOR = 0.05
"""k_c never falls below this: the linear dependence on temperature is local, and dry friction never vanishes."""


@dataclass(frozen=True, slots=True, eq=False)
class LuGre(JointParameters):
    """Parameters of the LuGre law, each of shape (n,) or (1,) for all joints alike; link side, [N m, rad] or [N, m].

    Attributes:
        coulomb: Sliding level F_c⁺ ≥ 0 for v > 0 [N m].
        static: Breakaway level F_s⁺ ≥ F_c⁺ for v > 0 [N m].
        coulomb_negative: The same for v < 0 [N m].
        static_negative: The same for v < 0 [N m].
        stribeck_velocity: v_s > 0 [rad/s].
        exponent: δ > 0.
        stiffness: Bristle stiffness σ0 > 0 [N m/rad]; F_s / σ0 is the scale of the presliding displacement.
        damping: Bristle damping σ1 ≥ 0 [N m s/rad].
        viscous: σ2⁺ ≥ 0 for v > 0 [N m s/rad].
        viscous_negative: The same for v < 0 [N m s/rad].
        load: c ≥ 0, growth of g with the torque that the gear transmits [N m per N m].
        coulomb_per_kelvin: a_c, relative change of both levels [1/K]; negative where friction falls with warmth.
        viscous_per_kelvin: a_v, rate at which the viscosity falls [1/K].
        reference_temperature: T_r at which the other numbers hold [°C].
    """

    coulomb: Annotated[Array, "N m"]
    static: Annotated[Array, "N m"]
    coulomb_negative: Annotated[Array, "N m"]
    static_negative: Annotated[Array, "N m"]
    stribeck_velocity: Annotated[Array, "rad/s"]
    exponent: Array
    stiffness: Annotated[Array, "N m/rad"]
    damping: Annotated[Array, "N m s/rad"]
    viscous: Annotated[Array, "N m s/rad"]
    viscous_negative: Annotated[Array, "N m s/rad"]
    load: Array
    coulomb_per_kelvin: Annotated[Array, "1/K"]
    viscous_per_kelvin: Annotated[Array, "1/K"]
    reference_temperature: Annotated[Array, "°C"]

    def __init__(
        self,
        coulomb: npt.ArrayLike,
        static: npt.ArrayLike | None = None,
        *,
        stiffness: npt.ArrayLike,
        stribeck_velocity: npt.ArrayLike = 0.05,
        exponent: npt.ArrayLike = 2.0,
        damping: npt.ArrayLike = 0.0,
        viscous: npt.ArrayLike = 0.0,
        coulomb_negative: npt.ArrayLike | None = None,
        static_negative: npt.ArrayLike | None = None,
        viscous_negative: npt.ArrayLike | None = None,
        load: npt.ArrayLike = 0.0,
        coulomb_per_kelvin: npt.ArrayLike = 0.0,
        viscous_per_kelvin: npt.ArrayLike = 0.0,
        reference_temperature: npt.ArrayLike = 20.0,
    ) -> None:
        """Check and store; static=None means no Stribeck effect, a negative side left out means symmetric."""
        positive = {
            "coulomb": joint_values(coulomb, "coulomb", least=0.0),
            "static": joint_values(coulomb if static is None else static, "static", least=0.0),
            "viscous": joint_values(viscous, "viscous", least=0.0),
        }
        given = {"coulomb": coulomb_negative, "static": static_negative, "viscous": viscous_negative}
        if coulomb_negative is not None and static_negative is None:
            given["static"] = positive["static"] if static is not None else coulomb_negative
        negative = {
            f"{name}_negative": positive[name] if value is None else joint_values(value, f"{name}_negative", least=0.0)
            for name, value in given.items()
        }
        parameters = {
            **positive,
            **negative,
            "stribeck_velocity": joint_values(stribeck_velocity, "stribeck_velocity", above=0.0),
            "exponent": joint_values(exponent, "exponent", above=0.0, most=10.0),
            "stiffness": joint_values(stiffness, "stiffness", above=0.0),
            "damping": joint_values(damping, "damping", least=0.0),
            "load": joint_values(load, "load", least=0.0, most=0.9),
            "coulomb_per_kelvin": joint_values(coulomb_per_kelvin, "coulomb_per_kelvin", least=-1.0, most=1.0),
            "viscous_per_kelvin": joint_values(viscous_per_kelvin, "viscous_per_kelvin", least=-1.0, most=1.0),
            "reference_temperature": joint_values(
                reference_temperature, "reference_temperature", least=-273.15, most=1e3
            ),
        }
        self._store(parameters)
        refuse_static_below_coulomb(self.coulomb, self.static)
        refuse_static_below_coulomb(self.coulomb_negative, self.static_negative)

    @property
    def presliding(self) -> Array:
        """Scale of the presliding displacement, F_s⁺ / σ0 [rad or m]."""
        return self.static / self.stiffness

    def level(
        self, dq: npt.ArrayLike, *, gear_torque: npt.ArrayLike = 0.0, temperature: npt.ArrayLike | None = None
    ) -> Array:
        """Return g, the dry friction that steady sliding at dq reaches, never negative [N m or N].

        Args:
            dq: Joint velocities [rad/s or m/s], shape (n,) or (k, n); 0 counts as the positive direction.
            gear_torque: Torque that the gear transmits [N m or N], same shape.
            temperature: Temperature of the drive [°C]; None for the reference temperature.
        """
        v = velocities(dq, self.n)
        backward = v < 0.0
        sliding = np.where(backward, self.coulomb_negative, self.coulomb)
        breakaway = np.where(backward, self.static_negative, self.static)
        fade = np.exp(-((np.abs(v) / self.stribeck_velocity) ** self.exponent))
        warm = np.maximum(LEAST_TEMPERATURE_FACTOR, 1.0 + self.coulomb_per_kelvin * self._warmth(temperature))
        load = self.load * np.abs(np.asarray(gear_torque, dtype=np.float64))
        return np.asarray(warm * (sliding + (breakaway - sliding) * fade) + load)

    def torque(
        self, dq: npt.ArrayLike, *, gear_torque: npt.ArrayLike = 0.0, temperature: npt.ArrayLike | None = None
    ) -> Array:
        """Return the friction in steady sliding at dq, shape (n,) or (k, n) [N m or N]; arguments as for level()."""
        v = velocities(dq, self.n)
        thin = np.exp(-self.viscous_per_kelvin * self._warmth(temperature))
        viscous = np.where(v < 0.0, self.viscous_negative, self.viscous) * thin
        return np.asarray(self.level(v, gear_torque=gear_torque, temperature=temperature) * np.sign(v) + viscous * v)

    def _warmth(self, temperature: npt.ArrayLike | None) -> Array:
        if temperature is None:
            return np.zeros(1)
        degrees = np.asarray(temperature, dtype=np.float64)
        if not np.isfinite(degrees).all():
            raise InputError(f"temperature is {temperature!r}; expected degrees Celsius")
        return np.asarray(degrees - self.reference_temperature)
