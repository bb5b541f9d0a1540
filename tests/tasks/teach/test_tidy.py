"""Tidying a recording: idle ends, smoothing without delay and within its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.tasks.teach.path import moving_part, smooth

TIME = np.arange(0.0, 4.0, 0.002)


def swing(time: np.ndarray) -> np.ndarray:
    """A slow swing of two joints, at rest outside 1 s to 3 s."""
    part = np.clip((time - 1.0) / 2.0, 0.0, 1.0)
    eased = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    return np.column_stack([0.8 * eased, -0.3 * eased])


def test_idle_ends_are_cut_off() -> None:
    """About the motion is kept, and 0.2 s of rest on either side of it."""
    kept = moving_part(TIME, swing(TIME), np.full(2, 0.005))
    assert 0.8 < TIME[kept][0] < 1.2
    assert 2.8 < TIME[kept][-1] < 3.2


def test_an_arm_that_never_moved_is_refused() -> None:
    """Nothing but rest is no path."""
    with pytest.raises(InputError, match="nothing moved"):
        moving_part(TIME, np.zeros((len(TIME), 2)), np.full(2, 0.005))


def test_tremor_goes_and_the_motion_stays() -> None:
    """10 Hz of tremor is reduced tenfold, the swing below is not delayed, and what was moved is told."""
    clean = swing(TIME)
    shaken = clean + 3e-3 * np.sin(2.0 * np.pi * 10.0 * TIME)[:, None]
    found = smooth(TIME, shaken, cutoff=4.0, most_moved=0.01)
    middle = (found.time > 0.5) & (found.time < 3.4)
    error = found.q[middle] - swing(found.time[middle])
    assert np.max(np.abs(error)) < 3e-4
    assert found.cutoff == 4.0
    assert 2.9e-3 < np.max(found.moved) < 4e-3


def test_a_tight_bound_raises_the_cutoff() -> None:
    """What the lowest cutoff would move too far is smoothed less."""
    time = np.arange(0.0, 4.0, 0.005)
    corner = np.abs(time - 2.0)[:, None]
    loose = smooth(time, corner, cutoff=2.0, most_moved=0.1)
    tight = smooth(time, corner, cutoff=2.0, most_moved=0.01)
    assert loose.cutoff == 2.0
    assert tight.cutoff is None or tight.cutoff > 2.0
    assert np.all(tight.moved <= 0.01)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(1e-6, 0.05), st.integers(3, 200))
def test_ends_are_kept_and_the_bound_holds(seed: int, bound: float, rows: int) -> None:
    """Whatever was recorded, evenly or not: both ends are exact, and no row is further away than the bound."""
    random = np.random.default_rng(seed)
    time = np.cumsum(random.uniform(0.005, 0.05, rows))
    q = np.cumsum(random.normal(0.0, 0.02, (rows, 3)), axis=0)
    found = smooth(time, q, cutoff=3.0, most_moved=bound)
    assert found.q[0] == pytest.approx(q[0], abs=1e-12)
    assert found.q[-1] == pytest.approx(q[-1], abs=1e-12)
    at_rows = np.column_stack([np.interp(time - time[0], found.time, found.q[:, joint]) for joint in range(3)])
    assert np.max(np.abs(at_rows - q)) <= bound + 1e-12


def test_bad_numbers_are_refused() -> None:
    """A cutoff of 0, and a path whose grid would never end."""
    with pytest.raises(InputError, match="cutoff"):
        smooth(TIME, swing(TIME), cutoff=0.0, most_moved=0.01)
    with pytest.raises(InputError, match="rows"):
        smooth(np.array([0.0, 1e8]), np.zeros((2, 1)), cutoff=3.0, most_moved=0.01)


@pytest.mark.parametrize(("cutoff", "kept"), [(39.0, 39.0), (40.0, None), (45.0, None)])
def test_what_is_as_fast_as_the_recording_shows_is_not_smoothed(cutoff: float, kept: float | None) -> None:
    """From 0.4 of the rate on, here 100 Hz, a low-pass would leave the path as it is: none is used."""
    time = np.linspace(0.0, 10.0, 1001)
    found = smooth(time, np.sin(time)[:, None], cutoff=cutoff, most_moved=1.0, rate=100.0)
    assert found.cutoff == kept
