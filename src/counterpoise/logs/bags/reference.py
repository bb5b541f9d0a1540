"""Batch decoders in NumPy: the fallback of the native ones, with the same arguments and results.

A message is parsed by the specification (message); those behind it that have the same length and agree in all bytes
that decide the layout are taken with it, as one array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array
from .batch import DamagedError, Spans
from .message import Fields, Message, parse_joint_state, parse_wrench

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
