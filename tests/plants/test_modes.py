"""Structural modes against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.plants.layout import DRIVE_PARAMETERS
from counterpoise.plants.modes import refuse_long_step, refuse_stiff_damper, structural_modes


def rows(n: int = 1, **values: float) -> np.ndarray:
    table = np.zeros((n, len(DRIVE_PARAMETERS)))
    table[:, DRIVE_PARAMETERS.index("gear_stiffness")] = math.inf
    for name, value in values.items():
        table[:, DRIVE_PARAMETERS.index(name)] = value
    return table


def test_motor_against_link() -> None:
    """A free motor and a link swing against each other at √(K (1/J_m + 1/J_l)), and turn freely together."""
    parameters = rows(inertia=0.5, gear_stiffness=8e3)
    modes = structural_modes(np.array([[2.0]]), np.zeros(0), parameters, ("j",), sticking=False)
    expected = math.sqrt(8e3 * (1.0 / 0.5 + 1.0 / 2.0)) / (2.0 * math.pi)
    assert modes.frequency == pytest.approx([0.0, expected], abs=1e-6)
    assert modes.names == ("link of j", "motor of j")
    link, motor = modes.shape[:, 1]
    assert 2.0 * link == pytest.approx(-0.5 * motor)  # no momentum


def test_sticking_bristles_hold_the_motor() -> None:
    """Very stiff bristles leave the locked-rotor mode √(K/J_l); a rigid gear puts link and rotor on the bristles."""
    parameters = rows(inertia=0.5, gear_stiffness=8e3, static_level=1.0, bristle_stiffness=1e9)
    modes = structural_modes(np.array([[2.0]]), np.zeros(0), parameters, ("j",))
    assert modes.frequency[0] == pytest.approx(math.sqrt(8e3 / 2.0) / (2.0 * math.pi), rel=1e-4)
    rigid = rows(inertia=0.5, static_level=1.0, bristle_stiffness=1e4)
    alone = structural_modes(np.array([[2.5]]), np.zeros(0), rigid, ("j",))
    assert alone.frequency == pytest.approx([math.sqrt(1e4 / 2.5) / (2.0 * math.pi)])


def test_plate_carries_everything() -> None:
    """A rigid joint that sticks on nothing: the plate's mode has the base's inertia alone, the link stays behind."""
    mass = np.array([[3.0, 1.0], [1.0, 1.0]])
    modes = structural_modes(mass, np.array([2e4]), rows(), ("j",))
    assert modes.frequency[-1] == pytest.approx(math.sqrt(2e4 / 2.0) / (2.0 * math.pi))


def test_limits_of_the_step() -> None:
    """Just within ω dt = 1 passes, beyond it the longest step is named; dampers and missing masses likewise."""
    modes = structural_modes(np.array([[1.0]]), np.zeros(0), rows(static_level=1.0, bristle_stiffness=1e6), ("j",))
    refuse_long_step(modes, 0.99e-3)
    with pytest.raises(cp.InputError, match=r"fastest mode, 159.2 Hz at the link of j; .* at most 0.001 s"):
        refuse_long_step(modes, 1.1e-3)
    refuse_stiff_damper(np.array([[0.1]]), rows(viscous=90.0), ("j",), 1e-3)
    with pytest.raises(cp.InputError, match=r"damping of joint 'j' \(200"):
        refuse_stiff_damper(np.array([[0.1]]), rows(viscous=200.0), ("j",), 1e-3)
    with pytest.raises(cp.ModelError, match="no inertia"):
        structural_modes(np.zeros((1, 1)), np.zeros(0), rows(), ("j",))
