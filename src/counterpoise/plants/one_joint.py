r"""One link on one drive on a plate that yields about the same axis, in Python: what the native stepper must do.

With the link's angle q relative to the base, the base's own angle β, the drive's torque τ on the link, gravity's
holding torque G sin(q + β + φ) and a push τ_p,

.. math::

    J_l (\ddot q + \ddot\beta) + J_r \ddot q = \tau + \tau_p - G \sin(q + \beta + \varphi), \qquad
    J_l (\ddot q + \ddot\beta) + J_b \ddot\beta = \tau_p - G \sin(q + \beta + \varphi) - K \beta - D \dot\beta

where J_r is the rotor's inertia behind a rigid gear and 0 behind a compliant one, whose motor is the drive's own state.
The plate feels the link and the base, not the rotor. Its strain gauges read −K β, or without compliance
J_l q̈ + G sin(q + φ) − τ_p: the moment that the plate exerts on the robot.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

from ..description.frozen import Array
from .drive import NO_NUMBER, RUNAWAY, ReferenceDrive
from .layout import DRIVE_PARAMETERS, LINK_PARAMETERS, LINK_STATE

POSITION, VELOCITY = LINK_STATE["position"], LINK_STATE["velocity"]


class ReferenceOneJoint:
    """One joint, stepped on arrays that the maker shares.

    Args:
        drive: DRIVE_PARAMETERS, shape (p,); copied.
        drive_state: DRIVE_STATES, shape (s,); changed in place.
        link: LINK_PARAMETERS, shape (l,); copied.
        link_state: LINK_STATES, shape (t,); changed in place.
        dt: Step [s].
    """

    def __init__(self, drive: Array, drive_state: Array, link: Array, link_state: Array, dt: float) -> None:
        """Take the shared arrays."""
        self._p = SimpleNamespace(**dict(zip(LINK_PARAMETERS, link.tolist(), strict=True)))
        self._state, self._drive_state, self._dt = link_state, drive_state, dt
        self._drive = ReferenceDrive(drive, dt)
        self._rotor = float(drive[DRIVE_PARAMETERS.index("inertia")]) if self._drive.rigid else 0.0

    def advance(self, command: float, steps: int) -> bool:
        """Move on by a number of steps under one command [N m or N]; False when the link has run away."""
        link, drive = self._state.tolist(), self._drive_state.tolist()
        try:
            for _ in range(steps):
                if not abs(link[VELOCITY]) < RUNAWAY:
                    break
                self._step_link(link, self._drive.step(drive, command, link[POSITION], link[VELOCITY]))
        except NO_NUMBER:
            link[VELOCITY] = math.inf
        self._state[:], self._drive_state[:] = link, drive
        return bool(abs(link[VELOCITY]) < RUNAWAY)

    def _step_link(self, link: list[float], torque: float) -> None:
        p, dt = self._p, self._dt
        position, velocity, _, base_position, base_velocity, push, _, _, first, second = link
        outside = push - p.gravity * math.sin(position + base_position + p.gravity_angle)
        if math.isinf(p.plate_stiffness):
            acceleration = (torque + outside) / (p.inertia + self._rotor)
            moment = p.inertia * acceleration - outside
        else:
            a, b = p.inertia + self._rotor, p.inertia
            d = p.inertia + p.base_inertia + dt * p.plate_damping
            upper = torque + outside
            lower = outside - p.plate_stiffness * base_position - p.plate_damping * base_velocity
            determinant = a * d - b * b
            acceleration = (d * upper - b * lower) / determinant
            base_velocity += dt * (a * lower - b * upper) / determinant
            base_position += dt * base_velocity
            moment = -p.plate_stiffness * base_position
        velocity += dt * acceleration
        position += dt * velocity
        reading = p.b0 * moment + first
        first = p.b1 * moment - p.a1 * reading + second
        second = p.b2 * moment - p.a2 * reading
        link[:] = position, velocity, acceleration, base_position, base_velocity, push, moment, reading, first, second
