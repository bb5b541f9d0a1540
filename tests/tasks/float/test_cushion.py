"""The cushions: soft, bounded, continuous, and one way only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.tasks import Cushion
from counterpoise.tasks.float.law import Cushions

LOWER, UPPER = np.array([-1.0, -np.inf, 0.0]), np.array([2.0, np.inf, 0.4])
MOST = np.array([10.0, 10.0, 50.0])
CUSHIONS = Cushions(LOWER, UPPER, np.array([0.1, 0.1, 0.03]), MOST, np.array([2.0, 2.0, 30.0]))
numbers = st.floats(-1e9, 1e9, allow_nan=False)


@settings(max_examples=200)
@given(st.lists(numbers, min_size=6, max_size=6))
def test_any_state_gives_a_bounded_torque_away_from_the_nearer_limit(numbers: list[float]) -> None:
    """Whatever the speed: never further in, never above the bound, never where there is no limit."""
    q, dq = np.array(numbers[:3]), np.array(numbers[3:])
    tau = CUSHIONS.torque(q, dq)
    assert np.all(np.isfinite(tau)) and np.all(np.abs(tau) <= MOST)
    assert tau[1] == 0.0
    for joint in (0, 2):
        if q[joint] < UPPER[joint] - CUSHIONS.margin[joint]:
            assert tau[joint] >= 0.0
        if q[joint] > LOWER[joint] + CUSHIONS.margin[joint]:
            assert tau[joint] <= 0.0


@pytest.mark.parametrize("speed", [0.0, -3.0, 3.0])
def test_torque_has_no_jumps(speed: float) -> None:
    """Along a joint's whole range and beyond, neighbouring positions have neighbouring torques."""
    places = np.linspace(-1.3, 2.3, 20_001)
    dq = np.full(3, speed)
    torque = np.array([CUSHIONS.torque(np.array([place, 0.0, 0.2]), dq)[0] for place in places])
    steepest = 0.5 * MOST[0] / 0.1 + 2.0 * abs(speed) / 0.1
    assert np.max(np.abs(np.diff(torque))) <= steepest * (places[1] - places[0]) * (1.0 + 1e-6)
    assert np.ptp(torque) > 5.0


def test_spring_and_damper() -> None:
    """Nothing outside the margin; half the bound at the limit; more on the way in, less on the way out, no pull."""

    def lower_side(depth: float, speed: float) -> float:
        return float(CUSHIONS.torque(np.array([-1.0 + 0.1 - depth, 0.0, 0.2]), np.array([-speed, 0.0, 0.0]))[0])

    assert lower_side(-1e-6, 5.0) == 0.0
    assert lower_side(0.1, 0.0) == pytest.approx(5.0)
    assert lower_side(0.05, 0.0) == pytest.approx(2.5)
    assert lower_side(0.05, 1.0) == pytest.approx(2.5 + 2.0 * 0.5)
    assert lower_side(0.05, -1.0) == pytest.approx(2.5 - 2.0 * 0.5)
    assert lower_side(0.05, -100.0) == 0.0
    assert lower_side(0.5, 100.0) == 10.0


def test_margin_is_at_most_a_tenth_of_the_range() -> None:
    """A short axis is not filled by its cushions; an endless joint keeps its margin and has none to use it on."""
    wide = Cushions(LOWER, UPPER, np.full(3, 1.0), MOST, np.zeros(3))
    assert wide.margin == pytest.approx([0.3, 1.0, 0.04])
    assert wide.touched(np.array([-0.8, 1e6, 0.2])).tolist() == [True, False, False]


@pytest.mark.parametrize("wrong", [{"rotary": 0.0}, {"linear": -1.0}, {"effort": 1.5}, {"rotary": np.nan}])
def test_settings_that_are_no_cushion_are_refused(wrong: dict[str, float]) -> None:
    """Each by its name."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        Cushion(**wrong)
