"""What was recorded: the extent of motions, over all runs together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Samples
from counterpoise.foundation import Array
from counterpoise.identification.fitted_recordings import survey_recordings, waves
from counterpoise.identification.runs import FittedRun

ARM = cp.load("planar3")
V0 = 0.05


def run_of(begin: float, ups: Array, downs: Array) -> FittedRun:
    """A run in which every joint goes up with one speed for a while, and down with another."""
    count = 400
    time = begin + 0.01 * np.arange(count)
    dq = np.where((np.arange(count) < 200)[:, None], ups, -downs)
    q = 0.2 + np.cumsum(0.01 * dq, axis=0)
    tau = ARM.gravity(q) + np.array([1.0, 2.0, 3.0])
    return FittedRun(Samples(ARM.joint_names, time, q, dq, np.zeros_like(q), tau, np.full(3, V0)))


def test_the_extent_is_that_of_all_runs() -> None:
    """Limits, sizes and means by numpy; a joint reverses where it is faster than v0 to both sides."""
    runs = [
        run_of(0.0, np.array([0.3, 0.3, 0.6 * V0]), np.array([0.3, 0.6 * V0, 0.3])),
        run_of(10.0, np.array([0.2, 0.4, 0.6 * V0]), np.array([0.1, 0.6 * V0, 0.2])),
    ]
    model = SimpleNamespace(robot=ARM, gains=lambda x: np.array([1.0, 2.0, 1.0]))
    recorded: Any = SimpleNamespace(
        model=model, x=np.zeros(1), numbered=lambda: [(0, runs[0], None), (1, runs[1], None)]
    )
    poses, extent, (rows, rests) = survey_recordings(recorded)
    samples = [chunk for run in runs for chunk in run.chunks()]
    q, dq, tau = (np.concatenate([getattr(one, name) for one in samples]) for name in ("q", "dq", "tau"))
    assert (rows, rests) == (len(q), 0)
    assert extent.reverses.tolist() == [True, False, False]
    assert extent.lower == pytest.approx(q.min(axis=0)) and extent.upper == pytest.approx(q.max(axis=0))
    assert extent.speed == pytest.approx(np.sqrt(np.mean(dq**2, axis=0)))
    assert extent.effort == pytest.approx(np.sqrt(np.mean(tau**2, axis=0)))
    assert extent.variation == pytest.approx(tau.std(axis=0), abs=1e-9)
    assert extent.centre == pytest.approx(np.array([each.mean(axis=0) for each in (q, *waves(q))]))
    assert extent.weight == pytest.approx(np.sqrt(np.mean((ARM.gravity(poses) * [1.0, 2.0, 1.0]) ** 2, axis=0)))
    assert np.array(extent.times) == pytest.approx(np.array([[0.0, 3.99], [10.0, 13.99]]))
