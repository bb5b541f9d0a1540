"""Whole simulated arms for the experiments of several joints: their laws tuned joint by joint, circles at the tip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...control import Desired, Reference
from ...dynamics import Robot
from ...foundation import Array
from ...plants import ArmConfig, SimulatedArm
from ...tasks import LawGains, LawKind, Rig, tuned
from .task import RULE, TaskRun, follow

Paths = list[tuple[Array, Array]]
"""Where the tip was and where it should have been, seed by seed, shapes (k, 3)."""


class Circle:
    """A reference that leads the tip once around a small circle through the place where it starts, joint by joint.

    On a circle so small that the Jacobian J does not change,
    q(t) = q_0 + J⁺ R ((cos φ − cos φ_0) u + (sin φ − sin φ_0) v).
    """

    def __init__(self, first: Array, second: Array, period: float, phase: float = 0.0) -> None:
        """Make the reference.

        Args:
            first: Joint motion J⁺ R u [rad], shape (n,).
            second: Joint motion J⁺ R v [rad], shape (n,).
            period: Time of a turn [s].
            phase: φ_0, where on the circle it starts [rad].
        """
        self._first, self._second = first, second
        self._omega, self._phase = 2.0 * math.pi / period, phase
        self._q = np.zeros(len(first))

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad], shape (n,)."""
        self._q = q.copy()

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset."""
        angle, start, omega = self._phase + self._omega * time, self._phase, self._omega
        across, along = math.cos(angle) - math.cos(start), math.sin(angle) - math.sin(start)
        q = self._q + across * self._first + along * self._second
        return Desired(q, omega * (math.cos(angle) * self._second - math.sin(angle) * self._first))


def circle_at_tip(robot: Robot, q: Array, joints: Sequence[int], radius: float, plane: Array) -> tuple[Array, Array]:
    """Return the joint motions of a circle at the tip, for Circle.

    Args:
        robot: The robot.
        q: Pose [rad], shape (n,).
        joints: Joints that move.
        radius: Of the circle [m].
        plane: Two unit vectors of its plane in the base frame, shape (2, 3).
    """
    tip = robot.link_names[-1]
    jacobian = robot.jacobian(q, at=tip)[:3, list(joints)]
    motions = np.zeros((2, robot.n))
    motions[:, list(joints)] = (np.linalg.pinv(jacobian) @ (radius * plane.T)).T
    return motions[0], motions[1]


def tip_paths(robot: Robot, made: TaskRun) -> tuple[Array, Array]:
    """Return where the tip was and where it should have been, in the base frame, from their start [m], shape (k, 3).

    Like a photodetector that is zeroed at the start: the constant give of the gears does not count.
    """
    tip = robot.link_names[-1]
    was = robot.forward_kinematics(made.link, at=tip)[:, :3, 3]
    should = robot.forward_kinematics(made.wanted, at=tip)[:, :3, 3]
    return was - was[0], should - should[0]


def distances(paths: Paths) -> list[Array]:
    """Return how far the tip was from where it should have been, seed by seed, shape (k,) each, in the paths' unit."""
    return [np.linalg.norm(was - should, axis=1) for was, should in paths]


def tuned_arm(
    robot: Robot, config: ArmConfig, kind: LawKind, joints: Sequence[int], like: LawGains | None = None
) -> LawGains:
    """Return the gains of a law on a whole arm, tuned by the rule; joints that are not tuned hold with default gains.

    Args:
        robot: The robot.
        config: The arm.
        kind: The law.
        joints: Joints to tune.
        like: Gains whose K_p and K_d are taken over.
    """
    found = tuned(lambda: Rig(SimulatedArm(robot, config), robot), kind, joints=joints, rule=RULE, position=like)
    return found.gains


def arm_run(
    robot: Robot, config: ArmConfig, gains: LawGains, reference: Reference, duration: float, seed: int
) -> TaskRun:
    """Follow a reference with a whole arm; the links' true positions are kept."""
    plant = SimulatedArm(robot, config.replaced(seed=seed))
    return follow(Rig(plant, robot), gains, reference, duration, truth=lambda: plant.truth().q)


def finer_encoders(config: ArmConfig, factor: float) -> ArmConfig:
    """Return the arm with encoders of so many times as many counts."""
    return config.replaced(encoder=replace(config.encoder, resolution=np.asarray(config.encoder.resolution) / factor))
