"""Tables from ROS 1 and ROS 2 bags and from MCAP, without ROS: one for each topic of joint states or wrenches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ...errors import DataFileError, InputError, listed
from ..budget import Spending
from ..names import KINDS
from ..table import CHUNK_ROWS, MessageTime, Recovery, Table, bounded_rows
from .batch import Container, DamagedError, Ledger, Spans
from .decode import WRENCH_COLUMNS
from .files import open_containers
from .topic import JOINT_STATE, Look, find_topics, look_through


def open_bag(
    path: str | Path,
    *,
    recover: bool = False,
    time: MessageTime = "stamp",
    spending: Spending | None = None,
) -> tuple[BagSource, ...]:
    """Open a bag and look through it once: for its joint names and for damage.

    Reads ROS 1 bags (format 2.0), ROS 2 bags (a directory, or one .db3 or .mcap file of it) and MCAP files with ROS 1
    or CDR messages; sensor_msgs/JointState, geometry_msgs/WrenchStamped and geometry_msgs/Wrench. A topic on which
    several publishers send different joints gives a table for each; a joint that comes and goes is NaN while absent.

    Args:
        path: File or directory.
        recover: Read what is intact of a damaged or cut bag instead of refusing it; see ``recovery`` of the sources.
        time: When a message was made, as it says itself, or when it was received. Messages that never say when they
            were made give the time of receipt; see ``time_from`` of the sources.
        spending: What the bag may cost; None for the default budget.

    Returns:
        One source for each table, in the order of their topics. Sources can be iterated independently.

    Raises:
        DataFileError: The bag cannot be read, is damaged, or has no such messages.
        BudgetError: Reading it costs more than the budget.
        MissingExtraError: A library for its compression is not installed.
        InputError: An argument is not one of those above.
    """
    if time not in ("stamp", "received"):
        raise InputError(f"time is {time!r}; expected 'stamp' or 'received'")
    ledger = Ledger(recover, spending)
    containers = open_containers(path, ledger)
    topics = find_topics(containers)
    ledger.spending.spend("topics", len(topics), path)
    looks = look_through(containers, topics, ledger)
    total = sum(container.size for container in containers)
    sources = []
    for look in looks:
        try:
            groups = look.groups()
        except DamagedError as damage:
            raise DataFileError(str(damage), path=path) from damage
        for joints, rows in groups:
            recovery = None if ledger.reason is None else Recovery(rows, look.position, total, ledger.reason)
            sources.append(BagSource(path, containers, look, joints, recovery, time, recover, ledger.spending))
            ledger.spending.spend("columns", len(sources[-1].column_names), path)
    if not sources:
        raise DataFileError(_nothing_to_read(containers, ledger), path=path)
    return tuple(sources)


class BagSource:
    """One table of a bag: a topic, or of a topic with several publishers the joints that belong together.

    Attributes:
        path: The bag.
        name: The topic.
        column_names: ``position.<joint>`` of all joints, then ``velocity.<joint>``, then ``effort.<joint>``; or
            ``force.x`` … ``torque.z``.
        has_time: True. Time is in seconds since the epoch of the clock that set it, to a quarter of a microsecond.
        time_from: Whether time is the messages' own ("stamp") or that of their receipt ("received").
        progress: Share of the source that the running iteration has read, 0 to 1.
        recovery: What recovery had to leave out; None for a whole bag.
    """

    has_time = True
    about = None

    def __init__(
        self,
        path: str | Path,
        containers: tuple[Container, ...],
        look: Look,
        joints: tuple[bytes, ...],
        recovery: Recovery | None,
        time: MessageTime,
        recover: bool,
        spending: Spending,
    ) -> None:
        """Keep what the first look found."""
        self._spending = spending
        self.path, self.name = str(path), look.topic.name
        self.recovery, self.progress = recovery, 0.0
        self.time_from: MessageTime = time if look.stamped else "received"
        self.column_names: tuple[str, ...] = WRENCH_COLUMNS
        if look.topic.type == JOINT_STATE:
            names = [joint.decode("utf-8", "backslashreplace") for joint in joints]
            self.column_names = tuple(f"{kind}.{name}" for kind in KINDS for name in names)
        self._containers, self._topic, self._joints, self._recover = containers, look.topic, joints, recover

    def tables(self, rows: int = CHUNK_ROWS) -> Iterator[Table]:
        """Yield the rows in pieces of at most ``rows``, in the order of the bag; memory does not grow with the bag.

        Raises:
            DataFileError: The bag cannot be read any more, or has changed since it was opened.
        """
        width = len(self.column_names)
        limit = bounded_rows(rows, width)
        decoder = self._topic.decoder(self._joints, self._spending.budget.orders)
        time, columns, fill = np.empty(limit), np.empty((limit, width)), 0
        for data, spans, refuse in self._payloads():
            at = 0
            while at < len(spans):
                part = spans[at : at + limit - fill]
                at += len(part)
                end = fill + len(part)
                stamps, which = self._topic.decode(decoder, data, part, columns[fill:end], refuse)
                time[fill:end] = stamps if self.time_from == "stamp" else part[:, 2] // 10**9 + part[:, 2] % 10**9 / 1e9
                kept = decoder.kept(which)
                if not kept.all():
                    end = fill + int(np.count_nonzero(kept))
                    time[fill:end], columns[fill:end] = (
                        time[fill:][: len(part)][kept],
                        columns[fill:][: len(part)][kept],
                    )
                fill = end
                if fill == limit:
                    self._spending.spend("unpacked", columns.nbytes, self.path)
                    yield Table(time, columns)
                    time, columns, fill = np.empty(limit), np.empty((limit, width)), 0
        if fill > 0:
            self._spending.spend("unpacked", columns[:fill].nbytes, self.path)
            yield Table(time[:fill], columns[:fill])

    def _payloads(self) -> Iterator[tuple[bytes, Spans, Callable[[str], None]]]:
        """Yield the topic's messages, buffer by buffer, with whom to tell about those that cannot be decoded."""
        ledger = Ledger(self._recover, self._spending)
        total = max(1, sum(container.size for container in self._containers))
        done, self.progress = 0, 0.0
        for index, container in enumerate(self._containers):
            wanted = self._topic.members.get(index, frozenset())
            for batch in container.batches(wanted, ledger) if wanted else ():

                def refuse(what: str, path: Path = container.path, position: int = batch.position) -> None:
                    ledger.left_out(path, position, what)

                try:
                    data, spans = self._topic.messages(index, batch, container.path, self._spending)
                except DamagedError as damage:
                    refuse(str(damage))
                    continue
                yield data, spans, refuse
                self.progress = (done + batch.position) / total
            done += container.size
        self.progress = 1.0


def _nothing_to_read(containers: tuple[Container, ...], ledger: Ledger) -> str:
    """Say what a bag has instead."""
    found = sorted({f"{c.topic} ({c.type}, {c.encoding})" for file in containers for c in file.connections.values()})
    damage = "" if ledger.reason is None else f" The bag is damaged: {ledger.reason}."
    return (
        "has no messages of sensor_msgs/JointState or geometry_msgs/WrenchStamped in CDR or ROS 1 encoding; "
        f"its topics: {listed(found, 20) or 'none'}.{damage}"
    )
