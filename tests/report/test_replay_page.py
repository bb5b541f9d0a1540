"""The page of a replay: headline, errors, views to scale."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.report.charts import Chart
from counterpoise.report.page import render
from counterpoise.report.replay import plan_page, replay_page
from counterpoise.tasks import Outcome, ReplayPlan, ReplayReport, TaughtPath, Trace, plan_replay, tracking_errors

pytest.importorskip("jinja2", reason="jinja2 is not installed")
pytest.importorskip("plotly", reason="plotly is not installed")

ROBOT = cp.load("planar3")


def plan() -> ReplayPlan:
    """A small reach."""
    path = TaughtPath.of(ROBOT, [0.0, 1.0], [[0.1, 0.2, 0.3], [0.3, 0.3, 0.1]], name="reach <b>", kind="waypoints")
    return plan_replay(ROBOT, path)


def report(outcome: Outcome = "completed", reason: str = "", samples: int = 50) -> ReplayReport:
    """A replay whose first joint was 3 mrad off throughout."""
    planned = plan()
    time = np.linspace(0.0, planned.motion.duration, samples)
    wanted = planned.motion.at(time).q
    trace = Trace(time, time, wanted, wanted - np.array([3e-3, 0.0, 0.0]))
    joints, tips = tracking_errors(ROBOT, trace)
    return ReplayReport(outcome, reason, "pd-gravity", planned, joints, tips, math.nan, 0.0, trace, None)


def test_a_followed_path() -> None:
    """The headline has the tip's largest error; joints and tip are in the table; views have one scale both ways."""
    found = report()
    page = replay_page(found)
    assert page.verdict is not None and page.verdict.level == "good"
    assert f"{1e3 * found.tips[0].largest:.1f} mm" in page.verdict.headline
    assert found.joints[0].largest == pytest.approx(3e-3) and found.joints[0].rms == pytest.approx(3e-3)
    views = next(part for section in page.sections for part in section.parts if isinstance(part, Chart))
    assert [panel.figure["layout"]["yaxis"]["scaleanchor"] for panel in views.panels] == ["x"] * 3
    text = render(page)
    assert "3.00" in text and "reach &lt;b&gt;" in text and "reach <b>" not in text


def test_a_replay_that_ended_early() -> None:
    """The reason is the headline; one that never reached its path has no charts of it."""
    page = replay_page(report("aborted", "joint 'joint1' strayed"))
    assert page.verdict is not None and page.verdict.level == "bad" and "strayed" in page.verdict.headline
    empty = replay_page(report("stopped", "stopped after 10% of the plan", samples=0))
    assert empty.verdict is not None and empty.verdict.level == "doubtful"
    assert [section.title for section in empty.sections] == ["Tracking", "What the plan asks of the motors"]
    render(empty)


def test_a_plan_by_itself() -> None:
    """What was checked, and what was not."""
    page = plan_page(plan())
    assert page.verdict is not None and any("collisions" in text for text in page.verdict.details)
    render(page)
