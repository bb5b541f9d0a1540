r"""One link on one drive on a plate that yields about the same axis, in NumPy: the specification of the native stepper.

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

import numpy as np

from ..description.frozen import Array
from .drive import RUNAWAY, ReferenceDrives
from .layout import DRIVE_PARAMETERS, LINK_PARAMETERS, LINK_STATE


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
        self._p = dict(zip(LINK_PARAMETERS, link.tolist(), strict=True))
        self._s, self._dt = link_state, dt
        self._command, self._torque = np.zeros(1), np.zeros(1)
        position, velocity = LINK_STATE["position"], LINK_STATE["velocity"]
        self._drives = ReferenceDrives(
            drive.reshape(1, -1),
            drive_state.reshape(1, -1),
            self._command,
            link_state[position : position + 1],
            link_state[velocity : velocity + 1],
            self._torque,
            dt,
        )
        named = dict(zip(DRIVE_PARAMETERS, drive.tolist(), strict=True))
        self._rotor = named["inertia"] if math.isinf(named["gear_stiffness"]) else 0.0

    def advance(self, command: float, steps: int) -> bool:
        """Move on by a number of steps under one command [N m or N]; False when the link has run away."""
        self._command[0] = command
        for _ in range(steps):
            if not self._drives.step():
                return False
            self._step_link(float(self._torque[0]))
        return bool(abs(self._s[LINK_STATE["velocity"]]) < RUNAWAY)

    def _step_link(self, torque: float) -> None:
        p, dt = self._p, self._dt
        s = {name: float(self._s[column]) for name, column in LINK_STATE.items()}
        outside = s["push"] - p["gravity"] * math.sin(s["position"] + s["base_position"] + p["gravity_angle"])
        if math.isinf(p["plate_stiffness"]):
            s["acceleration"] = (torque + outside) / (p["inertia"] + self._rotor)
            s["moment"] = p["inertia"] * s["acceleration"] - outside
        else:
            a, b = p["inertia"] + self._rotor, p["inertia"]
            d = p["inertia"] + p["base_inertia"] + dt * p["plate_damping"]
            upper = torque + outside
            lower = outside - p["plate_stiffness"] * s["base_position"] - p["plate_damping"] * s["base_velocity"]
            determinant = a * d - b * b
            s["acceleration"] = (d * upper - b * lower) / determinant
            s["base_velocity"] += dt * (a * lower - b * upper) / determinant
            s["base_position"] += dt * s["base_velocity"]
            s["moment"] = -p["plate_stiffness"] * s["base_position"]
        s["velocity"] += dt * s["acceleration"]
        s["position"] += dt * s["velocity"]
        s["reading"] = p["b0"] * s["moment"] + s["first"]
        s["first"] = p["b1"] * s["moment"] - p["a1"] * s["reading"] + s["second"]
        s["second"] = p["b2"] * s["moment"] - p["a2"] * s["reading"]
        for name, column in LINK_STATE.items():
            self._s[column] = s[name]
