"""The closed form of the evidence agrees with the density of a multivariate normal distribution."""

from __future__ import annotations

import numpy as np

from counterpoise.doctor.evidence import Observations, posterior

POINTS, SHARED, OWN = 40, 3, 2


def made(seed: int) -> tuple[list[np.ndarray], list[np.ndarray], Observations]:
    random = np.random.default_rng(seed)
    columns = [random.normal(size=(POINTS, SHARED + OWN)) for _ in range(2)]
    common = random.normal(size=SHARED)
    values = [
        block @ np.concatenate([common, random.normal(size=OWN)]) + 0.3 * random.normal(size=POINTS)
        for block in columns
    ]
    observations = Observations(
        block=np.array([block.T @ block for block in columns]) / POINTS,
        pull=np.array([block.T @ value for block, value in zip(columns, values, strict=True)]) / POINTS,
        power=np.array([value @ value for value in values]) / POINTS,
        shared=SHARED,
    )
    return columns, values, observations


def log_density(columns: list[np.ndarray], values: list[np.ndarray], residue: np.ndarray) -> float:
    """Log density of all values, without the constant, from the full covariance."""
    whole = np.zeros((2 * POINTS, SHARED + 2 * OWN))
    for index, block in enumerate(columns):
        rows = slice(index * POINTS, (index + 1) * POINTS)
        whole[rows, :SHARED] = block[:, :SHARED]
        whole[rows, SHARED + OWN * index : SHARED + OWN * (index + 1)] = block[:, SHARED:]
    covariance = whole @ whole.T + np.diag(np.repeat(residue**2, POINTS))
    y = np.concatenate(values)
    return float(-0.5 * (np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)))


def test_the_evidence_is_the_log_density() -> None:
    columns, values, observations = made(0)
    found = posterior(observations, POINTS, np.full(2, 1e-6), np.full(2, 1.0))
    np.testing.assert_allclose(found.evidence, log_density(columns, values, found.residue), rtol=1e-9)


def test_the_residues_are_where_the_evidence_is_largest() -> None:
    columns, values, observations = made(1)
    found = posterior(observations, POINTS, np.full(2, 1e-6), np.full(2, 1.0))
    best = log_density(columns, values, found.residue)
    for factor in ([0.9, 1.0], [1.1, 1.0], [1.0, 0.9], [1.0, 1.1]):
        assert log_density(columns, values, found.residue * factor) < best + 0.02
    np.testing.assert_allclose(found.residue, 0.3, rtol=0.3)


def test_mean_and_covariance_are_those_of_the_posterior() -> None:
    columns, values, observations = made(2)
    found = posterior(observations, POINTS, np.full(2, 0.3), np.full(2, 0.3))
    precision, right = np.eye(SHARED + 2 * OWN), np.zeros(SHARED + 2 * OWN)
    for index, (block, value) in enumerate(zip(columns, values, strict=True)):
        places = [*range(SHARED), *range(SHARED + OWN * index, SHARED + OWN * (index + 1))]
        precision[np.ix_(places, places)] += block.T @ block / found.residue[index] ** 2
        right[places] += block.T @ value / found.residue[index] ** 2
    covariance = np.linalg.inv(precision)
    mean = covariance @ right
    np.testing.assert_allclose(found.shared, mean[:SHARED], rtol=1e-9)
    np.testing.assert_allclose(found.own.ravel(), mean[SHARED:], rtol=1e-9)
    np.testing.assert_allclose(found.shared_covariance, covariance[:SHARED, :SHARED], rtol=1e-9)
    np.testing.assert_allclose(found.own_covariance[1], covariance[SHARED + OWN :, SHARED + OWN :], rtol=1e-9)


def test_fewer_effective_points_widen_the_posterior() -> None:
    _, _, observations = made(3)
    many = posterior(observations, POINTS, np.full(2, 1e-6), np.full(2, 1.0))
    few = posterior(observations, POINTS / 4, np.full(2, 1e-6), np.full(2, 1.0))
    assert np.all(np.diag(few.shared_covariance) > 2.0 * np.diag(many.shared_covariance))
