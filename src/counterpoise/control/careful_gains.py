"""Gains for an arm that nobody has tuned yet: from its inertias, its effort limits and the control period alone.

Per joint, with J the inertia that its torque moves, J_m the rotor's share of it and T the control period:

    ω = max(ω_0, J_m / (8 T J)),   K_p = min(J ω², τ_max / 0.05 rad),
    K_d = min(1.4 √(K_p J), J_m / (8 T)),   K_i = K_p K_d / (4 J)

ω_0 is 25 rad/s, or less where the period is longer than 1/300 s. The bound of K_d is what a compliant gear asks for: at
the gear's mode the motor feels its own inertia only, and a damping that is gentle on J is harsh on J_m. Where no rotor
inertia is known, that bound is left out. K_i is a quarter of what would make the loop unstable. The rule is meant to be
safe, not fine: a tuned arm does better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array, frozen
from ..dynamics.inertia import joint_inertias
from ..dynamics.robot import Robot

BANDWIDTH = 25.0
"""ω_0, the least natural frequency asked for [rad/s]: 4 Hz."""
LEAST_TICKS = 12
"""... but never faster than 1 rad in this many control periods."""
ROTOR_TICKS = 8
"""The motor by itself is slowed with a time constant of at least this many control periods."""
FULL_EFFORT_AT = 0.05
"""Position error that calls for a joint's whole effort limit [rad or m]; stiffer makes no sense."""
DAMPING_RATIO = 0.7
INTEGRAL_SHARE = 0.25
"""Of K_p K_d / J, where J s³ + K_d s² + K_p s + K_i has its first root with a positive real part."""


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """Gains of a PID controller, shape (n,).

    Attributes:
        kp: Stiffness K_p [N m/rad or N/m].
        ki: Integral gain K_i [N m/(rad s) or N/(m s)].
        kd: Damping K_d [N m s/rad or N s/m].
    """

    kp: Array
    ki: Array
    kd: Array


def careful_gains(robot: Robot, q: Array, effort_limit: Array, dt: float, *, stiffness: float = 1.0) -> Gains:
    """Return gains by the rule above.

    Args:
        robot: The arm, payload included.
        q: Where its inertias are taken [rad or m], shape (n,).
        effort_limit: Largest torques [N m or N], shape (n,).
        dt: Time between two ticks [s].
        stiffness: Factor on K_p, for an arm that bears more or less than the rule believes; K_i follows.
    """
    inertia = joint_inertias(robot, q)
    rotor = np.asarray(robot.rotor_inertia)
    omega_0 = min(BANDWIDTH, 1.0 / (LEAST_TICKS * dt))
    most_damping = np.where(rotor > 0.0, rotor / (ROTOR_TICKS * dt), math.inf)
    known = (rotor > 0.0) & (inertia > 0.0)
    by_rotor = np.where(known, rotor / np.where(known, inertia, 1.0), 0.0) / (ROTOR_TICKS * dt)
    omega = np.maximum(omega_0, by_rotor)
    kp = stiffness * np.minimum(inertia * omega**2, effort_limit / FULL_EFFORT_AT)
    kd = np.minimum(2.0 * DAMPING_RATIO * np.sqrt(kp * inertia), most_damping)
    ki = INTEGRAL_SHARE * kp * kd / np.where(inertia > 0.0, inertia, np.inf)
    return Gains(frozen(kp), frozen(ki), frozen(kd))


def softest_gains(robot: Robot, poses: Iterable[Array], effort_limit: Array, dt: float) -> Gains:
    """Return, per joint, the lowest of the careful gains at some poses: inertias vary with the pose.

    Args:
        robot: The arm, payload included.
        poses: Where its inertias are taken [rad or m], each of shape (n,).
        effort_limit: Largest torques [N m or N], shape (n,).
        dt: Time between two ticks [s].
    """
    found = [careful_gains(robot, pose, effort_limit, dt) for pose in poses]
    return Gains(*(frozen(np.min([getattr(one, name) for one in found], axis=0)) for name in ("kp", "ki", "kd")))
