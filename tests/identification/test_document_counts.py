"""Two statements of the WAM document that do not hold: three poses determine it all, and the link-by-link system."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import static_poses
from counterpoise.identification.wam_methods import link_equations, pose_matrices, solve_iterative


def random_poses(robot: cp.Robot, count: int) -> np.ndarray:
    return np.random.default_rng(2).uniform(-2.0, 2.0, (count, robot.n))


@pytest.mark.parametrize("poses", [3, 12])
@pytest.mark.parametrize(("name", "felt"), [("wam4", 6), ("wam7", 12)])
def test_three_poses_are_a_count_of_equations_not_a_rank(name: str, felt: int, poses: int) -> None:
    """3 n k equations, 3 n + 2 n k unknowns, square for k = 3; but of the 3 n moments only ``felt`` ever count.

    [Dellin2008], §3.4. The rest of the columns of eq. (25) depend on others, whatever the number of poses.
    """
    robot = cp.load(name)
    n = robot.n
    G, T, _ = pose_matrices(robot, random_poses(robot, poses))
    whole = np.zeros((3 * n * poses, 3 * n + 2 * n * poses))
    for pose in range(poses):
        rows = slice(3 * n * pose, 3 * n * (pose + 1))
        whole[rows, : 3 * n] = G[pose]
        whole[rows, 3 * n + 2 * n * pose : 3 * n + 2 * n * (pose + 1)] = T[pose]
    if poses == 3:
        assert whole.shape[0] == whole.shape[1]
    assert np.linalg.matrix_rank(whole, tol=1e-8) == felt + 2 * n * poses < whole.shape[1]


def test_one_links_system_is_singular_as_written() -> None:
    """Eq. (28) for the last link: μ along its own axis changes nothing that c cannot; ours leaves it at zero."""
    robot = cp.load("wam7")
    q = random_poses(robot, 20)
    torques = robot.gravity(q) + 0.3 * np.random.default_rng(3).normal(size=q.shape)
    equations = link_equations(robot, q)
    matrix = np.zeros((20, 3, 3 + 40))
    for pose in range(20):
        matrix[pose, :, :3] = equations.moment[pose, -1]
        matrix[pose, :, 3 + 2 * pose : 5 + 2 * pose] = -np.eye(3)[:, :2]
    values = np.linalg.svd(matrix.reshape(60, 43), compute_uv=False)
    assert values[-1] < 1e-12 * values[0]
    assert values[-2] > 1e-6 * values[0]
    ours = solve_iterative(robot, static_poses(robot.joint_names, q, torques))
    axis = robot.tree.joint_rotation[-1].T @ [0.0, 0.0, 1.0]
    assert ours.mu[-1] @ axis == pytest.approx(0.0, abs=1e-12)
    assert np.abs(ours.mu).max() < 10.0
