"""Friction of the certificate study: seven laws on one state of presliding.

The state z of a joint, between −1 and 1, follows the way x that the joint goes: dz/dx = (sgn ẋ − z)/x_s (Dahl). A stiff
contact (x_s of a tenth of a milliradian) is a sign; a soft one (5 to 30 mrad) is presliding with memory. At rest z
stays, so friction holds what the last motion left. The torque is z times a size that the law gives, and viscous
friction besides. A table of poses has no motion: z is the side the joint came from, and some of it has crept away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from certificate_arms import Arm, Array, Random
from certificate_paths import Motion

LAWS = ("coulomb", "asymmetric", "stribeck", "presliding", "load", "position", "large wrist")
STIFF = 1e-4
"""Way of the presliding of a stiff contact [rad or m]."""
CREEP = (0.4, 1.0)
"""Share of friction that is left when a pose of a table is noted."""


@dataclass(frozen=True, slots=True, eq=False)
class Friction:
    """A drawn law; all arrays have shape (n,).

    Attributes:
        law: One of LAWS.
        coulomb: Size at speed, without the law's own changes [N m or N].
        viscous: Per speed [N m s/rad or N s/m].
        way: x_s [rad or m].
        skew: Difference between the directions over their sum.
        breakaway: What is added at rest, as a share.
        slow: Speed over which that vanishes [rad/s or m/s].
        by_load: Per N m of load.
        ripple: Change along the way, as a share.
        waves: Waves of that per rad or m, and their phase [rad].
    """

    law: str
    coulomb: Array
    viscous: Array
    way: Array
    skew: Array
    breakaway: Array
    slow: Array
    by_load: Array
    ripple: Array
    waves: tuple[Array, Array]

    def torque(self, motion: Motion, load: Array, random: Random) -> Array:
        """Return what the drives must add for friction [N m or N], shape (k, n).

        Args:
            motion: The motion, or a table.
            load: Rigid-body torques along it [N m or N], shape (k, n).
            random: For what has crept away when a pose of a table was noted.
        """
        if motion.side is not None:
            state = motion.side * random.uniform(*CREEP, motion.q.shape)
        else:
            state = self._states(motion)
        slip = 1.0 + self.breakaway * np.exp(-((motion.dq / self.slow) ** 2))
        along = 1.0 + self.ripple * np.cos(self.waves[0] * motion.q + self.waves[1])
        size = self.coulomb * slip * along + self.by_load * np.abs(load)
        return np.asarray(size * (1.0 + self.skew * np.sign(state)) * state + self.viscous * motion.dq)

    def holding(self, q: Array, load: Array) -> Array:
        """Return what holds a joint both ways while it hardly moves, half the difference [N m or N], shape (k, n).

        What is added at rest alone (breakaway) is left out: a joint that is pushed a little loses it.

        Args:
            q: Positions [rad or m], shape (k, n).
            load: Torques at rest there [N m or N], shape (k, n).
        """
        along = 1.0 + self.ripple * np.cos(self.waves[0] * q + self.waves[1])
        return np.asarray(self.coulomb * along + self.by_load * np.abs(load))

    @property
    def common(self) -> Array:
        """What friction has in common both ways, a constant torque [N m or N], shape (n,)."""
        return np.asarray(self.coulomb * self.skew)

    def _states(self, motion: Motion) -> Array:
        """Return z along a motion, shape (k, n)."""
        steps = np.diff(motion.q, axis=0, prepend=motion.q[:1])
        left, towards = np.exp(-np.abs(steps) / self.way), np.sign(steps)
        state = np.zeros(steps.shape)
        z = np.zeros(steps.shape[1])
        for row in range(len(steps)):
            z = towards[row] + (z - towards[row]) * left[row]
            state[row] = z
        return state


def draw_friction(law: str, arm: Arm, gravity: Array, random: Random) -> Friction:
    """Draw a law's numbers.

    Args:
        law: One of LAWS.
        arm: The arm: friction is 1 to 8 % of a joint's effort limit.
        gravity: Gravity torques over the workspace [N m or N], shape (m, n).
        random: Random numbers.
    """
    n = len(arm.moving)
    nothing, scale = np.zeros(n), np.where(arm.turns, 1.0, 0.3)
    coulomb = arm.effort * np.exp(random.uniform(np.log(0.01), np.log(0.08), n))
    if law == "large wrist":
        wrist = np.arange(n) >= n - max(1, n // 2)
        weight = np.sqrt(np.mean(gravity**2, axis=0))
        coulomb = np.where(wrist, np.maximum(coulomb, weight * random.uniform(1.0, 3.0, n)), coulomb)
    slipping = law in ("stribeck", "presliding")
    return Friction(
        law=law,
        coulomb=coulomb,
        viscous=coulomb * random.uniform(0.2, 1.5, n) / scale,
        way=scale * random.uniform(0.005, 0.03, n) if law == "presliding" else np.full(n, STIFF),
        skew=random.uniform(0.15, 0.5, n) * random.choice([-1.0, 1.0], n) if law == "asymmetric" else nothing,
        breakaway=random.uniform(0.3, 1.0, n) if slipping else nothing,
        slow=scale * np.exp(random.uniform(np.log(0.02), np.log(0.2), n)),
        by_load=random.uniform(0.03, 0.12, n) if law == "load" else nothing,
        ripple=random.uniform(0.2, 0.5, n) if law == "position" else nothing,
        waves=(random.uniform(1.0, 4.0, n) / scale, random.uniform(0.0, 2.0 * np.pi, n)),
    )
