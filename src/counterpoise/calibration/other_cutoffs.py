"""How far a result hangs on the cutoff of the low-pass: held-out errors at half and at twice of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.log import Log
from .check import HeldOut
from .cutoff import MOST_OF_RATE
from .moving import moving_samples
from .samples import Samples
from .statistics import root_mean_square
from .weighted import WeightedFit

CUTOFF_MATTERS = 1.2
"""Change of a held-out error at half or twice the cutoff from which the result is said to hang on it."""


def at_other_cutoffs(
    robot: Robot, log: Log, samples: Samples, check: HeldOut, fit: Callable[[Samples], WeightedFit]
) -> str:
    """Say how the held-out errors change where the data are filtered at half and at twice the cutoff.

    Args:
        robot: The robot.
        log: The recording.
        samples: Its samples at the chosen cutoff.
        check: The held-out check at that cutoff.
        fit: Fits samples.
    """
    held = samples[check.held]
    trained = ~np.isin(samples.time, held.time)
    told, worst = [], 1.0
    for factor, words in ((0.5, "half"), (2.0, "twice")):
        other = min(factor * samples.cutoff, MOST_OF_RATE * samples.rate)
        try:
            others = moving_samples(robot, log, cutoff=other)
            nearest = np.clip(np.searchsorted(samples.time, others.time), 0, len(samples) - 1)
            fitted = fit(others[trained[nearest]])
        except InputError:  # too short for a lower cutoff
            continue
        missed = root_mean_square(held.tau[:, fitted.columns.active] - fitted.columns.predict(held, fitted.x))
        ratio = missed / np.maximum(check.rms, 1e-6 * root_mean_square(held.tau[:, fitted.columns.active]) + 1e-300)
        worst = max(worst, float(np.nanmax(ratio)), 1.0 / float(np.nanmin(ratio)))
        told.append(f"{float(np.nanmedian(ratio)):.2f} times at {words} the cutoff ({other:.2g} Hz)")
    if not told:
        return "held-out errors at other cutoffs could not be compared: the recording is too short"
    hangs = (
        f"; one joint's changes by {worst - 1.0:.0%}: the result hangs on the cutoff" if worst > CUTOFF_MATTERS else ""
    )
    return f"held-out errors are {' and '.join(told)}, as the median joint{hangs}"
