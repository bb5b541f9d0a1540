"""MJCF: MuJoCo computes the robot's torques from the file, on any mount; what it cannot say is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import JointKind
from counterpoise.exporters.mjcf import mjcf_text
from library.random_robots import random_motion, random_robot

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
ARMS = [entry.name for entry in cp.catalog() if entry.name != "puma560"]


def assert_mujoco_agrees(robot: cp.Robot, seed: int) -> None:
    model = mujoco.MjModel.from_xml_string(mjcf_text(robot))
    data = mujoco.MjData(model)
    assert [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, index) for index in range(model.njnt)] == list(
        robot.joint_names
    )
    np.testing.assert_allclose(model.dof_armature, robot.rotor_inertia)
    for q, dq, ddq in zip(*random_motion(robot, seed, 4), strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        motor = robot.inverse_dynamics(q, dq, ddq) + robot.rotor_inertia * ddq
        passive = data.qfrc_inverse + data.qfrc_constraint  # joint limits push where the pose is beyond them
        np.testing.assert_allclose(passive, motor, rtol=1e-9, atol=1e-9)
        for link in robot.link_names:
            place = data.site(link)
            T = robot.forward_kinematics(q, at=link)
            np.testing.assert_allclose(place.xpos, T[:3, 3], atol=1e-10)
            np.testing.assert_allclose(place.xmat.reshape(3, 3), T[:3, :3], atol=1e-10)


@pytest.mark.parametrize("name", ARMS)
def test_bundled_arms_on_a_wall(name: str) -> None:
    assert_mujoco_agrees(cp.load(name).mounted(rpy=(0.3, np.pi / 2, -0.2)), 0)


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_with_loads(seed: int) -> None:
    kinds = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.FIXED)
    assert_mujoco_agrees(random_robot(seed, kinds=kinds, mimics=False).robot(), seed)


def test_our_reader_takes_it_back(tmp_path: Path) -> None:
    robot = cp.load("wam7").with_payload(1.2, com=(0.0, 0.0, 0.1))
    (tmp_path / "arm.xml").write_text(mjcf_text(robot))
    again = cp.load(tmp_path / "arm.xml")
    q = np.random.default_rng(2).uniform(-1.5, 1.5, (5, 7))
    np.testing.assert_allclose(again.gravity(q), robot.gravity(q), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(again.effort_limit, robot.effort_limit)
    np.testing.assert_allclose(again.lower, robot.lower)


def test_what_mujoco_cannot_have_is_refused() -> None:
    with pytest.raises(cp.ModelError, match="no body can have"):
        mjcf_text(cp.load("puma560"))
    with pytest.raises(cp.ModelError, match="follows"):
        mjcf_text(next(robot for robot in map(_random, range(100)) if any(j.mimic for j in robot.description.joints)))


def one_joint(**changes: Any) -> cp.Robot:
    pendulum = cp.load("pendulum").description
    return cp.Robot(replace(pendulum, joints=(replace(pendulum.joints[0], **changes),)))


def test_limits_that_mujoco_would_take_for_none_are_refused() -> None:
    with pytest.raises(cp.ModelError, match="effort limit of 0"):
        mjcf_text(one_joint(effort_limit=0.0))
    with pytest.raises(cp.ModelError, match="one position only"):
        mjcf_text(one_joint(lower=0.0, upper=0.0))


def test_a_limit_on_one_side_stays() -> None:
    model = mujoco.MjModel.from_xml_string(mjcf_text(one_joint(lower=-np.inf, upper=0.5)))
    assert model.jnt_limited[0] and model.jnt_range[0, 1] == 0.5
    assert not mujoco.MjModel.from_xml_string(mjcf_text(one_joint(lower=-np.inf, upper=np.inf))).jnt_limited[0]


def test_a_root_called_world(tmp_path: Path) -> None:
    """As that of every MJCF file, and of many URDF files."""
    robot = cp.load("wam7")
    (tmp_path / "a.xml").write_text(mjcf_text(robot))
    (tmp_path / "b.xml").write_text(mjcf_text(cp.load(tmp_path / "a.xml"), ["twice"]))
    q = np.linspace(-1.0, 1.0, 7)
    np.testing.assert_allclose(cp.load(tmp_path / "b.xml").gravity(q), robot.gravity(q), atol=1e-9)


def test_a_tensor_that_a_file_rounded_is_taken() -> None:
    """Half a per mille beyond the triangle inequality: clipped, where 2 % is refused."""
    pendulum = cp.load("pendulum").description
    links = {link.name: link for link in pendulum.links}
    arm = links[pendulum.joints[0].child]
    for izz, fine in ((0.02001, True), (0.0205, False)):
        inertia = replace(arm.inertia, tensor_com=np.diag([0.01, 0.01, izz]))
        robot = cp.Robot(replace(pendulum, links=tuple({**links, arm.name: replace(arm, inertia=inertia)}.values())))
        if fine:
            assert mujoco.MjModel.from_xml_string(mjcf_text(robot)).nbody == 3
        else:
            with pytest.raises(cp.ModelError, match="no body can have"):
                mjcf_text(robot)


def _random(seed: int) -> cp.Robot:
    return random_robot(seed).robot()
