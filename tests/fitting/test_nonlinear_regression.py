"""Gauss–Newton steps end where an independent solver does, with its covariance, and say what nothing determines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import least_squares

from counterpoise.fitting import Gaussian, Linearised, gauss_newton
from counterpoise.foundation import Array

TIME = np.linspace(0.0, 3.0, 200)
TRUE = np.array([2.0, 0.8, -0.5])
NOISE = np.array([0.01, 0.1])


def curves(x: Array) -> Array:
    """Two channels that share a decay, shape (k, 2)."""
    return np.stack([x[0] * np.exp(-x[1] * TIME), np.exp(-x[1] * TIME) + x[2]], axis=1)


def slopes(x: Array) -> Array:
    """Their derivatives, shape (k, 2, 3)."""
    A = np.zeros((len(TIME), 2, 3))
    A[:, 0, 0] = np.exp(-x[1] * TIME)
    A[:, 0, 1] = -TIME * x[0] * np.exp(-x[1] * TIME)
    A[:, 1, 1] = -TIME * np.exp(-x[1] * TIME)
    A[:, 1, 2] = 1.0
    return A


def measured(seed: int) -> Array:
    return curves(TRUE) + NOISE * np.random.default_rng(seed).normal(size=(len(TIME), 2))


def moved(x: Array, step: Array, _: Linearised) -> Array:
    return x + step


@pytest.mark.parametrize("seed", range(3))
def test_it_ends_at_the_least_squares_of_another_solver(seed: int) -> None:
    """With the noise that it finds by itself, which is the true one; and with SciPy's Jacobian for the covariance."""
    y = measured(seed)
    x, solution, _ = gauss_newton(
        np.array([1.0, 0.3, 0.0]),
        lambda at, _: Linearised.plain(slopes(at), y - curves(at)),
        moved,
        rounds=30,
        settled=1e-6,
    )
    assert solution.sigma == pytest.approx(NOISE, rel=0.15)
    other = least_squares(lambda at: ((y - curves(at)) / solution.sigma).ravel(), TRUE, xtol=1e-14)
    np.testing.assert_allclose(x, other.x, atol=1e-7)
    np.testing.assert_allclose(solution.covariance, np.linalg.inv(other.jac.T @ other.jac), rtol=1e-4)
    assert np.all(np.abs(x - TRUE) < 4.0 * solution.std)


def test_a_prior_of_the_step_holds_the_state() -> None:
    """A state that is known far better than the data determine stays; one that is not moves as it would alone."""
    y, prior_std = measured(4), np.array([1e3, 1e-9, 1e3])
    start = np.array([1.0, 0.7, 0.0])

    def linearised(x: Array, _: int) -> Linearised:
        prior = Gaussian(start - x, np.diag(1.0 / prior_std))
        return Linearised(slopes(x), y - curves(x), np.ones(y.shape), NOISE, np.ones(2), prior)

    x, solution, _ = gauss_newton(start, linearised, moved, rounds=20, settled=1e-6)
    assert x[1] == pytest.approx(0.7, abs=1e-7)
    decay = np.exp(-0.7 * TIME)
    assert x[0] == pytest.approx(float(y[:, 0] @ decay / (decay @ decay)), rel=1e-6)
    assert solution.std[1] == pytest.approx(1e-9, rel=1e-3)


def test_what_nothing_determines_stays_and_has_an_infinite_deviation() -> None:
    """An unknown of which only the sum with another one counts keeps half of it, as small as can be."""
    y = measured(5)

    def linearised(x: Array, _: int) -> Linearised:
        left = y - curves(np.array([x[0] + x[3], x[1], x[2]]))
        A = slopes(np.array([x[0] + x[3], x[1], x[2]]))
        return Linearised.plain(np.concatenate([A, A[:, :, :1]], axis=2), left)

    x, solution, _ = gauss_newton(np.array([0.5, 0.5, 0.0, 0.5]), linearised, moved, rounds=30, settled=1e-6)
    assert x[0] == pytest.approx(x[3], rel=1e-9)
    assert x[0] + x[3] == pytest.approx(TRUE[0], rel=0.02)
    assert np.isinf(solution.std).tolist() == [True, False, False, True]


def test_weights_and_steps_are_the_callers() -> None:
    """A row of weight 0 does not count; a step that is cut short is made again in the next round."""
    y = measured(6)
    y[::7] += 50.0
    weight = np.ones(y.shape)
    weight[::7] = 0.0
    rounds: list[int] = []

    def linearised(x: Array, number: int) -> Linearised:
        rounds.append(number)
        return Linearised(slopes(x), y - curves(x), weight, NOISE, np.ones(2))

    x, _, model = gauss_newton(
        TRUE + 0.3,
        linearised,
        lambda x, step, _: x + step * min(1.0, 0.05 / float(np.abs(step).max())),
        rounds=40,
        settled=1e-6,
    )
    np.testing.assert_allclose(x, TRUE, atol=0.05)
    assert model.weight is weight
    assert rounds == list(range(len(rounds)))
    assert len(rounds) > 6


def test_outliers_do_not_pull_a_robust_fit_along() -> None:
    """One reading of ten is wrong by thirty times its noise: the result is that of the others alone."""
    y, clean = measured(7), np.ones((len(TIME), 2), dtype=bool)
    clean[::10] = False
    y[::10] += 30.0 * NOISE

    def fitted(model: Callable[[Array, Array, int], Linearised]) -> Array:
        x, _, _ = gauss_newton(
            TRUE + 0.2,
            lambda at, number: model(slopes(at), y - curves(at), number),
            moved,
            rounds=40,
            settled=1e-6,
            least=6,
        )
        return x

    alone = fitted(lambda A, left, _: Linearised.plain(A, np.where(clean, left, np.nan)))
    robust = fitted(lambda A, left, number: Linearised.robust(A, left, reject=number > 2))
    pulled = fitted(lambda A, left, _: Linearised.plain(A, left))
    assert np.all(np.abs(robust - alone) < [0.002, 0.002, 0.01])  # their standard errors
    assert np.abs(pulled - alone).max() > 0.05
