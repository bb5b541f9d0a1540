"""Teaching from beginning to end: the arm is checked, let go, guided while its path is recorded, and stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, rotary
from ...errors import InputError
from ...foundation import Array, frozen
from ...recording import Sample, SampleFlag, interpolated
from ..float.floating import Floating, FloatReport, Progress
from ..float.settings import FloatSettings
from ..rig import Rig
from .path import (
    CUTOFF,
    KINDS,
    MOVED_LINEAR,
    MOVED_ROTARY,
    RATE,
    STILL_LINEAR,
    STILL_ROTARY,
    Kind,
    Smoothed,
    TaughtPath,
    moving_part,
    smooth,
)

MOST_SAMPLES = 1_000_000
"""Samples that are kept, 16 minutes at 1 kHz; a recording ends there."""


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """A path and what was done to the recording to get it.

    Attributes:
        path: The path.
        samples: Samples recorded.
        trimmed: Idle time cut off at the beginning and at the end [s].
        cutoff: Cutoff of the smoothing [Hz]; None where nothing was smoothed.
        moved: How far the path is from the recorded positions at most, per joint [rad or m], shape (n,).
        moved_tips: ... and the tips with it, by link [m].
        full: Whether the recording ended because it was full.
    """

    path: TaughtPath
    samples: int
    trimmed: tuple[float, float]
    cutoff: float | None
    moved: Array
    moved_tips: Mapping[str, float]
    full: bool


class Teacher:
    """Takes samples while the arm floats, as Teaching hands them over, and makes a path of them.

    ``start``, ``stop`` and ``mark`` may be called from another thread. With kind="waypoints" only marked poses are
    kept.

    Attributes:
        robot: The arm.
        kind: "continuous" or "waypoints".
    """

    def __init__(self, robot: Robot, kind: Kind = "continuous") -> None:
        """Prepare to record; nothing is until :meth:`start`.

        Args:
            robot: The arm.
            kind: "continuous" or "waypoints".
        """
        if kind not in KINDS:
            raise InputError(f"kind is {kind!r}; expected {' or '.join(map(repr, KINDS))}")
        self.robot = robot
        self.kind: Kind = kind
        self._lock = threading.Lock()
        self._recording = self._full = False
        self._newest: tuple[float, Array] | None = None
        self._rows: list[tuple[float, Array]] = []

    @property
    def recording(self) -> bool:
        """Whether samples are being kept."""
        return self._recording

    @property
    def count(self) -> int:
        """Samples, or waypoints, that are kept so far."""
        return len(self._rows)

    def start(self) -> None:
        """Begin anew: what was kept before is forgotten."""
        with self._lock:
            self._rows, self._full, self._recording = [], False, True

    def stop(self) -> None:
        """Keep no more samples."""
        with self._lock:
            self._recording = False

    def record(self, sample: Sample) -> None:
        """Take a sample; those without a position, or not later than the one before, are passed over."""
        time = float(sample.time)
        if sample.flags & SampleFlag.Q_INVALID or not np.isfinite(time) or not np.all(np.isfinite(sample.q)):
            return
        with self._lock:
            self._newest = (time, sample.q)
            if not self._recording or self.kind == "waypoints" or (self._rows and time <= self._rows[-1][0]):
                return
            if len(self._rows) >= MOST_SAMPLES:
                self._recording, self._full = False, True
                return
            self._rows.append((time, sample.q))

    def mark(self) -> int:
        """Keep the present pose as a waypoint and return how many there are.

        Raises:
            InputError: The path is continuous, nothing is being recorded, or there is no sample yet.
        """
        with self._lock:
            if self.kind != "waypoints":
                raise InputError("waypoints are marked with kind='waypoints'; this path is continuous")
            if not self._recording or self._newest is None:
                raise InputError("nothing is being recorded yet; start() first, while samples arrive")
            if not self._rows or self._newest[0] > self._rows[-1][0]:
                self._rows.append(self._newest)
            return len(self._rows)

    def finish(
        self,
        name: str,
        *,
        cutoff: float | None = CUTOFF,
        most_moved: npt.ArrayLike | None = None,
        trim: bool = True,
        rate: float = RATE,
        notes: Mapping[str, str] | None = None,
    ) -> Taught:
        """Stop, and return the path.

        Args:
            name: What it is called.
            cutoff: Lowest cutoff of the smoothing [Hz]; None smooths nothing. Waypoints are never smoothed.
            most_moved: How far smoothing may move a joint [rad or m], one or n; None for 0.01 rad and 3 mm.
            trim: Whether idle ends of a continuous path are cut off.
            rate: Rows per second of a continuous path [Hz].
            notes: What to note beside what this notes itself.

        Raises:
            InputError: Too little was recorded, or nothing moved.
        """
        self.stop()
        with self._lock:
            rows = list(self._rows)
        if len(rows) < 2:
            what = "waypoints were marked" if self.kind == "waypoints" else "samples were recorded"
            raise InputError(f"{len(rows)} {what}; a path needs at least 2")
        time, q = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        turns, trimmed = np.array(rotary(self.robot)), (0.0, 0.0)
        found: dict[str, str] = {}
        if self.kind == "waypoints":
            result = Smoothed(time - time[0], q, None, np.zeros(self.robot.n))
        else:
            if trim:
                kept = moving_part(time, q, np.where(turns, STILL_ROTARY, STILL_LINEAR))
                trimmed = (float(time[kept][0] - time[0]), float(time[-1] - time[kept][-1]))
                time, q = time[kept], q[kept]
            bound = np.where(turns, MOVED_ROTARY, MOVED_LINEAR) if most_moved is None else most_moved
            result = smooth(time, q, cutoff=cutoff, most_moved=bound, rate=rate)
            found["trimmed"] = f"{trimmed[0]:.3g} s at the beginning, {trimmed[1]:.3g} s at the end"
            smoothing = "none" if result.cutoff is None else f"{result.cutoff:g} Hz, without delay"
            found["smoothing"] = f"{smoothing}; moved by at most {np.max(result.moved):.3g} rad or m"
        path = TaughtPath.of(
            self.robot, result.time, result.q, name=name, kind=self.kind, notes={**found, **(notes or {})}
        )
        tips = {} if self.kind == "waypoints" else _tips_moved(self.robot, time - time[0], q, result)
        return Taught(path, len(rows), trimmed, result.cutoff, frozen(result.moved), tips, self._full)


def _tips_moved(robot: Robot, time: Array, q: Array, result: Smoothed) -> dict[str, float]:
    """Return how far smoothing moved each tip at most [m], by link."""
    smoothed_q = interpolated(time, result.time, result.q)
    moved = {}
    for link in robot.tree.leaves:
        before, after = (robot.forward_kinematics(rows, at=link)[:, :3, 3] for rows in (q, smoothed_q))
        moved[link] = float(np.max(np.linalg.norm(after - before, axis=1)))
    return moved


class Teaching(Floating):
    """A floating arm whose motion is recorded from the moment it is let go. Nothing moves before :meth:`run`.

    ::

        with SignalSafe(plant):
            teaching = Teaching(Rig(plant, robot), kind="waypoints")
            teaching.start()
            ...  # guide the arm by hand, and at each waypoint:
            teaching.teacher.mark()
            teaching.stop()
            teaching.wait()
        taught = teaching.teacher.finish("wipe the table")

    Attributes:
        teacher: Takes the samples; it has them also where the run ended in an exception.
    """

    def __init__(
        self,
        rig: Rig,
        settings: FloatSettings = FloatSettings(),  # noqa: B008  frozen
        *,
        kind: Kind = "continuous",
        mark_every: float | None = None,
        began: Callable[[], None] | None = None,
        each: Callable[[Sample], None] | None = None,
    ) -> None:
        """Prepare; refuse at once what needs no measurement to be refused.

        Args:
            rig: The arm.
            settings: How it floats.
            kind: "continuous" or "waypoints".
            mark_every: Mark a waypoint every so often [s], from the moment it is let go; None only where told.
            began: Called once, from the loop, when the arm is let go and the recording begins.
            each: Called with every good sample while the arm floats, after it was recorded.

        Raises:
            InputError: As of Floating, or waypoints at even times in a continuous path.
            SafetyError: As of Floating.
        """
        if mark_every is not None and (kind != "waypoints" or not 0.0 < mark_every <= 1e6):
            raise InputError(f"mark_every is {mark_every!r}; expected a time above 0 [s], with kind='waypoints'")
        teacher = self.teacher = Teacher(rig.robot, kind)

        def let_go() -> None:
            teacher.start()
            if began is not None:
                began()

        marks, first = 0, 0.0

        def recorded(sample: Sample) -> None:
            nonlocal marks, first
            teacher.record(sample)
            if mark_every is not None:
                first = first if marks else float(sample.time)
                if sample.time - first >= marks * mark_every - 1e-9:
                    teacher.mark()
                    marks += 1
            if each is not None:
                each(sample)

        super().__init__(rig, settings, began=let_go, each=recorded)

    def run(self, seconds: float | None = None, *, progress: Progress | None = None, log: bool = False) -> FloatReport:
        """Check the arm, let it float and record it; see Floating.run."""
        try:
            return super().run(seconds, progress=progress, log=log)
        finally:
            self.teacher.stop()
