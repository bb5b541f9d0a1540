"""The state by which friction is compensated: a spring, then sliding; it feeds no energy in, and fades at rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.tasks.float.law import FORGETTING_TIME, Slide

WIDTH = 2e-3


def states(motion: np.ndarray, step: float = 0.0) -> np.ndarray:
    """The state of one joint along a motion; by default so quick that nothing is forgotten."""
    slide = Slide(np.array([WIDTH]))
    return np.array([slide.state(np.array([q]), step)[0] for q in motion])


def test_it_winds_up_slides_and_unwinds() -> None:
    """Linear over the width, 1 beyond it; after a turn linear over twice the width to −1."""
    there = np.arange(0.0, 0.01, 1e-4)
    found = states(np.concatenate([there, there[::-1]]))
    assert found[:100] == pytest.approx(np.minimum(there / WIDTH, 1.0))
    assert found[101:] == pytest.approx(np.maximum(1.0 - (there[-1] - there[::-1][1:]) / WIDTH, -1.0))


@settings(max_examples=40)
@given(st.lists(st.floats(-0.01, 0.01), min_size=2, max_size=12))
def test_it_is_a_friction(steps: list[float]) -> None:
    """Along any way the work of u, less what its spring keeps, is not negative: a share of it stays below friction."""
    motion = np.cumsum([0.0, *steps])
    fine = np.interp(np.linspace(0.0, len(steps), 100 * len(steps)), np.arange(len(motion)), motion)
    found = states(fine)
    work = float(np.sum(found[1:] * np.diff(fine)))
    assert work - 0.5 * WIDTH * found[-1] ** 2 >= -1e-9
    assert np.all(np.abs(found) <= 1.0)


def test_quick_shaking_within_the_width_is_a_spring() -> None:
    """There and back gives the same torque at the same place, but for the little that is forgotten."""
    time = np.arange(0.0, 0.2, 1e-4)
    motion = 0.9 * WIDTH * np.sin(2.0 * np.pi * 20.0 * time)
    assert states(motion, 1e-4) == pytest.approx(motion / WIDTH, abs=0.03)


def test_it_fades_at_rest_and_stays_small_while_creeping() -> None:
    """At rest to 1/e in the forgetting time; of a creep only as much as the speed has of width / T."""
    slid = np.arange(0.0, 0.01, 1e-4)
    rest = np.full(round(FORGETTING_TIME / 1e-3), slid[-1])
    assert states(np.concatenate([slid, rest]), 1e-3)[-1] == pytest.approx(np.exp(-1.0), rel=0.02)
    creep = 0.2 * WIDTH / FORGETTING_TIME * np.arange(0.0, 5.0, 1e-3)
    assert states(creep, 1e-3)[-1] == pytest.approx(0.2, rel=0.02)


def test_clear_begins_anew() -> None:
    """Where the joint is then."""
    slide = Slide(np.array([WIDTH]))
    slide.state(np.array([0.0]), 0.0)
    assert slide.state(np.array([1.0]), 0.0)[0] == 1.0
    slide.clear()
    assert slide.state(np.array([0.5]), 0.0)[0] == 0.0
