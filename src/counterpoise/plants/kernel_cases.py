"""What the native steppers are checked with before they are used: one case per entry point, and the layouts.

Each case steps a simulation of the given part and returns its state. The stored results are those of the Python
specification (``tests/store_results.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..foundation import Array, Cases, Layout
from .layout import DRIVE_PARAMETERS, DRIVE_STATES, LINK_PARAMETERS, LINK_STATES
from .reference import RUNAWAY

DT = 1e-3
STEPS = 6
FRICTION = {
    "inertia": 0.05,
    "coulomb": 0.5,
    "static_level": 0.75,
    "viscous": 0.25,
    "coulomb_negative": 0.625,
    "static_negative": 0.875,
    "viscous_negative": 0.375,
    "stribeck_velocity": 0.125,
    "exponent": 2.0,
    "bristle_stiffness": 500.0,
    "bristle_damping": 1.5,
    "load": 0.03125,
    "coulomb_per_kelvin": -0.01,
    "viscous_per_kelvin": 0.02,
    "reference_temperature": 20.0,
    "ambient": 25.0,
    "heating": 2.0,
    "cooling_time": 60.0,
    "limit": 8.0,
    "lag": 0.004,
    "gain": 1.125,
    "offset": 0.0625,
    "free_speed": 1.0,
    "supply": 16.0,
    "brake_torque": 4.0,
    "brake_stiffness": 800.0,
    "brake_damping": 0.5,
    "lower": -1.0,
    "upper": 1.0,
    "stop_stiffness": 1000.0,
    "stop_damping": 5.0,
    "gear_stiffness": float("inf"),
}
"""A rigid drive with every kind of friction; the others below change what they name."""
DRIVES: tuple[dict[str, float], ...] = (
    {"ripple": 0.03125, "cogging": 0.125, "cycles": 6.0, "phase": 0.5},
    {"gear_stiffness": 4000.0, "gear_damping": 2.0, "half_backlash": 0.001},
    {"valve": 1.0, "hydraulic_stiffness": 300.0, "leakage": 0.5, "overlap": 0.03125},
)


def _drives(module: Any) -> tuple[Any, Array, Array, Array]:
    """Return three drives, their states, what they are moved by (command, q, dq) and their torques."""
    parameters = np.array([[{**FRICTION, **own}.get(name, 0.0) for name in DRIVE_PARAMETERS] for own in DRIVES])
    states = np.zeros((len(DRIVES), len(DRIVE_STATES)))
    states[:, DRIVE_STATES.index("temperature")] = 30.0
    states[0, DRIVE_STATES.index("brake")] = 1.0
    states[1, DRIVE_STATES.index("motor_position")] = 0.505
    moved = np.array([[3.0, -9.0, 4.0], [1.01, 0.5, -1.005], [0.25, -0.5, 0.125]])
    torque = np.zeros(len(DRIVES))
    return module.Drives(parameters, states, *moved, torque, DT), states, moved, torque


def _step(module: Any) -> list[float]:
    drives, states, moved, torque = _drives(module)
    said: list[float] = []
    for _ in range(STEPS):
        said += [bool(drives.step()), *torque.tolist()]
        moved[1] += DT * moved[2]
    return [*said, *states.ravel().tolist()]


def _peek(module: Any) -> list[float]:
    drives, states, _, torque = _drives(module)
    drives.peek()
    return [*torque.tolist(), *states.ravel().tolist()]


def _advance(module: Any) -> list[float]:
    """A link on a plate that yields, and on one that does not."""
    said: list[float] = []
    for own, stiffness in zip(DRIVES[:2], (5000.0, float("inf")), strict=True):
        drive = np.array([{**FRICTION, **own}.get(name, 0.0) for name in DRIVE_PARAMETERS])
        link = {"inertia": 0.75, "gravity": 5.0, "gravity_angle": 0.25, "base_inertia": 0.5, "plate_damping": 3.0}
        low_pass = {"plate_stiffness": stiffness, "b0": 0.25, "b1": 0.5, "b2": 0.25, "a1": -0.25, "a2": 0.25}
        state, drive_state = np.zeros(len(LINK_STATES)), np.zeros(len(DRIVE_STATES))
        state[:6] = [0.5, -0.25, 0.0, 0.001, 0.01, 1.5]
        link_row = np.array([{**link, **low_pass}[name] for name in LINK_PARAMETERS])
        joint = module.OneJoint(drive, drive_state, link_row, state, DT)
        said += [joint.advance(6.0, STEPS), *state.tolist(), *drive_state.tolist()]
    return said


def _low_pass(module: Any) -> list[float]:
    given, output, state = np.array([1.0, -2.0, 0.5]), np.zeros(3), np.arange(6.0).reshape(2, 3)
    filtered = module.LowPass(np.array([0.25, 0.5, 0.25, -0.5, 0.125]), given, output, state)
    said: list[float] = []
    for _ in range(STEPS):
        filtered.step()
        said += output.tolist()
        given *= -0.75
    return [*said, *state.ravel().tolist()]


CASES: Cases = {"Drives.step": _step, "Drives.peek": _peek, "OneJoint.advance": _advance, "LowPass.step": _low_pass}
"""Per entry point of the part a function of it."""
LAYOUT: Layout = {
    "DRIVE_PARAMETERS": DRIVE_PARAMETERS,
    "DRIVE_STATES": DRIVE_STATES,
    "LINK_PARAMETERS": LINK_PARAMETERS,
    "LINK_STATES": LINK_STATES,
    "CONSTANTS": {"RUNAWAY": RUNAWAY},
}
