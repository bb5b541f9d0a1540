"""The published laws: integral action at a pose, no claim elsewhere, and gains within their bound."""

from __future__ import annotations

import re

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import ancestors
from counterpoise.fitting import Gaussian
from counterpoise.foundation import Array
from counterpoise.identification import workspace_poses
from counterpoise.recording import SampleFlag
from counterpoise.sensing.inverse_regressor import (
    SAFE_SHARE,
    InverseRegressor,
    gain_bound,
    largest_inertias,
    refuse_large_gain,
    stable,
)
from counterpoise.sensing.online_gravity import Method
from library.ideal_arm import IdealArm

POSE = np.array([0.4, 0.5, -0.3])


def loop_gains(robot: cp.Robot, frequency: float = 20.0, damping: float = 0.8) -> tuple[Array, Array]:
    """Return K_p and K_d by the largest inertias."""
    inertia = largest_inertias(robot)
    return inertia * frequency**2, 2.0 * damping * frequency * inertia


def hold(robot: cp.Robot, method: str, pose: Array, *, q_gain: float = 2.0, seconds: float = 5.0) -> cp.OnlineGravity:
    """Hold a pose under PD + ĝ while the law learns, starting from where PD alone leaves the arm."""
    kp, kd = loop_gains(robot)
    est = cp.OnlineGravity(robot, 1e-3, method, q_gain=q_gain, kp=kp, kd=kd)
    arm = IdealArm(robot, q=pose - robot.gravity(pose) / kp)
    with arm:
        for _ in range(round(seconds / arm.dt)):
            sample = arm.read()
            est.update(sample.q, sample.dq, sample.tau, pose)
            arm.write(kp * (pose - sample.q) - kd * sample.dq + est.gravity(sample.q))
    return est


@pytest.mark.parametrize("q_gain", [2.0, 5.0])
def test_converges_within_5_s_at_the_pose(q_gain: float) -> None:
    """The error of ĝ falls below 1 % of its start; at other poses it stays large, and no deviation is claimed."""
    robot = cp.load("planar3")
    est = hold(robot, "inverse-regressor", POSE, q_gain=q_gain)
    truth = robot.gravity(POSE)
    assert np.abs(est.gravity(POSE) - truth).max() < 0.01 * np.abs(truth).max()
    elsewhere = workspace_poses(robot, 200, seed=1)
    error = np.sqrt(np.mean((est.gravity(elsewhere) - robot.gravity(elsewhere)) ** 2))
    assert error > 0.2 * np.sqrt(np.mean(robot.gravity(elsewhere) ** 2))
    assert np.isinf(est.std(POSE)).all()
    assert est.novelty(POSE) == 1.0
    np.testing.assert_array_equal(est.novelty(elsewhere), 1.0)


@pytest.mark.parametrize("method", ["inverse-regressor", "transpose-regressor"])
@pytest.mark.parametrize("name", ["planar3", "dualarm19"])
def test_starts_from_nothing_or_from_the_description(method: Method, name: str) -> None:
    """ŝ_0 = 0 holds nothing; the description's holds the described arm at any pose. A calibration has no ŝ."""
    robot = cp.load(name)
    kp, kd = loop_gains(robot)
    poses = workspace_poses(robot, 20, seed=3)
    gains = {"q_gain": 2.0, "kp": kp, "kd": kd}
    assert not cp.OnlineGravity(robot, 1e-3, method, **gains).gravity(poses).any()
    described = cp.OnlineGravity(robot, 1e-3, method, prior="cad", **gains).gravity(poses)
    np.testing.assert_allclose(described, robot.gravity(poses), atol=1e-10)
    with pytest.raises(cp.InputError, match="'none' or 'cad'"):
        cp.OnlineGravity(robot, 1e-3, method, prior=Gaussian.from_covariance([0.0], [[1.0]]), **gains)


def test_the_transpose_law_is_slower() -> None:
    """At the same Q the baseline has learned less of the same pose in the same time."""
    robot = cp.load("planar3")
    truth = robot.gravity(POSE)
    errors = {
        method: np.linalg.norm(hold(robot, method, POSE, seconds=2.0).gravity(POSE) - truth)
        for method in ("inverse-regressor", "transpose-regressor")
    }
    assert errors["transpose-regressor"] > 3.0 * errors["inverse-regressor"]
    assert errors["transpose-regressor"] < np.linalg.norm(truth)


@pytest.mark.parametrize("name", ["planar3", "wam7", "dualarm19"])
def test_one_step_is_the_pseudo_inverse_of_z(name: str) -> None:
    """ŝ moves by dt Z⁺ Q (K_p e − K_d q̇), Z from the decomposition without its structurally zero columns."""
    robot = cp.load(name)
    n = robot.n
    rng = np.random.default_rng(0)
    q, dq, goal = rng.uniform(-1.0, 1.0, n), 0.01 * rng.standard_normal(n), rng.uniform(-1.0, 1.0, n)
    kp, kd = loop_gains(robot)
    est = InverseRegressor(robot, 1e-3, q_gain=2.0, kp=kp, kd=kd)
    est.update(q, dq, None, goal)
    Z, s = robot.jo_decomposition(q)
    carried = np.repeat([[i in ancestors(robot.tree, j) for j in range(n)] for i in range(n)], 3, axis=1)
    kept = np.concatenate([np.zeros((n, 3), dtype=bool), carried], axis=1).ravel()
    assert not s[~kept].any()
    step = np.linalg.pinv(Z[:, kept], rcond=1e-9) @ (1e-3 * 2.0 * (kp * (goal - q) - kd * dq))
    np.testing.assert_allclose(est.s[carried.reshape(n, n, 3)], step, atol=1e-9 * np.abs(step).max())
    np.testing.assert_allclose(est.gravity(q), Z[:, kept] @ step, atol=1e-9 * np.abs(Z[:, kept] @ step).max())


def test_a_vertical_axis_is_left_alone() -> None:
    """Row i of Z vanishes there; nothing blows up, and joint i learns nothing."""
    robot = cp.load("wam4")
    kp, kd = loop_gains(robot)
    est = InverseRegressor(robot, 1e-3, q_gain=2.0, kp=kp, kd=kd)
    est.update(np.array([0.1, 0.5, 0.2, 1.0]), np.zeros(4), None, np.ones(4))
    assert not est.s[0].any()
    assert est.s[1].any()
    assert np.abs(est.s).max() < 10.0


def test_the_bound_is_where_the_loop_becomes_unstable() -> None:
    """Just below it all roots of the characteristic polynomial are stable, just above they are not."""
    for damping in (0.1, 0.3, 0.45):
        inertia, frequency = 2.0, 15.0
        kp, kd = inertia * frequency**2, 2.0 * damping * frequency * inertia
        bound = float(gain_bound(np.array([kp]), np.array([kd]), np.array([inertia]))[0])
        assert bound == pytest.approx(2.0 * damping * frequency / (1.0 - 4.0 * damping**2))
        for factor, expected in ((0.99, True), (1.01, False)):
            q = factor * bound
            roots = np.roots([inertia, kd, kp + q * kd, q * kp])
            assert (roots.real.max() < 0.0) == expected
    assert np.isinf(gain_bound(np.array([225.0]), np.array([15.0]), np.array([1.0])))[0]


def test_too_large_a_gain_is_refused_with_the_bound() -> None:
    """One joint: the formula's bound, half of which is accepted."""
    robot = cp.load("pendulum")
    kp, kd = loop_gains(robot, damping=0.2)
    bound = float(gain_bound(kp, kd, largest_inertias(robot))[0])
    for method in ("inverse-regressor", "transpose-regressor"):
        cp.OnlineGravity(robot, method=method, q_gain=0.99 * SAFE_SHARE * bound, kp=kp, kd=kd)
        with pytest.raises(cp.InputError, match=rf"unstable at {bound:.3g}/s"):
            cp.OnlineGravity(robot, method=method, q_gain=1.01 * SAFE_SHARE * bound, kp=kp, kd=kd)


@pytest.mark.parametrize("name", ["planar3", "wam7", "dualarm19"])
@pytest.mark.parametrize("damping", [0.2, 0.3, 0.45])
def test_coupled_joints_are_looked_at_as_a_whole(name: str, damping: float) -> None:
    """Half the single joints' bound can be unstable on an arm; what is accepted is stable at poses not looked at."""
    robot = cp.load(name)
    kp, kd = loop_gains(robot, damping=damping)
    single = gain_bound(kp, kd, largest_inertias(robot))
    gains = np.minimum(SAFE_SHARE * single, 1e3)
    with pytest.raises(cp.InputError, match="coupled joints") as refusal:
        refuse_large_gain(robot, gains, kp, kd)
    factor = float(re.search(r"at most ([\d.e-]+) times", str(refusal.value)).group(1))  # type: ignore[union-attr]
    accepted = 0.95 * factor * gains
    refuse_large_gain(robot, accepted, kp, kd)
    others = workspace_poses(robot, 100, seed=77)
    unit = np.repeat(np.eye(robot.n)[None], len(others), axis=0).reshape(-1, robot.n)
    q = np.repeat(others, robot.n, axis=0)
    M = (robot.inverse_dynamics(q, 0.0 * q, unit) - robot.gravity(q)).reshape(-1, robot.n, robot.n)
    M[:, np.arange(robot.n), np.arange(robot.n)] += robot.rotor_inertia
    assert stable(M, accepted, kp, kd)


def test_without_inertias_the_bound_is_a_warning() -> None:
    """A description without masses says nothing about M(q)."""
    from counterpoise.description import Joint, JointKind, Link, checked

    joint = Joint("only", JointKind.REVOLUTE, "base", "link", axis=np.array([0.0, 1.0, 0.0]))
    robot = cp.Robot(checked(name="bare", links=[Link("base"), Link("link")], joints=[joint]))
    with pytest.warns(UserWarning, match="stability bound of q_gain is not known"):
        cp.OnlineGravity(robot, method="inverse-regressor", q_gain=1e6, kp=1.0, kd=1.0)


def test_only_a_held_arm_teaches() -> None:
    """Fast, saturated, flagged or broken samples are refused and counted; frozen it does not move."""
    robot = cp.load("planar3")
    kp, kd = loop_gains(robot)
    est = InverseRegressor(robot, 1e-3, q_gain=2.0, kp=kp, kd=kd)
    goal, still, weak = POSE + 0.1, np.zeros(3), np.ones(3)
    est.update(POSE, still + 1.0, weak, goal)
    est.update(POSE, still, np.asarray(robot.effort_limit), goal)
    est.update(POSE * np.nan, still, weak, goal)
    est.update(POSE, still, weak, goal, flags=int(SampleFlag.STALE))
    assert est.refused == 4
    est.learning = False
    est.update(POSE, still, weak, goal)
    assert not est.s.any()
    est.learning = True
    est.update(POSE, still, weak, goal)
    assert est.s.any()


@pytest.mark.parametrize("method", ["inverse-regressor", "transpose-regressor"])
def test_does_not_wind_up(method: str) -> None:
    """A goal that is never reached, and absurd ones: no more than the drives can hold is learned, nothing overflows."""
    robot = cp.load("planar3")
    kp, kd = loop_gains(robot)
    est = cp.OnlineGravity(robot, 1e-3, method, q_gain=2.0, kp=kp, kd=kd)
    still = np.zeros(3)
    for goal in (POSE + 0.5, np.full(3, 1e8), np.full(3, 1e200), np.full(3, -np.inf), -POSE):
        for _ in range(3000):
            est.update(POSE, still, None, goal)
        assert np.all(np.abs(est.gravity(POSE)) <= 5.0 * robot.effort_limit)
    est.update(np.full(3, 1e200), np.full(3, 1e200), None, still)
    assert np.isfinite(est.gravity(POSE)).all()


def test_linear_joints_are_refused() -> None:
    with pytest.raises(cp.ModelError, match="recursive"):
        cp.OnlineGravity(cp.load("scara"), method="inverse-regressor", q_gain=1.0, kp=1.0, kd=1.0)
