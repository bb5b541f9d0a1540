"""Speed of reading bags against the rosbags library's object decode, side by side in one run, and memory.

    python benchmarks/bags.py                      makes bags of 600 000 seven-joint joint states, reads each with both
    python benchmarks/bags.py --read big.mcap      reads one bag and prints time and the process's peak memory

Ours is all that a user waits for: opening, the look through the bag for joint names and damage, and the tables. Theirs
is going through the messages and turning each into an object. Times are those of the processor, so that a busy machine
distorts them less; both use one core. Asked for are 4 times their speed.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from make_big_bag import KINDS, make
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from counterpoise.recording import NATIVE, open_bag

SUFFIX = {"mcap": ".mcap", "ros1": ".bag", "db3": ""}


def ours(path: Path) -> tuple[int, float]:
    """Return the rows and the time of reading all of them [s]."""
    start = time.process_time()
    rows = sum(len(table.columns) for source in open_bag(path) for table in source.tables())
    return rows, time.process_time() - start


def theirs(path: Path) -> tuple[int, float]:
    """Return the messages and the time of decoding all of them to objects [s]."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    start = time.process_time()
    count = 0
    with AnyReader([path], default_typestore=store) as reader:
        for connection, _, data in reader.messages():
            reader.deserialize(data, connection.msgtype)
            count += 1
    return count, time.process_time() - start


def compare(kinds: list[str], messages: int, runs: int) -> None:
    """Print a line for each kind of bag."""
    print(f"{messages} joint states of 7 joints, {'native' if NATIVE else 'NumPy'} decoding, best of {runs} [CPU s]")
    print(f"{'kind':<12}{'size [MB]':>10}{'ours [s]':>10}{'rosbags [s]':>13}{'ratio':>8}")
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            path = (Path(folder) / "bag").with_suffix(SUFFIX[kind.split("-")[0]])
            make(path, kind, messages)
            size = sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
            # Taken in turn, so that a slow moment of the machine meets both.
            pairs = [(ours(path), theirs(path)) for _ in range(runs)]
        if any(mine[0] != messages or other[0] != messages for mine, other in pairs):
            raise SystemExit(f"{kind}: a reader did not give all messages")
        mine, other = min(mine[1] for mine, _ in pairs), min(other[1] for _, other in pairs)
        print(f"{kind:<12}{size / 1e6:>10.0f}{mine:>10.2f}{other:>13.2f}{other / mine:>8.1f}", flush=True)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", type=Path, help="only read this bag")
    parser.add_argument("--messages", type=int, default=600_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[kind for kind in KINDS if kind != "ros1-bz2"])
    given = parser.parse_args()
    if given.read is None:
        compare(given.kinds, given.messages, given.runs)
        return
    start = time.perf_counter()
    rows, _ = ours(given.read)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{given.read}: {rows} rows in {seconds:.1f} s, peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
