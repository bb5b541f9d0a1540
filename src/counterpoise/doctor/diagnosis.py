"""A diagnosis: all findings of a recording, worst first, and the change of the mapping that mends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..logs.nested import overlaid, plain
from ..logs.provenance import REFERENCES, dotted, flattened, scales_efforts
from .finding import Consequence, Finding


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What the doctor says of a recording.

    Attributes:
        findings: Findings, the worst consequence first, the surest first among equals.
        facts: What the recording is, as plain values: samples, duration_s, rate_hz, joints, declared.
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
        """The findings' changes of the mapping as one nested table, as in a mapping file, with its ``source``.

        They are relative to the mapping that the recording was read with.
        """
        return merged_fix(self.findings)

    def to_table(self) -> dict[str, Any]:
        """Return the diagnosis as plain values that JSON can hold; :attr:`fix` is called "fix_changes" there."""
        return {
            "facts": plain(self.facts),
            "worst": self.worst.name.lower(),
            "findings": [
                {
                    "fault": finding.fault.value,
                    "consequence": finding.consequence.name.lower(),
                    "subjects": list(finding.subjects),
                    "sentence": finding.sentence,
                    "remedy": finding.remedy,
                    "evidence": plain(finding.evidence),
                    "confidence": finding.confidence,
                    "alternatives": list(finding.alternatives),
                    "fix": plain(finding.fix),
                }
                for finding in self.findings
            ],
            "fix_changes": self.fix,
        }


def merged_fix(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the changes of several findings as one nested table that says where its numbers come from.

    Where a finding does not say it itself (``source`` in its fix), a number that decides the size of efforts is guessed
    from the description, and any other is measured by the recording.
    """
    result: dict[str, Any] = {}
    for finding in findings:
        change = plain(finding.fix)
        if change:
            change["source"] = _sources(change) | flattened(change.get("source", {}))
        result = overlaid(result, {key: value for key, value in change.items() if value})
    return result


def _sources(change: Mapping[str, Any]) -> dict[str, str]:
    numbers = (key for key in dotted(change) if key.rpartition(".")[2] not in REFERENCES)
    return {key: "guessed" if scales_efforts(key) else "measured" for key in numbers}
