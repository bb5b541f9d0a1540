"""The Z–s decomposition of the on-line gravity paper: exact, of the stated size and structure, or refused."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description import Joint, JointKind, Link, Mimic, catalog_names, checked
from counterpoise.errors import ModelError
from counterpoise.foundation import inverse_transform, skew
from library.random_robots import random_motion, random_robot
from library.twin import agree

Array = npt.NDArray[np.float64]

ROTARY = (JointKind.REVOLUTE, JointKind.CONTINUOUS)
ALL_ROTARY = [name for name in catalog_names() if name not in ("scara", "gantry", "slider")]


def check(robot: cp.Robot, seed: int) -> None:
    """Z s = g, batched and single, with Z of shape n × 3n(n + 1) and zero outside the diagonal blocks."""
    n = robot.n
    width = 3 * (n + 1)
    q = random_motion(robot, seed, 4)[0]
    Z, s = robot.jo_decomposition(q)
    assert Z.shape == (4, n, 3 * n * (n + 1))
    assert s.shape == (3 * n * (n + 1),)
    agree(Z @ s, robot.gravity(q), "Z s = g", oracle="identity", where=f"seed {seed}", tolerance=1e-10)
    single, same = robot.jo_decomposition(q[1])
    np.testing.assert_array_equal(single, Z[1])
    np.testing.assert_array_equal(same, s)
    blocks = Z.reshape(4, n, n, width)
    for row in range(n):
        for block in range(n):
            assert (row == block) or not blocks[:, row, block].any()
    assert not s.reshape(n, width)[:, :3].any()  # nothing hangs on the base frame


@pytest.mark.parametrize("name", ALL_ROTARY)
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.3, 0.6, -0.2)])
def test_catalog(name: str, rpy: tuple[float, float, float]) -> None:
    check(cp.load(name).mounted(rpy=rpy), 0)


@pytest.mark.parametrize("first", range(4000, 4040, 10))
def test_random_rotary_trees(first: int) -> None:
    """Serial and branched, tilted, with loads, with child frames anywhere."""
    for seed in range(first, first + 10):
        joints = int(np.random.default_rng(seed).integers(1, 13))
        check(random_robot(seed, joints=joints, kinds=ROTARY, mimics=False).robot(), seed)


def test_row_of_z_is_gravity_crossed_with_the_axis_in_every_frame() -> None:
    """Block i is −gᵀ [z_i]× [1 R_1 … R_n], from poses that the kinematics give."""
    robot = cp.load("dualarm19").mounted(rpy=(0.1, -0.4, 0.0))
    q = random_motion(robot, 5, 1)[0][0]
    Z, _ = robot.jo_decomposition(q)
    joints = {joint.name: joint for joint in robot.description.joints}
    frames = []
    for name in robot.joint_names:
        joint = joints[name]
        frames.append((robot.forward_kinematics(q, at=joint.child) @ inverse_transform(joint.T_joint_child))[:3, :3])
    for i, name in enumerate(robot.joint_names):
        z = frames[i] @ joints[name].axis
        expected = -robot.gravity_base @ skew(z) @ np.hstack([np.eye(3), *frames])
        np.testing.assert_allclose(Z[i].reshape(robot.n, -1)[i], expected, atol=1e-13)


def test_row_of_a_vertical_joint_vanishes() -> None:
    """So an inverse of Z needs an absolute threshold."""
    for name in ("wam4", "dualarm19"):
        Z, _ = cp.load(name).jo_decomposition(np.zeros(cp.load(name).n))
        np.testing.assert_allclose(Z[0], 0.0, atol=1e-14)


def test_layout_of_the_planar_arm() -> None:
    """s = [0₃ s₁ 0₂ s₂ 0₂ s₃ 0₈ s₂ 0₂ s₃ 0₁₁ s₃ 0₂] with s_i the carried moment along link i, by hand."""
    _, s = cp.load("planar3").jo_decomposition(np.zeros(3))
    s1 = 2.4 * 0.17 + (1.8 + 1.0) * 0.35
    s2 = 1.8 * 0.14 + 1.0 * 0.30
    s3 = 1.0 * 0.09
    expected = [
        *([0.0] * 3 + [s1] + [0.0] * 2 + [s2] + [0.0] * 2 + [s3]),
        *([0.0] * 8 + [s2] + [0.0] * 2 + [s3]),
        *([0.0] * 11 + [s3] + [0.0] * 2),
    ]
    assert len(expected) == 36
    np.testing.assert_allclose(s, expected, rtol=0, atol=1e-15)


def test_s_sees_only_what_a_joint_carries() -> None:
    """On a tree the block of a right-arm joint is empty for the left arm, and the other way round."""
    robot = cp.load("dualarm19")
    _, s = robot.jo_decomposition(np.zeros(19))
    filled = np.any(s.reshape(19, 20, 3)[:, 1:] != 0.0, axis=2)
    for i, joint in enumerate(robot.joint_names):
        for j, body in enumerate(robot.joint_names):
            sides = {joint.split("_")[0], body.split("_")[0]}
            if sides == {"left", "right"} or j < i:
                assert not filled[i, j], (joint, body)
    assert filled[0].sum() == 19  # the trunk's first joint carries everything


def test_s_is_constant() -> None:
    """It depends on neither pose nor mount nor the strength of gravity; a load changes it."""
    robot = cp.load("wam7")
    _, s = robot.jo_decomposition(np.zeros(7))
    _, moved = robot.mounted(rpy=(1.0, 0.2, 0.0), gravity=(0.0, 0.0, -1.62)).jo_decomposition(np.ones(7))
    np.testing.assert_array_equal(moved, s)
    _, loaded = robot.with_payload(1.0, com=(0.0, 0.0, 0.1)).jo_decomposition(np.zeros(7))
    assert np.abs(loaded - s).max() > 0.05


@pytest.mark.parametrize(("name", "joint"), [("scara", "joint3"), ("gantry", "joint1"), ("slider", "joint1")])
def test_linear_joints_are_refused(name: str, joint: str) -> None:
    """Their offset, a part of the constant s, would change with q; the error names the joint."""
    robot = cp.load(name)
    assert joint in robot.joint_names
    with pytest.raises(ModelError, match=f"'{joint}' is linear.*would change with q"):
        robot.jo_decomposition(np.zeros(robot.n))


def test_mimic_joints_are_refused() -> None:
    joints = [
        Joint("first", JointKind.REVOLUTE, "base", "upper"),
        Joint("second", JointKind.REVOLUTE, "upper", "lower", mimic=Mimic("first")),
    ]
    robot = cp.Robot(checked(name="pair", links=[Link("base"), Link("upper"), Link("lower")], joints=joints))
    with pytest.raises(ModelError, match="mimic"):
        robot.jo_decomposition([0.0])
