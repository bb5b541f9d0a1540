"""Weighted regression that outliers do not pull along: a touched arm, a pose on a stop, a spike.

A row whose residual u = r/σ_i is large gets a smaller weight, in further passes over the data:

- Huber's weight min(1, c/|u|) first, with σ_i found along the way by his second proposal, Σ min(|u|, c)² = β N: it has
  one minimum, so it cannot settle on the wrong half of the data ([Huber1981]);
- then Hampel's weight: 1 up to HUBER, falling like 1/|u| to BEND and on to nothing at REJECT, with σ fixed. Rows that
  are plainly wrong lose all influence. It is taken back where it would leave fewer numbers determined.

Rows within HUBER keep their full weight: friction left in a holding torque has short tails, and its largest values tell
the most. The data are read again on each pass, block by block, so the memory stays constant. With few poses an outlier
can pull the fit to itself and stay unseen: one wrong pose of 25 is found, one of 8 is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from .prior import Gaussian
from .regression import POOLING, JointRegression, Solution, pooled_noise, solve

Block = tuple[Array, Array, Array | None]
"""Rows A (k, n, p), torques y (k, n) and weights (k, n) or None, as JointRegression.add takes them."""

HUBER = 2.5
"""c of Huber's weight: of good rows one in eighty is touched."""
HUBER_CONSISTENCY = 0.97756
"""β = E[min(|u|, c)²] for a standard normal u and c = HUBER: makes σ consistent."""
BEND = 4.0
REJECT = 8.0
"""Residuals, in σ, where Hampel's weight begins to fall faster and where it is zero."""
HUBER_PASSES = 20
"""Most passes with Huber's weight."""
HAMPEL_PASSES = 3
"""Most passes with Hampel's weight."""
CONVERGED = 0.02
"""Relative change of every σ_i at which Huber's passes end."""
SETTLED = 0.1
"""Change of every number, in standard errors, at which Hampel's passes end."""


def solve_robust(
    blocks: Callable[[], Iterable[Block]],
    joint_names: Sequence[str],
    column_names: Sequence[str],
    *,
    prior: Gaussian | None = None,
    autocorrelation_time: npt.ArrayLike | None = None,
    relative_sigma: npt.ArrayLike | None = None,
    pooling: float = POOLING,
) -> Solution:
    """Fit with outliers weighted down.

    Args:
        blocks: Returns the data's blocks from the beginning each time it is called.
        joint_names: Names of the n joints.
        column_names: Names of the p unknowns.
        prior: As in ``regression.solve``; so are the other arguments.
        autocorrelation_time: f_i.
        relative_sigma: r_i.
        pooling: ν.

    Returns:
        The fit, σ_i that of the good rows. Its covariance takes the final weights as given.
    """
    n = len(joint_names)
    plain = JointRegression(joint_names, column_names)
    for A, y, weight in blocks():
        plain.add(A, y, weight)
    solution = solve(
        plain, prior=prior, autocorrelation_time=autocorrelation_time, relative_sigma=relative_sigma, pooling=pooling
    )
    times = np.ones(n) if autocorrelation_time is None else np.array(autocorrelation_time, dtype=np.float64)
    ratio = np.ones(n) if relative_sigma is None else np.array(relative_sigma, dtype=np.float64)
    samples = plain.rows / times
    signal = max(float(np.nanmax(plain.torque_rms())), 1e-12)
    sigma, rejects = np.where(np.isnan(solution.sigma), signal, solution.sigma), False
    for _ in range(HUBER_PASSES):
        regression, clipped, rejects = _weighted(blocks(), plain, solution.x, sigma, huber_weight)
        before = sigma
        squares = clipped / HUBER_CONSISTENCY / times
        fitted = samples - solution.freedom
        sigma = pooled_noise(squares, fitted, samples, ratio=ratio, before=before, pooling=pooling, signal=signal)
        solution = solve(regression, prior=prior, sigma=sigma, autocorrelation_time=autocorrelation_time)
        if np.all(np.abs(sigma - before) <= CONVERGED * before):
            break
    # Without a row beyond BEND the two weights are the same.
    for _ in range(HAMPEL_PASSES if rejects else 0):
        regression, _, _ = _weighted(blocks(), plain, solution.x, sigma, hampel_weight)
        tried = (
            solve(regression, prior=prior, sigma=sigma, autocorrelation_time=autocorrelation_time)
            if regression.rows.any()
            else solution
        )
        if tried.rank < solution.rank:
            break
        settled = bool(np.all(np.abs(tried.x - solution.x) <= SETTLED * tried.std))
        solution = tried
        if settled:
            break
    return solution


def huber_weight(size: Array) -> Array:
    """Return min(1, HUBER/|u|) for sizes |u| of residuals in standard deviations, any shape."""
    return HUBER / np.maximum(size, HUBER)


def hampel_weight(size: Array) -> Array:
    """Return Huber's weight, falling to nothing between BEND and REJECT, for sizes |u|, any shape."""
    falling = np.clip((REJECT - size) / (REJECT - BEND), 0.0, 1.0)
    return huber_weight(size) * falling


def _weighted(
    blocks: Iterable[Block], like: JointRegression, x: Array, sigma: Array, weigh: Callable[[Array], Array]
) -> tuple[JointRegression, Array, bool]:
    """Accumulate all rows with weights from their residuals.

    Returns:
        The regression; Σ min(|r|, HUBER σ)² per joint, shape (n,); and whether a row lies beyond BEND.
    """
    regression = JointRegression(like.joint_names, like.column_names)
    clipped, beyond = np.zeros(len(sigma)), False
    for A, y, weight in blocks:
        stated = np.ones(y.shape) if weight is None else weight
        residual = np.sqrt(stated) * (y - A @ x)
        size = np.nan_to_num(np.abs(residual) / sigma)
        clipped += np.sum(np.minimum(size, HUBER) ** 2, axis=0) * sigma**2
        beyond |= bool(np.any(size > BEND))
        regression.add(A, y, stated * weigh(size))
    return regression, clipped, beyond
