"""Tables from ROS 1 and ROS 2 bags and from MCAP, without ROS: one for each topic of joint states or wrenches.

Which files make up a bag, and of what kind each is, is judged by their contents, not by their endings. A first look
through the bag says what it holds of each topic that is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt

from ...errors import BudgetError, DataFileError, InputError, listed, reason_of
from ...foundation import Array
from ..budget import Spending, over
from ..names import KINDS
from ..table import CHUNK_ROWS, MessageTime, Recovery, Table, bounded_rows
from . import mcap, ros1, sqlite
from .batch import MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES, Batch, Container, DamagedError, Ledger, Spans
from .decoding import (
    DEFAULT_ORDERS,
    MAX_JOINTS,
    OTHER,
    WRENCH_COLUMNS,
    JointStateDecoder,
    TooManyListsError,
    UnreadableError,
    WrenchDecoder,
    readable,
)
from .records import ZSTD_MAGIC, unpack

METADATA = "metadata.yaml"
ENDINGS = (".db3", ".mcap")
MAX_METADATA_BYTES = 4 * 2**20


def open_containers(path: str | Path, ledger: Ledger) -> tuple[Container, ...]:
    """Open the files of a bag in the order in which they were recorded.

    Raises:
        DataFileError: A file is absent, is no bag, or is damaged and recovery was not asked for.
    """
    files = _files(Path(path))
    containers: list[Container] = []
    for file in files:
        try:
            containers.append(_open(file, ledger))
        except DataFileError as error:
            if not ledger.recover or len(files) == 1 or isinstance(error, BudgetError):
                raise
            ledger.damaged(file, None, str(error))
    return tuple(containers)


def _files(path: Path) -> list[Path]:
    """Return the files of a bag: one, or those of a directory."""
    try:
        if not path.exists():
            raise DataFileError(
                "no such file or directory; give a .bag, .db3 or .mcap file or the directory of a ROS 2 bag", path=path
            )
        if not path.is_dir():
            return [path]
        metadata = path / METADATA
        files = [path / name for name in _listed_files(metadata)] if metadata.is_file() else []
        # A recorder writes its list when it is closed. Without one, the number in the name tells the order.
        files = files or sorted((file for file in path.iterdir() if file.suffix in ENDINGS), key=_natural)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=path) from error
    if not files:
        raise DataFileError(f"is a directory without {' or '.join(ENDINGS)} files, so no ROS 2 bag", path=path)
    return files


def _listed_files(metadata: Path) -> list[str]:
    """Return the names under ``relative_file_paths``; the rest is not needed. Folders in them are ignored."""
    with metadata.open("rb") as stream:
        text = stream.read(MAX_METADATA_BYTES).decode("utf-8", "replace")
    found = re.search(
        r"^[ \t]*relative_file_paths:[ \t]*(?:\[([^\]\n]*)\]|((?:\r?\n[ \t]*-[^\r\n]*)+))", text, re.MULTILINE
    )
    if found is None:
        return []
    items = (
        found[1].split(",")
        if found[1] is not None
        else [line.strip()[1:] for line in found[2].split("\n") if line.strip()]
    )
    names = (PurePosixPath(item.strip().strip("'\"")).name for item in items)
    return [name for name in names if name]


def _natural(file: Path) -> list[tuple[int, str]]:
    """Return a key that sorts name_2 before name_10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d{1,18})", file.name)]


def _open(file: Path, ledger: Ledger) -> Container:
    try:
        with file.open("rb") as stream:
            start = stream.read(16)
            ledger.spending.open(os.fstat(stream.fileno()).st_size)
    except OSError as error:
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=file) from error
    if start.startswith(mcap.MAGIC):
        return mcap.McapFile(file, ledger)
    if start.startswith(ros1.MAGIC):
        return ros1.Ros1File(file, ledger)
    if start.startswith(sqlite.MAGIC):
        return sqlite.SqliteFile(file, ledger)
    if start.startswith(ZSTD_MAGIC):
        raise DataFileError("is compressed as a whole; unpack it first: zstd -d", path=file)
    if start.startswith(b"#ROSBAG V"):
        raise DataFileError("is a bag of an old format; convert it first: rosbag fix", path=file)
    raise DataFileError(
        f"is no bag: it starts with {start.hex(' ') or 'nothing'}; a ROS 1 bag, a ROS 2 database or MCAP was expected",
        path=file,
    )


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
