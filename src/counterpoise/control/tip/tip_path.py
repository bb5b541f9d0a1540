"""Paths of a tip: where a link should be, and how fast it should move, as a function of time.

Time counts from the reset of the law that follows the path, at the pose the link has then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...base_sensor.wrench_frame import checked_pose
from ...description.frozen import Array, frozen
from ...dynamics.inputs import numbers
from ...errors import InputError
from ..reference import PoseList, not_begun
from .bounds import number_of

_REST = frozen(np.zeros(6))


class TipDesired(NamedTuple):
    """What a law should bring about.

    Attributes:
        pose: T_base_link, shape (4, 4).
        twist: Velocity and angular velocity, base axes [m/s, rad/s], shape (6,).
    """

    pose: Array
    twist: Array


@runtime_checkable
class TipPath(Protocol):
    """A path of a tip."""

    def reset(self, pose: Array) -> None:
        """Begin at time 0 with the link at ``pose``, T_base_link, shape (4, 4)."""
        ...

    def at(self, time: float) -> TipDesired:
        """Return what is desired ``time`` seconds after the reset."""
        ...


class StayThere:
    """Stay at a pose."""

    def __init__(self, pose: npt.ArrayLike | None = None) -> None:
        """Stay at ``pose``, T_base_link, shape (4, 4); None for where the link is when the law starts."""
        self._given = None if pose is None else checked_pose(pose, "pose")
        self._pose = self._given

    def reset(self, pose: Array) -> None:
        """Begin with the link at ``pose``."""
        self._pose = frozen(pose) if self._given is None else self._given

    def at(self, time: float) -> TipDesired:
        """Return the pose, at rest."""
        if self._pose is None:
            raise not_begun()
        return TipDesired(self._pose, _REST)


class Straight:
    """Go along straight lines from where the link is, each with least jerk, the link's orientation kept."""

    def __init__(self, steps: Sequence[npt.ArrayLike], *, speed: float, dwell: float = 0.0) -> None:
        """Go through points and stay at the last.

        Args:
            steps: Way from each point to the next, base axes [m], each of shape (3,).
            speed: Largest speed along each axis [m/s].
            dwell: Time to stay at each point [s].
        """
        if len(steps) == 0:
            raise InputError("there are no steps; give at least one")
        ways = [numbers(step, f"steps[{index}]", (3,)) for index, step in enumerate(steps)]
        self._moves = PoseList(list(np.cumsum(ways, axis=0)), speed=number_of(speed, "speed", "m/s"), dwell=dwell)
        self._start: Array | None = None

    @property
    def duration(self) -> float:
        """Time until the last point has been held for the dwell time [s]; known after the reset."""
        return self._moves.duration

    def reset(self, pose: Array) -> None:
        """Begin with the link at ``pose``."""
        self._start = frozen(pose)
        self._moves.reset(np.zeros(3))

    def at(self, time: float) -> TipDesired:
        """Return pose and twist ``time`` seconds after the reset."""
        if self._start is None:
            raise not_begun()
        moved, speed = self._moves.at(time)
        pose = self._start.copy()
        pose[:3, 3] += moved
        return TipDesired(pose, np.concatenate([speed, np.zeros(3)]))
