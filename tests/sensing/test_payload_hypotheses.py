"""The evidence of a load against a direct numerical integral."""

from __future__ import annotations

import numpy as np

from counterpoise.sensing.payload_estimate import (
    LEAST_MASS,
    evidence_bound,
    largest_mass,
    link_evidence,
    log_evidence,
)


def problem(seed: int, strength: float):
    random = np.random.default_rng(seed)
    A = random.normal(size=(10, 4)) * strength
    p = np.array([1.3, 0.05, -0.1, 0.2])
    r = A @ p + random.normal(size=10)
    return A.T @ A, A.T @ r, np.array([[0.05, 0.0, 0.1]]), np.array([0.25])


def sampled(S, t, centre, radius, max_mass, count=400_000):
    """Average the likelihood ratio over loads drawn from the prior."""
    random = np.random.default_rng(7)
    mass = np.exp(random.uniform(np.log(LEAST_MASS), np.log(max_mass), count))
    c = centre[0] + radius[0] / np.sqrt(5.0) * random.normal(size=(count, 3))
    p = np.column_stack([mass, mass[:, None] * c])
    logs = p @ t - 0.5 * np.einsum("ki,ij,kj->k", p, S, p)
    weight = np.exp(logs - logs.max())
    mean = weight @ p / weight.sum()
    return logs.max() + np.log(weight.mean()), mean, np.sqrt(weight @ (mass - mean[0]) ** 2 / weight.sum())


def test_evidence_mass_and_deviation_against_sampling() -> None:
    """The closed form over the moments and the grid over the mass agree with 400,000 drawn loads."""
    for seed, strength in ((0, 0.5), (1, 2.0), (2, 5.0)):
        S, t, centre, radius = problem(seed, strength)
        found = link_evidence(S[None], t[None], centre, radius, 8.0)
        log, mean, std = sampled(S, t, centre, radius, 8.0)
        assert abs(found.log_evidence[0] - log) < 0.05
        np.testing.assert_allclose([found.mass[0], *found.moment[0]], mean, atol=0.05 * max(std, 0.1))
        assert abs(found.mass_std[0] / std - 1.0) < 0.1
        assert np.allclose(log_evidence(S[None], t[None], centre, radius, 8.0), found.log_evidence)


def test_bound_is_never_below_the_evidence() -> None:
    """The cheap bound that saves most looks must never hide a load."""
    for seed in range(50):
        S, t, centre, radius = problem(seed, 10.0 ** np.random.default_rng(seed).uniform(-1, 1.5))
        assert evidence_bound(S[None], t[None])[0] > log_evidence(S[None], t[None], centre, radius, 8.0)[0]


def test_a_narrow_peak_between_two_masses_is_found() -> None:
    """A mass known to 0.1 % lies between the points of the coarse grid and is found all the same."""
    S = np.diag([1e6, 1e4, 1e4, 1e4])
    p = np.array([1.2345, 0.01, 0.02, 0.03])
    found = link_evidence(S[None], (S @ p)[None], np.zeros((1, 3)), np.array([0.3]), 20.0)
    assert abs(found.mass[0] - 1.2345) < 2e-3 and 5e-4 < found.mass_std[0] < 2e-3


def test_a_load_must_have_a_positive_mass_near_its_link() -> None:
    """Data that ask for a negative mass, or for a light load two metres away, are no evidence for a load."""
    S = np.eye(4) * 100.0
    for p in ([-1.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.0, 0.0]):
        t = S @ np.array(p)
        bound = evidence_bound(S[None], t[None])[0]
        assert log_evidence(S[None], t[None], np.zeros((1, 3)), np.array([0.2]), 5.0)[0] < bound - 1.0


def test_the_largest_mass_of_strong_data_is_the_mass() -> None:
    """However strong: the bound goes to the mass itself, and no number overflows."""
    load = np.array([2.0, 0.02, 0.0, 0.0])
    for sharp in (1e3, 1e5, 1e7):
        S = sharp * np.eye(4)[None]
        bound = float(largest_mass(S, S @ load, np.zeros((1, 3)), np.array([0.1]), 10.0)[0])
        assert 2.0 <= bound <= 2.2 + 4.0 / np.sqrt(sharp)
