"""Speed of the base sensor: one call beside our inverse dynamics and beside Pinocchio's rnea, and a batch of a million.

    python benchmarks/base_sensor.py            # prints the table of docs/base-sensor.md
    python benchmarks/base_sensor.py --docs     # and writes it there

All statements take turns in many short rounds; a ratio is the median of the ratios within the rounds. The clock is the
CPU time of this thread where the system has one, so other programs count as little as possible. Asked for are at most
1.3 times inverse_dynamics, at least 3 times faster than rnea, and a million samples in less than 2 s.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import counterpoise as cp
from counterpoise.lab import Ratio, Statement, peer_of, time_interleaved

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))
from docs_page import put

ROBOTS = ("puma560", "wam7", "dualarm19")
ROUNDS, SECONDS, WARM_UP = 100, 1e-3, 2000
BATCH = 1_000_000
STATEMENTS = {
    "inverse dynamics": "robot.inverse_dynamics(q, dq, ddq, out)",
    "full": "sensor.joint_torques(q, w, dq, ddq, 'full', out)",
    "tared+model": "sensor.joint_torques(q, w, dq, ddq, 'auto', out)",
    "tared+model, at rest": "sensor.joint_torques(q, w, None, None, 'auto', out)",
    "tared": "sensor.joint_torques(q, w, None, None, 'tared', out)",
}


def one_call(name: str) -> dict[str, tuple[float, float, float | None]]:
    """Return of each form: time [s], ratio to inverse dynamics, and how much faster than rnea it is."""
    robot = cp.load(name)
    sensor = cp.BaseSensor(robot, reads="on_sensor")
    random = np.random.default_rng(0)
    q, dq, ddq = (np.ascontiguousarray(row) for row in random.uniform(-1.0, 1.0, (3, robot.n)))
    w = sensor.frame.reading(robot.base_wrench(q, dq, ddq))
    sensor.tare(q, w)
    names: dict[str, Any] = {"robot": robot, "sensor": sensor, "q": q, "dq": dq, "ddq": ddq, "w": w}
    names["out"] = np.empty(robot.n)
    statements = {what: Statement(text, names) for what, text in STATEMENTS.items()}
    peer = peer_of(robot)
    if peer is not None:
        theirs = names | {"rnea": peer.pin.rnea, "model": peer.model, "data": peer.data}
        for _ in range(WARM_UP):  # its first calls are slow, which would cost it repetitions per round
            peer.pin.rnea(peer.model, peer.data, q, dq, ddq)
        statements["rnea"] = Statement("rnea(model, data, q, dq, ddq)", theirs)
    times = time_interleaved(statements, rounds=ROUNDS, seconds=SECONDS, after_round=lambda: None)
    found: dict[str, tuple[float, float, float | None]] = {}
    for what in STATEMENTS:
        ratio = Ratio.of(times[what], times["inverse dynamics"]).median
        faster = None if peer is None else Ratio.of(times["rnea"], times[what]).median
        found[what] = (times[what].median, ratio, faster)
    return found


def batch(name: str) -> float:
    """Return the time of the full form over a million samples [s], on one thread, best of three."""
    robot = cp.load(name)
    sensor = cp.BaseSensor(robot)
    random = np.random.default_rng(0)
    q, dq, ddq = random.uniform(-1.0, 1.0, (3, BATCH, robot.n))
    w, out = random.normal(size=(BATCH, 6)), np.empty((BATCH, robot.n))
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        sensor.joint_torques(q, w, dq, ddq, "full", out)
        best = min(best, time.perf_counter() - start)
    return best


def table() -> Iterator[str]:
    """Yield the lines of the Markdown table."""
    yield "| robot | call | time | over inverse_dynamics | rnea over it |"
    yield "|---|---|---|---|---|"
    for name in ROBOTS:
        for what, (seconds, ratio, faster) in one_call(name).items():
            beside = "" if faster is None else f"{faster:.1f}"
            yield f"| {name} | {what} | {1e9 * seconds:.0f} ns | {ratio:.2f} | {beside} |"
    for name in ROBOTS:
        seconds = batch(name)
        yield f"| {name} | full, {BATCH:,} samples | {seconds:.2f} s ({1e9 * seconds / BATCH:.0f} ns each) | | |"


def main() -> None:
    """Measure, print and, when asked, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the table to docs/base-sensor.md")
    arguments = parser.parse_args()
    lines = list(table())
    print("\n".join(lines))
    if arguments.docs:
        page = Path(__file__).parents[1] / "docs" / "base-sensor.md"
        put(page, "speed", lines)


if __name__ == "__main__":
    main()
