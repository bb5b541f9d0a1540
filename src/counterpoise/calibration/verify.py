"""Holding a calibration against a fresh recording: does it still predict what the arm needs?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..description.frozen import Array, PublishedData, frozen
from ..dynamics.inputs import refuse_other_joints
from ..errors import InputError
from ..logs.log import Log
from .data_choice import data_kind
from .estimate import COMMAND_UNITS
from .fit import Evidence, Fit
from .identity import data_fingerprint
from .moving import moving_samples
from .sag import Sag, tip_sag
from .samples import Samples, samples_of_poses
from .static_poses import SAME_POSE, StaticPoses
from .statistics import deviation, mean, root_mean_square
from .still_poses import poses_from_log, poses_from_rows, without_friction
from .verdict import Check, Verdict

GROWN = 2.0
"""An error may have grown to this many times that of the calibration's own check."""
OUTSIDE = 0.05
"""A joint farther outside the calibrated range than this share of it is somewhere new."""


@dataclass(frozen=True, slots=True, eq=False)
class Verification(PublishedData):
    """A calibration against a recording that it has not seen. Arrays of shape (n,), NaN without measured effort.

    Attributes:
        fit: The calibration.
        samples: Number of poses or samples.
        rms: Error of the calibration, in its units.
        described_rms: Error of the description, without friction and offset.
        bias: Mean error: what an offset would take away.
        signal: Standard deviation of the measured efforts.
        allowed: What the error may be.
        sag: What the errors mean at the tip [m].
        outside: Share of the samples outside the joint ranges of the calibration.
        verdict: Whether the calibration still holds.
        evidence: Samples for charts.
    """

    fit: Fit
    samples: int
    rms: Array
    described_rms: Array
    bias: Array
    signal: Array
    allowed: Array
    sag: Sag
    outside: float
    verdict: Verdict
    evidence: Evidence

    @property
    def holds(self) -> bool:
        """Whether the calibration predicts this recording as well as it promised."""
        return self.verdict.trusted


def verify(fit: Fit, data: Log | StaticPoses | Samples) -> Verification:
    """Predict a fresh recording and compare.

    A recording is used as the calibration's own was: its poses at rest, or its motion.

    Args:
        fit: The calibration.
        data: The recording, poses or samples, of the same robot on the same mounting.

    Raises:
        InputError: The data are another robot's, or cannot be used.
    """
    samples = _samples(fit, data)
    predicted = fit.predict(samples)
    measured = np.where(fit.columns.active, samples.tau, np.nan)
    if not np.isfinite(measured).any():
        raise InputError("the recording has no effort of a joint that was calibrated")
    described = replace(fit, x=fit.columns.described(fit.x)).predict(samples)
    error = measured - predicted
    rms = root_mean_square(error)
    allowed = GROWN * fit.heldout_rms
    span = np.maximum(fit.upper - fit.lower, 1e-9)
    beyond = np.maximum(fit.lower - samples.q, samples.q - fit.upper) > OUTSIDE * span
    outside = float(np.mean(np.any(beyond, axis=1)))
    if fit.units == COMMAND_UNITS:
        sag = Sag.unknown(fit.robot.n)
    else:
        sag = tip_sag(fit.robot, samples.q, error, fit.stiffness)
    active = fit.columns.active
    every = np.ones(len(samples), dtype=bool)
    evidence = Evidence.of(samples, measured[:, active], predicted[:, active], described[:, active], every)
    shown = bool(np.any(np.ptp(samples.q, axis=0) > SAME_POSE))
    fresh = data_fingerprint(data) != fit.data_sha256
    return Verification(
        fit=fit,
        samples=len(samples),
        rms=frozen(rms),
        described_rms=frozen(root_mean_square(measured - described)),
        bias=frozen(mean(error)),
        signal=frozen(deviation(measured)),
        allowed=frozen(allowed),
        sag=sag,
        outside=outside,
        verdict=_judge(fit, rms, allowed, mean(error), outside, fresh=fresh, shown=shown),
        evidence=evidence,
    )


def _samples(fit: Fit, data: Log | StaticPoses | Samples) -> Samples:
    robot = fit.robot
    refuse_other_joints(data.joint_names, robot, "data")
    if isinstance(data, Samples):
        return data
    if isinstance(data, StaticPoses):
        return samples_of_poses(without_friction(data)[0])
    if fit.data == "static" and data_kind(data, "auto", None, "weighted")[0] == "rows":
        return samples_of_poses(poses_from_rows(robot, data)[0])
    if fit.data == "static":
        return samples_of_poses(without_friction(poses_from_log(robot, data).poses)[0])
    return moving_samples(robot, data)


def _judge(fit: Fit, rms: Array, allowed: Array, bias: Array, outside: float, *, fresh: bool, shown: bool) -> Verdict:
    names = fit.robot.joint_names
    checks = [
        Check(
            "calibration",
            fit.trusted,
            "the calibration itself is trusted" if fit.trusted else "the calibration itself is not trusted",
        )
    ]
    if not fresh:
        same = "this is the recording that the calibration was made from: it shows nothing new. Verify with another one"
        checks.append(Check("fresh", False, same))
    if not shown:
        checks.append(Check("poses", False, "the recording shows one pose only; one pose can agree by chance"))
    silent = [names[joint] for joint in np.flatnonzero(fit.columns.active & np.isnan(rms)).tolist()]
    if silent:
        lacks = f"the recording has no effort of {', '.join(silent)}: nothing shows whether the calibration holds there"
        checks.append(Check("efforts", False, lacks))
    grown = [joint for joint in range(len(names)) if rms[joint] > allowed[joint]]
    if grown:
        worst = max(grown, key=lambda joint: float(rms[joint] / allowed[joint]))
        share = abs(bias[worst]) / max(float(rms[worst]), 1e-300)
        what = (
            "nearly all of it is constant: an offset or a zero has changed"
            if share > 0.9
            else "it changes with the pose or the motion: another tool, another mounting, or wear"
        )
        others = [names[joint] for joint in grown if joint != worst]
        also = f" (also {', '.join(others)})" if others else ""
        checks.append(
            Check(
                "error",
                False,
                f"the error of {names[worst]} is {rms[worst]:.3g} {fit.units}, at most {allowed[worst]:.3g} was "
                f"promised{also}; {what}",
                float(rms[worst]),
                float(allowed[worst]),
            )
        )
    else:
        checks.append(Check("error", True, "every joint's error is what the calibration promised"))
    checks.append(
        Check(
            "range",
            True,
            f"{outside:.0%} of the samples lie outside the joint ranges that were calibrated"
            if outside
            else "all samples lie within the joint ranges that were calibrated",
            outside,
        )
    )
    return Verdict(tuple(checks))
