"""Any bytes give tables or one of our errors, in bounded memory: mutated bags of every kind, bombs and false claims."""

from __future__ import annotations

import itertools
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoise.errors import CounterpoiseError, DataFileError
from counterpoise.recording.bags import batch
from counterpoise.recording.bags.source import open_bag
from library.bag_writers import KINDS, arm_messages, write_bag

zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
ONE_FILE_KINDS = tuple(kind for kind in KINDS if kind not in ("mcap-rosbags", "db3-message-zstd"))
MCAP_MAGIC = b"\x89MCAP0\r\n"
TELLING = [0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 127, 128, 254, 255]


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of one small file of each kind, and a file to write on."""
    folder = tmp_path_factory.mktemp("bags")
    found = {}
    for kind in ONE_FILE_KINDS:
        path = write_bag(folder / kind, kind, arm_messages(12, kind), chunk_bytes=512)
        found[kind] = (next(path.glob("*.db3")) if path.is_dir() else path).read_bytes()
    return found


def read_all(path: Path, recover: bool) -> int | None:
    """Return the number of rows, or None where the file was refused by one of our errors."""
    try:
        return sum(len(table.time) for source in open_bag(path, recover=recover) for table in source.tables(5))
    except CounterpoiseError as error:
        assert str(path) in str(error)
        return None


@pytest.mark.parametrize("kind", ONE_FILE_KINDS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_bytes(bags: dict[str, bytes], tmp_path: Path, kind: str, data: st.DataObject) -> None:
    """Changed, removed, repeated and cut bytes, with and without recovery."""
    changed = bytearray(bags[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        length = data.draw(st.sampled_from([1, 1, 1, 4, 8, 64, 512]))
        match data.draw(st.sampled_from(["change", "change", "number", "remove", "repeat", "cut"])):
            case "change":
                changed[at] = data.draw(st.one_of(st.sampled_from(TELLING), st.integers(0, 255)))
            case "number":
                changed[at : at + 8] = struct.pack(
                    "<Q", data.draw(st.sampled_from([0, 2**16, 2**31, 2**32 - 1, 2**40, 2**64 - 1]))
                )
            case "remove":
                del changed[at : at + length]
            case "repeat":
                changed[at:at] = changed[at : at + length]
            case "cut":
                del changed[max(at, 20) :]
        if not changed:
            return
    path = tmp_path / "bag"
    path.write_bytes(changed)
    strict, recovered = read_all(path, False), read_all(path, True)
    assert strict is None or recovered is not None  # recovery never refuses what is read without it


@pytest.mark.parametrize("kind", ONE_FILE_KINDS)
def test_every_length_of_a_file(bags: dict[str, bytes], tmp_path: Path, kind: str) -> None:
    """A file cut at many places, among them the first and last hundred bytes, never fails in another way."""
    path = tmp_path / "bag"
    whole = bags[kind]
    for cut in itertools.chain(
        range(0, 100, 7), range(100, len(whole), max(1, len(whole) // 60)), range(len(whole) - 40, len(whole))
    ):
        path.write_bytes(whole[:cut])
        assert read_all(path, False) is None
        read_all(path, True)


def record(opcode: int, body: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(body)) + body


def text(value: bytes) -> bytes:
    return struct.pack("<I", len(value)) + value


def mcap(*records: bytes) -> bytes:
    schema = record(3, struct.pack("<H", 1) + text(b"sensor_msgs/msg/JointState") + text(b"ros2msg") + text(b""))
    channel = record(4, struct.pack("<HH", 1, 1) + text(b"/j") + text(b"cdr") + text(b""))
    footer = record(2, struct.pack("<QQI", 0, 0, 0))
    return MCAP_MAGIC + schema + channel + b"".join(records) + record(15, bytes(4)) + footer + MCAP_MAGIC


def chunk(size: int, compression: bytes, packed: bytes, checksum: int = 0) -> bytes:
    return record(
        6, struct.pack("<QQQI", 0, 0, size, checksum) + text(compression) + struct.pack("<Q", len(packed)) + packed
    )


def message(payload: bytes) -> bytes:
    return record(5, struct.pack("<HIQQ", 1, 0, 0, 0) + payload)


def claims() -> dict[str, bytes]:
    """Small files that claim much."""
    many_names = b"\0\1\0\0" + struct.pack("<iII", 0, 0, 0) + struct.pack("<I", 2**32 - 1) + bytes(50)
    long_text = b"\0\1\0\0" + struct.pack("<iII", 0, 0, 2**32 - 1) + bytes(50)
    channel = record(4, struct.pack("<HH", 1, 1) + text(b"/j") + text(b"cdr") + text(b""))
    return {
        "chunk of 1 TB": mcap(chunk(2**40, b"zstd", zstd.compress(bytes(100)))),
        "chunk larger than claimed": mcap(chunk(1000, b"zstd", zstd.compress(bytes(100_000_000)))),
        "chunk of half a gigabyte": mcap(chunk(2**29, b"zstd", zstd.compress(bytes(2**20)))),
        "many names": mcap(message(many_names)),
        "long text": mcap(message(long_text)),
        "record of 2^63": mcap(struct.pack("<BQ", 5, 2**63) + bytes(30)),
        "definitions without end": mcap(chunk(len(channel) * 2000, b"zstd", zstd.compress(channel * 2000))),
        "nested": mcap(chunk(len(chunk(0, b"", b"")), b"", chunk(0, b"", b""))),
    }


@pytest.mark.parametrize("name", claims())
def test_false_claims_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What a file claims is checked before memory is taken for it."""
    monkeypatch.setattr("counterpoise.recording.bags.records.MAX_DEFINITIONS", 1000)
    path = tmp_path / "bag.mcap"
    path.write_bytes(claims()[name])
    tracemalloc.start()
    with pytest.raises(DataFileError):
        open_bag(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6


def test_ever_new_joints_are_refused(tmp_path: Path) -> None:
    """A topic that names new joints in every message does not grow without bound."""

    def state(names: list[str]) -> bytes:
        body = struct.pack("<iI", 1, 0) + struct.pack("<IB3x", 1, 0) + struct.pack("<I", len(names))
        for name in names:
            body += struct.pack("<I", len(name) + 1) + name.encode() + b"\0" + bytes(-(len(name) + 1) % 4)
        return message(b"\0\1\0\0" + body + struct.pack("<III", 0, 0, 0))

    path = tmp_path / "bag.mcap"
    path.write_bytes(mcap(*(state([f"joint_{index:04d}_{part:03d}" for part in range(2)]) for index in range(300))))
    with pytest.raises(
        DataFileError, match=r"more than 1024 joints or 64 publishers; \[joint_0064_000.*came to \[joint_0000_000"
    ):
        open_bag(path)
    path.write_bytes(
        mcap(*(state(["common", *(f"joint_{index:04d}_{part:03d}" for part in range(20))]) for index in range(60)))
    )
    with pytest.raises(DataFileError, match="more than 1024 joints"):
        open_bag(path)
    path.write_bytes(mcap(state([f"joint_{index}" for index in range(1100)])))
    with pytest.raises(DataFileError, match="more than 1024 joints"):
        open_bag(path)


def test_wide_tables_come_in_small_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are bounded in bytes, not only in rows."""
    monkeypatch.setattr("counterpoise.recording.table.MAX_PIECE_BYTES", 9 * 8 * 10)
    (source,) = open_bag(write_bag(tmp_path / "bag", "mcap-none", arm_messages(25)))
    assert [len(table.time) for table in source.tables()] == [10, 10, 5]


def test_a_wrong_checksum_is_damage(tmp_path: Path) -> None:
    """A chunk without compression is protected by its checksum alone."""
    body = message(bytes(8))
    for checksum in (0, zlib.crc32(body), 77):
        path = tmp_path / "bag.mcap"
        path.write_bytes(mcap(chunk(len(body), b"", body, checksum)))
        words = "checksum" if checksum == 77 else "message ends|text"
        with pytest.raises(DataFileError, match=words):
            open_bag(path)


def test_ledger_counts_places_once() -> None:
    """The same damage met twice is one."""
    ledger = batch.Ledger(recover=True)
    assert ledger.reason is None
    for position in (5, 5, 9):
        ledger.damaged(Path("x.bag"), position, "broken")
    assert ledger.reason == "x.bag, byte 5: broken; 1 more places"
    assert np.array_equal(batch.no_spans().shape, (0, 4))
