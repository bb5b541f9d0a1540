"""The patent's claims for one joint (16 to 27, 38, 39): every gravity wrench generator, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.foundation import Array
from counterpoise.sensing.plate.gravity_wrench import gravity_wrenches

ARMS = {"rotary": "pendulum", "linear": "slider"}
TILT = (0.3, -0.5, 0.2)
"""On a slope the weight has components along every axis."""


def one_joint(kind: str) -> cp.Robot:
    robot = cp.load(ARMS[kind]).mounted(rpy=TILT)
    assert robot.n == 1
    return robot


def poses(robot: cp.Robot) -> Array:
    return np.linspace(robot.lower[0], robot.upper[0], 9)[:, None]


def by_hand(robot: cp.Robot, q: Array) -> Array:
    """−m g and −O_sG × m g of the base and of the one link (claims 18 and 24), on the robot, at the base origin."""
    base, link = robot.description.links[0].inertia, robot.description.links[1].inertia
    assert base is not None
    assert link is not None
    wrenches = np.empty((len(q), 6))
    for row, angle in enumerate(q):
        T = robot.forward_kinematics(angle, at=robot.description.links[1].name)
        OG = T[:3, :3] @ link.com + T[:3, 3]
        wrenches[row, :3] = -(base.mass + link.mass) * robot.gravity_base
        wrenches[row, 3:] = -np.cross(base.mass * base.com + link.mass * OG, robot.gravity_base)
    return wrenches


@pytest.mark.parametrize("kind", ARMS)
def test_gravity_wrench_of_one_link(kind: str) -> None:
    """Claims 17, 18, 23, 24: from mass and centre of mass."""
    robot = one_joint(kind)
    q = poses(robot)
    np.testing.assert_allclose(robot.base_wrench(q), by_hand(robot, q), atol=1e-12)
    np.testing.assert_allclose(gravity_wrenches(robot.tree, q), by_hand(robot, q), atol=1e-12)


@pytest.mark.parametrize("table", ["trigonometric", "linear"])
@pytest.mark.parametrize("kind", ARMS)
def test_gravity_wrench_of_one_link_from_a_table(kind: str, table: str) -> None:
    """Claims 19 and 25: looked up by the joint's position, exactly or interpolated; the torque follows."""
    robot = one_joint(kind)
    sensor = cp.BaseSensor(robot)
    q = poses(robot)[1:-1]
    generator = sensor.use_table(table, spacing=0.01)  # type: ignore[arg-type]
    tolerance = 1e-12 if table == "trigonometric" else 1e-3
    np.testing.assert_allclose(generator.wrench(q), by_hand(robot, q), atol=tolerance)
    dq, ddq = np.full_like(q, 0.4), np.full_like(q, -1.3)
    torque = sensor.joint_torques(q, robot.base_wrench(q, dq, ddq), dq, ddq, form="full")
    np.testing.assert_allclose(torque, robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q), atol=tolerance)


@pytest.mark.parametrize("kind", ARMS)
def test_position_dependent_components_of_one_link(kind: str) -> None:
    """Claims 21 and 27: what is left of the wrench differs from the whole by a constant, and serves after a tare."""
    robot = one_joint(kind)
    sensor = cp.BaseSensor(robot)
    generator = sensor.use_table("model", position_dependent=True)
    q = poses(robot)
    constant = by_hand(robot, q) - generator.wrench(q)
    np.testing.assert_allclose(constant, np.tile(constant[0], (len(q), 1)), atol=1e-12)
    assert np.abs(constant).max() > 1.0
    assert np.ptp(generator.wrench(q)[:, 3:], axis=0).max() > 0.1
    ddq = np.full_like(q, 2.0)
    zero = np.array([3.0, -2.0, 5.0, 0.4, 0.1, -0.3])  # what the plate reads without a load
    sensor.tare(q[2], robot.base_wrench(q[2]) + zero)
    torque = sensor.joint_torques(q, robot.base_wrench(q, 0.0 * q, ddq) + zero, 0.0 * q, ddq)
    truth = robot.inverse_dynamics(q, 0.0 * q, ddq) - robot.gravity(q)
    np.testing.assert_allclose(torque, truth, atol=1e-10)
