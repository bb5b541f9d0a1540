"""Speed of reading a table of numbers from text, against np.loadtxt on the same bytes in the same run.

    python benchmarks/logs.py [--rows 1000000] [--columns 15] [--runs 3]

Writes files of its own in a temporary folder: numbers with 6 digits, as loggers print them, with all 17, as Python and
np.savetxt do. Prints the best of several runs; asked for is 5 x.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from counterpoise.recording import CsvSource

FORMATS = {"6 digits (%.6g)": "%.6g", "shortest exact (repr)": "%r", "np.savetxt (%.18e)": "%.18e"}


def best(call: Callable[[], object], runs: int) -> float:
    """Return the least processor time of several runs [s]; both readers use one thread."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def write(path: Path, numbers: np.ndarray, form: str) -> None:
    """Write a header and the numbers, each as ``form`` prints it."""
    row = ",".join([form] * numbers.shape[1]) + "\n"
    with path.open("w", encoding="ascii") as stream:
        stream.write(",".join(f"q_{column}" for column in range(numbers.shape[1])) + "\n")
        for begin in range(0, len(numbers), 10_000):
            part = numbers[begin : begin + 10_000].tolist()
            stream.write("".join(row % tuple(values) for values in part))


def main() -> None:
    """Print one line per way of writing numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    numbers = np.random.default_rng(0).normal(size=(options.rows, options.columns)) * 3.0
    print(f"{options.rows} rows x {options.columns} columns, best of {options.runs}")
    with tempfile.TemporaryDirectory() as folder:
        for label, form in FORMATS.items():
            path = Path(folder) / "table.csv"
            write(path, numbers, form)

            def ours(path: Path = path) -> np.ndarray:
                return np.concatenate([table.columns for table in CsvSource(path).tables()])

            def theirs(path: Path = path) -> np.ndarray:
                return np.loadtxt(path, delimiter=",", skiprows=1)

            if not np.array_equal(ours(), theirs()):
                raise SystemExit("the two readers differ")
            fast, slow = best(ours, options.runs), best(theirs, options.runs)
            speed = path.stat().st_size / 1e6 / fast
            print(f"{label:<24} {fast:7.3f} s ({speed:4.0f} MB/s), np.loadtxt {slow:7.3f} s: {slow / fast:5.1f} x")


if __name__ == "__main__":
    main()
