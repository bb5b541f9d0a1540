"""What is known under one assumption about the arm: a triangle before the hold at hand, one with it, one being made."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from .gravity_prior import States
from .hold import Told
from .kernel import fold, fold_torques, judge, solve
from .square_root import covariance_of, factor_of, sensitivities, standard_deviations


class Belief:
    """Knowledge of the unknowns, or of all but the friction torques, as a triangle [R z …] (square_root.py).

    Attributes:
        size: Number of unknowns, p.
        prior: The triangle before any data, shape (p, p + 1), or (p, p + 1 + n) with the torque constants' errors.
        committed: The triangle before the hold at hand.
        x: The latest estimate, shape (p,).
        left: Of each joint's torque the innovation ρ and γ, shape (2, n).
    """

    def __init__(
        self, states: States, columns: npt.NDArray[np.int64], joints: int, *, friction: bool, gains: bool
    ) -> None:
        """Start from what is known beforehand.

        Args:
            states: The unknowns.
            columns: Columns of the gravity regressor that belong to β.
            joints: Number of joints, n.
            friction: Whether friction may hold a joint; if not, the n friction torques at the end are left out.
            gains: Whether to keep account of what errors of the torque constants do.
        """
        self.size = len(states.names) if friction or states.friction_at < 0 else states.friction_at
        known = factor_of(states.mean[: self.size], states.covariance[: self.size, : self.size])
        self.prior = np.ascontiguousarray(np.hstack([known, np.zeros((self.size, joints * gains))]))
        self.committed, self._current, self._work = (self.prior.copy() for _ in range(3))
        self.x = np.array(states.mean[: self.size])
        self.left = np.vstack([np.zeros(joints), np.ones(joints)])
        self._row = np.zeros(self.prior.shape[1])
        self._columns = columns
        self._places = (states.offset_at, states.friction_at if friction else -1)
        self._sigma = Told.SIGMA if friction else Told.SIGMA_FREE
        self._learned = False

    @property
    def latest(self) -> Array:
        """The triangle with all that was learned, shaped as the prior's."""
        return self._current if self._learned else self.committed

    def begin(self, kept: float) -> None:
        """Begin to fold a hold into what was known before it, of which a share is kept."""
        np.multiply(self.committed, math.sqrt(kept), out=self._work)

    def fold(self, told: Array, regressor: Array, first: int, last: int) -> None:
        """Fold the torques of the joints from ``first`` to before ``last`` in."""
        torque, side, sigma = told[Told.TORQUE], told[Told.SIDE], told[self._sigma]
        row, places = self._row, self._places
        fold_torques(self._work, row, regressor, self._columns, torque, side, sigma, first, last, *places, self.left)

    def judged(self, told: Array) -> tuple[float, float, float]:
        """Return the largest |ρ|, the least γ and the logarithm of how probable the hold was (:func:`.judge`)."""
        return judge(self.left, told[Told.SIDE], told[self._sigma])

    def use(self) -> None:
        """Use what was folded."""
        self._current, self._work = self._work, self._current
        self._learned = True
        solve(self._current, self.x)

    def keep(self) -> None:
        """Keep what is used for good."""
        if self._learned:
            self.committed, self._current = self._current, self.committed
        self._learned = False

    def remember(self, row: int, share: float) -> None:
        """Fold one row of the prior, of which so large a share was forgotten, in again."""
        if row < self.size:
            np.multiply(self.prior[row], math.sqrt(share), out=self._row)
            fold(self.committed, self._row)

    def solve(self) -> None:
        """Bring the estimate up to date with what is committed."""
        solve(self.committed, self.x)

    def covariance(self, gain_std: float) -> Array:
        """Return the covariance, shape (p, p), with the torque constants' errors of so large a standard deviation."""
        shift = gain_std * sensitivities(self.latest)
        return covariance_of(self.latest) + shift @ shift.T

    def variances(self, regressor: Array, gain_std: float) -> Array:
        """Return the variances of Y β, shape (…, n), for Y of shape (…, n, b)."""
        shift = regressor @ (gain_std * sensitivities(self.latest)[: regressor.shape[-1]])
        return np.asarray(self.std(self.latest, regressor) ** 2 + np.sum(shift**2, axis=-1))

    def std(self, factor: Array, regressor: Array) -> Array:
        """Return the standard deviation of Y β by a triangle, were the torque constants exact, shape (…, n)."""
        rows = np.zeros((*regressor.shape[:-1], self.size))
        rows[..., : regressor.shape[-1]] = regressor
        return standard_deviations(factor, rows)
