"""Whether a fit may be trusted, and why: a list of checks, each with its number, its limit and one sentence.

A fit is trusted when the recording is sound, the fit explains it better than the description does, and the calibration
is good for everything that was asked for (statements.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..doctor.finding import Consequence, Finding, LogFault
from .statements import Assessment, UseName
from .terms import Terms

SURE = 0.9
"""A finding of the doctor counts from this confidence on."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question that a fit must answer.

    Attributes:
        name: What it is about: "recording", "structure", or a use that was asked for.
        passed: Whether it did.
        sentence: What was found, with the numbers that decide.
        value: The deciding number; NaN where there is none.
        limit: What it may be at most; NaN where there is none.
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
        recording: Whether the recording is sound (:func:`judge_recording`).
        structure: What the efforts show that the model does not have, one sentence each.
        earlier: Whether the recording agrees with the calibration from which the fit started.
    """
    held = {statement.use: statement for statement in assessment.statements}
    checks = list(recording)
    if not all(check.passed for check in recording):
        return Verdict(tuple(checks))
    checks += [Check("structure", False, sentence) for sentence in structure]
    if not structure:
        checks.append(Check("structure", True, "the efforts show nothing at rest that the model does not have"))
    checks += earlier
    for use in asked:
        if use in held:
            checks.append(Check(use, True, held[use].sentence, held[use].value))
        else:
            checks.append(Check(use, False, f"not good to {VERBS[use]}: {assessment.missing[use]}"))
    return Verdict(tuple(checks))


VERBS: dict[UseName, str] = {
    "hold": "hold a pose",
    "float": "float",
    "payload": "notice loads",
    "contact": "notice pushes",
    "extrapolate": "extrapolate",
}
"""What an arm does with a calibration."""


def judge_recording(findings: Sequence[Finding], terms: Terms, doubts: Sequence[str] = ()) -> list[Check]:
    """Return whether anything spoils a fit.

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
        if (finding.consequence >= Consequence.SPOILS and finding.confidence >= SURE and finding.fault not in handled)
        or (finding.consequence == Consequence.DANGER and finding.fault not in handled)
        or (terms.need_motion and finding.fault is LogFault.NO_TIME and finding.consequence >= Consequence.LIMITS)
    ]
    against = [
        Check("recording", False, f"{finding.sentence} {finding.remedy}", float(finding.consequence)) for finding in bad
    ]
    against += [Check("recording", False, doubt) for doubt in doubts]
    return against or [Check("recording", True, "the doctor found nothing that spoils a fit")]
