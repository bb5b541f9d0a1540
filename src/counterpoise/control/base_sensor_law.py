"""Base sensor control of positions: PD outside, the plate's torque loop inside ([Morel2000], eqs. 26–27)."""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..sensing import BaseSensor
from .law import gain
from .pd import PD
from .plant import Plant
from .plate_torque import PlateTorque
from .reference import Reference
from .torque_loop import IntegralCompensator, TorqueLoop


def base_sensor_control(
    plant: Plant,
    sensor: BaseSensor,
    kp: npt.ArrayLike,
    kd: npt.ArrayLike,
    k_int: npt.ArrayLike,
    reference: Reference | None = None,
    *,
    gravity: Robot | Literal["tare"] | None = None,
    form: str = "auto",
    feedforward: npt.ArrayLike = 1.0,
    proportional: npt.ArrayLike = 0.0,
    derivative: npt.ArrayLike = 0.0,
    thorough: bool = False,
    reach: npt.ArrayLike | None = None,
) -> TorqueLoop:
    """Return the law τ = g + τ_des + k_int ∫ (τ_des − τ_est) dt with τ_des = K_p (q_d − q) + K_d (dq_d − dq).

    With ``kd=0`` it is the proportional control of the hydraulic arm (section 4 of the paper).

    Args:
        plant: What will be driven: its dt, its effort limits (which bound the integral), whether it bears its own
            weight, and whether it measures torques to start from.
        sensor: The base sensor, tared before the run unless ``form`` is "full".
        kp: K_p [N m/rad or N/m], shape (n,) or one number.
        kd: K_d [N m s/rad or N s/m], shape (n,) or one number.
        k_int: Integral gain of the torque loop [1/s], shape (n,) or one number.
        reference: What to follow; None holds the pose the arm has at the start.
        gravity: The model that holds the weight, or "tare" for the torque found at the start; None for the sensor's
            robot. Left out on a plant that bears its own weight.
        form: Form of the estimate, as in BaseSensor.joint_torques.
        feedforward: Share of τ_des that is sent directly, 1 in the paper.
        proportional: Proportional gain of the torque loop, shape (n,) or one number; 0 in the paper.
        derivative: Derivative gain of the torque loop [s], shape (n,) or one number; 0 in the paper.
        thorough: Judge every estimate by BaseSensor.estimate, contacts included; slower.
        reach: Largest position error that K_p acts on [rad or m], above 0, shape (n,) or one number; None for any.

    Raises:
        InputError: Gains, or a plant and a sensor, that do not fit.
    """
    joints = sensor.robot.joint_names
    if plant.joint_names != joints:
        raise InputError(f"the sensor's robot has {list(joints)}, the plant {list(plant.joint_names)}")
    n = len(joints)
    measures = plant.effort_kind == "torque" and not plant.adds_gravity
    if gravity == "tare" and plant.effort_kind != "torque":
        raise InputError(
            "gravity='tare' is the torque measured at the start, and this plant measures none: give a model"
        )
    own: Literal["plant"] = "plant"
    compensator = IntegralCompensator(
        gain(k_int, "k_int", n),
        integral_limit=plant.effort_limit,
        dt=plant.dt,
        proportional=proportional,
        derivative=derivative,
    )
    return TorqueLoop(
        PD(gain(kp, "kp", n), kd, reference, reach=reach),
        PlateTorque(sensor, form, thorough=thorough),
        compensator,
        dt=plant.dt,
        gravity=own if plant.adds_gravity else (sensor.robot if gravity is None else gravity),
        feedforward=feedforward,
        start="effort" if measures else "zero",
    )


def plate_of(plant: Plant, robot: Robot) -> BaseSensor:
    """Return a base sensor as the plant declares its plate.

    Args:
        plant: A plant with a plate.
        robot: The arm's model.

    Raises:
        InputError: The plant has no plate.
    """
    plate = plant.plate
    if plate is None:
        raise InputError("this plant has no plate under its base; base sensor control needs one")
    return BaseSensor(robot, plate.T_base_sensor, plate.reads, range=plate.range)
