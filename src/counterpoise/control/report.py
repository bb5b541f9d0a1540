"""What a run leaves behind: its events, its last ticks, how it ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

import numpy as np

from ..errors import InputError
from ..foundation import Array, PublishedData, frozen
from ..recording import Log, LogBuilder, Sample
from .fault import Fault, FilterFlag
from .safety import SafetyFilter


class EndState(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    """As asked; the arm was then brought to a stop, unless the run was told to keep it going."""
    END_OF_LOG = "end of log"
    """A recording had no further samples."""
    GRAVITY_STOP = "gravity stop"
    """Gravity hold with damping, then the plant's declared stop."""
    UNDAMPED_STOP = "undamped stop"
    """Gravity hold without damping, for want of a velocity, then the plant's declared stop."""
    BLIND_STOP = "blind stop"
    """The position is unknown: the last torque was held, then the plant's declared stop."""
    PLANT_STOP = "plant stop"
    """Nothing can be sent: the plant's declared stop at once."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run.

    Attributes:
        time: Seconds since the run began.
        tick: Ticks since the run began.
        kind: Name of a Fault in lower case, or "started", "recovered", "switched", "stopping", "stopped",
            "brakes_opened", or what a law reports, e.g. "plate_lost", "plate_back".
        joint: Joint at fault; None where none is.
        message: What happened, in words.
    """

    time: float
    tick: int
    kind: str
    joint: str | None
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class HistoryEntry(PublishedData):
    """One of the last ticks.

    Attributes:
        sample: What was read; None where reading failed.
        sent: What was sent then [N m or N], shape (n,).
        fault: What was wrong with the sample.
        flags: What the filter did to the torque, on any joint.
    """

    sample: Sample | None
    sent: Array
    fault: Fault
    flags: FilterFlag


@dataclass(frozen=True, slots=True, eq=False)
class RunReport(PublishedData):
    """The whole run.

    Attributes:
        end: How it ended.
        fault: Why it was stopped; Fault.NONE where it was not.
        stop: What the plant was told to do in the end, "zero" or "brake"; None where it was kept going.
        ticks: Ticks in all, those of the stop included.
        held_ticks: Ticks before the stop on which the torque of the tick before was held.
        stop_ticks: Ticks of the safe stop.
        overruns: Ticks that took longer than the period.
        duration: Nominal time of all ticks [s].
        flag_counts: How often the filter raised each flag, per joint.
        events: What happened, in order.
        events_dropped: Events beyond the number that is kept.
        log: The recording, where one was asked for.
    """

    end: EndState
    fault: Fault
    stop: Literal["zero", "brake"] | None
    ticks: int
    held_ticks: int
    stop_ticks: int
    overruns: int
    duration: float
    flag_counts: Mapping[str, tuple[int, ...]]
    events: tuple[Event, ...]
    events_dropped: int
    log: Log | None


class Recorder:
    """Collects a run's ticks and events in memory of fixed size (a log, where asked for, grows)."""

    def __init__(self, safety: SafetyFilter, builder: LogBuilder | None) -> None:
        """Start empty.

        Args:
            safety: The filter of the run.
            builder: Takes the log; None for no log.
        """
        size = safety.settings.history
        self.tick = 0
        self.held_ticks = 0
        self.stop_ticks = 0
        self.overruns = 0
        self._safety = safety
        self._builder = builder
        self._size = size
        self._ticks: deque[tuple[Sample | None, int, int]] = deque(maxlen=size)
        self._sent = np.zeros((size, safety.n))
        self._events: list[Event] = []
        self._dropped = 0
        self._counts_before = safety.counts.copy()

    def record(self, sample: Sample | None, fault: int, flags: int) -> None:
        """Take note of a tick whose torque has been sent."""
        self._sent[self.tick % self._size] = self._safety.last
        self._ticks.append((sample, fault, flags))
        if self._builder is not None and sample is not None and fault != Fault.SAMPLE_MALFORMED:
            with suppress(InputError):  # a time too large for a log: the filter has told of it, the loop must go on
                self._builder.append(sample, self._safety.last)
        self.tick += 1

    def event(self, kind: str, message: str, joint: str | None = None) -> None:
        """Take note of an event at the present tick."""
        if len(self._events) >= self._safety.settings.max_events:
            self._dropped += 1
            return
        self._events.append(Event(self.tick * self._safety.dt, self.tick, kind, joint, message))

    def history(self) -> tuple[HistoryEntry, ...]:
        """Return the last ticks, oldest first."""
        first = self.tick - len(self._ticks)
        return tuple(
            HistoryEntry(sample, frozen(self._sent[(first + i) % self._size]), Fault(fault), FilterFlag(flags))
            for i, (sample, fault, flags) in enumerate(self._ticks)
        )

    def report(self, end: EndState, fault: Fault, stop: Literal["zero", "brake"] | None) -> RunReport:
        """Return the report of the run so far."""
        counts = self._safety.counts - self._counts_before
        flag_counts = {FilterFlag(1 << bit).name or "": tuple(row.tolist()) for bit, row in enumerate(counts)}
        builder = self._builder
        return RunReport(
            end=end,
            fault=fault,
            stop=stop,
            ticks=self.tick,
            held_ticks=self.held_ticks,
            stop_ticks=self.stop_ticks,
            overruns=self.overruns,
            duration=self.tick * self._safety.dt,
            flag_counts=MappingProxyType(flag_counts),
            events=tuple(self._events),
            events_dropped=self._dropped,
            log=None if builder is None or builder.count == 0 else builder.finish(),
        )
