"""How findings are worded: lists of names, numbers with their unit."""

from __future__ import annotations

from collections.abc import Sequence

PLATE_CHANNELS = ("plate fx", "plate fy", "plate fz", "plate mx", "plate my", "plate mz")
"""Names of the plate's channels in findings."""
MOST_NAMES = 8


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: "a", "a and b", "a, b and 3 others"."""
    shown = list(names)
    if len(shown) > MOST_NAMES:
        shown = [*shown[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def short(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:.3g}"


def spread(value: float) -> str:
    """Return a standard deviation with two digits."""
    return f"{value:.2g}"


def percent(share: float) -> str:
    """Return a share as a percentage with as many digits as matter."""
    return f"{100.0 * share:.2g} %" if share < 0.1 else f"{100.0 * share:.0f} %"


def times(count: int) -> str:
    """Return how often: "once", "twice", "5 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
