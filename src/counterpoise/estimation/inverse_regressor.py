r"""The inverse gravity regressor of [Jo], as corrected, and the transpose-regressor law that it argues against.

[Jo] writes g = Z(q) s with Z block diagonal, row i of block i being w_i = −gᵀ [z_i]× [R_j], and lets

.. math:: \dot{\hat s} = Z^{+} Q\, (K_p (q_d - q) - K_d \dot q), \qquad \hat g = Z \hat s

(Q multiplies on the right of Z⁺; as printed, on its left, the sizes do not fit.) Because Z is block diagonal its
pseudo-inverse is analytic, column i being w_iᵀ/|w_i|². Row i vanishes where axis i is vertical, so |w_i| needs an
absolute threshold: below it joint i is left alone.

Blocks of s that are zero by structure (frames that joint i does not carry, the base frame) and their columns of Z are
left out, as in [Jo], Fig. 2. What remains of w_i is R_jᵀ (z_i × g) for each body j that joint i carries: the moment
columns of the gravity regressor.

At a fixed pose this is integral action with the time constant 1/Q. It learns that pose: ŝ has 3 numbers per joint and
carried body, a pose determines one of them per joint, and what is learned at one pose is no claim about another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.inputs import MAX_INPUT
from ..dynamics.kinematics import ancestors
from ..dynamics.robot import Robot
from ..dynamics.tree import REVOLUTE
from ..errors import InputError, ModelError
from .gain_bound import refuse_large_gain
from .gate import EFFORT_SHARE, UNUSABLE
from .gravity_prior import PriorChoice

THRESHOLD = 0.1
"""Least |z_i × g| for joint i to learn [m/s²]: an axis within 0.6° of the vertical tells nothing."""
HELD_SPEED = 0.3
"""Speed above which the arm is not quasi-static [rad/s]."""


class IntegratingGravity(ABC):
    """What the two laws have in common: gains, gate, and an estimate driven by the position error.

    Attributes:
        robot: The arm.
        dt: Time between two updates [s].
        q_gain: Q, diagonal [1/s], shape (n,).
        kp: K_p [N m/rad], shape (n,).
        kd: K_d [N m s/rad], shape (n,).
        learning: Whether the estimate moves; may be set. [Jo] lets it move at one pose and then keeps it.
        refused: Number of samples that were flagged, missing, too fast or saturated.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        prior: PriorChoice = "none",
        q_gain: npt.ArrayLike,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
    ) -> None:
        """Start from ŝ_0.

        Args:
            robot: The arm.
            dt: Time between two updates [s].
            prior: "none" for ŝ_0 = 0, "cad" for the description's.
            q_gain: Q [1/s], one or n; refused above half its stability bound (gain_bound.py).
            kp: K_p of the position loop [N m/rad], one or n.
            kd: K_d of the position loop [N m s/rad], one or n.

        Raises:
            InputError: A gain is not positive, Q is too large, or the prior is another one.
            ModelError: A joint is linear or mimics another.
        """
        if np.any(robot.tree.kind != REVOLUTE) or robot.tree.bodies != robot.n:
            raise ModelError(
                "this estimator is for robots whose joints all turn and none of which follows another; "
                "method='recursive' serves any robot"
            )
        if prior not in ("none", "cad"):
            given = repr(prior) if isinstance(prior, str) else f"a {type(prior).__name__}"
            raise InputError(
                f"prior is {given}; the published laws start from 'none' or 'cad', method='recursive' from others too"
            )
        self.robot, self.dt = robot, dt
        self.q_gain, self.kp, self.kd = (
            _gain(value, name, robot.n) for value, name in ((q_gain, "q_gain"), (kp, "kp"), (kd, "kd"))
        )
        refuse_large_gain(robot, self.q_gain, self.kp, self.kd)
        self.learning = True
        self.refused = 0
        # Without a limit: far more than any gravity torque, so that the estimate stays finite whatever is measured.
        limit = np.asarray(robot.effort_limit)
        self._most = EFFORT_SHARE * np.where(np.isfinite(limit), limit, MAX_INPUT)

    def update(self, q: Array, dq: Array, tau: Array | None, q_desired: Array, flags: int = 0) -> None:
        """Take in one sample.

        Args:
            q: Positions [rad], shape (n,).
            dq: Velocities [rad/s], shape (n,).
            tau: Torques of the actuators [N m], shape (n,), by which a saturated drive is told; None if not known.
            q_desired: Where the position loop wants the joints [rad], shape (n,).
            flags: What the source knows to be wrong (logs.sample.SampleFlag).
        """
        if not self.learning:
            return
        if flags & UNUSABLE or not self._endured(q, dq, tau, q_desired):
            self.refused += 1
            return
        step = self.dt * self.q_gain * (self.kp * (q_desired - q) - self.kd * dq)
        # Integral action winds up where the goal cannot be reached: no more weight than the drives can hold is learned.
        held = self.gravity(q)
        winds = (np.abs(held + step) > self._most) & (held * step > 0.0)
        self._integrate(q, np.where(winds, 0.0, np.clip(step, -self._most, self._most)))

    @abstractmethod
    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return ĝ(q) [N m], shape (n,) or (k, n)."""

    def std(self, q: npt.ArrayLike) -> Array:
        """Return infinity, in the shape of ĝ(q): this law says nothing about its error."""
        return np.full_like(self.gravity(q), np.inf)

    def novelty(self, q: npt.ArrayLike) -> float | Array:
        """Return 1, one per pose: every pose may be new to this law."""
        shape = np.shape(self.gravity(q))[:-1]
        return np.ones(shape) if shape else 1.0

    @abstractmethod
    def _integrate(self, q: Array, step: Array) -> None:
        """Move the estimate so that, as far as it can, ĝ(q) changes by ``step`` [N m], shape (n,)."""

    def _endured(self, q: Array, dq: Array, tau: Array | None, q_desired: Array) -> bool:
        """Say whether the sample is whole, the arm quasi-static and no drive saturated ("gravity-endurable")."""
        if not all(bool(np.all(np.abs(values) <= MAX_INPUT)) for values in (q, dq, q_desired)):  # false for NaN too
            return False
        if np.abs(dq).max() > HELD_SPEED:
            return False
        return tau is None or bool(np.all(np.abs(tau) < self._most))


class InverseRegressor(IntegratingGravity):
    """ŝ̇ = Z⁺ Q (K_p e − K_d q̇).

    Attributes:
        s: ŝ per joint and carried body, shape (n, n, 3) [kg m].
    """

    def __init__(self, robot: Robot, dt: float, *, prior: PriorChoice = "none", **gains: npt.ArrayLike) -> None:
        """Start from ŝ_0; see the base class for the arguments."""
        super().__init__(robot, dt, prior=prior, **gains)
        n = robot.n
        self.s = np.zeros((n, n, 3))
        if prior == "cad":
            _, described = robot.jo_decomposition(np.zeros(n))
            self.s += described.reshape(n, n + 1, 3)[:, 1:]  # without the base frame
        # |R_jᵀ w| = |w| for each of the carried bodies, so the threshold grows with their number.
        carriers = np.concatenate([ancestors(robot.tree, body) for body in range(robot.n)])
        self._least = THRESHOLD**2 * np.bincount(carriers, minlength=robot.n)

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return ĝ(q) = Z(q) ŝ [N m], shape (n,) or (k, n)."""
        return np.asarray(np.einsum("...ijc,ijc->...i", self._blocks(q), self.s))

    def _blocks(self, q: npt.ArrayLike) -> Array:
        """Return the blocks w_i, shape (n, n, 3) or (k, n, n, 3)."""
        Y = self.robot.gravity_regressor(q)
        return np.asarray(Y.reshape(*Y.shape[:-1], self.robot.n, 4)[..., 1:])

    def _integrate(self, q: Array, step: Array) -> None:
        w = self._blocks(q)
        squared = np.einsum("ijc,ijc->i", w, w)
        heard = squared > self._least
        share = np.where(heard, step / np.where(heard, squared, 1.0), 0.0)
        self.s += share[:, None, None] * w


def _gain(value: npt.ArrayLike, name: str, n: int) -> Array:
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (n,)) or not np.all(np.isfinite(given) & (given > 0.0)):
        raise InputError(f"{name} has shape {given.shape}; expected positive numbers, one or {n}")
    return np.broadcast_to(given, (n,)).copy()
