"""Timing of Python statements side by side: all of them in every round, so that a busy machine is busy for each.

The clock is the CPU time of the calling thread where the system counts it finely (Linux, macOS): on an idle machine it
equals the time on the wall, and on a shared one it leaves out the time given to other programs. Elsewhere it is the
time on the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np

from ...foundation import Array, frozen

COUNTS_CPU_TIME = time.get_clock_info("thread_time").resolution <= 1e-6
_clock = time.thread_time if COUNTS_CPU_TIME else time.perf_counter


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement to time, as a user would write it.

    Attributes:
        code: The statement; it is compiled into the timing loop, so no function call is added to it.
        names: What its names mean.
        poses: How many poses one execution handles; times are per pose.
    """

    code: str
    names: Mapping[str, Any]
    poses: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class RoundTimes:
    """Times of one statement [s per pose], one per round, shape (rounds,)."""

    rounds: Array

    @property
    def median(self) -> float:
        """Median over the rounds [s per pose]."""
        return float(np.median(self.rounds))

    @property
    def best(self) -> float:
        """Shortest round [s per pose]."""
        return float(self.rounds.min())

    def as_data(self) -> dict[str, float]:
        """Median, shortest and longest round [s per pose]."""
        return {"median": self.median, "min": self.best, "max": float(self.rounds.max())}


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer one statement takes than another: median and quartiles of the ratios within each round."""

    median: float
    lower_quartile: float
    upper_quartile: float

    @classmethod
    def of(cls, slower: RoundTimes, faster: RoundTimes) -> Ratio:
        """Compare two timings of the same rounds."""
        quartiles = np.percentile(slower.rounds / faster.rounds, (50.0, 25.0, 75.0))
        return cls(*quartiles.tolist())


def time_interleaved(
    statements: Mapping[str, Statement], *, rounds: int, seconds: float, after_round: Callable[[], None]
) -> dict[str, RoundTimes]:
    """Time statements in rounds.

    Args:
        statements: What to time, by name.
        rounds: How often each is timed.
        seconds: How long each is repeated per round [s], at least once.
        after_round: Called after every round, e.g. to show progress.

    Returns:
        Times by name. Python's garbage collection is off while a statement is timed.
    """
    timers = {
        name: Timer(statement.code, timer=_clock, globals=dict(statement.names))
        for name, statement in statements.items()
    }
    repeats = {name: _repeats(timer, seconds) for name, timer in timers.items()}
    found: dict[str, list[float]] = {name: [] for name in statements}
    for _ in range(rounds):
        for name, timer in timers.items():
            executions = repeats[name] * statements[name].poses
            found[name].append(timer.timeit(repeats[name]) / executions)
        after_round()
    return {name: RoundTimes(frozen(times)) for name, times in found.items()}


def _repeats(timer: Timer, seconds: float) -> int:
    """Return how many executions last for about the given time; they also warm the statement up."""
    repeats = 1
    while True:
        taken = timer.timeit(repeats)
        if taken >= seconds / 4:
            return max(1, round(repeats * seconds / taken))
        repeats *= 4
