r"""Friction of one joint as a curve over its velocity, with a band, and the numbers of the law behind it.

.. math:: f(\dot q, τ) = \big[ F_c + (F_s - F_c) e^{-(\dot q / v_s)^2} + c\,|τ| \big] \operatorname{sgn}(\dot q)
          + F_v^{\pm} \dot q + o

with τ the torque that the joint transmits to its link. o is a constant: a friction that differs between the two
directions, or a torque channel with an offset. In sliding the two are the same signal, so F_c ± o are the levels of the
two directions and nobody can say which part of o is the channel's.

Sign as everywhere (dynamics/friction.py): f has the sign of the velocity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...dynamics import Asymmetric, CoulombViscous, FrictionLaw, Stribeck
from ...foundation import Array

NAN = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class FrictionCurve:
    """Friction over velocity at the mean load of the recording, gaps around zero included.

    Attributes:
        velocity: Velocities that the joint visited, from the lowest to the highest [rad/s or m/s], shape (m,); those
            too near to zero to be told from presliding are left out.
        friction: f [N m or N], shape (m,).
        std: Its standard deviation, the gain's included, shape (m,).
        load: |τ| that it holds for [N m or N].
    """

    velocity: Array
    friction: Array
    std: Array
    load: float

    @property
    def lower(self) -> Array:
        """Lower end of the 95 % band [N m or N], shape (m,)."""
        return self.friction - 2.0 * self.std

    @property
    def upper(self) -> Array:
        """Upper end of the 95 % band [N m or N], shape (m,)."""
        return self.friction + 2.0 * self.std


@dataclass(frozen=True, slots=True, eq=False)
class JointFriction:
    """What plate and motor torque together tell of one joint.

    A number that the data do not ask for or cannot tell is NaN. Where ``determined`` is False all of them are, and the
    curve is None.

    Attributes:
        name: The joint.
        determined: Whether the friction is known well enough to be printed.
        reason: Why not, in one sentence; "" otherwise.
        terms: Terms of the law that the data ask for, of "coulomb", "viscous", "asymmetry", "stribeck", "load".
        gain: k: true torque per torque that the log states; 1 for a perfect torque constant.
        gain_std: Its standard deviation.
        gain_determined: Whether the data determine the gain; else it is 1 and friction is in the log's own unit.
        rotor_inertia: J_m at the link side [kg m² or kg]; NaN where the gain is assumed.
        rotor_inertia_std: Its standard deviation.
        coulomb: Level F_c, mean of both directions [N m or N].
        coulomb_std: Its standard deviation.
        offset: o, half the difference of the two directions' levels F_c ± o; a torque channel's offset looks the same
            [N m or N].
        offset_std: Its standard deviation.
        viscous_positive: F_v for motion upwards [N m s/rad or N s/m].
        viscous_positive_std: Its standard deviation.
        viscous_negative: F_v for motion downwards.
        viscous_negative_std: Its standard deviation.
        breakaway: F_s, mean of both directions, extrapolated to zero velocity [N m or N]; NaN without Stribeck effect.
        breakaway_std: Its standard deviation, v_s taken as known.
        stribeck_velocity: v_s [rad/s or m/s]; NaN without Stribeck effect.
        load: c, growth of friction with the transmitted torque, without unit.
        load_std: Its standard deviation.
        curve: The curve, or None.
        residual_rms: What is left of the motor torque, link-side units, root mean square [N m or N].
        plate_std: Standard deviation of the plate's torque of this joint about the fitted model's [N m or N].
        travel: Lowest and highest velocity that were fitted, (low, high) [rad/s or m/s].
    """

    name: str
    determined: bool
    reason: str = ""
    terms: tuple[str, ...] = ()
    gain: float = NAN
    gain_std: float = NAN
    gain_determined: bool = False
    rotor_inertia: float = NAN
    rotor_inertia_std: float = NAN
    coulomb: float = NAN
    coulomb_std: float = NAN
    offset: float = NAN
    offset_std: float = NAN
    viscous_positive: float = NAN
    viscous_positive_std: float = NAN
    viscous_negative: float = NAN
    viscous_negative_std: float = NAN
    breakaway: float = NAN
    breakaway_std: float = NAN
    stribeck_velocity: float = NAN
    load: float = NAN
    load_std: float = NAN
    curve: FrictionCurve | None = None
    residual_rms: float = NAN
    plate_std: float = NAN
    travel: tuple[float, float] = (NAN, NAN)

    def torque(self, dq: npt.ArrayLike, load: npt.ArrayLike = 0.0) -> Array:
        """Return f [N m or N] at velocities dq, o included where the joint moves; NaN where it is not determined.

        Args:
            dq: Velocities [rad/s or m/s], any shape.
            load: Torque that the joint transmits [N m or N], same shape or one number.
        """
        v = np.asarray(dq, dtype=np.float64)
        if not self.determined:
            return np.full(v.shape, np.nan)
        zero = {name: np.nan_to_num(getattr(self, name)) for name in ("coulomb", "offset", "load")}
        level = zero["coulomb"] + zero["load"] * np.abs(np.asarray(load, dtype=np.float64))
        if np.isfinite(self.stribeck_velocity):
            level = level + (self.breakaway - self.coulomb) * np.exp(-((v / self.stribeck_velocity) ** 2))
        slope = np.where(v < 0.0, np.nan_to_num(self.viscous_negative), np.nan_to_num(self.viscous_positive))
        return np.asarray(np.where(v == 0.0, 0.0, level * np.sign(v) + slope * v + zero["offset"]))

    def law(self) -> FrictionLaw | None:
        """Return the friction as a law of the friction room, without its load dependence; None where not determined.

        Levels and slopes that came out below zero, by less than their errors, are zero there.
        """
        if not self.determined:
            return None
        sides: list[FrictionLaw] = []
        for sign, viscous in ((1.0, self.viscous_positive), (-1.0, self.viscous_negative)):
            level = max(float(np.nan_to_num(self.coulomb) + sign * np.nan_to_num(self.offset)), 0.0)
            slope = max(float(np.nan_to_num(viscous)), 0.0)
            rise = self.breakaway - self.coulomb
            if np.isfinite(self.stribeck_velocity) and rise > 0.0:
                sides.append(Stribeck(level, level + rise, self.stribeck_velocity, slope))
            else:
                sides.append(CoulombViscous(level, slope))
        return Asymmetric(sides[0], sides[1])

    def sentence(self, unit: str = "N m") -> str:
        """Return what is known in one sentence.

        Args:
            unit: Unit of the joint's torque.
        """
        if not self.determined:
            return f"{self.name}: no information; {self.reason}"
        words = [f"friction {self.coulomb:.3g} ± {self.coulomb_std:.2g} {unit}"] if "coulomb" in self.terms else []
        if "viscous" in self.terms:
            speed = "rad/s" if unit == "N m" else "m/s"
            if "asymmetry" in self.terms:
                words.append(
                    f"{self.viscous_positive:.3g} upwards and {self.viscous_negative:.3g} downwards per {speed}"
                )
            else:
                words.append(f"{self.viscous_positive:.3g} ± {self.viscous_positive_std:.2g} {unit} per {speed}")
        if "stribeck" in self.terms:
            words.append(f"{self.breakaway:.3g} {unit} at breakaway, falling over {self.stribeck_velocity:.2g}")
        if "load" in self.terms:
            words.append(f"{self.load:.1%} ± {self.load_std:.1%} of the transmitted torque")
        if not words:
            words = ["no friction beyond its band"]
        gain = f"torque gain {self.gain:.3f} ± {self.gain_std:.3f}"
        if not self.gain_determined:
            gain = "torque gain not identifiable from these data, taken as 1"
        return f"{self.name}: {'; '.join(words)}; {gain}"
