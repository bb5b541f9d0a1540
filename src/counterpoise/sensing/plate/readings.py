"""A plate's readings in a log: that there are any, and which gaps may be bridged by a straight line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...foundation import Array
from ...recording import Log, Motion

Mask = npt.NDArray[np.bool_]

BRIDGED = 0.2
"""Longest gap that is bridged, in periods of the low-pass. A straight line across it misses a motion of a third of the
cutoff by at most 2 % of its swing; a longer one is left out together with what the low-pass makes of it."""


def plate_readings(log: Log | Motion) -> Array:
    """Return the plate's readings, force first [N, N m], shape (k, 6): raw ones of a log, low-passed ones of a motion.

    Raises:
        InputError: The log has none.
    """
    if log.wrench is None:
        raise InputError(
            "the log has no plate readings (wrench: fx, fy, fz, mx, my, mz); record the plate along with the joints, "
            "or name its columns in a mapping ([wrench] columns)"
        )
    return log.wrench


def short_gaps(time: Array, missing: Mask, cutoff: float) -> Mask:
    """Say which missing readings lie in gaps that may be bridged, shape (k,).

    Scattered lost packets would otherwise cost a whole memory of the filter each, and together the recording.

    Args:
        time: Times [s], shape (k,), in order; NaN where unknown.
        missing: Which readings are missing, shape (k,).
        cutoff: Of the low-pass that follows [Hz].
    """
    known = time[~missing & np.isfinite(time)]
    short = np.zeros(len(time), dtype=bool)
    asked = np.flatnonzero(missing & np.isfinite(time))
    if len(known) < 2 or len(asked) == 0:
        return short
    after = np.searchsorted(known, time[asked])
    inside = (after > 0) & (after < len(known))
    after = np.clip(after, 1, len(known) - 1)
    short[asked] = inside & (known[after] - known[after - 1] <= BRIDGED / cutoff)
    return short
