"""The distribution of random joints: drawn as it says, the same everywhere, and every joint can be simulated."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.lab.papers.base_sensor_map import FRESH, RANGES, UNIFORM, Judged, outcome_of, random_joint


@pytest.mark.parametrize("seed", [0, 1, FRESH, FRESH + 79])
def test_joints_are_inside_the_ranges(seed: int) -> None:
    """Each number; and the plant has the mode, the friction and the limit that were drawn."""
    joint = random_joint(seed)
    for name, (low, high) in (RANGES | UNIFORM).items():
        assert low <= joint.numbers[name] <= high
    assert joint.numbers == random_joint(seed).numbers
    plant = joint.plant()
    with plant:
        assert plant.read().wrench is not None
    drive, link = joint.config.drive, joint.link
    reduced = link.inertia * link.rotor_inertia / (link.inertia + link.rotor_inertia)
    mode = float(np.sqrt(drive.gear.stiffness[0] / reduced)) / (2.0 * np.pi)
    assert mode == pytest.approx(joint.numbers["frequency"])
    assert drive.friction is not None
    assert float(drive.friction.static[0]) == pytest.approx(joint.numbers["friction"] * link.effort_limit)


def test_seeds_do_not_depend_on_each_other() -> None:
    """The distribution of the fresh seeds is that of the ranges: medians near the middle."""
    drawn = [random_joint(FRESH + index).numbers for index in range(80)]
    for name, (low, high) in RANGES.items():
        share = np.log(np.array([each[name] for each in drawn]) / low) / np.log(high / low)
        assert 0.3 < np.median(share) < 0.7


def test_outcome_leaves_out_what_could_not_be_judged() -> None:
    """Medians over the judged joints; failures are told."""
    good = [
        Judged(
            index,
            random_joint(index).numbers,
            rms={"pid": ratio, "bsc": 1.0, "pid-ahead": 1.0, "bsc-ahead": 0.5},
            largest={},
        )
        for index, ratio in enumerate((2.0, 3.0, 5.0))
    ]
    bad = Judged(9, random_joint(9).numbers, failure="InputError: no room")
    outcome = outcome_of([*good, bad])
    assert outcome.comparisons[0].ours == 3.0 and outcome.comparisons[1].ours == 2.0
    assert outcome.notes == ("joint 9: InputError: no room",) and "1 joints could not" in outcome.decides
