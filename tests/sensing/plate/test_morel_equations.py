"""[Morel2000], eqs. (1)–(21), written out with the paper's Jacobians at the centres of mass; gravity corrected."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.dynamics import body_poses
from counterpoise.foundation import skew
from counterpoise.plants import preset
from counterpoise.sensing.plate.joint_analyzer import JointAnalyzer, Term, link_wrenches
from library.random_robots import random_motion

Array = npt.NDArray[np.float64]
STEP = 1e-5
ROBOTS = ("puma560", "wam7")


def centres(robot: cp.Robot, q: Array) -> Array:
    """G_k, shape (n, 3)."""
    poses, tree = body_poses(robot.tree, q[None]), robot.tree
    return poses.origin[0] + np.einsum("bij,bj->bi", poses.rotation[0], tree.first_moment / tree.mass[:, None])


def partial_jacobians(robot: cp.Robot, q: Array) -> tuple[Array, Array]:
    """J_k^L and J_k^R of every link, shapes (n, 3, n): zero columns beyond joint k (eq. (16))."""
    poses, G, n = body_poses(robot.tree, q[None]), centres(robot, q), robot.n
    linear, angular = np.zeros((n, 3, n)), np.zeros((n, 3, n))
    for k in range(n):
        for i in range(k + 1):
            axis = poses.rotation[0, i, :, 2]
            linear[k, :, i] = np.cross(axis, G[k] - poses.origin[0, i])
            angular[k, :, i] = axis
    return linear, angular


def rates(robot: cp.Robot, q: Array, dq: Array) -> tuple[Array, Array]:
    """Time derivatives of J^L and J^R along dq: functions of q and q̇, where J is one of q alone (eq. (17), swapped)."""
    ahead, behind = (partial_jacobians(robot, q + sign * STEP * dq) for sign in (1.0, -1.0))
    return (ahead[0] - behind[0]) / (2 * STEP), (ahead[1] - behind[1]) / (2 * STEP)


def inertias(robot: cp.Robot, q: Array) -> Array:
    """I_k at the centres of mass, base axes, shape (n, 3, 3)."""
    tree, rotation = robot.tree, body_poses(robot.tree, q[None]).rotation[0]
    com = tree.first_moment / tree.mass[:, None]
    about = tree.inertia - np.array(
        [m * (c @ c * np.eye(3) - np.outer(c, c)) for m, c in zip(tree.mass, com, strict=True)]
    )
    return rotation @ about @ np.swapaxes(rotation, 1, 2)


@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_of_links_by_their_jacobians(name: str) -> None:
    """Eqs. (10), (16), (17): m v̇ and I ω̇ + ω × I ω with v̇ = J̇ q̇ + J q̈ are the analyzer's link wrenches."""
    robot = cp.load(name)
    q, dq, ddq = (rows[0] for rows in random_motion(robot, 1, 1))
    (J_L, J_R), (dJ_L, dJ_R), inertia = partial_jacobians(robot, q), rates(robot, q, dq), inertias(robot, q)
    omega, alpha = J_R @ dq, dJ_R @ dq + J_R @ ddq
    force = robot.tree.mass[:, None] * (dJ_L @ dq + J_L @ ddq)
    moment = np.einsum("kij,kj->ki", inertia, alpha) + np.cross(omega, np.einsum("kij,kj->ki", inertia, omega))
    rows = (rows[None] for rows in (dq, ddq))
    ours = link_wrenches(robot.tree, body_poses(robot.tree, q[None]), *rows, Term.ALL)
    np.testing.assert_allclose(force, ours[0][0], atol=1e-6)
    np.testing.assert_allclose(moment, ours[1][0], atol=1e-6)
    np.testing.assert_allclose(centres(robot, q), ours[2][0], atol=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_b_and_c(name: str) -> None:
    """Eqs. (13)–(21): τ_d = A [w_t0 − w_g0] − B q̈ − C q̇, with A n × 6 and the weight as what the plate carries."""
    robot = cp.load(name)
    q, dq, ddq = (rows[0] for rows in random_motion(robot, 2, 1))
    poses, G, n = body_poses(robot.tree, q[None]), centres(robot, q), robot.n
    (J_L, J_R), (dJ_L, dJ_R), inertia = partial_jacobians(robot, q), rates(robot, q, dq), inertias(robot, q)
    A, B, C = np.zeros((n, 6)), np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        z, o = poses.rotation[0, i, :, 2], poses.origin[0, i]
        A[i] = np.concatenate([z @ skew(-o), z])  # S of the vector from O_{i−1} to the base origin
        for k in range(i):
            S = skew(G[k] - o)
            B[i] += z @ (robot.tree.mass[k] * S @ J_L[k] + inertia[k] @ J_R[k])
            C[i] += z @ (
                robot.tree.mass[k] * S @ dJ_L[k] + inertia[k] @ dJ_R[k] + skew(J_R[k] @ dq) @ inertia[k] @ J_R[k]
            )
    analyzer = JointAnalyzer(robot)
    np.testing.assert_allclose(A, analyzer.matrix(q), atol=1e-12)
    J = robot.jacobian(q)  # of the tip; moved to the base origin it is what section 2.3 calls A
    at_base = np.vstack([J[:3] + skew(robot.forward_kinematics(q)[:3, 3]) @ J[3:], J[3:]])
    np.testing.assert_allclose(A, at_base.T, atol=1e-12)
    np.testing.assert_allclose(B, analyzer.acceleration_matrix(q), atol=1e-10)
    centrifugal = -analyzer.torques(q, np.zeros(6), dq, None)
    np.testing.assert_allclose(C @ dq, centrifugal, atol=1e-6)
    carried = -np.concatenate(
        [
            robot.total_mass * robot.gravity_base,
            np.cross(robot.center_of_mass(q) * robot.total_mass, robot.gravity_base),
        ]
    )
    torque = A @ (robot.base_wrench(q, dq, ddq) - carried) - B @ ddq - C @ dq
    np.testing.assert_allclose(torque, robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q), atol=1e-5)


@pytest.mark.parametrize("name", ROBOTS)
def test_link_by_link_outwards(name: str) -> None:
    """Eqs. (1)–(9): taking each link's share off the base wrench leaves what acts at the next joint."""
    robot = cp.load(name)
    q, dq, ddq = (rows[0] for rows in random_motion(robot, 3, 1))
    poses, tree = body_poses(robot.tree, q[None]), robot.tree
    force, moment, G = (rows[0] for rows in link_wrenches(tree, poses, *(rows[None] for rows in (dq, ddq)), Term.ALL))
    total = robot.base_wrench(q, dq, ddq)
    base = -np.concatenate([tree.base_mass * tree.gravity_base, np.cross(tree.base_first_moment, tree.gravity_base)])
    w_t, w_d = total - base, total - robot.base_wrench(q)
    holding, moving = robot.inverse_dynamics(q, dq, ddq), robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
    for i in range(robot.n):
        z, o = poses.rotation[0, i, :, 2], poses.origin[0, i]
        assert z @ (w_t[3:] - np.cross(o, w_t[:3])) == pytest.approx(holding[i], abs=1e-9)
        assert z @ (w_d[3:] - np.cross(o, w_d[:3])) == pytest.approx(moving[i], abs=1e-9)
        dynamic = np.concatenate([force[i], moment[i] + np.cross(G[i], force[i])])
        weight = -np.concatenate([tree.mass[i] * tree.gravity_base, np.cross(G[i], tree.mass[i] * tree.gravity_base)])
        w_t, w_d = w_t - dynamic - weight, w_d - dynamic
    assert np.abs(w_t).max() < 1e-9  # beyond the last link nothing is left
    assert np.abs(w_d).max() < 1e-9


@pytest.mark.parametrize(("name", "degrees"), [("puma550", 0.1), ("titan2", 1.5)])
def test_slow_small_motions_need_no_motion_terms(name: str, degrees: float) -> None:
    """Eq. (22): by the paper's angle at 0.1 Hz, B q̈ + C q̇ is below 1 % of friction on every joint; a fast swing is not.

    Joints 2 and 3 are parallel, which is what Fig. 12 was made to test.
    """
    made = preset(name)
    robot, friction = made.robot(), made.config.drive.friction
    assert friction is not None
    pose = np.asarray(made.config.position)
    analyzer = JointAnalyzer(robot)

    def lost(amplitude: float, frequency: float) -> Array:
        phase, omega = np.linspace(0.0, 2.0 * np.pi, 100)[:, None], 2.0 * np.pi * frequency
        swing = np.radians(amplitude) * np.ones((1, robot.n))
        q, dq, ddq = pose + swing * np.sin(phase), swing * omega * np.cos(phase), -swing * omega**2 * np.sin(phase)
        return np.abs(analyzer.torques(q, np.zeros((100, 6)), dq, ddq)).max(axis=0)

    assert np.all(lost(degrees, 0.1) < 0.01 * np.broadcast_to(friction.coulomb, (robot.n,)))
    assert lost(20.0, 1.0)[1:].max() > 10.0
