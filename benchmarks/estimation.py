"""Speed of the recursive gravity estimator: one tick of 1 kHz, by what the tick does, all states on.

    python benchmarks/estimation.py            # prints the table of docs/online-gravity.md
    python benchmarks/estimation.py --docs     # and writes it there

Every tick of many holds is timed by itself, so that the long ones are seen. The clock is the CPU time of this thread;
reading it twice, about a microsecond, is left in. "worst" is the largest of each kind after the best of three runs was
taken tick by tick, so that a moment in which the machine did something else does not count as the estimator's. Asked
for are a median of at most 20 µs for 7 joints and 60 µs for 19 of the ticks that really update.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import counterpoise as cp
from counterpoise.calibration.workspace import workspace_poses
from counterpoise.estimation.kernel import NATIVE
from counterpoise.estimation.recursive import RecursiveGravity

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))
from docs_page import put

ROBOTS = ("planar3", "wam7", "dualarm19")
HOLDS, TICKS, RUNS = 60, 600, 3
KINDS = ("waits, collects", "takes the means", "folds joints", "finishes, solves", "moves on, keeps")
DOCS = Path(__file__).resolve().parents[1] / "docs" / "online-gravity.md"


def ticks(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return of one run the kind of each tick and its time [s]."""
    robot = cp.load(name)
    est = cp.OnlineGravity(robot, 1e-3)
    inner = est.estimator
    assert isinstance(inner, RecursiveGravity)
    poses, zero = workspace_poses(robot, HOLDS, seed=0, margin=0.1), np.zeros(robot.n)
    kinds, times = [], []
    clock = time.thread_time_ns
    for pose in poses:
        tau = robot.gravity(pose)
        for tick in range(TICKS):
            joint, told = inner._joint, inner._told
            begin = clock()
            est.update(pose, zero, tau)
            times.append(clock() - begin)
            if tick == 0:
                kinds.append(4)
            elif joint >= 0:
                kinds.append(3 if inner._joint < 0 else 2)
            else:
                kinds.append(1 if inner._told and not told else 0)
    return np.array(kinds), 1e-9 * np.array(times)


def measured(name: str) -> list[tuple[str, int, float, float]]:
    """Return a row per kind of tick: what it does, how many, median and worst [s]; last the updating ones together."""
    runs = [ticks(name) for _ in range(RUNS)]
    kinds, best = runs[0][0], np.min([times for _, times in runs], axis=0)
    keep = np.arange(len(best)) >= 5 * TICKS  # first calls are slow
    rows = []
    for kind, what in enumerate(KINDS):
        chosen = best[keep & (kinds == kind)]
        rows.append((what, len(chosen), float(np.median(chosen)), float(chosen.max())))
    updating = best[keep & np.isin(kinds, (1, 2, 3))]
    rows.append(("**all that update**", len(updating), float(np.median(updating)), float(updating.max())))
    return rows


def table() -> str:
    """Measure and return the table."""
    lines = ["| robot | unknowns | a tick that … | median [µs] | worst [µs] |", "|---|---|---|---|---|"]
    for name in ROBOTS:
        estimator = cp.OnlineGravity(cp.load(name)).estimator
        assert isinstance(estimator, RecursiveGravity)
        unknowns = len(estimator.states.names)
        for what, _, median, worst in measured(name):
            lines.append(f"| {name} | {unknowns} | {what} | {1e6 * median:.1f} | {1e6 * worst:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the table into the documentation")
    given = parser.parse_args()
    text = table()
    print(f"{'native' if NATIVE else 'NumPy'} loops\n{text}")
    if given.docs:
        put(DOCS, "ticks", [text])


if __name__ == "__main__":
    main()
