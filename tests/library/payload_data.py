"""Streams of samples of an arm that goes from pose to pose, with friction on the side it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import counterpoise as cp


def random_poses(robot: cp.Robot, count: int, random: np.random.Generator) -> np.ndarray:
    """Poses within 85 % of the joints' ranges, shape (count, n)."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    return 0.5 * (lower + upper) + 0.425 * (upper - lower) * random.uniform(-1.0, 1.0, (count, robot.n))


def held(robot: cp.Robot, count: int, friction: np.ndarray, random: np.random.Generator, plate: bool = False):
    """Poses at rest: positions, torques, wrenches (or None) and sides; friction of ± its band with 15 % of scatter."""
    q = random_poses(robot, count, random)
    side = random.choice([-1.0, 1.0], size=q.shape)
    tau = robot.gravity(q) + side * friction * (1.0 - 0.15 * np.abs(random.normal(size=q.shape)))
    std = np.array([0.4, 0.4, 0.4, 0.3, 0.3, 0.3])
    wrench = robot.base_wrench(q) + std * random.normal(size=(count, 6)) if plate else None
    return q, tau, wrench, side


def stream(
    robots: Sequence[cp.Robot], poses: np.ndarray, friction: np.ndarray, dt: float, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Samples (q, dq, tau): one second of travel to each pose, one of rest there; robots[k] is what moves to pose k."""
    steps = round(1.0 / dt)
    at = poses[0]
    for robot, goal in zip(robots, poses, strict=True):
        way = goal - at
        share = np.linspace(0.0, 1.0, steps + 1)[1:]
        moving = at + np.outer(share, way)
        sign = np.sign(way)
        torque = robot.gravity(moving) + sign * friction
        speed = way / 1.0
        for q, tau in zip(moving, torque, strict=True):
            yield q, speed, tau
        rest = robot.gravity(goal) + sign * friction * (1.0 - 0.15 * np.abs(random.normal(size=robot.n)))
        noise = 0.02 * friction * random.normal(size=(steps, robot.n))
        for tau in rest + noise:
            yield goal, np.zeros(robot.n), tau
        at = goal
