"""What a floating arm is watched for: too fast, and drifting.

**Too fast.** Three samples in a row on which a joint is faster than it may be moved by hand: the run must end.

**Drift.** A joint that moves one way, slowly and steadily, for longer than ``drift_time``: all eighths of that time
within ±40 % of their mean. Nothing tells a hand that pushes so evenly from a gravity error; but hands are seldom even,
and what follows is gentle: the law holds the arm where it is, and yields when it is pushed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...foundation import Array, frozen

PARTS = 8
"""Equal parts of the drift time whose travels are compared."""
UNEVEN = 0.4
"""Largest deviation of a part's travel from their mean, as a share of it."""
FAST_SAMPLES = 3
"""Samples in a row on which a joint must be too fast: one may be noise."""


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """When a floating arm counts as too fast or drifting.

    Attributes:
        speed_rotary: Fastest that a joint may turn [rad/s]; never more than half of its velocity limit.
        speed_linear: Fastest that a joint may slide [m/s]; likewise.
        drift_time: How long a joint moves steadily before that is called a drift [s].
        drift_rotary: Slowest and fastest speed of a drift [rad/s].
        drift_linear: Slowest and fastest speed of a drift [m/s].
        load_rotary: How far a joint turns one way, pulled as by a load, before it is held [rad]; and how far where the
            check may have let such a load pass.
        load_linear: How far it slides [m]; likewise.
        drifts: Drifts and pulling loads after which the run must end; those before are only held.
    """

    speed_rotary: float = 2.0
    speed_linear: float = 0.5
    drift_time: float = 3.0
    drift_rotary: tuple[float, float] = (1e-3, 0.3)
    drift_linear: tuple[float, float] = (5e-4, 0.1)
    load_rotary: tuple[float, float] = (0.35, 0.2)
    load_linear: tuple[float, float] = (0.12, 0.06)
    drifts: int = 3

    def __post_init__(self) -> None:
        """Refuse what cannot be watched for."""
        for name in ("speed_rotary", "speed_linear", "drift_time", "drifts"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1e6:
                raise InputError(f"{name} is {value!r}; expected a positive number")
        for name in ("drift_rotary", "drift_linear"):
            slow, fast = getattr(self, name)
            if not 0.0 < slow < fast <= 1e6:
                raise InputError(f"{name} is {(slow, fast)!r}; expected a slow and a fast speed above 0")
        for name in ("load_rotary", "load_linear"):
            far, near = getattr(self, name)
            if not 0.0 < near <= far <= 1e6:
                raise InputError(f"{name} is {(far, near)!r}; expected a distance above 0, and one that is not longer")


class SpeedWatch:
    """Notices joints that are too fast."""

    def __init__(self, most: Array) -> None:
        """Watch for speeds above ``most`` [rad/s or m/s], shape (n,)."""
        self.most = frozen(most)
        self._fast = np.zeros(len(most), dtype=np.int64)

    def clear(self) -> None:
        """Forget the past."""
        self._fast = np.zeros_like(self._fast)

    def too_fast(self, dq: Array) -> int | None:
        """Return the index of a joint that has been too fast for some samples; None where none has.

        Args:
            dq: Velocities [rad/s or m/s], shape (n,).
        """
        self._fast = np.where(np.abs(dq) > self.most, self._fast + 1, 0)
        late = np.flatnonzero(self._fast >= FAST_SAMPLES)
        return int(late[0]) if late.size else None


class DriftWatch:
    """Notices joints that drift."""

    def __init__(self, time: float, slow: Array, fast: Array) -> None:
        """Watch for steady motion.

        Args:
            time: How long it must go on [s].
            slow: Slowest speed of a drift [rad/s or m/s], shape (n,).
            fast: Fastest one [rad/s or m/s], shape (n,); 0 for joints that are not watched.
        """
        self._part = time / PARTS
        self._slow, self._fast = frozen(slow), frozen(fast)
        self._places: deque[tuple[float, Array, npt.NDArray[np.bool_]]] = deque(maxlen=PARTS + 1)
        self._ignored = np.zeros(len(slow), dtype=bool)

    def __copy__(self) -> DriftWatch:
        """Return one that has seen the same, and goes its own way; also while another thread uses this one."""
        other = object.__new__(DriftWatch)
        other._part, other._slow, other._fast = self._part, self._slow, self._fast
        other._places, other._ignored = self._places.copy(), self._ignored.copy()
        return other

    def clear(self) -> None:
        """Forget the past."""
        self._places.clear()
        self._ignored[:] = False

    def drifting(self, time: float, q: Array, ignored: npt.NDArray[np.bool_]) -> tuple[int, float] | None:
        """Take one more sample; return the joint that drifts and its speed [rad/s or m/s], None where none does.

        Args:
            time: Its time [s].
            q: Positions [rad or m], shape (n,).
            ignored: Joints that something moves on purpose, shape (n,), bool; a joint so moved within the drift
                time does not drift.
        """
        if self._places and not 0.0 <= time - self._places[-1][0] <= 2.0 * self._part:
            self.clear()  # time went back, or samples stayed away: what was seen proves nothing
        self._ignored |= ignored
        if self._places and time - self._places[-1][0] < self._part:
            return None
        self._places.append((time, q.copy(), self._ignored.copy()))
        self._ignored[:] = False
        return self._judged() if len(self._places) > PARTS else None

    def _judged(self) -> tuple[int, float] | None:
        travels = np.diff(np.array([place for _, place, _ in self._places]), axis=0)
        ignored = np.any([each for _, _, each in self._places], axis=0)
        mean = travels.mean(axis=0)
        part = (self._places[-1][0] - self._places[0][0]) / PARTS  # whole ticks: a little longer than asked for
        speed = np.abs(mean) / part
        steady = np.max(np.abs(travels - mean), axis=0) <= UNEVEN * np.abs(mean)
        found = np.flatnonzero(steady & (speed >= self._slow) & (speed <= self._fast) & ~ignored)
        if not found.size:
            return None
        worst = int(found[np.argmax(speed[found])])
        return worst, float(mean[worst] / part)


class StillWatch:
    """Notices when an arm has come to rest: no joint has moved by more than ``travel`` for ``time``.

    Not a ``RestGatherer`` (recording/rest.py), which judges by the same speed but 0.1 s later, and means poses that are
    worth a measurement: a law that holds what was let go has to say so at once, and is copied while it runs.
    """

    def __init__(self, travel: Array, time: float) -> None:
        """Ask for rest within ``travel`` [rad or m], shape (n,), for ``time`` [s]."""
        self._travel, self._time = frozen(travel), time
        self._place: Array | None = None
        self._since = 0.0

    def clear(self) -> None:
        """Forget the past."""
        self._place = None

    def still(self, time: float, q: Array) -> bool:
        """Take one more sample and say whether the arm has been at rest for long enough.

        Args:
            time: Its time [s].
            q: Positions [rad or m], shape (n,).
        """
        if self._place is None or time < self._since or np.any(np.abs(q - self._place) > self._travel):
            self._place, self._since = q.copy(), time
        return time - self._since >= self._time
