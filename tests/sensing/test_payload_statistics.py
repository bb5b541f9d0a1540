"""What a held pose tells of the arm, the plate and a load."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing.payload_statistics import DRIFT_STD, baseline_of, places_of


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
