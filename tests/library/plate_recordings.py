"""Recordings of an arm on a plate whose every number is known: by formula, and of the simulated PUMA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import counterpoise as cp
from counterpoise.foundation import Array, inverse_transform, rotation_from_rpy, transform, wrench_transform
from counterpoise.recording import Declared
from counterpoise.sensing import Mounting, split

SCALE = np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""Moments count as forces at 0.5 m."""
NOISE = np.array([0.3, 0.3, 0.5, 0.05, 0.05, 0.03])


@dataclass(frozen=True, eq=False)
class Truth:
    """What was injected: pose, sign, gain, bias, drift [per s] and lag [s]."""

    T_base_sensor: Array
    sign: float
    gain: Array
    bias: Array
    drift: Array
    lag: float

    @property
    def mounting(self) -> Mounting:
        """Pose and gain, split so that the gain lies nearest the identity."""
        return split(self.gain @ wrench_transform(inverse_transform(self.T_base_sensor)))


def random_truth(seed: int, *, sign: float = 1.0, gain: float = 0.02) -> Truth:
    """Return a plate turned by any angle, tilted by some degrees, with gain errors and cross-talk."""
    rng = np.random.default_rng([61, seed])
    rpy = [*np.deg2rad(rng.uniform(-4.0, 4.0, 2)), rng.uniform(-np.pi, np.pi)]
    mixing = np.linalg.inv(SCALE) @ rng.uniform(-gain, gain, (6, 6)) @ SCALE
    origin = [*rng.uniform(-0.1, 0.1, 2), rng.uniform(-0.9, -0.2)]
    bias = rng.normal(size=6) * [20.0, 20.0, 200.0, 10.0, 10.0, 5.0]
    drift = rng.normal(size=6) * [4e-3, 4e-3, 8e-3, 1e-3, 1e-3, 1e-3]
    return Truth(
        transform(rotation_from_rpy(rpy), origin), sign, np.eye(6) + mixing, bias, drift, rng.uniform(0.0, 0.02)
    )


def fast_motion(robot: cp.Robot, seed: int, time: Array, top: float = 0.8) -> tuple[Array, Array, Array]:
    """Return q, dq, ddq of a multi-sine up to ``top`` Hz."""
    rng = np.random.default_rng([62, seed])
    lower, upper = np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5)
    size = 0.12 * (upper - lower)[:, None] * rng.uniform(0.4, 1.0, (robot.n, 4))
    omega, phase = 2.0 * np.pi * rng.uniform(0.1, top, (robot.n, 4)), rng.uniform(0.0, 2.0 * np.pi, (robot.n, 4))
    angle = omega * time[:, None, None] + phase
    q = 0.5 * (lower + upper) + np.sum(size * np.sin(angle), axis=2)
    return q, np.sum(size * omega * np.cos(angle), axis=2), -np.sum(size * omega**2 * np.sin(angle), axis=2)


def standing_motion(robot: cp.Robot, seed: int, time: Array) -> tuple[Array, Array, Array]:
    """Return q, dq, ddq of very slow moves from pose to pose, ten seconds of rest at each."""
    rng = np.random.default_rng([63, seed])
    lower, upper = np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5)
    leg = 40.0
    poses = rng.uniform(lower, upper, (int(time[-1] / leg) + 2, robot.n))
    index = np.maximum(time / leg, 0.0).astype(int)
    part = np.clip((time / leg - index) * leg / 30.0, 0.0, 1.0)[:, None]
    blend = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    q = poses[index] + (poses[index + 1] - poses[index]) * blend
    dq = np.gradient(q, time, axis=0)
    return q, dq, np.gradient(dq, time, axis=0)


Motion = Callable[[cp.Robot, int, Array], tuple[Array, Array, Array]]


def recorded(
    robot: cp.Robot, truth: Truth, seed: int, time: Array, motion: Motion = fast_motion, real: cp.Robot | None = None
) -> cp.Log:
    """Return what an encoder and a plate say of a motion of a ``real`` robot; the plate's pose is not declared."""
    q, dq, _ = motion(robot, seed, time)
    rng = np.random.default_rng([64, seed])
    late = (robot if real is None else real).base_wrench(*motion(robot, seed, time - truth.lag))
    return log_of(robot, truth, time, q, dq, late, NOISE * rng.normal(size=late.shape))


def log_of(robot: cp.Robot, truth: Truth, time: Array, q: Array, dq: Array, wrench: Array, noise: Array) -> cp.Log:
    """Return the log of a wrench on the robot (base axes and origin, late already) read by a plate."""
    reading = truth.sign * wrench @ truth.mounting.matrix.T + truth.bias + truth.drift * time[:, None] + noise
    counts = 1e-4 * np.round(q / 1e-4)
    return cp.Log(robot.joint_names, time, counts, dq, np.full(q.shape, np.nan), wrench=reading, declared=Declared())


def simulated_puma(seed: int, seconds: float, variant: str = "stiff") -> tuple[cp.Log, cp.Robot, Array]:
    """Return a multi-sine of the simulated PUMA, its robot, and the wrench on it that its own plate filtered, (k, 6).

    The plate's own gain, bias and drift are taken off, so that others can be put on; its noise, walk, steps and
    low-pass stay. The arm is driven softly: a hard drive shakes it beyond half the sampling rate, and the plate's
    readings alias.
    """
    from counterpoise.dynamics import joint_inertias
    from counterpoise.plants import preset

    made = preset("puma550", variant)
    arm, plate = made.arm(seed=seed), made.config.plate
    robot = arm.robot
    start = np.asarray(made.config.position)
    bandwidth, fastest = 2.0 * np.pi * 2.0, 2.0 * np.pi * made.config.encoder.cutoff
    kd = np.minimum(2.0 * bandwidth * joint_inertias(robot, start), 0.25 * fastest * robot.rotor_inertia)
    kp = 0.5 * bandwidth * kd
    dry = np.asarray(made.config.drive.friction.coulomb)
    rng = np.random.default_rng([65, seed])
    omega, phase = 2.0 * np.pi * rng.uniform(0.1, 0.9, (robot.n, 3)), rng.uniform(0.0, 2.0 * np.pi, (robot.n, 3))
    size = 0.25 * rng.uniform(0.5, 1.0, (robot.n, 3))
    samples = []
    with arm:
        for _ in range(round(seconds / arm.dt)):
            sample = arm.read()
            samples.append(sample)
            grown = min(sample.time / 2.0, 1.0)
            goal = start + grown * np.sum(size * (np.sin(omega * sample.time + phase) - np.sin(phase)), axis=1)
            speed = grown * np.sum(size * omega * np.cos(omega * sample.time + phase), axis=1)
            push = 0.95 * dry * np.tanh(speed / 0.02) + robot.gravity(sample.q)
            arm.write(kp * (goal - sample.q) + kd * (speed - sample.dq) + push)
    log = cp.Log.from_samples(samples, robot.joint_names)
    own = np.asarray(plate.crosstalk) @ wrench_transform(inverse_transform(np.asarray(plate.T_base_sensor)))
    plain = log.wrench - plate.bias - np.asarray(plate.drift) * log.time[:, None]
    return log, robot, np.linalg.solve(own, plain.T).T


def reread(log: cp.Log, robot: cp.Robot, wrench: Array, truth: Truth) -> cp.Log:
    """Return a simulated recording as another plate would have read it."""
    late = np.column_stack([np.interp(log.time - truth.lag, log.time, column) for column in wrench.T])
    other = log_of(robot, truth, log.time, log.q, log.dq, late, np.zeros_like(late))
    return replace(other, q=log.q)
