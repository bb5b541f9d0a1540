"""The topics of a bag that we read, and what a first look through the bag says of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array
from ..budget import Spending, over
from .batch import MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES, Batch, Container, DamagedError, Ledger, Spans
from .decode import (
    DEFAULT_ORDERS,
    MAX_JOINTS,
    OTHER,
    JointStateDecoder,
    TooManyListsError,
    UnreadableError,
    WrenchDecoder,
    readable,
)
from .decompress import ZSTD_MAGIC, unpack

JOINT_STATE = "sensor_msgs/JointState"
WRENCH_STAMPED = "geometry_msgs/WrenchStamped"
WRENCH = "geometry_msgs/Wrench"
TYPES = (JOINT_STATE, WRENCH_STAMPED, WRENCH)
ENCODINGS = ("cdr", "ros1")

MAX_GROUPS = 64
"""Publishers of one topic."""

Decoder = JointStateDecoder | WrenchDecoder


@dataclass(frozen=True, slots=True)
class Topic:
    """Messages of one type under one name, in all files of a bag.

    Attributes:
        name: The topic.
        type: One of TYPES.
        cdr: CDR; else ROS 1.
        members: Numbers of its connections, by the index of the file.
    """

    name: str
    type: str
    cdr: bool
    members: Mapping[int, frozenset[int]]

    def decoder(self, joints: tuple[bytes, ...] = (), orders: int = DEFAULT_ORDERS) -> Decoder:
        """Return a decoder for its messages, of at most so many lists of joint names."""
        if self.type == JOINT_STATE:
            return JointStateDecoder(joints, orders)
        return WrenchDecoder(self.type == WRENCH_STAMPED)

    def decode(
        self, decoder: Decoder, data: bytes, spans: Spans, rows: Array | None, refuse: Callable[[str], None]
    ) -> tuple[Array, npt.NDArray[np.int64]]:
        """Decode messages; ``refuse`` is told of those that cannot be.

        Returns:
            stamps: Time in each message [s], shape (k,).
            which: Index of its list of names, shape (k,); OTHER where it could not be decoded.
        """
        stamps = np.zeros(len(spans))
        which = np.full(len(spans), OTHER, dtype=np.int64)
        start = 0
        while start < len(spans):
            try:
                decoder.decode(data, spans, start, self.cdr, stamps, which, rows)
                break
            except UnreadableError as damage:
                refuse(f"topic {self.name}: {damage}")
                start = damage.index + 1
        return stamps, which

    def messages(self, container: int, batch: Batch, path: Path, spending: Spending) -> tuple[bytes, Spans]:
        """Return the topic's own messages of a batch, unpacked where each was compressed by itself.

        Raises:
            DamagedError: They cannot be unpacked.
            BudgetError: They unpack to more than is allowed.
        """
        mine = np.isin(batch.spans[:, 3], list(self.members[container]))
        spans = batch.spans if mine.all() else batch.spans[mine]
        if not self.cdr or len(spans) == 0:
            return batch.data, spans
        return _unpacked(batch.data, spans, path, spending)


@dataclass(slots=True, eq=False)
class Look:
    """What a first look found in a topic.

    Attributes:
        topic: The topic.
        decoder: Knows all lists of joint names.
        counts: Messages of each list of names.
        position: Bytes of the bag up to its last good message.
        stamped: Whether any message says when it was made.
    """

    topic: Topic
    decoder: Decoder
    counts: dict[int, int] = field(default_factory=dict)
    position: int = 0
    stamped: bool = False

    def groups(self) -> list[tuple[tuple[bytes, ...], int]]:
        """Return joints and number of messages of each table of the topic.

        A topic may have several publishers, an arm and a gripper for example. Lists of names that share a joint belong
        together; those that share none are tables of their own.

        Raises:
            DamagedError: There are more joints than any robot has.
        """
        if isinstance(self.decoder, WrenchDecoder):
            return [((), self.counts[0])] if self.counts else []
        groups: list[tuple[dict[bytes, None], int]] = []
        for index, (names, _) in enumerate(self.decoder.lists):
            if not names or index not in self.counts:
                continue
            merged, count, apart = dict.fromkeys(names), self.counts[index], []
            for joints, rows in groups:
                if merged.keys().isdisjoint(joints):
                    apart.append((joints, rows))
                else:
                    merged, count = joints if merged.keys() <= joints.keys() else joints | merged, count + rows
            groups = [*apart, (merged, count)]
            if len(merged) > MAX_JOINTS or len(groups) > MAX_GROUPS:
                raise DamagedError(
                    f"topic {self.topic.name}: more than {MAX_JOINTS} joints or {MAX_GROUPS} publishers; "
                    f"{readable(names)} came to {readable(groups[0][0])}"
                )
        return [(tuple(joints), count) for joints, count in groups]


def find_topics(containers: Iterable[Container]) -> list[Topic]:
    """Return the topics of a bag that we read, in the order of their names."""
    members: dict[tuple[str, str, bool], dict[int, set[int]]] = {}
    for index, container in enumerate(containers):
        for number, connection in container.connections.items():
            if connection.type in TYPES and connection.encoding in ENCODINGS:
                key = (connection.topic, connection.type, connection.encoding == "cdr")
                members.setdefault(key, {}).setdefault(index, set()).add(number)
    return [
        Topic(*key, {index: frozenset(ids) for index, ids in files.items()}) for key, files in sorted(members.items())
    ]


def look_through(containers: tuple[Container, ...], topics: list[Topic], ledger: Ledger) -> list[Look]:
    """Go once through all files: joint names are known only after the last message, and damage is found now."""
    looks = [Look(topic, topic.decoder(orders=ledger.spending.budget.orders)) for topic in topics]
    done = 0
    for index, container in enumerate(containers):
        of_member = {member: look for look in looks for member in look.topic.members.get(index, ())}
        for batch in container.batches(of_member.keys(), ledger) if of_member else ():
            # Not every topic for every batch: a bag may have a thousand topics and a thousand batches.
            present = (of_member[member] for member in np.unique(batch.spans[:, 3]).tolist() if member in of_member)
            for look in dict.fromkeys(present):
                _add(look, index, container, batch, done, ledger)
        done += container.size
    return looks


def _add(look: Look, index: int, container: Container, batch: Batch, done: int, ledger: Ledger) -> None:
    """Count the messages of a topic in a batch."""

    def refuse(what: str) -> None:
        ledger.left_out(container.path, batch.position, what)

    try:
        data, spans = look.topic.messages(index, batch, container.path, ledger.spending)
    except DamagedError as damage:
        refuse(f"topic {look.topic.name}: {damage}")
        return
    try:
        stamps, which = look.topic.decode(look.decoder, data, spans, None, refuse)
    except TooManyListsError as error:
        orders = ledger.spending.budget.orders
        raise over("orders", orders + 1, orders, container.path) from error
    good = which != OTHER
    if not good.any():
        return
    look.position = done + batch.position
    look.stamped = look.stamped or bool((stamps[good] != 0).any())
    for list_, count in zip(*np.unique(which[good], return_counts=True), strict=True):
        look.counts[int(list_)] = look.counts.get(int(list_), 0) + int(count)


def _unpacked(data: bytes, spans: Spans, path: Path, spending: Spending) -> tuple[bytes, Spans]:
    """Undo compression message by message, which rosbag2 offers as an option."""
    first = int(spans[0, 0])
    if data[first : first + 4] != ZSTD_MAGIC:
        return data, spans
    payloads = []
    length = 0
    for offset, size in spans[:, :2].tolist():
        payloads.append(unpack("zstd", data[offset : offset + size], None, limit=MAX_MESSAGE_BYTES))
        spending.spend("unpacked", len(payloads[-1]), path)
        length += len(payloads[-1])
        if length > MAX_CHUNK_BYTES:
            raise DamagedError(f"messages unpack to more than {MAX_CHUNK_BYTES} bytes")
    moved = spans.copy()
    moved[:, 1] = [len(payload) for payload in payloads]
    moved[:, 0] = np.cumsum(moved[:, 1]) - moved[:, 1]
    return b"".join(payloads), moved
