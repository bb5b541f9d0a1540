"""What a reading costs beforehand: how much log evidence a fault must bring before it is believed.

Chosen once, on simulated training recordings (seeds 0 to 999 of studies/doctor_faults.py), so that sound recordings
raise no alarm; judged on others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .reading import Reading

AMBIGUOUS = 5.0
"""Log evidence by which another explanation must be worse to be ruled out: odds of 150 to 1."""
SIGN = 5.0
"""One joint's effort or position of the other sign."""
ALL_SIGNS = 6.0
"""All efforts of the other sign: one convention, not n faults."""
ORDER = 6.0
"""Two channels exchanged."""
GAIN = 6.0
"""One joint's effort off by a factor."""
EFFORT_OFFSET = 6.0
"""One joint's effort off by a constant."""
UNIT = 6.0
"""All positions in degrees, or all efforts in a unit of their own."""
OPEN_FACTOR = 1.5
"""Each factor that is open because of that."""
GAIN_SPREAD = 0.7
"""Standard deviation of the log of a wrong gain: a factor of two."""
OPEN_SPREAD = 2.5
"""The same of an open factor: torque constants times gear ratios lie between 1 and 100."""
MOUNT = 6.0
"""Another mounting."""
PAYLOAD = 6.0
"""A payload that the model lacks."""
COMPENSATED = 6.0
"""Gravity is not in the efforts."""
SPRUNG = 6.0
"""A spring, counterbalance or cable on one joint."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Counts faults of readings of one recording.

    Attributes:
        start: The reading that believes the log in everything.
        alive: Joints whose efforts are alive.
    """

    start: Reading
    alive: tuple[int, ...]

    def __call__(self, reading: Reading) -> float:
        """Return the log evidence that a reading must bring over the one that believes the log."""
        start = self.start
        flipped = sum(reading.effort_factor[joint] * start.effort_factor[joint] < 0.0 for joint in self.alive)
        upright = len(self.alive) - flipped
        total = min(flipped * SIGN, ALL_SIGNS + upright * SIGN)
        total += SIGN * sum(
            new * old < 0.0 for new, old in zip(reading.position_factor, start.position_factor, strict=True)
        )
        if any(
            abs(abs(new / old) - 1.0) > 1e-9
            for new, old in zip(reading.position_factor, start.position_factor, strict=True)
        ):
            total += UNIT
        total += self.of_gains(reading)
        if reading.free_gain:
            total += OPEN_FACTOR * len(self.alive) + (0.0 if start.free_gain else UNIT)
        else:
            total += GAIN * sum(abs(log_gain) > 1e-9 for log_gain in self._log_gains(reading))
        total += ORDER * exchanges(reading.position_from, reading.effort_from)
        total += (
            EFFORT_OFFSET * len(reading.offset)
            + SPRUNG * len(reading.sprung)
            + PAYLOAD * len(reading.loaded)
            + COMPENSATED * (reading.compensated != start.compensated)
        )
        return total + MOUNT * (reading.gravity_base != start.gravity_base)

    def kinds(self, reading: Reading) -> int:
        """Return how many different kinds of fault a reading assumes."""
        start = self.start
        factors = zip(
            (*reading.effort_factor, *reading.position_factor),
            (*start.effort_factor, *start.position_factor),
            strict=True,
        )
        assumed = (
            any(new * old < 0.0 for new, old in factors),
            exchanges(reading.position_from, reading.effort_from) > 0,
            any(abs(log_gain) > 1e-9 for log_gain in self._log_gains(reading)) or reading.free_gain,
            {abs(factor) for factor in reading.position_factor} != {abs(factor) for factor in start.position_factor},
            bool(reading.offset),
            bool(reading.sprung),
            bool(reading.loaded),
            reading.gravity_base != start.gravity_base,
            reading.compensated != start.compensated,
        )
        return sum(assumed)

    def of_gains(self, reading: Reading) -> float:
        """Return the part that grows with the size of wrong or open gains."""
        spread = OPEN_SPREAD if reading.free_gain else GAIN_SPREAD
        return sum(0.5 * (log_gain / spread) ** 2 for log_gain in self._log_gains(reading))

    def _log_gains(self, reading: Reading) -> list[float]:
        start = self.start
        return [math.log(abs(reading.effort_factor[joint] / start.effort_factor[joint])) for joint in self.alive]


def exchanges(position_from: tuple[int, ...], effort_from: tuple[int, ...]) -> int:
    """Return the least number of exchanges: of whole joints, of positions alone and of efforts alone."""
    apart = _transpositions(position_from) + _transpositions(effort_from)
    back = {channel: joint for joint, channel in enumerate(position_from)}
    relative = tuple(back[channel] for channel in effort_from)
    together = min(_transpositions(position_from), _transpositions(effort_from)) + _transpositions(relative)
    return min(apart, together)


def _transpositions(order: tuple[int, ...]) -> int:
    seen: set[int] = set()
    cycles = 0
    for begin in range(len(order)):
        at = begin
        cycles += at not in seen
        while at not in seen:
            seen.add(at)
            at = order[at]
    return len(order) - cycles
