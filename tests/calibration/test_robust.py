"""Outliers lose their pull, and good data lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from counterpoise.calibration.gaussian import Gaussian
from counterpoise.calibration.regression import JointRegression, solve
from counterpoise.calibration.robust import HUBER, HUBER_CONSISTENCY, Block, solve_robust
from counterpoise.errors import InputError

Array = npt.NDArray[np.float64]

JOINTS, COLUMNS = ("a", "b"), ("p", "q", "r")
TRUTH = np.array([1.0, -2.0, 0.5])
SIGMA = np.array([0.1, 2.0])


def made(k: int, wrong: float, size: float, seed: int = 1) -> tuple[Array, Array]:
    """Rows and torques, a share of them wrong by ``size`` standard deviations, always to the same side."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k, 2, 3))
    noise = rng.normal(size=(k, 2)) + size * (rng.uniform(size=(k, 2)) < wrong)
    return A + 0.5, (A + 0.5) @ TRUTH + SIGMA * noise


def blocks_of(A: Array, y: Array) -> Callable[[], Iterator[Block]]:
    def blocks() -> Iterator[Block]:
        for start in range(0, len(A), 64):
            yield A[start : start + 64], y[start : start + 64], None

    return blocks


def plain(A: Array, y: Array, prior: Gaussian | None = None) -> Array:
    regression = JointRegression(JOINTS, COLUMNS)
    regression.add(A, y)
    return solve(regression, prior=prior).x


@pytest.mark.parametrize("size", [10.0, 100.0])
def test_outliers_lose_their_pull(size: float) -> None:
    """Five per cent of wrong rows: as good as without them, while plain least squares is far off; they are counted."""
    A, y = made(1000, 0.05, size)
    found = solve_robust(blocks_of(A, y), JOINTS, COLUMNS)
    std = found.solution.std
    assert np.max(np.abs(plain(A, y) - TRUTH) / std) > 4.0
    assert np.max(np.abs(found.solution.x - TRUTH) / std) < 3.0
    np.testing.assert_allclose(found.solution.sigma, 1.19 * SIGMA, rtol=0.1)  # what five per cent do to the proposal
    assert np.all((found.outliers > 25) & (found.outliers < 80))


def test_huber_bounds_the_pull() -> None:
    """Without rejection something of it remains, but little."""
    A, y = made(1000, 0.05, 100.0)
    huber = solve_robust(blocks_of(A, y), JOINTS, COLUMNS, loss="huber").solution
    assert np.max(np.abs(huber.x - TRUTH)) < 0.1 * np.max(np.abs(plain(A, y) - TRUTH))


def test_good_data_keep_their_weight() -> None:
    """Noise with short tails, as friction leaves it, gives the plain estimate; σ is consistent for normal noise."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(200, 2, 3))
    y = A @ TRUTH + SIGMA * rng.uniform(-1.0, 1.0, (200, 2))
    found = solve_robust(blocks_of(A, y), JOINTS, COLUMNS)
    np.testing.assert_allclose(found.solution.x, plain(A, y), rtol=1e-3)
    np.testing.assert_array_equal(found.outliers, [0, 0])
    A, y = made(4000, 0.0, 0.0)
    np.testing.assert_allclose(solve_robust(blocks_of(A, y), JOINTS, COLUMNS).solution.sigma, SIGMA, rtol=0.05)


def test_the_consistency_constant() -> None:
    """β = E[min(|u|, c)²] of a standard normal, by quadrature."""
    u = np.linspace(-12.0, 12.0, 200_001)
    density = np.exp(-0.5 * u**2) / np.sqrt(2.0 * np.pi)
    mean = np.sum(np.minimum(np.abs(u), HUBER) ** 2 * density) * (u[1] - u[0])
    assert pytest.approx(mean, abs=1e-5) == HUBER_CONSISTENCY


def test_rejection_never_costs_the_rank() -> None:
    """A number that only the suspicious rows determine stays determined."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(60, 1, 2))
    A[:, 0, 1] = 0.0
    y = A @ np.array([1.0, 0.0]) + 0.01 * rng.normal(size=(60, 1))
    A[0, 0, 1], A[1, 0, 1] = 1.0, 1.0
    y[0, 0], y[1, 0] = y[0, 0] + 5.0, y[1, 0] - 5.0
    found = solve_robust(lambda: iter([(A, y, None)]), ("a",), ("p", "q"))
    assert found.solution.rank == 2


def test_prior_weights_and_missing_torques_pass_through() -> None:
    A, y = made(300, 0.0, 0.0)
    y[:10, 0] = np.nan
    weight = np.ones(y.shape)
    weight[10:20] = 0.0
    prior = Gaussian.from_std(TRUTH, np.full(3, 1e-6))
    found = solve_robust(lambda: iter([(A, y, weight)]), JOINTS, COLUMNS, prior=prior)
    np.testing.assert_allclose(found.solution.x, TRUTH, atol=1e-4)
    np.testing.assert_array_equal(found.solution.rows, [280, 290])


def test_an_unknown_loss_is_refused() -> None:
    A, y = made(10, 0.0, 0.0)
    with pytest.raises(InputError, match="loss must be"):
        solve_robust(blocks_of(A, y), JOINTS, COLUMNS, loss="cauchy")  # type: ignore[arg-type]
