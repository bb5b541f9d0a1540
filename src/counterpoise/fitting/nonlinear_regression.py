"""Least squares of a model that is not linear: Gauss–Newton steps, each of them one linear regression.

At a state with residuals r and their derivatives A by the unknowns, the step x is that of the linear model r = A x + e
(regression.py), with its noise per channel, weights and prior. The covariance of the last step is that of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from .autocorrelation import autocorrelation_times
from .column_statistics import robust_std
from .prior import Gaussian
from .regression import RANK_TOLERANCE, JointRegression, Solution, solve
from .robust import hampel_weight, huber_weight

State = TypeVar("State")


@dataclass(frozen=True, slots=True, eq=False)
class Linearised:
    """A model at a state; k rows, c channels, p unknowns.

    Attributes:
        A: Derivatives of the predictions by the step, shape (k, c, p).
        left: What the state leaves of the measurements, shape (k, c); NaN where not measured.
        weight: Relative inverse variance of each row, shape (k, c).
        sigma: Noise of each channel, shape (c,); NaN to estimate it from what is left, channel by channel.
        autocorrelation_time: Rows that count as one, shape (c,).
        prior: What is known of the step; None for nothing.
    """

    A: Array
    left: Array
    weight: Array
    sigma: Array
    autocorrelation_time: Array
    prior: Gaussian | None = None

    @classmethod
    def plain(cls, A: Array, left: Array) -> Self:
        """Return a model whose rows are all alike and independent, with noise that is not known."""
        channels = left.shape[1]
        return cls(A, left, np.ones(left.shape), np.full(channels, np.nan), np.ones(channels))

    @classmethod
    def robust(
        cls, A: Array, left: Array, *, reject: bool, least: npt.ArrayLike = 1e-9, prior: Gaussian | None = None
    ) -> Self:
        """Return a model in which outliers count less: by Huber's weight, or Hampel's to leave the worst out.

        Their size is that over a robust deviation about zero, not about the median: a channel that a step left off by a
        constant is no set of outliers. Neighbours that are alike count as one.

        Args:
            A: Derivatives, shape (k, c, p).
            left: What is left of the measurements, shape (k, c).
            reject: Whether to leave outliers out.
            least: Noise of each channel that is taken at least, shape (c,) or one number.
            prior: What is known of the step.
        """
        sigma = np.maximum(robust_std(left), least)
        size = np.abs(left) / sigma
        weight = hampel_weight(size) if reject else huber_weight(size)
        return cls(A, left, weight, sigma, autocorrelation_times(np.where(weight > 0.5, left, np.nan)), prior)

    def solution(self, tolerance: float = RANK_TOLERANCE) -> Solution:
        """Return the step and its covariance; ``tolerance`` as in ``regression.solve``."""
        regression = JointRegression(*([str(at) for at in range(size)] for size in self.A.shape[1:]))
        regression.add(self.A, self.left, self.weight)
        return solve(
            regression,
            prior=self.prior,
            sigma=None if np.isnan(self.sigma).any() else self.sigma,
            autocorrelation_time=self.autocorrelation_time,
            pooling=0.0,
            tolerance=tolerance,
        )


def gauss_newton(
    start: State,
    linearised: Callable[[State, int], Linearised],
    stepped: Callable[[State, Array, Linearised], State],
    *,
    rounds: int,
    settled: float,
    least: int = 0,
    tolerance: float = RANK_TOLERANCE,
) -> tuple[State, Solution, Linearised]:
    """Return the state of least squares, the last step's solution and what it was made of.

    Args:
        start: The state to start from.
        linearised: Returns the model at a state, in a round, counted from 0.
        stepped: Returns the state after a step (shape (p,)); it may shorten it.
        rounds: Most steps.
        settled: Largest step, in standard errors, at which it ends; what is not determined does not count.
        least: Steps that are made at least.
        tolerance: As in ``regression.solve``.
    """
    state = start
    for number in range(rounds):
        model = linearised(state, number)
        solution = model.solution(tolerance)
        state = stepped(state, solution.x, model)
        known = np.isfinite(solution.std)
        small = np.abs(solution.x[known]) <= settled * solution.std[known] + 1e-12
        if number + 1 >= least and small.all():
            break
    return state, solution, model
