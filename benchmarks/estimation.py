"""Speed of the recursive gravity estimator: one tick of 1 kHz and of 50 Hz, by what the tick does, all states on.

    python benchmarks/estimation.py            # prints the table of docs/online-gravity.md
    python benchmarks/estimation.py --docs     # and writes it there

Every tick of many holds is timed by itself, so that the long ones are seen. The clock is the CPU time of this thread;
reading it twice, about a microsecond, is left in. Each tick is repeated in five runs and its best time is taken, so
that a moment in which the machine did something else does not count as the estimator's; the last row of a robot has all
runs as they were measured, such moments included. The first five holds, in which everything is called for the first
time, are left out. Asked for are a median of at most 20 µs for 7 joints and 60 µs for 19 of the ticks that really
update.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import counterpoise as cp
from counterpoise.identification import workspace_poses
from counterpoise.sensing import NATIVE, RecursiveGravity

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))
from docs_page import put

ROBOTS = ("planar3", "wam7", "dualarm19")
RATES = (1000, 50)
HOLDS, RUNS, WARM_UP = 100, 5, 5
HELD = 1.0
"""Time at each pose [s]."""
WAITS, COLLECTS, MEANS, FOLDS, USES, MOVES = range(6)
KINDS = (
    "copies its sample",
    "completes a slot of 20 ms",
    "takes the means",
    "begins, folds joints",
    "judges, solves",
    "moves on, keeps",
)
DOCS = Path(__file__).resolve().parents[1] / "docs" / "online-gravity.md"


def ticks(name: str, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """Return of one run the kind of each tick and its time [s]."""
    robot = cp.load(name)
    est = cp.OnlineGravity(robot, 1.0 / rate)
    inner = est.estimator
    assert isinstance(inner, RecursiveGravity)
    poses, zero = workspace_poses(robot, HOLDS, seed=0, margin=0.1), np.zeros(robot.n)
    kinds, times = [], []
    clock = time.thread_time_ns
    for pose in poses:
        tau = robot.gravity(pose)
        for _ in range(round(HELD * rate)):
            step, told, collected = inner._step, inner._told, inner._means.count
            begin = clock()
            est.update(pose, zero, tau)
            times.append(clock() - begin)
            if collected and not inner._means.count:
                kinds.append(MOVES)
            elif step is not None:
                kinds.append(USES if step.__name__ == "_judge" else FOLDS)
            elif inner._told and not told:
                kinds.append(MEANS)
            else:
                kinds.append(COLLECTS if inner.rests.slot_done else WAITS)
    keep = slice(WARM_UP * round(HELD * rate), None)
    return np.array(kinds)[keep], 1e-9 * np.array(times)[keep]


def measured(name: str, rate: int) -> list[tuple[str, float, float, float]]:
    """Return rows of what ticks do, their median, 99.9 % and worst time [s]; last the updating ones together."""
    runs = [ticks(name, rate) for _ in range(RUNS)]
    kinds, every = runs[0][0], np.array([times for _, times in runs])
    best = every.min(axis=0)
    updates = np.isin(kinds, (MEANS, FOLDS, USES))
    chosen = [(what, best[kinds == kind]) for kind, what in enumerate(KINDS) if np.any(kinds == kind)]
    chosen += [("**all that update**", best[updates]), ("the same, as measured", every[:, updates].ravel())]
    return [(what, *(float(np.quantile(times, q)) for q in (0.5, 0.999, 1.0))) for what, times in chosen]


def table() -> str:
    """Measure and return the table."""
    lines = ["| robot | rate | a tick that … | median [µs] | 99.9 % | worst |", "|---|---|---|---|---|---|"]
    for name in ROBOTS:
        estimator = cp.OnlineGravity(cp.load(name)).estimator
        assert isinstance(estimator, RecursiveGravity)
        unknowns = len(estimator.states.names)
        for rate in RATES:
            for what, *shown in measured(name, rate):
                numbers = " | ".join(f"{1e6 * value:.1f}" if value < 1e-4 else f"{1e6 * value:.0f}" for value in shown)
                lines.append(f"| {name}, {unknowns} unknowns | {rate} Hz | {what} | {numbers} |")
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
