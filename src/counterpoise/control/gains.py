"""Gains for an arm that nobody has tuned yet: from its inertias, its effort limits and the control period alone.

Per joint, with J the inertia that its torque moves, J_m the rotor's share of it and T the control period:

    ω = max(ω_0, J_m / (8 T J)),   K_p = min(J ω², τ_max / 0.05 rad),
    K_d = min(1.4 √(K_p J), J_m / (8 T)),   K_i = K_p K_d / (4 J)

ω_0 is 25 rad/s, or less where the period is longer than 1/300 s. The bound of K_d is what a compliant gear asks for: at
the gear's mode the motor feels its own inertia only, and a damping that is gentle on J is harsh on J_m. For a drive
without a rotor (0 is stated) that bound is left out. K_i is a quarter of what would make the loop unstable. The rule is
meant to be safe, not fine: a tuned arm does better.

A joint whose rotor is **unknown** gets the soft law. Its J is the link's alone, which is less than what really moves;
an integral by this J could make the loop unstable, so K_i = 0; and the position error that counts is clipped,

    K_p |e| ≤ K_d · 0.2 rad/s (0.05 m/s),

so that the spring by itself drives the joint no faster than that. PD stays stable on any inertia above the link's. What
the torque really moves can be measured: tasks/rotors/measurement.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..dynamics import Robot, joint_inertias, rotary
from ..foundation import Array, frozen

BANDWIDTH = 25.0
"""ω_0, the least natural frequency asked for [rad/s]: 4 Hz."""
LEAST_TICKS = 12
"""... but never faster than 1 rad in this many control periods."""
ROTOR_TICKS = 8
"""The motor by itself is slowed with a time constant of at least this many control periods."""
LEAST_REACH = 1e-9
"""Reach of a joint without any stiffness [rad or m]: a bound must be above 0."""
FULL_EFFORT_AT = 0.05
"""Position error that calls for a joint's whole effort limit [rad or m]; stiffer makes no sense."""
DAMPING_RATIO = 0.7
SOFT_SPEED_ROTARY, SOFT_SPEED_LINEAR = 0.2, 0.05
"""Speed at which the damping of a joint with an unknown rotor balances its spring at the most [rad/s, m/s]."""
INTEGRAL_SHARE = 0.25
"""Of K_p K_d / J, where J s³ + K_d s² + K_p s + K_i has its first root with a positive real part."""


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """Gains of a PID controller, shape (n,).

    Attributes:
        kp: Stiffness K_p [N m/rad or N/m].
        ki: Integral gain K_i [N m/(rad s) or N/(m s)].
        kd: Damping K_d [N m s/rad or N s/m].
        reach: Largest position error that K_p acts on [rad or m], above 0; None for any.
    """

    kp: Array
    ki: Array
    kd: Array
    reach: Array | None = None


def default_gains(
    robot: Robot, q: Array, effort_limit: Array, dt: float, *, stiffness: float = 1.0, heaviest: Robot | None = None
) -> Gains:
    """Return gains by the rule above.

    Args:
        robot: The arm, payload included; with rotors known within bounds, the arm with the smallest.
        q: Where its inertias are taken [rad or m], shape (n,).
        effort_limit: Largest torques [N m or N], shape (n,).
        dt: Time between two ticks [s].
        stiffness: Factor on K_p, for an arm that bears more or less than the rule believes; K_i follows.
        heaviest: The arm with the largest rotors it may have, whose J bounds K_i; None for ``robot``.
    """
    inertia = joint_inertias(robot, q)
    rotor = np.asarray(robot.rotor_inertia)
    most_damping = np.where(rotor > 0.0, rotor / (ROTOR_TICKS * dt), math.inf)
    known = (rotor > 0.0) & (inertia > 0.0)
    by_rotor = np.where(known, rotor / np.where(known, inertia, 1.0), 0.0) / (ROTOR_TICKS * dt)
    omega = np.maximum(least_frequency(dt), by_rotor)
    kp = stiffness * np.minimum(inertia * omega**2, effort_limit / FULL_EFFORT_AT)
    kd = np.minimum(2.0 * DAMPING_RATIO * np.sqrt(kp * inertia), most_damping)
    most = inertia if heaviest is None else np.maximum(inertia, joint_inertias(heaviest, q))
    stated = robot.rotor_inertia_known
    ki = np.where(stated, INTEGRAL_SHARE * kp * kd / np.where(most > 0.0, most, np.inf), 0.0)
    return Gains(frozen(kp), frozen(ki), frozen(kd), soft_reach(robot, kp, kd))


def soft_reach(robot: Robot, kp: Array, kd: Array) -> Array | None:
    """Return the largest position errors that K_p may act on [rad or m], shape (n,); None where every rotor is known.

    It is infinite for a joint whose rotor is known. For the others see the rule above.

    Args:
        robot: The arm.
        kp: K_p [N m/rad or N/m], shape (n,).
        kd: K_d [N m s/rad or N s/m], shape (n,).
    """
    stated = robot.rotor_inertia_known
    if stated.all():
        return None
    speed = np.where(rotary(robot), SOFT_SPEED_ROTARY, SOFT_SPEED_LINEAR)
    soft = np.where(kp > 0.0, kd * speed / np.where(kp > 0.0, kp, 1.0), 0.0)
    return frozen(np.where(stated, np.inf, np.maximum(soft, LEAST_REACH)))


def soft_damping(inertia: Array, dt: float) -> Array:
    """Return K_d of the soft law for joints that move these inertias [N m s/rad or N s/m], shape (n,).

    Args:
        inertia: Of the links [kg m² or kg], shape (n,).
        dt: Time between two ticks [s].
    """
    return 2.0 * DAMPING_RATIO * least_frequency(dt) * inertia


def least_frequency(dt: float) -> float:
    """Return ω_0 [rad/s] for a control period ``dt`` [s]."""
    return min(BANDWIDTH, 1.0 / (LEAST_TICKS * dt))


def softest_gains(
    robot: Robot, poses: Iterable[Array], effort_limit: Array, dt: float, *, heaviest: Robot | None = None
) -> Gains:
    """Return, per joint, the lowest of the default gains at some poses: inertias vary with the pose.

    Args:
        robot: The arm, payload included.
        poses: Where its inertias are taken [rad or m], each of shape (n,).
        effort_limit: Largest torques [N m or N], shape (n,).
        dt: Time between two ticks [s].
        heaviest: See default_gains.
    """
    found = [default_gains(robot, pose, effort_limit, dt, heaviest=heaviest) for pose in poses]
    kp, ki, kd = (frozen(np.min([getattr(one, name) for one in found], axis=0)) for name in ("kp", "ki", "kd"))
    reaches = [one.reach for one in found if one.reach is not None]
    return Gains(kp, ki, kd, frozen(np.min(reaches, axis=0)) if reaches else None)
