"""A diagnosis: all findings of a recording, worst first, and the change of the mapping that mends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .finding import Consequence, Finding


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What the doctor says of a recording.

    Attributes:
        findings: Findings, the worst consequence first, the surest first among equals.
        facts: Plain numbers of the recording: samples, duration_s, rate_hz, joints.
    """

    findings: tuple[Finding, ...]
    facts: Mapping[str, Any]

    @property
    def worst(self) -> Consequence:
        """The worst consequence; NOTE where nothing was found."""
        return max((finding.consequence for finding in self.findings), default=Consequence.NOTE)

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings that are more than notes."""
        return tuple(finding for finding in self.findings if finding.consequence > Consequence.NOTE)

    @property
    def fix(self) -> dict[str, Any]:
        """The findings' changes of the mapping as one nested table, as in a mapping file."""
        return merged_fix(self.findings)

    def to_table(self) -> dict[str, Any]:
        """Return the diagnosis as plain values that JSON can hold."""
        return {
            "facts": _plain(self.facts),
            "worst": self.worst.name.lower(),
            "findings": [
                {
                    "fault": finding.fault.value,
                    "consequence": finding.consequence.name.lower(),
                    "subjects": list(finding.subjects),
                    "sentence": finding.sentence,
                    "remedy": finding.remedy,
                    "evidence": _plain(finding.evidence),
                    "confidence": finding.confidence,
                    "alternatives": list(finding.alternatives),
                    "fix": _plain(finding.fix),
                }
                for finding in self.findings
            ],
            "fix": self.fix,
        }


def merged_fix(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the changes of several findings as one nested table."""
    result: dict[str, Any] = {}
    for finding in findings:
        _put(result, finding.fix)
    return result


def _put(into: dict[str, Any], change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, Mapping):
            _put(into.setdefault(key, {}), value)
        else:
            into[key] = _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
