"""Bags: names, time, pieces, files of a directory, and refusals that say why."""

from __future__ import annotations

import bz2
import gc
import importlib
import shutil
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

from counterpoise.errors import DataFileError, InputError, MissingExtraError
from counterpoise.recording.bags import records as decompress
from counterpoise.recording.bags import sqlite
from counterpoise.recording.bags.source import open_bag
from library.bag_writers import JOINT_STATE, KINDS, START, Sent, arm_messages, joint_state, write_bag


def sent(index: int, names: list[str], position: list[float], **options) -> Sent:
    stamp = options.pop("stamp", START + index * 10**6)
    return Sent(
        "/joint_states", JOINT_STATE, START + index * 10**6, joint_state(names, position, stamp=stamp, **options)
    )


def test_joints_are_taken_by_name(tmp_path: Path) -> None:
    """The order of names in a message does not matter."""
    path = write_bag(tmp_path / "bag", "db3", [sent(0, ["a", "b"], [1, 2]), sent(1, ["b", "a"], [20, 10])])
    (source,) = open_bag(path)
    assert source.column_names[:2] == ("position.a", "position.b")
    (table,) = source.tables()
    np.testing.assert_array_equal(table.columns[:, :2], [[1, 2], [10, 20]])
    assert np.isnan(table.columns[:, 2:]).all()


def test_every_message_in_another_order(tmp_path: Path) -> None:
    """More orders than the batch decoder remembers are still read by name."""
    rng = np.random.default_rng(0)
    names = [f"joint_{index}" for index in range(6)]
    messages = []
    for index in range(400):
        order = rng.permutation(6)
        messages.append(sent(index, [names[i] for i in order], [float(i) for i in order]))
    (source,) = open_bag(write_bag(tmp_path / "bag", "mcap-none", messages))
    (table,) = source.tables()
    positions = {name: table.columns[:, column] for column, name in enumerate(source.column_names)}
    for index, name in enumerate(names):
        assert (positions[f"position.{name}"] == index).all()


def test_two_publishers_on_one_topic_give_two_tables(tmp_path: Path) -> None:
    """Lists of names that share no joint are tables of their own; their rows are not mixed."""
    messages = [
        message
        for index in range(10)
        for message in (
            sent(2 * index, ["arm_1", "arm_2"], [index, -index]),
            sent(2 * index + 1, ["finger"], [100 + index]),
        )
    ]
    arm, finger = open_bag(write_bag(tmp_path / "bag", "ros1-none", [*map(as_ros1, messages)]))
    assert (arm.name, finger.name) == ("/joint_states", "/joint_states")
    assert finger.column_names == ("position.finger", "velocity.finger", "effort.finger")
    (arm_table,), (finger_table,) = arm.tables(), finger.tables()
    np.testing.assert_array_equal(arm_table.columns[:, 0], np.arange(10))
    np.testing.assert_array_equal(finger_table.columns[:, 0], 100 + np.arange(10))


def as_ros1(message: Sent) -> Sent:
    old = message.message
    new = joint_state(old.name, old.position, old.velocity, old.effort, stamp=message.received, ros1=True)
    return Sent(message.topic, message.type, message.received, new)


def test_a_joint_that_comes_later_is_nan_before(tmp_path: Path) -> None:
    """Lists that share a joint are one table, with NaN where a joint is absent; empty messages are left out."""
    messages = [sent(0, ["a"], [1]), sent(1, [], []), *(sent(i, ["a", "late"], [i, 5]) for i in range(2, 6))]
    (source,) = open_bag(write_bag(tmp_path / "bag", "mcap-zstd", messages))
    assert source.column_names[:2] == ("position.a", "position.late")
    (table,) = source.tables()
    np.testing.assert_array_equal(table.columns[:, 0], [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(table.columns[:, 1], [np.nan, 5, 5, 5, 5])


def test_a_name_twice_is_refused_with_the_list(tmp_path: Path) -> None:
    """Which of two numbers would be the joint's is unknown; recovery leaves such messages out."""
    path = write_bag(tmp_path / "bag", "db3", [sent(0, ["a", "b"], [1, 2]), sent(1, ["a", "a"], [3, 4])])
    with pytest.raises(
        DataFileError, match=r"/joint_states: joint names appear twice: \[a\] in \[a, a\].*recover=True"
    ):
        open_bag(path)
    (source,) = open_bag(path, recover=True)
    (table,) = source.tables()
    assert len(table.time) == 1
    assert source.recovery is not None
    assert source.recovery.rows == 1
    assert "appear twice" in source.recovery.reason


def test_numbers_without_names_are_refused(tmp_path: Path) -> None:
    """Three numbers for two names cannot be distinguished."""
    path = write_bag(tmp_path / "bag", "db3", [sent(0, ["a", "b"], [1, 2, 3])])
    with pytest.raises(DataFileError, match="2 joint names but 3 numbers of position"):
        open_bag(path)


def test_messages_without_stamp_give_the_time_of_receipt(tmp_path: Path) -> None:
    """A driver that leaves the stamp at zero is not given time zero."""
    path = write_bag(tmp_path / "bag", "db3", [sent(index, ["a"], [0], stamp=0) for index in range(3)])
    (source,) = open_bag(path)
    assert source.time_from == "received"
    (table,) = source.tables()
    np.testing.assert_allclose(np.diff(table.time), 1e-3, atol=3e-7)


def test_pieces_and_repetition(tmp_path: Path) -> None:
    """Pieces have the asked length, and a source can be read again, from the start, while another is read."""
    (source,) = open_bag(write_bag(tmp_path / "bag", "mcap-lz4", arm_messages(100, "mcap-lz4")))
    first = list(source.tables(30))
    assert [len(table.time) for table in first] == [30, 30, 30, 10]
    running = source.tables(1)
    next(running)
    assert 0 <= source.progress < 1
    (whole,) = source.tables()
    np.testing.assert_array_equal(np.concatenate([table.columns for table in first]), whole.columns)
    assert len(list(running)) == 99


def test_split_bag_with_and_without_metadata(tmp_path: Path) -> None:
    """Files of a directory are read in the order of the list, or without it of their numbers."""
    bag = tmp_path / "bag"
    bag.mkdir()
    for index in range(11):
        path = write_bag(tmp_path / f"part{index}", "mcap-zstd", [sent(index, ["a"], [index])])
        shutil.move(path, bag / f"bag_{index}.mcap")
    (source,) = open_bag(bag)
    np.testing.assert_array_equal(next(source.tables()).columns[:, 0], range(11))
    listed = (
        "rosbag2_bagfile_information:\n  relative_file_paths:\n    - 'old/bag_3.mcap'\n    - bag_1.mcap\n  version: 5\n"
    )
    (bag / "metadata.yaml").write_text(listed)
    (source,) = open_bag(bag)
    np.testing.assert_array_equal(next(source.tables()).columns[:, 0], [3, 1])
    (bag / "metadata.yaml").write_text("  relative_file_paths: [bag_0.mcap, missing.mcap]\n")
    with pytest.raises(DataFileError, match=r"missing\.mcap: cannot be read"):
        open_bag(bag)
    (source,) = open_bag(bag, recover=True)
    assert source.recovery is not None
    assert "missing.mcap" in source.recovery.reason


def test_the_ending_does_not_matter(tmp_path: Path) -> None:
    """A bag is known by its contents."""
    for kind in KINDS:
        path = write_bag(tmp_path / kind, kind, arm_messages(5, kind))
        file = next(file for file in path.iterdir() if file.suffix != ".yaml") if path.is_dir() else path
        renamed = tmp_path / f"{kind}.dat"
        shutil.copy(file, renamed)
        (source,) = open_bag(renamed)
        assert len(next(source.tables()).time) == 5


def test_refusals_say_what_was_found(tmp_path: Path) -> None:
    """No bag, no such topics, packed as a whole, an old format, and a database of something else."""
    file = tmp_path / "file"
    cases = [
        (b"time,q1\n0,1\n", "is no bag: it starts with 74 69"),
        (b"", "starts with nothing"),
        (b"\x28\xb5\x2f\xfd rest", "zstd -d"),
        (b"#ROSBAG V1.2\n", "rosbag fix"),
    ]
    for data, words in cases:
        file.write_bytes(data)
        with pytest.raises(DataFileError, match=words):
            open_bag(file)
    with pytest.raises(DataFileError, match="no such file"):
        open_bag(tmp_path / "absent.bag")
    with pytest.raises(DataFileError, match=r"without \.db3 or \.mcap"):
        open_bag(tmp_path)
    database = sqlite3.connect(tmp_path / "other.db3")
    database.execute("CREATE TABLE messages (id)")
    database.close()
    with pytest.raises(DataFileError, match="without the tables of a ROS 2 bag"):
        open_bag(tmp_path / "other.db3")
    with pytest.raises(InputError, match="time is 'clock'; expected"):
        open_bag(file, time="clock")  # type: ignore[arg-type]


def test_a_bag_of_other_topics_lists_them(tmp_path: Path) -> None:
    """What the bag has instead is said."""
    from library.bag_writers import ROS2

    text = ROS2.types["std_msgs/msg/String"]("hello")
    path = write_bag(tmp_path / "bag", "mcap-none", [Sent("/chatter", "std_msgs/msg/String", START, text)])
    with pytest.raises(DataFileError, match=r"its topics: /chatter \(std_msgs/String, cdr\)"):
        open_bag(path)


def test_foreign_chunks_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks without a wanted message are skipped by the index, those with are read."""
    from library.bag_writers import ROS2

    text = ROS2.types["std_msgs/msg/String"]("x" * 5000)
    foreign = [Sent("/camera", "std_msgs/msg/String", START + index, text) for index in range(50)]
    path = write_bag(tmp_path / "bag", "mcap-zstd", [*arm_messages(3), *foreign, *arm_messages(3)])
    unpacked = []
    original = decompress.unpack
    mcap = importlib.import_module("counterpoise.recording.bags.mcap")
    monkeypatch.setattr(mcap, "unpack", lambda *args, **named: unpacked.append(1) or original(*args, **named))
    (source,) = open_bag(path)
    assert len(next(source.tables()).time) == 6
    assert len(unpacked) <= 6  # two or three chunks, twice


@pytest.mark.parametrize(
    ("kind", "module"), [("mcap-lz4", "lz4.frame"), ("mcap-zstd", "backports.zstd"), ("ros1-lz4", "lz4.frame")]
)
def test_a_missing_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, module: str
) -> None:
    """Without the library of a compression the message says what to install."""
    path = write_bag(tmp_path / "bag", kind, arm_messages(5, kind))

    def import_module(name: str):
        if name in (module, "compression.zstd"):
            raise ImportError(name)
        return importlib.import_module(name)

    monkeypatch.setattr(decompress, "import_module", import_module)
    with pytest.raises(MissingExtraError, match=r"pip install 'counterpoise\[ros\]'"):
        open_bag(path)


def test_encrypted_bags_are_refused(tmp_path: Path) -> None:
    """An encryptor in the header is named."""
    fields = b"".join(
        struct.pack("<I", len(field)) + field for field in (b"op=\x03", b"index_pos=" + bytes(8), b"encryptor=aes")
    )
    path = tmp_path / "bag.bag"
    path.write_bytes(b"#ROSBAG V2.0\n" + struct.pack("<I", len(fields)) + fields + struct.pack("<I", 0))
    with pytest.raises(DataFileError, match="encrypted by aes"):
        open_bag(path)


def test_unpacking_is_bounded() -> None:
    """A chunk that holds more than it claims, or claims too much, is refused without being unpacked."""
    bomb = bz2.compress(bytes(50_000_000))
    with pytest.raises(decompress.DamagedError, match="more than the 1000 bytes"):
        decompress.unpack("bz2", bomb, 1000)
    with pytest.raises(decompress.DamagedError, match="more than the 2000 bytes"):
        decompress.unpack("bz2", bomb, None, limit=2000)
    with pytest.raises(decompress.DamagedError, match="at most 256 MiB"):
        decompress.check_sizes(10, 2**32)
    with pytest.raises(decompress.DamagedError, match="instead of 11"):
        decompress.unpack("none", bytes(10), 11)
    with pytest.raises(decompress.DamagedError, match="'snappy'"):
        decompress.unpack("snappy", b"", 0)


def test_small_databases_are_read_once_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept between the look and the tables is bounded over all open bags, and given back."""
    path = write_bag(tmp_path / "bag", "db3", arm_messages(20))
    kept = sqlite._remembered
    before = kept.total
    (source,) = open_bag(path)
    one = kept.total - before
    assert one > 20 * 100
    monkeypatch.setattr(sqlite, "REMEMBERED_BYTES", before + one + one // 2)
    (second,) = open_bag(path)
    assert kept.total == before + one  # no room for the second: it is read again
    (table,), (again,) = source.tables(), second.tables()
    np.testing.assert_array_equal(table.columns, again.columns)
    del source, second
    gc.collect()
    assert kept.total == before
