"""Bags that were cut off or damaged: refused with the way out, or read as far as they are intact."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader

from counterpoise.errors import DataFileError
from counterpoise.recording.bags.source import BagSource, open_bag
from library.bag_writers import KINDS, START, arm_messages, write_bag

COUNT = 400
ONE_FILE_KINDS = tuple(kind for kind in KINDS if kind not in ("mcap-rosbags", "db3-message-zstd"))


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One file of each kind, in many chunks."""
    folder = tmp_path_factory.mktemp("bags")
    found = {}
    for kind in ONE_FILE_KINDS:
        path = write_bag(folder / kind, kind, arm_messages(COUNT, kind))
        found[kind] = next(path.glob("*.db3")) if path.is_dir() else path
    return found


def columns(source: BagSource) -> np.ndarray:
    return np.concatenate([table.columns for table in source.tables()])


@pytest.mark.parametrize("share", [0.35, 0.5, 0.77, 0.95])
@pytest.mark.parametrize("kind", ONE_FILE_KINDS)
def test_a_cut_file_gives_its_first_part(bags: dict[str, Path], tmp_path: Path, kind: str, share: float) -> None:
    """A power cut: refused with a hint, and on request everything before the cut, with how much that is."""
    data = bags[kind].read_bytes()
    cut = tmp_path / bags[kind].name
    cut.write_bytes(data[: int(share * len(data))])
    with pytest.raises(DataFileError, match=r"recover=True \(--recover\)"):
        open_bag(cut)
    (whole,) = open_bag(bags[kind])
    (source,) = open_bag(cut, recover=True)
    expected, rows = columns(whole), columns(source)
    np.testing.assert_array_equal(rows, expected[: len(rows)])
    assert source.recovery is not None
    assert source.recovery.rows == len(rows)
    assert source.recovery.bytes_total == cut.stat().st_size
    assert 0 < source.recovery.bytes_read <= cut.stat().st_size
    # Of the 26 pages of the database some hold tables and an index instead of rows, and the last two are not trusted.
    lost = 125 if kind == "db3" else 40
    assert COUNT * share - lost <= len(rows) <= COUNT


@pytest.mark.parametrize("kind", ["mcap-none", "mcap-lz4", "mcap-zstd", "ros1-none"])
def test_the_chunk_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path, kind: str) -> None:
    """Even a single chunk that was cut gives its first messages; bz2 and short lz4 blocks may not."""
    path = write_bag(tmp_path / "bag", kind, arm_messages(3000, kind), chunk_bytes=2**22)
    data = path.read_bytes()
    path.write_bytes(data[: int(0.9 * len(data))])
    (source,) = open_bag(path, recover=True)
    assert columns(source).shape[0] > 1000


def test_an_unclosed_ros1_bag(bags: dict[str, Path], tmp_path: Path) -> None:
    """A bag whose recorder died has no index: index_pos is 0."""
    data = bytearray(bags["ros1-lz4"].read_bytes())
    at = data.index(b"index_pos=") + len(b"index_pos=")
    (index,) = struct.unpack_from("<Q", data, at)
    data[at : at + 8] = bytes(8)
    path = tmp_path / "bag.bag.active"
    path.write_bytes(data[:index])
    with pytest.raises(DataFileError, match=r"no index: the recording was not closed.*recover=True"):
        open_bag(path)
    (source,) = open_bag(path, recover=True)
    assert len(columns(source)) == COUNT


def middle_of_a_chunk(path: Path) -> int:
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    chunk = summary.chunk_indexes[len(summary.chunk_indexes) // 2]
    return chunk.chunk_start_offset + chunk.chunk_length // 2


@pytest.mark.parametrize("kind", ["mcap-zstd", "mcap-none", "ros1-bz2"])
def test_a_damaged_chunk_is_left_out(bags: dict[str, Path], tmp_path: Path, kind: str) -> None:
    """Damage in the middle costs one chunk; what follows it is read."""
    data = bytearray(bags[kind].read_bytes())
    middle = data.index(b"BZh", len(data) // 2) + 100 if kind == "ros1-bz2" else middle_of_a_chunk(bags[kind])
    for at in range(middle, middle + 16):
        data[at] ^= 0xA5
    path = tmp_path / "bag"
    path.write_bytes(data)
    with pytest.raises(DataFileError, match=r"checksum|unpacked"):
        open_bag(path)
    (whole,) = open_bag(bags[kind])
    (source,) = open_bag(path, recover=True)
    rows, expected = columns(source), columns(whole)
    assert COUNT / 2 < len(rows) < COUNT
    np.testing.assert_array_equal(rows[-1], expected[-1])
    assert source.recovery is not None


def test_rows_of_a_cut_page_are_not_zeros(bags: dict[str, Path], tmp_path: Path) -> None:
    """SQLite reads the missing part of its last page as zeros; no such row is given, wherever the cut is."""
    data = bags["db3"].read_bytes()
    (whole,) = open_bag(bags["db3"])
    expected = columns(whole)
    path = tmp_path / "bag.db3"
    for cut in range(len(data) - 3 * 4096, len(data) - 1, 331):
        path.write_bytes(data[:cut])
        (source,) = open_bag(path, recover=True)
        rows = columns(source)
        np.testing.assert_array_equal(rows, expected[: len(rows)])


def test_damage_inside_a_database(bags: dict[str, Path], tmp_path: Path) -> None:
    """A page of zeros in the middle is left out, and rows behind it are read."""
    data = bytearray(bags["db3"].read_bytes())
    page = len(data) // 4096 // 2
    data[page * 4096 : (page + 1) * 4096] = bytes(4096)
    path = tmp_path / "bag.db3"
    path.write_bytes(data)
    with pytest.raises(DataFileError, match="recover=True"):
        open_bag(path)
    (source,) = open_bag(path, recover=True)
    assert COUNT * 0.8 < len(columns(source)) < COUNT


def test_an_unclosed_database(bags: dict[str, Path], tmp_path: Path) -> None:
    """A write-ahead log beside the database holds what is not in it yet."""
    path = tmp_path / "bag.db3"
    shutil.copy(bags["db3"], path)
    beside = tmp_path / "bag.db3-wal"
    beside.write_bytes(b"something")
    with pytest.raises(DataFileError, match=r"not closed: what is in bag\.db3-wal is not read"):
        open_bag(path)
    (source,) = open_bag(path, recover=True)
    assert len(columns(source)) == COUNT
    beside.write_bytes(b"")
    assert open_bag(path)[0].recovery is None


def test_nothing_to_recover_is_said(bags: dict[str, Path], tmp_path: Path) -> None:
    """A file of only a few bytes is refused even with recovery."""
    path = tmp_path / "bag"
    for kind, words in (
        ("mcap-none", "has no messages.*no footer"),
        ("ros1-none", "has no messages"),
        ("db3", "without the tables.*ends early"),
    ):
        path.write_bytes(bags[kind].read_bytes()[:150])
        with pytest.raises(DataFileError, match=words):
            open_bag(path, recover=True)


def test_recovery_is_not_claimed_for_a_whole_bag(bags: dict[str, Path]) -> None:
    """With recovery asked for and nothing wrong, nothing is said."""
    for path in bags.values():
        (source,) = open_bag(path, recover=True)
        assert source.recovery is None
        assert next(source.tables(1)).time[0] == START / 1e9
