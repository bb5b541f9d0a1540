r"""Linear models of several joints with shared and own unknowns: posterior and log evidence in closed form.

Joint i observes  y_i = A_i x + C_i z_i + ε_i,  ε_i ~ N(0, σ_i²),  with the prior N(0, 1) on every entry of the shared
unknowns x and of the joint's own z_i (columns are scaled by their prior spread beforehand). N points are worth w
independent ones, so each joint's log likelihood is multiplied by w/N. With the precision Λ of the posterior and its
mean m, the log evidence up to a constant is ([Bishop2006], eqs. (3.79) to (3.86), with one σ per joint)

    Σ_i ( −w log σ_i − w |y_i|²/(2 N σ_i²) ) + ½ mᵀ Λ m − ½ log det Λ.

σ_i is set to where this is largest, by expectation maximisation ([Bishop2006], section 9.3.4). Each joint's own
unknowns are eliminated first, so that only the shared ones are solved for together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..description.frozen import Array

ROUNDS = 40
"""Most rounds of expectation maximisation."""
CONVERGED = 0.02
"""Relative change of every σ_i below which the rounds end."""


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Scalar products of n joints' observations, each divided by the number of points.

    Attributes:
        block: Of the columns [A_i C_i] with each other, shape (n, c + d, c + d).
        pull: Of the columns with y_i, shape (n, c + d).
        power: |y_i|², shape (n,).
        shared: c, the number of shared unknowns.
    """

    block: Array
    pull: Array
    power: Array
    shared: int


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What observations say.

    Attributes:
        evidence: Log evidence up to a constant that depends on w and n only.
        residue: σ_i, shape (n,).
        shared: Mean of x, shape (c,).
        shared_covariance: Its covariance, shape (c, c).
        own: Means of z_i, shape (n, d).
        own_covariance: Their covariances, shape (n, d, d).
    """

    evidence: float
    residue: Array
    shared: Array
    shared_covariance: Array
    own: Array
    own_covariance: Array


def posterior(observations: Observations, worth: float, least: Array, start: Array) -> Posterior:
    """Return the posterior.

    Args:
        observations: The scalar products.
        worth: w, how many independent points the points are worth.
        least: Least σ_i, shape (n,).
        start: First guess of σ_i, shape (n,).
    """
    residue = np.maximum(start, least)
    for _ in range(ROUNDS):
        at = _solved(observations, worth, residue)
        updated = np.maximum(np.sqrt(_unexplained(observations, at)), least)
        if np.all(np.abs(updated - residue) < CONVERGED * residue):
            break
        residue = updated
    else:
        at = _solved(observations, worth, residue)
    evidence = _log_evidence(observations, worth, residue, at)
    return Posterior(evidence, residue, at.shared, at.shared_covariance, at.own, at.own_covariance)


class _Solved(NamedTuple):
    """The posterior for given σ_i, as in :class:`Posterior`, and what it was made of.

    ``tie`` is T with cov(x, z_i) = −cov(x) T_i, shape (n, c, d); the precisions are of x and of z_i with x known.
    """

    shared: Array
    shared_covariance: Array
    own: Array
    own_covariance: Array
    tie: Array
    precision: Array
    own_precision: Array


def _solved(observations: Observations, worth: float, residue: Array) -> _Solved:
    """Return the posterior for given σ_i."""
    c = observations.shared
    weight = worth / residue**2
    block, pull = weight[:, None, None] * observations.block, weight[:, None] * observations.pull
    own_precision = np.eye(block.shape[1] - c) + block[:, c:, c:]
    own_inverse = np.linalg.inv(own_precision)
    mixed = block[:, :c, c:]
    tie = mixed @ own_inverse
    precision = np.eye(c) + block[:, :c, :c].sum(axis=0) - (tie @ np.swapaxes(mixed, 1, 2)).sum(axis=0)
    right = pull[:, :c].sum(axis=0) - (tie @ pull[:, c:, None]).sum(axis=(0, 2))
    covariance = np.linalg.inv(precision)
    shared = covariance @ right
    own = (own_inverse @ (pull[:, c:] - shared @ mixed)[:, :, None])[:, :, 0]
    own_covariance = own_inverse + np.swapaxes(tie, 1, 2) @ covariance @ tie
    return _Solved(shared, covariance, own, own_covariance, tie, precision, own_precision)


def _log_evidence(observations: Observations, worth: float, residue: Array, at: _Solved) -> float:
    """Return the log evidence up to a constant."""
    c, weight = observations.shared, worth / residue**2
    pull = weight[:, None] * observations.pull
    gained = float(at.shared @ pull[:, :c].sum(axis=0) + np.sum(at.own * pull[:, c:]))
    size = float(np.linalg.slogdet(at.precision)[1] + np.linalg.slogdet(at.own_precision)[1].sum())
    return float(-worth * np.log(residue).sum() - 0.5 * (weight @ observations.power)) + 0.5 * (gained - size)


def _unexplained(observations: Observations, at: _Solved) -> Array:
    """Return the expected square of what remains of each y_i, divided by the number of points, shape (n,)."""
    c, block = observations.shared, observations.block
    x = np.concatenate([np.broadcast_to(at.shared, (len(block), c)), at.own], axis=1)
    left = observations.power - 2.0 * np.einsum("nj,nj->n", x, observations.pull)
    left += np.einsum("nj,nj->n", x, (block @ x[:, :, None])[:, :, 0])
    left += np.einsum("jk,njk->n", at.shared_covariance, block[:, :c, :c])
    left += np.einsum("njk,njk->n", at.own_covariance, block[:, c:, c:])
    left -= 2.0 * np.einsum("njk,njk->n", at.shared_covariance @ at.tie, block[:, :c, c:])
    return np.asarray(np.maximum(left, 0.0))
