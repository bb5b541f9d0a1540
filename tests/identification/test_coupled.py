"""The coupled matrix: the document's system as written, what it believes, and where it does not apply."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description import JointKind
from counterpoise.dynamics import ancestors
from counterpoise.errors import InputError
from counterpoise.fitting import StaticPoses, static_poses
from counterpoise.identification.wam_methods import pose_matrices, solve_coupled
from library.random_robots import random_robot

Array = npt.NDArray[np.float64]

ARMS = ("wam4", "wam7", "puma560", "dualarm19")


def random_poses(robot: cp.Robot, count: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, robot.n))


def measured(robot: cp.Robot, count: int, noise: float = 0.0, seed: int = 1) -> StaticPoses:
    q = random_poses(robot, count, seed)
    torques = robot.gravity(q) + noise * np.random.default_rng(seed + 1).normal(size=q.shape)
    return static_poses(robot.joint_names, q, torques)


def as_written(robot: cp.Robot, poses: StaticPoses) -> tuple[Array, Array]:
    """The matrix and right-hand side of [Dellin2008], eqs. (20)–(25), in its own frames: DH frame j at link j's end."""
    k, n = poses.q.shape
    links = [joint.child for joint in robot.description.joints if joint.kind.rotates]
    matrix, right = np.zeros((k, n, 3, 3 * n + 2 * n * k)), np.zeros((k, n, 3))
    for pose, (q, torque) in enumerate(zip(poses.q, poses.tau, strict=True)):
        R_base = [np.eye(3)] + [robot.forward_kinematics(q, at=link)[:3, :3] for link in links]
        for j in range(1, n + 1):
            R = R_base[j].T @ R_base[j - 1]  # R_{j-1}^j: coordinates of frame j − 1 into those of frame j
            g = R_base[j].T @ robot.gravity_base
            row = matrix[pose, j - 1]
            row[:, 3 * (j - 1) : 3 * j] = [[0, -g[2], g[1]], [g[2], 0, -g[0]], [-g[1], g[0], 0]]
            c = 3 * n + 2 * n * pose + 2 * (j - 1)
            row[:, c : c + 2] = -R[:, :2]
            right[pose, j - 1] = R[:, 2] * torque[j - 1]
            if j < n:
                row[:2, c + 2 : c + 4] = np.eye(2)
                right[pose, j - 1, 2] -= torque[j]
    return matrix.reshape(3 * n * k, -1), right.ravel()


@pytest.mark.parametrize("offset", [False, True], ids=["gravity", "with offset"])
@pytest.mark.parametrize("name", ARMS)
def test_exact_without_noise(name: str, offset: bool) -> None:
    """Torques at other poses come out to 1e-9; on a tree the children are summed."""
    robot = cp.load(name)
    poses = measured(robot, 40)
    constant = 0.2 * np.arange(robot.n) if offset else np.zeros(robot.n)
    found = solve_coupled(robot, static_poses(robot.joint_names, poses.q, poses.tau + constant), offset=offset)
    q = random_poses(robot, 50, 3)
    values = found.solution.x[: len(robot.base_parameters.names)]
    np.testing.assert_allclose(robot.base_gravity_regressor(q) @ values, robot.gravity(q), rtol=0, atol=1e-9)
    parameters = np.column_stack([np.zeros(robot.n), found.mu]).ravel()
    np.testing.assert_allclose(robot.gravity_regressor(q) @ parameters, robot.gravity(q), rtol=0, atol=1e-9)
    if offset:
        np.testing.assert_allclose(found.solution.x[len(values) :], constant, atol=1e-9)
    assert found.solution.rank == len(found.solution.x)


@pytest.mark.parametrize("name", ["wam4", "wam7", "puma560"])
def test_the_solution_is_that_of_the_document(name: str) -> None:
    """Noisy data through the dense matrix of eq. (25) in DH frames, smallest solution: the same torques to 1e-9."""
    robot = cp.load(name)
    poses = measured(robot, 10, noise=0.3)
    matrix, right = as_written(robot, poses)
    assert matrix.shape == (3 * robot.n * 10, 3 * robot.n + 2 * robot.n * 10)
    solution, *_ = np.linalg.lstsq(matrix, right, rcond=1e-10)
    mu = solution[: 3 * robot.n].reshape(-1, 3)
    q = random_poses(robot, 30, 4)
    ours = robot.base_gravity_regressor(q) @ solve_coupled(robot, poses).solution.x
    np.testing.assert_allclose(ours, robot.gravity_from_first_moments(q, mu), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["wam7", "puma560"])
def test_it_is_generalised_least_squares_with_a_strange_covariance(name: str) -> None:
    """On the eliminated form, with covariance (n − max(i, j) + 1) z_i · z_j: the same numbers to 1e-9."""
    robot = cp.load(name)
    poses = measured(robot, 20, noise=0.3)
    n = robot.n
    carried = n - np.maximum.outer(np.arange(1, n + 1), np.arange(1, n + 1)) + 1
    x = whitened(robot, poses, carried)
    np.testing.assert_allclose(solve_coupled(robot, poses).solution.x, x, rtol=0, atol=1e-9)


def test_on_a_tree_the_covariance_counts_the_bodies_that_both_joints_carry() -> None:
    robot = cp.load("dualarm19")
    poses = measured(robot, 12, noise=0.3)
    carries = np.zeros((robot.n, robot.n))
    for body in range(robot.n):
        carries[ancestors(robot.tree, body), body] = 1.0
    x = whitened(robot, poses, carries @ carries.T)
    np.testing.assert_allclose(solve_coupled(robot, poses).solution.x, x, rtol=0, atol=1e-9)


def whitened(robot: cp.Robot, poses: StaticPoses, carried: Array) -> Array:
    """Generalised least squares on τ = Y x; the axes come from the Jacobians of the leaves."""
    rows, right = [], []
    for q, torque in zip(poses.q, poses.tau, strict=True):
        axes = np.zeros((3, robot.n))
        for leaf in robot.tree.leaves:
            jacobian = robot.jacobian(q, at=leaf)[3:]
            axes[:, np.any(jacobian != 0.0, axis=0)] = jacobian[:, np.any(jacobian != 0.0, axis=0)]
        lower = np.linalg.cholesky(carried * (axes.T @ axes))
        rows.append(np.linalg.solve(lower, robot.base_gravity_regressor(q)))
        right.append(np.linalg.solve(lower, torque))
    x, *_ = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)
    return x


def test_covariance_is_that_of_the_linear_map() -> None:
    """The estimate is linear in the torques: feeding unit torques gives the map L, and L Σ Lᵀ is the covariance."""
    robot = cp.load("wam4")
    poses = measured(robot, 6, noise=0.2)
    found = solve_coupled(robot, poses, offset=True).solution
    units = np.eye(6 * 4).reshape(-1, 6, 4)
    columns = [
        solve_coupled(robot, static_poses(robot.joint_names, poses.q, unit), offset=True).solution.x for unit in units
    ]
    L = np.array(columns).T
    expected = L @ np.diag(np.tile(found.sigma**2, 6)) @ L.T
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-7, atol=1e-12)
    A = np.concatenate([robot.base_gravity_regressor(poses.q), np.tile(np.eye(4), (6, 1, 1))], axis=2)
    hat = A.reshape(-1, A.shape[2]) @ L
    np.testing.assert_allclose(6 - found.freedom, np.diag(hat).reshape(6, 4).sum(axis=0), rtol=1e-9)


def test_the_equations_hold_for_the_true_first_moments() -> None:
    """S τ = G μ + T c with the robot's own μ: what is left lies in the range of T, pose by pose."""
    robot = cp.load("wam7")
    q = random_poses(robot, 5, 6)
    G, T, S = pose_matrices(robot, q)
    carried = np.cumsum(robot.tree.mass[::-1])[::-1]
    moments = robot.tree.first_moment.copy()
    moments[:-1] += carried[1:, None] * robot.tree.origin[1:]
    mu = np.einsum("bji,bj->bi", robot.tree.joint_rotation, moments).ravel()
    rest = (S @ robot.gravity(q)[:, :, None])[:, :, 0] - G @ mu
    for pose in range(5):
        c, *_ = np.linalg.lstsq(T[pose], rest[pose], rcond=None)
        np.testing.assert_allclose(T[pose] @ c, rest[pose], atol=1e-10)


@pytest.mark.parametrize("name", ["scara", "gantry", "slider"])
def test_linear_joints_are_refused_with_the_reason(name: str) -> None:
    robot = cp.load(name).mounted(rpy=(0.3, 0.2, 0.0))
    with pytest.raises(InputError, match=r"is for rotary joints: joint '.*' is linear, and sliding it changes"):
        solve_coupled(robot, measured(robot, 10))


def test_mimic_joints_are_refused() -> None:
    """A joint that follows another has no torque of its own to measure."""
    made = (random_robot(seed, joints=6, kinds=(JointKind.REVOLUTE,)).robot() for seed in range(20))
    robot = next(each for each in made if each.tree.bodies > each.n > 2)
    with pytest.raises(InputError, match=r"joint '.*' follows another and has none of its own"):
        solve_coupled(robot, measured(robot, 10))


def test_missing_torques_and_poor_poses_are_refused() -> None:
    """Every joint's torque is needed; one pose, equal poses and poses on a line are no calibration."""
    robot = cp.load("wam7")
    poses = measured(robot, 10)
    torques = poses.tau.copy()
    torques[:, 3] = np.nan
    with pytest.raises(InputError, match="that of 'joint4' was not measured"):
        solve_coupled(robot, static_poses(robot.joint_names, poses.q, torques))
    with pytest.raises(InputError, match="only one pose"):
        solve_coupled(robot, measured(robot, 1))
    with pytest.raises(InputError, match="are the same"):
        solve_coupled(robot, static_poses(robot.joint_names, np.ones((5, 7)), np.ones((5, 7))))
    line = np.linspace(0.0, 1.0, 9)[:, None] * np.ones(7)
    with pytest.raises(InputError, match="one line"):
        solve_coupled(robot, static_poses(robot.joint_names, line, robot.gravity(line)))


def test_joints_that_rest_are_flagged_by_the_rank() -> None:
    """Only joints 1 and 4 move: a result, but the rank says that it is not all determined."""
    robot = cp.load("wam7")
    q = np.full((12, 7), 0.4)
    q[:, [0, 3]] = np.random.default_rng(7).uniform(-0.5, 2.0, (12, 2))
    found = solve_coupled(robot, static_poses(robot.joint_names, q, robot.gravity(q))).solution
    assert found.rank < len(found.x)
    assert np.isinf(found.condition)
    assert np.isinf(found.std).any()
