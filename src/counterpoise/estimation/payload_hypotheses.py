r"""One hypothesis per link: how well a load there explains the data, and what it would weigh.

After the baseline's errors are integrated out, the log-likelihood ratio of a load p = [m, μ] at one place against no
load is quadratic, tᵀp − ½ pᵀS p. The prior says what a load can be:

- m > 0, from LEAST_MASS to the largest mass, every factor of the mass equally probable (log-uniform);
- its centre of mass μ/m lies within ``radius`` of the place's centre. A uniform ball has the covariance radius²/5; the
  normal distribution with that covariance is taken, so that the integral over μ has a closed form.

The integral over m is a sum over a grid, refined about its maximum:

.. math:: B = \int \frac{dm}{m \ln(m_1/m_0)} \int d\mu\, \mathcal N(\mu; m\bar c, m^2 r^2/5)\, e^{t^T p - p^T S p / 2}

This is the model evidence of which BIC is the large-sample form; unlike BIC it knows that a light load far from its
link is no explanation. It also holds a coincidence against a link: a load exactly on the axis of its joint. Where that
is no coincidence, ``log_fit`` tells how well links explain the data without it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array

LEAST_MASS = 0.05
"""Lightest load that is looked for [kg]."""
COARSE, FINE = 33, 25
"""Points of the two grids of masses."""
BOUND_GRID = np.geomspace(1e-4, 10.0, 241)
"""Masses at which a bound is looked for, as shares of the heaviest load."""
BOUND_SHARE = 0.95
"""Probability that a load is not heavier than its bound."""
NEGLIGIBLE = 12.0
"""Masses whose log-probability is this much below the best are not looked at closer."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkEvidence:
    """What the data say of a load at each of l places; a leading axis of cases is kept in all of them.

    Attributes:
        log_evidence: Logarithm of the Bayes factor against no load, shape (…, l).
        log_fit: Logarithm of the likelihood ratio of the best load there, less how improbable its centre of mass is
            beside the most probable one, shape (…, l).
        mass: Posterior mean [kg], shape (…, l).
        mass_std: Posterior standard deviation [kg], shape (…, l).
        moment: Posterior mean of the first moment, joint frame [kg m], shape (…, l, 3).
        covariance: Of [m, μ], shape (…, l, 4, 4).
        best: tᵀp − ½pᵀSp at the posterior mean: how much of the misfit a load there explains, shape (…, l).
    """

    log_evidence: Array
    log_fit: Array
    mass: Array
    mass_std: Array
    moment: Array
    covariance: Array
    best: Array


def log_evidence(S: Array, t: Array, centre: Array, radius: Array, max_mass: float) -> Array:
    """Return the logarithm of the Bayes factor of a load at each place against none, shape (…, l).

    Args:
        S: Information about [m, μ] at each place, baseline integrated out, shape (…, l, 4, 4).
        t: The matching vector, shape (…, l, 4).
        centre: Where loads are expected, joint frame [m], shape (l, 3).
        radius: How far from it [m], shape (l,).
        max_mass: Heaviest load [kg].
    """
    _, value, step = _grid(_Integral(S, t, centre, radius, np.log(max_mass / LEAST_MASS)), max_mass)
    top = value.max(axis=-1)
    return np.asarray(top + np.log(np.sum(np.exp(value - top[..., None]), axis=-1) * step))


def evidence_bound(S: Array, t: Array) -> Array:
    """Return what the logarithm of the Bayes factor cannot exceed, the load being of any kind, shape (…, l).

    It is tᵀp − ½pᵀSp at its maximum; where S is singular the bound is only a little looser.
    """
    loose = 1e-9 * (np.trace(S, axis1=-2, axis2=-1)[..., None, None] + 1e-12) * np.eye(4)
    return np.asarray(0.5 * np.sum(t * np.linalg.solve(S + loose, t[..., None])[..., 0], axis=-1))


def largest_mass(S: Array, t: Array, centre: Array, radius: Array, max_mass: float) -> Array:
    """Return what a load at each place weighs at most, by BOUND_SHARE, if there is one [kg], shape (…, l).

    Every mass above 0 is equally probable beforehand, so that the bound holds for whatever mass there is; the centre of
    mass is as in :func:`log_evidence`. It is inf where the data leave ``max_mass`` and more open.
    Arguments as in :func:`log_evidence`.
    """
    integral = _Integral(S, t, centre, radius, 1.0)
    mass = max_mass * BOUND_GRID
    value = integral.log_density(np.broadcast_to(mass, (*integral.shape, len(mass))))
    density = np.exp(value - value.max(axis=-1, keepdims=True))
    steps = 0.5 * (density[..., 1:] + density[..., :-1]) * np.diff(mass)
    below = np.cumsum(np.concatenate([density[..., :1] * mass[0], steps], axis=-1), axis=-1)
    reached = np.argmax(below >= BOUND_SHARE * below[..., -1:], axis=-1)
    return np.where(mass[reached] <= max_mass, mass[reached], np.inf)


def link_evidence(S: Array, t: Array, centre: Array, radius: Array, max_mass: float) -> LinkEvidence:
    """Weigh the hypothesis of a load at each place, and say what it would be; arguments as in :func:`log_evidence`."""
    integral = _Integral(S, t, centre, radius, np.log(max_mass / LEAST_MASS))
    mass, value, step = _grid(integral, max_mass)
    top = value.max(axis=-1, keepdims=True)
    weight = np.exp(value - top) * step[..., None]
    total = weight.sum(axis=-1)
    share = weight / total[..., None]
    mean = np.sum(share * mass, axis=-1)
    moments, within = integral.moments(mass)
    moment = np.einsum("...g,...gi->...i", share, moments)
    spread = np.concatenate([(mass - mean[..., None])[..., None], moments - moment[..., None, :]], axis=-1)
    covariance = np.einsum("...g,...gi,...gj->...ij", share, spread, spread)
    covariance[..., 1:, 1:] += np.einsum("...g,...gij->...ij", share, within)
    p = np.concatenate([mean[..., None], moment], axis=-1)
    best = np.einsum("...i,...i->...", t, p) - 0.5 * np.einsum("...i,...ij,...j->...", p, S, p)
    std = np.sqrt(np.maximum(covariance[..., 0, 0], (0.3 * step * mean) ** 2))
    log_fit = integral.log_fit(mass).max(axis=-1)
    return LinkEvidence(top[..., 0] + np.log(total), log_fit, mean, std, moment, covariance, best)


def _grid(integral: _Integral, max_mass: float) -> tuple[Array, Array, Array]:
    """Return masses, the logarithm of the integrand there, shapes (…, l, g), and the step of log m, shape (…, l)."""
    steps = np.linspace(np.log(LEAST_MASS), np.log(max_mass), COARSE)
    logs = np.broadcast_to(steps, (*integral.shape, COARSE))
    value = integral.log_density(np.exp(logs))
    # The refined grid reaches one step beyond the likely masses: a narrow peak may lie between two of them. Twice: the
    # second time about a peak that the first has located.
    for _ in range(2):
        count = logs.shape[-1]
        likely = value > value.max(axis=-1, keepdims=True) - NEGLIGIBLE
        first = np.maximum(likely.argmax(axis=-1) - 1, 0)
        last = np.minimum(count - likely[..., ::-1].argmax(axis=-1), count - 1)
        low, high = (np.take_along_axis(logs, at[..., None], -1) for at in (first, last))
        logs = low + (high - low) * np.linspace(0.0, 1.0, FINE)
        value = integral.log_density(np.exp(logs))
    return np.exp(logs), value, logs[..., 1] - logs[..., 0]


class _Integral:
    """The integral over the first moment, in closed form for every mass: S_μμ is diagonalised once."""

    def __init__(self, S: Array, t: Array, centre: Array, radius: Array, log_range: float) -> None:
        values, vectors = np.linalg.eigh(0.5 * (S[..., 1:, 1:] + np.swapaxes(S[..., 1:, 1:], -1, -2)))
        self._d = np.maximum(values, 0.0)[..., None, :]
        self._vectors = vectors
        self._t = np.einsum("...ij,...i->...j", vectors, t[..., 1:])[..., None, :]
        self._s = np.einsum("...ij,...i->...j", vectors, S[..., 1:, 0])[..., None, :]
        self._c = np.einsum("...ij,...i->...j", vectors, np.broadcast_to(centre, (*t.shape[:-1], 3)))[..., None, :]
        self._variance = (radius**2 / 5.0)[:, None]
        self._t_m, self._s_mm = t[..., 0, None], S[..., 0, 0, None]
        self._log_range = log_range
        self.shape = t.shape[:-1]

    def _solved(self, mass: Array) -> tuple[Array, Array, Array]:
        """Return prior precision, posterior precision and posterior mean of μ in its own axes, for masses (…, l, g)."""
        w = 1.0 / (mass**2 * self._variance)[..., None]
        precision = self._d + w
        rhs = self._t - self._s * mass[..., None] + w * mass[..., None] * self._c
        return w, precision, rhs / precision

    def log_density(self, mass: Array) -> Array:
        """Return the logarithm of what is integrated over log m."""
        w, precision, mu = self._solved(mass)
        volume = 0.5 * (3.0 * np.log(w[..., 0]) - np.sum(np.log(precision), axis=-1))
        return np.asarray(self._log_best(mass, w, precision, mu) + volume - np.log(self._log_range))

    def log_fit(self, mass: Array) -> Array:
        """Return the logarithm of the likelihood ratio and of the prior's exponent, at the best μ for every mass."""
        return self._log_best(mass, *self._solved(mass))

    def _log_best(self, mass: Array, w: Array, precision: Array, mu: Array) -> Array:
        prior = w[..., 0] * mass**2 * np.sum(self._c**2, axis=-1)
        fit = self._t_m * mass - 0.5 * self._s_mm * mass**2 + 0.5 * np.sum(precision * mu**2, axis=-1) - 0.5 * prior
        return np.asarray(fit)

    def moments(self, mass: Array) -> tuple[Array, Array]:
        """Return mean and covariance of μ for every mass, joint frame, shapes (…, l, g, 3) and (…, l, g, 3, 3)."""
        _, precision, mu = self._solved(mass)
        axes = self._vectors[..., None, :, :]
        covariance = np.einsum("...ij,...j,...kj->...ik", axes, 1.0 / precision, axes)
        return np.einsum("...ij,...j->...i", axes, mu), covariance
