"""What pushes a simulated arm while it floats, and what came of every push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import click
import numpy as np

from ..dynamics import Robot, link_name
from ..foundation import Array
from ..plants import Push, SimulatedArm
from ..recording import Log
from ..tasks import YIELD_SHARE, CheckResult

FIRST = 1.0
"""When the first push begins after the arm was let go [s]."""
PAUSE = 6.0
"""Time after each push [s]."""
SETTLED = 1.0
"""Time after a push until the arm counts as left alone [s]."""
OWN_SECONDS, OWN_FACTOR = 0.4, 2.0
"""The push that is made where none is asked for: how long, and how much stronger than what friction holds at least."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """A push of a link.

    Attributes:
        link: The link, pushed at its origin.
        force: Force in the base frame [N].
        seconds: How long.
    """

    link: str
    force: tuple[float, float, float]
    seconds: float


def parsed(text: str) -> Scripted:
    """Read ``link,Fx,Fy,Fz,seconds``.

    Raises:
        click.UsageError: It is not of that form.
    """
    *name, fx, fy, fz, seconds = text.split(",") if text.count(",") >= 4 else ("",) * 5
    try:
        force, lasts = (float(fx), float(fy), float(fz)), float(seconds)
    except ValueError:
        force, lasts = (0.0, 0.0, 0.0), -1.0
    if not (0.0 < lasts <= 60.0 and np.all(np.isfinite(force)) and name):
        raise click.UsageError(f"--push {text!r} is not of the form link,Fx,Fy,Fz,seconds [N, s, at most 60 s]")
    return Scripted(",".join(name), force, lasts)


class Script:
    """Pushes one after another, each followed by a pause in which the arm is left alone.

    Attributes:
        pushes: The pushes; known when the arm is let go.
    """

    def __init__(self, arm: SimulatedArm, robot: Robot, pushes: Sequence[Scripted], *, held: bool) -> None:
        """Plan the pushes.

        Args:
            arm: What is pushed.
            robot: Its model, payload included.
            pushes: The pushes; where there are none, one is chosen that just moves the arm.
            held: Whether the arm is held when it rests: a push must then be stronger.
        """
        self._arm, self._robot = arm, robot
        self._hold = YIELD_SHARE * arm.effort_limit if held else np.zeros(robot.n)
        self.pushes = tuple(pushes)
        for push in self.pushes:
            link_name(robot, push.link, "--push")  # refuses a link that does not exist

    @property
    def seconds(self) -> float:
        """How long it all takes [s]."""
        return self._begins()[-1] + (self.pushes[-1].seconds if self.pushes else OWN_SECONDS) + PAUSE

    def begin(self, check: CheckResult | None) -> None:
        """Schedule the pushes from now on; called when the arm is let go."""
        if not self.pushes:
            self.pushes = (_own(self._robot, check, self._hold),) if check is not None else ()
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
        elapsed, found = log.time - log.time[0], []
        last = max(int(np.searchsorted(elapsed, seconds)) - 1, 0)
        for push, begin in zip(self.pushes, self._begins(), strict=False):
            end = begin + push.seconds
            times = [begin, end + SETTLED, end + PAUSE - 0.01]
            if end > elapsed[last]:
                break
            rows = [min(int(np.searchsorted(elapsed, time)), last) for time in times]
            places = [self._robot.forward_kinematics(log.q[row], at=push.link)[:3, 3] for row in rows]
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
        begins = [FIRST]
        for push in self.pushes[:-1]:
            begins.append(begins[-1] + push.seconds + PAUSE)
        return begins


def _own(robot: Robot, check: CheckResult, hold: Array) -> Scripted:
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
    return Scripted(link, (force[0], force[1], force[2]), OWN_SECONDS)
