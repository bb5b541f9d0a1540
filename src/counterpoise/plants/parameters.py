"""A drive's configuration turned into the rows of numbers that the steppers work on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics import for_joints
from ..errors import InputError
from ..foundation import Array, frozen
from .config import ArmConfig, FlowValve, TorqueSource
from .layout import DRIVE_PARAMETERS, DRIVE_STATES, STATE

BRAKE_DAMPING_RATIO = 0.7
"""Damping of the brake's give with the motor's inertia."""


@dataclass(frozen=True, slots=True, eq=False)
class Joints:
    """What the drives must know of the joints: names, rotor inertia and limits, each of shape (n,)."""

    names: tuple[str, ...]
    rotor_inertia: Array
    effort_limit: Array
    lower: Array
    upper: Array


def drive_parameters(config: ArmConfig, joints: Joints) -> Array:
    """Return one row of DRIVE_PARAMETERS per joint, shape (n, p), read-only.

    Raises:
        InputError: A setting has another number of entries than there are joints, or does not fit the others.
    """
    rows = {name: np.zeros(len(joints.names)) for name in DRIVE_PARAMETERS}

    def put(name: str, value: object, source: str) -> None:
        rows[name] = for_joints(np.asarray(value, dtype=np.float64), source, joints.names)

    drive = config.drive
    put("inertia", joints.rotor_inertia if drive.inertia is None else drive.inertia, "drive.inertia")
    put("gear_stiffness", drive.gear.stiffness, "gear.stiffness")
    put("gear_damping", drive.gear.damping, "gear.damping")
    put("half_backlash", 0.5 * np.asarray(drive.gear.backlash), "gear.backlash")
    _put_friction(config, rows, joints.names)

    actuator = drive.actuator
    put("lag", actuator.lag, "actuator.lag")
    for name in ("gain", "free_speed", "supply"):
        put(name, 1.0, name)
    if isinstance(actuator, TorqueSource):
        put("limit", joints.effort_limit if actuator.limit is None else actuator.limit, "actuator.limit")
        put("gain", 1.0 + np.asarray(actuator.gain_error), "actuator.gain_error")
        for name in ("offset", "ripple", "cogging", "cycles", "phase"):
            put(name, getattr(actuator, name), f"actuator.{name}")
    else:
        put("valve", 1.0, "valve")
        put("hydraulic_stiffness", actuator.stiffness, "actuator.stiffness")
        for name in ("limit", "free_speed", "supply", "leakage", "overlap"):
            put(name, getattr(actuator, name), f"actuator.{name}")

    put("ambient", drive.warmth.ambient, "warmth.ambient")
    put("heating", drive.warmth.resistance, "warmth.resistance")
    put("cooling_time", drive.warmth.time_constant, "warmth.time_constant")

    put("brake_stiffness", 1.0, "brake")
    if drive.brake is not None:
        put("brake_torque", drive.brake.torque, "brake.torque")
        put("brake_stiffness", np.asarray(drive.brake.torque) / np.asarray(drive.brake.give), "brake.give")
        rows["brake_damping"] = 2.0 * BRAKE_DAMPING_RATIO * np.sqrt(rows["brake_stiffness"] * rows["inertia"])

    rows["lower"], rows["upper"] = np.full(len(joints.names), -math.inf), np.full(len(joints.names), math.inf)
    if config.stops is not None:
        put("lower", joints.lower, "lower")
        put("upper", joints.upper, "upper")
        put("stop_stiffness", config.stops.stiffness, "stops.stiffness")
        put("stop_damping", config.stops.damping, "stops.damping")

    for name, stiffness, inertia in zip(joints.names, rows["gear_stiffness"], rows["inertia"], strict=True):
        if math.isfinite(stiffness) and not inertia > 0.0:
            raise InputError(
                f"joint '{name}' has a compliant gear but no rotor inertia; give drive.inertia, or a rigid gear"
            )
    return frozen(np.array([rows[name] for name in DRIVE_PARAMETERS]).T)


def _put_friction(config: ArmConfig, rows: dict[str, Array], names: Sequence[str]) -> None:
    friction = config.drive.friction
    for name in ("stribeck_velocity", "exponent", "bristle_stiffness"):
        rows[name] = np.ones(len(names))
    if friction is None:
        return
    for row, field in (
        ("coulomb", "coulomb"),
        ("static_level", "static"),
        ("viscous", "viscous"),
        ("coulomb_negative", "coulomb_negative"),
        ("static_negative", "static_negative"),
        ("viscous_negative", "viscous_negative"),
        ("stribeck_velocity", "stribeck_velocity"),
        ("exponent", "exponent"),
        ("bristle_stiffness", "stiffness"),
        ("bristle_damping", "damping"),
        ("load", "load"),
        ("coulomb_per_kelvin", "coulomb_per_kelvin"),
        ("viscous_per_kelvin", "viscous_per_kelvin"),
        ("reference_temperature", "reference_temperature"),
    ):
        rows[row] = for_joints(getattr(friction, field), f"friction.{field}", names)


def initial_states(config: ArmConfig, parameters: Array, q: Array, dq: Array, holding: Array) -> Array:
    """Return one row of DRIVE_STATES per joint, shape (n, s), for links at q that the gears hold with ``holding``.

    Args:
        config: The arm.
        parameters: Rows of DRIVE_PARAMETERS.
        q: Link positions [rad or m], shape (n,).
        dq: Velocities of links and motors [rad/s or m/s], shape (n,).
        holding: Torque that the gears transmit at the start [N m or N], shape (n,).
    """
    p = {name: parameters[:, column] for column, name in enumerate(DRIVE_PARAMETERS)}
    states = np.zeros((len(q), len(DRIVE_STATES)))
    play = np.where(holding == 0.0, 0.0, np.copysign(p["half_backlash"], holding))
    states[:, STATE["motor_position"]] = q + holding / p["gear_stiffness"] + play
    states[:, STATE["motor_velocity"]] = dq
    states[:, STATE["gear_torque"]] = states[:, STATE["motor_torque"]] = holding
    states[:, STATE["temperature"]] = np.asarray(config.drive.warmth.initial)
    if isinstance(config.drive.actuator, FlowValve):
        states[:, STATE["pressure_torque"]] = holding
    else:
        states[:, STATE["amplifier"]] = np.clip(holding, -p["limit"], p["limit"])
    if config.start == "braked":  # the brakes carry it, not the motors
        states[:, STATE["motor_torque"]] = states[:, STATE["amplifier"]] = 0.0
        states[:, STATE["brake"]] = 1.0
        most = p["brake_torque"]
        states[:, STATE["brake_bristle"]] = -np.clip(holding, -most, most) / p["brake_stiffness"]
    return states
