"""The page of a plate's torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.report.base_sensor import CHECKS, base_sensor_page
from counterpoise.report.charts import Chart
from counterpoise.report.page import PageTable, Paragraph, render
from counterpoise.sensing import FrictionCurve, JointFriction, PlateFriction, judged, recording_torques
from library.analytic_log import moving_log

PUMA = cp.load("puma560")
LOG = moving_log(PUMA, duration=12.0)


@pytest.fixture(scope="module")
def found():
    return recording_torques(PUMA, LOG)


def page_of(found, friction=None):
    return base_sensor_page("run.csv", found, judged(found), friction)


def section(page, title):
    return next(section for section in page.sections if section.title == title)


def parts(page, title, kind):
    return [part for part in section(page, title).parts if isinstance(part, kind)]


def some_friction() -> PlateFriction:
    """Friction of joint 2 known, of the others not."""
    velocity = np.concatenate([np.linspace(-1.0, -0.1, 20), np.linspace(0.1, 1.0, 20)])
    curve = FrictionCurve(velocity, 5.0 * np.sign(velocity) + velocity, np.full(40, 0.2), 10.0)
    known = JointFriction(
        "joint2", True, terms=("coulomb", "viscous"), gain=1.02, gain_std=0.01, gain_determined=True, coulomb=5.0,
        coulomb_std=0.2, viscous_positive=1.0, viscous_positive_std=0.1, curve=curve,
    )  # fmt: skip
    joints = [
        known
        if name == "joint2"
        else JointFriction(name, False, reason="the plate is noisier than the joint is strong")
        for name in PUMA.joint_names
    ]
    return PlateFriction(tuple(joints), None, 5.0, ())


def test_verdict_is_on_top_and_sections_follow(found):
    page = page_of(found)
    assert page.verdict.headline == judged(found).headline and page.verdict.level == judged(found).level
    titles = [section.title for section in page.sections]
    assert titles == [
        *("Why", "Joint by joint", "Torque at the joints", "The same without gravity", "Plate against model"),
        *("What this cannot determine", "About"),
    ]
    (table,) = parts(page_of(found), "Why", PageTable)
    assert sorted(row[1:] for row in table.rows) == sorted((CHECKS[c.name], c.sentence) for c in judged(found).checks)


def test_every_joint_has_a_panel_and_silent_ones_have_no_plate_line(found):
    (chart,) = parts(page_of(found), "Torque at the joints", Chart)
    assert [panel.title for panel in chart.panels] == list(PUMA.joint_names)
    for panel, joint in zip(chart.panels, found.joints, strict=True):
        plate = next(trace for trace in panel.figure["data"] if "plate" in trace.get("name", ""))
        assert any(value is not None for value in plate["y"]) == joint.informative
        assert ("no information" in panel.remark) != joint.informative
        assert any(trace.get("name") == "motor effort" for trace in panel.figure["data"])


def test_bands_are_two_deviations_wide(found):
    (chart,) = parts(page_of(found), "Torque at the joints", Chart)
    band = next(trace for trace in chart.panels[1].figure["data"] if trace.get("fill") == "toself")
    highest = np.nanmax([value for value in band["y"] if value is not None])
    expected = np.nanmax(found.torque.value[:, 1] + 2.0 * found.torque.std[:, 1])
    assert highest == pytest.approx(expected, rel=1e-3)


def test_table_says_no_information_instead_of_numbers(found):
    (table,) = parts(page_of(found), "Joint by joint", PageTable)
    for row, joint in zip(table.rows, found.joints, strict=True):
        assert (row[1] == "no information") != joint.informative
    silent = [paragraph.text for paragraph in parts(page_of(found), "What this cannot determine", Paragraph)]
    assert any(text.startswith("joint6: ") for text in silent)


def test_plate_and_model_are_shown_per_channel(found):
    charts = parts(page_of(found), "Plate against model", Chart)
    assert [len(chart.panels) for chart in charts] == [6, 6]
    residual = charts[1].panels[0].figure["data"][0]["y"]
    assert np.nanmean(residual) == pytest.approx(found.check.offset[0], abs=0.05)


def test_friction_has_a_curve_with_a_band_for_known_joints_only(found):
    page = page_of(found, some_friction())
    (chart,) = parts(page, "Friction", Chart)
    assert [panel.title for panel in chart.panels] == ["joint2"]
    assert sum(trace.get("fill") == "toself" for trace in chart.panels[0].figure["data"]) == 2
    (table,) = parts(page, "Friction", PageTable)
    assert table.rows[1][1] == "5 ± 0.2" and table.rows[0][1] == "no information"


def test_bad_plate_gives_a_red_page_with_the_doctors_words():
    page = page_of(recording_torques(PUMA, replace(LOG, wrench=-LOG.wrench)))
    assert page.verdict.level == "bad"
    words = [paragraph.text for paragraph in parts(page, "Plate against model", Paragraph)]
    assert any("opposite sign" in text for text in words)


def test_page_is_complete_in_itself_and_escapes_names(found):
    html = render(base_sensor_page("<script>x</script>", found, judged(found)))
    assert "<script>x</script>" not in html and "&lt;script&gt;x" in html
    assert "default-src 'none'" in html
