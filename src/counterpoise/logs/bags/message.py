"""Payloads of joint states and wrenches, one at a time: the specification of the batch decoders.

CDR (ROS 2, OMG XTypes 1.3, §7.4): four bytes of encapsulation, then little or big endian numbers, each aligned to its
size as counted from behind the encapsulation; texts end with a NUL that their length counts. The bytes between are
arbitrary: real recorders leave old memory there. ROS 1: little endian, nothing aligned, no NUL.

    sensor_msgs/JointState        header, name[], position[], velocity[], effort[]     the last three may be empty
    geometry_msgs/WrenchStamped   header, force x y z, torque x y z                    Wrench: without header
    header                        (ROS 1: sequence number), seconds, nanoseconds, frame
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array
from ..names import KINDS
from .batch import DamagedError

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
