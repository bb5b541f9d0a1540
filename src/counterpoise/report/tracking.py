"""How well a run followed its reference: a few numbers per joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..control.report import RunReport
from ..description.frozen import Array
from ..errors import InputError

FOLLOWS = 0.3
"""A joint follows its reference when its rms error is below this share of the reference's own rms motion."""


@dataclass(frozen=True, slots=True)
class JointTracking:
    """One joint of a run.

    Attributes:
        name: The joint.
        rms: Root mean square of the tracking error [rad or m].
        largest: Largest tracking error [rad or m].
        motion: Root mean square of the reference about its own mean [rad or m]; 0 for a joint that is to stay.
        peak_effort: Largest torque that was sent [N m or N].
        share: ... as a share of the effort limit.
        saturated: Ticks on which the effort limit cut the torque.
        rate_limited: Ticks on which the limit of its rate of change did.
    """

    name: str
    rms: float
    largest: float
    motion: float
    peak_effort: float
    share: float
    saturated: int
    rate_limited: int

    @property
    def follows(self) -> bool:
        """Whether the joint did what was asked for, more or less; one that was to stay always does."""
        return self.motion == 0.0 or self.rms < FOLLOWS * self.motion


def tracking(report: RunReport, desired: Array, effort_limit: Array, skip: int = 0) -> tuple[JointTracking, ...]:
    """Return how each joint of a recorded run followed.

    Args:
        report: The run; it must have been recorded.
        desired: What was desired at each of its first k samples [rad or m], shape (k, n).
        effort_limit: Largest torques [N m or N], shape (n,).
        skip: Samples at the start that do not count for the errors, because the law is still being faded in.

    Raises:
        InputError: Nothing was recorded, or too little.
    """
    log = report.log
    if log is None or log.sent is None or len(desired) <= skip:
        raise InputError("too little was recorded to judge the tracking")
    wanted = desired[skip:]
    error = wanted - log.q[skip : len(desired)]
    rms, largest = np.sqrt(np.mean(error**2, axis=0)), np.max(np.abs(error), axis=0)
    motion = np.std(wanted, axis=0)
    peak = np.max(np.abs(log.sent), axis=0)
    counts = report.flag_counts
    return tuple(
        JointTracking(
            name=name,
            rms=float(rms[joint]),
            largest=float(largest[joint]),
            motion=float(motion[joint]) if motion[joint] > 1e-9 else 0.0,
            peak_effort=float(peak[joint]),
            share=float(peak[joint] / effort_limit[joint]),
            saturated=counts["SATURATED"][joint],
            rate_limited=counts["RATE_LIMITED"][joint],
        )
        for joint, name in enumerate(log.joint_names)
    )
