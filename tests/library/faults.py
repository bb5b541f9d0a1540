"""Faults put between a plant and its controller: what goes wrong on buses, encoders, plates and in laws."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag

Corrupt = Callable[[Sample, int], Any]
"""Makes the sample that is delivered of the true one and the number of ticks since the fault began."""


class FaultyPlant:
    """A plant whose samples go through ``corrupt`` from tick ``begin`` on."""

    def __init__(
        self, plant: Any, corrupt: Corrupt, *, begin: int = 100, write: Callable[[int], None] | None = None
    ) -> None:
        self.plant = plant
        self.corrupt = corrupt
        self.begin = begin
        self.fail_write = write
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plant, name)

    def __enter__(self) -> Self:
        self.plant.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.plant.__exit__(kind, error, trace)

    def read(self) -> Any:
        self.reads += 1
        since = self.reads - self.begin
        sample = self.plant.read()
        return self.corrupt(sample, since) if since >= 0 else self.watch(sample)

    def watch(self, sample: Sample) -> Sample:
        """Let the fault see good samples too: some repeat them later."""
        seen = getattr(self.corrupt, "see", None)
        if seen is not None:
            seen(sample)
        return sample

    def write(self, tau: Array) -> Array:
        if self.fail_write is not None:
            self.fail_write(self.reads - self.begin)
        return self.plant.write(tau)


class Remembering:
    """A fault that delivers samples of the past; ``delay(since)`` says how many ticks old."""

    def __init__(self, delay: Callable[[int], int]) -> None:
        self.delay = delay
        self.past: deque[Sample] = deque(maxlen=2000)

    def see(self, sample: Sample) -> None:
        self.past.append(sample)

    def __call__(self, sample: Sample, since: int) -> Sample:
        self.past.append(sample)
        return self.past[-1 - self.delay(since)]


def good(sample: Sample, since: int) -> Sample:
    return sample


def for_ticks(ticks: int, corrupt: Corrupt) -> Corrupt:
    """Let a fault pass after some ticks."""
    return lambda sample, since: corrupt(sample, since) if since < ticks else sample


def dropout(ticks: float) -> Remembering:
    """Deliver the last sample again and again."""
    return Remembering(lambda since: since + 1 if since < ticks else 0)


def latency(ticks: int) -> Remembering:
    """Deliver samples late from now on; until the queue has filled, the last one is repeated."""
    return Remembering(lambda since: min(since + 1, ticks))


class GrowingQueue:
    """Samples come faster than they are taken: every tick the one delivered is a quarter of a period older."""

    def __init__(self) -> None:
        self.past: deque[Sample] = deque(maxlen=2000)

    def see(self, sample: Sample) -> None:
        self.past.append(sample)

    def __call__(self, sample: Sample, since: int) -> Sample:
        self.past.append(sample)
        whole, part = divmod(0.25 * (since + 1), 1.0)
        newer, older = self.past[-1 - int(whole)], self.past[-2 - int(whole)]
        return replace(
            newer,
            time=(1.0 - part) * newer.time + part * older.time,
            q=(1.0 - part) * newer.q + part * older.q,
            dq=(1.0 - part) * newer.dq + part * older.dq,
        )


def duplicates(every: int) -> Remembering:
    """Deliver every so many-th sample twice, in place of the one after it."""
    return Remembering(lambda since: 1 if since % every == 0 else 0)


def reordering(every: int, dt: float) -> Corrupt:
    """Swap two neighbours out of every ``every``: a sample from the next tick first (predicted), then the older one."""

    def swap(sample: Sample, since: int) -> Sample:
        if since % every == 0:
            return replace(sample, time=sample.time + dt, q=sample.q + dt * sample.dq)
        if since % every == 1:
            return replace(sample, time=sample.time - dt, q=sample.q - dt * sample.dq)
        return sample

    return swap


def jitter(share: float, dt: float) -> Corrupt:
    """Shift the time stamps at random by up to a share of the period."""
    rng = np.random.default_rng(5)
    return lambda sample, since: replace(sample, time=sample.time + share * dt * rng.uniform(-1.0, 1.0))


def stuck() -> Corrupt:
    """Repeat all readings with advancing time stamps."""
    kept: list[Sample] = []

    def repeat(sample: Sample, since: int) -> Sample:
        kept.append(sample)
        first = kept[0]
        return replace(first, time=sample.time)

    return repeat


def stuck_joint(joint: int) -> Corrupt:
    """Repeat the readings of one encoder."""
    kept: list[Sample] = []

    def repeat(sample: Sample, since: int) -> Sample:
        kept.append(sample)
        q, dq = sample.q.copy(), sample.dq.copy()
        q[joint], dq[joint] = kept[0].q[joint], kept[0].dq[joint]
        return replace(sample, q=q, dq=dq)

    return repeat


def changed(name: str, joint: int, change: Callable[[float], float]) -> Corrupt:
    """Change one entry of q, dq, tau or wrench."""

    def corrupt(sample: Sample, since: int) -> Sample:
        values = getattr(sample, name).copy()
        values[joint] = change(values[joint])
        return replace(sample, **{name: values})

    return corrupt


def drift(name: str, joint: int, step: float) -> Corrupt:
    """Let one entry of q, dq, tau or wrench drift away by ``step`` a tick."""
    return lambda sample, since: changed(name, joint, lambda value: value + step * since)(sample, since)


def flagged(flag: SampleFlag) -> Corrupt:
    """Let the plant mark its samples itself."""
    return lambda sample, since: replace(sample, flags=sample.flags | flag)


def leap(seconds: float) -> Corrupt:
    """Let the plant's clock leap."""
    return lambda sample, since: replace(sample, time=sample.time + seconds)


def unplugged(sample: Sample, since: int) -> Sample:
    raise OSError("no such device")


def no_sample(sample: Sample, since: int) -> Any:
    return None


def single_precision(sample: Sample, since: int) -> Sample:
    return replace(sample, q=sample.q.astype(np.float32))
