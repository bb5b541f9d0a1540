"""Small files that make a naive reader pay: gigabytes of memory, minutes of time. Each is written in seconds."""

from __future__ import annotations

import io
import itertools
import sqlite3
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np

MAGIC = b"\x89MCAP0\r\n"
NAMES = ("q", "dq", "tau", "more", "most")
JOINT_STATE = b"sensor_msgs/msg/JointState"


def zstd_packed(data: bytes) -> bytes:
    """Return data packed by zstd."""
    module = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    packed: bytes = module.compress(data)
    return packed


def record(opcode: int, body: bytes) -> bytes:
    """Return a record of an MCAP file."""
    return struct.pack("<BQ", opcode, len(body)) + body


def text(value: bytes) -> bytes:
    """Return a text as MCAP writes it."""
    return struct.pack("<I", len(value)) + value


def channel(number: int, topic: bytes, schema: int = 1) -> bytes:
    """Return the record of a channel."""
    return record(4, struct.pack("<HH", number, schema) + text(topic) + text(b"cdr") + text(b""))


def message(payload: bytes, number: int = 1, time: int = 0) -> bytes:
    """Return the record of a message."""
    return record(5, struct.pack("<HIQQ", number, 0, time, time) + payload)


def chunk(contents: bytes, compression: bytes = b"zstd", packed: bytes | None = None) -> bytes:
    """Return the record of a chunk."""
    data = zstd_packed(contents) if packed is None else packed
    head = struct.pack("<QQQI", 0, 0, len(contents), 0) + text(compression) + struct.pack("<Q", len(data))
    return record(6, head + data)


def mcap(records: Iterable[bytes]) -> bytes:
    """Return an MCAP file without an index."""
    schemas = b"".join(
        record(3, struct.pack("<H", number) + text(name) + text(b"ros2msg") + text(b""))
        for number, name in ((1, JOINT_STATE), (2, b"std_msgs/msg/String"))
    )
    footer = record(2, struct.pack("<QQI", 0, 0, 0))
    return MAGIC + schemas + b"".join(records) + record(15, bytes(4)) + footer + MAGIC


def joint_state(names: Iterable[bytes], seconds: int = 1, values: int = 1, frame: int = 0) -> bytes:
    """Return a JointState in CDR: position, and velocity and effort where ``values`` is 3, all 0."""
    listed = list(names)
    body = bytearray(struct.pack("<iII", seconds, 0, frame + 1) + bytes(frame + 1))
    body += bytes(-len(body) % 4) + struct.pack("<I", len(listed))
    for name in listed:
        body += struct.pack("<I", len(name) + 1) + name + b"\0"
        body += bytes(-len(body) % 4)
    for kind in range(3):
        body += struct.pack("<I", len(listed) if kind < values else 0)
        if kind < values:
            body += bytes(-len(body) % 8) + bytes(8 * len(listed))
    return b"\0\1\0\0" + bytes(body)


def _database(path: Path, statements: Iterable[str]) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.execute("VACUUM")


_MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"
_COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT INTO "
_TOPIC = "id INTEGER PRIMARY KEY, type TEXT, serialization_format TEXT"


def generated_columns(path: Path) -> None:
    """Topics whose names are made when they are read: 250 kB for each row of four bytes."""
    _database(
        path,
        [
            f"CREATE TABLE topics({_TOPIC}, name TEXT GENERATED ALWAYS AS (hex(zeroblob(125000))) VIRTUAL)",
            _MESSAGES,
            _COUNT.format(36_000) + "topics(id) SELECT i FROM n",
        ],
    )


def default_values(path: Path) -> None:
    """Topics of a column that was added later: every row before has its default of 200 kB."""
    _database(
        path,
        [
            f"CREATE TABLE topics({_TOPIC})",
            _MESSAGES,
            _COUNT.format(60_000) + "topics(id) SELECT i FROM n",
            f"ALTER TABLE topics ADD COLUMN name TEXT DEFAULT '{'x' * 200_000}'",
        ],
    )


def generated_messages(path: Path) -> None:
    """Messages whose payloads take time to make when they are read."""
    _database(
        path,
        [
            f"CREATE TABLE topics({_TOPIC}, name TEXT)",
            "INSERT INTO topics VALUES (1, 'sensor_msgs/msg/JointState', 'cdr', '/joint_states')",
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, "
            "data BLOB AS (zeroblob(length(hex(zeroblob(120000))))) VIRTUAL)",
            _COUNT.format(40_000) + "messages(topic_id, timestamp) SELECT 1, i FROM n",
        ],
    )


def transposed_arrays(path: Path, arrays: int = 5, rows: int = 1 << 24) -> None:
    """Arrays of zeros with a column per sample, 1 GB each, which can only be read whole."""
    block = bytes(1 << 24)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # may be repeated: it refers to nothing before
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (8, rows)})
    times = 64 * rows >> 24
    checksum = zlib.crc32(head.getvalue())
    for _ in range(times):
        checksum = zlib.crc32(block, checksum)
    begin = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = begin.compress(head.getvalue()) + begin.flush(zlib.Z_FULL_FLUSH) + packed * times + packer.flush()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in NAMES[:arrays]:
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type, entry.CRC = zipfile.ZIP_DEFLATED, checksum
            entry.file_size, entry.compress_size = len(head.getvalue()) + len(block) * times, len(data)
            entry.header_offset = archive.fp.tell()  # type: ignore[union-attr]
            archive.fp.write(entry.FileHeader() + data)  # type: ignore[union-attr]
            archive.filelist.append(entry)
            archive.start_dir = archive.fp.tell()  # type: ignore[union-attr, attr-defined]
        archive._didModify = True  # type: ignore[attr-defined]


def chunks_of_zeros(path: Path, count: int = 300) -> None:
    """Packed chunks that hold one long message of a topic nobody reads, and no index that says so."""
    contents = message(bytes(255 << 20), 2)
    packed = zstd_packed(contents)
    one = chunk(contents, packed=packed)
    records = [channel(1, b"/joint_states"), channel(2, b"/noise", 2), message(joint_state([b"a"]))]
    path.write_bytes(mcap([*records, *itertools.repeat(one, count)]))


def many_topics(path: Path, count: int = 60_000) -> None:
    """A topic for each joint, messages in turn."""
    channels = [channel(number, b"/j%d" % number) for number in range(count)]
    messages = [message(joint_state([b"a%d" % number], 1), number) for number in range(count)]
    path.write_bytes(mcap([chunk(b"".join(channels + messages))]))


def ever_new_order(path: Path, count: int = 60_000, joints: int = 9) -> None:
    """The same joints in another order in every message."""
    names = [b"joint_%d" % number for number in range(joints)]
    orders = itertools.islice(itertools.permutations(names), count)
    states = [message(joint_state(order, index)) for index, order in enumerate(orders)]
    path.write_bytes(mcap([channel(1, b"/joint_states"), chunk(b"".join(states))]))


def sparse_joints(path: Path, count: int = 60_000) -> None:
    """One table of a thousand joints, of which each message has one: a row of 24 kB for a message of 60 bytes."""
    names = [b"joint_%d" % number for number in range(1000)]
    states = [message(joint_state([names[0], names[index % 999 + 1]], index)) for index in range(count)]
    path.write_bytes(mcap([channel(1, b"/joint_states"), chunk(b"".join(states))]))


def packed_messages(path: Path, count: int = 20_000) -> None:
    """A database of messages that are packed one by one, each of 250 kB of zeros."""
    payload = zstd_packed(joint_state([b"a"], frame=250_000))
    _database(
        path,
        [
            f"CREATE TABLE topics({_TOPIC}, name TEXT)",
            "INSERT INTO topics VALUES (1, 'sensor_msgs/msg/JointState', 'cdr', '/joint_states')",
            _MESSAGES,
            _COUNT.format(count) + f"messages(topic_id, timestamp, data) SELECT 1, i, x'{payload.hex()}' FROM n",
        ],
    )


def long_parquet(path: Path, rows: int = 100_000_000) -> None:
    """A hundred million equal rows, which Parquet writes as one number and how often it comes."""
    pyarrow = import_module("pyarrow")
    parquet = import_module("pyarrow.parquet")
    piece = 1_000_000
    column = pyarrow.array(np.zeros(piece, dtype=np.float32))
    table = pyarrow.Table.from_arrays([column], names=["q_1"])
    with parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(rows // piece):
            writer.write_table(table, row_group_size=piece)


def deflated_rows(path: Path, rows: int = 400_000_000) -> None:
    """Rows of zeros, one byte each, packed a thousand to one, read piece by piece."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "|u1", "fortran_order": False, "shape": (rows, 1)})
        with archive.open("q.npy", "w") as stream:
            stream.write(head.getvalue())
            for _ in range(100):
                stream.write(bytes(rows // 100))


FILES: dict[str, Callable[[Path], None]] = {
    "generated_columns.db3": generated_columns,
    "default_values.db3": default_values,
    "generated_messages.db3": generated_messages,
    "packed_messages.db3": packed_messages,
    "transposed_arrays.npz": transposed_arrays,
    "deflated_rows.npz": deflated_rows,
    "chunks_of_zeros.mcap": chunks_of_zeros,
    "many_topics.mcap": many_topics,
    "ever_new_order.mcap": ever_new_order,
    "sparse_joints.mcap": sparse_joints,
    "long_parquet.parquet": long_parquet,
}
