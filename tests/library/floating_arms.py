"""Small simulated arms with dry friction, to be let float: a planar one of three joints, and a gantry."""

from __future__ import annotations

from typing import Any

import numpy as np

import counterpoise as cp
from counterpoise.dynamics import LuGre
from counterpoise.plants import ArmConfig, Drive, EffortSensor, Encoder, Push, SimulatedArm, Timing

PLANAR, GANTRY = cp.load("planar3"), cp.load("gantry")
PLANAR_POSE = (0.2, -0.5, 0.9)
GANTRY_POSE = (0.5, 0.4, 0.3)
PLANAR_FRICTION = np.array([1.5, 1.0, 0.4])
GANTRY_FRICTION = np.array([12.0, 8.0, 6.0])


def arm(robot: cp.Robot, friction: Any, pose: Any, yields: float, **changes: Any) -> SimulatedArm:
    """Return an arm whose joints yield by ``yields`` and break away at 1.15 ``friction``; its efforts are noisy."""
    level = np.asarray(friction)
    config = ArmConfig(
        timing=Timing(dt=4e-3, physics_step=1e-3),
        drive=Drive(
            friction=LuGre(coulomb=level, static=1.15 * level, stiffness=level / yields, stribeck_velocity=0.02)
        ),
        encoder=Encoder(velocity="exact"),
        effort=EffortSensor(noise=0.02 * level),
        position=pose,
    )
    return SimulatedArm(robot, config.replaced(**changes))


def planar(**changes: Any) -> SimulatedArm:
    """Return the planar arm."""
    return arm(PLANAR, PLANAR_FRICTION, PLANAR_POSE, 1e-3, **changes)


def gantry(**changes: Any) -> SimulatedArm:
    """Return the gantry: three linear joints."""
    return arm(GANTRY, GANTRY_FRICTION, GANTRY_POSE, 2e-4, **changes)


def lighter(robot: cp.Robot, share: float) -> cp.Robot:
    """Return a model whose masses are too small by ``share``: gravity torques are linear in them."""
    return robot.mounted(gravity=(1.0 - share) * robot.gravity_world)


def pushed(plant: SimulatedArm, force: Any, begin: float, seconds: float) -> None:
    """Push the tip with a force in the base frame [N], ``begin`` seconds from now."""
    start = plant.time + begin
    plant.push(Push(wrench=(*force, 0.0, 0.0, 0.0), start=start, end=start + seconds))


def tip_travel(robot: cp.Robot, log: cp.Log, begin: float, end: float) -> float:
    """Return how far the tip was moved between two times after the log's start [m]."""
    elapsed = log.time - log.time[0]
    rows = [int(np.searchsorted(elapsed, time)) for time in (begin, end)]
    first, last = (robot.forward_kinematics(log.q[row])[:3, 3] for row in rows)
    return float(np.linalg.norm(last - first))
