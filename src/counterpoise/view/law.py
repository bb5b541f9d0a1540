"""The laws behind the page: floating, sinking, holding, going through poses, with gravity on or off, without a jump."""

from __future__ import annotations

import numpy as np

from ..control import Gains, Hold, Limits, Reference
from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array
from ..recording import Sample
from ..sensing import PayloadBlend, PayloadEstimate
from ..tasks import FloatLaw, FloatSettings, WatchSettings
from .arms import ViewArm

LARGEST_FRACTION = 0.9
"""Largest fraction of the friction that the page compensates: a tenth stays, so that a pushed arm comes to rest."""
NEVER = 1e6
"""A time after which nothing counts as a drift [s]: without gravity compensation, sinking is what is to be seen."""

FASTEST = 4.0
"""Fastest that a joint may turn while it floats [rad/s], never more than half of its velocity limit: twice what a real
arm is allowed, since a mouse is quick and the wrist of a simulated arm hurts nobody."""


def floating_law(arm: ViewArm, friction_fraction: float, limits: Limits | None = None) -> FloatLaw:
    """Return the law that floats the empty arm.

    Args:
        arm: The arm.
        friction_fraction: Fraction of its friction that is compensated; without a friction law none is.
        limits: Limits of the run; None for the robot's.

    Raises:
        InputError: A fraction with which the arm may not come to rest.
    """
    if not 0.0 <= friction_fraction <= LARGEST_FRACTION:
        raise InputError(
            f"friction_fraction is {friction_fraction!r}; expected a number from 0 to {LARGEST_FRACTION:g}"
        )
    used = 0.0 if arm.friction is None else friction_fraction
    settings = FloatSettings(used, arm.friction, watch=WatchSettings(speed_rotary=FASTEST))
    return FloatLaw(arm.robot, settings, limits=limits, dt=arm.plant.dt)


def sinking_law(arm: ViewArm, gains: Gains, limits: Limits | None = None) -> FloatLaw:
    """Return what is left of the law without gravity compensation: damping, so that the arm sinks, and cushions."""
    settings = FloatSettings(damping=gains.kd, watch=WatchSettings(drift_time=NEVER))
    return FloatLaw(arm.robot, settings, limits=limits, dt=arm.plant.dt, gravity=False)


FADE = 0.4
"""Time over which holding and gravity are faded in and out [s]."""


class GuidedLaw:
    """τ = (1 − h) [w τ_float + (1 − w) τ_sink] + h [K_p (q_d − q) + K_d (dq_d − dq) + w ĝ(q)] + w τ_load.

    h fades between floating and following a reference, w between with and without gravity compensation. τ_load bears a
    payload that was found.

    Attributes:
        robot: The empty arm.
        floating: The law that floats it, ĝ(q) included.
        sinking: What is left of it without ĝ(q).
        gains: Gains of the hold.
        payload: What is known well enough of a payload; None for nothing.
        gravity_on: Whether gravity is compensated.
        gravity: ĝ(q) at the last sample [N m or N], shape (n,).
        compensated: τ_load at the last sample [N m or N], shape (n,).
        spring: K_p (q_d − q) at the last sample, 0 while floating [N m or N], shape (n,).
    """

    adds_gravity = True
    uses_wrench = False

    def __init__(
        self, robot: Robot, floating: FloatLaw, sinking: FloatLaw, gains: Gains, effort_limit: Array, dt: float
    ) -> None:
        """Begin holding, with gravity.

        Args:
            robot: The empty arm.
            floating: The law that floats it, gravity included.
            sinking: The law for an arm without gravity compensation.
            gains: Gains of the hold.
            effort_limit: Largest torques [N m or N], shape (n,).
            dt: Time between two ticks [s].
        """
        self.robot, self.floating, self.sinking, self.gains = robot, floating, sinking, gains
        self.payload: PayloadEstimate | None = None
        self.gravity_on = True
        self.gravity, self.compensated, self.spring = np.zeros((3, robot.n))
        self._blend = PayloadBlend(robot, dt, rate=0.5 * effort_limit, bound=0.5 * effort_limit)
        self._step = dt / FADE
        self._weight = self._held = 1.0
        self._reference: Reference | None = Hold()
        self._begin: float | None = None
        self._sample: Sample | None = None

    @property
    def holding(self) -> bool:
        """Whether a reference is followed, or is about to be."""
        return self._reference is not None

    @property
    def blended(self) -> bool:
        """Whether all of the payload that is known is borne, and nothing else."""
        wanted = 0.0 if self.payload is None else self.payload.parameters
        return bool(np.allclose(self._blend.parameters, wanted, atol=1e-6))

    def follow(self, reference: Reference) -> None:
        """Follow a reference from where the arm is now."""
        self._reference, self._begin = reference, None
        if self._sample is not None:
            reference.reset(self._sample.q)

    def let_go(self) -> None:
        """Float."""
        self._reference = None
        if self._sample is not None:
            self.floating.reset(self._sample)

    def reset(self, sample: Sample) -> None:
        """Start from a sample."""
        self._sample = sample
        self.floating.reset(sample)
        self.sinking.reset(sample)
        if self._reference is not None:
            self._reference.reset(sample.q)
        self._held = 1.0 if self.holding else 0.0
        self._begin = None

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,)."""
        self._sample = sample
        self._weight = _towards(self._weight, float(self.gravity_on), self._step)
        self._held = _towards(self._held, float(self.holding), self._step)
        self.robot.gravity(sample.q, out=self.gravity)
        self.compensated = self._weight * self._blend.torque(sample.q, self.payload)
        held = self._pd(sample, time) + self._weight * self.gravity
        tau = self._held * held + self.compensated
        if self._held < 1.0:
            free = 1.0 - self._held
            if self._weight > 0.0:
                tau += free * self._weight * self.floating.torque(sample, time)
            if self._weight < 1.0:
                tau += free * (1.0 - self._weight) * self.sinking.torque(sample, time)
        return np.asarray(tau)

    def must_stop(self, sample: Sample) -> str:
        """Return why a floating arm must be stopped; "" where it need not, or does not float."""
        if self.holding or self._weight < 1.0:
            return ""
        return self.floating.stop_reason if self.floating.must_stop(sample) else ""

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call, as kinds and messages of events, and forget it."""
        return self.floating.news()

    def _pd(self, sample: Sample, time: float) -> Array:
        if self._reference is None:  # fading out: only the damping stays
            self.spring = np.zeros(self.robot.n)
            return np.asarray(-self.gains.kd * sample.dq)
        if self._begin is None:
            self._begin = time
        desired = self._reference.at(time - self._begin)
        self.spring = self.gains.kp * (desired.q - sample.q)
        return np.asarray(self.spring + self.gains.kd * (desired.dq - sample.dq))


def _towards(value: float, wanted: float, step: float) -> float:
    return min(value + step, wanted) if value < wanted else max(value - step, wanted)
