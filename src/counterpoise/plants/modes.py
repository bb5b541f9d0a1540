"""Structural modes of a simulated arm, and whether the physics step is short enough for the fastest of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import InputError, ModelError
from ..foundation import Array
from .layout import DRIVE_PARAMETERS

MOST_PHASE = 1.0
"""Largest accepted ω·dt of a mode; symplectic stepping is stable below 2 and warps a mode's frequency by 4 % at 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Undamped modes at one pose, slowest first.

    Attributes:
        frequency: [Hz], shape (m,).
        shape: One mode per column over plate, links and motors, scaled to a modal mass of 1, shape (m, m).
        names: What the rows of ``shape`` are, length m: "link of joint2", "motor of joint2", "plate about x".
    """

    frequency: Array
    shape: Array
    names: tuple[str, ...]


def structural_modes(
    mass_matrix: Array,
    plate_stiffness: Array,
    parameters: Array,
    names: tuple[str, ...],
    *,
    sticking: bool = True,
    against_stops: bool = False,
) -> Modes:
    """Return the modes of plate, links and motors.

    Args:
        mass_matrix: Of plate and joints, armature included, shape (nv, nv).
        plate_stiffness: Of the plate's degrees of freedom, shape (nv − n,).
        parameters: Rows of DRIVE_PARAMETERS, shape (n, p).
        names: The joints.
        sticking: Let the bristles of the friction act as springs.
        against_stops: Let every link lie against an end stop.

    Raises:
        ModelError: The mass matrix is singular: a moving link without mass.
    """
    p = {name: parameters[:, column] for column, name in enumerate(DRIVE_PARAMETERS)}
    n, first = len(names), plate_stiffness.size
    compliant = np.flatnonzero(np.isfinite(p["gear_stiffness"]))
    size = first + n + compliant.size
    mass, stiffness = np.zeros((size, size)), np.zeros((size, size))
    mass[: first + n, : first + n] = mass_matrix
    stiffness[np.arange(first), np.arange(first)] = plate_stiffness
    bristles = p["bristle_stiffness"] * (p["static_level"] > 0.0) * sticking
    held = p["hydraulic_stiffness"] * (p["valve"] != 0.0) + bristles
    motor_of = {}
    for number, joint in enumerate(compliant.tolist()):
        link, motor = first + joint, first + n + number
        motor_of[joint] = motor
        mass[motor, motor] = p["inertia"][joint]
        both = np.array([link, motor])
        stiffness[np.ix_(both, both)] += p["gear_stiffness"][joint] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for joint in range(n):
        at = motor_of.get(joint, first + joint)
        stiffness[at, at] += held[joint]
        stiffness[first + joint, first + joint] += p["stop_stiffness"][joint] * against_stops
    try:
        lower = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError as error:
        raise ModelError("a moving link has no inertia, and no rotor moves with it; it cannot be simulated") from error
    half = np.linalg.solve(lower, stiffness)
    values, vectors = np.linalg.eigh(np.linalg.solve(lower, half.T))
    shapes = np.linalg.solve(lower.T, vectors)
    labels = [f"plate {word}" for word in ("x", "y", "z", "about x", "about y", "about z")[:first]]
    labels += [f"link of {name}" for name in names] + [f"motor of {names[joint]}" for joint in compliant]
    return Modes(np.sqrt(np.maximum(values, 0.0)) / (2.0 * math.pi), shapes, tuple(labels))


def refuse_long_step(modes: Modes, dt: float) -> None:
    """Raise InputError when the fastest mode turns by more than MOST_PHASE in one physics step.

    Args:
        modes: The modes at one pose.
        dt: Physics step [s].
    """
    fastest = float(modes.frequency[-1])
    if 2.0 * math.pi * fastest * dt > MOST_PHASE:
        where = modes.names[int(np.argmax(np.abs(modes.shape[:, -1])))]
        longest = MOST_PHASE / (2.0 * math.pi * fastest)
        raise InputError(
            f"a physics step of {dt:.3g} s is too long for the fastest mode, {fastest:.4g} Hz at the {where}; "
            f"set timing.physics_step to at most {longest:.3g} s, or soften that spring"
        )


def refuse_stiff_damper(mass_matrix: Array, parameters: Array, names: tuple[str, ...], dt: float) -> None:
    """Raise InputError when a damper that is stepped explicitly would overshoot within one physics step.

    Args:
        mass_matrix: Of plate and joints, armature included, shape (nv, nv).
        parameters: Rows of DRIVE_PARAMETERS, shape (n, p).
        names: The joints.
        dt: Physics step [s].
    """
    p = {name: parameters[:, column] for column, name in enumerate(DRIVE_PARAMETERS)}
    rigid = np.isinf(p["gear_stiffness"])
    friction = p["bristle_damping"] + np.maximum(p["viscous"], p["viscous_negative"]) + p["brake_damping"]
    damping = np.where(rigid, friction, p["gear_damping"]) + p["stop_damping"]
    n = len(names)
    mobility = np.linalg.inv(mass_matrix)[-n:, -n:] if n else np.zeros((0, 0))
    rate = damping * np.diag(mobility) * dt
    if n and rate.max() > MOST_PHASE:
        joint = int(np.argmax(rate))
        raise InputError(
            f"the damping of joint '{names[joint]}' ({damping[joint]:.3g}, of friction, gear and stop) is too much for "
            f"a physics step of {dt:.3g} s; set timing.physics_step to at most {dt / rate[joint]:.3g} s"
        )
