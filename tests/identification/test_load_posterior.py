"""The posterior of the loads: what is expected of any recording, and what is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from counterpoise.identification.load_posterior import LoadPosterior
from counterpoise.identification.nuisances import GAIN, SIZES


def test_a_drift_as_of_any_recording_moves_no_load() -> None:
    """What is expected beforehand does not count; what is more grows evenly to both ends, so 1/√3 of it, rms."""
    kinds = ("position", "drift", "drift")
    p, width, least = 2, len(kinds), SIZES["drift"].least
    model = SimpleNamespace(names=(), active=np.array([True, True]))
    nuisances = SimpleNamespace(kinds=kinds, weight=np.array([3.0, 5.0]))
    rows = np.random.default_rng(0).normal(size=(4, 2, p + GAIN + 1))
    for more in (0.0, 0.3):
        size = p + 2 * width
        made: Any = SimpleNamespace(
            model=model,
            nuisances=nuisances,
            mean=np.full(size, more),
            covariance=least**2 * np.eye(size),
        )
        found = LoadPosterior._drifting(made, rows, 1)
        assert found[:, 0] == pytest.approx(np.full(4, 5.0 * more / np.sqrt(3.0)), abs=1e-9)
        assert found[:, 1] == pytest.approx(rows[:, 1, p + GAIN] * more / np.sqrt(3.0), abs=1e-9)
