"""The weighted solver on poses at rest: exact without noise, honest with it, in bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.fitting import Gaussian, StaticPoses, static_poses
from counterpoise.identification.workspace import relative_noise, solve_static, static_columns, static_rows
from library.random_robots import random_robot

Array = npt.NDArray[np.float64]

TILT = (0.3, -0.4, 0.1)
ARMS = {
    "wam4": (0.0, 0.0, 0.0),
    "wam7": (0.0, 0.0, 0.0),
    "puma560": (0.0, 0.0, 0.0),
    "dualarm19": (0.0, 0.0, 0.0),
    "scara": TILT,
    "gantry": (0.0, 0.0, 0.0),
    "gantry tilted": TILT,
}


def arm(name: str) -> cp.Robot:
    return cp.load(name.split(maxsplit=1)[0]).mounted(rpy=ARMS[name])


def random_poses(robot: cp.Robot, count: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, robot.n))


def measured(robot: cp.Robot, count: int = 40, noise: float = 0.0, offset: float = 0.0) -> StaticPoses:
    q = random_poses(robot, count, 1)
    rng = np.random.default_rng(2)
    torques = robot.gravity(q) + offset * np.arange(robot.n) + noise * rng.normal(size=q.shape)
    return static_poses(robot.joint_names, q, torques)


@pytest.mark.parametrize("robust", [False, True], ids=["plain", "robust"])
@pytest.mark.parametrize("name", ARMS)
def test_exact_without_noise(name: str, robust: bool) -> None:
    """Torques at other poses come out to 1e-9, on chains, a tree, a tilted SCARA and a gantry."""
    robot = arm(name)
    found = solve_static(robot, measured(robot), offset=False, robust=robust)
    q = random_poses(robot, 50, 3)
    np.testing.assert_allclose(robot.base_gravity_regressor(q) @ found.x, robot.gravity(q), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.x, robot.base_gravity_parameters, rtol=0, atol=1e-9)
    assert found.rank == len(found.x) == len(robot.base_parameters.names)


@pytest.mark.parametrize("name", ["wam7", "puma560", "dualarm19"])
def test_offsets_are_told_from_gravity(name: str) -> None:
    """A constant torque per joint is found exactly beside gravity."""
    robot = arm(name)
    found = solve_static(robot, measured(robot, offset=0.3), offset=True)
    count = len(robot.base_parameters.names)
    np.testing.assert_allclose(found.x[:count], robot.base_gravity_parameters, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.x[count:], 0.3 * np.arange(robot.n), rtol=0, atol=1e-9)
    assert found.column_names == static_columns(robot, offset=True)


def test_a_gantry_cannot_tell_its_weight_from_an_offset() -> None:
    """The weight is the same in every pose: the rank is short and both errors are infinite."""
    robot = arm("gantry")
    found = solve_static(robot, measured(robot), offset=True)
    assert found.rank == len(found.x) - 1
    column = found.column_names.index(robot.base_parameters.names[0])
    lifted = found.column_names.index(f"{robot.joint_names[2]}.offset")
    assert np.isinf(found.std[[column, lifted]]).all()
    q = random_poses(robot, 5, 4)
    np.testing.assert_allclose(static_rows(robot, q, offset=True) @ found.x, robot.gravity(q), atol=1e-9)


def test_errors_are_as_large_as_stated() -> None:
    """Over sixty noisy sets the estimate lies within its standard errors as often as it should."""
    robot = arm("wam4")
    rng = np.random.default_rng(5)
    sigma = np.array([0.5, 1.0, 0.3, 0.05])
    scores = []
    for seed in range(60):
        q = random_poses(robot, 30, 100 + seed)
        poses = static_poses(robot.joint_names, q, robot.gravity(q) + sigma * rng.normal(size=q.shape))
        found = solve_static(robot, poses, offset=False, robust=False)
        scores.append((found.x - robot.base_gravity_parameters) / found.std)
    assert np.sqrt(np.mean(np.square(scores))) == pytest.approx(1.0, abs=0.12)


def test_one_touched_pose_does_not_spoil_the_fit() -> None:
    """A push during one of thirty measurements: found by its residuals, and without influence."""
    robot = arm("wam7")
    q = random_poses(robot, 30, 6)
    torques = robot.gravity(q) + 0.1 * np.random.default_rng(7).uniform(-1.0, 1.0, q.shape)
    clean = solve_static(robot, static_poses(robot.joint_names, q, torques), offset=False)
    torques[11] += [3.0, 10.0, 5.0, 4.0, 1.0, 1.0, 0.5]
    touched = static_poses(robot.joint_names, q, torques)
    robust = solve_static(robot, touched, offset=False)
    plain = solve_static(robot, touched, offset=False, robust=False)
    test = random_poses(robot, 50, 8)
    errors = [
        np.sqrt(np.mean((robot.base_gravity_regressor(test) @ found.x - robot.gravity(test)) ** 2))
        for found in (clean, robust, plain)
    ]
    assert errors[1] < 1.3 * errors[0]
    assert errors[2] > 5.0 * errors[0]


def test_an_unmeasured_joint_is_done_without() -> None:
    """What the other joints tell is still exact; a prior stands in for the rest."""
    robot = arm("wam7")
    q = random_poses(robot, 40, 9)
    torques = robot.gravity(q)
    torques[:, 6] = np.nan
    poses = static_poses(robot.joint_names, q, torques)
    found = solve_static(robot, poses, offset=False)
    np.testing.assert_allclose(found.x, robot.base_gravity_parameters, atol=1e-8)
    assert np.isnan(found.sigma[6])


def test_a_prior_lets_few_poses_do() -> None:
    """One pose is too few for 12 numbers; with the prior the answer stays near it and nothing is undetermined."""
    robot = arm("wam7")
    q = random_poses(robot, 1, 10)
    one = static_poses(robot.joint_names, q, robot.gravity(q))
    mean = np.array(robot.base_gravity_parameters) + 0.01
    found = solve_static(
        robot,
        one,
        offset=False,
        prior=Gaussian.from_covariance(mean, 0.02**2 * np.eye(12)),
        sigma=np.ones(7),
    )
    assert found.rank < 12
    assert found.undetermined.shape[1] == 0
    assert np.all(np.abs(found.x - mean) < 0.05)


@pytest.mark.parametrize("robust", [False, True], ids=["plain", "robust"])
def test_memory_is_bounded(robust: bool) -> None:
    """Twenty thousand poses need no more than 5 MB beside the data."""
    robot = arm("wam7")
    poses = measured(robot, 20_000, noise=0.1)
    solve_static(robot, measured(robot), robust=robust)
    tracemalloc.start()
    solve_static(robot, poses, robust=robust)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_expected_noise_follows_the_torque_limits() -> None:
    robot = arm("wam7")
    ratios = relative_noise(robot)
    assert ratios is not None
    np.testing.assert_allclose(ratios, robot.effort_limit / 160.6)
    unlimited = random_robot(1, joints=3).robot()
    assert np.isinf(unlimited.effort_limit).any()
    assert relative_noise(unlimited) is None


def test_hopeless_cases_are_refused() -> None:
    """One pose, and an arm on which gravity does no work."""
    robot = arm("wam7")
    with pytest.raises(InputError, match="only one pose"):
        solve_static(robot, measured(robot, 1))
    weightless = robot.mounted(gravity=(0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="gravity acts on no joint"):
        solve_static(weightless, measured(weightless))
