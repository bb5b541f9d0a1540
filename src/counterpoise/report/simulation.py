"""The page of a simulated run: what was asked for, what happened, what it took, and what the arm was.

``tracking`` says how well a run followed its reference: a few numbers per joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..control import EndState, RunReport
from ..dynamics import WRENCH_COMPONENTS, WRENCH_UNITS, Robot, effort_units, position_units
from ..errors import InputError
from ..foundation import Array
from ..recording import Log
from ..tasks import HiddenFriction
from .charts import BLUE, GREEN, ORANGE, PINK, VIOLET, Chart, Series, time_chart
from .page import Page, PageSection, PageTable, Paragraph, VerdictBox, settings_table

FOLLOWS = 0.3
"""A joint follows its reference when its rms error is below this share of the reference's own rms motion."""


@dataclass(frozen=True, slots=True)
class JointTracking:
    """One joint of a run.

    Attributes:
        name: The joint.
        rms: Root mean square of the tracking error [rad or m].
        largest: Largest tracking error [rad or m].
        motion: Root mean square of the reference about its own mean [rad or m]; 0 for a joint that is to stay.
        peak_effort: Largest torque that was sent [N m or N].
        effort_fraction: ... as a fraction of the effort limit.
        saturated: Ticks on which the effort limit cut the torque.
        rate_limited: Ticks on which the limit of its rate of change did.
    """

    name: str
    rms: float
    largest: float
    motion: float
    peak_effort: float
    effort_fraction: float
    saturated: int
    rate_limited: int

    @property
    def follows(self) -> bool:
        """Whether the joint did what was asked for, more or less; one that was to stay always does."""
        return self.motion == 0.0 or self.rms < FOLLOWS * self.motion


def tracking(report: RunReport, desired: Array, effort_limit: Array, skip: int = 0) -> tuple[JointTracking, ...]:
    """Return how each joint of a recorded run followed.

    Args:
        report: The run; it must have been recorded.
        desired: What was desired at each of its first k samples [rad or m], shape (k, n).
        effort_limit: Largest torques [N m or N], shape (n,).
        skip: Samples at the start that do not count for the errors, because the law is still being faded in.

    Raises:
        InputError: Nothing was recorded, or too little.
    """
    log = report.log
    if log is None or log.sent is None or len(desired) <= skip:
        raise InputError("too little was recorded to judge the tracking")
    wanted = desired[skip:]
    error = wanted - log.q[skip : len(desired)]
    rms, largest = np.sqrt(np.mean(error**2, axis=0)), np.max(np.abs(error), axis=0)
    motion = np.std(wanted, axis=0)
    peak = np.max(np.abs(log.sent), axis=0)
    counts = report.flag_counts
    return tuple(
        JointTracking(
            name=name,
            rms=float(rms[joint]),
            largest=float(largest[joint]),
            motion=float(motion[joint]) if motion[joint] > 1e-9 else 0.0,
            peak_effort=float(peak[joint]),
            effort_fraction=float(peak[joint] / effort_limit[joint]),
            saturated=counts["SATURATED"][joint],
            rate_limited=counts["RATE_LIMITED"][joint],
        )
        for joint, name in enumerate(log.joint_names)
    )


SHOWN_EVENTS = 50


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRun:
    """A simulated run that is over.

    Attributes:
        title: Its title.
        robot: The arm, with what it carried.
        report: What the loop reports; with a log.
        desired: What was desired at the first k samples of the log [rad or m], shape (k, n).
        joints: How each joint followed.
        effort_limit: Largest torques [N m or N], shape (n,).
        hidden: What only the simulation knows; None where it was not watched.
        setup: Name and value of what was chosen for the run.
        counted_from: When the figures of ``joints`` begin to count [s].
        configuration: The arm's whole configuration, as its describe() prints it.
        interrupted: Whether the user ended it.
    """

    title: str
    robot: Robot
    report: RunReport
    desired: Array
    joints: tuple[JointTracking, ...]
    effort_limit: Array
    hidden: HiddenFriction | None
    setup: Mapping[str, str]
    counted_from: float
    configuration: Sequence[str]
    interrupted: bool = False

    @property
    def log(self) -> Log:
        """The recording.

        Raises:
            InputError: There is none.
        """
        if self.report.log is None:
            raise InputError("the run was not recorded")
        return self.report.log


def simulation_page(run: SimulatedRun) -> Page:
    """Return the page of a run."""
    log, k = run.log, len(run.desired)
    time = log.time - log.time[0]
    names, positions, efforts = log.joint_names, position_units(run.robot), effort_units(run.robot)
    motion = time_chart(
        time[:k],
        [Series("measured", log.q[:k], BLUE), Series("reference", run.desired, ORANGE, "dash")],
        names,
        positions,
    )
    milli = [f"m{unit}" for unit in positions]
    error = time_chart(
        time[:k],
        [Series("reference − measured", 1e3 * (run.desired - log.q[:k]), PINK)],
        names,
        milli,
        remarks=[f"rms {1e3 * joint.rms:.3g}, largest {1e3 * joint.largest:.3g}" for joint in run.joints],
        caption=f"Figures count from {run.counted_from:g} s on: before, law and reference are being faded in."
        if run.counted_from
        else "",
    )
    sections = [
        PageSection("Joint by joint", (_joint_table(run, milli, efforts),)),
        PageSection("Position", (motion,)),
        PageSection("Tracking error", (error,)),
        PageSection("Torque sent", (_torque_chart(run, time, efforts),)),
    ]
    if log.wrench is not None:
        sections.append(PageSection("Plate", _plate_parts(log, time)))
    sections.append(PageSection("What happened", (_event_table(run),)))
    setup = PageTable(("setting", "value"), tuple(run.setup.items()), left=("setting", "value"))
    listing = settings_table(run.configuration, summary="Every setting of the simulated arm")
    sections.append(PageSection("Set-up", (setup, listing)))
    subtitle = f"{run.robot.name}, {run.robot.n} joints, {run.robot.total_mass:.4g} kg; {time[-1]:.4g} s"
    return Page(run.title, subtitle, _verdict(run), tuple(sections))


def _verdict(run: SimulatedRun) -> VerdictBox:
    report = run.report
    away = [joint.name for joint in run.joints if not joint.follows]
    cut = [joint.name for joint in run.joints if joint.saturated]
    details = [f"Held back by the effort limit at times: {', '.join(cut)}."] if cut else []
    if report.held_ticks:
        details.append(f"On {report.held_ticks} ticks the torque was held for want of a good sample or torque.")
    lost = report.plate_text()
    if lost:
        details.append(f"{lost[0].upper()}{lost[1:]}.")
    if report.fault:
        return VerdictBox("bad", f"Stopped by a fault: {report.fault.name.lower().replace('_', ' ')}", tuple(details))
    if run.interrupted:
        return VerdictBox("doubtful", f"Interrupted after {report.duration:.3g} s; {report.end.value}", tuple(details))
    if report.end is not EndState.COMPLETED:
        return VerdictBox("bad", f"Ended in a {report.end.value}", tuple(details))
    if away:
        headline = f"{len(away)} of {len(run.joints)} joints did not follow: {', '.join(away)}"
        return VerdictBox(
            "doubtful",
            headline,
            (*details, "Their error is a large part of the motion asked for: friction or gravity beats the gains."),
        )
    if lost:
        return VerdictBox("doubtful", "Completed, for a time without torque feedback from the plate", tuple(details))
    moving = [joint for joint in run.joints if joint.motion > 0.0] or list(run.joints)
    worst = max(moving, key=lambda joint: joint.rms)
    rule = f"Largest rms error: {1e3 * worst.rms:.3g} mrad (mm for a linear joint), {worst.name}."
    return VerdictBox("neutral" if cut else "good", "Completed; every joint followed its reference", (rule, *details))


def _joint_table(run: SimulatedRun, milli: Sequence[str], efforts: Sequence[str]) -> PageTable:
    rows = tuple(
        (
            joint.name,
            f"{1e3 * joint.rms:.3f} {milli[index]}",
            f"{1e3 * joint.largest:.3f} {milli[index]}",
            f"{joint.peak_effort:.2f} {efforts[index]}",
            f"{joint.effort_fraction:.0%}",
            str(joint.saturated),
            str(joint.rate_limited),
        )
        for index, joint in enumerate(run.joints)
    )
    columns = (
        "joint",
        "rms error",
        "largest error",
        "peak torque",
        "of limit",
        "saturated ticks",
        "rate-limited ticks",
    )
    return PageTable(columns, rows, left=("joint",))


def _torque_chart(run: SimulatedRun, time: Array, efforts: Sequence[str]) -> Chart:
    log = run.log
    sent = log.sent if log.sent is not None else np.full_like(log.q, np.nan)
    series = [
        Series("sent", sent, BLUE),
        Series("holding torque g(q)", run.robot.gravity(log.q), GREEN, "dash"),
    ]
    caption = ""
    if run.hidden is not None:
        friction = np.column_stack(
            [np.interp(time, run.hidden.time, column, right=np.nan) for column in run.hidden.friction.T]
        )
        series.append(Series("friction (true, unseen by the controller)", friction, ORANGE))
        caption = (
            "Friction is positive when it resists a positive velocity; at rest it takes what the drive leaves over."
        )
    remarks = [
        f"limit ±{limit:g} {unit}, {joint.effort_fraction:.0%} used"
        for limit, unit, joint in zip(run.effort_limit.tolist(), efforts, run.joints, strict=True)
    ]
    return time_chart(time, series, log.joint_names, efforts, limits=run.effort_limit, remarks=remarks, caption=caption)


def _plate_parts(log: Log, time: Array) -> tuple[Paragraph | Chart, ...]:
    wrench = log.wrench if log.wrench is not None else np.zeros((len(time), 6))
    means = [f"mean {value:.4g}" for value in np.nanmean(wrench, axis=0)]
    reads = "exerts on the robot" if log.declared.sensor_reads == "on_robot" else "feels from the robot"
    text = f"Raw reading in the sensor's axes at its origin, as what the plate {reads}; bias and noise included."
    series = [Series("plate", wrench, VIOLET)]
    return Paragraph(text), time_chart(time, series, WRENCH_COMPONENTS, WRENCH_UNITS, remarks=means)


def _event_table(run: SimulatedRun) -> PageTable:
    events = run.report.events
    rows = tuple(
        (f"{event.time:.3f} s", event.kind.replace("_", " "), event.joint or "", event.message)
        for event in events[:SHOWN_EVENTS]
    )
    more = len(events) - SHOWN_EVENTS + run.report.events_dropped
    caption = f"… and {more} more events" if more > 0 else ""
    return PageTable(("time", "event", "joint", "what"), rows, left=("event", "joint", "what"), caption=caption)
