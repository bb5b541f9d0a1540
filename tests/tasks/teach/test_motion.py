"""Curves and time laws: smooth, at rest at their ends, within speeds and accelerations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.tasks.teach.motion import Curve, CurveMotion

SPEED, ACCELERATION = np.array([0.5, 0.2]), np.array([1.0, 0.5])


def moving_curve() -> Curve:
    """A swing that begins and ends at full speed."""
    time = np.linspace(0.0, 3.0, 301)
    return Curve.smooth(time, np.column_stack([np.sin(2.0 * time), 0.2 * time]))


@pytest.mark.parametrize("speed", [0.3, 1.0, 2.5])
def test_velocities_and_accelerations_are_derivatives(speed: float) -> None:
    """By differences of positions; the whole curve is gone through, from rest to rest."""
    curve = moving_curve()
    motion = CurveMotion(curve, speed)
    time = np.linspace(0.0, motion.duration, 4001)
    q, dq, ddq = motion.at(time)
    step = time[1] - time[0]
    assert (q[2:] - q[:-2]) / (2.0 * step) == pytest.approx(dq[1:-1], abs=2e-4 * speed**2 + 1e-4)
    assert (dq[2:] - dq[:-2]) / (2.0 * step) == pytest.approx(ddq[1:-1], abs=0.1)
    assert dq[0] == pytest.approx(0.0) and dq[-1] == pytest.approx(0.0, abs=1e-12)
    assert q[0] == pytest.approx(curve.at(0.0).q) and q[-1] == pytest.approx(curve.at(3.0).q)
    assert np.max(np.abs(np.diff(ddq, axis=0))) < 0.5  # no jumps


def test_a_short_motion_still_goes_all_the_way() -> None:
    """Ramps that would overlap are shortened."""
    curve = Curve.smooth(np.array([0.0, 0.05, 0.1]), np.array([[0.0], [0.1], [0.2]]))
    motion = CurveMotion(curve, 2.0)
    assert motion.at(motion.duration).q == pytest.approx([0.2])
    assert np.all(np.diff(motion.at(np.linspace(0.0, motion.duration, 200)).q[:, 0]) >= -1e-12)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 7), st.booleans())
@example(156, 7, False)
def test_way_points_within_limits(seed: int, count: int, stop: bool) -> None:
    """Stopping or passing: all points are met in order, and no joint is faster or accelerates more than it may."""
    poses = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 2))
    curve = Curve.stopping(poses, SPEED, ACCELERATION, 0.1) if stop else Curve.passing(poses, SPEED, ACCELERATION)
    q, dq, ddq = curve.at(np.linspace(0.0, curve.duration, 4000))
    assert np.all(np.abs(dq) <= SPEED * 1.001)
    assert np.all(np.abs(ddq) <= ACCELERATION * 1.02)
    nearest = [int(np.argmin(np.max(np.abs(q - pose), axis=1))) for pose in poses]
    assert nearest == sorted(nearest)
    for pose, row in zip(poses, nearest, strict=True):
        assert q[row] == pytest.approx(pose, abs=np.max(SPEED) * curve.duration / 4000)  # what a step may miss
        if stop:
            assert np.max(np.abs(dq[row])) < 0.02


def test_stopping_moves_are_straight() -> None:
    """Between two poses all joints keep the same share of their way: nothing swings out."""
    poses = np.array([[0.0, 0.0], [1.0, -0.4]])
    curve = Curve.stopping(poses, SPEED, ACCELERATION)
    q = curve.at(np.linspace(0.0, curve.duration, 100)).q
    assert q[:, 1] == pytest.approx(-0.4 * q[:, 0])


@pytest.mark.parametrize("speed", [0.0, -1.0, np.nan, np.inf])
def test_speeds_that_are_none_are_refused(speed: float) -> None:
    """Zero, negative, no number."""
    with pytest.raises(InputError, match="speed"):
        CurveMotion(moving_curve(), speed)
