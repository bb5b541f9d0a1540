"""Joint ranges and where offsets can be distinguished from weight."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification.workspace import joint_ranges, separable_offsets, workspace_poses


def test_ranges_keep_a_margin_and_bound_what_is_unlimited() -> None:
    robot = cp.load("wam7")
    lower, upper = joint_ranges(robot, margin=0.1)
    np.testing.assert_allclose(lower, robot.lower + 0.1)
    np.testing.assert_allclose(upper, robot.upper - 0.1)
    free = cp.load("pendulum")
    lower, upper = joint_ranges(free)
    assert np.all(np.isfinite(lower) & np.isfinite(upper) & (upper > lower))
    wide = joint_ranges(robot, margin=100.0)
    assert np.all(wide[1] > wide[0])  # a margin never closes a range


def test_poses_fill_the_range() -> None:
    robot = cp.load("puma560")
    poses = workspace_poses(robot, 500, seed=1)
    lower, upper = joint_ranges(robot)
    assert np.all(np.ptp(poses, axis=0) > 0.95 * (upper - lower))


def test_weight_hides_the_offset_of_a_vertical_slide_only() -> None:
    """SCARA upright: the quill; tilted: no joint. A gantry: its vertical axis."""
    scara = cp.load("scara")
    assert separable_offsets(scara).tolist() == [True, True, False, True]
    assert separable_offsets(scara.mounted(rpy=(0.3, 0.2, 0.0))).tolist() == [True, True, False, True]
    assert separable_offsets(cp.load("wam7")).all()
    assert separable_offsets(cp.load("gantry")).tolist() == [True, True, False]


@pytest.mark.parametrize("margin", [-0.1, float("nan"), float("inf")])
def test_a_margin_without_a_meaning_is_refused(margin: float) -> None:
    with pytest.raises(cp.InputError, match="margin"):
        joint_ranges(cp.load("pendulum"), margin=margin)
