r"""How strongly to hold on to the CAD values: as strongly as the data allow.

The evidence of a strength is the probability of the data under it, all unknowns integrated out ([MacKay1992]). For the
linear model with prior precision P, data information H and estimate x̂,

.. math:: \ln p(y) = -\tfrac12 \left( |y|^2 - g^T \hat x \right) + \tfrac12 \ln\det P - \tfrac12 \ln\det(P + H)
          + \text{const},\quad g = A^T y,

rows weighted by their noise and inflation, y and x̂ counted from the prior's mean. Of all strengths the strongest is
taken that the data do not speak against very strongly: whose evidence is within e⁵, a Bayes factor of 150, of the best
([Kass1995]). A recorded path leaves combinations of masses open that other paths will show; there a description that
was not refuted is the better guess.

All of it comes from the triangular factors, without another pass over the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..calibration.gaussian import Gaussian
from ..calibration.regression import JointRegression
from ..description.frozen import Array

STRENGTHS = tuple(4.0**power for power in range(7))
"""Strengths that are tried; between them the logarithm of the evidence is interpolated."""
VERY_STRONG = 5.0
"""Logarithm of the Bayes factor that counts as very strong evidence against a strength."""


def choose_strength(
    regression: JointRegression, prior: Callable[[float], Gaussian], sigma: Array, inflation: Array
) -> float:
    """Return the largest strength of the prior that the data do not refute.

    Args:
        regression: The data.
        prior: What is known beforehand, for a strength.
        sigma: Noise of one sample per joint, shape (a,).
        inflation: How many samples count as one per joint, shape (a,).

    Returns:
        From the first to the last of STRENGTHS.
    """
    evidence = np.array([log_evidence(regression, prior(strength), sigma, inflation) for strength in STRENGTHS])
    spare = evidence - evidence.max() + VERY_STRONG
    last = int(np.flatnonzero(spare >= 0.0)[-1])
    if last == len(STRENGTHS) - 1:
        return STRENGTHS[-1]
    share = spare[last] / (spare[last] - spare[last + 1])
    return float(STRENGTHS[last] * (STRENGTHS[last + 1] / STRENGTHS[last]) ** share)


def log_evidence(regression: JointRegression, prior: Gaussian, sigma: Array, inflation: Array) -> float:
    """Return ln p(y) up to a constant that does not depend on the prior.

    Args:
        regression: The data.
        prior: What is known beforehand.
        sigma: Noise of one sample per joint, shape (a,).
        inflation: How many samples count as one per joint, shape (a,).
    """
    precision = prior.root.T @ prior.root
    total = precision.copy()
    slope = np.zeros(len(prior.mean))
    squares = 0.0
    for joint, noise in enumerate(sigma):
        factor = regression.factor(joint) / (noise * np.sqrt(inflation[joint]))
        rows, away = factor[:, :-1], factor[:, -1] - factor[:, :-1] @ prior.mean
        total += rows.T @ rows
        slope += rows.T @ away
        squares += float(away @ away)
    # Unknowns without prior have the same share for every strength: their precision is left out.
    known = np.flatnonzero(np.diag(precision) > 0.0)
    size = np.sqrt(np.diag(total))
    size[size == 0.0] = 1.0
    scaled = total / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    kept = values > 1e-14 * values[-1]
    turned = vectors[:, kept].T @ (slope / size)
    fitted = float(np.sum(turned**2 / values[kept]))
    _, before = np.linalg.slogdet(precision[np.ix_(known, known)] / np.outer(size[known], size[known]))
    return -0.5 * (squares - fitted) + 0.5 * float(before) - 0.5 * float(np.sum(np.log(values[kept])))
