"""Points of a recording: exact derivatives, no delay, gaps left out, and a modest count of independent pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from counterpoise.doctor.points import MOST_POINTS, points_of
from counterpoise.recording import Log

OMEGA = 2.0 * np.pi * 0.3


def swinging(rate: float = 100.0, duration: float = 20.0) -> Log:
    time = np.arange(0.0, duration, 1.0 / rate)
    q = np.column_stack([np.sin(OMEGA * time), 0.5 * np.cos(0.7 * OMEGA * time)])
    dq = np.column_stack([OMEGA * np.cos(OMEGA * time), -0.35 * OMEGA * np.sin(0.7 * OMEGA * time)])
    return Log(("a", "b"), time, q, dq, 3.0 * q)


def test_derivatives_are_exact_and_nothing_is_late() -> None:
    points = points_of(swinging())
    np.testing.assert_allclose(points.dq[:, 0], OMEGA * np.cos(OMEGA * (points.time - 0.005)), atol=0.02)
    np.testing.assert_allclose(points.ddq[:, 0], -(OMEGA**2) * points.q[:, 0], atol=0.08)
    np.testing.assert_allclose(points.effort, 3.0 * points.q, atol=1e-6)


def test_noise_above_the_motion_is_taken_off() -> None:
    log = swinging()
    shaken = replace(log, tau=log.tau + np.sin(2.0 * np.pi * 20.0 * log.time)[:, None])
    np.testing.assert_allclose(points_of(shaken).effort, 3.0 * points_of(log).q, atol=0.05)


def test_points_are_few_and_lie_outside_gaps() -> None:
    log = swinging()
    kept = (log.time < 8.0) | (log.time > 12.0)
    points = points_of(log[kept])
    assert len(points.time) <= MOST_POINTS
    assert not np.any((points.time > 8.2) & (points.time < 11.8))


def test_a_wrong_stamp_does_not_stretch_the_recording() -> None:
    """Bins between today and 1970 would fill the memory."""
    log = swinging()
    time = log.time + 1.7e9
    time[5] = 0.0
    points = points_of(replace(log, time=time))
    assert points.time.min() > 1.6e9
    np.testing.assert_allclose(points.effort, 3.0 * points.q, atol=1e-3)


def test_long_recordings_are_averaged_more_coarsely() -> None:
    """Three hours that are one piece are kept whole."""
    time = np.linspace(0.0, 10_800.0, 30_000)
    q = np.sin(2.0 * np.pi * 0.02 * time)[:, None]
    points = points_of(Log(("a",), time, q, np.gradient(q, time, axis=0), 3.0 * q))
    assert points.time[-1] - points.time[0] > 10_000.0


def test_swings_are_counted_not_samples() -> None:
    slow, fast = points_of(swinging(50.0)), points_of(swinging(400.0))
    assert slow.effective == pytest.approx(fast.effective, rel=0.15)
    assert points_of(swinging(duration=40.0)).effective > 1.5 * slow.effective


def test_an_effort_that_never_changes_is_not_alive() -> None:
    log = swinging()
    tau = log.tau.copy()
    tau[:, 1] = 0.37
    tau[0, 0] = np.nan
    assert points_of(replace(log, tau=tau)).alive.tolist() == [True, False]


def test_a_joint_that_stands_does_not_move() -> None:
    log = swinging()
    q = log.q.copy()
    q[:, 0] = 0.2
    assert points_of(replace(log, q=q)).moving.tolist() == [False, True]


def test_a_short_log_says_nothing() -> None:
    assert points_of(swinging(duration=1.0)) is None
