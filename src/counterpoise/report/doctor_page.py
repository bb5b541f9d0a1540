"""The page of a diagnosis: what is wrong, how that shows, what to change, and all channels at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..doctor.diagnosis import Diagnosis
from ..doctor.finding import Consequence, Finding
from ..doctor.prepared import prepare
from ..dynamics.joint_units import WRENCH_UNITS
from ..dynamics.reference import WRENCH_COMPONENTS
from ..dynamics.robot import Robot
from ..logs.log import Log
from ..logs.provenance import effort_guesses
from .charts import Series, time_chart
from .doctor_charts import MEASURED, ChartData, evidence_chart
from .page import Level, Page, PageSection, PageTable, Paragraph, Part, VerdictBox

LEVEL: dict[Consequence, tuple[Level, str]] = {
    Consequence.DANGER: (
        "bad",
        "Do not use this recording as it is: a compensation made from it would push the wrong way",
    ),
    Consequence.SPOILS: ("bad", "Do not use this recording as it is: a fit would be wrong"),
    Consequence.LIMITS: ("doubtful", "Usable with care: a fit works but is less certain"),
    Consequence.NOTE: ("good", "Nothing is wrong with this recording"),
}
WORDS = {
    Consequence.DANGER: "danger",
    Consequence.SPOILS: "spoils a fit",
    Consequence.LIMITS: "limits a fit",
    Consequence.NOTE: "note",
}
"""What a consequence is called."""


def doctor_page(title: str, robot: Robot | None, log: Log, diagnosis: Diagnosis, fix_toml: str = "") -> Page:
    """Return the page of a diagnosis.

    Args:
        title: Title, such as the recording's name.
        robot: The model; None where none was given.
        log: The recording.
        diagnosis: What was found.
        fix_toml: The mapping file that mends what a mapping can; empty for none.
    """
    shown = ChartData(robot, log, prepare(log))
    alarms = [finding for finding in diagnosis.findings if finding.consequence > Consequence.NOTE]
    notes = [finding for finding in diagnosis.findings if finding.consequence == Consequence.NOTE]
    about_plate = [finding for finding in alarms if finding.fault.value.startswith("plate-")]
    # One chart shows the plate's readings; findings about it after the first do without.
    sections = [_section(finding, shown, charted=finding not in about_plate[1:]) for finding in alarms]
    if fix_toml:
        lines = tuple((line,) for line in fix_toml.splitlines())
        text = Paragraph(
            "Give this file with --mapping when the recording is read; it changes what a mapping can change."
        )
        listing = PageTable(
            ("mapping file",), lines, left=("mapping file",), folded=True, summary="Show the mapping file"
        )
        sections.append(PageSection("The change of the mapping", (text, listing)))
    sections += [_section(finding, shown, charted=True) for finding in notes]
    sections += _overview(shown)
    facts = diagnosis.facts
    rate = facts.get("rate_hz")
    subtitle = f"{facts['samples']} samples, {facts['duration_s']:.4g} s" + (f", {rate:.4g} Hz" if rate else "")
    subtitle += (
        f"; {robot.name}, {robot.n} joints" if robot is not None else f"; {len(log.joint_names)} joints, no model"
    )
    if guessed := effort_guesses(facts["guessed"]):
        subtitle += f"; efforts are of a guessed size: {guessed}"
    return Page(f"Doctor: {title}", subtitle, _verdict(diagnosis, alarms, robot), tuple(sections))


def _verdict(diagnosis: Diagnosis, alarms: list[Finding], robot: Robot | None) -> VerdictBox:
    level, headline = LEVEL[diagnosis.worst]
    details = [f"{_about(finding)}: {finding.sentence}" for finding in alarms]
    if robot is None:
        details.append("No robot was given, so the numbers were judged by themselves: signs, order and units were not.")
    return VerdictBox(level, headline, tuple(details))


def _about(finding: Finding) -> str:
    return finding.fault.value.replace("-", " ").capitalize()


def _section(finding: Finding, shown: ChartData, *, charted: bool) -> PageSection:
    parts: list[Part] = [
        Paragraph(finding.sentence),
        Paragraph(f"What to do: {finding.remedy}"),
    ]
    if finding.alternatives:
        parts.append(Paragraph(f"These data cannot tell it from: {', '.join(finding.alternatives)}."))
    chart = evidence_chart(finding, shown) if charted else None
    if chart is not None:
        parts.append(chart)
    rows = tuple(evidence_rows(finding.evidence))
    if rows:
        parts.append(
            PageTable(("number", "value"), rows, left=("number",), folded=True, summary="The numbers behind it")
        )
    sure = "" if finding.confidence >= 0.995 else f", {finding.confidence:.0%} sure"
    return PageSection(f"{_about(finding)} ({WORDS[finding.consequence]}{sure})", tuple(parts))


def evidence_rows(evidence: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Return evidence as names and values in short form; nested tables are named by their path."""
    rows: list[tuple[str, str]] = []
    for name, value in evidence.items():
        path = f"{before}{name}"
        if isinstance(value, Mapping):
            rows += evidence_rows(value, f"{path} › ")
        else:
            rows.append((path, _short(value)))
    return rows


def _short(value: Any) -> str:
    """Return a number, a list of numbers or a text in short form."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        inside = ", ".join(_short(member) for member in value[:12])
        return f"{inside}, …" if len(value) > 12 else inside
    return str(value)


def _overview(shown: ChartData) -> list[PageSection]:
    """Return all channels over time."""
    log = shown.log
    known = np.flatnonzero(np.isfinite(log.time))
    time = log.time[known] - shown.start
    held = log.declared.held
    joints = [index for index, name in enumerate(log.joint_names) if name not in held]
    names = [log.joint_names[index] for index in joints]
    position = [shown.position_unit(joint) for joint in joints]
    series_of = {
        "Positions": (log.q, position),
        "Velocities": (log.dq, [f"{unit}/s" for unit in position]),
        "Efforts": (log.tau, [shown.effort_unit(joint) for joint in joints]),
    }
    sections = []
    for title, (values, units) in series_of.items():
        columns = values[known][:, joints]
        if joints and np.isfinite(columns).any():
            remarks = [_spread(column) for column in columns.T]
            chart = time_chart(time, [Series(title.lower(), columns, MEASURED)], names, units, remarks=remarks)
            sections.append(PageSection(title, (chart,)))
    if log.wrench is not None:
        reading = log.wrench[known]
        remarks = [_spread(column) for column in reading.T]
        series = [Series("plate", reading, MEASURED)]
        chart = time_chart(time, series, WRENCH_COMPONENTS, WRENCH_UNITS, remarks=remarks)
        sections.append(PageSection("Plate", (chart,)))
    if held:
        rows = tuple((name, f"{value:g}") for name, value in held.items())
        table = PageTable(
            ("joint", "taken to stand at"), rows, left=("joint",), folded=True, summary="Joints not recorded"
        )
        sections.append(PageSection("Joints that the recording lacks", (table,)))
    return sections


def _spread(column: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    finite = column[np.isfinite(column)]
    return f"{finite.min():.3g} … {finite.max():.3g}" if len(finite) else "nothing measured"
