"""Every number of a bag equals what the rosbags library's own object decode gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from counterpoise.recording.bags.source import BagSource, open_bag
from library.bag_writers import (
    JOINT_STATE,
    KINDS,
    ROS1,
    ROS2,
    START,
    WRENCH,
    WRENCH_STAMPED,
    Sent,
    joint_state,
    wrench,
    write_bag,
)


def recording(kind: str) -> list[Sent]:
    """Two arms and two plates, interleaved: empty parts, changing order, NaN, a missing joint, both byte orders."""
    ros1 = "ros1" in kind
    rng = np.random.default_rng(3)
    messages = []
    for index in range(150):
        time = START + index * 3_000_001
        names = ["left", "middle", "right_joint"] if index % 7 else ["right_joint", "left", "middle"]
        if index % 50 == 0:
            names.remove("middle")
        n = len(names)
        position, velocity, effort = rng.normal(size=(3, n))
        if index % 11 == 0:
            position[1] = np.nan
        parts = (position, () if index % 3 == 0 else velocity, () if index % 2 == 0 else effort)
        little = index % 5 != 0 or ros1
        messages += [
            Sent("/arm", JOINT_STATE, time, joint_state(names, *parts, stamp=time - 77, ros1=ros1), little),
            Sent("/plate", WRENCH_STAMPED, time + 1, wrench(rng.normal(size=6), stamp=time - 5, ros1=ros1), little),
        ]
        if index % 4 == 0:
            message = joint_state(["only"], [index], stamp=time, frame="", ros1=ros1)
            messages.append(Sent("/other/arm", JOINT_STATE, time + 2, message, little))
            bare = wrench(rng.normal(size=6), stamp=None, ros1=ros1)
            messages.append(Sent("/bare_plate", WRENCH, time + 3, bare, little))
    return messages


def rosbags_rows(path: Path, kind: str, source: BagSource, time: str) -> tuple[np.ndarray, np.ndarray]:
    """Decode a topic to objects with rosbags and lay them out as the source's columns."""
    times: list[float] = []
    rows: list[list[float]] = []
    for received, message in decoded(path, kind, source.name):
        if time == "received" or not hasattr(message, "header"):
            times.append(received // 10**9 + received % 10**9 / 1e9)
        else:
            stamp = message.header.stamp
            times.append(stamp.sec + stamp.nanosec / 1e9)
        rows.append(_row(message, source.column_names))
    return np.array(times), np.array(rows)


def decoded(path: Path, kind: str, topic: str) -> Iterator[tuple[int, Any]]:
    """Yield time of receipt [ns] and message; rosbags refuses the container of MCAP files of ROS 1, mcap reads it."""
    if kind == "mcap-ros1":
        with path.open("rb") as stream:
            for schema, _, raw in make_reader(stream).iter_messages(topics=topic):
                yield raw.log_time, ROS1.deserialize_ros1(raw.data, schema.name.replace("/", "/msg/"))
        return
    with AnyReader([path], default_typestore=ROS1 if "ros1" in kind else ROS2) as reader:
        connections = [connection for connection in reader.connections if connection.topic == topic]
        for connection, received, data in reader.messages(connections):
            yield received, reader.deserialize(data, connection.msgtype)


def _row(message: Any, columns: tuple[str, ...]) -> list[float]:
    if not hasattr(message, "name"):
        plain = getattr(message, "wrench", message)
        return [getattr(getattr(plain, part), axis) for part, axis in (column.split(".") for column in columns)]
    row = []
    for column in columns:
        kind, _, joint = column.partition(".")
        values = getattr(message, kind)
        row.append(values[message.name.index(joint)] if joint in message.name and len(values) > 0 else np.nan)
    return row


@pytest.mark.parametrize("time", ["stamp", "received"])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_equal_object_decode(tmp_path: Path, kind: str, time: Any) -> None:
    """Time and every column are equal bit by bit, for all topics, in every kind of bag."""
    path = write_bag(tmp_path / "bag", kind, recording(kind))
    sources = open_bag(path, time=time)
    assert [source.name for source in sources] == ["/arm", "/bare_plate", "/other/arm", "/plate"]
    for source in sources:
        tables = list(source.tables(64))
        assert all(len(table.time) == 64 for table in tables[:-1])
        expected_time, expected = rosbags_rows(path, kind, source, time)
        np.testing.assert_array_equal(np.concatenate([table.time for table in tables]), expected_time)
        columns = np.concatenate([table.columns for table in tables])
        assert columns.tobytes() == expected.tobytes() or np.array_equal(columns, expected, equal_nan=True)
        assert source.recovery is None
        assert source.progress == 1.0
    assert sources[0].time_from == time
    assert sources[1].time_from == "received"  # a bare wrench has no stamp
    assert np.isnan(next(sources[0].tables()).columns).any()


@pytest.mark.parametrize("robot", ["panda", "ur10"])
def test_real_recordings(shared, robot: str) -> None:
    """The two real recordings have the expected shape, and their first number the bytes found in the file by hand."""
    path = shared(f"data/ur10_panda/{robot}_exciting_trajectory.db3")
    (source,) = open_bag(path)
    (table,) = source.tables()
    count, joints, first = {"panda": (727, 7, "1c15c1e0d50602c0"), "ur10": (3441, 6, "38c62c3739d5e33f")}[robot]
    assert table.columns.shape == (count, 3 * joints)
    assert table.columns[0, 0].tobytes() == bytes.fromhex(first)
    assert source.name == "/joint_states"
    assert source.time_from == "stamp"
    assert table.time[-1] == pytest.approx({"panda": 24.200059891, "ur10": 27.52}[robot])
