"""The schedule of what happens from outside: which pushes act now, which loads come and go, what is touched."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from ..dynamics.inputs import link_index
from ..dynamics.robot import Robot
from .contacts import Bonded, Touch, Touching
from .events import AttachPayload, Bond, Event, Push, RemovePayloads, Surface
from .links import Links


class Disturbances:
    """Events in the order of their times.

    Args:
        robot: The robot they happen to.
        events: The events.

    Raises:
        InputError: An event names no link of the robot.
    """

    def __init__(self, robot: Robot, events: Iterable[Event]) -> None:
        """Sort the events."""
        self._robot = robot
        self._pushes: list[tuple[Push, int]] = []
        self._contacts: list[Touching | Bonded] = []
        loads: list[AttachPayload | RemovePayloads] = []
        for event in events:
            if isinstance(event, Push):
                self.add(event)
            elif isinstance(event, Surface):
                self._contacts.append(Touching(event, self._index(event.link)))
            elif isinstance(event, Bond):
                self._contacts.append(
                    Bonded(event, self._index(event.first, "first="), self._index(event.second, "second="))
                )
            else:
                if isinstance(event, AttachPayload):
                    self._index(event.link)
                loads.append(event)
        self._loads = deque(sorted(loads, key=lambda event: event.time))

    def add(self, push: Push) -> None:
        """Add a push to the schedule.

        Args:
            push: Its times are by the plant's clock.
        """
        self._pushes.append((push, self._index(push.link)))

    def remove(self, push: Push) -> None:
        """Take a push off the schedule; one that is not on it is no error."""
        self._pushes = [entry for entry in self._pushes if entry[0] is not push]

    def loads_due(self, time: float) -> Iterator[AttachPayload | RemovePayloads]:
        """Yield, and forget, the loads that come or go until ``time`` [s]."""
        while self._loads and self._loads[0].time <= time:
            yield self._loads.popleft()

    def any_push(self, start: float, end: float) -> bool:
        """Return whether a push acts at some time from ``start`` to ``end`` [s], or something may be touched.

        Pushes that ended before ``start`` are forgotten: a hand makes a new one fifty times a second.
        """
        if any(push.end <= start for push, _ in self._pushes):
            self._pushes = [entry for entry in self._pushes if entry[0].end > start]
        return bool(self._contacts) or any(push.start < end for push, _ in self._pushes)

    def apply(self, links: Links, time: float) -> None:
        """Set the external forces on the links to those of ``time`` [s]."""
        links.release()
        for push, link in self._pushes:
            if push.start <= time < push.end:
                links.push(link, np.asarray(push.wrench), np.asarray(push.point), push.axes == "link")
        for contact in self._contacts:
            contact.apply(links)

    def touches(self) -> tuple[Touch, ...]:
        """Return what surfaces and bonds exert on the robot, in the order of the events, as applied last."""
        return tuple(contact.touch for contact in self._contacts)

    def _index(self, link: str | None, argument: str = "link=") -> int:
        return link_index(self._robot.link_names, self._robot.tree.tips, link, argument)
