r"""Joint drives stepped in time, in NumPy: the specification of the native stepper, and its stand-in without one.

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

from collections.abc import Mapping

import numpy as np

from ..description.frozen import Array
from ..friction.lugre import LEAST_TEMPERATURE_FACTOR
from .layout import DRIVE_PARAMETERS, STATE

LEAST_OPENING_ROOT = 0.05
"""Keeps the slope of the orifice's square root finite where it closes."""

RUNAWAY = 1e6
"""Speed beyond which a simulation has diverged [rad/s or m/s]."""


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
        self._p = p = {name: parameters[:, column].copy() for column, name in enumerate(DRIVE_PARAMETERS)}
        self._states = states
        self._command, self._q, self._dq, self._torque, self._dt = command, q, dq, torque, dt
        lag = p["lag"]
        self._decay = np.where(lag > 0.0, np.exp(-dt / np.where(lag > 0.0, lag, 1.0)), 0.0)
        # What no drive here has is not computed: an electric arm takes half the time.
        self._rigid = np.isinf(p["gear_stiffness"])
        self._stiffness = np.where(self._rigid, 0.0, p["gear_stiffness"])
        self._any_rigid, self._any_play = bool(self._rigid.any()), bool((p["half_backlash"] > 0.0).any())
        self._valve = p["valve"] != 0.0
        self._any_valve = bool(self._valve.any())

    def step(self) -> bool:
        """Write the torques on the links and move the drives on by one step; False, and nothing, on a runaway."""
        if not (np.abs(self._dq) < RUNAWAY).all():  # true for NaN too
            return False
        self._torque[:] = self._advance(self._states)
        return True

    def peek(self) -> None:
        """Write the torques on the links without moving the drives on."""
        self._torque[:] = self._advance(self._states.copy())

    def _advance(self, states: Array) -> Array:
        p, dt = self._p, self._dt
        s = {name: states[:, column] for name, column in STATE.items()}  # views: s[...][:] = ... writes the state
        q, dq = self._q, self._dq
        rigid = self._rigid
        if self._any_rigid:
            s["motor_position"][rigid] = q[rigid]
            s["motor_velocity"][rigid] = dq[rigid]
        x, v = s["motor_position"].copy(), s["motor_velocity"].copy()

        wanted = np.minimum(np.maximum(self._command, -p["limit"]), p["limit"])
        s["amplifier"][:] = wanted + (s["amplifier"] - wanted) * self._decay
        motor = self._motor(s, x, v)

        friction, slope = self._friction(s, v)

        wound = x - q
        if self._any_play:
            wound = np.copysign(np.maximum(0.0, np.abs(wound) - p["half_backlash"]), wound)
        gear = self._stiffness * wound + p["gear_damping"] * (v - dq)
        if self._any_play:
            pushing = np.where(wound > 0.0, np.maximum(gear, 0.0), np.minimum(gear, 0.0))
            gear = np.where((p["half_backlash"] > 0.0) & (wound != 0.0), pushing, gear)
        inertia = p["inertia"] + dt * (slope + p["gear_damping"])
        if self._any_rigid:
            gear = np.where(rigid, motor - friction, gear)
            inertia = np.where(rigid, 1.0, inertia)
        moved = v + dt * (motor - friction - gear) / inertia
        reached = x + dt * moved
        if self._any_rigid:
            moved, reached = np.where(rigid, v, moved), np.where(rigid, x, reached)
        s["motor_velocity"][:] = moved
        s["motor_position"][:] = reached

        heat = p["heating"] * friction * v + p["ambient"] - s["temperature"]
        s["temperature"][:] += dt * heat / p["cooling_time"]
        s["gear_torque"][:], s["friction_torque"][:], s["motor_torque"][:] = gear, friction, motor
        return gear + self._stop(q, dq)

    def _motor(self, s: Mapping[str, Array], x: Array, v: Array) -> Array:
        p, dt = self._p, self._dt
        wave = np.sin(p["cycles"] * x + p["phase"])
        drawn = s["amplifier"] * p["gain"]
        source = drawn + p["offset"] + (drawn * p["ripple"] + p["cogging"]) * wave

        if not self._any_valve:
            return np.asarray(source)

        torque = s["pressure_torque"]
        command = np.clip(s["amplifier"] / p["limit"], -1.0, 1.0)
        opening = np.copysign(np.maximum(0.0, np.abs(command) - p["overlap"]) / (1.0 - p["overlap"]), command)
        root = np.sqrt(np.maximum(0.0, 1.0 - np.copysign(1.0, opening) * torque / p["supply"]))
        slope = p["free_speed"] * np.abs(opening) / (2.0 * p["supply"] * np.maximum(root, LEAST_OPENING_ROOT))
        rate = p["hydraulic_stiffness"] * (p["free_speed"] * opening * root - v) - p["leakage"] * torque
        moved = torque + dt * rate / (1.0 + dt * (p["leakage"] + p["hydraulic_stiffness"] * slope))
        torque[:] = np.where(self._valve, np.clip(moved, -p["supply"], p["supply"]), torque)
        return np.asarray(np.where(self._valve, torque, source))

    def _friction(self, s: Mapping[str, Array], v: Array) -> tuple[Array, Array]:
        """Return the friction torque and its slope over the velocity; the bristles bend on by one step."""
        p = self._p
        warmth = s["temperature"] - p["reference_temperature"]
        backward = v < 0.0
        sliding = np.where(backward, p["coulomb_negative"], p["coulomb"])
        breakaway = np.where(backward, p["static_negative"], p["static_level"])
        fade = np.exp(-((np.abs(v) / p["stribeck_velocity"]) ** p["exponent"]))
        warm = np.maximum(LEAST_TEMPERATURE_FACTOR, 1.0 + p["coulomb_per_kelvin"] * warmth)
        level = warm * (sliding + (breakaway - sliding) * fade) + p["load"] * np.abs(s["gear_torque"])
        viscous = np.where(backward, p["viscous_negative"], p["viscous"]) * np.exp(-p["viscous_per_kelvin"] * warmth)
        bristles = self._bend(s["bristle"], v, level, p["bristle_stiffness"], p["bristle_damping"])
        friction, slope = bristles + viscous * v, p["bristle_damping"] + viscous
        on = s["brake"] != 0.0
        if on.any():
            bent = s["brake_bristle"].copy()
            held = self._bend(bent, v, p["brake_torque"], p["brake_stiffness"], p["brake_damping"])
            s["brake_bristle"][:] = np.where(on, bent, s["brake_bristle"])
            friction = friction + np.where(on, held, 0.0)
            slope = slope + np.where(on, p["brake_damping"], 0.0)
        return friction, slope

    def _bend(self, z: Array, v: Array, level: Array, stiffness: Array, damping: Array) -> Array:
        """Bend the bristles z, in place, and return their torque."""
        some = level > 0.0
        safe = np.where(some, level, 1.0)
        target = np.copysign(level / stiffness, v)
        z[:] = np.where(some, z - (target - z) * np.expm1(-stiffness * np.abs(v) * self._dt / safe), 0.0)
        torque = stiffness * z + damping * (v - stiffness * np.abs(v) * z / safe)
        return np.asarray(np.where(some, torque, 0.0))

    def _stop(self, q: Array, dq: Array) -> Array | float:
        p = self._p
        if not ((q > p["upper"]) | (q < p["lower"])).any():
            return 0.0
        with np.errstate(invalid="ignore"):  # 0 · inf where there is no stop
            below = np.maximum(0.0, p["stop_stiffness"] * (p["lower"] - q) - p["stop_damping"] * dq)
            above = np.minimum(0.0, p["stop_stiffness"] * (p["upper"] - q) - p["stop_damping"] * dq)
        return np.asarray(np.where(q > p["upper"], above, np.where(q < p["lower"], below, 0.0)))
