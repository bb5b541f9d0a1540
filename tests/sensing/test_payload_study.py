"""A small version of studies/payload.py: loads on links, an empty arm, and the tables of the page."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing.payload_statistics import places_of
from library.study_module import load_study


@pytest.fixture(scope="module")
def study():
    return load_study("payload")


@pytest.fixture(scope="module")
def puma(study):
    """The PUMA with residues like those that its simulation leaves: friction on the side, a tenth of it scattered."""
    robot = cp.load("puma560")
    band = 0.87 * np.array([6.0, 5.5, 2.6, 1.3, 1.0, 1.2])
    random = np.random.default_rng(0)
    side = random.choice([-1.0, 1.0], size=(40, 6))
    residue = side * band * (1.0 + 0.1 * random.normal(size=side.shape))
    nothing = np.zeros((*side.shape, 0))
    return study.Arm(robot, places_of(robot), band, residue, side, nothing, nothing)


def test_right_link_and_mass_with_and_without_a_plate(study, puma) -> None:
    """≥ 1 kg where the mass is felt: right link ≥ 80 %, within one ≥ 90 %; with the plate ≥ 90 %, mass within 3 %."""
    random = np.random.default_rng(1)
    alone = study.summary([record for record in study.identification(puma, 3, False, random) if record["felt"]])
    assert alone["right"] >= 0.8 and alone["near"] >= 0.9 and alone["median_error"] < 0.1
    plate = study.summary(study.identification(puma, 2, True, random))
    assert plate["right"] >= 0.85 and plate["median_error"] < 0.03


def test_no_false_detection_and_bounded_ticks(study, puma) -> None:
    """Five minutes of an empty PUMA with wrong masses; 5,000 random and faulty samples."""
    random = np.random.default_rng(2)
    assert study.empty_runs(puma, 5, random)["false_detections"] == 0
    found = study.ticks(puma, 5_000, random)
    assert found["finite"] and found["mass_bounded"]


def test_tables(study, puma) -> None:
    """The table has a row per group, and reliability counts every stated probability once."""
    records = study.identification(puma, 1, False, np.random.default_rng(3))
    results = {"identification": {"puma550": {"joints": {"all": study.summary(records)}}}}
    assert len(study.table(results)) == 3
    stated = sum(share > 1e-3 for record in records for share, _ in record["shares"])
    assert sum(row["count"] for row in study.reliability(records)) == stated
