"""Outliers lose their pull, and good data lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from counterpoise.fitting import (
    BEND,
    Block,
    Gaussian,
    JointRegression,
    hampel_weight,
    huber_weight,
    solve,
    solve_robust,
)
from counterpoise.fitting.robust import HUBER, HUBER_CONSISTENCY, REJECT

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
    """Five per cent of wrong rows: as good as without them, while plain least squares is far off."""
    A, y = made(1000, 0.05, size)
    found = solve_robust(blocks_of(A, y), JOINTS, COLUMNS)
    std = found.std
    assert np.max(np.abs(plain(A, y) - TRUTH) / std) > 4.0
    assert np.max(np.abs(found.x - TRUTH) / std) < 3.0
    np.testing.assert_allclose(found.sigma, 1.19 * SIGMA, rtol=0.1)  # what five per cent do to the proposal


def test_the_weights_fall_with_the_size_of_a_residual() -> None:
    """Both are 1 up to HUBER; Huber's bounds the pull, weight times size; Hampel's ends it at REJECT."""
    size = np.linspace(0.0, 2.0 * REJECT, 201)
    for weight in (huber_weight(size), hampel_weight(size)):
        assert np.all(weight[size <= HUBER] == 1.0) and np.all(np.diff(weight) <= 0.0)
        assert np.all(weight * size <= HUBER + 1e-12)
    assert np.all(hampel_weight(size)[size >= REJECT] == 0.0) and np.all(huber_weight(size) > 0.0)
    np.testing.assert_array_equal(hampel_weight(size[size <= BEND]), huber_weight(size[size <= BEND]))


def test_good_data_keep_their_weight() -> None:
    """Noise with short tails, as friction leaves it, gives the plain estimate; σ is consistent for normal noise."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(200, 2, 3))
    y = A @ TRUTH + SIGMA * rng.uniform(-1.0, 1.0, (200, 2))
    found = solve_robust(blocks_of(A, y), JOINTS, COLUMNS)
    np.testing.assert_allclose(found.x, plain(A, y), rtol=1e-3)
    A, y = made(4000, 0.0, 0.0)
    np.testing.assert_allclose(solve_robust(blocks_of(A, y), JOINTS, COLUMNS).sigma, SIGMA, rtol=0.05)


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
    assert found.rank == 2


def test_prior_weights_and_missing_torques_pass_through() -> None:
    A, y = made(300, 0.0, 0.0)
    y[:10, 0] = np.nan
    weight = np.ones(y.shape)
    weight[10:20] = 0.0
    prior = Gaussian.from_covariance(TRUTH, 1e-6**2 * np.eye(3))
    found = solve_robust(lambda: iter([(A, y, weight)]), JOINTS, COLUMNS, prior=prior)
    np.testing.assert_allclose(found.x, TRUTH, atol=1e-4)
    np.testing.assert_array_equal(found.rows, [280, 290])
