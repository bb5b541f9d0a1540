"""The path that was driven: whether its last part is new, so that a check on it shows anything."""

from __future__ import annotations

import numpy as np

from ..logs.path import EARLIER_SHARE, novelty
from .finding import Consequence, Finding, LogFault
from .prepared import Prepared
from .wording import percent

SAME_PLACE = 0.03
"""Distance from the earlier path below which a pose was seen before: root mean square over the joints, of their ranges.
By chance, paths of six and more joints come this close in one pose of a hundred."""
REPEATED = 0.8
"""Share of the last part that was seen before from which a check on it shows nothing new."""
SENSE = 0.5
"""Correlation of now and then from which the repetition has a sense: forward or back."""
LEAST_TRAVEL = 0.1
"""Range of the joint that moves most from which there is a path [rad or m]."""


def check_path(smooth: Prepared) -> list[Finding]:
    """Say when the last 40 % of the path, by its length, lie where the arm has been before.

    A part held out from the end then tests poses that were trained on. Found: a path that is driven back, a periodic
    one, a second pass over the same poses, at any speed. Not counted: the same positions at other speeds may still tell
    something new about inertia and friction.

    Args:
        smooth: The recording made ready.
    """
    if float(smooth.moved.max(initial=0.0)) < LEAST_TRAVEL:
        return []
    q = smooth.q[smooth.good]
    if len(q) < 20:
        return []
    found = novelty(q)
    share = found.share_repeated(SAME_PLACE)
    if len(found.later) < 10 or share < REPEATED:
        return []
    sense = found.sense(SAME_PLACE)
    how = "lies where the arm has been before"
    if sense < -SENSE:
        how = "is driven back along the first part"
    elif sense > SENSE:
        how = "repeats the first part in the same sense"
    distance = float(np.median(found.distance))
    return [
        Finding(
            LogFault.REPEATED_PATH,
            Consequence.LIMITS,
            (),
            f"The last {percent(1.0 - EARLIER_SHARE)} of the path {how}: {percent(share)} of it lies within "
            f"{percent(SAME_PLACE)} of the joints' ranges of poses passed earlier (median {percent(distance)}).",
            "Do not check a fit on the last part of this recording: hold out a stretch of the path in both passes, or "
            "record another path for the check.",
            {
                "share_repeated": share,
                "median_distance": distance,
                "sense": sense,
                "later_part_from_s": float(smooth.time[smooth.good][found.later[0]]),
                "tolerance": SAME_PLACE,
                "driven_back": bool(sense < -SENSE),
            },
        )
    ]
