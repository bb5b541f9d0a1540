"""default gains: their bounds, on every bundled arm."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.gains import FULL_EFFORT_AT, ROTOR_TICKS, default_gains, softest_gains
from counterpoise.dynamics import joint_inertias

ARMS = [entry.name for entry in cp.catalog()]


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("dt", [1e-3, 1.0 / 300.0, 0.02])
def test_gains_respect_their_bounds(name: str, dt: float) -> None:
    """Stiffness by the effort limit, damping by the rotor, the integral a quarter of what is stable."""
    robot = cp.load(name)
    q = np.random.default_rng(0).uniform(np.maximum(robot.lower, -1.0), np.minimum(robot.upper, 1.0))
    limit = np.where(np.isfinite(robot.effort_limit), robot.effort_limit, 100.0)
    gains = default_gains(robot, q, limit, dt)
    inertia = joint_inertias(robot, q)
    assert np.all(gains.kp > 0.0) and np.all(gains.kd > 0.0)
    assert np.all(gains.kp <= limit / FULL_EFFORT_AT * (1.0 + 1e-12))
    rotor = np.asarray(robot.rotor_inertia)
    assert np.all(gains.kd[rotor > 0.0] <= rotor[rotor > 0.0] / (ROTOR_TICKS * dt) * (1.0 + 1e-12))
    assert gains.ki == pytest.approx(0.25 * gains.kp * gains.kd / inertia)


def test_slow_loops_are_soft() -> None:
    """Ten times the period is at least as soft, joint by joint."""
    robot = cp.load("wam7")
    fast = default_gains(robot, np.zeros(7), robot.effort_limit, 2e-3)
    slow = default_gains(robot, np.zeros(7), robot.effort_limit, 2e-2)
    assert np.all(slow.kp < fast.kp)


def test_stiffness_scales_position_gain() -> None:
    """Twice the stiffness is twice K_p; damping follows at most by its root."""
    robot = cp.load("puma560")
    plain = default_gains(robot, np.zeros(6), robot.effort_limit, 1.0 / 300.0)
    stiff = default_gains(robot, np.zeros(6), robot.effort_limit, 1.0 / 300.0, stiffness=2.0)
    assert stiff.kp == pytest.approx(2.0 * plain.kp)
    assert np.all(stiff.kd <= np.sqrt(2.0) * plain.kd * (1.0 + 1e-12))


def unknown(name: str) -> cp.Robot:
    """Return a bundled arm whose rotors the model does not know."""
    robot = cp.load(name)
    return robot.with_rotor_inertia(dict.fromkeys(robot.joint_names))


@pytest.mark.parametrize("name", ["puma560", "wam7", "gantry"])
def test_unknown_rotors_get_the_soft_law(name: str) -> None:
    """Gains of the links alone, no integral, and a spring that drives no faster than 0.2 rad/s or 0.05 m/s."""
    robot = unknown(name)
    q = 0.5 * (np.maximum(robot.lower, -1.0) + np.minimum(robot.upper, 1.0))
    gains = default_gains(robot, q, robot.effort_limit, 2e-3)
    links = default_gains(robot.with_rotor_inertia(np.zeros(robot.n)), q, robot.effort_limit, 2e-3)
    assert gains.kp == pytest.approx(links.kp) and gains.kd == pytest.approx(links.kd)
    assert np.all(gains.ki == 0.0) and np.all(links.ki > 0.0) and links.reach is None
    assert gains.reach is not None
    assert gains.kp * gains.reach == pytest.approx(gains.kd * (0.05 if name == "gantry" else 0.2))


def test_one_unknown_rotor_softens_its_joint_alone() -> None:
    """The others keep what they have."""
    robot = cp.load("puma560")
    known = default_gains(robot, np.zeros(6), robot.effort_limit, 1.0 / 300.0)
    mixed = default_gains(robot.with_rotor_inertia({"joint6": None}), np.zeros(6), robot.effort_limit, 1.0 / 300.0)
    assert mixed.reach is not None and np.isinf(mixed.reach[:5]).all() and np.isfinite(mixed.reach[5])
    assert mixed.ki[5] == 0.0 and np.all(mixed.ki[:5] > 0.0)
    assert mixed.kp[:5] == pytest.approx(known.kp[:5], rel=0.05)


def test_the_softest_of_some_poses_keeps_the_reach() -> None:
    """The lowest of all, joint by joint."""
    robot = unknown("puma560")
    poses = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 6))
    found = softest_gains(robot, poses, robot.effort_limit, 2e-3)
    each = [default_gains(robot, pose, robot.effort_limit, 2e-3) for pose in poses]
    assert found.reach is not None
    assert found.reach == pytest.approx(np.min([one.reach for one in each], axis=0))
