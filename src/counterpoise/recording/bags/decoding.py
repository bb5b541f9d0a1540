"""Decoding the payloads of one topic, batch by batch: always by joint name, whatever the order in a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ...errors import listed
from ...foundation import Array
from .. import kernel
from ..budget import ReadingBudget
from .batch import DamagedError, Spans
from .reference import Message, parse_joint_state, parse_wrench

WRENCH_COLUMNS = ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")

MAX_JOINTS = 1024
"""Joints of one topic."""

FAST_LISTS = 1024
"""Lists of names that the batch decoder knows; further ones are decoded message by message."""

DEFAULT_ORDERS = ReadingBudget().orders

OTHER = -1
"""Marks a message that could not be decoded."""


class UnreadableError(DamagedError):
    """A message cannot be decoded.

    Attributes:
        index: Its place in the batch.
    """

    def __init__(self, index: int, what: str) -> None:
        """Keep the place."""
        self.index = index
        super().__init__(what)


class TooManyListsError(Exception):
    """A topic has more different lists of joint names than the budget allows. Never leaves the room."""


class JointStateDecoder:
    """Decodes sensor_msgs/JointState.

    Attributes:
        lists: Every list of names met, in the order of the messages.
    """

    def __init__(self, joints: tuple[bytes, ...] = (), orders: int = DEFAULT_ORDERS) -> None:
        """Take the joints of the table; messages of which none is among them belong to another table.

        Args:
            joints: Names of the joints.
            orders: Most lists of names.
        """
        self.lists: list[tuple[tuple[bytes, ...], npt.NDArray[np.int64] | None]] = []
        self._column_of = {name: column for column, name in enumerate(joints)}
        self._index_of: dict[tuple[bytes, ...], int] = {}
        self._orders = orders

    def decode(
        self,
        data: bytes,
        spans: Spans,
        start: int,
        cdr: bool,
        stamps: Array,
        which: npt.NDArray[np.int64],
        rows: Array | None,
    ) -> None:
        """Fill stamps, which and rows from message ``start`` on.

        Args:
            data: Buffer of the payloads.
            spans: Where they lie, shape (k, 4).
            start: First message.
            cdr: CDR; else ROS 1.
            stamps: Takes the time in the messages [s], shape (k,).
            which: Takes the index of each message's list of names in ``lists``, shape (k,).
            rows: Takes the numbers, shape (k, 3 n): position, velocity, effort; None: the messages are only checked.

        Raises:
            UnreadableError: A message is none; those before it are decoded.
            TooManyListsError: There are more lists of names than allowed.
        """
        at, is_slow = start, False
        while at < len(spans):
            if not is_slow:
                at = kernel.joint_states(data, spans, at, cdr, self.lists[:FAST_LISTS], stamps, which, rows)
            if at == len(spans):
                return
            offset, length = int(spans[at, 0]), int(spans[at, 1])
            try:
                message = parse_joint_state(data[offset : offset + length], cdr)
                known = message.names in self._index_of
                index = self._index_of[message.names] if known else self._learn(message.names)
            except DamagedError as damage:
                raise UnreadableError(at, str(damage)) from damage
            # Behind a list that the batch decoder does not know there may be another: it is tried one by one.
            is_slow = not known or index >= FAST_LISTS
            stamps[at], which[at] = message.stamp, index
            self._store(message, index, rows, at)
            at += 1

    def _learn(self, names: tuple[bytes, ...]) -> int:
        """Keep a new list of names."""
        if len(names) > MAX_JOINTS:
            raise DamagedError(f"more than {MAX_JOINTS} joints")
        if repeated := sorted(name for name, often in Counter(names).items() if often > 1):
            raise DamagedError(f"joint names appear twice: {readable(repeated)} in {readable(names)}")
        if len(self.lists) >= self._orders:
            raise TooManyListsError
        columns = None
        if names and all(name in self._column_of for name in names):
            columns = np.array([self._column_of[name] for name in names], dtype=np.int64)
        self._index_of[names] = len(self.lists)
        self.lists.append((names, columns))
        return len(self.lists) - 1

    def _store(self, message: Message, index: int, rows: Array | None, at: int) -> None:
        """Fill one row."""
        columns = self.lists[index][1]
        if rows is None or columns is None:
            return
        joints = rows.shape[1] // 3
        rows[at] = np.nan
        for kind, group in enumerate(message.groups):
            if len(group) > 0:
                rows[at, kind * joints + columns] = group

    def kept(self, which: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which messages belong to the table, shape (k,)."""
        mine = np.array([*(columns is not None for _, columns in self.lists), False])  # the last is OTHER
        return mine[which]


class WrenchDecoder:
    """Decodes geometry_msgs/Wrench and geometry_msgs/WrenchStamped."""

    def __init__(self, stamped: bool) -> None:
        """Take whether the messages have a header."""
        self.stamped = stamped

    def decode(
        self,
        data: bytes,
        spans: Spans,
        start: int,
        cdr: bool,
        stamps: Array,
        which: npt.NDArray[np.int64],
        rows: Array | None,
    ) -> None:
        """As JointStateDecoder.decode; rows have shape (k, 6), force first, and ``which`` is 0 for all."""
        at = kernel.wrenches(data, spans, start, cdr, self.stamped, stamps, rows)
        which[start:at] = 0
        if at == len(spans):
            return
        offset, length = int(spans[at, 0]), int(spans[at, 1])
        try:
            parse_wrench(data[offset : offset + length], cdr, self.stamped)
        except DamagedError as damage:
            raise UnreadableError(at, str(damage)) from damage
        raise UnreadableError(at, "a wrench cannot be decoded")

    def kept(self, which: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which messages belong to the table, shape (k,)."""
        kept: npt.NDArray[np.bool_] = which != OTHER
        return kept


def readable(names: Iterable[bytes]) -> str:
    """Return joint names for a message, at most 20."""
    return f"[{listed([name.decode('utf-8', 'backslashreplace') for name in names], 20)}]"
