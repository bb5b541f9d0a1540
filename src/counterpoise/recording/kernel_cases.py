"""What the native readers are checked with before they are used: one case per entry point, and the layouts.

Each case reads bytes with the given part and returns the numbers. The stored results are those of the Python
specification (``tests/store_results.py``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from math import isnan
from typing import Any

import numpy as np

from ..foundation import Cases, Layout
from .csv_numbers import Status

TEXT = b'# a comment\n1,2.5,-3e-2\n\n 4 ,, 1e300\n"5",.5,6.02214076e23,\n0.1,-0,123456789012345678\n7,8\nrest'
BLANKS = b"% a comment\n1  2.5\t3\n4 x 6\n"
NAMES = ((b"shoulder", b"elbow"), (b"elbow", b"shoulder"))
CHANNELS = np.array([2, 7], dtype=np.int64).tobytes()


def _numbers(values: Any) -> Iterator[float]:
    """Yield numbers; NaN, which equals nothing, as a number that no case has."""
    return (-12345.0 if isnan(value) else float(value) for value in np.ravel(values).tolist())


def _parse_rows(module: Any) -> Iterable[float]:
    for text, delimiter in ((TEXT, ord(",")), (BLANKS, 0)):
        out = np.zeros((6, 3))
        *numbers, fault = module.parse_rows(text, 0, out, 3, delimiter, bytes(3))
        yield from (*numbers, *fault, *_numbers(out[: numbers[0]]))


def _cdr(parts: Iterable[tuple[str, Any]], order: str = "<") -> bytes:
    """Return a CDR message of numbers and texts, aligned."""
    body = bytearray()
    for code, value in parts:
        size = 8 if code == "d" else 4
        body += bytes(-len(body) % size)
        if code == "s":
            body += struct.pack(f"{order}I", len(value) + 1) + value + b"\0"
        else:
            body += struct.pack(order + code, value)
    return (b"\0\1\0\0" if order == "<" else b"\0\0\0\0") + bytes(body)


def _joint_state(index: int, order: str) -> bytes:
    parts: list[tuple[str, Any]] = [("i", 10 + index), ("I", 500_000_000), ("s", b"base"), ("I", 2)]
    parts += [("s", name) for name in NAMES[index % 2]]
    for group in range(3):
        values = [] if group == 1 and index == 2 else [group + 0.25 * index, -group - 0.5]
        parts += [("I", len(values)), *(("d", value) for value in values)]
    return _cdr(parts, order)


def _spans(payloads: list[bytes]) -> Any:
    ends = np.cumsum([len(payload) for payload in payloads])
    spans = np.zeros((len(payloads), 4), dtype=np.int64)
    spans[:, 0], spans[:, 1] = ends - [len(payload) for payload in payloads], [len(payload) for payload in payloads]
    return spans


def _joint_states(module: Any) -> Iterable[float]:
    payloads = [*(_joint_state(index, "<>"[index // 2]) for index in range(4)), b"damaged"]
    lists = [(NAMES[0], np.array([0, 1])), (NAMES[1], np.array([1, 0]))]
    stamps, which, rows = np.zeros(5), np.full(5, -7), np.zeros((5, 6))
    end = module.joint_states(b"".join(payloads), _spans(payloads), 0, True, lists, stamps, which, rows)
    yield from (end, *stamps[:end], *which[:end], *_numbers(rows[:end]))


def _wrenches(module: Any) -> Iterable[float]:
    header = [("i", 12), ("I", 250_000_000), ("s", b"plate")]
    payloads = [
        *(_cdr([*header, *(("d", 1.5 * index - axis) for axis in range(6))], "<>"[index // 2]) for index in range(4)),
        b"damaged",
    ]
    stamps, rows = np.zeros(5), np.zeros((5, 6))
    end = module.wrenches(b"".join(payloads), _spans(payloads), 0, True, True, stamps, rows)
    yield from (end, *stamps[:end], *_numbers(rows[:end]))


def _mcap_messages(module: Any) -> Iterable[float]:
    body = [struct.pack("<HIQQ", channel, 0, 1000 + channel, 0) + bytes(channel) for channel in (2, 3, 7, 2)]
    records = [struct.pack("<BQ", 5, len(each)) + each for each in body] + [struct.pack("<BQ", 3, 40) + bytes(40)]
    spans, end = module.mcap_messages(b"xx" + b"".join(records), 2, CHANNELS)
    yield from (end, *np.frombuffer(spans, dtype=np.int64))


def _ros1_messages(module: Any) -> Iterable[float]:
    def record(operation: int, connection: int) -> bytes:
        fields = (
            *(b"op=" + bytes([operation]), b"conn=" + struct.pack("<I", connection)),
            b"time=" + struct.pack("<II", 3, 40 + connection),
        )
        header = b"".join(struct.pack("<I", len(field)) + field for field in fields)
        return struct.pack("<I", len(header)) + header + struct.pack("<I", connection) + bytes(connection)

    records = b"".join(record(2, connection) for connection in (2, 3, 7, 2)) + record(7, 2)
    spans, end = module.ros1_messages(b"x" + records, 1, CHANNELS)
    yield from (end, *np.frombuffer(spans, dtype=np.int64))


CASES: Cases = {
    run.__name__[1:]: run for run in (_parse_rows, _joint_states, _wrenches, _mcap_messages, _ros1_messages)
}
"""Per entry point of the part a function of it."""
LAYOUT: Layout = {"Status": Status.__members__}
