"""The clock that paces a loop."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Time as a loop sees it; tests put their own in."""

    def now(self) -> float:
        """Return the time [s]; only differences mean something."""
        ...

    def wait_until(self, moment: float) -> None:
        """Return when ``moment`` [s] has come."""
        ...


class WallClock:
    """The machine's monotonic clock. Sleeping is late by some 0.1 ms on a desktop system: this is soft real time."""

    def now(self) -> float:
        """Return the time [s]."""
        return time.perf_counter()

    def wait_until(self, moment: float) -> None:
        """Sleep until ``moment`` [s]."""
        left = moment - time.perf_counter()
        if left > 0.0:
            time.sleep(left)
