"""What the payload studies share: what friction leaves at rest, loads to be drawn, the figure of reliability."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import counterpoise as cp
from counterpoise.control import ControlLoop, PDGravity, PoseList, default_gains
from counterpoise.fitting import with_masses
from counterpoise.plants import Preset, preset
from counterpoise.recording import Rest, find_rests
from counterpoise.sensing import WRENCH_STD, Places, places_of

Array = npt.NDArray[np.float64]

SEED = 8
SLOT = 0.02
"""Over so much time positions are averaged, as the estimator does [s]."""
BEFORE, AFTER = 0.7, 0.7
"""How much of the motion about the beginning of a rest, settling cut off, is kept [s]."""
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
        motion: How each joint came to rest: positions about the rest, one every SLOT, shape (s, n, m); m = 0 where it
            was not kept. A joint that settles back by less than a milliradian rests on another share of its friction.
        torque: Its torque beside the weight meanwhile [N m], shape (s, n, m).
    """

    robot: cp.Robot
    places: Places
    band: Array
    residue: Array
    side: Array
    motion: Array
    torque: Array

    @property
    def scatter(self) -> Array:
        """What of the friction changes from pose to pose when the side is known [N m], shape (n,)."""
        friction = (self.side * self.residue).mean(axis=0)
        return np.asarray(np.std(self.residue - self.side * friction, axis=0))


def simulated_arm(name: str, count: int, seed: int = SEED) -> Arm:
    """Let a simulated arm go to poses, and collect how it came to rest and what its drives hold beside the weight."""
    made: Preset = preset(name)
    arm = made.arm(seed=seed)
    robot = arm.robot
    poses = random_poses(robot, count, np.random.default_rng(seed), 0.6)
    speed = 0.5 * np.minimum(arm.velocity_limit, 2.0)
    reference = PoseList(list(poses), speed=speed, dwell=1.2)
    gains = default_gains(robot, np.asarray(made.config.position), arm.effort_limit, arm.dt)
    with arm:
        reference.reset(arm.read().q)
        law = PDGravity(robot, gains.kp, gains.kd, reference)
        report = ControlLoop(arm, law, robot).run(reference.duration + 0.5, log=True)
    if report.log is None or made.config.drive.friction is None:
        raise SystemExit("the presets have friction and the run was recorded; this study needs both")
    found = find_rests(report.log, settle=0.3)
    residue = np.array([segment.tau - robot.gravity(segment.q) for segment in found])
    side = np.array([segment.side for segment in found])
    known = np.all(side != 0.0, axis=1)
    band = np.broadcast_to(np.asarray(made.config.drive.friction.coulomb, dtype=np.float64), (robot.n,))
    motion, torque = (
        np.array(part)[known] for part in zip(*(_coming_to_rest(robot, report.log, one) for one in found), strict=True)
    )
    return Arm(robot, places_of(robot), np.array(band), residue[known], side[known], motion, torque)


def _coming_to_rest(robot: cp.Robot, log: cp.Log, segment: Rest) -> tuple[Array, Array]:
    """Return means over SLOT of the positions about the rest and of the torques beside the weight, shapes (n, m)."""
    per_slot = max(1, round(SLOT * log.rate))
    slots = round((BEFORE + AFTER) / SLOT)
    first = segment.start - round(BEFORE * log.rate)
    rows = np.clip(np.arange(first, first + slots * per_slot), 0, segment.end - 1)
    q, beside = log.q[rows] - segment.q, log.tau[rows] - robot.gravity(log.q[rows])
    motion, torque = (part.reshape(slots, per_slot, -1).mean(axis=1).T for part in (q, beside))
    return motion, torque


def arm_of(name: str, friction: dict[str, Any]) -> Arm:
    """Return an arm with the residues that an earlier part collected."""
    robot = preset(name).robot()
    known = friction[name]
    band, residue, side = (np.array(known[part]) for part in ("band", "residue", "side"))
    nothing = np.zeros((*side.shape, 0))
    return Arm(robot, places_of(robot), band, residue, side, nothing, nothing)


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


def one_rest(arm: Arm, sign: Array, random: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return a residue of the simulation for each joint, (n,), and how it came to it: motion and torque, (m, n).

    All are turned to the side from which the joint comes.
    """
    rows = random.integers(len(arm.residue), size=arm.robot.n)
    joints = np.arange(arm.robot.n)
    turned = sign * arm.side[rows, joints]
    motion, torque = ((turned[:, None] * part[rows, joints]).T for part in (arm.motion, arm.torque))
    return turned * arm.residue[rows, joints], motion, torque


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


def draw_reliability(rows: list[dict[str, float]], label: str, path: Path) -> None:
    """Draw how often links of some stated probability were the right ones, with standard error and count.

    Args:
        rows: "stated", "found", "error" and "count" of each bin.
        label: What the stated probabilities are.
        path: The figure.
    """
    import matplotlib.pyplot as plt  # noqa: PLC0415, only whole studies draw

    drawing, axes = plt.subplots(figsize=(5.0, 4.4))
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--")
    stated, found, error = ([row[name] for row in rows] for name in ("stated", "found", "error"))
    axes.errorbar(stated, found, yerr=error, marker="o", capsize=3)
    for row in rows:
        axes.annotate(f"{row['count']:.0f}", (row["stated"], row["found"]), xytext=(6, -12), textcoords="offset points")
    axes.set_xlabel(label)
    axes.set_ylabel("share in which it was the right one")
    drawing.tight_layout()
    drawing.savefig(path, dpi=110)
