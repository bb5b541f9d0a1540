"""ROS 1 bags (format 2.0)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from ...errors import DataFileError
from .. import kernel
from ..budget import Spending
from .batch import MAX_INDEX_BYTES, Connection, DamagedError, Ledger, plain_type
from .records import Record, RecordFile, RecordKind, check_sizes, unpack
from .reference import ros1_fields

MAGIC = b"#ROSBAG V2.0\n"
MESSAGE, BAG_HEADER, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 5, 6, 7
KINDS = {CHUNK: RecordKind.CHUNK, MESSAGE: RecordKind.MESSAGE, CONNECTION: RecordKind.DEFINITION}
MAX_HEADER_BYTES = 64 * 1024


class Ros1File(RecordFile):
    """One ROS 1 bag."""

    first_record = len(MAGIC)
    walk = staticmethod(kernel.ros1_messages)

    def __init__(self, path: Path, ledger: Ledger) -> None:
        """Read what the file holds."""
        self._connections: dict[int, Connection] = {}
        self._index_start: int | None = None
        super().__init__(path, ledger)

    @property
    def connections(self) -> dict[int, Connection]:
        """What the file holds, by the number of the connection."""
        return dict(self._connections)

    def forget_index(self) -> None:
        """Drop the connections, and where the index starts."""
        self._index_start = None
        self._connections.clear()

    def read_index(self, stream: BinaryIO) -> None:
        """Take connections and the contents of chunks from the index at the end of the file."""
        record = self.record_at(stream, self.first_record)
        header = dict(record.header)
        if header.get(b"op") != bytes([BAG_HEADER]):
            raise DamagedError("the first record is no bag header")
        if header.get(b"encryptor"):
            encryptor = header[b"encryptor"].decode("utf-8", "backslashreplace")
            raise DataFileError(f"is encrypted by {encryptor}; decrypt it first: rosbag decrypt", path=self.path)
        start = _number(header, b"index_pos", 8)
        if start == 0:
            raise DamagedError("the bag has no index: the recording was not closed")
        if not record.end <= start <= self.size:
            raise DamagedError(f"the index is said to start at byte {start} of {self.size}")
        self._index_start = start
        if self.size - start > MAX_INDEX_BYTES:
            return
        stream.seek(start)
        data = stream.read(self.size - start)
        at = 0
        while at < len(data):
            fields, body, at = _record_in(data, at)
            opcode = _number(fields, b"op", 1)
            if opcode == CONNECTION:
                self._note(fields, body)
            elif opcode == CHUNK_INFO:
                if len(body) % 8 != 0:
                    raise DamagedError("the contents of a chunk are cut")
                numbers = frozenset(number for number, _ in struct.iter_unpack("<II", body))
                self.chunk_connections[_number(fields, b"chunk_pos", 8)] = numbers

    def record_at(self, stream: BinaryIO, at: int) -> Record:
        """Read a record's header and the length of its data."""
        if at == self._index_start:
            return Record(RecordKind.END, at, at, self.size)
        stream.seek(at)
        length = int.from_bytes(stream.read(4), "little")
        if length > MAX_HEADER_BYTES:
            raise DamagedError("no record starts here")
        head = stream.read(length + 4)
        if len(head) < length + 4:
            raise DamagedError("the file ends inside a record")
        header = tuple(ros1_fields(head[:length]))
        fields = dict(header)
        body = at + 8 + length
        end = body + int.from_bytes(head[length:], "little")
        kind = KINDS.get(_number(fields, b"op", 1), RecordKind.OTHER)
        connection = _number(fields, b"conn", 4) if kind is RecordKind.MESSAGE else -1
        return Record(kind, at, body, end, connection, header)

    def next_in(self, data: bytes, at: int) -> int:
        """Take note of a connection."""
        fields, body, end = _record_in(data, at)
        opcode = _number(fields, b"op", 1)
        if opcode != CONNECTION:
            raise DamagedError(f"a record of kind {opcode} where a connection or a message was expected")
        self._note(fields, body)
        return end

    def _note(self, fields: dict[bytes, bytes], body: bytes) -> None:
        """Keep a connection; the first of a number counts, the others repeat it."""
        described = dict(ros1_fields(body))
        topic, type_ = (
            text.decode("utf-8", "backslashreplace")
            for text in (fields.get(b"topic", b""), described.get(b"type", b""))
        )
        self._connections.setdefault(_number(fields, b"conn", 4), Connection(topic, plain_type(type_), "ros1"))

    def contents(self, stream: BinaryIO, record: Record, cut: bool, spending: Spending) -> bytes:
        """Read and unpack a chunk."""
        fields = dict(record.header)
        size = _number(fields, b"size", 4)
        packed = record.end - record.body
        check_sizes(packed, size)
        spending.spend("unpacked", size, self.path)
        stream.seek(record.body)
        compression = fields.get(b"compression", b"none").decode("utf-8", "backslashreplace")
        return unpack(compression, stream.read(packed), size, cut=cut)


def _record_in(data: bytes, at: int) -> tuple[dict[bytes, bytes], bytes, int]:
    """Return header fields, body and end of the record at ``at``."""
    header = int.from_bytes(data[at : at + 4], "little")
    if header > len(data) - at - 8:
        raise DamagedError("a record is cut")
    fields = dict(ros1_fields(data[at + 4 : at + 4 + header]))
    body = at + 8 + header
    length = int.from_bytes(data[at + 4 + header : body], "little")
    if length > len(data) - body:
        raise DamagedError("a record is cut")
    return fields, data[body : body + length], body + length


def _number(fields: dict[bytes, bytes], name: bytes, size: int) -> int:
    """Return a number of the header."""
    value = fields.get(name, b"")
    if len(value) != size:
        raise DamagedError(f"a record's header has no {name.decode()} of {size} bytes")
    return int.from_bytes(value, "little")
