"""Whether what the doctor says of a case is true."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from certificate_case import Truth

from counterpoise.doctor import ABOUT_MODEL, Consequence, Finding, LogFault

JUDGED = frozenset({*ABOUT_MODEL, LogFault.DELAY})
"""Findings that are judged: the others are about channels and time, which the study leaves sound."""
SAME = {
    "gain": ("gain", "effort-is-current", "motor-side"),
    "effort-is-current": ("effort-is-current", "gain", "motor-side"),
    "counterbalance": ("counterbalance", "spring", "cable"),
    "spring": ("spring", "counterbalance", "cable"),
    "cable": ("cable", "spring", "counterbalance"),
}
"""Words that name a fault besides its own: what the recording cannot distinguish is one finding."""
NEAR = math.log(1.25)
"""A gain in a fix is right within this factor (its logarithm)."""
DELAY = 0.010
"""A delay in a fix is right within this [s]."""
SURE = 0.9
"""Confidence from which a finding counts against trust."""


@dataclass(frozen=True, slots=True)
class Said:
    """A finding, judged.

    Attributes:
        fault: The doctor's word.
        subjects: Of what.
        consequence: The doctor's consequence.
        invalidates: Whether it says that a fit would be wrong.
        mends: Whether it writes to a fix.
        means: The fault of the recording that it names, in the study's word; "" for none.
        right: Whether the fault is there, by this name or among the alternatives of the finding.
        exact: Whether it is there by this name.
        near: Whether what it writes is near to the truth; None where nothing is known of that.
        sentence: What it says.
    """

    fault: str
    subjects: tuple[str, ...]
    consequence: str
    invalidates: bool
    mends: bool
    means: str
    right: bool
    exact: bool
    near: bool | None
    sentence: str

    def as_row(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"sentence": self.sentence[:240]}


def said_of(findings: Iterable[Finding], truths: Sequence[Truth], unknown: frozenset[str]) -> list[Said]:
    """Return the findings that are judged, with whether they are true.

    Args:
        findings: What the doctor says.
        truths: What is there.
        unknown: What may be there besides; not judged.
    """
    said = []
    for finding in findings:
        truth = _meant(finding, truths)
        if finding.fault not in JUDGED or finding.consequence == Consequence.NOTE:
            continue
        if truth is None and finding.fault in unknown:
            continue
        said.append(
            Said(
                fault=finding.fault.value,
                subjects=finding.subjects,
                consequence=finding.consequence.name.lower(),
                invalidates=finding.consequence >= Consequence.INVALIDATES and finding.confidence >= SURE,
                mends=bool(finding.fix),
                means="" if truth is None else truth.fault,
                right=truth is not None,
                exact=truth is not None and finding.fault.value in _words(truth.fault),
                near=None if truth is None else _near(finding, truth),
                sentence=finding.sentence,
            )
        )
    return said


def names(said: Sequence[dict[str, Any]], truth: dict[str, Any]) -> bool:
    """Say whether findings (rows) name a truth (a row), by itself or among what cannot be distinguished."""
    return any(one["means"] == truth["fault"] for one in said)


def _words(fault: str) -> tuple[str, ...]:
    return SAME.get(fault, (fault,))


def _meant(finding: Finding, truths: Sequence[Truth]) -> Truth | None:
    """Return the truth that a finding names."""
    for truth in truths:
        words = _words(truth.fault)
        named = finding.fault.value in words or any(word in finding.alternatives for word in words)
        joints = not truth.joints or bool(set(truth.joints) & set(finding.subjects)) or not finding.subjects
        if named and joints:
            return truth
    return None


def _near(finding: Finding, truth: Truth) -> bool | None:
    """Say whether the numbers of a fix are near to the truth; None where the fix has no numbers to judge."""
    if truth.fault == "delay-between-channels":
        lag = finding.evidence.get("lag_s")
        return None if lag is None else abs(float(lag) - truth.values[0]) <= DELAY
    gains = {name: entry.get("effort_gain") for name, entry in finding.fix.get("joints", {}).items()}
    if truth.fault in ("gain", "effort-is-current") and any(value is not None for value in gains.values()):
        wanted = dict(zip(truth.joints, truth.values, strict=True))
        pairs = [(value, wanted.get(name, 1.0)) for name, value in gains.items() if value is not None]
        return all(value > 0.0 and abs(math.log(value / right)) <= NEAR for value, right in pairs)
    return None
