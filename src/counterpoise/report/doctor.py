"""The page of a diagnosis: what is wrong, how that shows, what to change, and all channels at a glance.

Small charts show a finding's evidence in the recording itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..doctor import (
    ABOUT_MODEL,
    ABOUT_PLATE,
    PLATE_CHANNELS,
    Consequence,
    Diagnosis,
    Finding,
    LogFault,
)
from ..dynamics import WRENCH_COMPONENTS, WRENCH_UNITS, Robot, effort_units, position_units
from ..foundation import Array, inverse_transform, wrench_transform
from ..recording import Log, Motion, effort_guesses, increasing, novelty
from .charts import BLUE, GREEN, GREY, ORANGE, Chart, Series, bar_chart, time_chart, titled_axes
from .page import Level, Page, PageSection, PageTable, Paragraph, Part, VerdictBox

MOST_PANELS = 6
"""Joints shown with a finding; the channels' overview has all of them."""
AROUND = 3.0
"""Time shown before and after a stretch that is pointed at [s]."""
OTHER_SIZE = 3.0
"""Ratio of effort and model from which the model is scaled to the effort."""
MEASURED, EXPECTED, STUCK = BLUE, GREEN, ORANGE


@dataclass(frozen=True, slots=True, eq=False)
class ChartData:
    """What charts are drawn from.

    Attributes:
        robot: The model; None where none was given.
        log: The recording.
        motion: The recording's motion at even times; None where it is too short.
    """

    robot: Robot | None
    log: Log
    motion: Motion | None

    @property
    def start(self) -> float:
        """Time of the first sample [s]; charts count from there."""
        known = self.log.time[np.isfinite(self.log.time)]
        return float(known[0]) if len(known) else 0.0

    def joints(self, names: Sequence[str]) -> list[int]:
        """Return indices of the joints among names, all joints where there is none, MOST_PANELS at most."""
        held = self.log.declared.held
        found = [index for index, name in enumerate(self.log.joint_names) if name in names]
        return (found or [i for i, name in enumerate(self.log.joint_names) if name not in held])[:MOST_PANELS]

    def effort_unit(self, joint: int) -> str:
        """Return the unit of a joint's effort."""
        if self.log.declared.effort_kind == "current":
            return "A"
        return "N m" if self.robot is None else effort_units(self.robot)[joint]

    def position_unit(self, joint: int) -> str:
        """Return the unit of a joint's position."""
        return "rad" if self.robot is None else position_units(self.robot)[joint]


def evidence_chart(finding: Finding, shown: ChartData) -> Chart | None:
    """Return a chart that shows a finding's evidence; None where a sentence says all."""
    maker = _MAKERS.get(finding.fault)
    return None if maker is None else maker(finding, shown)


def _channel(finding: Finding, shown: ChartData) -> Chart:
    """The channels that are named, zoomed to the first stretch where one is named."""
    kind = str(finding.evidence.get("channel", "effort"))
    log = shown.log
    rows = increasing(log.time)
    stretches = finding.evidence.get("stretches_s")
    if stretches:
        begin, end = next(iter(stretches.values()))[0]
        rows = rows[(log.time[rows] > begin - AROUND) & (log.time[rows] < end + AROUND)]
    time = log.time[rows] - shown.start
    if kind == "plate" and log.wrench is not None:
        columns = [PLATE_CHANNELS.index(name) for name in finding.subjects if name in PLATE_CHANNELS]
        units = [WRENCH_UNITS[column] for column in columns]
        return time_chart(time, [Series("reading", log.wrench[rows][:, columns], MEASURED)], finding.subjects, units)
    joints = shown.joints(finding.subjects)
    values = {"position": log.q, "velocity": log.dq}.get(kind, log.tau)
    position = [shown.position_unit(joint) for joint in joints]
    units = {"position": position, "velocity": [f"{unit}/s" for unit in position]}.get(
        kind, [shown.effort_unit(joint) for joint in joints]
    )
    series = [Series(kind, values[rows][:, joints], MEASURED)]
    if stretches:
        stuck = np.full((len(rows), len(joints)), np.nan)
        for column, joint in enumerate(joints):
            for begin, end in stretches.get(log.joint_names[joint], ()):
                inside = (log.time[rows] >= begin) & (log.time[rows] <= end)
                stuck[inside, column] = values[rows][inside, joint]
        series.append(Series("stuck", stuck, STUCK))
    if kind == "velocity" and shown.motion is not None:
        change = np.column_stack(
            [np.interp(log.time[rows], shown.motion.time, shown.motion.dq[:, joint]) for joint in joints]
        )
        series.append(Series("change of position", change, EXPECTED, "dash"))
    return time_chart(time, series, [log.joint_names[joint] for joint in joints], units)


def _effort(finding: Finding, shown: ChartData) -> Chart | None:
    """Measured effort beside the model's holding torque, which is scaled where it is of quite another size."""
    robot, motion = shown.robot, shown.motion
    if robot is None or motion is None:
        return None
    joints = shown.joints(finding.subjects)
    gravity = robot.gravity(motion.q)[:, joints]
    measured = np.where(motion.effort_measured, motion.tau, np.nan)[:, joints]
    own, model = np.std(measured, axis=0), np.std(gravity, axis=0)
    level = np.sqrt(np.mean(gravity**2, axis=0))
    steady = model < 1e-3 * level  # a lift: its weight is one number, so sizes are compared instead of swings
    own, model = np.where(steady, np.sqrt(np.mean(measured**2, axis=0)), own), np.where(steady, level, model)
    ratio = np.divide(own, model, out=np.ones(len(joints)), where=model > 1e-3 * float(model.max(initial=1e-9)))
    factor = np.where((ratio > OTHER_SIZE) | (ratio * OTHER_SIZE < 1.0), ratio, 1.0)
    series = [
        Series("effort, smoothed", measured, MEASURED),
        Series("holding torque of the model", factor * gravity, EXPECTED, "dash"),
    ]
    units = [shown.effort_unit(joint) for joint in joints]
    if finding.fault in (LogFault.EFFORT_IS_CURRENT, LogFault.MOTOR_SIDE):
        units = ["as recorded"] * len(joints)
    names = [shown.log.joint_names[joint] for joint in joints]
    remarks = ["" if value == 1.0 else f"model drawn × {value:.2g}" for value in factor]
    return time_chart(motion.time - shown.start, series, names, units, remarks=remarks)


def _delay(finding: Finding, shown: ChartData) -> Chart | None:
    """Some seconds of the channel that is late and of what it should follow."""
    motion = shown.motion
    if motion is None or finding.subjects != ("velocity",):
        return _effort(finding, shown)
    judged = list(finding.evidence["per_joint_s"])
    joints = shown.joints(judged)[:3]
    middle = int(np.abs(motion.dq[:, joints]).sum(axis=1).argmax())
    part = np.abs(motion.time - motion.time[middle]) < 0.5 * (AROUND + 2.0)
    series = [
        Series("velocity", motion.filtered(motion.log.dq)[part][:, joints], MEASURED),
        Series("change of position", motion.dq[part][:, joints], EXPECTED, "dash"),
    ]
    names = [shown.log.joint_names[joint] for joint in joints]
    units = [f"{shown.position_unit(joint)}/s" for joint in joints]
    return time_chart(motion.time[part] - shown.start, series, names, units)


def _time_steps(finding: Finding, shown: ChartData) -> Chart | None:
    """Time between samples."""
    time = shown.log.time[np.isfinite(shown.log.time)]
    if len(time) < 3:
        return None
    steps = 1e3 * np.diff(time)
    row = np.arange(1, len(time), dtype=np.float64)
    chart = time_chart(row, [Series("step", steps[:, None], MEASURED)], ["time between samples"], ["ms"])
    (panel,) = chart.panels
    figure = {"data": panel.figure["data"], "layout": titled_axes("sample", "[ms]")}
    return replace(chart, panels=(replace(panel, figure=figure),), legend=(), wide=True)


def _stops(finding: Finding, shown: ChartData) -> Chart:
    """Position with the limit."""
    joints = shown.joints(finding.subjects)
    log = shown.log
    names = [log.joint_names[joint] for joint in joints]
    limits = np.array([finding.evidence["joints"][name]["limit"] for name in names])
    series = [
        Series("position", log.q[:, joints], MEASURED),
        Series("limit", np.broadcast_to(limits, (len(log), len(joints))), GREY, "dash"),
    ]
    return time_chart(log.time - shown.start, series, names, [shown.position_unit(joint) for joint in joints])


def _friction(finding: Finding, shown: ChartData) -> Chart:
    """Half widths of the friction band beside gravity's swing."""
    joints = finding.evidence["joints"]
    width = [numbers["half_width"] for numbers in joints.values()]
    swing = [
        numbers["half_width"] / numbers["share_of_gravity_swing"] if numbers["share_of_gravity_swing"] else 0.0
        for numbers in joints.values()
    ]
    unit = finding.evidence["unit"]
    return bar_chart(
        list(joints),
        [("half width of the friction band", width), ("half of gravity's swing in this recording", swing)],
        title="friction and gravity",
        y_title=f"[{unit}]",
    )


def _one_sided(finding: Finding, shown: ChartData) -> Chart:
    """Standing poses by the side they were reached from."""
    joints = finding.evidence["joints"]
    below = [numbers["from_below"] for numbers in joints.values()]
    above = [numbers["poses"] - numbers["from_below"] for numbers in joints.values()]
    return bar_chart(
        list(joints), [("from below", below), ("from above", above)], title="standing poses", y_title="poses"
    )


def _excitation(finding: Finding, shown: ChartData) -> Chart:
    """Uncertainty of gravity by the model alone and with the recording."""
    before, after = finding.evidence["uncertainty_before"], finding.evidence["uncertainty_after"]
    names = [name for name in before if before[name] > 0.0]
    return bar_chart(
        names,
        [
            ("by the model alone", [before[name] for name in names]),
            ("with this recording", [after[name] for name in names]),
        ],
        title="uncertainty of the gravity torque over the joints' ranges",
        y_title="[N m or N]",
    )


def _path(finding: Finding, shown: ChartData) -> Chart | None:
    """Distance of the last part of the path from the first."""
    motion = shown.motion
    if motion is None:
        return None
    inside = motion.usable
    found = novelty(motion.q[inside])
    time = motion.time[inside][found.later] - shown.start
    tolerance = np.full(len(time), 100.0 * float(finding.evidence["tolerance"]))
    values = [
        Series("distance from the first part", 100.0 * found.distance[:, None], MEASURED),
        Series("counts as the same place", tolerance[:, None], GREY, "dash"),
    ]
    chart = time_chart(time, values, ["last part of the path"], ["% of the joints' ranges"])
    return replace(chart, wide=True)


def _plate(finding: Finding, shown: ChartData) -> Chart | None:
    """The plate's reading beside the wrench that the model predicts as declared, without their means."""
    robot, motion = shown.robot, shown.motion
    if robot is None or motion is None or motion.wrench is None:
        return None
    expected = _predicted_reading(robot, shown.log, motion)
    series = [
        Series("reading", motion.wrench - motion.wrench.mean(axis=0), MEASURED),
        Series("predicted by the model as declared", expected - expected.mean(axis=0), EXPECTED, "dash"),
    ]
    means = [
        f"mean {mean:.4g}, predicted {told:.4g}"
        for mean, told in zip(motion.wrench.mean(axis=0), expected.mean(axis=0), strict=True)
    ]
    time, caption = motion.time - shown.start, "Means are taken away."
    return time_chart(time, series, WRENCH_COMPONENTS, WRENCH_UNITS, remarks=means, caption=caption)


def _predicted_reading(robot: Robot, log: Log, motion: Motion) -> Array:
    """Return what the plate should read by the model and by what is declared [N, N m], shape (k, 6)."""
    declared = log.declared
    pose = np.eye(4) if declared.T_base_sensor is None else np.asarray(declared.T_base_sensor)
    sign = -1.0 if declared.sensor_reads == "on_sensor" else 1.0
    wrench = robot.base_wrench(motion.q, motion.dq, motion.ddq)
    reading: Array = sign * wrench @ wrench_transform(inverse_transform(pose)).T
    return reading


_MAKERS: dict[LogFault, Callable[[Finding, ChartData], Chart | None]] = {
    **dict.fromkeys((LogFault.DEAD, LogFault.FROZEN, LogFault.SATURATED, LogFault.QUANTISED), _channel),
    **dict.fromkeys((LogFault.TIME_GAPS, LogFault.TIME_JITTER, LogFault.TIME_DUPLICATES), _time_steps),
    **dict.fromkeys(ABOUT_MODEL, _effort),
    **dict.fromkeys(ABOUT_PLATE, _plate),
    LogFault.DELAY: _delay,
    LogFault.FRICTION: _friction,
    LogFault.ONE_SIDED: _one_sided,
    LogFault.JOINT_STOPS: _stops,
    LogFault.EXCITATION: _excitation,
    LogFault.REPEATED_PATH: _path,
}


LEVEL: dict[Consequence, tuple[Level, str]] = {
    Consequence.DANGER: (
        "bad",
        "Do not use this recording as it is: a compensation made from it would push the wrong way",
    ),
    Consequence.INVALIDATES: ("bad", "Do not use this recording as it is: a fit would be wrong"),
    Consequence.LIMITS: ("doubtful", "Usable with care: a fit works but is less certain"),
    Consequence.NOTE: ("good", "Nothing is wrong with this recording"),
}
WORDS = {
    Consequence.DANGER: "danger",
    Consequence.INVALIDATES: "invalidates a fit",
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
        fix_toml: The mapping file that fixes what a mapping can; empty for none.
    """
    shown = ChartData(robot, log, Motion.on_grid(log))
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
        parts.append(Paragraph(f"These data cannot distinguish it from: {', '.join(finding.alternatives)}."))
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
