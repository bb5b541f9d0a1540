"""Poses chosen before the robot moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import JointRegression, solve
from counterpoise.identification.pose_design import MOST_EFFORT, design, design_poses, expected_knowledge
from counterpoise.identification.pose_plan import approach_within, read_plan
from counterpoise.identification.workspace import (
    Clearance,
    clear_of_itself,
    clear_of_table,
    joint_ranges,
    static_columns,
    static_rows,
    workspace_poses,
)


@pytest.mark.parametrize("name", ["wam7", "puma560", "planar3", "titan2"])
def test_designed_poses_tell_more_than_random_ones(name: str) -> None:
    """Inside the limits with a margin, light enough to hold, and better than the median of random sets in every
    joint."""
    robot = cp.load(name)
    found = design(robot, 10, seed=1)
    lower, upper = joint_ranges(robot, margin=None)
    assert found.poses.shape == (10, robot.n)
    assert np.all((found.poses >= lower) & (found.poses <= upper))
    assert np.all(np.abs(robot.gravity(found.poses)) <= MOST_EFFORT * robot.effort_limit)
    random = [expected_knowledge(robot, workspace_poses(robot, 10, seed=seed, margin=None)) for seed in range(9)]
    assert found.condition < np.median([condition for condition, _, _ in random])
    assert np.sum(found.torque_std) < 0.95 * np.median([np.sum(std) for _, std, _ in random])
    approach_within(found.plan(), robot.lower, robot.upper, 0.02)  # raises where a limit leaves no room for an approach


def test_the_same_seed_gives_the_same_poses() -> None:
    robot = cp.load("wam4")
    np.testing.assert_array_equal(design_poses(robot, 6, seed=3), design_poses(robot, 6, seed=3))
    assert not np.array_equal(design_poses(robot, 6, seed=3), design_poses(robot, 6, seed=4))


def test_expected_errors_are_those_of_a_fit() -> None:
    """The promised error of a holding torque is met by fits to noisy torques, within the scatter of 200 of them."""
    robot = cp.load("wam4")
    found = design(robot, 8)
    rows = static_rows(robot, found.poses, offset=True)
    spread = static_rows(robot, workspace_poses(robot, 100), offset=True)
    random = np.random.default_rng(0)
    squares = []
    for _ in range(200):
        regression = JointRegression(robot.joint_names, static_columns(robot, offset=True))
        regression.add(rows, random.standard_normal(found.poses.shape))  # truth is zero, so the fit is the error
        squares.append((spread @ solve(regression, sigma=np.ones(robot.n)).x) ** 2)
    np.testing.assert_allclose(np.sqrt(np.mean(squares, axis=(0, 1))), found.torque_std, rtol=0.15)


def test_it_says_what_cannot_be_told() -> None:
    """Two poses leave numbers open; joint 1 of an upright arm carries nothing; SCARA's weight stands for its offset."""
    robot = cp.load("wam7")
    few = design(robot, 2)
    assert few.identifiable.undetermined
    assert np.isinf(few.torque_std).any()
    assert "link1.m" in few.identifiable.never_felt
    assert design(robot, 12).identifiable.complete
    scara = design(cp.load("scara"), 6)
    assert [one.text for one in scara.identifiable.determined if one.unit == "kg"] == ["link3.m + link4.m"]
    assert not any(one.text == "joint3.offset" for one in scara.identifiable.determined)


def test_clearance_is_kept_and_stated() -> None:
    """Every pose is clear of itself and the table; without being asked nothing is checked, and it says so."""
    robot = cp.load("wam7")
    clearance = Clearance(0.06, table=0.0)
    found = design(robot, 8, clearance=clearance)
    assert clear_of_itself(robot, found.poses, clearance).all()
    assert clear_of_table(robot, found.poses, clearance).all()
    assert any("table" in sentence for sentence in found.checked)
    unchecked = design(robot, 8)
    assert any("collisions" in sentence for sentence in unchecked.not_checked)
    assert not any("clear" in sentence for sentence in unchecked.checked)


def test_the_plan_reads_back(tmp_path: Path) -> None:
    robot = cp.load("wam4")
    found = design(robot, 4)
    found.plan().write(tmp_path / "plan.toml")
    np.testing.assert_array_equal(read_plan(tmp_path / "plan.toml", robot).poses, found.poses)


@pytest.mark.parametrize("count", [0, 1, 1001, 2.5, True])
def test_a_count_without_a_meaning_is_refused(count: object) -> None:
    with pytest.raises(cp.InputError, match="count"):
        design(cp.load("pendulum"), count)  # type: ignore[arg-type]


def test_an_arm_without_weight_is_refused() -> None:
    weightless = cp.load("pendulum").mounted(gravity=(0.0, 0.0, 0.0))
    with pytest.raises(cp.InputError, match="gravity acts on no joint"):
        design(weightless)


def test_a_table_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(cp.InputError, match="smaller margin or radius"):
        design(cp.load("wam7"), 6, clearance=Clearance(0.06, table=2.0))
