"""Pushes of a simulated arm while it floats, one after another, and what came of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...dynamics import Robot, link_name
from ...foundation import Array
from ...plants import Push, SimulatedArm
from ...recording import Log
from .hidden import CheckResult
from .law import YIELD_SHARE

FIRST, PAUSE = 1.0, 6.0
"""When the first push begins after the arm was let go, and how long it is left alone after each [s]."""
SETTLED = 1.0
"""Time after a push until the arm counts as left alone [s]."""
OWN_SECONDS, OWN_FACTOR = 0.4, 2.0
"""The push that is made where none is asked for: how long, and how much stronger than what friction holds at least."""


@dataclass(frozen=True, slots=True)
class LinkPush:
    """A push of a link.

    Attributes:
        link: The link, pushed at its origin.
        force: Force in the base frame [N].
        seconds: How long.
    """

    link: str
    force: tuple[float, float, float]
    seconds: float


class PushScript:
    """Pushes one after another, each followed by a pause in which the arm is left alone.

    Attributes:
        pushes: The pushes; known when the arm is let go.
    """

    def __init__(
        self,
        arm: SimulatedArm,
        pushes: Sequence[LinkPush],
        *,
        first: float = FIRST,
        pause: float = PAUSE,
        held: bool = False,
    ) -> None:
        """Plan the pushes.

        Args:
            arm: What is pushed.
            pushes: The pushes; where there are none, one is chosen after the check that just moves the arm.
            first: When the first one begins after the arm was let go [s].
            pause: How long the arm is left alone after each [s].
            held: Whether the arm is held when it rests: a push must then be stronger.

        Raises:
            InputError: A link that does not exist.
        """
        self._arm, self._first, self._pause = arm, first, pause
        self._hold = YIELD_SHARE * arm.effort_limit if held else np.zeros(arm.n)
        self.pushes = tuple(pushes)
        for push in self.pushes:
            link_name(arm.robot, push.link, "link=")

    @property
    def seconds(self) -> float:
        """How long it all takes [s]."""
        return self._begins()[-1] + (self.pushes[-1].seconds if self.pushes else OWN_SECONDS) + self._pause

    def begin(self, check: CheckResult | None = None) -> None:
        """Schedule the pushes from now on; called when the arm is let go, after its check."""
        if not self.pushes and check is not None:
            self.pushes = (_own(self._arm.robot, check, self._hold),)
        for push, begin in zip(self.pushes, self._begins(), strict=False):
            start = self._arm.time + begin
            self._arm.push(Push(push.link, (*push.force, 0.0, 0.0, 0.0), start, start + push.seconds))

    def results(self, log: Log | None, seconds: float) -> list[dict[str, Any]]:
        """Return every push with how far its link moved and how far it drifted when left alone [m].

        Args:
            log: The recording, from the moment the arm was let go; None for none.
            seconds: How long it floated; then comes the safe stop, which lets the arm down.
        """
        if log is None:
            return []
        robot, elapsed, found = self._arm.robot, log.time - log.time[0], []
        last = max(int(np.searchsorted(elapsed, seconds)) - 1, 0)
        for push, begin in zip(self.pushes, self._begins(), strict=False):
            end = begin + push.seconds
            if end > elapsed[last]:
                break
            times = [begin, end + SETTLED, end + self._pause - 0.01]
            rows = [min(int(np.searchsorted(elapsed, time)), last) for time in times]
            places = [robot.forward_kinematics(log.q[row], at=push.link)[:3, 3] for row in rows]
            moved, drifted = (float(np.linalg.norm(b - a)) for a, b in pairwise(places))
            found.append(
                {
                    "link": push.link,
                    "force": list(push.force),
                    "begin": begin,
                    "seconds": push.seconds,
                    "moved": moved,
                    "drifted": drifted if elapsed[last] > end + SETTLED else None,
                }
            )
        return found

    def _begins(self) -> list[float]:
        """Return when each push begins after the arm was let go [s]; with no push yet, when the first will."""
        begins = [self._first]
        for push in self.pushes[:-1]:
            begins.append(begins[-1] + push.seconds + self._pause)
        return begins


def _own(robot: Robot, check: CheckResult, hold: Array) -> LinkPush:
    """Return a push of the tip along the axis of the base frame on which it takes the least force to move it."""
    friction = np.full(robot.n, np.inf)
    for joint in check.joints:
        index = robot.joint_names.index(joint.joint)
        friction[index] = max(joint.friction + hold[index], 1e-6)
    link = robot.link_names[-1]
    levers = np.abs(robot.jacobian(check.pose, at=link)[:3])
    needed = 1.0 / np.maximum(np.max(levers / friction, axis=1), 1e-9)
    force = [0.0, 0.0, 0.0]
    axis = int(np.argmin(needed))
    force[axis] = OWN_FACTOR * float(needed[axis])
    return LinkPush(link, (force[0], force[1], force[2]), OWN_SECONDS)
