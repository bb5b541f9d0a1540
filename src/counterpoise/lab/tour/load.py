"""Fourth stop of the tour: a load is hung on while the arm works, and is found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...control import PDGravity, PoseList, default_gains
from ...errors import InputError
from ...identification import Fit, design_poses
from ...plants import AttachPayload
from ...recording import Sample
from ...sensing import PayloadEstimate, PayloadEstimator, WrenchFrame
from ...tasks import Rig
from .hidden_arm import LOAD_COM, LOAD_MASS, HiddenArm

EMPTY_POSES, LOADED_POSES = 3, 5
"""Poses before and after the load comes."""
SPEED, DWELL = 0.8, 1.2
"""Of the motion between poses [rad/s], and time at each [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundLoad:
    """A load that came during the work.

    Attributes:
        came: When it was hung on [s].
        noticed: When the estimator noticed it [s]; None where it did not.
        estimate: What is known in the end.
    """

    came: float
    noticed: float | None
    estimate: PayloadEstimate


def load_found(arm: HiddenArm, fit: Fit) -> FoundLoad:
    """Work at some poses; after a few of them the load comes. Joint torques and plate are listened to."""
    robot = fit.robot
    poses = design_poses(arm.described, count=EMPTY_POSES + LOADED_POSES, seed=11)
    reference = PoseList(list(poses), speed=np.full(robot.n, SPEED), dwell=DWELL)
    reference.reset(np.asarray(arm.config.position))
    came = reference.duration * EMPTY_POSES / len(poses)
    plant = arm.plant(5, AttachPayload(time=came, mass=LOAD_MASS, com=LOAD_COM, link=arm.tip))
    plate = plant.plate
    if plate is None:
        raise InputError("the arm of the tour has no plate; the load is weighed by one")
    frame = WrenchFrame.checked(plate.T_base_sensor, plate.reads)
    estimator = PayloadEstimator(robot, plant.dt, fit=fit)
    gains = default_gains(robot, np.asarray(arm.config.position), plant.effort_limit, plant.dt)

    def listen(sample: Sample) -> bool:
        estimator.update_sample(sample, None if sample.wrench is None else frame.wrench(sample.wrench))
        return False

    with plant:
        law = PDGravity(robot, gains.kp, gains.kd, reference, reach=gains.reach)
        Rig(plant, robot).loop(law).run(reference.duration, until=listen)
    estimate = estimator.update_estimate()
    noticed = [time for time, event in estimator.events if time > came and event.kind == "attached"]
    return FoundLoad(came, noticed[0] if noticed else None, estimate)
