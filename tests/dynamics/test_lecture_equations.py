"""The equations of [Udai] with the lecture's own frames (at the links' ends), and where a sign or a frame decides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp

Array = npt.NDArray[np.float64]
ARMS = ("planar3", "puma560", "wam7")


def frames(robot: cp.Robot, q: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """Q_0 … Q_n, o_1 … o_{n+1} and the centres of mass c_1 … c_n of a standard DH arm; frame i is at link i's end."""
    joints = [joint for joint in robot.description.joints if joint.kind.rotates]
    inertias = {link.name: link.inertia for link in robot.description.links}
    base = robot.forward_kinematics(q, at=joints[0].parent) @ joints[0].T_parent_joint
    Q, o, c = [base[:3, :3]], [base[:3, 3]], []
    for joint in joints:
        T = robot.forward_kinematics(q, at=joint.child)
        inertia = inertias[joint.child]
        assert inertia is not None
        Q.append(T[:3, :3])
        o.append(T[:3, 3])
        c.append(T[:3, :3] @ inertia.com + T[:3, 3])
    return Q, o, c


def loads(robot: cp.Robot, q: Array, first_axis: int) -> Array:
    """τ_i = e_i · Σ_{k ≥ i} m_k d_ik × g with d_ik = c_k − o_i and e_i the third column of Q_{i − 1 + first_axis}."""
    Q, o, c = frames(robot, q)
    mass = robot.tree.mass
    torques = np.zeros(robot.n)
    for i in range(robot.n):
        n_i = sum(mass[k] * np.cross(c[k] - o[i], robot.gravity_base) for k in range(i, robot.n))
        torques[i] = Q[i + first_axis][:, 2] @ n_i
    return torques


@pytest.mark.parametrize("name", ARMS)
def test_the_lectures_torque_is_the_load_and_its_negative_holds(name: str) -> None:
    """The printed sum is what gravity does to the joint; gravity(q), the compensation, is the opposite."""
    robot = cp.load(name).mounted(rpy=(0.2, -0.3, 0.1))
    for q in np.random.default_rng(0).uniform(-2.0, 2.0, (20, robot.n)):
        np.testing.assert_allclose(-loads(robot, q, 0), robot.gravity(q), atol=1e-10)


def test_the_axis_is_that_of_the_frame_before() -> None:
    """Where frame i sits at link i's end its z belongs to joint i + 1; taken for joint i the torque is wrong by N m."""
    robot = cp.load("puma560")
    q = np.random.default_rng(1).uniform(-1.0, 1.0, robot.n)
    assert np.abs(loads(robot, q, 1) + robot.gravity(q)).max() > 1.0


@pytest.mark.parametrize("name", ARMS)
def test_virtual_work_with_the_moment_stacked_first(name: str) -> None:
    """The lecture's [n; f] and [δφ; δp] give the same work and torque as ours, which has the force first."""
    robot = cp.load(name)
    rng = np.random.default_rng(2)
    q, turn, wrench = rng.uniform(-1.0, 1.0, robot.n), rng.normal(size=robot.n), rng.normal(size=6)
    swap = np.r_[3:6, 0:3]
    J = robot.jacobian(q)[swap]
    np.testing.assert_allclose(J.T @ wrench, robot.wrench_torque(q, wrench[swap]), atol=1e-12)
    assert robot.wrench_torque(q, wrench[swap]) @ turn == pytest.approx(wrench @ (J @ turn), rel=1e-9)
