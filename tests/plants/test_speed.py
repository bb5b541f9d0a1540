"""Speed against real time, best of several runs. The bounds are half of what is asked for: the machine may be busy."""

from __future__ import annotations

import time

import numpy as np
import pytest

from counterpoise.plants.base import SimulatedPlant
from counterpoise.plants.kernel import NATIVE
from counterpoise.plants.presets import preset

pytestmark = pytest.mark.skipif(not NATIVE, reason="the native steppers were not built")


def times_real_time(plant: SimulatedPlant, command: np.ndarray, ticks: int, runs: int) -> float:
    best = 0.0
    with plant:
        for _ in range(runs):
            start = time.perf_counter()
            for _ in range(ticks):
                plant.write(command)
            best = max(best, ticks * plant.period / (time.perf_counter() - start))
    return best


def test_puma_with_all_effects() -> None:
    """Asked for: 5 times real time on one core (found: 18)."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    arm = preset("puma550", "50Hz").arm()
    assert times_real_time(arm, arm.robot.gravity(arm.truth().q), 100, 5) > 2.5


def test_single_joint() -> None:
    """Asked for: 100 times real time (found: 130)."""
    assert times_real_time(preset("puma550", "50Hz").single_joint(), np.array([3.0]), 600, 5) > 50.0
