"""How strongly to hold on to the CAD values: tried out on regions of joint space that were held out.

Autocorrelation of the residuals (inflation.py) tells how many samples count as one, but a model with a hundred
unknowns has fitted part of its own error away before the residuals are looked at. What is left looks too small and too
short, and the data would be believed too much, just where it hurts: away from the path. So the factors of STRENGTHS
are tried on the prior of the bodies. Joint space is divided into cells; around each cell in turn, as many of its
neighbours as make up HELD_OUT of the samples are held out and predicted from the rest. The score is the geometric mean
of the joints' held-out errors, which needs no units and lets no joint rule. It is a little noisy, so the least one
does not decide alone: the logarithm of the strength is averaged with weights exp(−½ (excess error / ERROR_NOISE)²).

All of it comes from the triangular factors of the cells, without another pass over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..description.frozen import Array
from .gaussian import Gaussian
from .regression import JointRegression, solve

STRENGTHS = tuple(4.0**power for power in range(7))
ERROR_NOISE = 0.02
"""How well a held-out error is known, as a share of it: what another choice of cells would change."""
HELD_OUT = 0.5
"""Share of the samples that is predicted from the rest: a fit is used farther from its path than a check can show."""
LEAST_REST = 0.3
"""Share that must be left to fit; cells around which less would remain are not tried."""


def merged(parts: Sequence[JointRegression]) -> JointRegression:
    """Return the data of several parts as one regression."""
    whole = JointRegression(parts[0].joint_names, parts[0].column_names)
    for part in parts:
        whole.merge(part)
    return whole


def choose_strength(
    cells: Sequence[JointRegression],
    centers: Array,
    prior: Callable[[float], Gaussian],
    sigma: Array,
    inflation: Array,
) -> float:
    """Return the strength of the prior that predicts held-out regions best.

    Args:
        cells: The data, cell by cell.
        centers: Where the cells lie, in scaled joint space, shape (cells, n).
        prior: What is known beforehand, for a strength.
        sigma: Noise of one sample per joint, shape (a,).
        inflation: f_i from the residuals' autocorrelation, shape (a,).

    Returns:
        Between the first and the last of STRENGTHS; 1 where the data cannot be divided.
    """
    pairs = [(merged(held), merged(rest)) for held, rest in _neighbourhoods(cells, centers)]
    if not pairs:
        return 1.0
    errors = np.array([_error(pairs, prior(strength), sigma, inflation) for strength in STRENGTHS])
    if not errors.min() > 0.0:
        return 1.0
    weight = np.exp(-0.5 * ((errors / errors.min() - 1.0) / ERROR_NOISE) ** 2)
    return float(np.exp(np.sum(weight * np.log(STRENGTHS)) / np.sum(weight)))


def _neighbourhoods(
    cells: Sequence[JointRegression], centers: Array
) -> list[tuple[list[JointRegression], list[JointRegression]]]:
    """Return (held out, rest) around each cell that has data."""
    rows = np.array([float(cell.rows.max(initial=0)) for cell in cells])
    filled = np.flatnonzero(rows > 0.0)
    found = []
    for middle in filled:
        order = filled[np.argsort(np.linalg.norm(centers[filled] - centers[middle], axis=1), kind="stable")]
        before = np.concatenate([[0.0], np.cumsum(rows[order])[:-1]]) / rows.sum()
        held = order[before < HELD_OUT]
        rest = order[before >= HELD_OUT]
        if len(rest) and rows[rest].sum() >= LEAST_REST * rows.sum():
            found.append(([cells[cell] for cell in held], [cells[cell] for cell in rest]))
    return found


def _error(
    pairs: Sequence[tuple[JointRegression, JointRegression]], prior: Gaussian, sigma: Array, inflation: Array
) -> float:
    """Return the geometric mean over joints of the root of squared errors on held-out data, predicted from the rest."""
    squares = np.zeros(len(sigma))
    for held, rest in pairs:
        x = solve(rest, prior=prior, sigma=sigma, inflation=inflation).x
        squares += [_square_sum(held.factor(joint), x) for joint in range(len(sigma))]
    known = squares > 0.0
    return float(np.exp(0.5 * np.mean(np.log(squares[known])))) if known.any() else 0.0


def _square_sum(factor: Array, x: Array) -> float:
    error = factor[:, :-1] @ x - factor[:, -1]
    return float(error @ error)
