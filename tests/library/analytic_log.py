"""Recordings computed by formula, without a simulator: exact dynamics, simple friction, white noise, a plate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

import counterpoise as cp
from counterpoise.foundation import Array
from counterpoise.recording import Declared, Log

RATE = 100.0
PLATE_POSE = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -0.4], [0, 0, 0, 1]])
"""Plate 0.4 m below the base."""


def moving_log(robot: cp.Robot, *, seed: int = 0, duration: float = 24.0, friction: float = 0.1) -> Log:
    """Return a recording along sines that do not repeat, with friction of a share of gravity, noise and a plate."""
    random = np.random.default_rng(seed)
    time = np.arange(0.0, duration, 1.0 / RATE)
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    centre, reach = 0.5 * (lower + upper), np.minimum(0.4 * (upper - lower), 0.9)
    omega = 2.0 * np.pi * np.arange(1, 5) / (duration * random.uniform(0.9, 1.2, (robot.n, 1)))
    phase, size = random.uniform(0.0, 2.0 * np.pi, (2, robot.n, 4))
    size = size / np.arange(1, 5) / size.sum(axis=1, keepdims=True)
    angle = omega[None] * time[:, None, None] + phase
    q = centre + reach * np.sum(size * np.sin(angle), axis=2)
    dq = reach * np.sum(size * omega * np.cos(angle), axis=2)
    ddq = -reach * np.sum(size * omega**2 * np.sin(angle), axis=2)
    return measured(robot, time, q, dq, ddq, friction=friction, random=random)


def standing_log(robot: cp.Robot, sides: Sequence[float], *, seed: int = 0, friction: float = 0.1) -> Log:
    """Return a recording of standing poses; all joints come to pose i from above (side −1) or below (+1)."""
    random = np.random.default_rng(seed)
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    centre, reach = 0.5 * (lower + upper), np.minimum(0.35 * (upper - lower), 0.8)
    now, pieces = centre, [np.repeat(centre[None], 50, axis=0)]
    for side in sides:
        pose = centre + reach * random.uniform(-1.0, 1.0, robot.n)
        for target, count in ((pose - 0.1 * side, 150), (pose, 100), (pose, 120)):
            part = np.linspace(0.0, 1.0, count)[:, None]
            pieces.append(now + (target - now) * part**3 * (10.0 - 15.0 * part + 6.0 * part**2))
            now = target
    q = np.concatenate(pieces)
    time = np.arange(len(q)) / RATE
    dq = np.gradient(q, time, axis=0)
    return measured(robot, time, q, dq, np.gradient(dq, time, axis=0), friction=friction, random=random)


def measured(
    robot: cp.Robot, time: Array, q: Array, dq: Array, ddq: Array, *, friction: float, random: np.random.Generator
) -> Log:
    """Return what sensors say of a motion."""
    gravity = robot.gravity(q)
    band = friction * (np.abs(gravity).max(axis=0) + 0.02 * np.abs(gravity).max())
    sliding = np.zeros_like(q)
    state = np.zeros(robot.n)
    for row, speed in enumerate(dq):  # where a joint stands, friction keeps the side it came from
        state = np.where(np.abs(speed) > 1e-4, np.sign(speed), state)
        sliding[row] = state
    tau = robot.inverse_dynamics(q, dq, ddq) + robot.rotor_inertia * ddq + band * sliding
    tau += random.normal(size=tau.shape) * (0.003 * np.abs(tau).max(axis=0) + 1e-4)
    wrench = robot.base_wrench(q, dq, ddq)
    wrench[:, 3:] -= np.cross(PLATE_POSE[:3, 3], wrench[:, :3])
    noise = np.array([0.3] * 3 + [0.03] * 3)
    wrench += np.array([3.0, -2.0, 5.0, 0.5, -0.4, 0.2]) + noise * random.normal(size=wrench.shape)
    counts = 1e-4 * np.round((q + random.normal(size=q.shape) * 1e-5) / 1e-4)
    noisy = dq + random.normal(size=dq.shape) * 2e-3
    declared = Declared(effort_kind="torque", sensor_reads="on_robot", T_base_sensor=PLATE_POSE, time_from="stamp")
    return Log(robot.joint_names, time, counts, noisy, tau, wrench=wrench, declared=declared)


def with_column(values: Array, column: int, new: npt.ArrayLike) -> Array:
    """Return values with one column replaced."""
    changed = np.array(values)
    changed[:, column] = new
    return changed


def late(log: Log, name: str, lag: float) -> Log:
    """Return a log of which one group of channels is late [s]."""
    values = getattr(log, name)
    shifted = np.column_stack([np.interp(log.time - lag, log.time, column) for column in values.T])
    return replace(log, **{name: shifted})
