"""The safe stop: hold the arm's weight and damp its motion, then let go as the plant declares.

With s(t) falling from 1 to 0 while an arm without brakes is let down, q and dq as far as they are known,

    τ = s(t) g(q) − sat(D dq).
"""

from __future__ import annotations

import math

import numpy as np

from ..dynamics import Robot, joint_inertias
from ..foundation import Array, frozen
from ..recording import Sample
from .fault import FIRST_WITH_POSITION, FIRST_WITH_VELOCITY
from .limits import Limits
from .plant import Plant
from .report import EndState
from .safety import SafetyFilter, SafetySettings

SLOWEST_TICKS = 20
"""The damping of a stop slows no joint faster than with a time constant of this many periods: delays are survived."""


class SafeStop:
    """Gives the torques of a safe stop, tick by tick.

    Attributes:
        done: Whether the plant's declared stop is due.
        end: What kind of stop it was.
    """

    def __init__(self, plant: Plant, robot: Robot, safety: SafetyFilter, damping: Array) -> None:
        """Prepare a stop.

        Args:
            plant: What is to be stopped.
            robot: Its model, payload included.
            safety: The filter that all torques go through.
            damping: D [N m s/rad or N s/m], shape (n,).
        """
        settings, dt = safety.settings, safety.dt
        self.robot = robot
        self.done = False
        self.end = EndState.GRAVITY_STOP
        self._safety = safety
        self._adds_gravity = plant.adds_gravity
        self._damping = damping
        self._most_damping = settings.stop_damping * safety.limits.effort
        self._settle_ticks = math.ceil(settings.settle_time / dt)
        self._ramp_ticks = 0 if plant.stop == "brake" else math.ceil(settings.ramp_time / dt)
        # Damping may leave a torque at the end of the ramp; it then goes to zero as fast as the rate limit allows.
        rest = _rest_time(safety.limits)
        self._rest_ticks = 0 if plant.stop == "brake" else math.ceil(rest / dt) + 1
        self._blind_ticks = math.ceil(settings.blind_time / dt)
        self._tick = 0
        self._blind = 0

    def torque(self, sample: Sample | None, fault: int) -> Array | None:
        """Return the next torque [N m or N], shape (n,), or None to hold the last one.

        Args:
            sample: The newest sample; None where there is none.
            fault: What is wrong with it; 0 for nothing.
        """
        if sample is None or 0 < fault < FIRST_WITH_POSITION:
            self._blind += 1
            if self._blind > self._blind_ticks:
                self.done, self.end = True, EndState.BLIND_STOP
            return None
        self._blind = 0
        damped = fault == 0 or fault >= FIRST_WITH_VELOCITY
        self.end = EndState.GRAVITY_STOP if damped else EndState.UNDAMPED_STOP
        falling = self._tick - self._settle_ticks
        self._tick += 1
        if falling >= self._ramp_ticks:
            over = falling - self._ramp_ticks
            self.done = over >= self._rest_ticks or not np.any(self._safety.last)
            return np.zeros(self._safety.n)
        fraction = 1.0 if falling < 0 else 1.0 - falling / self._ramp_ticks
        tau = np.zeros(self._safety.n) if self._adds_gravity else fraction * self.robot.gravity(sample.q)
        if damped:
            tau -= np.clip(self._damping * sample.dq, -self._most_damping, self._most_damping)
        return tau


def nominal_time(plant: Plant, settings: SafetySettings, limits: Limits) -> float:
    """Return how long a gravity stop takes at most when every tick takes its period [s]."""
    if plant.stop == "brake":
        return settings.settle_time
    return settings.settle_time + settings.ramp_time + _rest_time(limits)


def _rest_time(limits: Limits) -> float:
    """Return how long the largest torque takes to zero at the rate limit [s]."""
    return float(np.max(limits.effort / limits.rate, initial=0.0))


def stop_damping(robot: Robot, q: Array, limits: Limits, fraction: float, dt: float) -> Array:
    """Return damping for a safe stop [N m s/rad or N s/m], shape (n,).

    At top speed it uses ``fraction`` of the effort limit, unless that would slow the joint, with the inertia it has at
    q, faster than in SLOWEST_TICKS periods.

    Args:
        robot: The arm.
        q: Its pose [rad or m], shape (n,).
        limits: Its limits.
        fraction: Fraction of the effort limit.
        dt: Time between two ticks [s].
    """
    by_limits = np.where(np.isfinite(limits.velocity), fraction * limits.effort / limits.velocity, np.inf)
    return frozen(np.minimum(by_limits, joint_inertias(robot, q) / (SLOWEST_TICKS * dt)))
