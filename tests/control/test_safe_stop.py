"""The safe stop: damping that suits the arm, a soft let-down, and the right torque for what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.fault import Fault
from counterpoise.control.gravity import Gravity
from counterpoise.control.limits import resolve_limits
from counterpoise.control.report import EndState
from counterpoise.control.safe_stop import SafeStop, nominal_time, stop_damping
from counterpoise.control.safety import SafetyFilter, SafetySettings
from counterpoise.dynamics import joint_inertias
from counterpoise.recording import Sample
from library.ideal_arm import SPEEDS, IdealArm, middle_pose

ARMS = ("wam7", "puma560", "dualarm19")
SETTINGS = SafetySettings(settle_time=0.01, ramp_time=0.1, blind_time=0.005)


def new_stop(arm: IdealArm, damping: float = 2.0) -> tuple[SafeStop, SafetyFilter]:
    safety = SafetyFilter(arm.robot, plant=arm, settings=SETTINGS)
    safety.reset(arm.tau)
    return SafeStop(arm, arm.robot, safety, np.full(arm.robot.n, damping)), safety


@pytest.mark.parametrize("name", ARMS)
def test_damping_suits_limits_and_period(name: str) -> None:
    """At top speed no more than the share of the effort limit, and no joint slowed within 20 ticks."""
    robot = cp.load(name)
    limits = resolve_limits(robot, velocity_limit=np.minimum(robot.velocity_limit, SPEEDS.get(name, np.inf)))
    damping = stop_damping(robot, middle_pose(robot), limits, 0.3, 1e-3)
    assert np.all(damping > 0.0)
    assert np.all(damping * limits.velocity <= 0.3 * limits.effort * (1 + 1e-12))
    assert np.all(joint_inertias(robot, middle_pose(robot)) / damping >= 20e-3 * (1 - 1e-12))


def test_unlimited_speed_leaves_damping_to_the_inertia() -> None:
    """Without a speed limit the time constant alone decides."""
    robot = cp.load("wam7")
    limits = resolve_limits(robot, velocity_limit=np.inf)
    q = middle_pose(robot)
    assert stop_damping(robot, q, limits, 0.3, 1e-3) == pytest.approx(joint_inertias(robot, q) / 20e-3)


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("dt", [1e-3, 1 / 300])
def test_moving_arm_is_slowed(name: str, dt: float) -> None:
    """In the gravity hold the kinetic energy of a moving arm falls, and goes on falling, at 1 kHz and at 300 Hz."""
    robot = cp.load(name)
    arm = IdealArm(robot, dt=dt, stop="brake")
    arm.dq = 0.3 * np.where(np.isfinite(arm.velocity_limit), arm.velocity_limit, 1.0) * (-1.0) ** np.arange(robot.n)
    safety = SafetyFilter(robot, plant=arm, settings=SafetySettings(blend_time=0.0, settle_time=0.5))

    class Lost:
        adds_gravity = uses_wrench = False

        def reset(self, sample: Sample) -> None:
            pass

        def torque(self, sample: Sample, time: float) -> Any:
            raise RuntimeError

    with arm, pytest.raises(cp.errors.LawError) as caught:
        cp.ControlLoop(arm, Lost(), robot, safety=safety).run(1.0, log=True)
    log = caught.value.report.log
    n = robot.n
    energy = []
    for q, dq in zip(log.q[:: len(log) // 10], log.dq[:: len(log) // 10], strict=True):
        mass = robot.inverse_dynamics(np.tile(q, (n, 1)), np.zeros((n, n)), np.eye(n)) - robot.gravity(q)
        energy.append(dq @ (mass + np.diag(robot.rotor_inertia)) @ dq)
    assert np.all(np.diff(energy) < 0.0)
    assert energy[-1] < 0.2 * energy[0]


def test_phases_of_a_stop_with_good_samples() -> None:
    """g − D dq while it settles, then s g − D dq with s falling to 0, then zero; the damping is capped."""
    arm = IdealArm(cp.load("puma560"))
    stop, safety = new_stop(arm)
    dq = np.array([0.1, -0.1, 0.2, 0.0, 0.1, 1e6])
    sample = Sample(0.0, arm.q, dq, arm.tau)
    weight = arm.robot.gravity(arm.q)
    damping = np.clip(2.0 * dq, -0.3 * safety.limits.effort, 0.3 * safety.limits.effort)
    torques = []
    while not stop.done:
        tau = stop.torque(sample, 0)
        assert tau is not None
        safety.limit(tau)
        torques.append(tau)
    shares = [1.0] * 10 + [1.0 - k / 100 for k in range(100)]
    for tau, share in zip(torques, shares, strict=False):
        assert tau == pytest.approx(share * weight - damping)
    assert not np.any(torques[110:])
    assert not np.any(safety.last)
    assert stop.end is EndState.GRAVITY_STOP


@pytest.mark.parametrize("kind", ["brake", "zero"])
def test_a_stop_takes_no_longer_than_is_told(kind: Any) -> None:
    """Ticks until the plant's own stop is due: with brakes the arm is held only until it is slow."""
    arm = IdealArm(cp.load("puma560"), stop=kind)
    stop, safety = new_stop(arm)
    sample = Sample(0.0, arm.q, np.full(6, 1e6), arm.tau)  # damping leaves all it may at the end of the ramp
    ticks = 0
    while not stop.done:
        tau = stop.torque(sample, 0)
        assert tau is not None
        safety.limit(tau)
        ticks += 1
    told = nominal_time(arm, SETTINGS, safety.limits)
    assert ticks <= told / arm.dt + 3
    if kind == "brake":
        assert told == SETTINGS.settle_time
    else:
        assert told > SETTINGS.settle_time + SETTINGS.ramp_time and ticks > 0.9 * SETTINGS.ramp_time / arm.dt


def test_what_is_not_known_is_not_used() -> None:
    """Without a velocity no damping, without a position the last torque; a position that comes back is used again."""
    arm = IdealArm(cp.load("puma560"))
    stop, _ = new_stop(arm)
    moving = Sample(0.0, arm.q, np.full(6, 0.1), arm.tau)
    blind = Sample(0.0, np.full(6, np.nan), np.full(6, 0.1), arm.tau)
    assert stop.torque(moving, Fault.DQ_INVALID) == pytest.approx(arm.robot.gravity(arm.q))
    assert stop.end is EndState.UNDAMPED_STOP
    for _ in range(5):
        assert stop.torque(blind, Fault.Q_INVALID) is None
        assert not stop.done
    assert stop.torque(moving, Fault.OVER_SPEED) == pytest.approx(arm.robot.gravity(arm.q) - 0.2)
    assert stop.end is EndState.GRAVITY_STOP
    for _ in range(5):
        assert stop.torque(None, Fault.READ_FAILED) is None
        assert not stop.done
    stop.torque(None, Fault.READ_FAILED)
    assert stop.done
    assert stop.end is EndState.BLIND_STOP


def test_arm_without_brakes_is_let_down_slowly() -> None:
    """The arm that falls under the ramp is far slower with the stop's damping than without."""
    robot = cp.load("puma560")
    speeds = []
    for damping in (None, 0.0):
        arm = IdealArm(robot)
        arm.velocity_limit = np.full(6, np.inf)
        safety = SafetyFilter(robot, plant=arm, velocity_limit=np.inf)
        with arm:
            cp.ControlLoop(arm, Gravity(robot), robot, safety=safety, stop_damping=damping).run(0.0)
        speeds.append(np.max(np.abs(arm.dq)))
    assert speeds[0] < 0.5 * speeds[1]
