"""Recordings of arms on a plate that are known exactly: chosen masses, motor torques, plate errors and noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import counterpoise as cp
from counterpoise.foundation import Array, transform
from counterpoise.recording import interpolated
from library.simulated_motion import motion

T_BASE_SENSOR = transform(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0.1, 0.0, -0.4]))
NOISE = np.array([0.2, 0.2, 0.4, 0.04, 0.04, 0.02])


@dataclass(frozen=True)
class PlateErrors:
    """What is wrong with a made plate."""

    noise: float = 1.0
    bias: Array = field(default_factory=lambda: np.array([4.0, -3.0, 8.0, 0.8, -0.6, 0.3]))
    drift: Array = field(default_factory=lambda: np.array([2e-3, -2e-3, 5e-3, 1e-3, -1e-3, 1e-4]))
    lag: float = 0.0


USUAL = PlateErrors()


def plate(model: cp.Robot, reads: str = "on_robot") -> cp.BaseSensor:
    """Return the made plate under a description, its zero unknown."""
    return cp.BaseSensor(model, T_BASE_SENSOR, reads)


def moving_log(
    robot: cp.Robot,
    seed: int,
    tau: Array | None = None,
    *,
    seconds: float = 40.0,
    errors: PlateErrors = USUAL,
    compliance: Array | float = 0.0,
    reads: str = "on_robot",
) -> cp.Log:
    """Return a multi-sine motion at 100 Hz; ``tau`` as motor_torques gives it, None for no effort channel."""
    time, q, dq, ddq = motion(robot, seed, seconds, 100.0)
    wrench = interpolated(time - errors.lag, time, robot.base_wrench(q, dq, ddq))
    encoders = q + np.asarray(compliance) * robot.inverse_dynamics(q, dq, ddq)
    return _log(robot, seed, time, encoders, dq, tau, wrench, errors, reads)


def motor_torques(
    robot: cp.Robot,
    seed: int,
    friction: Array | float,
    gains: Array | float = 1.0,
    *,
    rotor: Array | float = 0.0,
    seconds: float = 40.0,
    noise: float = 0.02,
) -> Array:
    """Return the torques that a log states: (links + rotors + friction) / gain + noise, friction of shape (k, n)."""
    _, q, dq, ddq = motion(robot, seed, seconds, 100.0)
    torque = robot.inverse_dynamics(q, dq, ddq) + np.asarray(rotor) * ddq + friction
    return torque / np.asarray(gains) + noise * np.random.default_rng([43, seed]).standard_normal(q.shape)


def static_log(robot: cp.Robot, seed: int, poses: int = 18, *, errors: PlateErrors = USUAL) -> cp.Log:
    """Return an arm that goes from pose to pose and stands for 1.5 s at each."""
    rng = np.random.default_rng([41, seed])
    stands = rng.uniform(np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0), (poses, robot.n))
    time = np.arange(0.0, 3.0 * poses, 0.01)
    part = np.clip((time % 3.0 - 1.5) / 1.5, 0.0, 1.0)[:, None]
    at = (time / 3.0).astype(int)
    after = np.minimum(at + 1, poses - 1)
    q = stands[at] + (stands[after] - stands[at]) * part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    dq = np.gradient(q, 0.01, axis=0)
    ddq = np.gradient(dq, 0.01, axis=0)
    return _log(robot, seed, time, q, dq, None, robot.base_wrench(q, dq, ddq), errors, "on_robot")


def _log(
    robot: cp.Robot,
    seed: int,
    time: Array,
    q: Array,
    dq: Array,
    tau: Array | None,
    wrench: Array,
    errors: PlateErrors,
    reads: str,
) -> cp.Log:
    rng = np.random.default_rng([42, seed])
    reading = plate(robot, reads).frame.reading(wrench) + errors.bias + errors.drift * time[:, None]
    reading = reading + errors.noise * NOISE * rng.standard_normal(reading.shape)
    efforts = np.full(q.shape, np.nan) if tau is None else tau
    return cp.Log(robot.joint_names, time, q, dq, efforts, wrench=reading)
