"""Whether each joint of a recording really came to rest from the side that its plan states.

A joint that friction held at the offset, or that swung back, carries friction of an unknown sign into the mean of both
sides. That shows in the measured positions alone: from the beginning of the creep to the end of the window a joint must
move towards the pose, and must not go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array, frozen
from ..errors import InputError
from ..logs.log import Log

LEAST_MOVED = 0.1
"""A joint must creep by at least this share of its approach."""
MOST_BACK = 0.1
"""... and may go back by at most this share of it: friction gives a little as the drive settles, and encoders count."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """How the joints came to one pose from one side; arrays of shape (n,) [rad or m].

    Attributes:
        pose: Index of the pose.
        side: "above" or "below".
        moved: How far the joints moved in the stated direction.
        back: How far they went back on the way.
        approach: How far they were to move.
    """

    pose: int
    side: str
    moved: Array
    back: Array
    approach: Array

    @property
    def failed(self) -> list[int]:
        """Indices of the joints that did not come from the stated side."""
        stuck = self.moved < LEAST_MOVED * self.approach
        return np.flatnonzero(stuck | (self.back > MOST_BACK * self.approach)).tolist()


def arrivals(log: Log) -> tuple[Arrival, ...]:
    """Return how the joints came to rest, window by window, of a log that carries its plan.

    Raises:
        InputError: The log has no plan.
    """
    plan = log.declared.notes.get("plan")
    if not isinstance(plan, Mapping) or "windows" not in plan:
        raise InputError("the log carries no plan; it was not made by recording a list of poses")
    elapsed = log.time - log.time[0]
    found = []
    for window in plan["windows"]:
        part = (elapsed >= window["creep"]) & (elapsed < window["end"])
        if np.count_nonzero(part) < 2 or elapsed[-1] < window["begin"]:
            continue  # cut away
        approach = np.asarray(plan["offsets"][window["pose"]], dtype=np.float64)
        found.append(arrival_of(log.q[part], window["pose"], window["side"], approach))
    return tuple(found)


def arrival_notes(log: Log) -> list[str]:
    """Name the joints that did not come to rest from the stated side, each with how often; none is good."""
    all_arrivals = arrivals(log)
    notes = []
    for joint, name in enumerate(log.joint_names):
        failed = [arrival for arrival in all_arrivals if joint in arrival.failed]
        if failed:
            worst = min(failed, key=lambda arrival: float(arrival.moved[joint] - arrival.back[joint]))
            notes.append(
                f"{name} did not come to rest from the stated side in {len(failed)} of {len(all_arrivals)} "
                f"approaches: at pose {worst.pose + 1} from {worst.side} it moved {worst.moved[joint]:.2g} of "
                f"{worst.approach[joint]:.2g} and went back {worst.back[joint]:.2g}"
            )
    return notes


def arrival_of(q: Array, pose: int, side: str, approach: Array) -> Arrival:
    """Return how the joints came to rest at one pose.

    Args:
        q: Positions from the beginning of the creep to the end of the window [rad or m], shape (k, n).
        pose: Index of the pose.
        side: "above" or "below".
        approach: How far the joints were to move [rad or m], shape (n,).
    """
    sign = -1.0 if side == "above" else 1.0
    progress = sign * (q - q[0])
    back = np.max(np.maximum.accumulate(progress, axis=0) - progress, axis=0)
    return Arrival(pose, side, frozen(progress[-1]), frozen(back), frozen(approach))
