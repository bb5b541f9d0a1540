"""The step of a channel: how finely its converter, its encoder or its file's digits resolve."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array

ROUNDING = 1e-9
"""Differences below this share of a channel's range are rounding of the file, not steps."""
WHOLE = 0.1
"""A multiple counts as whole when it is this close to a whole number."""
MOST_VALUES = 200_000
"""Values that are looked at; more would not make the step clearer."""


def resolution(values: Array) -> float:
    """Return the step that a channel's values are multiples of, 0 where they are not of any step that shows.

    Differences of neighbouring distinct values are whole multiples of the step. The smallest of them is tried, refined
    by the others, and refused when the others are no multiples of it, as for a signal that was never counted.

    Args:
        values: A channel in any unit, shape (k,); what is not finite is left out.

    Returns:
        The step in the channel's unit.
    """
    finite = values[np.isfinite(values)]
    if len(finite) > MOST_VALUES:
        finite = finite[:MOST_VALUES]
    levels = np.unique(finite)
    if len(levels) < 2:
        return 0.0
    span = float(levels[-1] - levels[0])
    gaps = np.diff(levels)
    gaps = gaps[gaps > ROUNDING * max(span, float(np.abs(levels).max()))]
    if len(gaps) == 0:
        return 0.0
    step = float(gaps.min())
    near = gaps[gaps < 20.5 * step]
    multiples = np.round(near / step)
    step = float(near.sum() / multiples.sum())
    near = gaps[gaps < 20.5 * step]
    off = np.abs(near / step - np.round(near / step))
    # Of a signal that was never counted, gaps spread evenly between multiples, and few lie near the smallest one.
    counted = len(near) >= 0.5 * len(gaps) and float(np.mean(off < WHOLE)) > 0.9
    return step if counted else 0.0


def hop_noise(values: Array) -> float:
    """Return the standard deviation of what changes from sample to sample, robust against motion and jumps.

    Third differences take slow signals away; of white noise of deviation σ they have deviation √20 σ.

    Args:
        values: An evenly sampled channel, shape (k,); what is not finite is left out.
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 8:
        return 0.0
    thirds = np.diff(finite, 3)
    return float(1.4826 * np.median(np.abs(thirds)) / np.sqrt(20.0))
