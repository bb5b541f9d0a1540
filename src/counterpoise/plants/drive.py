r"""Joint drives stepped in time, in Python: the specification of the native stepper, and its stand-in without one.

Everything is reflected to the link side of the gear: rad and N m for a rotary joint, m and N for a linear one. One step
of length dt, for a link at (q, q̇) and a command held over the step:

1. amplifier, first-order lag, exact for a held command:  a ← u + (a − u) e^{−dt/T},  u = clip(command, ±limit)
2. actuator: a torque source,  τ_m = a k (1 + r sin(c θ + φ)) + h sin(c θ + φ) + o,  or a flow valve in front of a
   cylinder or vane whose fluid yields,  τ̇_m = K_h (v_0 y √(1 − sgn(y) τ_m/τ_s) − θ̇) − λ τ_m,  y = opening after the
   overlap
3. friction on the motor side ([Canudas1995], :mod:`counterpoise.friction.lugre`): the bristle equation is solved
   exactly for a velocity held over the step,  z ← z + (sgn(v) g/σ0 − z)(1 − e^{−σ0 |v| dt / g}),  so it is stable for
   any step and keeps a sticking joint where it is; then f = σ0 z + σ1 (v − σ0 |v| z/g) + σ2 v
4. gear: rigid,  τ_g = τ_m − f  (the rotor's inertia is then added to the link's), or a spring and damper behind a dead
   zone,  τ_g = K dz(θ − q) + D (θ̇ − q̇),  whose teeth never pull (within the play only D drags, the film of oil), with
   the motor on its own:
   θ̇ ← θ̇ + dt (τ_m − f − τ_g) / (J + dt (σ1 + σ2 + D)),  θ ← θ + dt θ̇.
   Springs are thus stepped symplectically, without numerical damping, and dampers implicitly
5. warmth:  T ← T + dt (R f θ̇ + T_a − T) / T_c
6. an end stop adds a spring and a damper to the link where q is beyond it; it never pulls.

MuJoCo steps the links in the same way (velocities from forces at the beginning of the step, positions from the new
velocities), so that motor and link form one symplectic pair.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from ..description.frozen import Array
from ..friction.lugre import LEAST_TEMPERATURE_FACTOR
from .layout import DRIVE_PARAMETERS

LEAST_OPENING_ROOT = 0.05
"""Keeps the slope of the orifice's square root finite where it closes."""

RUNAWAY = 1e6
"""Speed beyond which a simulation has diverged [rad/s or m/s]."""

NO_NUMBER = (OverflowError, ValueError, ZeroDivisionError)
"""What Python's own arithmetic raises where a diverged simulation leaves the numbers."""


class ReferenceDrives:
    """Drives of n joints, stepped together on arrays that the maker shares.

    Args:
        parameters: One row of DRIVE_PARAMETERS per joint, shape (n, p); copied.
        states: One row of DRIVE_STATES per joint, shape (n, s); changed in place.
        command: Torques asked for [N m or N], shape (n,).
        q: Link positions [rad or m], shape (n,).
        dq: Link velocities [rad/s or m/s], shape (n,).
        torque: Receives the torque on each link [N m or N], shape (n,).
        dt: Step [s].
    """

    def __init__(
        self, parameters: Array, states: Array, command: Array, q: Array, dq: Array, torque: Array, dt: float
    ) -> None:
        """Take the shared arrays."""
        self._drives = [ReferenceDrive(row, dt) for row in parameters]
        self._states = states
        self._command, self._q, self._dq, self._torque = command, q, dq, torque

    def step(self) -> bool:
        """Write the torques on the links and move the drives on by one step; False, and nothing, on a runaway."""
        if not (np.abs(self._dq) < RUNAWAY).all():  # true for NaN too
            return False
        states = self._states.tolist()
        try:
            torques = self._stepped(states)
        except NO_NUMBER:
            return False
        self._states[:], self._torque[:] = states, torques
        return True

    def peek(self) -> None:
        """Write the torques on the links without moving the drives on."""
        self._torque[:] = self._stepped(self._states.tolist())

    def _stepped(self, states: list[list[float]]) -> list[float]:
        given = zip(self._drives, states, self._command.tolist(), self._q.tolist(), self._dq.tolist(), strict=True)
        return [drive.step(state, command, q, dq) for drive, state, command, q, dq in given]


class ReferenceDrive:
    """One joint's drive, in single numbers: on the few joints of an arm NumPy would spend its time on its own calls.

    Args:
        parameters: DRIVE_PARAMETERS, shape (p,); copied.
        dt: Step [s].
    """

    def __init__(self, parameters: Array, dt: float) -> None:
        """Take the numbers."""
        self._p = p = SimpleNamespace(**dict(zip(DRIVE_PARAMETERS, parameters.tolist(), strict=True)))
        self._dt = dt
        self.rigid = math.isinf(p.gear_stiffness)
        self._decay = math.exp(-dt / p.lag) if p.lag > 0.0 else 0.0
        self._waves = p.ripple != 0.0 or p.cogging != 0.0

    def step(self, state: list[float], command: float, q: float, dq: float) -> float:
        """Return the torque on the link over the next dt [N m or N]; moves the drive's own state on by dt.

        Args:
            state: DRIVE_STATES, changed in place.
            command: Torque asked for [N m or N].
            q: Link position [rad or m].
            dq: Link velocity [rad/s or m/s].
        """
        p, dt = self._p, self._dt
        x, v, bristle, amplifier, temperature, pressure, brake, brake_bristle, gear, _, _ = state
        if self.rigid:
            x, v = q, dq

        wanted = min(max(command, -p.limit), p.limit)
        amplifier = wanted + (amplifier - wanted) * self._decay
        if p.valve != 0.0:
            motor = pressure = self._behind_valve(amplifier, pressure, v)
        else:
            motor = amplifier * p.gain + p.offset
            if self._waves:
                motor += (amplifier * p.gain * p.ripple + p.cogging) * math.sin(p.cycles * x + p.phase)

        speed, warmth = abs(v), temperature - p.reference_temperature
        if v < 0.0:
            sliding, breakaway, viscous = p.coulomb_negative, p.static_negative, p.viscous_negative
        else:
            sliding, breakaway, viscous = p.coulomb, p.static_level, p.viscous
        fade = math.exp(-((speed / p.stribeck_velocity) ** p.exponent))
        warm = max(LEAST_TEMPERATURE_FACTOR, 1.0 + p.coulomb_per_kelvin * warmth)
        level = warm * (sliding + (breakaway - sliding) * fade) + p.load * abs(gear)
        viscous *= math.exp(-p.viscous_per_kelvin * warmth)
        bristle, friction = _bent(bristle, v, level, p.bristle_stiffness, p.bristle_damping, dt)
        friction += viscous * v
        slope = p.bristle_damping + viscous
        if brake != 0.0:
            brake_bristle, held = _bent(brake_bristle, v, p.brake_torque, p.brake_stiffness, p.brake_damping, dt)
            friction += held
            slope += p.brake_damping

        if self.rigid:
            gear, moved, reached = motor - friction, v, x
        else:
            wound = x - q
            if p.half_backlash > 0.0:
                wound = math.copysign(max(0.0, abs(wound) - p.half_backlash), wound)
            gear = p.gear_stiffness * wound + p.gear_damping * (v - dq)
            if p.half_backlash > 0.0 and wound != 0.0:
                gear = max(gear, 0.0) if wound > 0.0 else min(gear, 0.0)
            moved = v + dt * (motor - friction - gear) / (p.inertia + dt * (slope + p.gear_damping))
            reached = x + dt * moved

        temperature += dt * (p.heating * friction * v + p.ambient - temperature) / p.cooling_time
        state[:] = (
            *(reached, moved, bristle, amplifier, temperature, pressure, brake, brake_bristle),
            *(gear, friction, motor),
        )
        if q > p.upper:
            return float(gear + min(0.0, p.stop_stiffness * (p.upper - q) - p.stop_damping * dq))
        if q < p.lower:
            return float(gear + max(0.0, p.stop_stiffness * (p.lower - q) - p.stop_damping * dq))
        return float(gear)

    def _behind_valve(self, amplifier: float, torque: float, v: float) -> float:
        """Return the torque of a cylinder or vane behind its flow valve, after dt at joint velocity v [N m or N]."""
        p, dt = self._p, self._dt
        command = min(max(amplifier / p.limit, -1.0), 1.0)
        opening = math.copysign(max(0.0, abs(command) - p.overlap) / (1.0 - p.overlap), command)
        root = math.sqrt(max(0.0, 1.0 - math.copysign(1.0, opening) * torque / p.supply))
        slope = p.free_speed * abs(opening) / (2.0 * p.supply * max(root, LEAST_OPENING_ROOT))
        rate = p.hydraulic_stiffness * (p.free_speed * opening * root - v) - p.leakage * torque
        moved = torque + dt * rate / (1.0 + dt * (p.leakage + p.hydraulic_stiffness * slope))
        return float(min(max(moved, -p.supply), p.supply))


def _bent(z: float, v: float, level: float, stiffness: float, damping: float, dt: float) -> tuple[float, float]:
    """Return the bristles after dt at velocity v, and their torque."""
    if not level > 0.0:
        return 0.0, 0.0
    rate = stiffness * abs(v) / level
    z -= (math.copysign(level / stiffness, v) - z) * math.expm1(-rate * dt)
    return z, stiffness * z + damping * (v - rate * z)
