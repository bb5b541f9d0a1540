"""Recordings of moving arms that are known exactly: multi-sine motions, chosen friction, drives and noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import counterpoise as cp
from counterpoise.description import Inertia
from counterpoise.foundation import Array
from counterpoise.recording import Declared


def motion(robot: cp.Robot, seed: int, seconds: float = 20.0, rate: float = 100.0) -> tuple[Array, ...]:
    """Return time, q, dq, ddq of sines of a few frequencies below 0.5 Hz, exact derivatives."""
    rng = np.random.default_rng([31, seed])
    time = np.arange(0.0, seconds, 1.0 / rate)
    lower = np.where(np.isfinite(robot.lower), robot.lower, -2.0)
    upper = np.where(np.isfinite(robot.upper), robot.upper, 2.0)
    q, dq, ddq = (np.zeros((len(time), robot.n)) for _ in range(3))
    for joint in range(robot.n):
        for _ in range(4):
            w, phase = 2.0 * np.pi * rng.uniform(0.05, 0.45), rng.uniform(0.0, 2.0 * np.pi)
            size = 0.1 * (upper - lower)[joint] * rng.uniform(0.5, 1.0)
            q[:, joint] += size * np.sin(w * time + phase)
            dq[:, joint] += size * w * np.cos(w * time + phase)
            ddq[:, joint] -= size * w**2 * np.sin(w * time + phase)
    return time, q + 0.5 * (lower + upper), dq, ddq


def other_masses(robot: cp.Robot, seed: int, mass: float = 0.1, com: float = 0.02) -> cp.Robot:
    """Return the arm as it might really be: every link's density and centre of mass off its CAD values."""
    rng = np.random.default_rng([32, seed])
    links = []
    for link in robot.description.links:
        kept = link.inertia
        if kept is not None and kept.mass > 0.0:
            scale = 1.0 + mass * rng.uniform(-1.0, 1.0)
            center = kept.com + com * rng.uniform(-1.0, 1.0, 3)
            kept = Inertia(kept.mass * scale, center, kept.tensor_com * scale, as_published=True)
        links.append(replace(link, inertia=kept))
    described = replace(robot.description, links=tuple(links))
    return cp.Robot(described, mount=robot.mount, gravity=robot.gravity_world)


def recording(
    robot: cp.Robot,
    seed: int,
    *,
    coulomb: Array | float = 0.0,
    viscous: Array | float = 0.0,
    offset: Array | float = 0.0,
    rotor: Array | float = 0.0,
    noise: float = 0.0,
    extra: Array | float = 0.0,
    v0: float = 0.02,
    seconds: float = 20.0,
    rate: float = 100.0,
    declared: Declared | None = None,
) -> cp.Log:
    """Return a log whose efforts are the robot's torques, plus friction, offset, rotors and noise [N m]."""
    time, q, dq, ddq = motion(robot, seed, seconds, rate)
    tau = robot.inverse_dynamics(q, dq, ddq) + np.asarray(rotor) * ddq
    tau = (
        tau + np.asarray(coulomb) * np.tanh(dq / v0) + np.asarray(viscous) * dq + np.asarray(offset) + np.asarray(extra)
    )
    tau = tau + noise * np.random.default_rng([33, seed]).normal(size=tau.shape)
    return cp.Log(robot.joint_names, time, q, dq, tau, declared=declared or Declared())
