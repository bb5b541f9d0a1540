"""The Dahl law: levels, memory of reversals, and that it is LuGre in slow motion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.dynamics.lugre import Dahl, LuGre

LAW = Dahl(5.0, 6.0, 3e-4)


def test_friction_passes_from_level_to_level() -> None:
    """Far from a reversal it is the level of the direction; one x_0 after it, all but 1/e of the way is done."""
    assert LAW.moved(0.0, 1.0) == pytest.approx(5.0)
    assert LAW.moved(5.0, -1.0) == pytest.approx(-6.0)
    assert LAW.moved(5.0, -3e-4) == pytest.approx(-6.0 + 11.0 / math.e)
    assert LAW.moved(1.7, 0.0) == 1.7


@given(st.floats(-5.9, 4.9), st.lists(st.floats(-1e-3, 1e-3), min_size=1, max_size=20))
@settings(max_examples=50)
def test_friction_stays_within_its_levels(start: float, steps: list[float]) -> None:
    """Whatever the path, and a move in two parts is the same as in one."""
    path = np.concatenate([[0.0], np.cumsum(steps)])
    found = LAW.along(path, start)
    assert np.all((found >= -6.0) & (found <= 5.0))
    assert LAW.moved(LAW.moved(start, steps[0] / 2), steps[0] / 2) == pytest.approx(LAW.moved(start, steps[0]))


def test_it_is_lugre_in_slow_motion() -> None:
    """Bristles that bend by dz = (1 − σ0 z / g) dx from rest, stepped finely, follow it with x_0 = F_s / σ0."""
    lugre = LuGre(coulomb=4.0, static=5.0, stiffness=5.0 / 3e-4)
    stiffness, level = float(lugre.stiffness[0]), float(lugre.level(1e-9)[0])
    x, step = np.linspace(0.0, 1e-3, 10_001, retstep=True)
    bent = np.zeros_like(x)
    for place in range(len(x) - 1):
        bent[place + 1] = bent[place] + step * (1.0 - stiffness * bent[place] / level)
    np.testing.assert_allclose(Dahl(5.0, 5.0, float(lugre.presliding[0])).along(x), stiffness * bent, atol=1e-3)


@pytest.mark.parametrize("numbers", [(-1.0, 1.0, 1e-3), (1.0, math.inf, 1e-3), (1.0, 1.0, 0.0)])
def test_numbers_that_mean_nothing_are_refused(numbers: tuple[float, float, float]) -> None:
    """Negative or infinite levels, no displacement."""
    with pytest.raises(cp.InputError, match="expected"):
        Dahl(*numbers)
