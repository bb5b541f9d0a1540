"""A hold that yields: PD about an anchor that fades in, and lets go as soon as somebody pushes against it.

There is no force sensor. A push shows in the hold's own spring: when it has to bear more than ``threshold`` at any
joint, somebody wants the arm elsewhere, and the hold fades out. What it bears below that (an error of the gravity
model, a hand resting on the arm) it holds against. Its torque never exceeds twice the threshold.

An arm that is caught while it moves is first slowed down by the damper alone; the anchor is where it comes to rest.
Where a load was seen to pull it, the hold bears that load beside its spring, but never more than it may bear without
yielding: if it was a hand after all, and the hand is gone, the spring takes it.
"""

from __future__ import annotations

import numpy as np

from ...description.frozen import Array, frozen

FADE_IN, FADE_OUT = 0.3, 0.15
"""Times over which the hold comes and goes [s]."""
BRAKE_IN = 0.08
"""Time over which it comes to an arm that moves faster than slowly [s]."""
MOST = 2.0
"""Largest torque of the hold over its threshold."""
MOST_BORNE = 0.9
"""Largest part of a load that is borne beside the spring, over the threshold."""
BEARABLE = 1.6
"""Largest load that it holds, over the threshold: what is borne and what the spring takes, with some to spare."""
BRAKING_TIME = 1.0
"""Longest time that an arm is slowed down before it is held where it is [s]."""


class YieldingHold:
    """Holds an arm of n joints where it was caught, until pushed.

    Attributes:
        threshold: Torque of its spring at which it yields [N m or N], shape (n,).
        level: How much of it is on: 0 for none, 1 for all.
    """

    def __init__(self, kp: Array, kd: Array, threshold: Array, slow: Array) -> None:
        """Begin without holding.

        Args:
            kp: Stiffness [N m/rad or N/m], shape (n,); 0 for joints that it leaves alone.
            kd: Damping [N m s/rad or N s/m], shape (n,).
            threshold: Torque at which it yields [N m or N], shape (n,).
            slow: Speed below which a joint has come to rest [rad/s or m/s], shape (n,).
        """
        self._slow = frozen(slow)
        self.set_gains(kp, kd, threshold)
        self.clear()

    def set_gains(self, kp: Array, kd: Array, threshold: Array, most: Array | None = None) -> None:
        """Take other gains, in the state that it is in; arguments as when it was made.

        Args:
            kp: Stiffness [N m/rad or N/m], shape (n,).
            kd: Damping [N m s/rad or N s/m], shape (n,).
            threshold: Torque at which it yields [N m or N], shape (n,).
            most: Largest torque of its spring, before it counts as a push [N m or N], shape (n,); None for any.
        """
        self._kp, self._kd, self.threshold = frozen(kp), frozen(kd), frozen(threshold)
        self._most = None if most is None else frozen(most)

    def clear(self) -> None:
        """Let go at once and forget the past."""
        self.level = 0.0
        self._on = False
        self._braking = 0.0
        self._anchor: Array | None = None
        self._borne: Array | float = 0.0

    @property
    def holding(self) -> bool:
        """Whether it holds, or is about to."""
        return self._on

    def catch(self, q: Array, load: Array | None = None) -> None:
        """Hold from now on where the arm is, or where it comes to rest.

        Args:
            q: Positions [rad or m], shape (n,).
            load: Torques that hold a load that was seen to pull [N m or N], shape (n,); None for none.
        """
        self._anchor = frozen(q)
        most = MOST_BORNE * self.threshold
        self._borne = 0.0 if load is None else frozen(np.where(self._kp > 0.0, np.clip(load, -most, most), 0.0))
        self._on = True
        self._braking = BRAKING_TIME

    def can_bear(self, load: Array) -> bool:
        """Say whether it can hold a load that takes these torques [N m or N], shape (n,), without yielding."""
        return bool(np.all((np.abs(load) <= BEARABLE * self.threshold) | (self._kp <= 0.0)))

    def let_go(self) -> None:
        """Fade out."""
        self._on = False

    def torque(self, q: Array, dq: Array, elapsed: float) -> Array | None:
        """Return the torques [N m or N], shape (n,); None while it is wholly off.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            elapsed: Time since the last call [s].
        """
        if self._anchor is None:
            return None
        if self._braking > 0.0:
            self._braking = 0.0 if np.all(np.abs(dq) <= self._slow) else self._braking - elapsed
            self._anchor = frozen(q)
        spring = self._kp * (self._anchor - q)
        if self._on and np.any(self.level * np.abs(spring) > self.threshold):
            self._on = False
        if self._most is not None:
            spring = np.clip(spring, -self._most, self._most)
        fade = BRAKE_IN if self._braking > 0.0 else FADE_IN
        step = elapsed / fade if self._on else -elapsed / FADE_OUT
        self.level = min(max(self.level + step, 0.0), 1.0)
        if self.level == 0.0 and not self._on:
            self._anchor = None
            return None
        most = MOST * self.threshold
        return np.asarray(self.level * np.clip(self._borne + spring - self._kd * dq, -most, most))
