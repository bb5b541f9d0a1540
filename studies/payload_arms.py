"""Arms of the payload study: what friction leaves at rest, collected from simulations, and loads to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import counterpoise as cp
from counterpoise.calibration.calibrated_robot import with_masses
from counterpoise.control.careful_gains import careful_gains
from counterpoise.control.gravity import PDGravity
from counterpoise.control.loop import ControlLoop
from counterpoise.control.reference import PoseList
from counterpoise.estimation.payload_estimator import WRENCH_STD
from counterpoise.estimation.payload_places import Places, places_of
from counterpoise.logs.stillness import still_segments
from counterpoise.plants.presets import Preset, preset

Array = npt.NDArray[np.float64]

SEED = 8
BESIDE = 0.1
"""Loads lie up to this far beside their link [m]."""


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm and what friction leaves at rest.

    Attributes:
        robot: The arm as described.
        places: Where loads may sit.
        band: Dry friction of the preset [N m], shape (n,).
        residue: Torque beside the weight at rest [N m], shape (s, n).
        side: Side from which each joint came, shape (s, n).
    """

    robot: cp.Robot
    places: Places
    band: Array
    residue: Array
    side: Array

    @property
    def scatter(self) -> Array:
        """What of the friction changes from pose to pose when the side is known [N m], shape (n,)."""
        friction = (self.side * self.residue).mean(axis=0)
        return np.asarray(np.std(self.residue - self.side * friction, axis=0))


def simulated_arm(name: str, count: int) -> Arm:
    """Let a simulated arm go to poses, and collect what its drives hold beside the weight."""
    made: Preset = preset(name)
    arm = made.arm(seed=SEED)
    robot = arm.robot
    poses = random_poses(robot, count, np.random.default_rng(SEED), 0.6)
    speed = 0.5 * np.minimum(arm.velocity_limit, 2.0)
    reference = PoseList(list(poses), speed=speed, dwell=1.2)
    gains = careful_gains(robot, np.asarray(made.config.position), arm.effort_limit, arm.period)
    with arm:
        reference.reset(arm.read().q)
        law = PDGravity(robot, gains.kp, gains.kd, reference)
        report = ControlLoop(arm, law, robot).run(reference.duration + 0.5, log=True)
    if report.log is None or made.config.drive.friction is None:
        raise SystemExit("the presets have friction and the run was recorded; this study needs both")
    found = still_segments(report.log, settle=0.3)
    residue = np.array([segment.tau - robot.gravity(segment.q) for segment in found])
    side = np.array([segment.approach for segment in found])
    known = np.all(side != 0.0, axis=1)
    band = np.broadcast_to(np.asarray(made.config.drive.friction.coulomb, dtype=np.float64), (robot.n,))
    return Arm(robot, places_of(robot), np.array(band), residue[known], side[known])


def arm_of(name: str, friction: dict[str, Any]) -> Arm:
    """Return an arm with the residues that an earlier part collected."""
    robot = preset(name).robot()
    known = friction[name]
    return Arm(robot, places_of(robot), *(np.array(known[part]) for part in ("band", "residue", "side")))


def random_poses(robot: cp.Robot, count: int, random: np.random.Generator, share: float) -> Array:
    """Return poses within a share of the joints' ranges, shape (count, n)."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    spread = share * 0.5 * (upper - lower) * random.uniform(-1.0, 1.0, (count, robot.n))
    return np.asarray(0.5 * (lower + upper) + spread)


def held(arm: Arm, robot: cp.Robot, count: int, random: np.random.Generator, plate: bool) -> tuple[Any, ...]:
    """Return positions, torques, wrenches and sides of poses at rest."""
    q = random_poses(robot, count, random, 0.85)
    rows = random.integers(len(arm.residue), size=q.shape)
    joints = np.arange(robot.n)
    tau = robot.gravity(q) + arm.residue[rows, joints]
    wrench = robot.base_wrench(q) + WRENCH_STD * random.normal(size=(count, 6)) if plate else None
    return q, tau, wrench, arm.side[rows, joints]


def one_residue(arm: Arm, sign: Array, random: np.random.Generator) -> Array:
    """Return a residue of the simulation for each joint, turned to the side it comes from."""
    rows = random.integers(len(arm.residue), size=arm.robot.n)
    joints = np.arange(arm.robot.n)
    return np.asarray(sign * arm.side[rows, joints] * arm.residue[rows, joints])


def drawn_arm(robot: cp.Robot, random: np.random.Generator) -> cp.Robot:
    """Return the robot with every body's mass off by 10 % (one standard deviation)."""
    parameters = robot.gravity_parameters.reshape(-1, 4)
    factors = 1.0 + 0.1 * np.clip(random.normal(size=(len(parameters), 1)), -2.5, 2.5)
    return with_masses(robot, (factors * parameters).ravel())


def drawn_com(places: Places, place: int, random: np.random.Generator) -> Array:
    """Return a point along the link and up to BESIDE away from it, in the link's frame [m]."""
    centre, inner = places.centre[place], places.radius[place] - places.radius.min()
    along = 2.0 * random.uniform() - 1.0
    direction = centre / np.linalg.norm(centre) if np.linalg.norm(centre) > 1e-9 else np.zeros(3)
    away = random.normal(size=3)
    away *= BESIDE * random.uniform() ** (1.0 / 3.0) / np.linalg.norm(away)
    return places.com_in_link(place, centre + along * inner * direction + away)
