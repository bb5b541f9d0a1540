"""What a floating arm is watched for: speed, drift, rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.tasks.float.watch import FAST_SAMPLES, DriftWatch, SpeedWatch, StillWatch, WatchSettings

SLOW, FAST = np.array([1e-3, 1e-3]), np.array([0.3, 0.3])
NONE = np.zeros(2, dtype=bool)


def drift_of(
    motion: Callable[[float], float], seconds: float = 10.0, ignored: Array = NONE
) -> tuple[int, float] | None:
    """The first drift that is found when joint 1 moves so and joint 0 rests, at 200 Hz."""
    watch = DriftWatch(3.0, SLOW, FAST)
    for tick in range(round(200 * seconds)):
        found = watch.drifting(tick / 200, np.array([0.0, motion(tick / 200)]), ignored)
        if found is not None:
            return found
    return None


@pytest.mark.parametrize("speed", [-0.2, 0.002, 0.05, 0.25])
def test_steady_slow_motion_is_a_drift(speed: float) -> None:
    """The joint and its speed are named, as soon as the drift time is over."""
    found = drift_of(lambda t: speed * t, seconds=3.1)
    assert found is not None and found[0] == 1 and found[1] == pytest.approx(speed, rel=1e-6)
    assert drift_of(lambda t: speed * t, seconds=2.9) is None


@pytest.mark.parametrize(
    "motion",
    [
        lambda t: 0.0,
        lambda t: 1e-4 * t,
        lambda t: 0.5 * t,
        lambda t: 0.1 * np.sin(2.0 * t),
        lambda t: 0.3 * (min(t, 2.0) / 2.0) ** 3 * (10.0 - 15.0 * min(t, 2.0) / 2.0 + 6.0 * (min(t, 2.0) / 2.0) ** 2),
        lambda t: 0.02 * t + 0.01 * np.sin(6.0 * t),
    ],
    ids=["rest", "too slow", "too fast", "swing", "a move of 2 s", "uneven"],
)
def test_other_motion_is_none(motion: Callable[[float], float]) -> None:
    """Rest, creep below the noise, fast motion, swings, moves that end, and an uneven hand."""
    assert drift_of(motion) is None


def test_joints_that_something_moves_are_ignored() -> None:
    """A cushion pushes slowly and steadily, too."""
    assert drift_of(lambda t: 0.05 * t, ignored=np.array([False, True])) is None


def test_time_that_goes_back_or_leaps_begins_anew() -> None:
    """What was seen before proves nothing then."""
    watch = DriftWatch(3.0, SLOW, FAST)
    for begin in (0.0, 0.0, 100.0):
        for tick in range(500):
            assert watch.drifting(begin + tick / 200, np.full(2, 0.05 * tick / 200), NONE) is None


def test_speed_is_too_fast_only_for_several_samples_in_a_row() -> None:
    """One sample may be noise; the joint is named."""
    watch = SpeedWatch(np.array([1.0, 2.0]))
    for dq in ([1.5, 0.0], [0.5, 0.0], [1.5, 2.5], [0.5, -2.5]):
        assert watch.too_fast(np.array(dq)) is None
    assert watch.too_fast(np.array([1.5, -2.5])) == 1
    watch.clear()
    fast = np.array([9.0, 0.0])
    assert [watch.too_fast(fast) for _ in range(FAST_SAMPLES)] == [None] * (FAST_SAMPLES - 1) + [0]


def test_rest_is_no_travel_for_a_time() -> None:
    """Noise below the travel does not count; a motion begins the time anew."""
    watch = StillWatch(np.array([2e-3]), 0.5)
    noise = np.random.default_rng(3).uniform(-5e-4, 5e-4, 200)
    still = [watch.still(tick / 100, noise[tick : tick + 1]) for tick in range(100)]
    assert still.index(True) == 50
    assert not watch.still(1.01, np.array([0.1])) and not watch.still(1.4, np.array([0.1]))
    assert watch.still(1.6, np.array([0.1]))


@pytest.mark.parametrize("wrong", [{"speed_rotary": 0.0}, {"drift_time": -1.0}, {"drift_rotary": (0.3, 0.1)}])
def test_settings_that_cannot_be_watched_for_are_refused(wrong: dict[str, object]) -> None:
    """Each by its name."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        WatchSettings(**wrong)  # type: ignore[arg-type]
