"""How strongly to hold on to the CAD values: tried out on regions of joint space that were held out.

Autocorrelation of the residuals (inflation.py) tells how many samples count as one, but a model with a hundred
unknowns has fitted part of its own error away before the residuals are looked at. What is left looks too small and too
short, and the data would be believed too much, just where it hurts: away from the path. So the factors of STRENGTHS
are tried on the prior of the bodies. Joint space is divided into cells; around each cell in turn, as many of its
neighbours as make up HELD_SHARE of the samples are held out and predicted from the rest, the way a split by path does
it. The score is the sum over joints and cells of the logarithm of the mean squared error, which needs no units and lets
no joint rule; the strength with the least score is taken.

All of it comes from the triangular factors of the cells, without another pass over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..description.frozen import Array
from .gaussian import Gaussian
from .regression import JointRegression, solve
from .split import HELD_SHARE

STRENGTHS = tuple(4.0**power for power in range(7))


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
        One of STRENGTHS; 1 where the data cannot be divided.
    """
    pairs = [(merged(held), merged(rest)) for held, rest in _neighbourhoods(cells, centers)]
    if not pairs:
        return 1.0
    scores = [
        sum(_score(held, rest, prior(strength), sigma, inflation) for held, rest in pairs) for strength in STRENGTHS
    ]
    return STRENGTHS[int(np.argmin(scores))]


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
        held = order[before < HELD_SHARE]
        rest = order[before >= HELD_SHARE]
        if len(rest) and rows[rest].sum() >= HELD_SHARE * rows.sum():
            found.append(([cells[cell] for cell in held], [cells[cell] for cell in rest]))
    return found


def _score(held: JointRegression, rest: JointRegression, prior: Gaussian, sigma: Array, inflation: Array) -> float:
    """Return Σ_joints log(mean squared error) on the held-out data of a fit to the rest."""
    x = solve(rest, prior=prior, sigma=sigma, inflation=inflation).x
    squares = np.array([_square_sum(held.factor(joint), x) for joint in range(len(sigma))])
    measured = (squares > 0.0) & (held.rows > 0)
    return float(np.log(squares[measured] / held.rows[measured]).sum())


def _square_sum(factor: Array, x: Array) -> float:
    error = factor[:, :-1] @ x - factor[:, -1]
    return float(error @ error)
