"""Commanded motions stay within speeds, accelerations and positions, whatever is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.tasks.hand_guiding import MotionBounds

ROBOT = cp.load("puma560")
PERIOD = 8e-3


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.floats(0.1, 20.0))
def test_no_bound_is_ever_broken(seed: int, wildness: float) -> None:
    """From rest anywhere inside, random wishes never break a bound."""
    rng = np.random.default_rng(seed)
    bounds = MotionBounds(ROBOT, PERIOD)
    q, dq = rng.uniform(bounds.lower, bounds.upper), np.zeros(6)
    wish = rng.normal(size=6) * wildness
    for tick in range(300):
        if tick % 40 == 0:
            wish = rng.normal(size=6) * wildness
        following = bounds.next_speed(wish, q, dq)
        assert np.all(np.abs(following) <= bounds.speed * (1.0 + 1e-9))
        assert np.all(np.abs(following - dq) <= bounds.acceleration * PERIOD * (1.0 + 1e-9))
        dq = following
        q = q + PERIOD * dq
        assert np.all(q >= bounds.lower - 1e-9)
        assert np.all(q <= bounds.upper + 1e-9)


def test_a_joint_outside_may_come_back_but_not_go_further() -> None:
    """Beyond the margin only the way back is open."""
    bounds = MotionBounds(ROBOT, PERIOD)
    q = bounds.upper + 0.01
    assert np.all(bounds.next_speed(np.ones(6), q, np.zeros(6)) <= 0.0)
    assert np.all(bounds.next_speed(-np.ones(6), q, np.zeros(6)) < 0.0)


def test_braking_is_known_before_it_begins() -> None:
    """Driven at its limit, a joint is said to brake before it does, and until it stands; away from it never."""
    bounds = MotionBounds(ROBOT, PERIOD)
    q, dq, wish = bounds.upper - 0.4, np.zeros(6), bounds.speed.copy()
    said, slowing = [], []
    for _ in range(300):
        following = bounds.next_speed(wish, q, dq)
        said.append(bounds.braking(q, following))
        slowing.append((following < dq - 1e-12) & (following > 0.0))
        assert not bounds.braking(q, -following).any()
        q, dq = q + PERIOD * following, following
    first_said, first_slowing = np.argmax(said, axis=0), np.argmax(slowing, axis=0)
    assert np.all((first_said > 0) & (first_said < first_slowing))
    assert np.all(np.array(said)[np.array(slowing)])


def test_too_fast_a_wish_keeps_its_direction() -> None:
    """All joints are slowed alike."""
    bounds = MotionBounds(ROBOT, PERIOD, acceleration=1e3)
    middle = 0.5 * (bounds.lower + bounds.upper)
    wish = np.array([10.0, -20.0, 5.0, 1.0, 2.0, 3.0])
    given_speed = bounds.next_speed(wish, middle, np.zeros(6))
    np.testing.assert_allclose(given_speed / wish, given_speed[0] / wish[0])
    assert np.max(np.abs(given_speed) / bounds.speed) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "arguments", [{"dt": 0.0}, {"speed": 0.0}, {"speed": np.inf}, {"acceleration": -1.0}, {"margin": -0.1}]
)
def test_bounds_without_a_meaning_are_refused(arguments: dict[str, Any]) -> None:
    """Nothing moves without a bound."""
    with pytest.raises(InputError):
        MotionBounds(ROBOT, **({"dt": PERIOD} | arguments))


def test_an_arm_without_speed_limits_needs_them() -> None:
    """The joint is named."""
    with pytest.raises(InputError, match="joint 'joint1': speed is inf"):
        MotionBounds(cp.load("wam7"), PERIOD)
