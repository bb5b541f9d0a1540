"""What each stop of the tour showed, in sentences, and the summary: what was hidden beside what was found."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from ...doctor import LogFault
from ..papers.task import rms
from .fine_motion import FineMotion
from .floating import FORCE, PUSH_TIME, SHARE, Floated
from .hidden_arm import LOAD_MASS, MASS_ERROR, REVERSED, TOOL_MASS
from .load import FoundLoad
from .model import Modelled
from .recording import POSES, Recorded
from .tour import Tour


@singledispatch
def sentences(stop: object) -> list[str]:
    """Return what a stop of the tour showed."""
    raise TypeError(f"{type(stop).__name__} is no stop of the tour")


@sentences.register
def _(stop: Recorded) -> list[str]:
    told = [f"Recorded {POSES} poses, each from both sides: {stop.seconds:.0f} s of motion."]
    told += [f"Doctor: {finding.sentence} {finding.remedy}" for finding in stop.diagnosis.alarms]
    if stop.mapping is not None:
        told.append("The sign is fixed by the mapping that the doctor writes; the missing tool is left to calibration.")
    return told


@sentences.register
def _(stop: Modelled) -> list[str]:
    verdict = "trusted" if stop.fit.trusted else f"not trusted: {'; '.join(stop.fit.reasons)}"
    holds = "holds" if stop.verification.holds else "does not hold"
    before, after = (rms(error) for error in (stop.described_error, stop.calibrated_error))
    return [
        f"Calibration: {verdict}. On poses that it has not seen it {holds}.",
        f"Gravity torques were {before:.2f} N m off with the described model, {after:.2f} N m with the calibrated one "
        "(rms over all joints and random poses; known because the arm is simulated).",
    ]


@sentences.register
def _(stop: Floated) -> list[str]:
    first = stop.refused.split(". ")[0]
    refused = (
        f"With the described model: {first}." if stop.refused else "The check would let the described model float."
    )
    return [
        refused,
        f"With the calibrated model it floats, {SHARE:.0%} of its friction compensated. {FORCE:g} N for {PUSH_TIME:g} "
        f"s move the tip by {1e3 * stop.moved:.0f} mm; released, it stays within {1e3 * stop.drifted:.1f} mm.",
    ]


@sentences.register
def _(stop: FoundLoad) -> list[str]:
    if stop.noticed is None or not stop.estimate.detected:
        return [f"A load of {LOAD_MASS:g} kg was hung on at {stop.came:.0f} s and was not noticed."]
    estimate = stop.estimate
    likely = [f"{link} {share:.0%}" for link, share in estimate.links.items() if share > 0.05]
    return [
        f"A load came at {stop.came:.1f} s and was noticed {stop.noticed - stop.came:.1f} s later: "
        f"{estimate.mass:.2f} ± {estimate.mass_std:.2f} kg, on {' or '.join(likely)}."
    ]


@sentences.register
def _(stop: FineMotion) -> list[str]:
    return [
        f"Joint 1, ±0.1° in 10 s, friction far above the torque it takes: rms error {stop.pid_rms:.4f}° with PID, "
        f"{stop.plate_rms:.4f}° closed on the plate, {stop.ratio:.1f} times less (one count: {stop.count:.4f}°). Both "
        "laws were tuned by the same rule."
    ]


def summary(tour: Tour) -> list[tuple[str, str, str]]:
    """Return rows of the summary: what, hidden, found."""
    alarms = tour.recorded.diagnosis.alarms
    signs = [", ".join(each.subjects) for each in alarms if each.fault is LogFault.EFFORT_SIGN]
    # By itself, or among what the recording cannot distinguish.
    tools = [each for each in alarms if LogFault.PAYLOAD.value in (each.fault.value, *each.alternatives)]
    model, load, fine = tour.modelled, tour.found, tour.fine
    before, after = rms(model.described_error), rms(model.calibrated_error)
    check = tour.floated.report.check
    friction = "–" if check is None else ", ".join(f"{each.friction:.1f}" for each in check.joints)
    coulomb = tour.arm.config.drive.friction
    hidden = "–" if coulomb is None else ", ".join(f"{value:.1f}" for value in np.asarray(coulomb.coulomb).tolist())
    found = f"{load.estimate.mass:.2f} ± {load.estimate.mass_std:.2f} kg" if load.estimate.detected else "not found"
    return [
        ("effort with the wrong sign", REVERSED, "; ".join(signs) or "none named"),
        ("tool that the description lacks", f"{TOOL_MASS:g} kg", "named" if tools else "not named"),
        ("masses off by", f"up to {MASS_ERROR:.0%}", f"gravity {before:.2f} → {after:.2f} N m off"),
        ("dry friction [N m]", hidden, friction),
        ("load hung on", f"{LOAD_MASS:g} kg", found),
        ("error at ±0.1°, PID and plate", "–", f"{fine.pid_rms:.4f}°, {fine.plate_rms:.4f}°"),
    ]
