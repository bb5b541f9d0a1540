"""Bags made of records, what MCAP and ROS 1 bags have in common: chunks are unpacked, never beyond the size allowed."""

from __future__ import annotations

import bz2
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...errors import DataFileError, MissingExtraError, reason_of
from ..budget import Spending
from .batch import MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES, Batch, Connection, DamagedError, Ledger, Spans, no_spans

ZSTD_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""Python's own zstd module (from 3.14 on) or its backport."""
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def check_sizes(packed: int, size: int) -> None:
    """Refuse a chunk by what it claims, before it is read: packing hardly makes anything larger.

    Raises:
        DamagedError: A size is more than is unpacked, or the two do not belong together.
    """
    if size > MAX_CHUNK_BYTES:
        raise DamagedError(
            f"a chunk claims {size / 2**20:.0f} MiB, at most {MAX_CHUNK_BYTES / 2**20:.0f} MiB are unpacked"
        )
    if packed > 2 * size + 1024:
        raise DamagedError(f"a chunk of {size} bytes is said to be packed into {packed}")


def unpack(
    compression: str, data: bytes, size: int | None, *, cut: bool = False, limit: int = MAX_CHUNK_BYTES
) -> bytes:
    """Return the contents of a chunk.

    Args:
        compression: ``zstd``, ``lz4`` (the frame format), ``bz2``; empty or ``none``: the data as it is.
        data: The packed bytes.
        size: Size of the contents, as the file claims it and check_sizes has seen; None where it does not.
        cut: The data may end early; what can be unpacked is returned.
        limit: Largest size that is unpacked where none is claimed.

    Raises:
        DamagedError: The data are damaged, or their contents are not as large as claimed or larger than allowed.
        MissingExtraError: The library for this compression is not installed.
    """
    allowed = limit if size is None else size
    if compression in ("", "none"):
        contents = data
    else:
        machine = _decompressor(compression)
        try:
            # One byte more than claimed: a chunk that holds more than it says is refused, not cut.
            contents = machine.decompress(data, max_length=allowed + 1)
        except (OSError, EOFError, ValueError, RuntimeError, _zstd_error(compression)) as error:
            raise DamagedError(f"a {compression} chunk cannot be unpacked: {error}") from error
        if not cut and not machine.eof and len(contents) <= allowed:
            raise DamagedError(f"a {compression} chunk ends early")
    if len(contents) > allowed:
        raise DamagedError(f"a chunk holds more than the {allowed} bytes it may")
    if size is not None and len(contents) < size and not cut:
        raise DamagedError(f"a chunk holds {len(contents)} bytes instead of {size}")
    return contents


def _decompressor(compression: str) -> Any:
    """Return an object with ``decompress(data, max_length)`` and ``eof``."""
    if compression == "bz2":
        return bz2.BZ2Decompressor()
    if compression == "lz4":
        try:
            return import_module("lz4.frame").LZ4FrameDecompressor()
        except ImportError as error:
            raise MissingExtraError("reading a bag compressed with lz4", "ros") from error
    if compression == "zstd":
        return _zstd().ZstdDecompressor()
    raise DamagedError(f"a chunk is compressed with {compression!r}; zstd, lz4, bz2 and none are known")


def _zstd() -> Any:
    try:
        return import_module(ZSTD_MODULE)
    except ImportError as error:
        raise MissingExtraError("reading a bag compressed with zstd", "ros") from error


def _zstd_error(compression: str) -> type[Exception]:
    """Return the exception of the zstd module, which derives from Exception alone."""
    if compression != "zstd":
        return ValueError
    error: type[Exception] = _zstd().ZstdError
    return error


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
