"""Bags of every kind, written by the rosbags and mcap libraries, and what rosbags itself reads in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="the rosbags package writes the bags of these tests")
pytest.importorskip("mcap", reason="the mcap package writes the bags of these tests")

from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags import rosbag1, rosbag2
from rosbags.typesys import Stores, get_typestore

ROS1 = get_typestore(Stores.ROS1_NOETIC)
ROS2 = get_typestore(Stores.ROS2_HUMBLE)
JOINT_STATE = "sensor_msgs/msg/JointState"
WRENCH = "geometry_msgs/msg/Wrench"
WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
START = 1_700_000_000 * 10**9  # [ns]

ROS1_KINDS = ("ros1-none", "ros1-lz4", "ros1-bz2")
MCAP_KINDS = ("mcap-none", "mcap-lz4", "mcap-zstd", "mcap-unchunked", "mcap-ros1", "mcap-rosbags")
SQLITE_KINDS = ("db3", "db3-message-zstd")
KINDS = (*ROS1_KINDS, *MCAP_KINDS, *SQLITE_KINDS)


@dataclass(frozen=True)
class Sent:
    """A message and how it is sent: topic, type, time of receipt [ns], contents, and byte order in CDR."""

    topic: str
    type: str
    received: int
    message: Any
    little: bool = True


def joint_state(
    names: Sequence[str],
    position: Sequence[float] = (),
    velocity: Sequence[float] = (),
    effort: Sequence[float] = (),
    *,
    stamp: int = START,
    frame: str = "base",
    ros1: bool = False,
) -> Any:
    """Return a JointState; ``stamp`` in ns."""
    store = ROS1 if ros1 else ROS2
    arrays = (np.array(values, dtype=np.float64) for values in (position, velocity, effort))
    return store.types[JOINT_STATE](_header(stamp, frame, ros1), list(names), *arrays)


def wrench(values: Sequence[float], *, stamp: int | None = START, ros1: bool = False) -> Any:
    """Return a WrenchStamped, or without stamp a Wrench."""
    types = (ROS1 if ros1 else ROS2).types
    vector = types["geometry_msgs/msg/Vector3"]
    plain = types[WRENCH](vector(*values[:3]), vector(*values[3:]))
    return plain if stamp is None else types[WRENCH_STAMPED](_header(stamp, "plate", ros1), plain)


def _header(stamp: int, frame: str, ros1: bool) -> Any:
    types = (ROS1 if ros1 else ROS2).types
    time = types["builtin_interfaces/msg/Time"](*divmod(stamp, 10**9))
    header = types["std_msgs/msg/Header"]
    return header(7, time, frame) if ros1 else header(time, frame)


def serialized(sent: Sent, ros1: bool) -> bytes:
    """Return the payload of a message."""
    if ros1:
        return bytes(ROS1.serialize_ros1(sent.message, sent.type))
    return bytes(ROS2.serialize_cdr(sent.message, sent.type, little_endian=sent.little))


def write_bag(path: Path, kind: str, messages: Sequence[Sent], *, chunk_bytes: int = 4096) -> Path:
    """Write a bag and return its path: with the right ending, or a directory."""
    if kind.startswith("mcap-") and kind != "mcap-rosbags":
        return _write_mcap(path.with_suffix(".mcap"), kind, messages, chunk_bytes)
    writer: Any
    if kind.startswith("ros1"):
        path = path.with_suffix(".bag")
        writer, store = rosbag1.Writer(path), ROS1
        if kind != "ros1-none":
            writer.set_compression(rosbag1.Writer.CompressionFormat[kind.removeprefix("ros1-").upper()])
        writer.chunk_threshold = chunk_bytes
    else:
        plugin = rosbag2.StoragePlugin.MCAP if kind == "mcap-rosbags" else rosbag2.StoragePlugin.SQLITE3
        writer, store = rosbag2.Writer(path, version=8, storage_plugin=plugin), ROS2
        if kind == "db3-message-zstd":
            writer.set_compression(rosbag2.CompressionMode.MESSAGE, rosbag2.CompressionFormat.ZSTD)
    with writer:
        connections: dict[str, Any] = {}
        for sent in messages:
            if sent.topic not in connections:
                connections[sent.topic] = writer.add_connection(sent.topic, sent.type, typestore=store)
            writer.write(connections[sent.topic], sent.received, serialized(sent, kind.startswith("ros1")))
    return path


def _write_mcap(path: Path, kind: str, messages: Sequence[Sent], chunk_bytes: int) -> Path:
    compression = kind.removeprefix("mcap-").upper()
    ros1 = kind == "mcap-ros1"
    writer = McapWriter(
        str(path),
        chunk_size=chunk_bytes,
        compression=CompressionType[compression] if compression in ("LZ4", "ZSTD") else CompressionType.NONE,
        use_chunking=kind != "mcap-unchunked",
    )
    writer.start(profile="ros1" if ros1 else "ros2")
    channels: dict[str, int] = {}
    for sent in messages:
        if sent.topic not in channels:
            name = sent.type.replace("/msg/", "/") if ros1 else sent.type
            text, _ = (ROS1 if ros1 else ROS2).generate_msgdef(sent.type, ros_version=1 if ros1 else 2)
            schema = writer.register_schema(name, "ros1msg" if ros1 else "ros2msg", text.encode())
            channels[sent.topic] = writer.register_channel(sent.topic, "ros1" if ros1 else "cdr", schema)
        writer.add_message(channels[sent.topic], sent.received, serialized(sent, ros1), sent.received)
    writer.finish()
    return path


def arm_messages(
    count: int, kind: str = "db3", *, names: Sequence[str] = ("a", "bb", "ccc"), seed: int = 0
) -> list[Sent]:
    """Return joint states at 1 kHz with random numbers, received half a millisecond after they were made."""
    ros1 = "ros1" in kind
    values = np.random.default_rng(seed).normal(size=(count, 3, len(names)))
    return [
        Sent(
            "/joint_states",
            JOINT_STATE,
            START + index * 10**6 + 500_000,
            joint_state(names, *values[index], stamp=START + index * 10**6, ros1=ros1),
        )
        for index in range(count)
    ]
