r"""Joint drives, one joint and a low-pass stepped in time, in Python: the specification of the native steppers.

**Drives.** Everything is reflected to the link side of the gear: rad and N m for a rotary joint, m and N for a linear
one. One step of length dt, for a link at (q, q̇) and a command held over the step:

1. amplifier, first-order lag, exact for a held command:  a ← u + (a − u) e^{−dt/T},  u = clip(command, ±limit)
2. actuator: a torque source,  τ_m = a k (1 + r sin(c θ + φ)) + h sin(c θ + φ) + o,  or a flow valve in front of a
   cylinder or vane whose fluid yields,  τ̇_m = K_h (v_0 y √(1 − sgn(y) τ_m/τ_s) − θ̇) − λ τ_m,  y = opening after the
   overlap
3. friction on the motor side ([Canudas1995], :mod:`counterpoise.dynamics.lugre`): the bristle equation is solved
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

**One joint**: one link on one drive on a plate that yields about the same axis. With the link's angle q relative to the
base, the base's own angle β, the drive's torque τ on the link, gravity's holding torque G sin(q + β + φ) and a push
τ_p,

.. math::

    J_l (\ddot q + \ddot\beta) + J_r \ddot q = \tau + \tau_p - G \sin(q + \beta + \varphi), \qquad
    J_l (\ddot q + \ddot\beta) + J_b \ddot\beta = \tau_p - G \sin(q + \beta + \varphi) - K \beta - D \dot\beta

where J_r is the rotor's inertia behind a rigid gear and 0 behind a compliant one, whose motor is the drive's own state.
The plate feels the link and the base, not the rotor. Its strain gauges read −K β, or without compliance
J_l q̈ + G sin(q + φ) − τ_p: the moment that the plate exerts on the robot.

**The low-pass** is a second-order Butterworth for several channels, as a plate's signal conditioner has one.

These steppers run where the native ones were not built.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from ..dynamics import LEAST_TEMPERATURE_FACTOR
from ..errors import InputError
from ..foundation import Array
from .layout import DRIVE_PARAMETERS, LINK_PARAMETERS, LINK_STATE

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


def butterworth(cutoff: float, dt: float) -> Array:
    """Return (b0, b1, b2, a1, a2) of the bilinear transform with the cut-off kept in place; (1, 0, 0, 0, 0) for none.

    Args:
        cutoff: −3 dB frequency [Hz]; inf for no filter.
        dt: Time between two inputs [s].

    Raises:
        InputError: The cut-off is not below half the input rate.
    """
    if math.isinf(cutoff):
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    if not 0.0 < cutoff < 0.5 / dt:
        raise InputError(f"cutoff is {cutoff} Hz; expected less than half of the physics rate, {0.5 / dt:g} Hz")
    k = math.tan(math.pi * cutoff * dt)
    norm = 1.0 / (1.0 + math.sqrt(2.0) * k + k * k)
    b0 = k * k * norm
    return np.array([b0, 2.0 * b0, b0, 2.0 * (k * k - 1.0) * norm, (1.0 - math.sqrt(2.0) * k + k * k) * norm])


def settled_state(coefficients: Array, value: Array) -> Array:
    """Return the filter's memory, shape (2, m), after ``value``, shape (m,), has been its input for ever."""
    b0, b1, b2, a1, a2 = coefficients
    gain = (b0 + b1 + b2) / (1.0 + a1 + a2)
    second = (b2 - a2 * gain) * value
    return np.array([(b1 - a1 * gain) * value + second, second])


class ReferenceLowPass:
    """The filter, direct form II transposed, on arrays that the maker shares.

    Args:
        coefficients: (b0, b1, b2, a1, a2).
        input: Present input, shape (m,).
        output: Receives the output, shape (m,).
        state: Memory, shape (2, m); changed in place.
    """

    def __init__(self, coefficients: Array, input: Array, output: Array, state: Array) -> None:
        """Take the shared arrays."""
        self._b0, self._b1, self._b2, self._a1, self._a2 = coefficients.tolist()
        self._input, self._output, self._state = input, output, state

    def step(self) -> None:
        """Filter the present input into the output."""
        self._output[:] = self._b0 * self._input + self._state[0]
        self._state[0] = self._b1 * self._input - self._a1 * self._output + self._state[1]
        self._state[1] = self._b2 * self._input - self._a2 * self._output
