"""Where the messages of chosen connections lie in a run of records: the specification of the native walks.

MCAP (mcap.dev, version 0): opcode (1), length of the body (8), body. ROS 1 bag (format 2.0): length of the header (4),
header of fields ``name=value`` with their lengths (4), length of the data (4), data. All little endian.

A walk goes from record to record and stops at the first that is no whole message: a definition, the end, or damage.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .batch import DamagedError

MCAP_MESSAGE = 5
MCAP_HEAD = struct.Struct("<BQ")
MCAP_MESSAGE_HEAD = struct.Struct("<HIQQ")  # channel, sequence, log time, publish time
ROS1_MESSAGE = 2
_LENGTH = struct.Struct("<I")
_SPAN = struct.Struct("=qqqq")


def mcap_messages(data: bytes, start: int, wanted: bytes) -> tuple[bytes, int]:
    """Walk over MCAP records.

    Args:
        data: Records without gaps.
        start: Where the first one starts.
        wanted: Channels, int64.

    Returns:
        spans: Of the wanted messages, int64 (k, 4): offset, length, log time [ns], channel.
        end: Where the first record starts that was not taken.
    """
    ids = set(memoryview(wanted).cast("q")) if wanted else set()
    spans = bytearray()
    at = start
    shortest = MCAP_HEAD.size + MCAP_MESSAGE_HEAD.size
    while len(data) - at >= shortest:
        opcode, length = MCAP_HEAD.unpack_from(data, at)
        body = at + MCAP_HEAD.size
        if opcode != MCAP_MESSAGE or length < MCAP_MESSAGE_HEAD.size or length > len(data) - body:
            break
        channel, _, received, _ = MCAP_MESSAGE_HEAD.unpack_from(data, body)
        if channel in ids:
            spans += _SPAN.pack(
                body + MCAP_MESSAGE_HEAD.size, length - MCAP_MESSAGE_HEAD.size, _signed(received), channel
            )
        at = body + length
    return bytes(spans), at


def ros1_messages(data: bytes, start: int, wanted: bytes) -> tuple[bytes, int]:
    """Walk over the records of a ROS 1 bag; arguments and results as for MCAP."""
    ids = set(memoryview(wanted).cast("q")) if wanted else set()
    spans = bytearray()
    at = start
    while len(data) - at >= 8:
        (header,) = _LENGTH.unpack_from(data, at)
        if header > len(data) - at - 8:
            break
        try:
            fields = dict(ros1_fields(data[at + 4 : at + 4 + header]))
        except DamagedError:
            break
        (length,) = _LENGTH.unpack_from(data, at + 4 + header)
        body = at + 8 + header
        connection, time = fields.get(b"conn", b""), fields.get(b"time", b"")
        whole = fields.get(b"op") == bytes([ROS1_MESSAGE]) and len(connection) == 4 and len(time) == 8
        if not whole or length > len(data) - body:
            break
        (number,) = _LENGTH.unpack(connection)
        if number in ids:
            seconds, nanoseconds = struct.unpack("<II", time)
            spans += _SPAN.pack(body, length, seconds * 10**9 + nanoseconds, number)
        at = body + length
    return bytes(spans), at


def ros1_fields(header: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield name and value of the fields of a ROS 1 header.

    Raises:
        DamagedError: The header is none.
    """
    at = 0
    while at < len(header):
        if len(header) - at < 4:
            raise DamagedError("a record's header ends inside a field")
        (length,) = _LENGTH.unpack_from(header, at)
        at += 4
        if length > len(header) - at:
            raise DamagedError("a record's header ends inside a field")
        name, separator, value = header[at : at + length].partition(b"=")
        if not separator:
            raise DamagedError("a field of a record's header has no '='")
        yield name, value
        at += length


def _signed(value: int) -> int:
    """Return an unsigned number of 64 bits as its signed twin, as the native walk stores it."""
    return value - 2**64 if value >= 2**63 else value
