"""The laws that the page floats and sinks an arm with."""

from __future__ import annotations

from ..control.careful_gains import Gains
from ..control.float.law import FloatLaw
from ..control.float.watch import WatchSettings
from ..control.limits import Limits
from ..errors import InputError
from .arms import ViewArm

MOST_SHARE = 0.9
"""Largest share of the friction that the page compensates: a tenth stays, so that a pushed arm comes to rest."""
NEVER = 1e6
"""A time after which nothing counts as a drift [s]: without gravity compensation, sinking is what is to be seen."""

FASTEST = 4.0
"""Fastest that a joint may turn while it floats [rad/s], never more than half of its velocity limit: twice what a real
arm is allowed, since a mouse is quick and the wrist of a simulated arm hurts nobody."""


def floating_law(arm: ViewArm, share: float, limits: Limits | None = None) -> FloatLaw:
    """Return the law that floats the empty arm.

    Args:
        arm: The arm.
        share: Share of its friction that is compensated; without a friction law none is.
        limits: Limits of the run; None for the robot's.

    Raises:
        InputError: A share with which the arm may not come to rest.
    """
    if not 0.0 <= share <= MOST_SHARE:
        raise InputError(f"share is {share!r}; expected a share of the friction from 0 to {MOST_SHARE:g}")
    used = 0.0 if arm.friction is None else share
    watch = WatchSettings(speed_rotary=FASTEST)
    return FloatLaw(arm.robot, arm.friction, used, limits=limits, dt=arm.plant.dt, watch=watch)


def sinking_law(arm: ViewArm, gains: Gains, limits: Limits | None = None) -> FloatLaw:
    """Return what is left of the law without gravity compensation: damping, so that the arm sinks, and cushions."""
    watch = WatchSettings(drift_time=NEVER)
    return FloatLaw(arm.robot, damping=gains.kd, limits=limits, dt=arm.plant.dt, gravity=False, watch=watch)
