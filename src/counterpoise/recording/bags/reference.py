"""Bags decoded in Python: the specification of the native decoders and walks, and their fallback.

**Payloads** of joint states and wrenches, one at a time, specify the batch decoders.

CDR (ROS 2, OMG XTypes 1.3, §7.4): four bytes of encapsulation, then little or big endian numbers, each aligned to its
size as counted from behind the encapsulation; texts end with a NUL that their length counts. The bytes between are
arbitrary: real recorders leave old memory there. ROS 1: little endian, nothing aligned, no NUL.

    sensor_msgs/JointState        header, name[], position[], velocity[], effort[]     the last three may be empty
    geometry_msgs/WrenchStamped   header, force x y z, torque x y z                    Wrench: without header
    header                        (ROS 1: sequence number), seconds, nanoseconds, frame

**Batches** in NumPy are the fallback of the native decoders, with the same arguments and results. A message is parsed
by the specification; those behind it that have the same length and agree in all bytes that decide the layout are taken
with it, as one array.

**Walks** find where the messages of chosen connections lie in a run of records.

MCAP (mcap.dev, version 0): opcode (1), length of the body (8), body. ROS 1 bag (format 2.0): length of the header (4),
header of fields ``name=value`` with their lengths (4), length of the data (4), data. All little endian.

A walk goes from record to record and stops at the first that is no whole message: a definition, the end, or damage.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...foundation import Array
from ..names import KINDS
from .batch import DamagedError, Spans

CDR_BIG, CDR_LITTLE = b"\x00\x00", b"\x00\x01"
CDR_PADDING = 8  # a serializer may fill up the end of a message to less than this


class PayloadCursor:
    """A cursor over one payload. It remembers which bytes decide the layout of what follows."""

    def __init__(self, data: bytes, cdr: bool) -> None:
        """Read the encapsulation."""
        self.data, self.cdr, self.order = data, cdr, "<"
        self.origin = self.at = 0
        self.deciding: list[range] = []
        if cdr:
            if data[:2] not in (CDR_BIG, CDR_LITTLE) or len(data) < 4:
                raise DamagedError(f"no CDR message: it starts with {data[:4].hex(' ') or 'nothing'}")
            self.order = "<" if data[:2] == CDR_LITTLE else ">"
            self.origin = self.at = 4
            self.deciding.append(range(2))

    def _align(self, step: int) -> None:
        if self.cdr:
            self.at = self.origin + -(-(self.at - self.origin) // step) * step

    def take(self, count: int) -> int:
        """Step over ``count`` bytes and return where they start."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise DamagedError(f"the message ends after {len(self.data)} bytes, {self.at} or more were expected")
        return start

    def number(self, code: str = "I", *, decides: bool = True) -> int:
        """Read a number of four bytes."""
        self._align(4)
        start = self.take(4)
        if decides:
            self.deciding.append(range(start, start + 4))
        value: int = struct.unpack_from(self.order + code, self.data, start)[0]
        return value

    def text(self) -> bytes:
        """Read a text, without its NUL."""
        length = self.number()
        start = self.take(length)
        self.deciding.append(range(start, start + length))
        text = self.data[start : start + length]
        if not self.cdr or not text:
            return text
        if text[-1] != 0:
            raise DamagedError("a text does not end with NUL")
        return text[:-1]

    def stamp(self) -> tuple[float, int]:
        """Read a header; return its time [s] and where that is."""
        if not self.cdr:
            self.number(decides=False)  # sequence number
        seconds = self.number("i" if self.cdr else "I", decides=False)
        start = self.at - 4
        nanoseconds = self.number(decides=False)
        self.text()
        return seconds + nanoseconds / 1e9, start

    def doubles(self, count: int) -> int:
        """Step over ``count`` doubles and return where they start."""
        if count > 0:
            self._align(8)
        return self.take(8 * count)

    def read_doubles(self, start: int, count: int) -> Array:
        """Return the doubles at ``start``."""
        return np.frombuffer(self.data, dtype=self.order + "f8", count=count, offset=start).astype(np.float64)

    def end(self) -> None:
        """Refuse bytes that belong to nothing."""
        left = len(self.data) - self.at
        if left >= (CDR_PADDING if self.cdr else 1):
            raise DamagedError(f"{left} bytes are left over behind the message")


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Where the numbers of a message are.

    Attributes:
        order: ``<`` little endian, ``>`` big endian.
        signed: Whether the seconds of the stamp are signed.
        stamp_at: Where seconds and nanoseconds are; None without header.
        doubles: Start and number of each group of doubles.
        deciding: Indices of the bytes that decide all this: messages of equal length that agree in them agree in it.
    """

    order: str
    signed: bool
    stamp_at: int | None
    doubles: tuple[tuple[int, int], ...]
    deciding: npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One message: time [s] (0 without header), joint names (none in a wrench), and its groups of numbers."""

    stamp: float
    names: tuple[bytes, ...]
    groups: tuple[Array, ...]
    fields: Fields


def _message(
    payload: PayloadCursor, stamp: float, stamp_at: int | None, names: tuple[bytes, ...], doubles: list[tuple[int, int]]
) -> Message:
    deciding = np.array([index for part in payload.deciding for index in part], dtype=np.intp)
    fields = Fields(payload.order, payload.cdr, stamp_at, tuple(doubles), deciding)
    return Message(stamp, names, tuple(payload.read_doubles(start, count) for start, count in doubles), fields)


def parse_joint_state(data: bytes, cdr: bool) -> Message:
    """Return a JointState: groups are position, velocity and effort, each empty or as long as the names.

    Raises:
        DamagedError: It is none.
    """
    payload = PayloadCursor(data, cdr)
    stamp, stamp_at = payload.stamp()
    count = payload.number()
    if count > len(data) // 4:
        raise DamagedError(f"{count} joint names are claimed in a message of {len(data)} bytes")
    names = tuple(payload.text() for _ in range(count))
    doubles = []
    for kind in KINDS:
        length = payload.number()
        if length not in (0, count):
            raise DamagedError(f"{count} joint names but {length} numbers of {kind}; none or {count} were expected")
        doubles.append((payload.doubles(length), length))
    payload.end()
    return _message(payload, stamp, stamp_at, names, doubles)


def parse_wrench(data: bytes, cdr: bool, stamped: bool) -> Message:
    """Return a Wrench or WrenchStamped: one group, force first.

    Raises:
        DamagedError: It is none.
    """
    payload = PayloadCursor(data, cdr)
    stamp, stamp_at = payload.stamp() if stamped else (0.0, None)
    start = payload.doubles(6)
    payload.end()
    return _message(payload, stamp, stamp_at, (), [(start, 6)])


NameLists = Sequence[tuple[tuple[bytes, ...], npt.NDArray[np.int64] | None]]
"""Names of the joints as messages have them, and the column of each; None: the message belongs to another table."""

BLOCK = 1024
"""Messages that are compared at once; bounds the memory."""


def joint_states(
    data: bytes,
    spans: Spans,
    start: int,
    cdr: bool,
    lists: NameLists,
    stamps: Array,
    which: npt.NDArray[np.int64],
    rows: Array | None,
) -> int:
    """Decode JointState messages up to the first that is malformed or whose names are in no list.

    Args:
        data: Buffer of the payloads.
        spans: Where they lie, shape (k, 4).
        start: First message to decode.
        cdr: CDR; else ROS 1.
        lists: Known lists of names.
        stamps: Takes the time of each message [s], shape (k,).
        which: Takes the index of each message's list, shape (k,).
        rows: Takes position, velocity, effort of the joints, shape (k, 3 n), NaN where a message has none; None: the
            messages are only checked.

    Returns:
        Index of the first message that was not decoded, or k.
    """

    def store(first: int, message: Message, bytes_: npt.NDArray[np.uint8]) -> bool:
        index = next((i for i, (names, _) in enumerate(lists) if names == message.names), None)
        if index is None:
            return False
        part = slice(first, first + len(bytes_))
        stamps[part] = _stamps(bytes_, message.fields)
        which[part] = index
        columns = lists[index][1]
        if rows is not None and columns is not None:
            joints = rows.shape[1] // 3
            rows[part] = np.nan
            for kind, group in enumerate(_groups(bytes_, message.fields)):
                if group.shape[1] > 0:
                    rows[part, kind * joints + columns] = group
        return True

    return _decode(data, spans, start, lambda payload: parse_joint_state(payload, cdr), store)


def wrenches(data: bytes, spans: Spans, start: int, cdr: bool, stamped: bool, stamps: Array, rows: Array | None) -> int:
    """Decode Wrench or WrenchStamped messages up to the first that is malformed; rows: shape (k, 6), force first."""

    def store(first: int, message: Message, bytes_: npt.NDArray[np.uint8]) -> bool:
        part = slice(first, first + len(bytes_))
        stamps[part] = _stamps(bytes_, message.fields)
        if rows is not None:
            (rows[part],) = _groups(bytes_, message.fields)
        return True

    return _decode(data, spans, start, lambda payload: parse_wrench(payload, cdr, stamped), store)


def _decode(
    data: bytes,
    spans: Spans,
    start: int,
    parse: Callable[[bytes], Message],
    store: Callable[[int, Message, npt.NDArray[np.uint8]], bool],
) -> int:
    buffer = np.frombuffer(data, dtype=np.uint8)
    at = start
    while at < len(spans):
        offset, length = int(spans[at, 0]), int(spans[at, 1])
        if not 0 <= offset <= offset + length <= len(data):
            return at
        try:
            message = parse(data[offset : offset + length])
        except DamagedError:
            return at
        alike = _run(spans[at : at + BLOCK, 1] == length)
        inside = (spans[at : at + alike, 0] >= 0) & (spans[at : at + alike, 0] <= len(data) - length)
        offsets = spans[at : at + _run(inside), 0]
        bytes_ = buffer[offsets[:, None] + np.arange(length)]
        deciding = message.fields.deciding
        bytes_ = bytes_[: _run((bytes_[:, deciding] == bytes_[0, deciding]).all(axis=1))]
        if not store(at, message, bytes_):
            return at
        at += len(bytes_)
    return at


def _run(flags: npt.NDArray[np.bool_]) -> int:
    """Return how many flags are set before the first that is not."""
    return len(flags) if flags.all() else int(np.argmin(flags))


def _stamps(bytes_: npt.NDArray[np.uint8], fields: Fields) -> Array | float:
    if fields.stamp_at is None:
        return 0.0
    pair = np.ascontiguousarray(bytes_[:, fields.stamp_at : fields.stamp_at + 8])
    seconds = pair.view(fields.order + ("i4" if fields.signed else "u4"))[:, 0]
    return seconds + pair.view(fields.order + "u4")[:, 1] / 1e9


def _groups(bytes_: npt.NDArray[np.uint8], fields: Fields) -> list[Array]:
    return [
        np.ascontiguousarray(bytes_[:, start : start + 8 * count]).view(fields.order + "f8").astype(np.float64)
        if count > 0
        else np.empty((len(bytes_), 0))
        for start, count in fields.doubles
    ]


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
