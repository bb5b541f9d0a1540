"""The page of a calibration: the verdict first, everything asked for on it, hostile names harmless."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import static_poses
from counterpoise.foundation import Check, Verdict
from counterpoise.identification import Fit, calibrate, design_poses, verify
from counterpoise.report.calibration import calibration_page, verification_page
from counterpoise.report.charts import Chart
from counterpoise.report.page import Page, PageTable, render
from library.calibration_data import motion, other_masses, visits

pytest.importorskip("plotly", reason="plotly is not installed")
pytest.importorskip("jinja2", reason="jinja2 is not installed")


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("planar3")


@pytest.fixture(scope="module")
def static(arm: cp.Robot) -> Fit:
    return calibrate(
        arm, visits(other_masses(arm), design_poses(arm, 8), friction=0.3, noise=0.02), use="static", findings=()
    )


@pytest.fixture(scope="module")
def moving(arm: cp.Robot) -> Fit:
    return calibrate(arm, motion(other_masses(arm), coulomb=0.5, viscous=0.3, noise=0.1), findings=())


def charts(page: Page, title: str) -> list[Chart]:
    return [
        part for section in page.sections if section.title == title for part in section.parts if isinstance(part, Chart)
    ]


def test_the_verdict_comes_first(static: Fit) -> None:
    """Green and TRUSTED; red, NOT TRUSTED and the reason as a sentence."""
    page = calibration_page(static)
    assert page.verdict is not None
    assert page.verdict.level == "good"
    assert page.verdict.headline.startswith("TRUSTED")
    assert "mm at the tip" in " ".join(page.verdict.details)
    bad = replace(static, verdict=Verdict((Check("float", False, "not good to float: joint1 is too unsure"),)))
    verdict = calibration_page(bad).verdict
    assert verdict is not None
    assert verdict.level == "bad"
    assert verdict.headline == "NOT TRUSTED for float"
    assert verdict.details[0] == "Not good to float: joint1 is too unsure."


def test_what_it_is_good_for_is_told_whatever_the_verdict(static: Fit) -> None:
    bad = replace(static, verdict=Verdict((Check("float", False, "not good to float"),)))
    for fit in (static, bad):
        verdict = calibration_page(fit).verdict
        assert verdict is not None
        for statement in static.statements:
            assert f"Good to {statement.sentence}." in verdict.details


def test_the_promise_of_every_joint_is_on_the_page(static: Fit) -> None:
    """Error, share of gravity, what is tolerated, and the range; none where the recording is not valid."""
    page = calibration_page(static)
    (section,) = (section for section in page.sections if section.title == "How reliable it is")
    table = next(part for part in section.parts if isinstance(part, PageTable))
    assert [row[0] for row in table.rows] == list(static.robot.joint_names)
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["of gravity"].endswith("%")
    assert row["calibrated range"].endswith("rad")
    unsound = replace(static, errors=replace(static.errors, gravity=np.full(3, np.nan)))
    (section,) = (each for each in calibration_page(unsound).sections if each.title == "How reliable it is")
    assert not [part for part in section.parts if isinstance(part, PageTable)]


def test_notes_are_no_footnotes(static: Fit) -> None:
    page = calibration_page(replace(static, notes=("the efforts of joint2 show a spring",)))
    titles = [section.title for section in page.sections]
    assert titles.index("Worth knowing") < titles.index("Before and after")


def test_everything_asked_for_is_on_the_page(moving: Fit) -> None:
    """Checks, before and after, predictions, errors, parameters, what is unknown, friction, coverage; a panel per
    joint."""
    page = calibration_page(moving)
    titles = [section.title for section in page.sections]
    assert titles == [
        *("Why", "How reliable it is", "Worth knowing", "Before and after", "Measured against predicted"),
        *("Error against joint position", "What was found", "What is not known", "Friction", "Where the arm was"),
        "About",
    ]
    for title in ("Measured against predicted", "Error against joint position", "Friction"):
        assert len(charts(page, title)[0].panels) == 3
    bars = [trace for panel in charts(page, "What was found")[0].panels for trace in panel.figure["data"]]
    assert any("error_y" in trace for trace in bars)
    assert len(render(page)) > 100_000


def test_held_out_points_are_marked(moving: Fit) -> None:
    """As many points in both clouds as samples, within the thinning."""
    assert moving.evidence is not None
    chart = charts(calibration_page(moving), "Error against joint position")[0]
    names = [trace["name"] for trace in chart.panels[0].figure["data"]]
    assert names == ["fitted", "held out for the check", "no error"]
    held = chart.panels[0].figure["data"][1]
    assert 0 < len(held["x"]) <= int(moving.evidence.held.sum())


def test_static_poses_have_no_friction_curve_but_a_band(static: Fit) -> None:
    page = calibration_page(static)
    assert not charts(page, "Friction")
    table = next(
        part
        for section in page.sections
        for part in section.parts
        if isinstance(part, PageTable) and "friction" in part.columns
    )
    assert table.rows[0][table.columns.index("friction")].startswith("0.3")


def test_a_fit_from_a_file_has_a_page_without_charts_of_samples(static: Fit) -> None:
    page = calibration_page(replace(static, evidence=None))
    assert "Measured against predicted" not in [section.title for section in page.sections]
    assert "TRUSTED" in render(page)


def test_a_verification_has_a_page(arm: cp.Robot, static: Fit) -> None:
    q = design_poses(arm, 6, seed=3)
    good = verification_page(verify(static, visits(other_masses(arm), q, friction=0.3, noise=0.02)))
    assert good.verdict is not None
    assert good.verdict.headline == "THE CALIBRATION HOLDS"
    heavy = other_masses(arm).with_payload(2.0, com=(0.2, 0.0, 0.0))
    bad = verification_page(verify(static, visits(heavy, q, friction=0.3, noise=0.02)))
    assert bad.verdict is not None
    assert bad.verdict.level == "bad"
    assert bad.verdict.headline == "THE CALIBRATION NO LONGER HOLDS"
    assert render(bad)


def test_what_was_not_tested_is_not_said_to_have_changed(arm: cp.Robot, static: Fit) -> None:
    far = static_poses(arm.joint_names, static.data.upper + np.array([[0.5], [0.6], [0.7]]), np.zeros((3, 3)))
    page = verification_page(verify(static, far))
    assert page.verdict is not None
    assert page.verdict.headline == "IT IS NOT SHOWN THAT THE CALIBRATION HOLDS"


def test_hostile_text_stays_text(static: Fit) -> None:
    hostile = "</script><script>alert('x')</script>"
    page = render(calibration_page(replace(static, notes=(hostile,), data=replace(static.data, why=hostile))))
    assert "<script>alert" not in page


def test_numbers_that_are_none_do_not_reach_the_page(moving: Fit) -> None:
    """A joint without a signal, an unknown standard error: no NaN in the figures."""
    unknown = replace(moving, parameters=tuple(replace(one, std=np.inf) for one in moving.parameters))
    assert "NaN" not in render(calibration_page(unknown)).rpartition('id="figures"')[2].partition("</script>")[0]
