"""The tables of studies/base_sensor_map.py, from joints made up here, and one joint really judged."""

from __future__ import annotations

import json
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from counterpoise.lab.papers.base_sensor_map import Judged, judged, random_joint
from library.study_module import load_study


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """The study as a module."""
    return load_study("base_sensor_map")


def made_up(count: int) -> list[Judged]:
    """Joints whose ratio is their gear mode by 10 Hz."""
    found = []
    for seed in range(count):
        numbers = random_joint(seed).numbers
        ratio = numbers["frequency"] / 10.0
        errors = {"pid": ratio, "bsc": 1.0, "pid-ahead": 1.0, "bsc-ahead": 0.5}
        found.append(Judged(seed, numbers, structural_frequency=numbers["frequency"], rms=errors, largest=errors))
    return found


def test_tables_show_what_drives_the_ratio(study: ModuleType) -> None:
    """The gear mode is perfectly correlated here; sending ahead gains 2 everywhere."""
    found = made_up(40)
    gear = next(line for line in study.third_table(found) if line.startswith("| gear mode"))
    assert "+1.00" in gear and gear.endswith("| 2.00 | 2.00 | 2.00 |")
    bands = study.band_table(found)
    assert len(bands) > 3 and all(line.endswith("| 2.00 |") for line in bands[2:])
    assert study.rank_correlation(np.arange(9.0), -(np.arange(9.0) ** 3)) == pytest.approx(-1.0)


def test_a_band_needs_three_joints(study: ModuleType) -> None:
    """Medians of the joints whose tuning met a frequency within it; the band's middle is the geometric one."""
    found = [replace(joint, structural_frequency=40.0 + joint.seed) for joint in made_up(3)]
    assert study.band_medians(found[:2]) == []
    (band,) = study.band_medians([*found, Judged(9, random_joint(9).numbers, failure="InputError: no room")])
    ratios = [joint.ratio("pid", "bsc") for joint in found]
    assert (band["count"], band["median"], band["ahead"]) == (3.0, np.median(ratios), 2.0)
    assert band["frequency"] == pytest.approx(41.0, rel=0.01)


def test_a_run_goes_on_where_it_was(study: ModuleType, tmp_path) -> None:
    """The file keeps what was judged; a joint that failed is tried again; marks of a page are filled."""
    bad = Judged(99, random_joint(99).numbers, failure="InputError: no room")
    path = tmp_path / "map.json"
    path.write_text(json.dumps(study.content([*made_up(3), bad])))
    assert [each.seed for each in study.kept(path)] == [0, 1, 2]
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n")
    study.put(page, "x", ["new"])
    assert page.read_text() == "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n"


def test_one_joint_is_judged() -> None:
    """A joint of the developing seeds: every law has an error, and base sensor control is the better one."""
    found = judged(35)  # one of the slowest control rates, so that it is judged quickly
    assert found.failure == "" and found.rms is not None
    assert set(found.rms) == {"pid", "bsc", "pid-ahead", "bsc-ahead"}
    assert found.ratio("pid", "bsc") > 2.0 and found.ratio("bsc", "bsc-ahead") > 1.2
