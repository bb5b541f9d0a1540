"""A calibration, from a recording to a verdict: which part of it to use, the fit, the held-out check, the judgement.

``at_other_cutoffs`` says how far a result hangs on the cutoff of the low-pass: held-out errors at half and at twice of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..doctor import Consequence, Finding
from ..dynamics import Robot, refuse_other_joints
from ..errors import InputError, listed
from ..fitting import (
    ALL,
    CadPrior,
    Samples,
    StaticPoses,
    Terms,
    better_than_described,
    joined_poses,
    joined_samples,
    require_spread,
    root_mean_square,
    samples_of_poses,
)
from ..foundation import Array
from ..recording import MOST_OF_RATE, Declared, Log
from .data_choice import (
    DATA_CHOICES,
    METHODS,
    DataChoice,
    Method,
    Stands,
    data_kind,
    stands_mostly,
    stands_of,
    told_of,
)
from .earlier import EarlierCalibration
from .estimate import Estimate
from .fit import Fit
from .heldout import HeldOut, check_moving, check_recordings, check_static
from .identity import clock_doubts, data_fingerprint, no_torques, unit_notes
from .load_gains import LoadGains, in_torques_by_load
from .load_posterior import LoadPosterior
from .moving import moving_samples, prepare
from .pose_fit import fit_poses, named_joints, terms_at_rest
from .result import Collected, contradicting, fit_of
from .runs import FittedRun
from .statements import UseName, checked_uses
from .still_poses import arrival_notes, friction_bands, poses_from_log, poses_from_rows, without_friction
from .wam_methods import solve_coupled, solve_iterative
from .weighted import WeightedFit, weighted_fit
from .workspace import separable_offsets

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
        missed = root_mean_square(held.tau[:, fitted.model.active] - fitted.model.predict(held, fitted.x))
        ratio = missed / np.maximum(check.rms, 1e-6 * root_mean_square(held.tau[:, fitted.model.active]) + 1e-300)
        worst = max(worst, float(np.nanmax(ratio)), 1.0 / float(np.nanmin(ratio)))
        told.append(f"{float(np.nanmedian(ratio)):.2f} times at {words} the cutoff ({other:.2g} Hz)")
    if not told:
        return "held-out errors at other cutoffs could not be compared: the recording is too short"
    hangs = (
        f"; one joint's changes by {worst - 1.0:.0%}: the result hangs on the cutoff" if worst > CUTOFF_MATTERS else ""
    )
    return f"held-out errors are {' and '.join(told)}, as the median joint{hangs}"


Progress = Callable[[float, float], None]

LEAST_COMPARED = 40
"""Fewest samples of a joint by which a fit is compared with the description."""
STOOD = 1e-3
"""A joint without measured effort that moved less than this [rad or m] is taken to be locked."""


@dataclass(frozen=True, slots=True, eq=False)
class _Settings:
    """What the caller asked for, checked."""

    robot: Robot
    method: Method
    terms: Terms | None
    prior: CadPrior | None
    consistent: bool
    split: str
    progress: Progress
    earlier: EarlierCalibration | None = None


def calibrate(
    robot: Robot,
    data: Log | StaticPoses | Samples,
    method: Method = "weighted",
    *,
    use: DataChoice = "auto",
    terms: Terms | None = None,
    prior: CadPrior | Literal["cad"] | None = "cad",
    consistent: bool = False,
    split: str = "path",
    cutoff: float | None = None,
    loaded: Sequence[tuple[Robot, Log]] = (),
    also: Sequence[Log] = (),
    own_offsets: bool = False,
    start_from: Fit | None = None,
    findings: Sequence[Finding] | None = None,
    uses: Sequence[UseName] = ("float",),
    stiffness: npt.ArrayLike | None = None,
    serial: str = "",
    tool: str = "",
    progress: Progress | None = None,
) -> Fit:
    """Calibrate a robot from a recording and say what the result is good for.

    Everything is fitted; then parts of the data are held out and predicted from the rest.

    Args:
        robot: The robot as described and mounted.
        data: A recording, poses at rest, or samples of a motion.
        method: "weighted" for any arm and any data; "iterative" and "coupled" are the WAM document's, for poses at rest
            and rotary joints.
        use: What of a recording is fitted: its poses at rest ("static"), its rows, each of which is a pose at rest
            ("rows"), or its motion ("moving"); "auto" takes poses and motion together where there are both, and says
            why.
        terms: What is fitted; None for weights and offsets at rest, inertias, friction and rotors besides for a motion,
            and springs and counterbalances where the data show them.
        prior: Towards the description's masses: "cad" as far as the data support them, a CadPrior with a weight of
            its own, None to trust the data alone. Only "weighted" has one.
        consistent: Of a motion, return inertias that real bodies can have, the nearest to the fit; needs a prior.
        split: How moving data are divided for the check: "path", or as :func:`.split_samples` takes it.
        cutoff: Of the low-pass on a motion [Hz]; None to choose it from the data.
        loaded: Further recordings of the motion with a weighed load: the robot carrying it, and the recording. They
            tell torque gains from masses; all efforts are divided by these gains (``fit.gains``, load_gains.py), unless
            ``terms`` has none.
        also: Further recordings of the same arm as it was in ``data``, fitted together with it. They are used as that
            is: their motion, their poses at rest or their rows.
        own_offsets: Whether every one of these recordings has offsets of its own; the result's are those of ``data``.
        start_from: An earlier calibration of this arm or of one of its type, from another recording: what it says of
            masses, rotors and springs counts as far as this recording agrees with it. One that the recording
            contradicts is named, and the result is not trusted.
        findings: What the doctor found; None to ask it.
        uses: What the calibration is for: "hold", "float", "payload", "contact", "extrapolate". It is trusted when it
            is good for all of them.
        stiffness: By which the arm is held, one number or n [N m/rad or N/m], to express errors as sag; None assumes
            one.
        serial: The robot's serial number, for the calibration file.
        tool: What is mounted at its tip, for the calibration file.
        progress: Called now and then with the work done and in all.

    Raises:
        InputError: The data are another robot's, cannot be fitted at all (one pose, poses that are all alike, nothing
            moves), explain less of the data than the description does, or an argument does not fit.
    """
    asked_uses = checked_uses(uses)
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected {', '.join(map(repr, METHODS))}")
    if use not in DATA_CHOICES:
        raise InputError(f"use is {use!r}; expected {', '.join(map(repr, DATA_CHOICES))}")
    if isinstance(prior, str) and prior != "cad":
        raise InputError(f"prior is {prior!r}; expected 'cad', a CadPrior or None")
    belief = _belief(robot, prior, method)
    earlier = None
    if start_from is not None:
        if method != "weighted" or loaded or no_torques(data, *also) or (terms is not None and not terms.linear):
            raise InputError(
                "an earlier calibration helps method 'weighted', where efforts are torques and gains, zeros and tilt "
                "are not fitted; leave those out, or the earlier calibration"
            )
        earlier = EarlierCalibration.of(start_from, robot, data_fingerprint(data, *also))
    shown = progress or (lambda done, total: None)
    settings = _Settings(robot, method, terms, belief, consistent, split, shown, earlier)
    refuse_other_joints(data.joint_names, robot, "data")
    for other in also:
        refuse_other_joints(other.joint_names, robot, "a further recording")
    if also and not isinstance(data, Log):
        raise InputError("further recordings go with a recording; join poses or samples beforehand")
    if own_offsets and not also:
        raise InputError("offsets of their own need further recordings (also=)")
    kind, why = data_kind(data, use, terms, method)
    settings.progress(0.0, 1.0)
    gains: LoadGains | None = None
    if loaded and kind == "moving" and (terms is None or terms.gain):
        if not isinstance(data, Log):
            raise InputError("gains from a weighed load need recordings; pass recordings instead of samples")
        weighed = in_torques_by_load(robot, data, loaded, also=also, terms=terms, prior=belief, cutoff=cutoff)
        gains, data, also, loaded = weighed.gains, weighed.log, weighed.also, weighed.loaded
    if findings is None:
        findings = [finding for one in (data, *also) for finding in _diagnosed(robot, one)]
    settings.progress(0.2, 1.0)
    if kind in ("static", "rows"):
        if loaded or consistent:
            what = "recordings with a weighed load" if loaded else "inertias that real bodies can have"
            raise InputError(f"{what} need a motion; poses at rest do not show inertias (use='moving')")
        if own_offsets:
            raise InputError("offsets of their own need motions; poses of all recordings share one offset a joint")
        collected = _static(settings, data, also, rows=kind == "rows")
    elif kind == "both" and isinstance(data, Log):
        collected, why = _both(settings, data, cutoff, loaded, also, own_offsets=own_offsets, why=why)
    else:
        collected = _moving(settings, data, cutoff, loaded, also, own_offsets=own_offsets)
    settings.progress(0.9, 1.0)
    doctors = dict.fromkeys(f"the doctor: {one.sentence}" for one in findings if one.consequence == Consequence.LIMITS)
    told = () if gains is None else gains.sentences()
    collected = replace(collected, notes=(*told, *collected.notes, *doctors), earlier=start_from)
    fit = fit_of(
        collected,
        method=method,
        why=why,
        findings=findings,
        uses=asked_uses,
        stiffness=stiffness,
        serial=serial,
        tool=tool,
        source=(data, *also),
        recordings=(data, *also, *(log for _, log in loaded)),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        gains=gains,
    )
    settings.progress(1.0, 1.0)
    return fit


def _belief(robot: Robot, prior: CadPrior | str | None, method: Method) -> CadPrior | None:
    """Return the prior to use; the description's masses are none where there are no masses."""
    if method != "weighted":
        if isinstance(prior, CadPrior):
            raise InputError(f"method '{method}' takes no prior; it fits the data alone")
        return None
    if prior is None or isinstance(prior, CadPrior):
        return prior
    return CadPrior() if float(robot.tree.mass.sum()) > 0.0 else None


def _diagnosed(robot: Robot, data: Log | StaticPoses | Samples) -> Sequence[Finding]:
    if not isinstance(data, Log):
        return ()
    from ..doctor import diagnose

    return diagnose(robot, data).findings


def _static(settings: _Settings, data: Log | StaticPoses | Samples, also: Sequence[Log], *, rows: bool) -> Collected:
    robot, notes = settings.robot, list[str]()
    if isinstance(data, Log):
        poses = joined_poses([_poses_of(robot, log, notes, rows=rows) for log in (data, *also)])
    elif isinstance(data, StaticPoses):
        poses = data
    else:
        raise InputError("samples of a motion cannot be fitted as poses at rest; give the recording")
    require_spread(robot, poses)
    band = friction_bands(poses)
    if settings.method != "weighted":
        document = _by_document(settings, poses, band, notes)
        estimate = replace(document.estimate, command_units=no_torques(data, *also))
        return replace(document, estimate=estimate, notes=(*document.notes, *unit_notes(data, *also)))
    declared = data.declared if isinstance(data, Log) else None
    found = fit_poses(
        robot, poses, terms=settings.terms, prior=settings.prior, declared=declared, earlier=settings.earlier
    )
    whole, poses, terms = _checked(found.fit), found.poses, found.terms
    notes += found.notes
    samples = samples_of_poses(poses)
    settings.progress(0.6, 1.0)

    def fit(chosen: StaticPoses) -> Estimate:
        return Estimate.of_weighted(found.again(chosen))

    check = check_static(poses, fit)
    if terms.coulomb:
        drives = np.abs(np.nan_to_num(whole.model.per_joint("coulomb", whole.x)))
        band = np.where(np.isnan(band), drives, band)
    units = unit_notes(data, *also)
    estimate = Estimate.of_weighted(whole, no_torques=no_torques(data, *also))
    return Collected(estimate, "static", samples, check, band, (*notes, *units))


def _poses_of(robot: Robot, log: Log, notes: list[str], *, rows: bool) -> StaticPoses:
    """Return the poses at rest of a recording; what happened on the way is added to the notes."""
    if rows:
        poses, told = poses_from_rows(robot, log)
        notes += told
        return poses
    still = poses_from_log(robot, log)
    notes += [f"left out from {part.start:.1f} to {part.end:.1f} s: {part.reason}" for part in still.rejected]
    notes += arrival_notes(log) if still.planned else []
    return still.poses


def _by_document(settings: _Settings, poses: StaticPoses, band: Array, notes: list[str]) -> Collected:
    """Fit poses at rest by one of the WAM document's methods; what it leaves open is that of the weighted fit."""
    robot = settings.robot
    means, paired = without_friction(poses)
    if paired:
        alone = int(np.sum(poses.pair < 0))
        notes.append(
            f"{len(means)} poses were reached from both sides; their means are fitted"
            + (f", and {alone} poses reached from one side are left out" if alone else "")
        )
        poses = means
        require_spread(robot, poses)
    else:
        notes.append("no pose was reached from both sides: friction is part of the errors")
    samples = samples_of_poses(poses)
    posterior = weighted_fit(robot, samples, terms=terms_at_rest(robot, poses), prior=None).posterior

    def fit(chosen: StaticPoses) -> Estimate:
        return _fit_by_document(settings, chosen, posterior)

    check = check_static(poses, fit)
    settings.progress(0.7, 1.0)
    return Collected(fit(poses), "static", samples, check, band, tuple(notes))


def _fit_by_document(settings: _Settings, poses: StaticPoses, posterior: LoadPosterior) -> Estimate:
    robot, terms = settings.robot, settings.terms
    if terms is not None and terms.replace(offset=()) != Terms(bodies="gravity"):
        raise InputError(f"method '{settings.method}' fits weights and, if asked for, offsets; other terms: 'weighted'")
    solver: Callable[..., Any] = solve_coupled if settings.method == "coupled" else solve_iterative
    offset = terms is not None and bool(terms.offset)
    return Estimate.of_base(robot, solver(robot, poses, offset=offset).solution, posterior)


def _checked(fitted: WeightedFit) -> WeightedFit:
    """Return a fit that explains its own data better than the description does."""
    errors = fitted.solution.residual_rms
    few = float(fitted.solution.rows.min()) < LEAST_COMPARED  # friction and offset alone would explain them
    if not few and not better_than_described(errors, fitted.described_rms):
        joints = zip(fitted.model.joint_names, errors, fitted.described_rms, strict=True)
        told = ", ".join(f"{name} {own:.3g} instead of {before:.3g}" for name, own, before in joints if own > before)
        raise InputError(
            f"the fit explains its own data worse than the description does ({told}); nothing is returned. Something "
            "is wrong with the recording: ask the doctor, or give another cutoff"
        )
    return fitted


def _filtered(robot: Robot, logs: Sequence[Log], cutoff: float | None, notes: list[str]) -> list[Samples]:
    """Return the samples of recordings' motions; how they were filtered is added to the notes."""
    prepared = [prepare(robot, log, cutoff=cutoff) for log in logs]
    v0 = np.max([one.v0 for one in prepared], axis=0)  # one law of friction
    parts = []
    for log, preparation in zip(logs, prepared, strict=True):
        samples = moving_samples(robot, log, preparation=replace(preparation, v0=v0))
        notes.append(
            f"low-pass at {preparation.band.cutoff:.3g} Hz, {len(samples)} samples used; errors are of this band"
        )
        held = [name for name in log.declared.held if name in robot.joint_names]
        if held:
            notes.append(f"the recording lacks {listed(held)}; taken to stand still")
        parts.append(samples)
    return parts


def _usual_terms(robot: Robot, samples: Samples, declared: Declared | None) -> Terms:
    """Return what is fitted of a motion: offsets only where they can be distinguished from the weight."""
    usable = separable_offsets(robot) & samples.active
    return Terms.moving(declared).replace(offset=named_joints(robot, usable))


def _both(
    settings: _Settings,
    data: Log,
    cutoff: float | None,
    loaded: Sequence[tuple[Robot, Log]],
    also: Sequence[Log],
    *,
    own_offsets: bool,
    why: str,
) -> tuple[Collected, str]:
    """Fit poses at rest and motion together; where they contradict each other and poses tell more, those alone.

    Poses at rest assume less: neither inertias nor a law of friction nor a clock.
    """
    refusal = ""
    try:
        collected = _moving(settings, data, cutoff, loaded, also, own_offsets=own_offsets, rests=True)
        if odd := contradicting(collected.estimate):
            refusal = f"the motion disagrees at {listed(odd)}"
    except InputError as error:
        collected, refusal = None, f"together with the motion: {error}"
    if collected is not None and not refusal:
        return collected, why
    if stands_mostly(data) and not (loaded or settings.consistent or own_offsets):
        return _static(settings, data, also, rows=False), f"{why}; poses alone are fitted, as {refusal}"
    if collected is not None:
        return collected, why
    return _moving(settings, data, cutoff, loaded, also, own_offsets=own_offsets), f"{why}; its motion is fitted alone"


def _moving(
    settings: _Settings,
    data: Log | StaticPoses | Samples,
    cutoff: float | None,
    loaded: Sequence[tuple[Robot, Log]],
    also: Sequence[Log],
    *,
    own_offsets: bool,
    rests: bool = False,
) -> Collected:
    robot, notes = settings.robot, list[str]()
    declared = data.declared if isinstance(data, Log) else None
    stands: list[Stands | None] = []
    if isinstance(data, Log):
        parts = _filtered(robot, (data, *also), cutoff, notes)
        if rests:
            stands = [stands_of(robot, log, part) for log, part in zip((data, *also), parts, strict=True)]
    elif isinstance(data, Samples):
        parts = [data]
    else:
        raise InputError("poses at rest hold no motion; use='moving' needs a recording")
    samples = joined_samples(parts)
    terms = settings.terms if settings.terms is not None else _usual_terms(robot, samples, declared)
    if settings.terms is None and loaded:
        terms = terms.replace(gain=(ALL,))  # efforts were divided by gains; what is not known of these stays open
    further = [FittedRun(moving_samples(carrying, log, cutoff=cutoff), carrying) for carrying, log in loaded]
    if terms.gain and not further:
        notes.append(
            "efforts are no torques and no weighed load was recorded: gains and masses cannot be distinguished"
        )

    stood = ~samples.active & (np.ptp(samples.q, axis=0) < STOOD)
    fixed = np.where(stood, samples.q[0], np.nan) if stood.any() else None

    looks = settings.terms is None

    def runs_of(chosen: Samples) -> list[FittedRun]:
        if not stands:
            return [FittedRun(chosen)]
        number = next((at for at, part in enumerate(parts) if part is chosen), 0)  # of one recording, a part of it
        beside = stands[number]
        return [FittedRun(chosen)] if beside is None else beside.beside(chosen)

    def fitted_to(chosen: Sequence[Samples], like: WeightedFit | None) -> WeightedFit:
        return weighted_fit(
            robot,
            [*(run for one in chosen for run in runs_of(one)), *further],
            terms=terms,
            prior=settings.prior,
            consistent=settings.consistent,
            search=looks,
            like=like,
            own_offsets=own_offsets,
            earlier=settings.earlier,
        )

    whole = _checked(fitted_to(parts, None))
    settings.progress(0.7, 1.0)

    def predicting(chosen: Sequence[Samples]) -> Estimate:
        return Estimate.of_weighted(fitted_to(chosen, whole), fixed)

    if also:
        check = check_recordings(parts, predicting)
    else:
        check = check_moving(samples, settings.split, lambda chosen: predicting([chosen]))
    carried = [log for _, log in loaded]
    units = unit_notes(data, *also, *carried)
    estimate = Estimate.of_weighted(whole, fixed, no_torques=no_torques(data, *also, *carried))
    notes += units
    if isinstance(data, Log) and cutoff is None and not also:
        notes.append(at_other_cutoffs(robot, data, samples, check, lambda chosen: fitted_to([chosen], whole)))
    band = np.full(robot.n, np.nan)
    if terms.coulomb:
        drives = np.abs(np.nan_to_num(estimate.per_joint("coulomb")))
        band = np.where(estimate.model.active, np.abs(estimate.model.coupling).T @ drives, np.nan)
    for one in filter(None, stands):
        band = np.where(np.isfinite(one.band), one.band, band)
    doubts = clock_doubts(data, *also, *carried)
    fitted, told = told_of(stands)
    kind = "both" if any(stands) else "moving"
    return Collected(estimate, kind, samples, check, band, (*notes, *told), doubts, fitted=fitted)
