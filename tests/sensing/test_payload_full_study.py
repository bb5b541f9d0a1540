"""The tables of studies/payload_full.py, and the loads that it attaches."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing.payload_statistics import places_of
from library.study_module import load_study


@pytest.fixture(scope="module")
def study():
    return load_study("payload_full")


def run(study, link: str, found: str | None, mass: float, share: float = 1.0, stopped: str = ""):
    """A run of the WAM in which both estimators found the same."""
    other = "link4" if found != "link4" else "link5"
    told = {
        "detected": found is not None,
        "link": found,
        "links": {} if found is None else {found: share, other: 1.0 - share},
        "link_set": [] if found is None else [found],
        "mass": mass,
        "mass_std": 0.05,
        "events": [],
    }
    return {"arm": "wam7", "link": link, "on_axis": False, "stopped": stopped} | dict.fromkeys(study.WAYS, told)


def test_table_counts_links_masses_and_deviations(study) -> None:
    """Three runs: one right, one a link too far, one not found; a run that was stopped does not count."""
    runs = [
        run(study, "link6", "link6", 1.02),
        run(study, "link6", "link5", 1.2),
        run(study, "link6", None, 0.0),
        run(study, "link6", "link4", 9.0, stopped="a limit"),
    ]
    cells = study.table({"loaded": runs, "empty": []})[2].split(" | ")
    assert cells[:4] == ["| wam7", "joints", "link6", "3"]
    assert cells[4:8] == ["67%", "33%", "67%", "50%"]
    assert cells[9] == "50%" and cells[10] == "50%"


def test_reliability_counts_every_stated_probability_once(study) -> None:
    """Links stated with 80 % that are right three times of four."""
    runs = [run(study, "link6", "link6" if k else "link5", 1.0, 0.8) for k in range(4)]
    rows = study.reliability({"loaded": runs, "empty": []})
    assert [row["count"] for row in rows] == [8, 8]
    assert rows[1]["stated"] == pytest.approx(0.8) and rows[1]["found"] == pytest.approx(0.75)


def test_loads_go_round_the_links_and_the_last_axis(study) -> None:
    """A load on the last axis turns no last joint, wherever the arm is."""
    robot = cp.load("wam7")
    places = places_of(robot)
    drawn = [study.drawn_load(places, seed) for seed in range(200, 208)]
    assert [link for link, _, _ in drawn] == [*places.links[1:], places.links[-1]]
    link, com, on_axis = drawn[-1]
    assert on_axis
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (10, 7))
    change = robot.with_payload(1.0, com=com, link=link).gravity(q) - robot.gravity(q)
    np.testing.assert_allclose(change[:, -1], 0.0, atol=1e-9)
    assert np.abs(change).max() > 1.0
