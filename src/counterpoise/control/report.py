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


@dataclass(frozen=True, slots=True)
class PlateLoss:
    """A time in which a law that closes a loop on the plate went on without it.

    Attributes:
        begin: When it began [s], from the start of the run.
        end: When torque feedback resumed, or the last tick before the stop where it did not [s].
        resumed: Whether it resumed.
        reason: Why the plate could not be used.
    """

    begin: float
    end: float
    resumed: bool
    reason: str

    @property
    def span(self) -> str:
        """From when to when, in words."""
        return f"from {self.begin:.4g} s to {'' if self.resumed else 'the end at '}{self.end:.4g} s"


@dataclass(frozen=True, slots=True, eq=False)
class RunReport(PublishedData):
    """The whole run.

    Attributes:
        end: How it ended.
        fault: Why it was stopped; Fault.NONE where it was not.
        stop: What the plant was told to do in the end, "zero" or "brake"; None where it was kept going.
        ticks: Ticks in all, those of the stop included.
        held_ticks: Ticks before the stop on which the torque of the tick before was sent again, for want of a good
            sample or of a torque that is one.
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

    @property
    def driven(self) -> float:
        """Nominal time of the ticks before the stop [s]."""
        return self.duration * (self.ticks - self.stop_ticks) / max(self.ticks, 1)

    @property
    def plate_losses(self) -> tuple[PlateLoss, ...]:
        """When torque feedback was lost, by the events that were kept: from "plate_lost" to "plate_back" or the end."""
        losses: list[PlateLoss] = []
        lost: Event | None = None
        for event in self.events:
            if event.kind == "plate_lost":
                lost = event
            elif event.kind == "plate_back" and lost is not None:
                losses.append(PlateLoss(lost.time, event.time, True, lost.message))
                lost = None
        if lost is not None:
            losses.append(PlateLoss(lost.time, max(lost.time, self.driven), False, lost.message))
        return tuple(losses)

    def plate_text(self) -> str:
        """Say from when to when torque feedback was lost, and why; "" where it was not."""
        losses = self.plate_losses
        if not losses:
            return ""
        if len(losses) == 1:
            return f"torque feedback was lost {losses[0].span}: {losses[0].reason}"
        total = sum(loss.end - loss.begin for loss in losses)
        return (
            f"torque feedback was lost {len(losses)} times, for {total:.4g} s in all; first {losses[0].span}: "
            f"{losses[0].reason}; last {losses[-1].span}: {losses[-1].reason}"
        )


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
