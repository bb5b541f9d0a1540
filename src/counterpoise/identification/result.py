"""Putting a fit together: errors, sag, tolerance, what may not be relied on, and the verdict.

A fit is trusted when the recording is valid, the fit explains it better than the description does, and the calibration
is good for everything that was asked for (statements.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..doctor import Consequence, Finding, LogFault
from ..dynamics import Robot
from ..errors import listed
from ..fitting import (
    CERTAIN,
    THRESHOLD,
    Language,
    Samples,
    StaticPoses,
    Terms,
    all_joints,
    at_rest,
    combination_text,
    deviation,
    marked,
    root_mean_square,
    unphysical_links,
)
from ..foundation import Array, Check, Verdict, frozen
from ..recording import Log
from .earlier import BELONGS
from .estimate import COMMAND_UNITS, Estimate
from .fit import NEWTON_METRES, Evidence, Fit, FitData, FitErrors, Parameter
from .heldout import HeldOut
from .identity import data_fingerprint, guessed_keys, identity_of, rate_source, why_command_units
from .load_gains import LoadGains
from .load_posterior import TILT
from .statements import USES, Assessment, Sag, UseName, assess, assumed_stiffness, given_stiffness, tip_sag

MOST_SPRINGS = 2
"""Springs, counterbalances and cables that may be found at once. Arms have one or two; where more show, they stand for
something else."""
APART = 3.0
"""Distance of what poses at rest and motion say, over what is to be expected, from which on it is worth a word."""
SHOWN_OPEN = 3
"""Open combinations named in a sentence."""
SURE = 0.9
"""A finding of the doctor counts from this confidence on."""


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """What the fitting of one recording gave.

    Attributes:
        estimate: The fit to all data.
        data: "static", "moving", or "both" for a motion and its poses at rest.
        samples: All data.
        check: The held-out check.
        band: Friction that holds each joint, shape (n,); NaN where unknown.
        notes: What happened on the way.
        doubts: Why the recording cannot be relied on, one sentence each.
        earlier: A calibration from which it started.
        fitted: What was fitted, where that was found on the way; "" otherwise.
    """

    estimate: Estimate
    data: str
    samples: Samples
    check: HeldOut
    band: Array
    notes: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    earlier: Fit | None = None
    fitted: str = ""


def fit_of(
    collected: Collected,
    *,
    method: str,
    why: str,
    findings: Sequence[Finding],
    uses: tuple[UseName, ...],
    stiffness: npt.ArrayLike | None,
    serial: str,
    tool: str,
    source: Sequence[Log | StaticPoses | Samples],
    recordings: Sequence[Log | StaticPoses | Samples],
    created: str,
    gains: LoadGains | None = None,
) -> Fit:
    """Return the result of a calibration, judged.

    Args:
        collected: What was fitted.
        method: By which method.
        why: Why these data were taken.
        findings: What the doctor found.
        uses: What the calibration is for.
        stiffness: By which the arm is held [N m/rad or N/m]; None assumes one.
        serial: The robot's serial number.
        tool: What is mounted at the tip.
        source: The recordings, for their fingerprint.
        recordings: All of them, also those with a weighed load, for what in them was guessed.
        created: When, ISO 8601.
        gains: Efforts per torque by which the recordings were divided; None where a weighed load told none.
    """
    from .. import __version__

    estimate, check = collected.estimate, collected.check
    robot, active = estimate.robot, estimate.model.active
    samples = collected.samples
    measured = samples.tau[:, active]
    predicted = estimate.predict(samples)
    described = estimate.predict_described(samples)
    torque_rms, signal = root_mean_square(measured - predicted), deviation(measured)
    rotors = np.nan_to_num(estimate.per_joint("rotor")) if not estimate.command_units else np.zeros(robot.n)
    springs = assumed_stiffness(robot, rotors) if stiffness is None else given_stiffness(robot, stiffness)
    assessment = assess(estimate, friction=collected.band[active], residual=check.rms, stiffness=springs)
    sound = judge_recording(findings, estimate.model.terms, collected.doubts)
    notes, structure = _structure(estimate)
    if not all(one.passed for one in sound) or _stands_for_else(estimate):
        assessment = _nothing(assessment)
    elif structure:
        assessment = replace(
            assessment, statements=(), missing=dict.fromkeys(USES, "the model lacks what efforts show")
        )
    verdict = judge(assessment, uses, sound, structure, _earlier(collected, assessment.promise.tolerated[active]))
    promise = assessment.promise
    guessed = guessed_keys(*recordings)
    sag = _sag(estimate, check, springs)
    return Fit(
        robot=marked(estimate.calibrated, why_command_units(guessed) if estimate.command_units else ""),
        described=robot,
        method=method,
        model=estimate.model,
        x=frozen(estimate.x),
        parameters=parameters_of(estimate),
        covariance=frozen(estimate.covariance),
        model_covariance=frozen(estimate.model_covariance),
        identifiable=estimate.identifiable,
        units=COMMAND_UNITS if estimate.command_units else NEWTON_METRES,
        data=FitData(
            sha256=data_fingerprint(*source),
            kind=collected.data,
            why=f"{collected.fitted}: {why}" if collected.fitted else why,
            samples=len(samples),
            check=check.how,
            novelty=frozen(check.novelty),
            lower=frozen(samples.q.min(axis=0)),
            upper=frozen(samples.q.max(axis=0)),
            v0=samples.v0,
            guessed=guessed,
            rate_source=rate_source(*recordings),
        ),
        errors=FitErrors(
            fitted=all_joints(torque_rms, active),
            heldout=all_joints(check.rms, active),
            described=all_joints(root_mean_square(measured - described), active),
            signal=all_joints(signal, active),
            gravity=promise.error,
            gravity_size=promise.gravity,
            tolerated=promise.tolerated,
            friction_band=frozen(collected.band),
            sag=sag.per_joint,
            sag_total=sag.total,
            sag_largest=sag.largest,
            stiffness=frozen(springs),
            stiffness_assumed=stiffness is None,
        ),
        prior=estimate.prior,
        unreliable=_unreliable(estimate),
        notes=(
            *collected.notes,
            *notes,
            *_contradictions(estimate),
            *_weight_notes(estimate, promise.tolerated[active]),
        ),
        uses=uses,
        statements=assessment.statements,
        verdict=verdict,
        identity=identity_of(robot, serial=serial, tool=tool),
        created=created,
        package=__version__,
        gains=gains,
        evidence=Evidence.of(samples, measured, predicted, described, check.held),
    )


def judge(
    assessment: Assessment,
    asked: Sequence[UseName],
    recording: Sequence[Check],
    structure: Sequence[str] = (),
    earlier: Sequence[Check] = (),
) -> Verdict:
    """Judge a fit.

    Args:
        assessment: What it is good for.
        asked: What it is asked for.
        recording: Whether the recording is valid (:func:`judge_recording`).
        structure: What the efforts show that the model does not have, one sentence each.
        earlier: Whether the recording agrees with the calibration from which the fit started.
    """
    held = {statement.use: statement for statement in assessment.statements}
    checks = list(recording)
    if not all(check.passed for check in recording):
        return Verdict(checks)
    checks += [Check("structure", False, sentence) for sentence in structure]
    if not structure:
        checks.append(Check("structure", True, "the efforts show nothing at rest that the model does not have"))
    checks += earlier
    for use in asked:
        if use in held:
            checks.append(Check(use, True, held[use].sentence, held[use].value, unit=held[use].unit))
        else:
            checks.append(Check(use, False, f"not good to {VERBS[use]}: {assessment.missing[use]}"))
    return Verdict(checks)


VERBS: dict[UseName, str] = {
    "hold": "hold a pose",
    "float": "float",
    "payload": "notice loads",
    "contact": "notice pushes",
    "extrapolate": "extrapolate",
}
"""What an arm does with a calibration."""


def judge_recording(findings: Sequence[Finding], terms: Terms, doubts: Sequence[str] = ()) -> list[Check]:
    """Return whether anything invalidates a fit.

    Args:
        findings: What the doctor found.
        terms: What is fitted.
        doubts: What else is against the recording, one sentence each.
    """
    handled = {LogFault.PAYLOAD}  # unknown weight is what a calibration is for
    handled |= {LogFault.OFFSET} if terms.offset else set()
    handled |= {LogFault.GAIN, LogFault.EFFORT_IS_CURRENT} if terms.gain else set()
    handled |= {LogFault.MOUNT} if terms.tilt else set()
    bad = [
        finding
        for finding in findings
        if (
            finding.consequence >= Consequence.INVALIDATES
            and finding.confidence >= SURE
            and finding.fault not in handled
        )
        or (finding.consequence == Consequence.DANGER and finding.fault not in handled)
        or (terms.need_motion and finding.fault is LogFault.NO_TIME and finding.consequence >= Consequence.LIMITS)
    ]
    against = [
        Check("recording", False, f"{finding.sentence} {finding.remedy}", float(finding.consequence)) for finding in bad
    ]
    against += [Check("recording", False, doubt) for doubt in doubts]
    return against or [Check("recording", True, "the doctor found nothing that invalidates a fit")]


def _nothing(assessment: Assessment) -> Assessment:
    """Return the assessment of a recording that is not valid: nothing is stated."""
    why = dict.fromkeys(USES, "the recording is not valid")
    promise = replace(assessment.promise, error=frozen(np.full(len(assessment.promise.error), np.nan)))
    return Assessment(promise, (), why)


def _stands_for_else(estimate: Estimate) -> bool:
    """Return whether so much shows beside weight and friction that it stands for something else."""
    posterior = estimate.posterior
    others = any(kind in ("gain", TILT) for _, kind in posterior.shown)
    return len(posterior.springs) > MOST_SPRINGS or (others and bool(posterior.springs))


def contradicting(estimate: Estimate) -> list[str]:
    """Name the joints at which poses at rest and motion contradict each other, and how many times too far apart."""
    named = zip(estimate.model.joint_names, estimate.posterior.apart, strict=True)
    return [f"{name} ({ratio:.2g} times its error)" for name, ratio in named if ratio > APART]


def _contradictions(estimate: Estimate) -> tuple[str, ...]:
    odd = contradicting(estimate)
    if not odd:
        return ()
    return (f"poses at rest and motion contradict each other at {listed(odd)}; the stated errors are as much larger",)


def _structure(estimate: Estimate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say what the efforts show beside weight and friction: what was added to the model, and what it does not have."""
    posterior, names = estimate.posterior, estimate.model.joint_names

    def joints(kind: str) -> list[str]:
        return [names[place] for place, shown in sorted(posterior.shown) if shown == kind]

    added = list[str]()
    if posterior.springs:
        what = "show a spring, a counterbalance or a cable, which is part of the model now"
        added.append(f"the efforts of {listed([names[place] for place in posterior.springs])} {what}")
    if weak := [names[place] for place, kind in sorted(posterior.weak) if kind != TILT]:
        what = "may show a spring, a counterbalance or a cable, which is no part of the model and counts as uncertainty"
        added.append(f"the efforts of {listed(weak)} {what}")
    lacking = list[str]()
    if len(posterior.springs) > MOST_SPRINGS:
        lacking.append(
            f"springs at {len(posterior.springs)} joints at once stand for something else: name them (terms) if they "
            "are there, or check that the description belongs to this arm"
        )
    if joints("gain"):
        what = "are off by a factor from what the other joints' efforts say: its torque gain, or theirs"
        lacking.append(f"the efforts of {listed(joints('gain'))} {what}")
    if joints("drift"):
        lacking.append(f"the efforts of {listed(joints('drift'))} drift from the beginning of the recording to its end")
    if any(kind == TILT for _, kind in posterior.shown):
        angles = np.degrees(posterior.mean[len(posterior.model.names) :][:2])
        part = ", which only the predicted efforts take into account" if posterior.leans else ""
        lacking.append(
            f"the base leans by {np.linalg.norm(angles):.2g}° otherwise than stated{part}: give its mounting"
        )
    return tuple(added), tuple(lacking)


def parameters_of(estimate: Estimate) -> tuple[Parameter, ...]:
    """Return the numbers that a fit may speak of, each with its meaning, unit and error."""
    language = estimate.language
    described = _described_values(estimate, language)
    return tuple(
        Parameter(
            name=name,
            meaning=combination_text(np.eye(len(language.names))[at], language),
            unit=language.units[at],
            value=float(language.x[at]),
            std=float(estimate.std[at]),
            described=described[at],
        )
        for at, name in enumerate(language.names)
    )


def _described_values(estimate: Estimate, language: Language) -> list[float]:
    """Return the description's base parameters and rotor inertias; NaN for what it does not know."""
    robot: Robot = estimate.robot
    base = dict(
        zip(robot.base_parameters.names, robot.base_parameters.regrouping @ robot.gravity_parameters, strict=True)
    )
    rotors = {
        f"{name}.rotor": float(value) if value > 0.0 else float("nan")
        for name, value in zip(robot.joint_names, robot.rotor_inertia, strict=True)
    }
    return [float(base.get(name, rotors.get(name, np.nan))) for name in language.names]


def _earlier(collected: Collected, tolerated: Array) -> list[Check]:
    """Return whether the recording agrees with the calibration from which the fit started.

    Args:
        collected: What was fitted.
        tolerated: Gravity error that the active joints tolerate, shape (a,).
    """
    fit, estimate = collected.earlier, collected.estimate
    if fit is None:
        return []
    speaks, moved = estimate.posterior.earlier_speaks, estimate.posterior.earlier_change
    worst = int(np.argmax(moved / tolerated))
    name, unit = estimate.model.joint_names[worst], estimate.effort_units[worst]
    if speaks >= BELONGS and CERTAIN * moved[worst] <= tolerated[worst]:
        return [
            Check(
                "earlier", True, "the recording agrees with the calibration that it starts from", speaks, BELONGS, "nat"
            )
        ]
    if speaks >= BELONGS:
        told = (
            f"the recording does not confirm the calibration that it starts from, which moves the gravity effort of "
            f"{name} by {moved[worst]:.3g} {unit} ({tolerated[worst]:.3g} is tolerated)"
        )
    else:
        poses = estimate.posterior.poses
        then = fit.predict(at_rest(fit.described, poses))[:, estimate.model.active]
        changed = deviation(np.nan_to_num(estimate.load(poses, offsets=True) - then))
        worst = int(np.argmax(changed / tolerated))
        told = (
            "the recording contradicts the calibration that it starts from: the gravity effort of "
            f"{estimate.model.joint_names[worst]} differs by {changed[worst]:.3g} {estimate.effort_units[worst]}"
        )
    why = "It is of another arm or tool, the arm has changed, or this recording shows too little; calibrate without it"
    return [Check("earlier", False, f"{told}. {why}", speaks, BELONGS, "nat")]


def _sag(estimate: Estimate, check: HeldOut, springs: Array) -> Sag:
    robot = estimate.robot
    if estimate.command_units:
        return Sag.unknown(robot.n)
    error = np.full((len(check.q), robot.n), np.nan)
    error[:, estimate.model.active] = check.error
    return tip_sag(estimate.calibrated, check.q, error, springs)


def _unreliable(estimate: Estimate) -> tuple[str, ...]:
    """Say what of the calibrated robot is not a measurement."""
    found = [
        "total mass and masses of single links: torques reveal sums of them only, their sharing out is the "
        "description's"
    ]
    if estimate.model.terms.bodies == "gravity":
        found.append("inertias: they are the description's; do not predict accelerated motion from this fit")
    elif odd := unphysical_links(estimate.calibrated):
        found.append(
            f"inertias of {listed(odd)}: no real body has them. They are right for torques like the recorded ones, not "
            "to simulate with"
        )
    if estimate.command_units:
        found.append("masses and gains by themselves: only their products were measured, see 'command units'")
    poorly = int(np.sum(estimate.identifiable.eigenvalues < THRESHOLD))
    if poorly:
        shortest = ", ".join(sorted(estimate.identifiable.undetermined, key=len)[:SHOWN_OPEN])
        source = f"leans on {estimate.prior}" if estimate.prior else "takes the smallest possible values"
        found.append(
            f"{poorly} of {len(estimate.identifiable.eigenvalues)} combinations of weights and offsets (they involve "
            f"{shortest}, …): these data determine them worse than one good measurement would; there the fit {source}"
        )
    silent = [name for name in estimate.robot.joint_names if name not in estimate.model.joint_names]
    if silent:
        found.append(f"torques of {listed(silent)}: no effort was measured there")
    return tuple(found)


def _weight_notes(estimate: Estimate, tolerated: Array) -> tuple[str, ...]:
    """Name the joints whose weight is far from the description's; a torque gain that is off looks the same."""
    if estimate.command_units:
        return ()
    named = zip(estimate.model.joint_names, estimate.weight_ratio(tolerated), strict=True)
    odd = [f"{name} ({ratio:.2g} times)" for name, ratio in named if np.isfinite(ratio)]
    if not odd:
        return ()
    return (
        f"the weight is far from the description's at {listed(odd)}: a tool or masses that it does not know, or "
        "torques that are recorded too large or too small",
    )
