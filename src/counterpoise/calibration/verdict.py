"""Whether a fit may be trusted, and why: a list of checks, each with its number, its limit and one sentence.

A fit is trusted when every check passes. What a joint can tolerate is the largest of three torques: TOLERANCE of its
gravity torque's size over the workspace, the friction that holds it anyway, and EFFORT_TOLERANCE of its effort limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..doctor.finding import Consequence, Finding, LogFault
from .estimate import Estimate
from .terms import Terms

TOLERANCE = 0.1
"""Error that a joint can tolerate, as a share of its gravity torque's size over the workspace ..."""
EFFORT_TOLERANCE = 0.02
"""... and of its effort limit."""
RESIDUAL_SHARE = 0.3
"""A held-out error above this share of the signal, and above the tolerance, is a model that does not describe the
arm."""
GENERALISES = 3.0
"""A held-out error may be at most this many times that of the fitted data."""
WORST_CONDITION = 1000.0
"""The best-known combination may be known at most this many times better than the worst: geometry is known to a
milliradian at best, and beyond this the worst one is that error."""
MOST_PRIOR = 0.5
"""Largest share of a joint's uncertainty before any data that may still be there after them."""
LEAST_NOVELTY = 0.02
"""Held-out poses must lie this far from the fitted ones, as a share of the joints' ranges (median)."""
OPEN = 1e-6
"""A combination on which the data carry less than this part of one average measurement is not determined at all."""
SHOWN = 3
"""Open combinations named in a sentence."""
SURE = 0.9
"""A finding of the doctor counts from this confidence on."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question that a fit must answer.

    Attributes:
        name: What it is about: "rank", "condition", "coverage", "prior", "residual", "generalises", "novelty",
            "recording".
        passed: Whether it did.
        sentence: What was found, with the numbers that decide.
        value: The deciding number; NaN where there is none.
        limit: What it may be at most (for novelty: at least); NaN where there is none.
    """

    name: str
    passed: bool
    sentence: str
    value: float = float("nan")
    limit: float = float("nan")


@dataclass(frozen=True, slots=True)
class Verdict:
    """All checks of a fit.

    Attributes:
        checks: In the order in which they were made.
    """

    checks: tuple[Check, ...]

    @property
    def trusted(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not trusted, one sentence each; empty for a trusted fit."""
        return tuple(check.sentence for check in self.checks if not check.passed)


def tolerance(estimate: Estimate, friction: Array) -> Array:
    """Return the torque error that each active joint can tolerate, in the unit of the efforts, shape (a,).

    Args:
        estimate: The fit.
        friction: Friction of each active joint, in the unit of the efforts, shape (a,); NaN where unknown.
    """
    shares = TOLERANCE * estimate.gravity_rms
    limits = estimate.robot.effort_limit[estimate.columns.active]
    strong = np.where(np.isfinite(limits) & (not estimate.command_units), EFFORT_TOLERANCE * limits, 0.0)
    return np.maximum(np.maximum(shares, np.nan_to_num(friction)), strong)


def judge(
    estimate: Estimate,
    *,
    torque_rms: Array,
    heldout_rms: Array,
    signal: Array,
    tolerated: Array,
    novelty: Array,
    findings: Sequence[Finding] = (),
) -> Verdict:
    """Judge a fit.

    Args:
        estimate: The fit to all data.
        torque_rms: Error on the fitted data, shape (a,).
        heldout_rms: Error on held-out data, shape (a,).
        signal: Standard deviation of the measured efforts, shape (a,).
        tolerated: What each joint can tolerate (:func:`tolerance`), shape (a,).
        novelty: Of the held-out data: 10, 50 and 90 % quantiles, shape (3,).
        findings: What the doctor found.
    """
    names = estimate.columns.joint_names
    unit = estimate.effort_units
    checks = [
        _rank(estimate),
        _condition(estimate),
        _each_joint(
            "coverage",
            names,
            estimate.holding_std,
            tolerated,
            lambda joint: (
                f"the holding torque of {names[joint]} is uncertain by {_short(estimate.holding_std[joint])} "
                f"{unit[joint]} over its workspace; it can tolerate {_short(tolerated[joint])} {unit[joint]}"
            ),
            "holding torques are known within what every joint can tolerate, anywhere in its limits",
        ),
        _prior(estimate, tolerated),
        _each_joint(
            "residual",
            names,
            heldout_rms,
            np.maximum(RESIDUAL_SHARE * signal, tolerated),
            lambda joint: (
                f"the held-out error of {names[joint]} is {_short(heldout_rms[joint])} {unit[joint]}, "
                f"{heldout_rms[joint] / max(signal[joint], 1e-300):.0%} of its signal: the model does not describe it"
            ),
            "held-out errors are small beside the signal, the friction or the drive of every joint",
        ),
        _each_joint(
            "generalises",
            names,
            heldout_rms,
            np.maximum(GENERALISES * torque_rms, tolerated),
            lambda joint: (
                f"the held-out error of {names[joint]}, {_short(heldout_rms[joint])} {unit[joint]}, is "
                f"{heldout_rms[joint] / max(torque_rms[joint], 1e-300):.1f} times that of the fitted data: it does not "
                "carry over to new poses"
            ),
            "errors on held-out poses are like those on the fitted ones",
        ),
        _novelty(novelty),
        *_recording(findings, estimate.columns.terms),
    ]
    return Verdict(tuple(checks))


def _rank(estimate: Estimate) -> Check:
    """Whether the data say something about every base parameter that an active joint feels."""
    values = estimate.identifiable.eigenvalues
    unknown = int(np.sum(values < OPEN))
    if not unknown:
        return Check(
            "rank", True, f"the data determine all {len(values)} numbers that holding torques depend on", 0.0, 0.0
        )
    leaning = f"; there the fit leans on {estimate.prior}" if estimate.prior else ""
    shortest = sorted(estimate.identifiable.undetermined, key=len)[:SHOWN]
    return Check(
        "rank",
        False,
        f"{unknown} of {len(values)} combinations that holding torques depend on do not show in these data (they "
        f"involve {', '.join(shortest)}, …){leaning}",
        float(unknown),
        0.0,
    )


def _condition(estimate: Estimate) -> Check:
    values = estimate.identifiable.eigenvalues
    lowest = float(values.min(initial=np.inf))
    condition = float(np.sqrt(values.max(initial=0.0) / lowest)) if lowest > 0.0 else float("inf")
    passed = condition <= WORST_CONDITION
    words = f"the best-known combination is known {_short(condition)} times better than the worst"
    return Check(
        "condition",
        passed,
        words if passed else f"{words}; at most {WORST_CONDITION:g} is accepted: move all joints",
        condition,
        WORST_CONDITION,
    )


def _prior(estimate: Estimate, tolerated: Array) -> Check:
    if not estimate.prior:
        return Check("prior", True, "no prior was used: everything comes from the data")
    named = estimate.prior
    # Where the description alone is good enough, leaning on it does no harm.
    share = np.where(estimate.described_std > tolerated, estimate.prior_share, 0.0)
    names = estimate.columns.joint_names
    return _each_joint(
        "prior",
        names,
        share,
        np.full(len(names), MOST_PRIOR),
        lambda joint: (
            f"the data hardly tell the weight that {names[joint]} carries: {share[joint]:.0%} of the uncertainty "
            f"before them ({named}) is still there"
        ),
        f"the data, not the prior ({named}), decide what every joint carries",
    )


def _novelty(novelty: Array) -> Check:
    middle = float(novelty[1])
    passed = middle >= LEAST_NOVELTY
    words = f"held-out poses lie {middle:.1%} of the joints' ranges away from the fitted ones (median)"
    return Check(
        "novelty",
        passed,
        words if passed else f"{words}: they repeat the fitted ones, so the check shows nothing new",
        middle,
        LEAST_NOVELTY,
    )


def _recording(findings: Sequence[Finding], terms: Terms) -> Iterable[Check]:
    handled = {LogFault.PAYLOAD}  # unknown weight is what a calibration is for
    handled |= {LogFault.OFFSET} if terms.offset else set()
    handled |= {LogFault.GAIN, LogFault.EFFORT_IS_CURRENT} if terms.gain else set()
    handled |= {LogFault.MOUNT} if terms.tilt else set()
    bad = [
        finding
        for finding in findings
        if (finding.consequence >= Consequence.SPOILS and finding.confidence >= SURE and finding.fault not in handled)
        or (terms.need_motion and finding.fault is LogFault.NO_TIME and finding.consequence >= Consequence.LIMITS)
    ]
    if not bad:
        return [Check("recording", True, "the doctor found nothing that spoils a fit")]
    return [
        Check("recording", False, f"{finding.sentence} {finding.remedy}", float(finding.consequence)) for finding in bad
    ]


def _each_joint(
    name: str, joints: Sequence[str], values: Array, limits: Array, fails: Callable[[int], str], passes: str
) -> Check:
    """Return a check that every joint must pass; its numbers and its sentence are those of the worst.

    What is not a number cannot be judged, and does not pass.
    """
    ratio = np.nan_to_num(values / np.maximum(limits, 1e-300), nan=np.inf)
    worst = int(np.argmax(ratio))
    failed = [joint for joint, size in zip(joints, ratio, strict=True) if size > 1.0]
    if not failed:
        return Check(name, True, passes, float(values[worst]), float(limits[worst]))
    others = [joint for joint in failed if joint != joints[worst]]
    also = f" (also {', '.join(others)})" if others else ""
    return Check(name, False, fails(worst) + also, float(values[worst]), float(limits[worst]))


def _short(value: float) -> str:
    return f"{value:.0f}" if 1000.0 <= value < 1e6 else f"{value:.3g}"
