"""Careful gains: their bounds, on every bundled arm."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.careful_gains import FULL_EFFORT_AT, ROTOR_TICKS, careful_gains
from counterpoise.dynamics.inertia import joint_inertias

ARMS = [entry.name for entry in cp.catalog()]


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("dt", [1e-3, 1.0 / 300.0, 0.02])
def test_gains_respect_their_bounds(name: str, dt: float) -> None:
    """Stiffness by the effort limit, damping by the rotor, the integral a quarter of what is stable."""
    robot = cp.load(name)
    q = np.random.default_rng(0).uniform(np.maximum(robot.lower, -1.0), np.minimum(robot.upper, 1.0))
    limit = np.where(np.isfinite(robot.effort_limit), robot.effort_limit, 100.0)
    gains = careful_gains(robot, q, limit, dt)
    inertia = joint_inertias(robot, q)
    assert np.all(gains.kp > 0.0) and np.all(gains.kd > 0.0)
    assert np.all(gains.kp <= limit / FULL_EFFORT_AT * (1.0 + 1e-12))
    rotor = np.asarray(robot.rotor_inertia)
    assert np.all(gains.kd[rotor > 0.0] <= rotor[rotor > 0.0] / (ROTOR_TICKS * dt) * (1.0 + 1e-12))
    assert gains.ki == pytest.approx(0.25 * gains.kp * gains.kd / inertia)


def test_slow_loops_are_soft() -> None:
    """Ten times the period is at least as soft, joint by joint."""
    robot = cp.load("wam7")
    fast = careful_gains(robot, np.zeros(7), robot.effort_limit, 2e-3)
    slow = careful_gains(robot, np.zeros(7), robot.effort_limit, 2e-2)
    assert np.all(slow.kp < fast.kp)


def test_stiffness_scales_position_gain() -> None:
    """Twice the stiffness is twice K_p; damping follows at most by its root."""
    robot = cp.load("puma560")
    plain = careful_gains(robot, np.zeros(6), robot.effort_limit, 1.0 / 300.0)
    stiff = careful_gains(robot, np.zeros(6), robot.effort_limit, 1.0 / 300.0, stiffness=2.0)
    assert stiff.kp == pytest.approx(2.0 * plain.kp)
    assert np.all(stiff.kd <= np.sqrt(2.0) * plain.kd * (1.0 + 1e-12))
