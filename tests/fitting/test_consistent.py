"""Nearest physically consistent parameters: inside, nearest, and untouched where already real."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import consistent_bodies as consistent
from counterpoise.fitting import is_consistent, nearest_consistent
from counterpoise.fitting.consistent_bodies import pseudo_inertia

BLOCK = np.array([2.0, 0.2, 0.0, 0.1, 0.05, 0.0, 0.06, -0.01, 0.0, 0.07])


def test_a_point_masses_pseudo_inertia_has_its_moments() -> None:
    """J of a point mass m at c is m (c, 1)(c, 1)ᵀ."""
    m, c = 3.0, np.array([0.1, -0.2, 0.3])
    tensor = m * (c @ c * np.eye(3) - np.outer(c, c))
    parameters = np.array([m, *(m * c), *tensor[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]])
    assert np.allclose(pseudo_inertia(parameters[None])[0], m * np.outer([*c, 1.0], [*c, 1.0]))


def test_real_bodies_stay_as_they_are() -> None:
    assert is_consistent(BLOCK[None])
    assert np.array_equal(nearest_consistent(BLOCK, np.eye(10), BLOCK), BLOCK)
    for name in ("wam7", "puma560"):
        bodies = cp.load(name).inertial_parameters[10:].reshape(-1, 10)
        heavy = bodies[bodies[:, 0] > 0.0]
        assert np.all(np.linalg.eigvalsh(pseudo_inertia(heavy)).max(axis=1) > 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_result_is_real_and_no_real_neighbour_is_nearer(seed: int) -> None:
    """Two bodies with a random covariance: random real parameters nearby are all farther from the estimate."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(20, 20)) * 0.02 + 0.05 * np.eye(20)
    covariance = root @ root.T
    start = np.tile(BLOCK, 2)
    estimate = start + rng.multivariate_normal(np.zeros(20), 4.0 * covariance)
    estimate[0] = -0.5  # a negative mass cannot be real
    found = nearest_consistent(estimate, covariance, start)
    assert is_consistent(found.reshape(-1, 10))
    metric = np.linalg.inv(covariance)

    def distance(phi: np.ndarray) -> float:
        return float((phi - estimate) @ metric @ (phi - estimate))

    best = distance(found)
    for _ in range(300):
        size = 10.0 ** rng.uniform(-4.0, 0.0)
        trial = found + size * root @ rng.normal(size=20)
        if is_consistent(trial.reshape(-1, 10)):
            assert distance(trial) > best * (1.0 - 1e-3) - 1e-3


def test_slopes_are_those_of_the_cost() -> None:
    """Gradient and Hessian that Newton's method steps by agree with finite differences of what it makes small."""
    random = np.random.default_rng(4)
    A = random.normal(size=(20, 20))
    metric, estimate, mu = A @ A.T, random.normal(size=20), 0.7
    phi = np.concatenate([BLOCK, 1.5 * BLOCK])
    gradient, hessian = consistent._slopes(phi, estimate, metric, mu)

    def slope(direction: np.ndarray, step: float = 1e-6) -> tuple[float, np.ndarray]:
        """Return how the cost and its gradient change along a direction."""
        ahead, behind = phi + step * direction, phi - step * direction
        costs = [consistent._cost(at, estimate, metric, mu) for at in (ahead, behind)]
        gradients = [consistent._slopes(at, estimate, metric, mu)[0] for at in (ahead, behind)]
        return (costs[0] - costs[1]) / (2.0 * step), (gradients[0] - gradients[1]) / (2.0 * step)

    for direction in np.eye(20):
        rise, turn = slope(direction)
        assert gradient @ direction == pytest.approx(rise, rel=1e-5, abs=1e-5)
        assert hessian @ direction == pytest.approx(turn, rel=1e-4, abs=1e-6 * np.abs(hessian).max())


def test_unknown_parameters_are_refused() -> None:
    bad = BLOCK.copy()
    bad[0] = -1.0
    with pytest.raises(cp.InputError, match="uncertainty"):
        nearest_consistent(bad, np.zeros((10, 10)), BLOCK)
