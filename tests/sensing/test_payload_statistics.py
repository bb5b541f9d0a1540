"""What a held pose tells of the arm, the plate and a load."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.foundation import Array
from counterpoise.sensing.payload_statistics import DRIFT_STD, Baseline, Sums, baseline_of, places_of


def test_the_plate_s_zero_drifts_by_the_minute() -> None:
    """After t minutes a reading is as much less sure as a zero that has moved by t DRIFT_STD, and no joint is."""
    robot = cp.load("wam4")
    n, scatter = robot.n, np.array([0.2, 0.3, 0.4, 0.05, 0.06, 0.07])
    baseline = baseline_of(places_of(robot), band=np.ones(n), scatter=np.ones(n), wrench_std=scatter)
    q = np.array([0.3, -0.5, 0.2, 1.0])
    tau, wrench = robot.gravity(q), robot.base_wrench(q)

    def expected_square(minutes: float, used: bool) -> float:
        """Return the variance of all that was measured, in units of its own scatter, summed."""
        rows = np.full(n, used)
        return float(np.trace(baseline.sums(q, tau, wrench=wrench, time=60.0 * minutes, used=rows).information))

    for minutes in (1.0, 3.0, -2.0):
        more = np.sum((minutes * DRIFT_STD / scatter) ** 2)
        for used in (False, True):
            assert expected_square(minutes, used) - expected_square(0.0, used) == pytest.approx(more, rel=1e-6)


def with_loads(rng: np.random.Generator, size: int, places: int) -> Baseline:
    """A baseline of so many unknowns, and loads at so many places; what else it holds is not looked at."""
    known = baseline_of(places_of(cp.load("wam4")), band=np.ones(4), scatter=np.ones(4), wrench_std=np.ones(6))
    return dataclasses.replace(known, root=np.eye(size), loads=rng.normal(size=(size, 4 * places)))


def sums_of(H: Array, residual: Array) -> Sums:
    return Sums(H.T @ H, H.T @ residual, np.asarray(residual @ residual), np.asarray(float(len(H))), np.zeros(()))


def log_normal(residual: Array, covariance: Array) -> float:
    """Logarithm of a normal density, without the part of 2π."""
    return float(-0.5 * residual @ np.linalg.solve(covariance, residual) - 0.5 * np.linalg.slogdet(covariance)[1])


@pytest.mark.parametrize("seed", range(3))
def test_evidence_of_an_empty_arm_is_a_normal_density(seed: int) -> None:
    """Residuals H z + e with z and e of unit covariance have the covariance 1 + H Hᵀ; no row, no evidence."""
    rng = np.random.default_rng(seed)
    baseline = with_loads(rng, 5, 2)
    H, residual = rng.normal(size=(8, 5)), 2.0 * rng.normal(size=8)
    assert float(baseline.log_empty(sums_of(H, residual))) == pytest.approx(log_normal(residual, np.eye(8) + H @ H.T))
    assert float(baseline.log_empty(sums_of(H[:0], residual[:0]))) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_information_about_a_load_is_a_ratio_of_densities(seed: int) -> None:
    """tᵀp − ½ pᵀ S p is by how much a load p explains the loaded poses better, the baseline integrated out."""
    rng = np.random.default_rng(10 + seed)
    baseline, places = with_loads(rng, 5, 2), 2
    H, residual = rng.normal(size=(9, 5)), 2.0 * rng.normal(size=9)
    total, loaded = sums_of(H, residual), sums_of(H[4:], residual[4:])
    S, t = baseline.load_information(total, loaded)
    covariance = np.eye(9) + H @ H.T
    for place in range(places):
        load = rng.normal(size=4)
        felt = H @ baseline.loads[:, 4 * place : 4 * place + 4] @ load
        felt[:4] = 0.0
        gained = log_normal(residual - felt, covariance) - log_normal(residual, covariance)
        assert t[place] @ load - 0.5 * load @ S[place] @ load == pytest.approx(gained)
