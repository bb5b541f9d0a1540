"""Watches an arm while a run passes from the torque it found to that of its laws: does a joint fall meanwhile?

An arm whose brakes have just opened, or whose drives report an effort of 0, is found with a torque that does not hold
it. It drops while the laws fade in. A joint has fallen when it has moved by more than FALLEN_ROTARY or FALLEN_LINEAR in the
direction in which gravity pulls it, and the torque that is missing explains that. A hand or a law may move a joint as
well. With J the joint's inertia and s the share of the laws, what is missing is m = (1 − s) (τ_found − ĝ), and

- ∬ m / J is at least half of the travel: nothing else need have moved it, and friction only makes it less
- m pulls harder that way than the laws do, s (τ_laws − ĝ): they did not ask for it

Only joints whose torque found is less than half of what gravity needs are watched, and each until it has moved so far
for the first time: one that was moved on purpose is left alone from then on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..description.frozen import Array
from ..dynamics.inertia import joint_inertias
from ..dynamics.joint_units import effort_units, position_units, rotary
from ..dynamics.robot import Robot
from ..logs.sample import Sample
from .reference import smooth_step

FALLEN_ROTARY, FALLEN_LINEAR = 0.020, 0.006
"""Travel from which a joint has fallen [rad, m]; a linear joint's is that of a rotary one at 0.3 m from its axis."""
HELD_SHARE = 0.5
"""A joint is held where what was found is at least this share of what gravity needs."""
EXPLAINED = 0.5
"""Share of the travel that the missing torque alone must be able to cause."""
_LEAST_INERTIA = 1e-9


class FallWatch:
    """Watches the blend at the start of a run.

    Attributes:
        joint: The joint that has fallen; None while none has.
        message: What happened, in words.
    """

    def __init__(self, robot: Robot, first: Sample, found: Array, ticks: int, dt: float) -> None:
        """Prepare.

        Args:
            robot: The arm's model, payload included.
            first: The sample that the run starts from.
            found: The torque that was found [N m or N], shape (n,).
            ticks: Ticks of the blend.
            dt: Time between two ticks [s].
        """
        self._robot, self._start, self._found = robot, np.array(first.q), np.array(found)
        self._ticks, self._dt, self._tick = ticks, dt, 0
        self._needed = robot.gravity(first.q)
        self._watched = self._found * np.sign(self._needed) < HELD_SHARE * np.abs(self._needed)
        self._inertia = np.maximum(joint_inertias(robot, first.q), _LEAST_INERTIA)
        self._most = np.where(rotary(robot), FALLEN_ROTARY, FALLEN_LINEAR)
        self._speed, self._explained = np.zeros(robot.n), np.zeros(robot.n)
        self.joint: str | None = None
        self.message = ""

    @property
    def over(self) -> bool:
        """Whether there is nothing to watch (any more)."""
        return self._tick >= self._ticks or not self._watched.any()

    def fell(self, sample: Sample, asked: Sequence[Array]) -> bool:
        """Take one tick of the blend; return whether a joint has fallen.

        Args:
            sample: The sample, a good one.
            asked: What is asked for in all [N m or N]: arrays of shape (n,) to be summed.
        """
        share = smooth_step(self._tick / self._ticks)
        self._tick += 1
        gravity = self._robot.gravity(sample.q)
        missing = (1.0 - share) * (self._found - gravity)
        # The rest of the sum is the laws' share: s τ_laws.
        laws = np.sum(asked, axis=0) - (1.0 - share) * self._found - share * gravity
        travel = sample.q - self._start
        down = -np.sign(self._needed)
        self._speed += self._dt * missing / self._inertia
        self._explained += self._dt * self._speed
        far = self._watched & (travel * down > self._most)
        explained = self._explained * down >= EXPLAINED * np.abs(travel)
        fallen = np.flatnonzero(far & explained & (missing * down > laws * down))
        self._watched &= ~far
        if not fallen.size:
            return False
        joint = int(fallen[0])
        self.joint = self._robot.joint_names[joint]
        unit = effort_units(self._robot)[joint]
        self.message = (
            f"joint '{self.joint}' fell by {abs(travel[joint]):.3g} {position_units(self._robot)[joint]} while the run "
            f"took it over: it was found with {self._found[joint]:.3g} {unit} and needs {self._needed[joint]:.3g} "
            f"{unit}. Brakes that have just opened, or a drive that reports an effort of 0, look like this. A plant "
            "that stands on brakes must say so (held='brakes', release()); else let its drives hold the arm first"
        )
        return True
