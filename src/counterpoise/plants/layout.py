"""The columns of the arrays that both steppers, Python and native, work on; the native header lists the same names."""

from __future__ import annotations

DRIVE_PARAMETERS = (
    "inertia",
    "coulomb",
    "static_level",
    "viscous",
    "coulomb_negative",
    "static_negative",
    "viscous_negative",
    "stribeck_velocity",
    "exponent",
    "bristle_stiffness",
    "bristle_damping",
    "load",
    "coulomb_per_kelvin",
    "viscous_per_kelvin",
    "reference_temperature",
    "ambient",
    "heating",
    "cooling_time",
    "gear_stiffness",
    "gear_damping",
    "half_backlash",
    "limit",
    "lag",
    "gain",
    "offset",
    "ripple",
    "cogging",
    "cycles",
    "phase",
    "valve",
    "free_speed",
    "hydraulic_stiffness",
    "supply",
    "leakage",
    "overlap",
    "brake_torque",
    "brake_stiffness",
    "brake_damping",
    "lower",
    "upper",
    "stop_stiffness",
    "stop_damping",
)

DRIVE_STATES = (
    "motor_position",
    "motor_velocity",
    "bristle",
    "amplifier",
    "temperature",
    "pressure_torque",
    "brake",
    "brake_bristle",
    "gear_torque",
    "friction_torque",
    "motor_torque",
)

LINK_PARAMETERS = (
    "inertia",
    "gravity",
    "gravity_angle",
    "base_inertia",
    "plate_stiffness",
    "plate_damping",
    "b0",
    "b1",
    "b2",
    "a1",
    "a2",
)

LINK_STATES = (
    "position",
    "velocity",
    "acceleration",
    "base_position",
    "base_velocity",
    "push",
    "moment",
    "reading",
    "first",
    "second",
)

STATE = {name: column for column, name in enumerate(DRIVE_STATES)}
"""Column of each drive state."""

LINK_STATE = {name: column for column, name in enumerate(LINK_STATES)}
"""Column of each link state."""
