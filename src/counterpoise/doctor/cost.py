"""What a reading costs beforehand: how much log evidence a fault must bring before it is believed.

Chosen once, on simulated training recordings (seeds 0 to 999 of studies/doctor_faults.py), so that sound recordings
raise no alarm; judged on others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .reading import Reading

SIGN = 8.0
"""One joint's effort or position of the other sign."""
ALL_SIGNS = 10.0
"""All efforts of the other sign: one convention, not n faults."""
ORDER = 10.0
"""Two channels exchanged."""
GAIN = 8.0
"""One joint's effort off by a factor."""
OFFSET = 8.0
"""One joint's effort off by a constant."""
UNIT = 12.0
"""All positions in degrees, or all efforts in a unit of their own."""
OPEN_FACTOR = 1.5
"""Each factor that is open because of that."""
MOUNT = 10.0
PAYLOAD = 10.0
COMPENSATED = 10.0


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
        scaled = sum(
            abs(math.log(abs(new / old))) > 1e-9
            for new, old in zip(reading.effort_factor, start.effort_factor, strict=True)
        )
        if reading.free_gain:
            total += OPEN_FACTOR * len(self.alive) + (0.0 if start.free_gain else UNIT)
        else:
            total += GAIN * scaled
        total += ORDER * exchanges(reading.position_from, reading.effort_from)
        total += OFFSET * len(reading.offset) + PAYLOAD * len(reading.loaded) + COMPENSATED * (reading.compensated != start.compensated)
        return total + MOUNT * (reading.gravity_base != start.gravity_base)


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
