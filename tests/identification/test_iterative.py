"""The iterative algorithm: Barrett's own files, exactness, the document's system as written, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import yaml

import counterpoise as cp
from counterpoise.errors import InputError, ModelError
from counterpoise.fitting import StaticPoses, static_poses
from counterpoise.identification.wam_methods import BARRETT_RIDGE, first_moments_in_dh_frames, solve_iterative

Array = npt.NDArray[np.float64]

BARRETT_GRAVITY = (0.0, 0.0, -9.805)
"""What Barrett's calibration program takes for gravity: libbarrett, src/cdlbt/calgrav.c."""
GOLDEN = {
    "wam4": ("wam4", {(0, 0): 0.258, (1, 2): 1.374, (2, 1): 0.112}),
    "wam7": ("wam7w", {(0, 0): -0.474, (1, 2): 2.508, (2, 1): 0.173}),
}
"""First moments [kg m] that CAD torques at Barrett's poses give: the gauge of Barrett's own calibration files."""


def random_poses(robot: cp.Robot, count: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, robot.n))


def measured(robot: cp.Robot, count: int, noise: float = 0.0, seed: int = 1) -> StaticPoses:
    q = random_poses(robot, count, seed)
    torques = robot.gravity(q) + noise * np.random.default_rng(seed + 1).normal(size=q.shape)
    return static_poses(robot.joint_names, q, torques)


@pytest.mark.parametrize("name", GOLDEN)
def test_barretts_poses_and_ridge_give_barretts_gauge(name: str, shared: Callable[[str], Path]) -> None:
    """Noise-free CAD torques at the shipped poses, ridge 1e-6, g 9.805: to the printed digit."""
    key, expected = GOLDEN[name]
    facts = yaml.safe_load(shared("facts/wam.yaml").read_text(encoding="utf-8"))
    robot = cp.load(name).mounted(gravity=BARRETT_GRAVITY)
    q = np.array(facts["gravitycal_poses"][key])
    found = solve_iterative(robot, static_poses(robot.joint_names, q, robot.gravity(q)), ridge=BARRETT_RIDGE)
    mu = first_moments_in_dh_frames(robot, found.mu)
    for entry, value in expected.items():
        assert mu[entry] == pytest.approx(value, abs=5.1e-4)
    np.testing.assert_allclose(robot.gravity_from_first_moments(q, mu), robot.gravity(q), atol=1e-4)


@pytest.mark.parametrize("offset", [False, True], ids=["gravity", "with offset"])
@pytest.mark.parametrize("name", ["wam4", "wam7", "puma560", "dualarm19"])
def test_exact_without_noise(name: str, offset: bool) -> None:
    """With the absolute threshold, torques at other poses come out to 1e-9; on a tree the children are summed."""
    robot = cp.load(name)
    poses = measured(robot, 40)
    constant = 0.2 * np.arange(robot.n) if offset else np.zeros(robot.n)
    found = solve_iterative(robot, static_poses(robot.joint_names, poses.q, poses.tau + constant), offset=offset)
    q = random_poses(robot, 50, 3)
    values = found.solution.x[: len(robot.base_parameters.names)]
    np.testing.assert_allclose(robot.base_gravity_regressor(q) @ values, robot.gravity(q), rtol=0, atol=1e-9)
    parameters = np.column_stack([np.zeros(robot.n), found.mu]).ravel()
    np.testing.assert_allclose(robot.gravity_regressor(q) @ parameters, robot.gravity(q), rtol=0, atol=1e-9)
    if offset:
        np.testing.assert_allclose(found.solution.x[len(values) :], constant, atol=1e-9)


def as_written(robot: cp.Robot, poses: StaticPoses, ridge: float) -> Array:
    """[Dellin2008], eqs. (26)–(28), link by link in DH frames, all 3 + 2k unknowns at once with a ridge on each."""
    k, n = poses.q.shape
    links = [joint.child for joint in robot.description.joints if joint.kind.rotates]
    mu, outer = np.zeros((n, 3)), np.zeros((k, 3))
    R_base = np.stack([robot.forward_kinematics(poses.q, at=link)[:, :3, :3] for link in links], axis=1)
    for j in reversed(range(n)):
        matrix, right = np.zeros((k, 3, 3 + 2 * k)), np.zeros((k, 3))
        turns = np.empty((k, 3, 3))
        for pose in range(k):
            before = R_base[pose, j - 1] if j else np.eye(3)
            turns[pose] = R_base[pose, j].T @ before
            g = R_base[pose, j].T @ robot.gravity_base
            matrix[pose, :, :3] = [[0, -g[2], g[1]], [g[2], 0, -g[0]], [-g[1], g[0], 0]]
            matrix[pose, :, 3 + 2 * pose : 5 + 2 * pose] = -turns[pose][:, :2]
            right[pose] = turns[pose][:, 2] * poses.tau[pose, j] - outer[pose]
        penalty = np.sqrt(ridge) * np.eye(3 + 2 * k)
        rows = np.concatenate([matrix.reshape(3 * k, -1), penalty])
        solution, *_ = np.linalg.lstsq(rows, np.concatenate([right.ravel(), np.zeros(3 + 2 * k)]), rcond=None)
        mu[j] = solution[:3]
        # L c_j and Z τ_j: the torque in frame j − 1, which the next link's equation subtracts.
        outer = np.column_stack([solution[3:].reshape(k, 2), poses.tau[:, j]])
    return mu


@pytest.mark.parametrize("ridge", [1e-6, 1e-2])
@pytest.mark.parametrize("name", ["wam4", "wam7"])
def test_the_ridge_solution_is_that_of_the_document(name: str, ridge: float) -> None:
    """Noisy data through the whole systems in DH frames: the same first moments, gauge included."""
    robot = cp.load(name)
    poses = measured(robot, 9, noise=0.3)
    found = first_moments_in_dh_frames(robot, solve_iterative(robot, poses, ridge=ridge).mu)
    np.testing.assert_allclose(found, as_written(robot, poses, ridge), rtol=0, atol=1e-8)


def test_threshold_and_small_ridge_agree_in_torque() -> None:
    robot = cp.load("wam7")
    poses = measured(robot, 20, noise=0.3)
    q = random_poses(robot, 30, 4)
    Y = robot.base_gravity_regressor(q)
    plain, ridged = (solve_iterative(robot, poses, ridge=ridge).solution.x for ridge in (None, 1e-9))
    np.testing.assert_allclose(Y @ plain, Y @ ridged, atol=1e-6)


def test_what_is_not_felt_stays_small() -> None:
    """Of an upright arm's first link nothing is felt, and nothing along a joint's own axis: no 1e12, but zero."""
    robot = cp.load("wam7")
    found = solve_iterative(robot, measured(robot, 20, noise=0.3))
    np.testing.assert_allclose(found.mu[0], 0.0, atol=1e-12)
    assert np.abs(found.mu).max() < 10.0


def test_covariance_is_that_of_the_linear_map() -> None:
    """The estimate is linear in the torques: feeding unit torques gives the map L, and L Σ Lᵀ is the covariance."""
    robot = cp.load("wam4")
    poses = measured(robot, 6, noise=0.2)
    found = solve_iterative(robot, poses, offset=True).solution
    units = np.eye(6 * 4).reshape(-1, 6, 4)
    columns = [
        solve_iterative(robot, static_poses(robot.joint_names, poses.q, unit), offset=True).solution.x for unit in units
    ]
    L = np.array(columns).T
    expected = L @ np.diag(np.tile(found.sigma**2, 6)) @ L.T
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", ["scara", "gantry", "slider"])
def test_linear_joints_are_refused_with_the_reason(name: str) -> None:
    robot = cp.load(name).mounted(rpy=(0.3, 0.2, 0.0))
    with pytest.raises(InputError, match=r"is for rotary joints: joint '.*' is linear, and sliding it changes"):
        solve_iterative(robot, measured(robot, 10))


def test_wrong_arguments_are_refused() -> None:
    """A ridge that is none, one pose, and DH frames asked of a tree."""
    robot = cp.load("wam7")
    with pytest.raises(InputError, match="expected a number > 0"):
        solve_iterative(robot, measured(robot, 10), ridge=0.0)
    with pytest.raises(InputError, match="only one pose"):
        solve_iterative(robot, measured(robot, 1))
    tree = cp.load("dualarm19")
    with pytest.raises(ModelError, match="branched"):
        first_moments_in_dh_frames(tree, np.zeros((19, 3)))
