"""MCAP files (mcap.dev, version 0): of ROS 1, of ROS 2, or of neither."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import BinaryIO

from .. import kernel
from ..budget import Spending
from .batch import MAX_INDEX_BYTES, Connection, DamagedError, Ledger, plain_type
from .records import Record, RecordFile, RecordKind, check_sizes, unpack
from .reference import MCAP_HEAD

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, CHUNK_INDEX, DATA_END = 2, 3, 4, 5, 6, 8, 15
KINDS = {
    CHUNK: RecordKind.CHUNK,
    MESSAGE: RecordKind.MESSAGE,
    SCHEMA: RecordKind.DEFINITION,
    CHANNEL: RecordKind.DEFINITION,
    DATA_END: RecordKind.END,
    FOOTER: RecordKind.END,
}
_FOOTER_BODY = struct.Struct("<QQI")  # start of the summary, start of its offsets, checksum of the summary
_CHUNK_HEAD = struct.Struct("<QQQI")  # first and last time, size of the contents, their checksum
_CHUNK_INDEX = struct.Struct("<QQQQ")  # first and last time, start and length of the chunk


class McapFile(RecordFile):
    """One MCAP file."""

    first_record = len(MAGIC)
    walk = staticmethod(kernel.mcap_messages)

    def __init__(self, path: Path, ledger: Ledger) -> None:
        """Read what the file holds."""
        self._checked: set[int] = set()  # starts of chunks whose checksum is right
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[int, str, str]] = {}
        super().__init__(path, ledger)

    @property
    def connections(self) -> dict[int, Connection]:
        """What the file holds, by channel."""
        return {
            number: Connection(topic, plain_type(self._schemas.get(schema, "")), encoding)
            for number, (schema, topic, encoding) in self._channels.items()
        }

    def forget_index(self) -> None:
        """Drop the channels."""
        self._channels.clear()

    def read_index(self, stream: BinaryIO) -> None:
        """Take channels and the index of chunks from the summary at the end of the file."""
        length = MCAP_HEAD.size + _FOOTER_BODY.size
        start = self.size - len(MAGIC) - length
        stream.seek(max(start, 0))
        tail = stream.read(length + len(MAGIC))
        if start < len(MAGIC) or tail[length:] != MAGIC or MCAP_HEAD.unpack_from(tail) != (FOOTER, _FOOTER_BODY.size):
            raise DamagedError("the file has no footer: the recording was not closed")
        summary, _, checksum = _FOOTER_BODY.unpack_from(tail, MCAP_HEAD.size)
        if summary == 0 or start - summary > MAX_INDEX_BYTES:
            return
        if not len(MAGIC) <= summary <= start:
            raise DamagedError(f"the summary is said to start at byte {summary}")
        stream.seek(summary)
        data = stream.read(start - summary)
        if checksum not in (0, zlib.crc32(tail[: length - 4], zlib.crc32(data))):
            raise DamagedError("the summary's checksum is wrong")
        at = 0
        while at < len(data):
            opcode, end = _head(data, at)
            if opcode == CHUNK_INDEX:
                self._index_chunk(data[at + MCAP_HEAD.size : end])
            else:
                self._note(opcode, data[at + MCAP_HEAD.size : end])
            at = end

    def _index_chunk(self, body: bytes) -> None:
        """Take note of which channels a chunk holds; nothing where its messages are not indexed."""
        if len(body) < _CHUNK_INDEX.size + 4:
            raise DamagedError("a chunk index is cut")
        _, _, start, _ = _CHUNK_INDEX.unpack_from(body)
        (length,) = struct.unpack_from("<I", body, _CHUNK_INDEX.size)
        entries = body[_CHUNK_INDEX.size + 4 : _CHUNK_INDEX.size + 4 + length]
        if len(entries) != length or length % 10 != 0:
            raise DamagedError("a chunk index is cut")
        if length > 0:
            self.chunk_connections[start] = frozenset(channel for channel, _ in struct.iter_unpack("<HQ", entries))

    def record_at(self, stream: BinaryIO, at: int) -> Record:
        """Read opcode, length and, of a message, channel."""
        stream.seek(at)
        head = stream.read(MCAP_HEAD.size + 2)
        if len(head) < MCAP_HEAD.size:
            raise DamagedError("the file ends inside a record")
        opcode, length = MCAP_HEAD.unpack_from(head)
        if opcode == 0:
            raise DamagedError("no record starts here")
        body = at + MCAP_HEAD.size
        kind = KINDS.get(opcode, RecordKind.OTHER)
        channel = int.from_bytes(head[MCAP_HEAD.size :], "little") if kind is RecordKind.MESSAGE else -1
        return Record(kind, at, body, body + length, channel)

    def next_in(self, data: bytes, at: int) -> int:
        """Take note of a schema or channel."""
        opcode, end = _head(data, at)
        if opcode not in (SCHEMA, CHANNEL):
            raise DamagedError(f"a record of kind {opcode} where a schema, a channel or a message was expected")
        self._note(opcode, data[at + MCAP_HEAD.size : end])
        return end

    def _note(self, opcode: int, body: bytes) -> None:
        """Keep a schema or a channel; the first of a number counts, as the format says they are equal."""
        if opcode == SCHEMA:
            number, name, _ = _texts(body, "<H", 1)
            self._schemas.setdefault(number[0], name)
        elif opcode == CHANNEL:
            (channel, schema), topic, encoding = _texts(body, "<HH", 2)
            self._channels.setdefault(channel, (schema, topic, encoding))

    def contents(self, stream: BinaryIO, record: Record, cut: bool, spending: Spending) -> bytes:
        """Read and unpack a chunk and, the first time, compare its checksum."""
        stream.seek(record.body)
        head = stream.read(_CHUNK_HEAD.size + 4)
        if len(head) < _CHUNK_HEAD.size + 4:
            raise DamagedError("a chunk has no head")
        _, _, size, checksum = _CHUNK_HEAD.unpack_from(head)
        length = int.from_bytes(head[_CHUNK_HEAD.size :], "little")
        rest = stream.read(min(length, 64) + 8)
        compression = rest[: min(length, 64)].decode("utf-8", "backslashreplace")
        start = record.body + len(head) + length + 8
        packed = int.from_bytes(rest[-8:], "little") if len(rest) == min(length, 64) + 8 else 0
        if length > 64 or (not cut and start + packed != record.end):
            raise DamagedError("a chunk's head does not fit its record")
        check_sizes(packed, size)
        spending.spend("unpacked", size, self.path)
        stream.seek(start)
        data = unpack(compression, stream.read(packed), size, cut=cut)
        if not cut and record.start not in self._checked:
            if checksum not in (0, zlib.crc32(data)):
                raise DamagedError("a chunk's checksum is wrong")
            self._checked.add(record.start)
        return data


def _head(data: bytes, at: int) -> tuple[int, int]:
    """Return opcode and end of the record at ``at``."""
    if len(data) - at < MCAP_HEAD.size:
        raise DamagedError("a record is cut")
    opcode, length = MCAP_HEAD.unpack_from(data, at)
    if length > len(data) - at - MCAP_HEAD.size:
        raise DamagedError("a record is cut")
    return opcode, at + MCAP_HEAD.size + length


def _texts(body: bytes, numbers: str, count: int) -> tuple[tuple[int, ...], str, str]:
    """Return the numbers and the first one or two texts of a record's body."""
    at = struct.calcsize(numbers)
    if len(body) < at:
        raise DamagedError("a definition is cut")
    texts = ["", ""]
    for index in range(count):
        length = int.from_bytes(body[at : at + 4], "little")
        if length > len(body) - at - 4:
            raise DamagedError("a definition is cut")
        texts[index] = body[at + 4 : at + 4 + length].decode("utf-8", "backslashreplace")
        at += 4 + length
    return struct.unpack_from(numbers, body), texts[0], texts[1]
