"""LuGre's parameters: the widened level, the presliding displacement, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise import InputError
from counterpoise.dynamics.lugre import LEAST_TEMPERATURE_FACTOR, LuGre


def test_negative_side_follows_the_positive_one_unless_given() -> None:
    """Symmetric by default; a given negative Coulomb level without Stribeck effect is its own breakaway."""
    law = LuGre(1.0, 1.5, stiffness=1e3)
    assert (law.coulomb_negative[0], law.static_negative[0]) == (1.0, 1.5)
    flat = LuGre(1.0, stiffness=1e3, coulomb_negative=2.0)
    assert (flat.static[0], flat.static_negative[0]) == (1.0, 2.0)
    assert flat.torque(-0.3) == pytest.approx(-2.0)
    assert flat.torque(0.3) == pytest.approx(1.0)


def test_level_grows_with_the_load() -> None:
    """c |τ_g| is added, whatever the direction."""
    law = LuGre([1.0, 1.0], stiffness=1e3, load=0.1)
    assert law.level([0.1, -0.1], gear_torque=[5.0, -20.0]) == pytest.approx([1.5, 3.0])


def test_warmth_changes_levels_and_viscosity() -> None:
    """k_c is linear and never below its floor, the viscosity falls exponentially."""
    law = LuGre(2.0, stiffness=1e3, viscous=1.0, coulomb_per_kelvin=-0.01, viscous_per_kelvin=0.05)
    assert law.torque(1.0, temperature=30.0) == pytest.approx(2.0 * 0.9 + np.exp(-0.5))
    assert law.torque(1.0) == pytest.approx(3.0)
    assert law.level(1.0, temperature=520.0) == pytest.approx(2.0 * LEAST_TEMPERATURE_FACTOR)
    with pytest.raises(InputError, match="temperature"):
        law.level(1.0, temperature=np.nan)


def test_presliding_displacement() -> None:
    """Its scale is the breakaway level over the bristles' stiffness."""
    assert LuGre(4.0, 5.0, stiffness=2e4).presliding == pytest.approx([2.5e-4])


def test_wrong_parameters_are_refused() -> None:
    """Each parameter has its bounds, and lengths must agree."""
    with pytest.raises(InputError, match=r"stiffness is 0.0; expected a number above 0"):
        LuGre(1.0, stiffness=0.0)
    with pytest.raises(InputError, match=r"load is 1.0"):
        LuGre(1.0, stiffness=1.0, load=1.0)
    with pytest.raises(InputError, match="below coulomb"):
        LuGre(1.0, 2.0, stiffness=1.0, coulomb_negative=3.0)
    with pytest.raises(InputError, match="viscous has 3 entries and coulomb has 2"):
        LuGre([1.0, 1.0], stiffness=1.0, viscous=[1.0, 1.0, 1.0])
