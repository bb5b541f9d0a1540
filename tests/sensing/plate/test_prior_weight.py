"""The prior is held on to as strongly as the data allow."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.fitting import Gaussian, JointRegression
from counterpoise.sensing.plate.regression import PRIOR_WEIGHTS, choose_prior_weight, log_evidence


def data(truth: np.ndarray, noise: float, seed: int = 0) -> tuple[JointRegression, np.ndarray, np.ndarray]:
    """Return a regression of 60 rows of one joint, and the rows themselves."""
    rng = np.random.default_rng(seed)
    regression = JointRegression(["joint"], [f"x{number}" for number in range(len(truth))])
    A = rng.normal(size=(60, 1, len(truth)))
    y = A @ truth + noise * rng.normal(size=(60, 1))
    regression.add(A, y)
    return regression, A[:, 0], y[:, 0]


def prior(prior_weight: float) -> Gaussian:
    return Gaussian.from_covariance(np.full(5, 0.5), np.eye(5) / prior_weight)


@pytest.mark.parametrize("autocorrelation_time", [1.0, 7.0])
def test_the_evidence_is_the_probability_of_the_data(autocorrelation_time: float) -> None:
    """Differences agree with the density of y ~ N(A m, σ² f + A P⁻¹ Aᵀ), computed directly."""
    regression, A, y = data(np.full(5, 0.8), 0.3)
    found, expected = [], []
    for prior_weight in (0.1, 1.0, 30.0):
        found.append(log_evidence(regression, prior(prior_weight), np.array([0.3]), np.array([autocorrelation_time])))
        spread = 0.3**2 * autocorrelation_time * np.eye(60) + A @ A.T / prior_weight
        away = y - A @ np.full(5, 0.5)
        expected.append(-0.5 * (away @ np.linalg.solve(spread, away) + np.linalg.slogdet(spread)[1]))
    assert np.diff(found) == pytest.approx(np.diff(expected), rel=1e-8)


def test_a_true_prior_is_held_on_to_and_a_wrong_one_is_not() -> None:
    """Where the truth is the prior's mean nothing speaks against the strongest; where it lies far off, much does."""
    one = np.ones(1)
    assert choose_prior_weight(data(np.full(5, 0.5), 0.3)[0], prior, 0.3 * one, one) == PRIOR_WEIGHTS[-1]
    near = choose_prior_weight(data(np.full(5, 0.7), 0.3)[0], prior, 0.3 * one, one)
    assert PRIOR_WEIGHTS[0] < near < PRIOR_WEIGHTS[-1]
    assert choose_prior_weight(data(np.full(5, 9.0), 0.3)[0], prior, 0.3 * one, one) < 2.0


def test_few_data_cannot_refute_the_description() -> None:
    """The same data, inflated to count as one sample, leave the prior as strong as it can be."""
    regression = data(np.full(5, 0.8), 0.3)[0]
    weak, strong = (choose_prior_weight(regression, prior, np.array([0.3]), np.array([f])) for f in (1.0, 600.0))
    assert weak < strong == PRIOR_WEIGHTS[-1]
