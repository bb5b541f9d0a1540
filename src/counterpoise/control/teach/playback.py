"""The reference of a replay: the plan in its own time, which can be made to stand still."""

from __future__ import annotations

import numpy as np

from ...description.frozen import Array
from ...errors import SafetyError
from ..reference import Desired, smooth_step
from .plan import ReplayPlan


class Playback:
    """Goes through a plan; a Reference for the laws.

    The plan's time runs at a rate f: 1, or 0 while paused, and passes from one to the other as σ²(3 − 2σ) within the
    plan's pause time. So the arm slows down along its path, holds, and goes on from there. ``paused`` may be set from
    another thread.

    Attributes:
        plan: The plan.
        paused: Whether the plan's time should stand still.
        plan_time: How far it has come [s of the plan's time].
        desired: What was asked for last; None before.
        held: Time for which the plan's time did not run at full rate [s].
    """

    def __init__(self, plan: ReplayPlan, tolerance: Array) -> None:
        """Prepare to go through ``plan``.

        Args:
            plan: The plan.
            tolerance: How far from the plan's start a joint may be [rad or m], shape (n,).
        """
        self.plan = plan
        self.paused = False
        self.plan_time = 0.0
        self.desired: Desired | None = None
        self.held = 0.0
        self._tolerance = tolerance
        self._share = 1.0
        self._last: float | None = None

    @property
    def standing(self) -> bool:
        """Whether the plan's time stands still, by a pause or because it is over."""
        return self._share == 0.0 or self.over

    @property
    def over(self) -> bool:
        """Whether the plan is over."""
        return self.plan_time >= self.plan.duration

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,).

        Raises:
            SafetyError: That is not where the plan begins: the arm is not moved.
        """
        refuse_other_pose(self.plan, q, self._tolerance)
        self.plan_time, self.held, self._share, self._last = 0.0, 0.0, 0.0 if self.paused else 1.0, None

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset; to be asked with times that increase."""
        step = 0.0 if self._last is None else max(time - self._last, 0.0)
        self._last = time
        change = step / self.plan.pause_time
        self._share = max(self._share - change, 0.0) if self.paused else min(self._share + change, 1.0)
        rate = smooth_step(self._share)
        self.plan_time += rate * step
        self.held += (1.0 - rate) * step
        wanted = self.plan.at(self.plan_time)
        self.desired = Desired(wanted.q, rate * wanted.dq)
        return self.desired


def refuse_other_pose(plan: ReplayPlan, q: Array, tolerance: Array) -> None:
    """Refuse to replay from a pose that is not the plan's start.

    Raises:
        SafetyError: A joint is further from it than its tolerance; all such joints are named.
    """
    away = np.abs(q - plan.start)
    if not np.all(away <= tolerance):  # true for NaN too
        names = plan.robot.joint_names
        joints = [
            f"joint '{names[joint]}' is at {q[joint]:.4g}, not at {plan.start[joint]:.4g} ± {tolerance[joint]:.2g}"
            for joint in np.flatnonzero(~(away <= tolerance)).tolist()
        ]
        raise SafetyError(
            f"the arm is not where the replay of '{plan.path.name}' was planned from: {'; '.join(joints)} rad or m. "
            "Nothing was moved: plan again from where it stands"
        )
