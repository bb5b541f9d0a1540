"""The reference of a calibration run: every pose of a plan from above and from below, at rest in between.

For each pose and each side: travel to the pose ± its approach, settle, creep to the pose, settle, dwell. Every move is
least-jerk in joint space, all joints together; the last one leads back to where the arm stood, so that an arm without
brakes is let down where its user had put it. Time counts from the reset.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ..calibration.pose_plan import PosePlan
from ..description.frozen import Array, frozen
from ..errors import InputError
from .reference import Desired, least_jerk, move_time, not_begun

RISE_TIME = 0.5
"""Travel accelerates no faster than to the travel speed in this time [s]: short hops stay gentle."""
GENTLE_RISE_TIME = 2.0
"""... and this where rotors are not known for sure: with soft gains, or gains by a band, joints lag and overtake."""


@dataclass(frozen=True, slots=True)
class Window:
    """When the arm is to be measured at rest.

    Attributes:
        pose: Index of the pose.
        side: "above" when it was approached from pose + approach, moving down; "below" for the opposite.
        creep: When the creep to the pose begins [s after the reset].
        begin: When the measurement begins [s after the reset].
        end: When it ends [s after the reset].
    """

    pose: int
    side: Literal["above", "below"]
    creep: float
    begin: float
    end: float

    def as_data(self) -> dict[str, Any]:
        """Return the window as JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    begin: float
    duration: float
    start: Array
    end: Array


class BothSides:
    """Goes through a plan; a Reference for the laws.

    Attributes:
        plan: The poses.
        offsets: How far beyond each pose its approaches begin [rad or m], shape (k, n).
        wait: How long the arm is left where it is before the first move [s].
        rise_time: Time in which travel reaches the travel speed at the soonest [s].
    """

    def __init__(
        self, plan: PosePlan, offsets: Array | None = None, *, wait: float = 0.0, rise_time: float = RISE_TIME
    ) -> None:
        """Prepare to go through ``plan``.

        Args:
            plan: The poses.
            offsets: How far beyond each pose its approaches begin [rad or m], shape (k, n), as approach_within()
                returns them; None for the plan's own.
            wait: How long the arm is left where it is before the first move [s].
            rise_time: Time in which travel reaches the travel speed at the soonest [s].
        """
        self.plan, self.wait, self.rise_time = plan, wait, rise_time
        self.offsets = np.broadcast_to(plan.approach, plan.poses.shape) if offsets is None else np.asarray(offsets)
        if self.offsets.shape != plan.poses.shape:
            raise InputError(f"offsets has shape {self.offsets.shape}; expected {plan.poses.shape}")
        self._moves: list[_Move] = []
        self._begins: list[float] = []
        self._creep_ends: list[float] = []
        self._window_begins: list[float] = []
        self._windows: list[Window] = []
        self._rest = frozen(np.zeros(len(plan.joint_names)))

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,)."""
        plan = self.plan
        if q.shape != (len(plan.joint_names),):
            raise InputError(f"q has shape {q.shape}; the plan has {len(plan.joint_names)} joints")
        self._moves, self._windows = [], []
        here, time = frozen(q), self.wait
        for index, pose in enumerate(plan.poses):
            for side, sign in (("above", 1.0), ("below", -1.0)):
                beyond = frozen(pose + sign * self.offsets[index])
                time = self._add(time, here, beyond, self._travel_time(here, beyond)) + plan.settle
                creep = time
                time = self._add(time, beyond, pose, self._creep_time(beyond, pose)) + plan.settle
                self._windows.append(Window(index, side, creep, time, time + plan.dwell))  # type: ignore[arg-type]
                time += plan.dwell
                here = pose
        self._duration = self._add(time, here, frozen(q), self._travel_time(here, q))
        self._begins = [move.begin for move in self._moves]
        self._window_begins = [window.begin for window in self._windows]
        self._creep_ends = [window.begin - plan.settle for window in self._windows]

    @property
    def duration(self) -> float:
        """Time until the arm is back where it began [s]; known after the reset."""
        self._require_begun()
        return self._duration

    @property
    def windows(self) -> tuple[Window, ...]:
        """When to measure, two windows a pose; known after the reset."""
        self._require_begun()
        return tuple(self._windows)

    def resting(self, time: float) -> bool:
        """Say whether the arm is to be left at rest at a pose: from the end of a creep to the end of its window."""
        self._require_begun()
        index = bisect_right(self._creep_ends, time) - 1
        return index >= 0 and time < self._windows[index].end

    def measuring(self, time: float) -> bool:
        """Say whether the arm is measured at this time: it has had its time to settle."""
        self._require_begun()
        index = bisect_right(self._window_begins, time) - 1
        return index >= 0 and time < self._windows[index].end

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset."""
        self._require_begun()
        move = self._moves[max(bisect_right(self._begins, time) - 1, 0)]
        part = (time - move.begin) / move.duration if move.duration > 0.0 else 1.0
        if part >= 1.0:
            return Desired(move.end, self._rest)
        part = max(part, 0.0)
        way = move.end - move.start
        done, slope = least_jerk(part)
        return Desired(move.start + done * way, slope / move.duration * way)

    def _add(self, begin: float, start: Array, end: Array, duration: float) -> float:
        self._moves.append(_Move(begin, duration, start, end))
        return begin + duration

    def _travel_time(self, start: Array, end: Array) -> float:
        speed = self.plan.travel_speed
        return move_time(end - start, speed, speed / self.rise_time)

    def _creep_time(self, start: Array, end: Array) -> float:
        return move_time(end - start, self.plan.creep_speed)

    def _require_begun(self) -> None:
        if not self._moves:
            raise not_begun()
