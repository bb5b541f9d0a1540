"""How strongly to hold on to the CAD values: tried out on regions of joint space that were held out.

Autocorrelation of the residuals (inflation.py) tells how many samples count as one, but a model with a hundred unknowns
has fitted part of its own error away before the residuals are looked at. What is left looks too small and too short, and
the data would be believed too much, just where it hurts: away from the path. So the prior of the bodies is made stronger
by a factor, the one with which the fit predicts regions that it has not seen best. The factors of STRENGTHS are tried;
the score is the sum over joints of the logarithm of the squared errors, which needs no units and lets no joint rule.

All of it comes from the triangular factors of the regions, without another pass over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..description.frozen import Array
from .gaussian import Gaussian
from .regression import JointRegression, solve

STRENGTHS = tuple(4.0**power for power in range(7))
FOLDS = 4
"""Regions that are held out in turn: each about as large as what a check holds back (split.py)."""


def merged(folds: Sequence[JointRegression]) -> JointRegression:
    """Return all regions' data as one regression."""
    whole = JointRegression(folds[0].joint_names, folds[0].column_names)
    for fold in folds:
        whole.merge(fold)
    return whole


def choose_strength(
    folds: Sequence[JointRegression], prior: Callable[[float], Gaussian], sigma: Array, inflation: Array
) -> float:
    """Return the strength of the prior that predicts held-out regions best.

    Args:
        folds: The data, region by region.
        prior: What is known beforehand, for a strength.
        sigma: Noise of one sample per joint, shape (a,).
        inflation: f_i from the residuals' autocorrelation, shape (a,).

    Returns:
        One of STRENGTHS; 1 where fewer than two regions have data.
    """
    filled = [fold for fold in folds if fold.rows.any()]
    if len(filled) < 2:
        return 1.0
    rests = [merged([other for other in filled if other is not fold]) for fold in filled]
    scores = []
    for strength in STRENGTHS:
        belief = prior(strength)
        squares = np.zeros(len(sigma))
        for fold, rest in zip(filled, rests, strict=True):
            x = solve(rest, prior=belief, sigma=sigma, inflation=inflation).x
            squares += np.array([_square_sum(fold.factor(joint), x) for joint in range(len(sigma))])
        measured = squares > 0.0
        scores.append(float(np.log(squares[measured]).sum()))
    return STRENGTHS[int(np.argmin(scores))]


def _square_sum(factor: Array, x: Array) -> float:
    error = factor[:, :-1] @ x - factor[:, -1]
    return float(error @ error)
