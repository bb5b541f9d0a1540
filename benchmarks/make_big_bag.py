"""Make a bag of joint states of any size, and images beside them if asked for, to measure reading.

    python benchmarks/make_big_bag.py big.mcap --kind mcap-zstd --messages 600000
    python benchmarks/make_big_bag.py big --kind db3 --gigabytes 10 --image-bytes 1000000

The files are not kept. Needs the rosbags and mcap packages.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags import rosbag1, rosbag2
from rosbags.typesys import Stores, get_typestore

JOINTS = tuple(f"arm_joint_{index}" for index in range(1, 8))
KINDS = ("db3", "mcap-none", "mcap-lz4", "mcap-zstd", "ros1-none", "ros1-lz4", "ros1-bz2")
TOPICS = (("/joint_states", "sensor_msgs/msg/JointState"), ("/camera", "sensor_msgs/msg/Image"))
IMAGE_EVERY = 33
"""Joint states for each image: 1 kHz and 30 Hz."""


def payloads(ros1: bool) -> Iterator[tuple[int, bytes]]:
    """Yield time [ns] and payload of joint states at 1 kHz without end: slow sines and noise, as arms record them."""
    rng = np.random.default_rng(0)
    if ros1:
        frame = struct.pack("<I", 0)
        names = struct.pack("<I", 7) + b"".join(struct.pack("<I", len(name)) + name.encode() for name in JOINTS)
        body = struct.Struct("<III" + f"{len(frame)}s{len(names)}s" + 3 * "I7d")
    else:
        frame = struct.pack("<IB3x", 1, 0)
        names = struct.pack("<I", 7)
        for name in JOINTS:
            text = name.encode() + b"\0"
            names += struct.pack("<I", len(text)) + text + bytes(-len(text) % 4)
        first = "" if (8 + len(frame) + len(names) + 4) % 8 == 0 else "4x"  # doubles lie at multiples of eight
        body = struct.Struct("<4sII" + f"{len(frame)}s{len(names)}s" + f"I{first}7dI4x7dI4x7d")
    index = 0
    while True:
        time = index * 1e-3 + np.arange(1000)[:, None] * 1e-3
        phase = time * np.linspace(0.3, 1.1, 7)
        values = np.hstack([np.sin(phase), np.cos(phase), 20 * np.sin(phase + 0.3)]) + rng.normal(0, 1e-4, (1000, 21))
        for row in values.tolist():
            stamp = 1_700_000_000_000_000_000 + index * 1_000_000
            seconds, nanoseconds = divmod(stamp, 10**9)
            head = (index, seconds, nanoseconds) if ros1 else (b"\0\1\0\0", seconds, nanoseconds)
            yield stamp, body.pack(*head, frame, names, 7, *row[:7], 7, *row[7:14], 7, *row[14:])
            index += 1


def image(ros1: bool, size: int) -> bytes:
    """Return a made up image of ``size`` bytes that hardly compresses."""
    pixels = np.random.default_rng(1).integers(0, 256, size, dtype=np.uint8).tobytes()
    return pixels if ros1 else b"\0\1\0\0" + pixels


class Bag:
    """Writes messages; the format is behind it."""

    def __init__(self, path: Path, kind: str, stack: ExitStack) -> None:
        """Open the file of a kind."""
        container, _, compression = kind.partition("-")
        self.ros1 = container == "ros1"
        if container == "mcap":
            self._open_mcap(path, compression, stack)
        else:
            self._open_rosbags(path, container, compression, stack)

    def _open_mcap(self, path: Path, compression: str, stack: ExitStack) -> None:
        store = get_typestore(Stores.ROS2_HUMBLE)
        writer = McapWriter(str(path), compression=CompressionType[compression.upper()], chunk_size=768 * 1024)
        writer.start(profile="ros2")
        stack.callback(writer.finish)
        channels = []
        for topic, name in TOPICS:
            schema = writer.register_schema(name, "ros2msg", store.generate_msgdef(name, ros_version=2)[0].encode())
            channels.append(writer.register_channel(topic, "cdr", schema))
        self.write = lambda channel, time, data: writer.add_message(channels[channel], time, data, time)

    def _open_rosbags(self, path: Path, container: str, compression: str, stack: ExitStack) -> None:
        store = get_typestore(Stores.ROS1_NOETIC if self.ros1 else Stores.ROS2_HUMBLE)
        writer: Any = rosbag1.Writer(path) if container == "ros1" else rosbag2.Writer(path, version=8)
        if compression not in ("", "none"):
            writer.set_compression(rosbag1.Writer.CompressionFormat[compression.upper()])
        stack.enter_context(writer)
        connections = [writer.add_connection(topic, name, typestore=store) for topic, name in TOPICS]
        self.write = lambda channel, time, data: writer.write(connections[channel], time, data)


def make(path: Path, kind: str, messages: int | None = None, size: float | None = None, image_bytes: int = 0) -> int:
    """Write a bag and return its number of joint states; ``size`` counts the bytes of payload."""
    with ExitStack() as stack:
        bag = Bag(path, kind, stack)
        picture = image(bag.ros1, image_bytes)
        written = count = 0
        for time, data in payloads(bag.ros1):
            if (messages is not None and count >= messages) or (size is not None and written >= size):
                break
            bag.write(0, time, data)
            count, written = count + 1, written + len(data)
            if image_bytes > 0 and count % IMAGE_EVERY == 0:
                bag.write(1, time, picture)
                written += image_bytes
        return count


def main() -> None:
    """Read the arguments and make the bag."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="file to write; for db3 a directory")
    parser.add_argument("--kind", choices=KINDS, default="mcap-zstd")
    parser.add_argument("--messages", type=int, help="number of joint states")
    parser.add_argument("--gigabytes", type=float, help="bytes of payload, in place of a number")
    parser.add_argument("--image-bytes", type=int, default=0, help="size of the images of a second topic")
    given = parser.parse_args()
    if (given.messages is None) == (given.gigabytes is None):
        parser.error("give --messages or --gigabytes")
    size = None if given.gigabytes is None else given.gigabytes * 1e9
    print(f"{given.path}: {make(given.path, given.kind, given.messages, size, given.image_bytes)} joint states")


if __name__ == "__main__":
    main()
