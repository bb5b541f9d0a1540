r"""Linear regression with unknowns of its own for every joint, whose sizes are found from the data.

Joint i has n_i measured efforts

.. math:: y_i = A_i x + C_i z_i + e_i, \quad x = L u,\ u \sim N(0, 1),\quad z_{ij} \sim N(0, \lambda_{ik(j)}^2),\quad
          e_i \sim N(0, \sigma_i^2)

with unknowns x that all joints share and z_i that belong to one joint. f_i successive efforts count as one. A joint may
have efforts of several sources (a motion, poses at rest), each with its own σ and f; z_i is theirs together. The sizes
λ of a kind k of unknowns and the noise σ_i are those of the greatest evidence ([MacKay1992], section 4): with γ the
number of unknowns of that kind that the data determine, λ² = Σ z²/γ. Each λ has a least value, which it keeps where the
data say nothing, and is drawn to it by HYPER unknowns of that size. Kinds that are alike at all joints share what they
show: where the joints that determine theirs have larger ones, the least value of all is higher. σ_i is drawn to
LEAST_NOISE of the joint's effort by NOISE_SAMPLES samples, so that few data do not claim to be exact.

A joint's own unknowns are eliminated before the shared ones are solved for, so the cost is that of the shared ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from .column_statistics import CERTAIN

HYPER = 2.0
NOISE_SAMPLES = 2.0
MOST_POOLED = 3.0
"""How much higher, at most."""
LEAST_NOISE = 0.005
LEAST_EFFORT = 0.01
"""Effort that a joint is taken to have at least for that, as a share of the largest joint's."""
LEAST_START = 1e-5
"""Noise that the search begins with at least, as a share of the effort: exact data would make it lose all digits."""
COMBINATIONS = 16
"""Most combinations of usual and large unknowns that are followed."""
ROUNDS = 40
"""Most rounds of the search for λ and σ."""
SETTLED = 0.03
"""Relative change of every λ and σ below which the rounds end."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large unknowns of a kind are expected to be, in units of their columns.

    Attributes:
        least: Least size: what cannot be excluded where the data say nothing.
        first: Size from which the search begins where it is free.
        free: Whether it is found from the data in any case; otherwise only where that was chosen.
        alike: Whether all joints have about the same size, so that what some of them show counts for the others.
    """

    least: float
    first: float
    free: bool
    alike: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RowProducts:
    """Scalar products of rows [A C y] of a joints from m sources; s shared columns, d own ones.

    Channels c = m a: all joints of the first source, then those of the next one.

    Attributes:
        values: Shape (c, s + d + 1, s + d + 1).
        rows: Number of efforts, weights counted, shape (c,).
        power: Mean square of the efforts, shape (c,).
        shared: s.
        kinds: Kind of each own column, shape (d,).
        sources: m.
    """

    values: Array
    rows: Array
    power: Array
    shared: int
    kinds: tuple[str, ...]
    sources: int = 1

    @property
    def joints(self) -> int:
        """Number of joints, a."""
        return len(self.values) // self.sources

    def without(self, part: RowProducts) -> RowProducts:
        """Return the products without a part of the rows."""
        return replace(self, values=self.values - part.values, rows=self.rows - part.rows)


Choice = frozenset[tuple[int, str]]
"""Joints and kinds of own unknowns whose size is found from the data."""


@dataclass(frozen=True, eq=False)
class HierarchicalPosterior:
    """What the data say, for one prior of the shared unknowns.

    Attributes:
        evidence: Log evidence, in nats; only differences mean something.
        noise: σ of every channel, shape (c,).
        sizes: λ of every own column, shape (a, d).
        fitted: Effective number of unknowns that each channel's efforts determine, shape (c,).
        root: L, shape (s, s).
        shift: Mean of x before the data, shape (s,).
        mean: Of [u, z_0/λ_0, z_1/λ_1, …], as ``shared`` (s,) and ``own`` (a, d).
    """

    evidence: float
    noise: Array
    sizes: Array
    fitted: Array
    root: Array
    shift: Array
    shared: Array
    own: Array
    shared_covariance: Array
    tie: Array
    own_inverse: Array

    @cached_property
    def mean(self) -> Array:
        """Mean of [x, z_0, z_1, …], shape (s + a d,)."""
        return np.concatenate([self.shift + self.root @ self.shared, (self.own * self.sizes).ravel()])

    @cached_property
    def covariance(self) -> Array:
        """Covariance of [x, z_0, z_1, …], shape (s + a d, s + a d)."""
        joints, own = self.sizes.shape
        s = len(self.shared)
        # cov(u, z_i) = −cov(u) T_i and cov(z_i, z_j) = T_iᵀ cov(u) T_j, with what u leaves of z_i on the diagonal.
        ties = np.moveaxis(self.tie, 0, 1).reshape(s, joints * own)
        across = self.shared_covariance @ ties
        whole = np.empty((s + joints * own, s + joints * own))
        whole[:s, :s] = self.shared_covariance
        whole[:s, s:], whole[s:, :s] = -across, -across.T
        whole[s:, s:] = ties.T @ across
        for joint in range(joints):
            at = slice(s + joint * own, s + (joint + 1) * own)
            whole[at, at] += self.own_inverse[joint]
        scaled = self.root @ whole[:s]
        whole[:s] = scaled
        whole[:, :s] = whole[:, :s] @ self.root.T
        sizes = self.sizes.ravel()
        whole[s:] *= sizes[:, None]
        whole[:, s:] *= sizes
        return whole

    def moments(self, rare: Sequence[Rare] = ()) -> Moments:
        """Return evidence, mean and covariance, with unknowns that are large at few joints counted in.

        Each of them has the usual size or the large one. Every combination has a posterior of its own, as likely as it
        makes the data; the result has the moments of their average. Only the COMBINATIONS likeliest are followed: what
        is left out makes variances too small where many unknowns may be large (docs/certificate-study.md).

        Args:
            rare: Own unknowns that may be much larger than they usually are.
        """
        places, usual, large, share = self._perhaps_large(rare)
        if not len(places):
            return Moments(self.evidence, self.mean, self.covariance)
        own = self.covariance[np.ix_(places, places)]
        likely, mean, covariance = np.zeros(1), self.mean[places][None], own[None]
        for place in range(len(places)):
            value, variance = mean[:, place], covariance[:, place, place]
            gains, other, other_variance = _two_sizes(value, variance, usual[place], large[place])
            along = covariance[:, :, place] / variance[:, None]
            spread = along[:, :, None] * along[:, None, :] * (other_variance - variance)[:, None, None]
            likely = np.concatenate([likely + np.log1p(-share[place]), likely + np.log(share[place]) + gains])
            mean = np.concatenate([mean, mean + along * (other - value)[:, None]])
            covariance = np.concatenate([covariance, covariance + spread])
            kept = np.argsort(-likely, kind="stable")[:COMBINATIONS]
            likely, mean, covariance = likely[kept], mean[kept], covariance[kept]
        evidence = float(np.logaddexp.reduce(likely))
        weights = np.exp(likely - evidence)
        average = weights @ mean
        away = mean - average
        widened = np.tensordot(weights, covariance, 1) + (weights[:, None] * away).T @ away - own
        # Beside these unknowns all others keep what they are for given values of them.
        carried = np.linalg.solve(own, self.covariance[places]).T
        return Moments(
            self.evidence + evidence,
            self.mean + carried @ (average - self.mean[places]),
            self.covariance + carried @ widened @ carried.T,
        )

    def _perhaps_large(self, rare: Sequence[Rare]) -> tuple[npt.NDArray[np.int64], Array, Array, Array]:
        """Return where in the mean the unknowns stand that may be large, their two sizes, and how often they are."""
        width = self.sizes.shape[1]
        every, sizes = [np.zeros(0, dtype=np.int64)], [np.zeros((3, 0))]
        for kind in rare:
            usual = self.sizes[:, kind.column]
            joints = np.flatnonzero(kind.sizes > usual)
            places = len(self.shared) + joints * width + kind.column
            two = usual[joints], kind.sizes[joints]
            gains, _, variances = _two_sizes(self.mean[places], np.diag(self.covariance)[places], *two)
            share = kind.share_after(gains, variances / two[1] ** 2)
            every.append(places)
            sizes.append(np.array([*two, np.full(len(places), share)]))
        usual, large, shares = np.concatenate(sizes, axis=1)
        return np.concatenate(every), usual, large, shares


def _two_sizes(value: Array, variance: Array, usual: Array, large: Array) -> tuple[Array, Array, Array]:
    """Return what changes if unknowns have another size: log evidence gained, mean and variance.

    What the data say of an unknown is the quotient of its posterior and its prior, so nothing is solved again.

    Args:
        value: Mean with the usual size.
        variance: Variance with the usual size.
        usual: Usual size, one standard deviation.
        large: The other size.
    """
    precision = np.maximum(1.0 / variance - 1.0 / usual**2, 0.0)
    other_variance = 1.0 / (precision + 1.0 / large**2)
    other = other_variance * value / variance
    gain = 0.5 * np.log(other_variance * usual**2 / (variance * large**2))
    return gain + 0.5 * (other**2 / other_variance - value**2 / variance), other, other_variance


@dataclass(frozen=True, slots=True, eq=False)
class Rare:
    """Own unknowns of one column that are much larger than usual at some joints.

    Attributes:
        column: The column.
        share: How many of the joints have a large one, beforehand.
        sizes: Standard deviation of a large one, shape (a,); none where it is not larger than the usual one.
        counts: So many joints the first share counts as; infinite where joints say nothing of each other.
    """

    column: int
    share: float
    sizes: Array
    counts: float = np.inf

    def share_after(self, gains: Array, left: Array) -> float:
        """Return how many of the joints have a large one, after what those say that show theirs.

        Args:
            gains: Log evidence of some joints for a large one.
            left: Of the variance of a large one, what the data leave, 0 to 1.
        """
        if not np.isfinite(self.counts):
            return self.share
        likely = 1.0 / (1.0 + np.exp(np.clip(np.log(1.0 / self.share - 1.0) - gains, -700.0, 700.0)))
        return float((self.counts * self.share + (1.0 - left) @ likely) / (self.counts + np.sum(1.0 - left)))


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Evidence [nats], mean (·,) and covariance (·, ·) of what a posterior says."""

    evidence: float
    mean: Array
    covariance: Array


class HierarchicalRegression:
    """Solves for shared and own unknowns, and for the sizes of the latter."""

    def __init__(self, products: RowProducts, autocorrelation_time: Array, sizes: Mapping[str, Size]) -> None:
        """Take the data.

        Args:
            products: Scalar products of all rows.
            autocorrelation_time: f ≥ 1 of every channel, shape (c,): that many efforts carry the information of one.
            sizes: What is expected of every kind of own unknowns.
        """
        self._products = products
        self._autocorrelation_time = autocorrelation_time
        kinds = np.array(products.kinds)
        self._at = {kind: np.flatnonzero(kinds == kind) for kind in dict.fromkeys(products.kinds)}
        self._least = np.array([sizes[kind].least for kind in products.kinds])
        self._first = np.array([sizes[kind].first for kind in products.kinds])
        self._free = np.array([sizes[kind].free for kind in products.kinds])
        self._alike = frozenset(kind for kind in products.kinds if sizes[kind].alike)

    def solve(
        self,
        root: Array,
        chosen: Choice = frozenset(),
        *,
        shift: Array | None = None,
        begin: HierarchicalPosterior | None = None,
        noise: Array | None = None,
        rounds: int = ROUNDS,
    ) -> HierarchicalPosterior:
        """Return the posterior.

        Args:
            root: L of the shared unknowns, shape (s, s).
            chosen: Own unknowns whose size is found from the data, besides those of kinds that always are.
            shift: Mean of the shared unknowns before the data, shape (s,); None for zero.
            begin: Where the search for sizes and noise begins; None for the first sizes.
            noise: σ to begin with, shape (c,), where ``begin`` is None.
            rounds: Most rounds; 1 keeps sizes and noise as they are.
        """
        products, autocorrelation_time = self._products, self._autocorrelation_time
        s, joints, sources = products.shared, products.joints, products.sources
        d = len(products.kinds)
        free = np.broadcast_to(self._free, (joints, d)).copy()
        for joint, kind in chosen:
            free[joint, self._at[kind]] = True
        if begin is None:
            sizes = np.where(free, self._first, self._least)
            sigma = np.sqrt(products.power) * 0.1 if noise is None else noise
        else:
            grown = np.where(begin.sizes > 1.001 * self._least, begin.sizes, self._first)
            sizes, sigma = np.where(free, grown, self._least), begin.noise
        power = np.maximum(products.power, LEAST_EFFORT**2 * products.power.max() + 1e-300)
        floor = LEAST_NOISE**2 * power
        sigma = np.maximum(sigma, LEAST_START * np.sqrt(power))
        values, effective = products.values, products.rows / autocorrelation_time
        mixed, own, pull, squares = values[:, :s, s:-1], values[:, s:-1, s:-1], values[:, :-1, -1], values[:, -1, -1]
        if shift is None:
            shift = np.zeros(s)
        else:
            # Rows of y − A shift take the place of those of y.
            moved = values[:, :-1, :s] @ shift
            squares = squares - 2.0 * pull[:, :s] @ shift + moved[:, :s] @ shift
            pull = pull - moved
        turned = root.T @ mixed

        def of_joints(channels: Array) -> Array:
            """Return the sum over the sources of every joint."""
            return np.asarray(channels.reshape(sources, joints, *channels.shape[1:]).sum(axis=0), dtype=np.float64)

        def of_channels(values_of_joints: Array) -> Array:
            """Return the values of every channel's joint."""
            return values_of_joints if sources == 1 else np.concatenate([values_of_joints] * sources)

        for done in range(1, rounds + 1):
            weight = 1.0 / (autocorrelation_time * sigma**2)
            scale = of_channels(sizes)
            blocks = own * (scale[:, :, None] * scale[:, None, :])
            # Through the Cholesky factor: the inverse itself would cost the Schur complement below half of its digits.
            half_own = np.linalg.inv(np.linalg.cholesky(np.eye(d) + of_joints(weight[:, None, None] * blocks)))
            inverse = np.swapaxes(half_own, 1, 2) @ half_own
            between = turned * scale[:, None, :]
            joined = of_joints(weight[:, None, None] * between)
            halved = joined @ np.swapaxes(half_own, 1, 2)
            tie = halved @ half_own
            pull_own = of_joints(weight[:, None] * pull[:, s:]) * sizes
            pull_shared = root.T @ (weight @ pull[:, :s])
            precision = np.eye(s) + root.T @ np.tensordot(weight, values[:, :s, :s], 1) @ root
            flat = np.moveaxis(tie, 0, 1).reshape(s, joints * d)
            eliminated = np.moveaxis(halved, 0, 1).reshape(s, joints * d)
            precision -= eliminated @ eliminated.T
            factor = _factor(0.5 * (precision + precision.T))
            half = np.linalg.inv(factor)
            covariance = half.T @ half
            u = covariance @ (pull_shared - flat @ pull_own.ravel())
            z = (inverse @ (pull_own - u @ joined)[:, :, None])[:, :, 0]
            across = covariance @ tie
            own_covariance = inverse + np.swapaxes(tie, 1, 2) @ across
            spread, crossed, centre = of_channels(own_covariance), of_channels(across), of_channels(z)
            if done == rounds:
                break
            # The expected square of what is left: x and z count with their second moments.
            x = root @ u
            seconds = root @ covariance @ root.T + np.outer(x, x)
            left = squares - 2.0 * (pull[:, :s] @ x) - 2.0 * np.sum(pull[:, s:] * scale * centre, axis=1)
            left += np.tensordot(values[:, :s, :s], seconds, 2)
            left += np.sum((spread + centre[:, :, None] * centre[:, None, :]) * blocks, axis=(1, 2))
            left += 2.0 * np.sum((u @ between) * centre, axis=1) - 2.0 * np.sum(crossed * between, axis=(1, 2))
            expected = np.maximum(left, 0.0) / autocorrelation_time + NOISE_SAMPLES * floor
            new_sigma = np.sqrt(np.maximum(expected / (effective + NOISE_SAMPLES), 1e-300))
            new_sizes = np.where(free, self._updated(sizes, z, own_covariance), self._least)
            settled = np.all(np.abs(new_sigma - sigma) < SETTLED * sigma)
            settled &= np.all(np.abs(new_sizes - sizes) < SETTLED * sizes)
            if settled:
                break
            sigma, sizes = new_sigma, new_sizes
        determined = np.tensordot(values[:, :s, :s], root @ covariance @ root.T, 2)
        determined += np.sum(spread * blocks, axis=(1, 2)) - 2.0 * np.sum(crossed * between, axis=(1, 2))
        evidence = -float(effective @ np.log(sigma)) - 0.5 * float(weight @ squares)
        evidence += 0.5 * float(u @ pull_shared + np.sum(z * pull_own)) - float(np.log(np.diag(factor)).sum())
        evidence += 0.5 * float(np.linalg.slogdet(inverse)[1].sum())
        first = np.array([at[0] for at in self._at.values()])
        evidence -= 0.5 * HYPER * float(np.log(sizes[:, first] / self._least[first]).sum())
        return HierarchicalPosterior(
            evidence=evidence,
            noise=sigma,
            sizes=sizes,
            fitted=weight * determined,
            root=root,
            shift=shift,
            shared=u,
            own=z,
            shared_covariance=covariance,
            tie=tie,
            own_inverse=inverse,
        )

    def _updated(self, sizes: Array, z: Array, covariance: Array) -> Array:
        """Return the next λ of every own column, shape (a, d)."""
        updated = np.empty_like(sizes)
        left = 1.0 - np.einsum("ikk->ik", covariance)
        for kind, at in self._at.items():
            least = self._least[at[0]]
            squares = np.sum((z[:, at] * sizes[:, at]) ** 2, axis=1)
            known = np.maximum(left[:, at], 0.0).sum(axis=1)
            if kind in self._alike:
                pooled = np.sqrt((squares.sum() + HYPER * least**2) / (known.sum() + HYPER))
                least = float(np.clip(pooled, least, MOST_POOLED * least))
            size = (squares + HYPER * least**2) / (known + HYPER)
            updated[:, at] = np.sqrt(np.maximum(size, least**2))[:, None]
        return updated


def _factor(precision: Array) -> Array:
    """Return the Cholesky factor; where rounding has made the matrix indefinite, of the nearest one that has one.

    What is known of an unknown is never less than beforehand: no precision is below 1.
    """
    size = np.sqrt(np.maximum(np.diag(precision), 1.0))
    scaled = precision / np.outer(size, size)
    try:
        return np.asarray(size[:, None] * np.linalg.cholesky(scaled))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        positive = (vectors * np.maximum(values, 1e-13 * values[-1])) @ vectors.T
        return np.asarray(size[:, None] * np.linalg.cholesky(positive + 1e-13 * np.eye(len(positive))))


def averaged(posteriors: Sequence[Moments], log_weights: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Return weights, mean and covariance of several posteriors, each as likely as its evidence says.

    Args:
        posteriors: Of the same data, for different priors, shape (m,).
        log_weights: Logarithms of the priors' own probabilities, shape (m,).
    """
    score = np.array([one.evidence for one in posteriors]) + np.asarray(log_weights)
    weights = np.exp(score - score.max())
    weights /= weights.sum()
    used = [(weight, one) for weight, one in zip(weights, posteriors, strict=True) if weight > 1e-6]
    mean = sum((weight * one.mean for weight, one in used), start=np.zeros(len(posteriors[0].mean)))
    covariance = np.zeros((len(mean), len(mean)))
    for weight, one in used:
        away = one.mean - mean
        covariance += weight * (one.covariance + np.outer(away, away))
    return weights, mean, covariance


def pooled_freedom(freedom: Array, fitted: Array, sources: int) -> Array:
    """Return the degrees of freedom of joints, shape (a,): sources count as they tell (Welch and Satterthwaite).

    Args:
        freedom: Effective samples that are left over the fitted numbers, shape (c,).
        fitted: Numbers that each channel determines, shape (c,).
        sources: m.
    """
    told = fitted.reshape(sources, -1) / np.maximum(fitted.reshape(sources, -1).sum(axis=0), 1e-300)
    left = np.maximum(freedom.reshape(sources, -1) + NOISE_SAMPLES, NOISE_SAMPLES)
    return np.asarray(1.0 / np.maximum(np.sum(told**2 / left, axis=0), 1e-300) - NOISE_SAMPLES)


def student_factor(freedom: Array) -> Array:
    """Return Student's 95 % quantile over the normal one, for noise that was found with NOISE_SAMPLES, shape (a,)."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return np.asarray(stdtrit(freedom + NOISE_SAMPLES, 0.975) / CERTAIN)
