"""Bags made of records, some of them packed into chunks: what MCAP and ROS 1 bags have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ...errors import DataFileError, reason_of
from ..budget import Spending
from .batch import MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES, Batch, Connection, DamagedError, Ledger, Spans, no_spans

WINDOW = MAX_MESSAGE_BYTES
"""Bytes that are read at once where messages lie outside chunks."""

MAX_DEFINITIONS = 100_000
"""Records other than messages that a chunk may hold; MCAP has at most 65 535 channels."""


class RecordKind(Enum):
    """What a record is to us."""

    CHUNK = auto()
    MESSAGE = auto()
    DEFINITION = auto()
    OTHER = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Record:
    """Where a record of a file lies.

    Attributes:
        kind: What it is.
        start: Its first byte.
        body: First byte of its contents.
        end: First byte behind it, as it claims; may lie behind the end of the file.
        connection: Connection of a message.
        header: Header fields of a ROS 1 record.
    """

    kind: RecordKind
    start: int
    body: int
    end: int
    connection: int = -1
    header: tuple[tuple[bytes, bytes], ...] = ()


class RecordFile(ABC):
    """A file of records. A format says how a record is read; going through the file is the same for all."""

    first_record: int
    """Where the first record starts."""

    walk: Callable[[bytes, int, bytes], tuple[bytes, int]]
    """Finds messages in a run of records, see walk."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        """Read what the file holds: from its index, or, where it has none, by going through it."""
        self.path = path
        self.chunk_connections: dict[int, frozenset[int]] = {}  # by the start of the chunk, where the index says it
        try:
            self.size = path.stat().st_size
            with path.open("rb") as stream:
                self.read_index(stream)
        except OSError as error:
            raise DataFileError(f"cannot be read: {reason_of(error)}", path=path) from error
        except DamagedError as damage:
            ledger.damaged(path, self.size, str(damage))
            self.chunk_connections.clear()
            self.forget_index()
        if not self.connections:
            for _ in self.batches((), ledger):
                pass

    @property
    @abstractmethod
    def connections(self) -> dict[int, Connection]:
        """What the file holds, by number."""

    @abstractmethod
    def read_index(self, stream: BinaryIO) -> None:
        """Take connections and what chunks hold from the index at the end of the file; DamagedError if it is none."""

    @abstractmethod
    def forget_index(self) -> None:
        """Drop the connections that a damaged index gave."""

    @abstractmethod
    def record_at(self, stream: BinaryIO, at: int) -> Record:
        """Read the head of a record; DamagedError where there is none."""

    @abstractmethod
    def next_in(self, data: bytes, at: int) -> int:
        """Take note of the definition at ``at`` and return where the next record starts; DamagedError if it is cut."""

    @abstractmethod
    def contents(self, stream: BinaryIO, record: Record, cut: bool, spending: Spending) -> bytes:
        """Read and unpack a chunk, or of one that is cut off what is left; DamagedError where that fails.

        What it says to unpack to is spent before.
        """

    def batches(self, wanted: Collection[int], ledger: Ledger) -> Iterator[Batch]:
        """Yield the messages of the wanted connections in the order of the file."""
        ids = np.array(sorted(wanted), dtype=np.int64).tobytes()
        try:
            with self.path.open("rb") as stream:
                yield from self._batches(stream, frozenset(wanted), ids, ledger)
        except OSError as error:
            raise DataFileError(f"cannot be read: {reason_of(error)}", path=self.path) from error

    def _batches(self, stream: BinaryIO, wanted: frozenset[int], ids: bytes, ledger: Ledger) -> Iterator[Batch]:
        at = self.first_record
        while at < self.size:
            try:
                record = self.record_at(stream, at)
            except DamagedError as damage:
                ledger.damaged(self.path, at, str(damage))
                return
            if record.kind is RecordKind.END:
                return
            cut = record.end > self.size
            if cut:
                ledger.damaged(self.path, at, "the file ends inside a record")
            spans, data, at = no_spans(), b"", record.end
            if record.kind is RecordKind.CHUNK and not self._holds_none(record, wanted):
                try:
                    data = self.contents(stream, record, cut, ledger.spending)
                except DamagedError as damage:
                    ledger.damaged(self.path, record.start, str(damage))
                spans = self._in_chunk(data, ids, record.start, ledger, cut)
            elif record.kind is RecordKind.MESSAGE and not cut:
                data = self._window(stream, record, wanted, ledger)
                spans, used = self._walk(data, 0, ids)
                at = record.start + used if used > 0 else record.end
            elif record.kind is RecordKind.DEFINITION and not cut:
                self._define(stream, record, ledger)
            if len(spans) > 0:
                yield Batch(data, spans, min(at, self.size))

    def _holds_none(self, chunk: Record, wanted: frozenset[int]) -> bool:
        """Whether the index says that a chunk holds no wanted message."""
        present = self.chunk_connections.get(chunk.start)
        return present is not None and present.isdisjoint(wanted)

    def _walk(self, data: bytes, start: int, ids: bytes) -> tuple[Spans, int]:
        spans, end = type(self).walk(data, start, ids)
        return np.frombuffer(spans, dtype=np.int64).reshape(-1, 4), end

    def _in_chunk(self, data: bytes, ids: bytes, position: int, ledger: Ledger, cut: bool) -> Spans:
        """Find the wanted messages of a chunk and take note of its definitions."""
        found = [no_spans()]
        at = 0
        for _ in range(MAX_DEFINITIONS):
            spans, at = self._walk(data, at, ids)
            if len(spans) > 0:
                found.append(spans)
            if at >= len(data):
                break
            try:
                at = self.next_in(data, at)
            except DamagedError as damage:
                if not cut:  # the end of a chunk that is cut off is no further damage
                    ledger.damaged(self.path, position, str(damage))
                break
        else:
            ledger.damaged(self.path, position, f"a chunk holds more than {MAX_DEFINITIONS} definitions")
        return found[-1] if len(found) <= 2 else np.concatenate(found)

    def _window(self, stream: BinaryIO, message: Record, wanted: frozenset[int], ledger: Ledger) -> bytes:
        """Read a message outside chunks and what follows it; nothing of one that is too long to be ours."""
        length = message.end - message.start
        if length > WINDOW:
            if message.connection in wanted:
                ledger.damaged(self.path, message.start, f"a message of {length} bytes; {WINDOW} are allowed")
            return b""
        stream.seek(message.start)
        return stream.read(WINDOW)

    def _define(self, stream: BinaryIO, record: Record, ledger: Ledger) -> None:
        """Take note of a definition outside chunks."""
        length = record.end - record.start
        if length > MAX_CHUNK_BYTES:
            ledger.damaged(self.path, record.start, f"a definition of {length} bytes")
            return
        stream.seek(record.start)
        try:
            self.next_in(stream.read(length), 0)
        except DamagedError as damage:
            ledger.damaged(self.path, record.start, str(damage))
