"""The page of a diagnosis."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor import Consequence, Diagnosis, Finding, LogFault, check_recording
from counterpoise.report.charts import Chart
from counterpoise.report.doctor import doctor_page, evidence_rows
from counterpoise.report.page import render
from library.analytic_log import late, moving_log, standing_log, with_column

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)
FACTS = {"samples": len(LOG), "duration_s": 23.99, "rate_hz": 100.0, "joints": list(PUMA.joint_names), "guessed": []}


LOGS = {
    "Dead channel": replace(LOG, tau=with_column(LOG.tau, 2, 0.0)),
    "Plate sign": replace(LOG, wrench=-LOG.wrench),
    "Delay between channels": late(LOG, "dq", 0.1),
    "Time gaps": LOG[(np.arange(len(LOG)) < 500) | (np.arange(len(LOG)) > 600)],
    "One sided approach": standing_log(PUMA, [1.0] * 8),
    "Not enough excitation": LOG[500:700],
    "Friction band": LOG,
}
"""Recordings by the section that they must show."""


def page_of(log, robot, findings):
    return doctor_page("run.csv", robot, log, Diagnosis(tuple(findings), FACTS))


@cache
def page_with(title):
    return page_of(LOGS[title], PUMA, check_recording(PUMA, LOGS[title]))


def charts_of(page, title):
    section = next(section for section in page.sections if section.title.startswith(title))
    return [part for part in section.parts if isinstance(part, Chart)]


def test_good_recording_is_green_and_shows_all_channels():
    page = page_with("Friction band")
    assert page.verdict.level == "good"
    titles = [section.title for section in page.sections]
    assert titles[-4:] == ["Positions", "Velocities", "Efforts", "Plate"]
    assert len(charts_of(page, "Positions")[0].panels) == 6


@pytest.mark.parametrize("title", LOGS)
def test_findings_show_their_evidence(title):
    assert charts_of(page_with(title), title)


def test_worst_finding_gives_the_headline():
    page = page_with("Plate sign")
    assert page.verdict.level == "bad" and "push the wrong way" in page.verdict.headline
    assert any("opposite sign" in sentence for sentence in page.verdict.details)


def test_every_fault_can_be_shown():
    """A finding of any kind, with little evidence, gives a page and no exception."""
    pytest.importorskip("plotly", reason="plotly is not installed")
    needed = {
        LogFault.FRICTION: {"joints": {}, "unit": "N m"},
        LogFault.ONE_SIDED: {"joints": {}},
        LogFault.JOINT_STOPS: {"joints": {name: {"limit": 1.0} for name in PUMA.joint_names}},
        LogFault.EXCITATION: {"uncertainty_before": {}, "uncertainty_after": {}},
        LogFault.REPEATED_PATH: {"tolerance": 0.03},
        LogFault.DELAY: {"per_joint_s": {}},
    }
    findings = [
        Finding(fault, Consequence.LIMITS, (), "A sentence <b>.", "Do this.", needed.get(fault, {}))
        for fault in LogFault
    ]
    html = render(page_of(LOG, PUMA, findings))
    assert html.count("A sentence &lt;b&gt;.") >= len(LogFault)


def test_page_without_a_model_says_so():
    page = page_of(LOG, None, check_recording(None, LOG))
    assert any("No robot was given" in sentence for sentence in page.verdict.details)


def test_evidence_is_shown_in_short_form():
    rows = evidence_rows({"lag_s": 0.123456, "per": {"a": [1.0, 2.5], "b": None}, "back": True, "n": 3})
    assert rows == [("lag_s", "0.1235"), ("per › a", "1, 2.5"), ("per › b", "–"), ("back", "yes"), ("n", "3")]
