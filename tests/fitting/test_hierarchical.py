"""Regression with unknowns of every joint by itself, against plain Gaussian formulas and made data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from counterpoise.fitting import HierarchicalPosterior, HierarchicalRegression, Rare, RowProducts, Size, averaged
from counterpoise.fitting.hierarchical import MOST_POOLED
from counterpoise.foundation import Array

SHARED = 3
KINDS = ("first", "first", "second")
FIXED = {"first": Size(0.4, 1.0, free=False), "second": Size(1.5, 1.0, free=False)}
LAMBDA = np.array([0.4, 0.4, 1.5])


@dataclass(frozen=True)
class Problem:
    """Rows of some joints, and what made them."""

    A: list[Array]
    C: list[Array]
    y: list[Array]
    x: Array
    z: Array

    @property
    def products(self) -> RowProducts:
        rows = [np.column_stack(one) for one in zip(self.A, self.C, self.y, strict=True)]
        return RowProducts(
            values=np.array([each.T @ each for each in rows]),
            rows=np.array([float(len(each)) for each in self.y]),
            power=np.array([float(np.mean(each**2)) for each in self.y]),
            shared=self.A[0].shape[1],
            kinds=KINDS,
        )


def problem(seed: int = 0, *, rows: int = 12, joints: int = 2, noise: float = 0.1, size: Array = LAMBDA) -> Problem:
    """Return random rows of joints, efforts with noise, and own unknowns of a size."""
    random = np.random.default_rng(seed)
    counts = [rows + joint for joint in range(joints)]
    A = [random.standard_normal((count, SHARED)) for count in counts]
    C = [random.standard_normal((count, len(KINDS))) for count in counts]
    x = random.standard_normal(SHARED)
    z = size * random.standard_normal((joints, len(KINDS)))
    y = [a @ x + c @ own + noise * random.standard_normal(len(a)) for a, c, own in zip(A, C, z, strict=True)]
    return Problem(A, C, y, x, z)


def dense(one: Problem, root: Array, sigma: Array, autocorrelation_time: Array) -> tuple[Array, Array, float]:
    """Return mean, covariance and log evidence by Gaussian formulas with all rows at once."""
    joints, d = len(one.y), len(KINDS)
    blocks = []
    for joint in range(joints):
        own = np.zeros((len(one.y[joint]), joints * d))
        own[:, joint * d : (joint + 1) * d] = one.C[joint]
        blocks.append(np.hstack([one.A[joint], own]))
    H, y = np.vstack(blocks), np.concatenate(one.y)
    R = np.diag(np.repeat(autocorrelation_time * sigma**2, [len(each) for each in one.y]))
    P = np.zeros((H.shape[1], H.shape[1]))
    P[:SHARED, :SHARED] = root @ root.T
    P[SHARED:, SHARED:] = np.diag(np.tile(LAMBDA**2, joints))
    S = H @ P @ H.T + R
    gain = P @ H.T @ np.linalg.inv(S)
    evidence = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2.0 * np.pi * S)[1])
    return gain @ y, P - gain @ H @ P, float(evidence)


def roots(seed: int) -> Array:
    return np.tril(np.random.default_rng(100 + seed).standard_normal((SHARED, SHARED))) + np.eye(SHARED)


def fixed(one: Problem, root: Array, sigma: Array, autocorrelation_time: Array) -> HierarchicalPosterior:
    return HierarchicalRegression(one.products, autocorrelation_time, FIXED).solve(root, noise=sigma, rounds=1)


@pytest.mark.parametrize("seed", range(5))
def test_with_fixed_sizes_it_is_a_gaussian_regression(seed: int) -> None:
    one = problem(seed, joints=1 + seed % 3)
    sigma = np.linspace(0.1, 0.3, len(one.y))
    autocorrelation_time = np.linspace(1.0, 4.0, len(one.y))
    found = fixed(one, roots(seed), sigma, autocorrelation_time)
    mean, covariance, _ = dense(one, roots(seed), sigma, autocorrelation_time)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_two_sources_of_a_joint_share_its_own_unknowns(seed: int) -> None:
    """Rows of one joint in two parts, each with its noise and autocorrelation: as if every row had its own noise."""
    one = problem(seed, joints=2)
    parts = [[slice(None, None, 2), slice(1, None, 2)][source] for source in (0, 1)]
    sigma, autocorrelation_time = np.array([0.1, 0.2, 0.3, 0.15]), np.array([2.0, 3.0, 1.0, 1.0])
    rows = [np.column_stack([one.A[j][at], one.C[j][at], one.y[j][at]]) for at in parts for j in (0, 1)]
    products = RowProducts(
        values=np.array([each.T @ each for each in rows]),
        rows=np.array([float(len(each)) for each in rows]),
        power=np.ones(4),
        shared=SHARED,
        kinds=KINDS,
        sources=2,
    )
    found = HierarchicalRegression(products, autocorrelation_time, FIXED).solve(roots(seed), noise=sigma, rounds=1)
    # Rows over their own deviation have noise one.
    scaled = [each / (sigma * np.sqrt(autocorrelation_time))[at] for at, each in enumerate(rows)]
    stacked = [np.concatenate([scaled[joint], scaled[2 + joint]]) for joint in (0, 1)]
    A, C, y = ([each[:, at] for each in stacked] for at in (slice(SHARED), slice(SHARED, -1), -1))
    mean, covariance, _ = dense(Problem(A, C, y, one.x, one.z), roots(seed), np.ones(2), np.ones(2))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-10)
    assert found.noise.shape == (4,) and found.sizes.shape == (2, len(KINDS))


def test_evidence_tells_priors_apart_as_gaussians_do() -> None:
    """Also where several efforts count as one."""
    one, sigma, autocorrelation_time = problem(7), np.array([0.1, 0.2]), np.array([3.0, 1.5])
    ours = [fixed(one, roots(seed), sigma, autocorrelation_time).evidence for seed in (1, 2, 3)]
    plain = [dense(one, roots(seed), sigma, autocorrelation_time)[2] for seed in (1, 2, 3)]
    np.testing.assert_allclose(np.diff(ours), np.diff(plain), rtol=1e-8)


def test_evidence_tells_noises_apart_as_gaussians_do() -> None:
    one, root, autocorrelation_time = problem(8), roots(0), np.ones(2)
    sigmas = [np.array([0.05, 0.1]), np.array([0.1, 0.1]), np.array([0.4, 0.3])]
    ours = [fixed(one, root, sigma, autocorrelation_time).evidence for sigma in sigmas]
    plain = [dense(one, root, sigma, autocorrelation_time)[2] for sigma in sigmas]
    np.testing.assert_allclose(np.diff(ours), np.diff(plain), rtol=1e-8)


def test_own_unknowns_that_look_like_shared_ones_do_not_cost_the_digits() -> None:
    """Efforts that hardly change: an offset, an unseen friction and a mass are one constant, known a millionfold."""
    joints, rows, s = 3, 500, 4
    random = np.random.default_rng(3)
    still = np.ones((rows, 1))
    values = []
    for joint in range(joints):
        shared = still * np.array([30.0, 10.0, 100.0, 3.0]) + 1e-6 * random.standard_normal((rows, s))
        own = np.hstack([5.0 * still, 5.0 * still, 1e-12 * random.standard_normal((rows, 1))])
        whole = np.hstack([shared, own, (1.0 + joint) * still + 1e-5 * random.standard_normal((rows, 1))])
        values.append(whole.T @ whole)
    products = RowProducts(np.array(values), np.full(joints, float(rows)), np.ones(joints), s, KINDS)
    root = 100.0 * np.eye(s)
    found = HierarchicalRegression(products, np.ones(joints), FIXED).solve(root, noise=np.full(joints, 1e-4), rounds=1)
    assert np.isfinite(found.mean).all() and np.isfinite(found.evidence)
    # Across the constant, 1500 rows of 1e-6 tell of unknowns of 100 with a noise of 1e-4.
    expected = 100.0**2 / (1.0 + joints * rows * (100.0 * 1e-6 / 1e-4) ** 2)
    widest = float(np.linalg.eigvalsh(found.covariance[:s, :s])[-1])
    assert 0.5 * expected < widest < 2.0 * expected


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_fitted_counts_the_unknowns_that_the_data_determine(size: float) -> None:
    """The traces of H cov Hᵀ/σ² over the joints are the trace of 1 − P⁻¹ cov."""
    one, sigma, root = problem(3, rows=40), np.full(2, 0.1 * size), roots(3)
    found = fixed(one, root, sigma, np.ones(2))
    prior = np.zeros(found.covariance.shape)
    prior[:SHARED, :SHARED] = root @ root.T
    prior[SHARED:, SHARED:] = np.diag(np.tile(LAMBDA**2, 2))
    expected = len(prior) - np.trace(np.linalg.solve(prior, found.covariance))
    assert found.fitted.sum() == pytest.approx(expected, rel=1e-6)
    assert np.all(found.fitted > 0.0)


def test_sizes_and_noise_are_found() -> None:
    """λ of a kind comes out as large as its unknowns are, σ as large as the noise."""
    size = np.array([1.0, 1.0, 20.0])
    one = problem(1, rows=400, joints=12, noise=0.3, size=size)
    free = {"first": Size(1e-3, 0.3, free=True), "second": Size(1e-3, 0.3, free=True)}
    found = HierarchicalRegression(one.products, np.ones(12), free).solve(10.0 * np.eye(SHARED))
    np.testing.assert_allclose(found.noise, 0.3, rtol=0.15)
    np.testing.assert_allclose(found.mean[:SHARED], one.x, atol=0.05)
    # γ of HYPER further unknowns at the least size draws the sizes: Σz²/(γ + 2).
    expected = np.sqrt(np.sum(one.z[:, :2] ** 2, axis=1) / 4.0)
    np.testing.assert_allclose(found.sizes[:, 0], expected, rtol=0.1)
    np.testing.assert_allclose(found.sizes[:, 2], np.abs(one.z[:, 2]) / np.sqrt(3.0), rtol=0.1)


def test_what_is_not_there_keeps_its_least_size() -> None:
    one = problem(2, rows=300, noise=0.2, size=np.zeros(3))
    free = {"first": Size(1e-3, 0.3, free=True), "second": Size(1e-3, 0.3, free=True)}
    found = HierarchicalRegression(one.products, np.ones(2), free).solve(10.0 * np.eye(SHARED))
    assert np.all(found.sizes < 0.05)
    assert np.all(found.sizes >= 1e-3)


def test_a_kind_is_freed_for_the_chosen_joint_alone() -> None:
    one = problem(4, rows=300, noise=0.1, size=np.array([2.0, 2.0, 2.0]))
    kept = {"first": Size(1e-4, 0.5, free=False), "second": Size(1e-4, 0.5, free=True)}
    regression = HierarchicalRegression(one.products, np.ones(2), kept)
    without = regression.solve(10.0 * np.eye(SHARED))
    with_one = regression.solve(10.0 * np.eye(SHARED), frozenset({(1, "first")}))
    assert np.all(without.sizes[:, :2] == 1e-4)
    assert np.all(with_one.sizes[0, :2] == 1e-4)
    assert np.all(with_one.sizes[1, :2] > 0.1)
    # What is there and is freed speaks for itself.
    assert with_one.evidence > without.evidence + 10.0
    assert with_one.noise[1] < 0.5 * without.noise[1]


def test_freeing_what_is_not_there_raises_no_evidence() -> None:
    one = problem(5, rows=300, noise=0.1, size=np.array([0.0, 0.0, 1.0]))
    kept = {"first": Size(1e-4, 0.5, free=False), "second": Size(1e-4, 0.5, free=True)}
    regression = HierarchicalRegression(one.products, np.ones(2), kept)
    without = regression.solve(10.0 * np.eye(SHARED))
    for joint in (0, 1):
        assert regression.solve(10.0 * np.eye(SHARED), frozenset({(joint, "first")})).evidence < without.evidence + 1.0


def test_beginning_elsewhere_ends_in_the_same_place() -> None:
    one = problem(6, rows=200, noise=0.2)
    free = {"first": Size(1e-3, 0.3, free=True), "second": Size(1e-3, 0.3, free=True)}
    regression = HierarchicalRegression(one.products, np.ones(2), free)
    found = regression.solve(np.eye(SHARED))
    again = regression.solve(np.eye(SHARED), begin=found)
    np.testing.assert_allclose(again.mean, found.mean, atol=1e-3)
    assert again.evidence == pytest.approx(found.evidence, abs=0.1)


def test_exact_data_keep_their_digits() -> None:
    """Without noise the unknowns come out, and their uncertainty is no more than few samples allow."""
    one = problem(9, rows=60, noise=0.0)
    free = {"first": Size(1e-2, 0.3, free=True), "second": Size(1e-2, 0.3, free=True)}
    found = HierarchicalRegression(one.products, np.ones(2), free).solve(10.0 * np.eye(SHARED))
    np.testing.assert_allclose(found.mean[:SHARED], one.x, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.mean[SHARED:], one.z.ravel(), rtol=1e-4, atol=1e-5)
    assert np.isfinite(found.evidence)
    assert np.all(found.noise < 0.005 * np.sqrt(one.products.power))
    assert np.all(np.diag(found.covariance) > 0.0)


def test_a_part_can_be_left_out() -> None:
    one, part = problem(10), problem(11)
    both = Problem(
        [np.vstack(pair) for pair in zip(one.A, part.A, strict=True)],
        [np.vstack(pair) for pair in zip(one.C, part.C, strict=True)],
        [np.concatenate(pair) for pair in zip(one.y, part.y, strict=True)],
        one.x,
        one.z,
    )
    left = both.products.without(part.products)
    np.testing.assert_allclose(left.values, one.products.values, atol=1e-12)
    np.testing.assert_allclose(left.rows, one.products.rows)


def test_posteriors_are_averaged_by_evidence() -> None:
    one, sigma, autocorrelation_time = problem(12), np.array([0.1, 0.1]), np.ones(2)
    every = [fixed(one, scale * roots(0), sigma, autocorrelation_time) for scale in (0.5, 1.0, 2.0)]
    share = np.array([0.2, 0.3, 0.5])
    weights, mean, covariance = averaged([each.moments() for each in every], np.log(share))
    plain = np.array([dense(one, scale * roots(0), sigma, autocorrelation_time)[2] for scale in (0.5, 1.0, 2.0)])
    expected = share * np.exp(plain - plain.max())
    expected /= expected.sum()
    np.testing.assert_allclose(weights, expected, rtol=1e-7)
    means = np.array([each.mean for each in every])
    np.testing.assert_allclose(mean, expected @ means, rtol=1e-6)
    # The law of total variance.
    within = sum(weight * each.covariance for weight, each in zip(expected, every, strict=True))
    between = (means - expected @ means).T @ np.diag(expected) @ (means - expected @ means)
    np.testing.assert_allclose(covariance, within + between, rtol=1e-5, atol=1e-9)


def with_size(one: Problem, joint: int, column: int, size: float, sigma: Array) -> HierarchicalPosterior:
    """Return the posterior with one own unknown of another size: its column is as much larger."""
    grown = [each.copy() for each in one.C]
    grown[joint][:, column] *= size / LAMBDA[column]
    return fixed(Problem(one.A, grown, one.y, one.x, one.z), roots(0), sigma, np.ones(len(one.y)))


@pytest.mark.parametrize("rows", [2, 12])
@pytest.mark.parametrize("seed", range(3))
def test_a_rare_size_is_the_mixture_of_two_posteriors(seed: int, rows: int) -> None:
    """One unknown that may be large, against the law of total variance over two regressions."""
    one, sigma = problem(seed, rows=rows), np.array([0.1, 0.2])
    joint, column, large, share = 1, 2, 6.0, 0.3
    usual, other = fixed(one, roots(0), sigma, np.ones(2)), with_size(one, joint, column, large, sigma)
    scale = np.ones(len(usual.mean))
    scale[SHARED + joint * len(KINDS) + column] = large / LAMBDA[column]
    means = np.array([usual.mean, scale * other.mean])
    covariances = [usual.covariance, np.outer(scale, scale) * other.covariance]
    weights = np.array([1.0 - share, share]) * np.exp([0.0, other.evidence - usual.evidence])
    total = weights.sum()
    weights /= total
    found = usual.moments([Rare(column, share, np.array([0.0, large]))])
    assert found.evidence - usual.evidence == pytest.approx(np.log(total), rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(found.mean, weights @ means, rtol=1e-6, atol=1e-9)
    away = means - weights @ means
    expected = sum(w * each for w, each in zip(weights, covariances, strict=True)) + (away.T * weights) @ away
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("push", [0.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_rare_sizes_are_the_mixture_of_all_combinations(seed: int, push: float) -> None:
    """Three unknowns that may be large, two of them of one joint and much alike, against all eight regressions.

    Few rows that are far from what the usual sizes explain make posteriors of single unknowns that lie far apart; what
    one of them could be must then not count as evidence for another one.
    """
    one, sigma = problem(seed, rows=3), np.array([0.1, 0.2])
    one.C[1][:, 2] = one.C[1][:, 0] + 0.2 * one.C[1][:, 2]
    one.y[1][:] += push * one.C[1][:, 0]
    rare = [Rare(2, 0.3, np.array([6.0, 7.0])), Rare(0, 0.1, np.array([0.0, 5.0]))]
    unknowns = [(0, 2, 6.0, 0.3), (1, 2, 7.0, 0.3), (1, 0, 5.0, 0.1)]
    usual = fixed(one, roots(0), sigma, np.ones(2))
    found = usual.moments(rare)
    weights, means, covariances = [], [], []
    for chosen in product([False, True], repeat=3):
        grown, scale, share = [each.copy() for each in one.C], np.ones(len(usual.mean)), 0.0
        for (joint, column, large, often), some in zip(unknowns, chosen, strict=True):
            factor = large / LAMBDA[column] if some else 1.0
            grown[joint][:, column] *= factor
            scale[SHARED + joint * len(KINDS) + column] = factor
            share += np.log(often if some else 1.0 - often)
        each = fixed(Problem(one.A, grown, one.y, one.x, one.z), roots(0), sigma, np.ones(2))
        weights.append(share + each.evidence - usual.evidence)
        means.append(scale * each.mean)
        covariances.append(np.outer(scale, scale) * each.covariance)
    total = np.logaddexp.reduce(weights)
    likely, mean = np.exp(np.array(weights) - total), np.array(means)
    assert found.evidence - usual.evidence == pytest.approx(total, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(found.mean, likely @ mean, rtol=1e-5, atol=1e-7)
    away = mean - likely @ mean
    expected = sum(w * each for w, each in zip(likely, covariances, strict=True)) + (away.T * likely) @ away
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-5, atol=1e-7)


def test_a_rare_size_that_is_no_larger_changes_nothing() -> None:
    usual = fixed(problem(1), roots(0), np.array([0.1, 0.2]), np.ones(2))
    found = usual.moments([Rare(2, 0.3, np.array([0.0, LAMBDA[2]]))])
    assert found.evidence == usual.evidence
    np.testing.assert_array_equal(found.mean, usual.mean)
    np.testing.assert_array_equal(found.covariance, usual.covariance)


def test_joints_that_show_theirs_say_how_many_are_large() -> None:
    rare = Rare(0, 0.2, np.ones(3), counts=1.0)
    nothing, none_left = np.zeros(3), np.zeros(3)
    assert rare.share_after(nothing, np.ones(3)) == pytest.approx(0.2)  # nobody shows theirs
    assert rare.share_after(np.full(3, -50.0), none_left) == pytest.approx(0.2 / 4.0)
    assert rare.share_after(np.full(3, 50.0), none_left) == pytest.approx(3.2 / 4.0)
    apart = Rare(0, 0.2, np.ones(3))
    assert apart.share_after(np.full(3, 50.0), none_left) == 0.2


@pytest.mark.parametrize(("others", "share"), [(0.0, 1.0), (30.0, MOST_POOLED)])
def test_what_joints_have_alike_is_as_large_as_others_show(others: float, share: float) -> None:
    """A joint that does not show its own unknown keeps the least size, changed by those that show theirs."""
    made = problem(rows=400, joints=20, size=np.array([0.0, 0.0, others]))
    hidden = made.C[-1].copy()
    hidden[:, 2] = 0.0
    y = [*made.y[:-1], made.A[-1] @ made.x]
    made = Problem(made.A, [*made.C[:-1], hidden], y, made.x, made.z)
    sizes = {"first": Size(1e-3, 0.3, free=True), "second": Size(1.0, 5.0, free=True, alike=True)}
    found = HierarchicalRegression(made.products, np.ones(20), sizes).solve(np.eye(SHARED), rounds=100)
    assert found.sizes[-1, 2] == pytest.approx(share, rel=0.05)
    apart = {"first": sizes["first"], "second": Size(1.0, 5.0, free=True)}
    alone = HierarchicalRegression(made.products, np.ones(20), apart).solve(np.eye(SHARED), rounds=100)
    assert alone.sizes[-1, 2] == pytest.approx(1.0, rel=0.05)
