"""Finding the smallest gain at which a plant oscillates: upwards in steps, then by halving."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .probe import Probed

GROWTH = 1.5
"""Factor from one gain to the next on the way up."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Where oscillation starts.

    Attributes:
        gain: Smallest gain that was seen to oscillate; inf where none was.
        tried: Largest gain that was tried.
        probed: What the probe showed there; None where nothing oscillated.
    """

    gain: float
    tried: float
    probed: Probed | None

    def share(self, share: float) -> float:
        """Return a share of the limit, or of the largest gain that was tried where there is no limit."""
        return share * (self.gain if math.isfinite(self.gain) else self.tried)


def oscillation_limit(
    probe: Callable[[float], Probed], least: float, most: float, resolution: float, growth: float = GROWTH
) -> Limit:
    """Return the smallest unstable gain between two bounds.

    Gains grow from ``least`` until one is unstable; between that and the last stable one the limit is halved on a
    logarithmic scale. On the way up no gain is skipped by more than ``growth``: a real plant is never thrown far beyond
    its limit.

    Args:
        probe: Tries a gain.
        least: First gain tried. Where it is unstable, smaller ones are tried by dividing, ten times at most.
        most: Largest gain tried.
        resolution: Ratio, less 1, to which the limit is found.
        growth: Factor on the way up.
    """
    gain, shown = least, probe(least)
    for _ in range(10):
        if shown.stable or gain <= 0.0:
            break
        above, above_shown = gain, shown
        gain /= growth
        shown = probe(gain)
        if shown.stable:
            return _between(probe, gain, above, above_shown, resolution)
    if not shown.stable:
        return Limit(gain, least, shown)
    while gain < most:
        below = gain
        gain = min(gain * growth, most)
        shown = probe(gain)
        if not shown.stable:
            return _between(probe, below, gain, shown, resolution)
    return Limit(math.inf, gain, None)


def _between(probe: Callable[[float], Probed], below: float, above: float, shown: Probed, resolution: float) -> Limit:
    tried = above
    while above / below > 1.0 + resolution:
        middle = math.sqrt(below * above)
        seen = probe(middle)
        if seen.stable:
            below = middle
        else:
            above, shown = middle, seen
    return Limit(above, tried, shown)
