"""The compact form: the paper's for the planar arm, as many columns as base parameters for any rotary tree."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import JointKind
from counterpoise.sensing.inverse_regressor import compact_form
from library.random_robots import random_motion, random_robot

ROTARY = (JointKind.REVOLUTE, JointKind.CONTINUOUS)


def test_planar_arm_is_the_papers() -> None:
    """Three columns g [c1 c12 c123; 0 c12 c123; 0 0 c123] and s as printed, with CoMs declared on the link line."""
    form = compact_form(cp.load("planar3"), on_link_line=True)
    for q in np.random.default_rng(0).uniform(-3.0, 3.0, (20, 3)):
        c1, c12, c123 = np.cos(np.cumsum(q))
        expected = 9.81 * np.array([[c1, c12, c123], [0.0, c12, c123], [0.0, 0.0, c123]])
        np.testing.assert_allclose(form.Z(q), expected, atol=1e-12)
    m, length, center = (2.4, 1.8, 1.0), (0.35, 0.30), (0.17, 0.14, 0.09)
    s = [length[0] * (m[1] + m[2]) + center[0] * m[0], length[1] * m[2] + center[1] * m[1], center[2] * m[2]]
    np.testing.assert_allclose(form.s, s, atol=1e-14)
    assert form.names == ("joint1.mx", "joint2.mx", "joint3.mx")


def test_without_the_declaration_six_columns_remain() -> None:
    form = compact_form(cp.load("planar3"))
    assert form.merge.shape == (36, 6)


def check(robot: cp.Robot, seed: int) -> None:
    """Z_c s_c = g; Z_c = Z E with zeros and ones; as many columns as base gravity parameters; none dependent."""
    q = random_motion(robot, seed, 12)[0]
    form = compact_form(robot)
    Z, _ = robot.jo_decomposition(q)
    np.testing.assert_allclose(form.Z(q), Z @ form.merge, atol=1e-12)
    assert set(np.unique(form.merge)) <= {0.0, 1.0}
    scale = max(1.0, float(np.abs(robot.gravity(q)).max()))
    assert np.abs(form.Z(q) @ form.s - robot.gravity(q)).max() <= 1e-10 * scale
    assert len(form.names) == len(robot.base_parameters.names) == form.merge.shape[1]
    if form.names:
        assert np.linalg.matrix_rank(form.Z(q).reshape(-1, len(form.names)), tol=1e-8) == len(form.names)


@pytest.mark.parametrize(("name", "columns"), [("planar3", 6), ("wam4", 6), ("wam7", 12), ("dualarm19", 36)])
def test_catalog(name: str, columns: int) -> None:
    robot = cp.load(name)
    check(robot, 0)
    assert len(compact_form(robot).names) == columns


def test_random_rotary_trees() -> None:
    for seed in range(5000, 5030):
        joints = int(np.random.default_rng(seed).integers(1, 11))
        check(random_robot(seed, joints=joints, kinds=ROTARY, mimics=False).robot(), seed)


def test_declared_zeros_change_nothing_but_the_count() -> None:
    """For any arm the shorter form gives the same torques."""
    robot = cp.load("wam7")
    q = random_motion(robot, 1, 10)[0]
    form = compact_form(robot, on_link_line=True)
    np.testing.assert_allclose(form.Z(q) @ form.s, robot.gravity(q), atol=1e-10)


def test_linear_joints_are_refused() -> None:
    with pytest.raises(cp.ModelError, match="rotary"):
        compact_form(cp.load("scara"))
