"""The page's pictures: names are escaped, bars stay in their boxes, and what is known is said."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from counterpoise.dynamics import load
from counterpoise.sensing import no_payload
from counterpoise.view import charts
from counterpoise.view.snapshot import Snapshot, State

NASTY = '<script>alert("x")</script>'


def made_snapshot() -> Snapshot:
    robot = load("planar3")
    zeros = np.zeros(3)
    return Snapshot(
        *(1.25, 7, 0.5, State.STOPPED, NASTY, zeros, zeros, np.array([1.0, -2.0, 3.0]), zeros, zeros, zeros),
        *(zeros, None, None, np.zeros(3), (), None, no_payload(robot, 0), False),
    )


def test_text_from_files_is_escaped() -> None:
    """A joint, an arm or a reason with markup in it stays text."""
    shot = made_snapshot()
    names, units, limits = (NASTY, "b", "c"), ("N m",) * 3, np.ones(3)
    pictures = (
        charts.status(shot, NASTY),
        charts.live_torques(shot, names, units, limits),
        charts.comparison(names, units, (NASTY, "b"), np.ones(3), np.zeros(3), np.zeros(3)),
        charts.paragraph(NASTY),
        charts.listing([NASTY]),
    )
    for picture in pictures:
        assert "<script" not in picture
        assert "&lt;script" in picture


@pytest.mark.parametrize("share", [0.0, 0.3, -0.7, 5.0, -1e9])
def test_bars_stay_in_their_boxes(share: float) -> None:
    """Whatever the value, a bar begins and ends between 0 and 100 %."""
    picture = charts.torque_bars([("a", "N m", [("#123", share)])], np.ones(1), "")
    left, width = (float(found) for found in re.findall(r"(?:left|;width):([\d.]+)%", picture)[-2:])
    assert 0.0 <= left <= 100.0
    assert left + width <= 100.0 + 1e-6


def test_small_numbers_have_no_sign() -> None:
    """What rounds to zero is shown as zero, not as -0.0."""
    shot = replace(made_snapshot(), commanded=np.full(3, -0.01), plate_force=np.array([-0.01, 2.0, -3.0]))
    assert "-0.0" not in charts.live_torques(shot, ("a", "b", "c"), ("N m",) * 3, np.ones(3))
    assert "x 0.0, y +2.0, z -3.0 N" in charts.plate(shot)


def test_a_slow_simulation_and_a_stop_are_told() -> None:
    """The state, its reason, and by how much the simulation falls behind."""
    picture = charts.status(made_snapshot(), "arm")
    assert 'data-state="stopped"' in picture
    assert "50% of real time" in picture
    assert "real time" not in charts.status(replace(made_snapshot(), pace=1.0), "arm")


def test_a_payload_is_told_with_probabilities() -> None:
    """Found and trusted: mass, links in order, and what is compensated; otherwise none."""
    names, units = ("a", "b", "c"), ("N m", "N", "N m")
    empty = no_payload(load("planar3"), 2)
    nothing = replace(made_snapshot(), estimate=empty)
    assert "No payload found in 2 poses" in charts.payload(nothing, names, units)
    links = {"tip": 0.75, "forearm": 0.248, "base": 0.002}
    found = replace(empty, detected=True, link="tip", links=links, mass=1.5, mass_std=0.1, mass_known=True)
    shot = replace(nothing, estimate=found, trusted=True, compensated=np.array([0.0, 4.2, 1.0]))
    picture = charts.payload(shot, names, units)
    for words in ("1.50 ± 0.10 kg", "75%", "25%", "+4.2 N at b", 'data-payload="trusted"'):
        assert words in picture
    assert "base" not in picture


def test_a_comparison_names_the_joints_that_differ() -> None:
    """Those whose difference is beyond the friction band, and only those."""
    first, second, band = np.array([1.0, 2.0, 3.0]), np.array([1.1, 4.0, 3.0]), np.full(3, 0.5)
    picture = charts.comparison(("a", "bb", "c"), ("N m",) * 3, ("one", "two"), first, second, band)
    assert "more than friction hides at bb." in picture
    assert "less than friction hides" in charts.comparison(
        ("a", "bb", "c"), ("N m",) * 3, ("one", "two"), first, first, band
    )
