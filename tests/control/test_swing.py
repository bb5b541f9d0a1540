"""The watch for swings that grow: what it sees, when, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.swing import LEAST_ROTARY, SwingWatch

ARM = cp.load("planar3")
DT = 2e-3


def first_alarm(speed: np.ndarray) -> int | None:
    """Return the row at which a swing of joint 2 is seen to grow; None where it is not."""
    watch = SwingWatch(ARM)
    for row, value in enumerate(speed.tolist()):
        if watch.grows(row * DT, np.array([0.0, value, 0.0])):
            assert watch.joint == 1 and "joint2" in watch.reason
            return row
    assert watch.reason == ""
    return None


@pytest.mark.parametrize("frequency", [1.5, 5.0, 20.0, 60.0])
@pytest.mark.parametrize("growth", [1.15, 1.5, 2.0])
def test_a_growing_swing_is_seen_within_four_periods_of_being_large(frequency: float, growth: float) -> None:
    """Growing by a factor per period from 0.02 rad/s: seen before it reaches three times what it grows to in three."""
    time = np.arange(0.0, 30.0 / frequency, DT)
    size = 0.02 * growth ** (frequency * time)
    row = first_alarm(size * np.sin(2.0 * np.pi * frequency * time))
    assert row is not None
    assert size[row] < max(LEAST_ROTARY, 0.02 * growth**3.0) * growth**1.5


@pytest.mark.parametrize("frequency", [2.0, 5.0, 20.0])
def test_the_frequency_of_a_swing_is_told(frequency: float) -> None:
    """Also where it has swung for long before it is large: within a tenth, and the size that it has then."""
    time = np.arange(0.0, 20.0 / frequency, 0.2 * DT)
    speed = 0.005 * 1.4 ** (frequency * time) * np.sin(2.0 * np.pi * frequency * time)
    watch = SwingWatch(ARM)
    row = next(row for row, value in enumerate(speed.tolist()) if watch.grows(time[row], np.array([0.0, value, 0.0])))
    assert float(watch.reason.partition("swings at ")[2].split()[0]) == pytest.approx(frequency, rel=0.1)
    assert float(watch.reason.partition(" to ")[2].split()[0]) == pytest.approx(np.abs(speed[row]), rel=0.1)


@pytest.mark.parametrize("growth", [1.0, 0.9])
def test_a_swing_that_stays_or_fades_is_left_alone(growth: float) -> None:
    """Large, and noisy besides."""
    time = np.arange(0.0, 10.0, DT)
    noise = 0.02 * np.random.default_rng(0).standard_normal(len(time))
    assert first_alarm(0.8 * growth ** (5.0 * time) * np.sin(2.0 * np.pi * 5.0 * time) + noise) is None


def test_noise_and_small_swings_are_left_alone() -> None:
    """White noise of 0.05 rad/s, and a swing that grows to 0.09 rad/s."""
    rng, time = np.random.default_rng(1), np.arange(0.0, 30.0, DT)
    assert first_alarm(0.05 * rng.standard_normal(len(time))) is None
    assert first_alarm(0.09 * (time / 30.0) * np.sin(30.0 * time)) is None


def test_slow_motion_to_and_fro_is_no_swing() -> None:
    """Moves of 2 s each, every one faster than the one before."""
    time = np.arange(0.0, 20.0, DT)
    assert first_alarm(0.05 * (1.0 + time) * np.sin(2.0 * np.pi * time / 4.0)) is None


def test_linear_joints_have_their_own_least_speed() -> None:
    """0.06 m/s is a swing, 0.06 rad/s is none."""
    time = np.arange(0.0, 3.0, DT)
    speed = 0.004 * 1.3 ** (5.0 * time) * np.sin(2.0 * np.pi * 5.0 * time)
    speed = speed[: int(np.argmax(np.abs(speed) > 0.06)) + 1]
    assert first_alarm(speed) is None
    watch = SwingWatch(cp.load("gantry"))
    assert any(watch.grows(row * DT, np.array([0.0, value, 0.0])) for row, value in enumerate(speed.tolist()))
