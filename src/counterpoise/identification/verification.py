"""Verification of a calibration against a fresh recording: does it still predict what the arm needs, and what changed?

Changes that are distinguished are the weight that each joint carries, constant offsets, and a load at the tip
(``change_since``). The errors of the calibration on the fresh recording are put on top of its own rigid-body efforts,
and these are fitted again with the calibrated masses as prior (weighted.py). So friction that has changed, and all that
looks like weight and is none, is distinguished from a change of weight as in a calibration, with its uncertainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, refuse_other_joints
from ..errors import InputError
from ..fitting import (
    ALL,
    CERTAIN,
    SAME_POSE,
    CadPrior,
    Samples,
    StaticPoses,
    Terms,
    all_joints,
    deviation,
    root_mean_square,
    samples_of_poses,
)
from ..foundation import Array, Check, PublishedData, Verdict, frozen
from ..recording import Log
from .data_choice import Stands, data_kind, stands_of
from .estimate import COMMAND_UNITS
from .fit import Evidence, Fit
from .identity import data_fingerprint, no_torques
from .moving import moving_samples, prepare
from .runs import FittedRun
from .statements import Sag, tip_sag, tips
from .still_poses import poses_from_log, poses_from_rows, without_friction
from .weighted import WeightedFit, weighted_fit
from .workspace import changing_gravity

EXPLAINS = 0.6
"""Share of the changed weight (mean square, joints by their own uncertainty) that a load at a tip must explain to be
named."""


@dataclass(frozen=True, slots=True)
class TipLoad:
    """A load at a tip that explains a change of weight.

    Attributes:
        link: The tip's link.
        mass: What it weighs more than at the calibration [kg]; negative: less.
        std: Its standard deviation [kg].
    """

    link: str
    mass: float
    std: float


@dataclass(frozen=True, slots=True, eq=False)
class WeightChange:
    """What has changed, in the unit of the efforts; shapes (n,), NaN without measured effort.

    Attributes:
        weight: Change of the gravity effort, root mean square over the recorded poses, constant part apart.
        weight_error: How far that may be off (95 %).
        offset: Change of the constant part, without what the load pulls.
        offset_error: How far that may be off (95 %).
        load: A load at a tip that explains it; None where none does.
    """

    weight: Array
    weight_error: Array
    offset: Array
    offset_error: Array
    load: TipLoad | None


def change_since(fit: Fit, samples: Samples, stands: Stands | None = None) -> WeightChange:
    """Return what has changed since a calibration.

    Args:
        fit: The calibration.
        samples: A fresh recording, within the calibrated range.
        stands: Its poses at rest, where they are looked at beside a motion.
    """
    model, gains = fit.model, fit.model.gains(fit.x)
    robot = fit.robot
    moves = bool(np.any(samples.dq))
    terms = Terms(
        bodies=model.terms.bodies if moves else "gravity",
        offset=(ALL,),
        coulomb=(ALL,) if np.any(model.actuator_direction(samples)) else (),
        viscous=(ALL,) if moves else (),
        rotor=(ALL,) if moves else (),
    )
    moved = _with_own_bodies(fit, samples)
    runs = [FittedRun(moved)]
    if stands is not None:
        runs = replace(stands, poses=_with_own_bodies(fit, stands.poses)).beside(moved)
    prior = CadPrior(weight=1.0) if float(robot.tree.mass.sum()) > 0.0 else None
    fitted = weighted_fit(robot, runs, terms=terms, prior=prior)
    return _weight_change(robot, fitted, gains)


def _with_own_bodies(fit: Fit, samples: Samples) -> Samples:
    """Return samples whose efforts are those of the calibrated bodies alone, and the calibration's errors on top."""
    model = fit.model
    rigid = np.zeros(len(model.names))
    rigid[model.groups["bodies"]] = fit.x[model.groups["bodies"]]
    rigid[model.groups["gain"]] = 1.0
    efforts = np.full(samples.q.shape, np.nan)
    efforts[:, model.active] = model.predict(samples, rigid)
    return replace(samples, tau=efforts + (samples.tau - fit.predict(samples)) / model.gains(fit.x))


def _weight_change(robot: Robot, fitted: WeightedFit, gains: Array) -> WeightChange:
    posterior, active = fitted.posterior, fitted.model.active
    poses = posterior.poses
    with_offset, around = posterior.load(poses, offsets=True)
    load, deviation = posterior.load(poses)
    weight = load - robot.gravity(poses)[:, active]
    # Over a small range weight and offset are one: what is constant is told by itself.
    constant = np.mean(with_offset - robot.gravity(poses)[:, active], axis=0)
    varying = weight - weight.mean(axis=0)
    scale = np.abs(gains[active])
    named = _tip_load(robot, poses, active, with_offset - robot.gravity(poses)[:, active], np.hypot(deviation, around))
    pulled = np.zeros(len(constant))
    if named is not None:
        carrying = robot.with_payload(abs(named.mass), link=named.link)
        pulled = np.sign(named.mass) * np.mean((carrying.gravity(poses) - robot.gravity(poses))[:, active], axis=0)
    return WeightChange(
        weight=all_joints(scale * root_mean_square(varying), active),
        weight_error=all_joints(scale * CERTAIN * root_mean_square(np.minimum(deviation, around)), active),
        offset=all_joints(scale * (constant - pulled), active),
        offset_error=all_joints(scale * CERTAIN * root_mean_square(around), active),
        load=named,
    )


def _tip_load(robot: Robot, q: Array, active: npt.NDArray[np.bool_], change: Array, deviation: Array) -> TipLoad | None:
    """Return the load at a tip that explains changed holding efforts best; None where none does."""
    found: list[tuple[float, TipLoad]] = []
    weights = 1.0 / np.maximum(root_mean_square(deviation), 1e-12)
    whole = float(np.sum((change * weights) ** 2))
    for tip in tips(robot):
        lever = (robot.with_payload(1.0, link=tip).gravity(q) - robot.gravity(q))[:, active] * weights
        power = float(np.sum(lever**2))
        if not power > 0.0:
            continue
        mass = float(np.sum(lever * change * weights)) / power
        explained = mass**2 * power / max(whole, 1e-300)
        # Errors of neighbouring poses are alike: the recording counts as one measurement per joint.
        found.append((explained, TipLoad(tip, mass, float(np.sqrt(len(q) / power)))))
    if not found:
        return None
    explained, best = max(found, key=lambda pair: pair[0])
    return best if explained >= EXPLAINS and abs(best.mass) > 2.0 * best.std else None


LEAST_INSIDE = 8
"""Fewest samples within the calibrated range that can be judged; of poses at rest, LEAST_POSES."""
LEAST_POSES = 3
OUTSIDE = 0.05
"""A joint farther outside the calibrated range than this share of it is somewhere new."""


@dataclass(frozen=True, slots=True, eq=False)
class Verification(PublishedData):
    """A calibration against a recording that it has not seen. Arrays of shape (n,), NaN without measured effort.

    Attributes:
        fit: The calibration.
        samples: Number of poses or samples.
        rms: Error of the calibration, in its units, friction included.
        described_rms: Error of the description, without friction and offset.
        signal: Standard deviation of the measured efforts.
        change: What has changed since the calibration.
        allowed: What the gravity effort may have changed by: what was promised, and what this recording leaves open.
        elsewhere: What has changed outside the calibrated range, of a calibration that is good to extrapolate; None of
            others, and where too few samples lie there.
        sag: What the errors mean at the tip [m].
        outside: Share of the samples outside the joint ranges of the calibration; joints that change no gravity effort
            do not count.
        verdict: Whether the calibration still holds.
        evidence: Samples for charts.
    """

    fit: Fit
    samples: int
    rms: Array
    described_rms: Array
    signal: Array
    change: WeightChange
    allowed: Array
    elsewhere: WeightChange | None
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

    A recording is used as the calibration's own was: its poses at rest, its motion, or both where it has both. What
    counts is the weight that every joint carries, told from friction, offsets and noise as in a calibration. Samples
    outside the calibrated range are not judged, unless the calibration is good to extrapolate: then by what the joints
    tolerate.

    Args:
        fit: The calibration.
        data: The recording, poses or samples, of the same robot on the same mounting.

    Raises:
        InputError: The data are another robot's, or cannot be used.
    """
    samples, stands = _samples(fit, data)
    predicted = fit.predict(samples)
    measured = np.where(fit.model.active, samples.tau, np.nan)
    if not np.isfinite(measured).any():
        raise InputError("the recording has no effort of a joint that was calibrated")
    described = replace(fit, x=fit.model.described(fit.x)).predict(samples)
    error = measured - predicted
    beyond = _beyond(fit, samples.q)
    known = np.isfinite(error).any(axis=1)
    inside = _change(fit, samples, stands, ~beyond & known)
    far = beyond & known & np.all((samples.q >= fit.robot.lower) & (samples.q <= fit.robot.upper), axis=1)
    extrapolates = any(statement.use == "extrapolate" for statement in fit.statements)
    elsewhere = _change(fit, samples, stands, far) if extrapolates else None
    change = _nothing(fit) if inside is None else inside
    allowed = fit.errors.gravity + change.weight_error
    if fit.units == COMMAND_UNITS:
        sag = Sag.unknown(fit.robot.n)
    else:
        sag = tip_sag(fit.robot, samples.q, error, fit.errors.stiffness)
    active = fit.model.active
    evidence = Evidence.of(samples, measured[:, active], predicted[:, active], described[:, active], ~beyond & known)
    fresh = data_fingerprint(data) != fit.data.sha256
    outside = float(np.mean(beyond))
    verdict = _judge(fit, inside, elsewhere, outside, error, _units(fit, data), fresh=fresh)
    return Verification(
        fit=fit,
        samples=len(samples),
        rms=frozen(root_mean_square(error)),
        described_rms=frozen(root_mean_square(measured - described)),
        signal=frozen(deviation(measured)),
        change=change,
        allowed=frozen(allowed),
        elsewhere=elsewhere,
        sag=sag,
        outside=outside,
        verdict=verdict,
        evidence=evidence,
    )


def _beyond(fit: Fit, q: Array) -> npt.NDArray[np.bool_]:
    """Say which poses lie outside the calibrated range in a joint that changes gravity efforts, shape (k,)."""
    terms, names = fit.model.terms, fit.model.joint_names
    own = {name for term in terms.chosen if term.follows_position for name in terms.joints(term.name, names)}
    counts = changing_gravity(fit.robot) | np.isin(fit.robot.joint_names, sorted(own)) | terms.tilt
    span = np.maximum(fit.data.upper - fit.data.lower, 1e-9)
    away = np.maximum(fit.data.lower - q, q - fit.data.upper) > OUTSIDE * span
    return np.asarray(np.any(away & counts, axis=1))


def _change(fit: Fit, samples: Samples, stands: Stands | None, chosen: npt.NDArray[np.bool_]) -> WeightChange | None:
    """Return what has changed in some of the samples; None where they are too few, or all alike."""
    least = LEAST_INSIDE if np.any(samples.dq) else LEAST_POSES
    if int(chosen.sum()) < least or not np.any(np.ptp(samples.q[chosen], axis=0) > SAME_POSE):
        return None
    return change_since(fit, samples[chosen], stands)


def _units(fit: Fit, data: Log | StaticPoses | Samples) -> list[Check]:
    """Return a failed check where the efforts of calibration and recording are in different units."""
    if not isinstance(data, Log):
        return []
    own = no_torques(data)
    if own == (fit.units == COMMAND_UNITS):
        return []
    kind = "in a unit of their own, or of a guessed size" if own else "torques"
    return [
        Check(
            "units",
            False,
            f"the recording's efforts are {kind}; the calibration is in {fit.units}: they cannot be compared",
        )
    ]


def _nothing(fit: Fit) -> WeightChange:
    unknown = frozen(np.full(fit.robot.n, np.nan))
    return WeightChange(unknown, unknown, unknown, unknown, None)


def _samples(fit: Fit, data: Log | StaticPoses | Samples) -> tuple[Samples, Stands | None]:
    """Return what of the data is compared, and poses at rest that are looked at besides."""
    robot = fit.robot
    refuse_other_joints(data.joint_names, robot, "data")
    if isinstance(data, Samples):
        return data, None
    if isinstance(data, StaticPoses):
        return _of_poses(data), None
    kind = "moving" if fit.data.kind == "moving" else data_kind(data, "auto", None, "weighted")[0]
    if kind == "rows":
        return samples_of_poses(poses_from_rows(robot, data)[0]), None
    if fit.data.kind == "static" or kind == "static":
        return _of_poses(poses_from_log(robot, data).poses), None
    # The friction that was fitted is one over the calibration's own v₀, whatever this recording would suggest.
    preparation = replace(prepare(robot, data, likeliest=False), v0=fit.data.v0)
    samples = moving_samples(robot, data, preparation=preparation)
    return samples, stands_of(robot, data, samples) if kind == "both" else None


def _of_poses(poses: StaticPoses) -> Samples:
    """Return poses as samples: means of pairs where all are pairs, else every one with the side it was reached from."""
    return samples_of_poses(without_friction(poses)[0] if np.all(poses.pair >= 0) else poses)


def _judge(
    fit: Fit,
    change: WeightChange | None,
    elsewhere: WeightChange | None,
    outside: float,
    error: Array,
    units: Sequence[Check],
    *,
    fresh: bool,
) -> Verdict:
    names = fit.robot.joint_names
    stated = bool(np.isfinite(fit.errors.gravity[fit.model.active]).all())
    checks = [
        Check(
            "calibration",
            fit.trusted and stated,
            "the calibration itself is trusted" if fit.trusted and stated else "the calibration itself is not trusted",
        )
    ]
    if not fresh:
        same = "this is the recording that the calibration was made from: it shows nothing new. Verify with another one"
        checks.append(Check("fresh", False, same))
    checks += units
    silent = [
        names[joint] for joint in np.flatnonzero(fit.model.active).tolist() if not np.isfinite(error[:, joint]).any()
    ]
    if silent:
        lacks = f"the recording has no effort of {', '.join(silent)}: nothing shows whether the calibration holds there"
        checks.append(Check("efforts", False, lacks))
    judged = change is not None or elsewhere is not None
    told = "all samples lie within the joint ranges that were calibrated"
    if not judged:
        told = "too few different poses lie within the joint ranges that were calibrated: a few can agree by chance"
    elif outside:
        how = "not judged" if elsewhere is None else "judged by what the joints tolerate"
        told = f"{outside:.0%} of the samples lie outside the joint ranges that were calibrated, and are {how}"
    checks.append(Check("range", judged, told, outside))
    if change is not None and stated:
        promised = "it was promised to"
        checks += [_weight(fit, change, fit.errors.gravity, promised), _constant(fit, change)]
    if elsewhere is not None and stated:
        checks.append(_elsewhere(fit, elsewhere))
    return Verdict(checks)


def _elsewhere(fit: Fit, change: WeightChange) -> Check:
    """Return whether the calibration is as right outside its range as the joints tolerate."""
    for check in (_weight(fit, change, fit.errors.tolerated, "it tolerates"), _constant(fit, change)):
        if not check.passed:
            return replace(check, name="elsewhere", sentence=f"outside the calibrated range {check.sentence}")
    return Check("elsewhere", True, "outside the calibrated range no joint is off by more than it tolerates")


def _weight(fit: Fit, change: WeightChange, margin: Array, promised: str) -> Check:
    """Return whether every joint carries the weight that the calibration says.

    Args:
        fit: The calibration.
        change: What has changed.
        margin: What the gravity efforts may be off by, shape (n,).
        promised: What that is, in words before the number.
    """
    names, allowed = fit.robot.joint_names, margin + change.weight_error
    grown = [joint for joint in range(len(names)) if change.weight[joint] > allowed[joint]]
    if not grown:
        return Check("weight", True, "every joint carries what the calibration promised")
    worst = max(grown, key=lambda joint: float(change.weight[joint]) / max(float(allowed[joint]), 1e-300))
    others = [names[joint] for joint in grown if joint != worst]
    also = f" (also {', '.join(others)})" if others else ""
    what = "another tool, another mounting, or other drives"
    if change.load is not None and fit.units != COMMAND_UNITS:
        more = "more" if change.load.mass > 0.0 else "less"
        what = f"about {abs(change.load.mass):.2g} kg {more} at {change.load.link}, ± {2.0 * change.load.std:.1g}"
    return Check(
        "weight",
        False,
        f"the gravity effort of {names[worst]} is {change.weight[worst]:.3g} {fit.units} off, ± "
        f"{change.weight_error[worst]:.2g}; {promised} {margin[worst]:.3g}{also}: {what}",
        float(change.weight[worst]),
        float(allowed[worst]),
        fit.units,
    )


def _constant(fit: Fit, change: WeightChange) -> Check:
    """Return whether constant offsets are what they were."""
    names = fit.robot.joint_names
    limit = np.maximum(fit.errors.tolerated, fit.errors.gravity) + change.offset_error
    shifted = [joint for joint in range(len(names)) if abs(change.offset[joint]) > limit[joint]]
    if not shifted:
        return Check("constant", True, "no constant effort has changed by more than its joint tolerates")
    worst = max(shifted, key=lambda joint: abs(float(change.offset[joint])) / max(float(limit[joint]), 1e-300))
    others = [names[joint] for joint in shifted if joint != worst]
    also = f" (also {', '.join(others)})" if others else ""
    return Check(
        "constant",
        False,
        f"the effort of {names[worst]} has changed by a constant {change.offset[worst]:.3g} {fit.units}{also}: an "
        "offset or a zero, or a load that pulls alike in all these poses",
        float(abs(change.offset[worst])),
        float(limit[worst]),
        fit.units,
    )
