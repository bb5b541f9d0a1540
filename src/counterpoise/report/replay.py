"""The page of a replay: where the tip should have been and was, errors over time, what the plan asks of the motors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dynamics import effort_units, position_units
from ..foundation import Array
from ..tasks import ReplayPlan, ReplayReport, TrackingError, tip_positions
from .charts import BLUE, GREEN, GREY, ORANGE, Chart, Cloud, PointPanel, Series, point_chart, time_chart, to_scale
from .page import Level, Page, PageSection, PageTable, VerdictBox

WANTED, MEASURED = GREY, BLUE
VIEWS = (("seen from above", 0, 1), ("seen from the side", 0, 2), ("seen from the front", 1, 2))
AXES = ("x", "y", "z")
POINTS = 800
"""Points of a drawn tip path."""


def replay_page(report: ReplayReport) -> Page:
    """Return the page of a replay that is over."""
    plan, trace = report.plan, report.trace
    sections = [PageSection("Tracking", (_errors_table(report),))]
    if len(trace.time) > 1:
        wanted, measured = tip_positions(plan.robot, trace.wanted), tip_positions(plan.robot, trace.measured)
        for link in wanted:
            sections.append(PageSection(f"Path of {link}", _tip_parts(trace.time, wanted[link], measured[link])))
        units = position_units(plan.robot)
        scaled = [f"m{unit}" for unit in units]
        series = [Series("wanted − measured", 1e3 * (trace.wanted - trace.measured))]
        chart = time_chart(trace.time, series, plan.robot.joint_names, scaled, caption="Over the path's own time.")
        sections.append(PageSection("Errors of the joints", (chart,)))
    sections += _plan_sections(plan)
    return Page(f"Replay of {plan.path.name}", _subtitle(plan), _verdict(report), tuple(sections))


def plan_page(plan: ReplayPlan) -> Page:
    """Return the page of a plan that has not been followed."""
    tips = tip_positions(plan.robot, plan.asked.q)
    sections = [
        PageSection(f"Path of {link}", (_views((("planned", MEASURED, places),)),)) for link, places in tips.items()
    ]
    verdict = VerdictBox("good", "The arm can follow this path", plan.notes)
    return Page(f"Plan of {plan.path.name}", _subtitle(plan), verdict, (*sections, *_plan_sections(plan)))


def _subtitle(plan: ReplayPlan) -> str:
    return f"{plan.robot.name}, {plan.path.kind}, speed {plan.speed:g}, {plan.motion.duration:.1f} s on the path"


def _verdict(report: ReplayReport) -> VerdictBox:
    worst = max(report.tips, key=lambda tip: -1.0 if np.isnan(tip.largest) else tip.largest)
    if report.outcome == "completed":
        headline = f"Followed; the tip was at most {1e3 * worst.largest:.1f} mm from its path"
        return VerdictBox("good", headline, report.plan.notes)
    level: Level = "doubtful" if report.outcome == "stopped" else "bad"
    return VerdictBox(level, f"Not finished: {report.reason}", report.plan.notes)


def _errors_table(report: ReplayReport) -> PageTable:
    rows = [_error_row(f"tip {tip.name}", tip) for tip in report.tips]
    rows += [_error_row(joint.name, joint) for joint in report.joints]
    held = f" It was paused for {report.held:.1f} s." if report.held > 0.0 else ""
    caption = f"Law: {report.law}. Errors count from the beginning of the path to its end.{held}"
    return PageTable(("", "rms", "largest", "at [s]", "unit"), tuple(rows), left=("", "unit"), caption=caption)


def _error_row(name: str, error: TrackingError) -> tuple[str, ...]:
    values = (1e3 * error.rms, 1e3 * error.largest, error.at)
    return (name, *("–" if np.isnan(value) else f"{value:.2f}" for value in values), f"m{error.unit}")


def _tip_parts(time: Array, wanted: Array, measured: Array) -> tuple[Chart, ...]:
    distance = np.linalg.norm(wanted - measured, axis=1)[:, None]
    apart = time_chart(time, [Series("distance", 1e3 * distance)], ("distance from the path's point",), ("mm",))
    apart = replace(apart, legend=(), height=220, wide=True)
    return (_views((("wanted", WANTED, wanted), ("measured", MEASURED, measured))), apart)


def _views(paths: tuple[tuple[str, str, Array], ...]) -> Chart:
    """Return the tip's way in three views; x, y, z in the axes of the base."""
    panels = []
    for title, across, up in VIEWS:
        clouds = []
        for name, colour, places in paths:
            step = max(1, -(-len(places) // POINTS))
            clouds.append(Cloud(name, places[::step, across], places[::step, up], colour, "lines"))
        panels.append(PointPanel(title, "", f"{AXES[across]} [m]", f"{AXES[up]} [m]", tuple(clouds)))
    chart = point_chart(panels, caption="In the axes of the base; the same scale both ways.", height=260)
    return replace(chart, panels=tuple(to_scale(panel) for panel in chart.panels))


def _plan_sections(plan: ReplayPlan) -> list[PageSection]:
    robot, asked = plan.robot, plan.asked
    efforts = time_chart(
        asked.time,
        [
            Series("planned torque", asked.torque, ORANGE),
            Series("gravity", robot.gravity(asked.q), GREEN, "dash"),
        ],
        robot.joint_names,
        effort_units(robot),
        limits=plan.limits.effort,
        caption="By inverse dynamics with payload and rotor inertia; friction only where it was given.",
    )
    return [PageSection("What the plan asks of the motors", (efforts,))]
