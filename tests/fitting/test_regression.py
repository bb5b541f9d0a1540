"""Joint by joint least squares in constant memory: the same numbers as all rows at once, honest noise and errors."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.fitting import Gaussian, JointRegression, Solution, solve
from counterpoise.fitting.regression import pooled_noise

Array = npt.NDArray[np.float64]

JOINTS, COLUMNS = ("a", "b", "c"), ("p", "q", "r", "s")
SIGMA = np.array([0.02, 0.3, 2.0])
TRUTH = np.array([1.0, -2.0, 0.5, 3.0])


def made(seed: int, k: int, sigma: Array = SIGMA) -> tuple[Array, Array]:
    """Rows and torques with noise of another size on every joint."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k, 3, 4)) * np.array([1.0, 5.0, 0.1, 1.0])
    A[:, 2, 1] = 0.0  # the last joint does not see the second number
    return A, A @ TRUTH + sigma * rng.normal(size=(k, 3))


def accumulated(A: Array, y: Array, weight: Array | None = None) -> JointRegression:
    regression = JointRegression(JOINTS, COLUMNS)
    regression.add(A, y, weight)
    return regression


def reference(A: Array, y: Array, sigma: Array) -> tuple[Array, Array]:
    """Estimate and covariance of generalised least squares with all rows at once."""
    rows = (A / sigma[:, None]).reshape(-1, A.shape[2])
    x, *_ = np.linalg.lstsq(rows, (y / sigma).ravel(), rcond=None)
    return x, np.linalg.inv(rows.T @ rows)


def test_given_noise_gives_generalised_least_squares() -> None:
    A, y = made(1, 50)
    found = solve(accumulated(A, y), sigma=SIGMA)
    x, covariance = reference(A, y, SIGMA)
    np.testing.assert_allclose(found.x, x, rtol=1e-11)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.information, np.linalg.inv(covariance), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(found.residual_rms, np.sqrt(np.mean((y - A @ x) ** 2, axis=0)), rtol=1e-9)
    assert (found.rank, found.undetermined.shape) == (4, (4, 0))
    np.testing.assert_allclose(found.std, np.sqrt(np.diag(covariance)), rtol=1e-9)
    np.testing.assert_allclose(
        found.predicted_std(A[0]), np.sqrt(np.einsum("ip,pq,iq->i", A[0], covariance, A[0])), rtol=1e-9
    )


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 60), max_size=6), seed=st.integers(0, 1000))
def test_any_division_into_blocks_gives_the_same_factor(cuts: list[int], seed: int) -> None:
    """However the rows arrive, one by one or in bulk, RᵀR is the same."""
    A, y = made(seed, 60)
    whole = accumulated(A, y)
    edges = [0, *sorted(cuts), 60]
    one = JointRegression(JOINTS, COLUMNS)
    for start, end in pairwise(edges):
        one.add(A[start:end], y[start:end])
    for joint in range(3):
        gram = whole.factor(joint).T @ whole.factor(joint)
        np.testing.assert_allclose(one.factor(joint).T @ one.factor(joint), gram, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(one.rows, whole.rows)


def test_long_recordings_lose_no_digits() -> None:
    """Columns of very different size, far more rows than a block: as exact as one QR of everything."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(30_000, 1, 4)) * np.array([1e3, 1.0, 1e-3, 1.0])
    A[:, 0, 3] = A[:, 0, 1] + 1e-5 * rng.normal(size=30_000)  # normal equations would lose ten digits here
    y = A @ TRUTH
    regression = JointRegression(("a",), COLUMNS)
    regression.add(A, y)
    np.testing.assert_allclose(solve(regression, sigma=[1.0]).x, TRUTH, rtol=1e-9)


def test_noise_is_found_per_joint() -> None:
    """σ comes out though it differs a hundredfold, and x is that of the true weights; unpooled it has no bias."""
    A, y = made(2, 400)
    found = solve(accumulated(A, y))
    np.testing.assert_allclose(found.sigma, SIGMA, rtol=0.2)
    np.testing.assert_allclose(solve(accumulated(A, y), pooling=0.0).sigma, SIGMA, rtol=0.1)
    x, covariance = reference(A, y, SIGMA)
    assert np.all(np.abs(found.x - x) < 0.2 * np.sqrt(np.diag(covariance)))
    assert np.all(np.abs(found.x - TRUTH) < 4.0 * found.std)
    np.testing.assert_allclose(found.freedom.sum(), 3 * 400 - 4, rtol=1e-6)


def test_few_rows_share_one_noise_level() -> None:
    """With infinite pooling the noises keep the expected ratios; with two rows a joint they stay bounded from below."""
    A, y = made(4, 60)
    pooled = solve(accumulated(A, y), pooling=np.inf, relative_sigma=[1.0, 2.0, 4.0])
    np.testing.assert_allclose(pooled.sigma / pooled.sigma[0], [1.0, 2.0, 4.0], rtol=1e-9)
    A, y = made(5, 2, sigma=np.full(3, 0.5))
    few = solve(accumulated(A, y))
    assert few.sigma.min() > 0.3 * few.sigma.max()


def test_without_a_spare_row_the_noise_is_taken_as_large_as_the_signal() -> None:
    """Four numbers from three rows fit anything: small residuals must not look like precision."""
    A, y = made(6, 1)
    found = solve(accumulated(A, y))
    assert found.rank == 3
    assert found.sigma.max() >= np.abs(y).max()


def test_a_prior_is_weighed_by_its_precision() -> None:
    """The MAP estimate solves (I + WᵀW) x = Aᵀ Σ⁻¹ y + WᵀW x₀; information stays the data's alone."""
    A, y = made(7, 10)
    mean = np.array([1.1, -2.2, 0.0, 2.5])
    root = np.random.default_rng(8).normal(size=(6, 4))
    found = solve(accumulated(A, y), prior=Gaussian(mean, root), sigma=SIGMA)
    rows = (A / SIGMA[:, None]).reshape(-1, 4)
    precision = rows.T @ rows + root.T @ root
    x = np.linalg.solve(precision, rows.T @ (y / SIGMA).ravel() + root.T @ root @ mean)
    np.testing.assert_allclose(found.x, x, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(precision), rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(found.information, rows.T @ rows, rtol=1e-9, atol=1e-9)


def test_a_prior_from_a_covariance() -> None:
    """It has the precision that it stands for; an infinite variance gives none."""
    mean = np.zeros(3)
    spread = np.array([[4.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, np.inf]])
    made_from = Gaussian.from_covariance(mean, spread)
    np.testing.assert_allclose(made_from.root.T @ made_from.root, np.pad(np.linalg.inv(spread[:2, :2]), (0, 1)))
    with pytest.raises(InputError, match="positive definite"):
        Gaussian.from_covariance(mean, np.diag([1.0, 0.0, 1.0]))
    with pytest.raises(InputError, match="its root"):
        Gaussian(mean, np.eye(2))


def test_autocorrelation_makes_samples_count_less() -> None:
    """Rows given 25 times over and an autocorrelation time of 25 are as good as rows given once."""
    A, y = made(9, 40)
    prior = Gaussian.from_covariance(np.zeros(4), 0.5**2 * np.eye(4))
    once = solve(accumulated(A, y), prior=prior)
    often = solve(
        accumulated(np.tile(A, (25, 1, 1)), np.tile(y, (25, 1))), prior=prior, autocorrelation_time=np.full(3, 25.0)
    )
    np.testing.assert_allclose(often.x, once.x, rtol=1e-6)
    np.testing.assert_allclose(often.sigma, once.sigma, rtol=1e-3)
    np.testing.assert_allclose(often.covariance, once.covariance, rtol=1e-2)


def test_weights_scale_the_information() -> None:
    """A row of weight 4 is four rows; a row of weight 0 is none."""
    A, y = made(10, 20)
    weight = np.ones((20, 3))
    weight[:5] = 4.0
    weight[5:8] = 0.0
    repeated = np.concatenate([np.tile(A[:5], (4, 1, 1)), A[8:]]), np.concatenate([np.tile(y[:5], (4, 1)), y[8:]])
    weighted, expected = accumulated(A, y, weight), accumulated(*repeated)
    np.testing.assert_allclose(solve(weighted, sigma=SIGMA).x, solve(expected, sigma=SIGMA).x, rtol=1e-10)
    np.testing.assert_array_equal(weighted.rows, [17, 17, 17])


def test_unmeasured_torques_are_skipped() -> None:
    """NaN leaves a row out; a joint that is NaN throughout has no noise and no residual, and disturbs nothing."""
    A, y = made(11, 30)
    y[3, 0] = np.nan
    y[:, 1] = np.nan
    regression = accumulated(A, y)
    np.testing.assert_array_equal(regression.rows, [29, 0, 30])
    found = solve(regression)
    np.testing.assert_array_equal(np.isnan(found.sigma), [False, True, False])
    np.testing.assert_array_equal(np.isnan(found.residual_rms), [False, True, False])
    assert np.all(np.abs(found.x - TRUTH) < 5.0 * found.std)


def test_what_is_not_determined_is_flagged() -> None:
    """Two equal columns: the rank is one short, their difference open, its errors infinite, the rest exact."""
    A, _ = made(12, 30)
    A[:, :, 3] = A[:, :, 0]
    found = solve(accumulated(A, A @ TRUTH), sigma=SIGMA)
    assert (found.rank, found.condition) == (3, np.inf)
    np.testing.assert_allclose(np.abs(found.undetermined[:, 0]), [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], atol=1e-9)
    np.testing.assert_array_equal(np.isinf(found.std), [True, False, False, True])
    np.testing.assert_allclose(found.x[0] + found.x[3], TRUTH[0] + TRUTH[3], rtol=1e-10)
    np.testing.assert_allclose(found.x[1:3], TRUTH[1:3], rtol=1e-9)
    assert np.isinf(found.predicted_std(np.array([1.0, 0.0, 0.0, 0.0])))
    assert np.isfinite(found.predicted_std(np.array([1.0, 0.0, 0.0, 1.0])))


def test_a_prior_fills_what_the_data_leave_open() -> None:
    """The rank stays the data's, but nothing is undetermined and the open direction keeps the prior's mean."""
    A, _ = made(13, 30)
    A[:, :, 3] = A[:, :, 0]
    prior = Gaussian.from_covariance([0.5, 0.0, 0.0, 0.9], 10.0**2 * np.eye(4))
    found = solve(accumulated(A, A @ TRUTH), prior=prior, sigma=1e-3 * SIGMA)
    assert (found.rank, found.undetermined.shape) == (3, (4, 0))
    assert found.x[0] - found.x[3] == pytest.approx(0.5 - 0.9, abs=1e-6)
    assert np.all(np.isfinite(found.std))


def test_data_without_noise_do_not_divide_by_zero() -> None:
    A, _ = made(14, 30)
    found = solve(accumulated(A, A @ TRUTH))
    np.testing.assert_allclose(found.x, TRUTH, rtol=1e-10)
    assert np.all(found.sigma > 0.0)
    nothing = solve(accumulated(A, np.zeros((30, 3))))
    np.testing.assert_array_equal(nothing.x, np.zeros(4))


def test_memory_does_not_grow_with_the_recording() -> None:
    """Fifty blocks later the workspace is that of one."""
    A, y = made(15, 500)
    regression = accumulated(A, y)
    tracemalloc.start()
    for _ in range(50):
        regression.add(A, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert regression.rows[0] == 51 * 500
    assert peak < 20 * A[:, 0].nbytes


def solved(**arguments: object) -> Solution:
    A, y = made(16, 10)
    return solve(accumulated(A, y), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"sigma": [1.0, 2.0]}, "expected 3 finite numbers"),
        ({"sigma": [1.0, 0.0, 1.0]}, "> 0"),
        ({"autocorrelation_time": [0.5, 1.0, 1.0]}, "expected 3 finite numbers ≥ 1"),
        ({"relative_sigma": [1.0, np.nan, 1.0]}, "relative_sigma"),
        ({"pooling": -1.0}, "pooling"),
        ({"prior": Gaussian.from_covariance([0.0], [[1.0]])}, "the prior is for 1 numbers; expected 4"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        solved(**arguments)


def test_wrong_data_are_refused() -> None:
    """Shapes that do not fit, rows that are no numbers, infinite torques, negative weights, no data at all."""
    A, y = made(17, 5)
    with pytest.raises(InputError, match="do not fit"):
        accumulated(A[:, :2], y)
    bad = A.copy()
    bad[2, 1, 3] = np.nan
    with pytest.raises(InputError, match="row 2 of joint 'b' has nan in column 's'"):
        accumulated(bad, y)
    torques = y.copy()
    torques[4, 2] = -np.inf
    with pytest.raises(InputError, match="joint 'c' in row 4 is infinite"):
        accumulated(A, torques)
    with pytest.raises(InputError, match="a weight is negative"):
        accumulated(A, y, np.full((5, 3), -1.0))
    with pytest.raises(InputError, match="no measured torques"):
        solve(accumulated(A, np.full((5, 3), np.nan)))
    with pytest.raises(InputError, match="at least one of each"):
        JointRegression((), COLUMNS)


def test_columns_that_show_later_are_taken_up() -> None:
    """Rows in pieces, with a column more in each, give the products of all rows at once; so does every order."""
    rng = np.random.default_rng(8)
    pieces = []
    for shown in ([1], [0, 1], [1, 3], [0, 2, 3]):
        A = np.zeros((5, 1, 4))
        A[:, :, shown] = rng.normal(size=(5, 1, len(shown)))
        pieces.append((A, rng.normal(size=(5, 1))))
    whole = np.concatenate([np.column_stack([A[:, 0], y]) for A, y in pieces])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        regression = JointRegression(("a",), ("p", "q", "r", "s"))
        for piece in order:
            regression.add(*pieces[piece])
        factor = regression.factor(0)
        np.testing.assert_allclose(factor.T @ factor, whole.T @ whole, atol=1e-12)


NOISE = {"ratio": np.array([1.0, 4.0, 0.5]), "before": np.array([0.1, 0.2, 0.3]), "signal": 7.0}


def test_without_a_spare_sample_the_noise_is_as_large_as_the_signal() -> None:
    """As many unknowns as samples: no residual shows it, whatever it is."""
    fitted = np.array([2.0, 5.0, 1.0])
    for spare in (0.0, 0.1):
        found = pooled_noise(np.full(3, 0.5), fitted, fitted + spare, pooling=2.0, **NOISE)
        assert found == pytest.approx(7.0 * NOISE["ratio"] / 4.0)


def test_levels_are_pooled_over_every_joint_that_has_samples() -> None:
    """Their mean is that of the logarithms, over joints with however few samples; with none a joint takes the mean."""
    ratio, before = NOISE["ratio"], NOISE["before"]
    squares, fitted, samples = np.array([3.0, 0.0, 2.0]), np.array([0.1, 0.0, 2.0]), np.array([0.6, 0.0, 50.0])
    common = np.exp(np.mean(np.log((before / ratio)[[0, 2]] ** 2)))
    found = pooled_noise(squares, fitted, samples, pooling=3.0, **NOISE)
    freedom = samples - fitted
    assert found == pytest.approx(np.sqrt((squares + 3.0 * common * ratio**2) / (freedom + 3.0)))
    assert found[1] == pytest.approx(np.sqrt(common) * ratio[1])
    one = pooled_noise(squares, fitted, samples, pooling=np.inf, **NOISE)
    assert one == pytest.approx(ratio * np.sqrt(np.sum(squares / ratio**2) / np.sum(freedom)))
