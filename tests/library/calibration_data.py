"""Made recordings for the tests of calibration: poses visited from both sides, and motions, with known truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpoise import Log, Robot
from counterpoise.fitting import with_inertial_parameters
from counterpoise.foundation import Array
from counterpoise.recording import Declared

RATE = 100.0


def other_masses(robot: Robot, seed: int = 0, size: float = 0.1) -> Robot:
    """Return the robot with every body's density changed by about ``size``."""
    random = np.random.default_rng(seed)
    parameters = robot.inertial_parameters[10:].reshape(-1, 10)
    changed = parameters * (1.0 + size * random.standard_normal((len(parameters), 1)))
    return with_inertial_parameters(robot, changed.ravel(), allow_unphysical=True)


def visits(
    truth: Robot,
    poses: Array,
    *,
    friction: float | Sequence[float] = 0.0,
    noise: float = 0.0,
    dwell: float = 1.0,
    both_sides: bool = True,
    approach: float = 0.03,
    creeps: bool = False,
    seed: int = 0,
) -> Log:
    """Return a recording of poses at rest, each reached by a creep from above, and from below where asked for.

    Ways between them have minimum jerk, with the torques that they take; where the arm creeps, an even speed and no
    such torques. Friction is Coulomb's and stays fully on while the arm stands.
    """
    random = np.random.default_rng(seed)
    q, dq, ddq = ([np.zeros((50, truth.n))] for _ in range(3))
    sign: list[Array] = [np.zeros((50, truth.n))]
    here = np.zeros(truth.n)
    for pose in poses:
        for side in (1.0, -1.0) if both_sides else (1.0,):
            beyond = pose + side * approach
            for target, count in ((beyond, 100), (pose, 60)):
                u, lasts = np.linspace(0.0, 1.0, count)[:, None], (count - 1) / RATE
                q.append(here + (u if creeps else 10.0 * u**3 - 15.0 * u**4 + 6.0 * u**5) * (target - here))
                dq.append((30.0 * u**2 - 60.0 * u**3 + 30.0 * u**4) * (target - here) / lasts)
                ddq.append((60.0 * u - 180.0 * u**2 + 120.0 * u**3) * (target - here) / lasts**2)
                sign.append(np.tile(np.sign(target - here), (count, 1)))
                here = target
            still = round((dwell + 0.5) * RATE)
            q.append(np.tile(pose, (still, 1)))
            dq.append(np.zeros((still, truth.n)))
            ddq.append(np.zeros((still, truth.n)))
            sign.append(np.tile(np.full(truth.n, -side), (still, 1)))
    positions, directions = np.concatenate(q), np.concatenate(sign)
    rates = (np.concatenate(dq), np.concatenate(ddq))
    tau = truth.gravity(positions) if creeps else truth.inverse_dynamics(positions, *rates)
    tau = tau + np.asarray(friction) * directions
    tau = tau + noise * random.standard_normal(tau.shape)
    time = np.arange(len(positions)) / RATE
    measured = positions + 1e-5 * random.standard_normal(positions.shape)
    return Log(truth.joint_names, time, measured, np.gradient(measured, time, axis=0), tau)


def motion(
    truth: Robot,
    *,
    coulomb: float | Sequence[float] = 0.0,
    viscous: float | Sequence[float] = 0.0,
    offset: float | Sequence[float] = 0.0,
    noise: float = 0.0,
    duration: float = 30.0,
    size: float = 1.0,
    moving: Sequence[int] | None = None,
    gain: float = 1.0,
    declared: Declared | None = None,
    seed: int = 0,
) -> Log:
    """Return a recording of a motion along sums of sines, with exact torques, friction and noise."""
    random = np.random.default_rng(seed)
    time = np.arange(round(duration * RATE)) / RATE
    q, dq, ddq = np.zeros((3, len(time), truth.n))
    for joint in range(truth.n) if moving is None else moving:
        for harmonic in range(1, 4):
            omega = 2.0 * np.pi * harmonic * (0.06 + 0.02 * random.random())
            phase, amplitude = 2.0 * np.pi * random.random(), size * (0.3 + 0.3 * random.random()) / harmonic**0.5
            q[:, joint] += amplitude * np.sin(omega * time + phase)
            dq[:, joint] += amplitude * omega * np.cos(omega * time + phase)
            ddq[:, joint] -= amplitude * omega**2 * np.sin(omega * time + phase)
    tau = np.array([truth.inverse_dynamics(*row) for row in zip(q, dq, ddq, strict=True)])
    tau = tau + np.asarray(coulomb) * np.tanh(dq / 0.01) + np.asarray(viscous) * dq + np.asarray(offset)
    tau = gain * (tau + noise * random.standard_normal(tau.shape))
    return Log(truth.joint_names, time, q, dq, tau, declared=declared or Declared())
