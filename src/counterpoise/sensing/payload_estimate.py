r"""What is known of a payload: whether there is one, where it may sit, what it weighs, and what stays open.

There is one hypothesis per link: how well a load there explains the data, and what it would weigh.

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

``PayloadBlend`` hands a payload to a controller without a bump: its torque grows at a limited rate and stays within a
bound.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..dynamics import BASE, Robot, as_rows
from ..errors import InputError
from ..foundation import Array, PublishedData, frozen
from .payload_statistics import Baseline, Places, Sums

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


Result = TypeVar("Result")

SET_PROBABILITY = 0.9
"""The set of links is the smallest one that holds the load with this probability."""
KNOWN_SHARE = 0.2
"""A mass counts as known when its standard deviation is below this share of it."""
TRUSTED_ROWS = 30.0
"""The stated scatter counts as this many rows of data beside the scatter that is found."""
LIKELY_WEIGHT = 0.9
"""Below this probability of being weight an estimate says so, and a controller does not get it."""
LEAST_PROBABILITY = 1e-6
"""No place is ruled out altogether: the model behind the probabilities is not the arm."""


@dataclass(frozen=True, slots=True)
class KnownCombination:
    """A combination of a load's mass and first moment that the data determine, though not each of the two.

    Attributes:
        text: E.g. "mx + 0.55·m", in the joint frame of the link.
        value: Its estimate [kg m].
        std: Its standard deviation [kg m].
    """

    text: str
    value: float
    std: float


@dataclass(frozen=True, slots=True, eq=False)
class PayloadEstimate(PublishedData):
    """What is known of a payload.

    Attributes:
        detected: Whether a load was found.
        undecided: Whether none was found although the last poses differ from the empty arm's: nobody should take them
            for the arm's own weight; ``advice`` says why.
        log_evidence: Logarithm of the Bayes factor of a load against none.
        link: The most probable link; None where no load was found.
        links: Probability of each link given that there is a load, most probable first.
        link_set: The smallest set of links that holds it with SET_PROBABILITY.
        mass: Its mass on that link [kg]; NaN where none was found. Where it is not known, it is what the link's size
            and the moments make probable, which depends on what loads are thought of.
        mass_std: Standard deviation over all links [kg]; where the mass is not felt, of all masses up to the heaviest
            that the moments leave open. NaN where none was found.
        com: Its centre of mass in the link's frame [m], shape (3,); NaN where none was found.
        com_std: Standard deviations of the three coordinates [m], shape (3,); NaN where none was found.
        mass_known: Whether the mass itself is known; False where only combinations are, and where none was found: a
            mass of zero is never known.
        unnoticed_mass: Where no load was found, the heaviest (95 %) on a last link that may have been carried at all
            poses all the same [kg]: friction, offsets and errors of the model hide it. inf where the poses exclude none
            of the masses that are looked for; NaN where a load was found.
        combinations: What is known on the most probable link where the mass is not.
        like_weight: Probability that it is weight and not a touch that differs from pose to pose.
        confidence: Probability that the load is weight and on ``link``; 0 where none was found.
        poses: Poses at rest behind it.
        widening: Scatter of the data in units of the stated one: all deviations were widened, or narrowed, by it.
        parameters: Mean of the load's gravity parameters over all links, the robot's joint frames, shape (4 b,):
            the gravity torque changes by gravity_regressor(q) @ parameters; 0 where none was found.
        covariance: Of ``parameters``, shape (4 b, 4 b); NaN where none was found: nothing is stated then.
        advice: What would settle what is open, one sentence; "" where nothing is.
    """

    detected: bool
    undecided: bool
    log_evidence: float
    link: str | None
    links: Mapping[str, float]
    link_set: tuple[str, ...]
    mass: float
    mass_std: float
    com: Array
    com_std: Array
    mass_known: bool
    unnoticed_mass: float
    combinations: tuple[KnownCombination, ...]
    like_weight: float
    confidence: float
    poses: int
    widening: float
    parameters: Array
    covariance: Array
    advice: str

    def gravity_change(self, robot: Robot, q: Array) -> tuple[Array, Array]:
        """Return by how much the holding torques change at a pose, and the standard deviation, shapes (n,) [N m or N].

        Args:
            robot: The arm, empty.
            q: The pose [rad or m], shape (n,).
        """
        Y = robot.gravity_regressor(q)
        return Y @ self.parameters, np.sqrt(np.maximum(np.einsum("ip,pq,iq->i", Y, self.covariance, Y), 0.0))

    def text(self) -> str:
        """Return the estimate in one or two sentences."""
        if not self.detected or self.link is None:
            if self.poses == 0:
                return (
                    "nothing known of a payload: no pose was held at rest for 0.7 s yet; a load of any mass could "
                    "go unnoticed"
                )
            poses = "one pose" if self.poses == 1 else f"{self.poses} poses"
            left = "a load of any mass" if np.isinf(self.unnoticed_mass) else f"up to {self.unnoticed_mass:.2g} kg"
            told = f"no payload found in {poses}; {left} at the tip could go unnoticed (95 %)"
            return told + (f"; {self.advice}" if self.advice else "")
        where = ", ".join(f"{link} {self.links[link]:.0%}" for link in self.link_set)
        if self.mass_known:
            told = f"{self.mass:.3g} ± {self.mass_std:.2g} kg"
        elif self.combinations:
            known = ", ".join(f"{one.text} = {one.value:.3g} ± {one.std:.2g} kg m" for one in self.combinations)
            told = f"a load whose mass is not known; {known}"
        else:
            told = "a load of which the joint torques show neither mass nor place"
        advice = f". {self.advice}" if self.advice else ""
        return f"{told}, on {where}{advice}"


def no_payload(
    robot: Robot,
    poses: int,
    *,
    log_evidence: float = 0.0,
    open_question: str = "",
    unnoticed_mass: float = float("inf"),
) -> PayloadEstimate:
    """Return the estimate where no load was found, undecided where there is an open question."""
    size = 4 * robot.tree.bodies
    unknown = frozen(np.full(3, np.nan))
    return PayloadEstimate(
        detected=False,
        undecided=bool(open_question),
        log_evidence=log_evidence,
        link=None,
        links={},
        link_set=(),
        mass=float("nan"),
        mass_std=float("nan"),
        com=unknown,
        com_std=unknown,
        mass_known=False,
        unnoticed_mass=unnoticed_mass,
        combinations=(),
        like_weight=0.0,
        confidence=0.0,
        poses=poses,
        widening=1.0,
        parameters=frozen(np.zeros(size)),
        covariance=frozen(np.full((size, size), np.nan)),
        advice=open_question,
    )


def payload_estimate(
    baseline: Baseline, total: Sums, loaded: Sums, *, max_mass: float, poses: int, detected: bool, weighed: bool
) -> PayloadEstimate:
    """Return what is known of a load; arguments as of :func:`estimating`."""
    steps = estimating(baseline, total, loaded, max_mass=max_mass, poses=poses, detected=detected, weighed=weighed)
    return last_of(steps)


def estimating(
    baseline: Baseline, total: Sums, loaded: Sums, *, max_mass: float, poses: int, detected: bool, weighed: bool
) -> Generator[None, None, PayloadEstimate]:
    """Work out what is known of a load, in steps of some tenths of a millisecond, and return it.

    Args:
        baseline: How well the empty arm is known.
        total: Sums over all poses, loaded ones included.
        loaded: Sums over the loaded poses.
        max_mass: Heaviest load [kg].
        poses: Number of loaded poses.
        detected: Whether a load was found.
        weighed: Whether a plate took part.
    """
    places = baseline.places
    robot = places.robot
    S, t = baseline.load_information(total, loaded)
    yield
    found = link_evidence(S, t, places.centre, places.radius, max_mass)
    evidence = float(log_sum(found.log_evidence + _log_prior(places, weighed)))
    yield
    if not detected:
        unnoticed = unnoticed_mass(baseline, total, S, t, max_mass)
        return no_payload(robot, poses, log_evidence=evidence, unnoticed_mass=unnoticed)
    # The data's own scatter: beyond the stated one everything is less certain than it looks. A smaller one counts only
    # for joints alone, of which there are many alike; a plate's few rows must not be taken for better by them.
    misfit, freedom = baseline.misfit(total)
    yield
    left = max(misfit - 2.0 * float(np.max(found.best)), 0.0)
    widening = (left + TRUSTED_ROWS) / (max(freedom - 4.0, 0.0) + TRUSTED_ROWS)
    widening = max(widening, 1.0) if weighed else widening
    if widening != 1.0:
        found = link_evidence(S / widening, t / widening, places.centre, places.radius, max_mass)
        yield
    share = _shares(found, places, weighed)
    weight = like_weight(baseline, total, loaded, evidence)
    yield
    order = np.argsort(-share)
    chosen = int(order[0])
    inside = order[: int(np.searchsorted(np.cumsum(share[order]), SET_PROBABILITY)) + 1]
    mass = float(found.mass[chosen])
    mean = float(share @ found.mass)
    # Where the joints do not feel the mass, only the link's size speaks: that is no measurement.
    told = np.array(places.mass_felt) | weighed
    mass_std = np.where(told, found.mass_std, _open_std(places, found.mass, found.moment, max_mass))
    std = float(np.sqrt(share @ (mass_std**2 + (found.mass - mean) ** 2)))
    spread = found.covariance[chosen]
    if not told[chosen]:
        spread = np.block(
            [[np.full((1, 1), mass_std[chosen] ** 2), np.zeros((1, 3))], [np.zeros((3, 1)), spread[1:, 1:]]]
        )
    com, com_std = _centre(places, chosen, mass, found.moment[chosen], spread)
    known = bool(told[chosen]) and float(mass_std[chosen]) < KNOWN_SHARE * mass and std < 2.0 * KNOWN_SHARE * mass
    combinations = () if known else _combinations(places, chosen, mass, found.moment[chosen], found.covariance[chosen])
    parameters, covariance = _mixture(places, share, found.mass, found.moment, found.covariance)
    return PayloadEstimate(
        detected=True,
        undecided=False,
        log_evidence=evidence,
        link=places.links[chosen],
        links={places.links[at]: float(share[at]) for at in order.tolist()},
        link_set=tuple(places.links[at] for at in inside.tolist()),
        mass=mass,
        mass_std=std,
        com=frozen(com),
        com_std=frozen(com_std),
        mass_known=known,
        unnoticed_mass=float("nan"),
        combinations=combinations,
        like_weight=weight,
        confidence=weight * float(share[chosen]),
        poses=poses,
        widening=float(np.sqrt(widening)),
        parameters=frozen(parameters),
        covariance=frozen(covariance),
        advice=_advice(places, chosen, known, len(inside), weighed, weight),
    )


def unnoticed_mass(baseline: Baseline, total: Sums, S: Array, t: Array, max_mass: float) -> float:
    """Return the heaviest load on a last link that the data leave open, by 95 % [kg]; inf where they leave all open.

    Args:
        baseline: How well the empty arm is known.
        total: Sums over all poses.
        S: What is known of a load at each place, from ``baseline.load_information``, shape (l, 4, 4).
        t: The matching vector, shape (l, 4).
        max_mass: Heaviest load that is looked for [kg].
    """
    places = baseline.places
    parents = places.robot.tree.parent.tolist()
    tips = [place for place, body in enumerate(places.bodies) if body != BASE and body not in parents]
    misfit, freedom = baseline.misfit(total)
    widening = max((misfit + TRUSTED_ROWS) / (freedom + TRUSTED_ROWS), 1.0)
    bounds = largest_mass(S[tips] / widening, t[tips] / widening, places.centre[tips], places.radius[tips], max_mass)
    return float(np.max(bounds))


def marginal_evidence(baseline: Baseline, S: Array, t: Array, max_mass: float, weighed: bool) -> float:
    """Return the log Bayes factor of a load anywhere against none.

    Args:
        baseline: How well the empty arm is known.
        S: What is known of a load at each place, from ``baseline.load_information``, shape (l, 4, 4).
        t: The matching vector, shape (l, 4).
        max_mass: Heaviest load [kg].
        weighed: Whether a plate took part.
    """
    places = baseline.places
    found = log_evidence(S, t, places.centre, places.radius, max_mass)
    return float(log_sum(found + _log_prior(places, weighed)))


def marginal_bound(baseline: Baseline, S: Array, t: Array, weighed: bool) -> float:
    """Return what :func:`marginal_evidence` cannot exceed; costs much less."""
    return float(log_sum(evidence_bound(S, t) + _log_prior(baseline.places, weighed)))


def like_weight(baseline: Baseline, total: Sums, loaded: Sums, evidence: float) -> float:
    """Return the probability of one load at all loaded poses against a touch that differs from pose to pose.

    Both are equally probable beforehand. A touch explains any residual, at the price of its size for every number that
    was measured; a load explains them all with four. So one pose alone seldom decides, and several do.
    """
    empty = Sums(*(getattr(total, name) - getattr(loaded, name) for name in Sums.__slots__))
    weight = float(baseline.log_empty(total)) + evidence
    touch = float(baseline.log_empty(empty)) + float(loaded.touched)
    return float(1.0 / (1.0 + np.exp(np.clip(touch - weight, -700.0, 700.0))))


def last_of(steps: Generator[None, None, Result]) -> Result:
    """Take all steps at once and return what they lead to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def log_sum(logs: Array) -> Array:
    """Return log Σ exp over the last axis."""
    top = logs.max(axis=-1)
    return np.asarray(top + np.log(np.sum(np.exp(logs - top[..., None]), axis=-1)))


def _log_prior(places: Places, weighed: bool) -> Array:
    """Return the logarithm of the places' prior probabilities: equal for all that can be felt, shape (l,)."""
    felt = np.array([count > 0 or weighed for count in places.felt])
    return np.where(felt, -np.log(float(felt.sum())), -np.inf)


def _shares(found: LinkEvidence, places: Places, weighed: bool) -> Array:
    """Return the links' probabilities, shape (l,).

    A load on the last axis gives the same torques on the last link and on the one before. Of all loads on the last link
    few lie there, and the evidence holds that against it; but grippers hold their loads there. So the last link counts
    no less than its fit with the other factors of the link before: where both fit equally well they are even.
    """
    evidence = found.log_evidence.copy()
    parents = places.robot.tree.parent.tolist()
    for place, body in enumerate(places.bodies):
        if body != BASE and body not in parents and parents[body] != BASE:
            before = places.bodies.index(parents[body])
            held = found.log_evidence[before] + found.log_fit[place] - found.log_fit[before]
            evidence[place] = max(evidence[place], held)
    logs = evidence + _log_prior(places, weighed)
    share = np.exp(logs - logs.max())
    share = np.where(np.isfinite(logs), np.maximum(share / share.sum(), LEAST_PROBABILITY), 0.0)
    return np.asarray(share / share.sum())


def _centre(places: Places, place: int, mass: float, moment: Array, covariance: Array) -> tuple[Array, Array]:
    """Return the centre of mass in the link's frame and its deviations, by the first order of μ/m."""
    slope = np.hstack([-(moment / mass)[:, None], np.eye(3)]) / mass
    turn = places.rotation_to_link(place)
    spread = turn @ slope @ covariance @ slope.T @ turn.T
    # The prior keeps μ/m within the link's size whatever the data say: so does its deviation.
    std = np.minimum(np.sqrt(np.maximum(np.diag(spread), 0.0)), places.radius[place])
    return places.com_in_link(place, moment / mass), std


def _open_std(places: Places, mass: Array, moment: Array, max_mass: float) -> Array:
    """Return the deviation of masses of which only the first moments are known, shape (l,) [kg].

    Any mass with a centre within the link's size gives the same torques: from the one whose centre lies at its edge,
    |μ/m − c| = r, to the heaviest. None of them is preferred.
    """
    along = np.sum(moment * places.centre, axis=-1)
    room = places.radius**2 - np.sum(places.centre**2, axis=-1)
    room = np.maximum(room, 1e-3 * places.radius**2)
    least = (np.sqrt(along**2 + room * np.sum(moment**2, axis=-1)) - along) / room
    least = np.clip(least, LEAST_MASS, mass)
    above, below = np.maximum(max_mass - mass, 0.0), mass - least
    return np.asarray(np.sqrt((above**3 + below**3) / np.maximum(3.0 * (above + below), 1e-9)))


def _combinations(
    places: Places, place: int, mass: float, moment: Array, covariance: Array
) -> tuple[KnownCombination, ...]:
    p = np.array([mass, *moment])
    return tuple(
        KnownCombination(text, float(row @ p), float(np.sqrt(max(float(row @ covariance @ row), 0.0))))
        for row, text in places.combinations(place)
    )


def _mixture(places: Places, share: Array, mass: Array, moment: Array, covariance: Array) -> tuple[Array, Array]:
    """Return mean and covariance of the load's parameters over all places; a load on the base moves no joint."""
    size = 4 * places.robot.tree.bodies
    mean, second = np.zeros(size), np.zeros((size, size))
    for place, body in enumerate(places.bodies):
        if body >= 0 and share[place] > 0.0:
            at = slice(4 * body, 4 * body + 4)
            p = np.array([mass[place], *moment[place]])
            mean[at] += share[place] * p
            second[at, at] += share[place] * (covariance[place] + np.outer(p, p))
    return mean, second - np.outer(mean, mean)


def _advice(places: Places, place: int, mass_known: bool, links: int, weighed: bool, like_weight: float) -> str:
    if like_weight < LIKELY_WEIGHT:
        return f"with {1.0 - like_weight:.0%} probability this is a touch or a cable, not a weight; more poses decide"
    if not mass_known and not weighed and not places.mass_felt[place]:
        link = places.links[place]
        return f"no joint torque depends on the mass of a load on {link}; a plate under the base would weigh it"
    if not mass_known and not weighed:
        return "more poses narrow it down; a plate under the base would settle the mass"
    if links > 1:
        return "more poses with other joint angles narrow the links down"
    return ""


RATE_SHARE = 0.2
"""Largest rate by which the load's torque is blended, as a share of the effort limit per second."""
LIMIT_FRACTION = 0.5
"""Largest torque for a load, as a share of the effort limit."""


class PayloadBlend:
    """Adds the gravity torque of a payload that may change at any tick.

    Blended are the load's gravity parameters, not the torque: while the arm moves the torque follows the pose exactly,
    and only a change of the load itself is slow.

    Attributes:
        parameters: Gravity parameters of the load that is compensated now, shape (4 b,).
    """

    def __init__(
        self, robot: Robot, dt: float, *, rate: npt.ArrayLike | None = None, bound: npt.ArrayLike | None = None
    ) -> None:
        """Begin without a load.

        Args:
            robot: The arm, empty.
            dt: Time between ticks [s].
            rate: Largest change of a joint's torque by blending [N m/s or N/s], shape (n,); None for RATE_SHARE of the
                effort limits per second.
            bound: Largest torque for a load [N m or N], shape (n,); None for LIMIT_FRACTION of the effort limits.

        Raises:
            InputError: A value that means nothing, or none where the robot has no effort limits.
        """
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"dt is {dt!r}; expected the time between ticks in s")
        self._robot = robot
        self._step = dt * _positive(robot, rate, RATE_SHARE, "rate")
        self._bound = _positive(robot, bound, LIMIT_FRACTION, "bound")
        self.parameters = np.zeros(4 * robot.tree.bodies)

    def torque(self, q: Array, payload: PayloadEstimate | None) -> Array:
        """Return the torque to be added for the load, to the empty arm's g(q) [N m or N], shape (n,).

        Args:
            q: Positions [rad or m], shape (n,).
            payload: What ``PayloadEstimator.payload_for_control`` says; None for an empty arm, or one that is not known
                well enough.
        """
        Y = self._robot.gravity_regressor(q)
        target = payload.parameters if payload is not None else np.zeros_like(self.parameters)
        wanted = target - self.parameters
        change = np.abs(Y @ wanted)
        if np.any(wanted):
            over = float(np.max(change / self._step))
            self.parameters = self.parameters + wanted / max(over, 1.0)
        return np.clip(Y @ self.parameters, -self._bound, self._bound)


def _positive(robot: Robot, given: npt.ArrayLike | None, share: float, name: str) -> Array:
    value = share * robot.effort_limit if given is None else as_rows(given, name, robot.joint_names)
    if value.shape != (robot.n,) or not np.all((value > 0.0) & np.isfinite(value)):
        raise InputError(f"{name} needs a positive number for each joint; the robot's effort limits do not give one")
    return np.asarray(value)
