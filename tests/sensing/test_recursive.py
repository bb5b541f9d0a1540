"""The recursive estimator: what it learns, when it does not, and how far it is to be believed."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Gaussian
from counterpoise.identification import workspace_poses
from counterpoise.recording import SampleFlag
from counterpoise.sensing.gravity_prior import LOAD_SHARE
from counterpoise.sensing.hold import Told
from counterpoise.sensing.recursive import LEAST_PRIOR, RecursiveGravity
from library.calibration_data import other_masses, visits

DT = 0.01
"""Period of the made recordings [s]."""


def listen(estimator: cp.OnlineGravity, log: cp.Log, flags: int = 0) -> cp.OnlineGravity:
    """Feed a recording to an estimator, and let it blend in what it learned last."""
    for q, dq, tau in zip(log.q, np.zeros_like(log.q), log.tau, strict=True):
        estimator.update(q, dq, tau, flags=flags)
    for _ in range(50):
        estimator.update(log.q[-1] + 0.1, log.q[-1] * 0.0, log.tau[-1], flags=flags)
    return estimator


def relative_error(estimator: cp.OnlineGravity, truth: cp.Robot, poses: np.ndarray) -> float:
    """Return the rms error of the estimate over poses (k, n), as a share of the rms of the true gravity torques."""
    g = truth.gravity(poses)
    return float(np.sqrt(np.mean((estimator.gravity(poses) - g) ** 2) / np.mean(g**2)))


def inner(estimator: cp.OnlineGravity) -> RecursiveGravity:
    assert isinstance(estimator.estimator, RecursiveGravity)
    return estimator.estimator


@pytest.mark.parametrize("name", ["planar3", "wam7", "puma560", "scara", "dualarm19"])
def test_learns_any_arm_from_nothing(name: str) -> None:
    """Serial, with linear joints, a tree: exact torques of 8 poses give g everywhere, the friction on the way."""
    robot = cp.load(name).mounted(rpy=(0.3, 0.2, 0.0))
    poses, everywhere = workspace_poses(robot, 8, seed=1, margin=0.2), workspace_poses(robot, 200, seed=2)
    friction = 0.02 * robot.effort_limit
    est = listen(cp.OnlineGravity(robot, DT, prior="none"), visits(robot, poses, friction=friction))
    assert relative_error(est, robot, everywhere) < 2e-3
    states = inner(est).states
    found = inner(est).parameters[states.friction_at :]
    np.testing.assert_allclose(found, friction, rtol=0.01)
    assert inner(est).holds == 16


def test_starts_from_the_description_and_leaves_it_where_data_say_so() -> None:
    """With masses 10 % off the error shrinks with every pose; the prior alone is what the description gives."""
    robot = cp.load("wam7")
    truth = other_masses(robot, seed=3)
    poses, everywhere = workspace_poses(robot, 5, seed=1, margin=0.2), workspace_poses(robot, 200, seed=2)
    est = cp.OnlineGravity(robot, DT)
    np.testing.assert_allclose(est.gravity(everywhere), robot.gravity(everywhere), atol=1e-9)
    before = relative_error(est, truth, everywhere)
    listen(est, visits(truth, poses, friction=0.02 * robot.effort_limit))
    assert relative_error(est, truth, everywhere) < 0.05 * before


def test_starts_from_a_calibration() -> None:
    """A Fit brings its values and its covariance; one pose more cannot make it worse."""
    robot = cp.load("planar3")
    truth = other_masses(robot, seed=5)
    log = visits(truth, cp.design_poses(robot, 12, seed=0), friction=0.5, noise=0.05)
    fit = cp.calibrate(robot, log, findings=())
    est = cp.OnlineGravity(robot, DT, prior=fit)
    everywhere = workspace_poses(robot, 200, seed=2)
    np.testing.assert_allclose(est.gravity(everywhere), fit.robot.gravity(everywhere), atol=1e-6)
    cad = cp.OnlineGravity(robot, DT)
    assert np.all(est.std(everywhere) < 0.5 * cad.std(everywhere) + 1e-9)
    other = cp.load("wam4")
    with pytest.raises(cp.InputError, match="calibrat"):
        cp.OnlineGravity(other, DT, prior=fit)


def test_the_standard_deviation_is_honest() -> None:
    """Over seeds and poses the error divided by its stated standard deviation has an rms of about 1, never above 2."""
    robot = cp.load("puma560")
    everywhere = workspace_poses(robot, 100, seed=2)
    ratios = []
    for seed in range(8):
        truth = other_masses(robot, seed=seed)
        log = visits(truth, workspace_poses(robot, 4, seed=seed, margin=0.2), friction=0.02 * robot.effort_limit)
        tau = log.tau.copy()
        # What a held pose leaves unexplained: constant while the arm stands, new at every pose.
        change = np.random.default_rng(seed).standard_normal(tau.shape)[::310]
        hold = np.repeat(change, 310, axis=0)[: len(tau)] * 0.002 * robot.effort_limit
        est = cp.OnlineGravity(robot, DT)
        for q, torque in zip(log.q, tau + hold, strict=True):
            est.update(q, np.zeros(robot.n), torque)
        for _ in range(50):
            est.update(log.q[-1] + 0.1, np.zeros(robot.n), tau[-1])
        felt = robot.gravity(everywhere).any(axis=0)
        error = est.gravity(everywhere) - truth.gravity(everywhere)
        ratios.append((error / np.maximum(est.std(everywhere), 1e-12))[:, felt].ravel())
    assert 0.3 < float(np.sqrt(np.mean(np.square(ratios)))) < 2.0


def test_one_pose_repeated_teaches_nothing_more() -> None:
    """Without excitation it freezes: later visits are counted as such and change neither estimate nor covariance."""
    robot = cp.load("wam4")
    pose = workspace_poses(robot, 1, seed=4, margin=0.3)
    est = cp.OnlineGravity(robot, DT)
    listen(est, visits(robot, np.repeat(pose, 25, axis=0), friction=0.5))
    learned = inner(est).holds
    assert learned < 45
    before, covariance = inner(est).parameters, inner(est).covariance
    listen(est, visits(robot, np.repeat(pose, 5, axis=0), friction=0.5))
    assert inner(est).holds == learned
    assert inner(est).frozen_holds >= 10
    np.testing.assert_array_equal(inner(est).parameters, before)
    np.testing.assert_array_equal(inner(est).covariance, covariance)


@pytest.mark.parametrize(
    "flag", [SampleFlag.Q_INVALID, SampleFlag.DQ_INVALID, SampleFlag.TAU_INVALID, SampleFlag.STALE]
)
def test_never_learns_from_flagged_samples(flag: SampleFlag) -> None:
    """Flagged samples change nothing and are counted; a flag of the plate alone is no reason to refuse."""
    robot = cp.load("planar3")
    log = visits(robot, workspace_poses(robot, 2, seed=1, margin=0.2))
    est = cp.OnlineGravity(robot, DT, prior="none")
    before = inner(est).parameters
    listen(est, log, flags=int(flag | SampleFlag.WRENCH_INVALID))
    np.testing.assert_array_equal(inner(est).parameters, before)
    assert inner(est).refused == len(log) + 50
    listen(est, log, flags=int(SampleFlag.WRENCH_INVALID))
    assert inner(est).holds > 0


def test_a_sample_with_its_flags() -> None:
    """update(sample) takes the sample's own arrays and flags."""
    robot = cp.load("pendulum")
    good, bad = (cp.OnlineGravity(robot, DT, prior="none") for _ in range(2))
    q, zero = np.array([0.4]), np.zeros(1)
    for tick in range(100):
        sample = (tick * DT, q, zero, robot.gravity(q), None)
        good.update(cp.Sample(*sample))
        bad.update(cp.Sample(*sample, SampleFlag.TAU_INVALID))
    assert inner(good).standing
    assert not inner(bad).standing
    assert good.gravity(q)[0] != 0.0
    assert bad.gravity(q)[0] == 0.0


def test_a_load_that_is_attached_is_learned() -> None:
    """After 12 poses without it, 6 poses with 1 kg in the hand bring the error down again."""
    robot = cp.load("wam7")
    loaded = robot.with_payload(1.0, com=(0.0, 0.0, 0.1))
    everywhere = workspace_poses(robot, 200, seed=2)
    est = listen(cp.OnlineGravity(robot, DT), visits(robot, workspace_poses(robot, 12, seed=1, margin=0.2)))
    start = relative_error(est, loaded, everywhere)
    listen(est, visits(loaded, workspace_poses(robot, 6, seed=7, margin=0.2)))
    assert relative_error(est, loaded, everywhere) < 0.2 * start


def test_a_load_that_is_attached_says_nothing_of_friction() -> None:
    """Holds that contradict what is known are a change of the arm: the odds of friction stay as they were."""
    robot = cp.load("wam7")
    loaded = robot.with_payload(1.0, com=(0.0, 0.0, 0.1))
    est = listen(cp.OnlineGravity(robot, DT), visits(robot, workspace_poses(robot, 12, seed=1, margin=0.2)))
    log, seen = visits(loaded, workspace_poses(robot, 6, seed=7, margin=0.2)), 0
    for row in range(len(log)):
        est.update(log.q[row], log.dq[row], log.tau[row])
        now = inner(est)
        if now._learned and now._surprised:
            seen += 1
            assert now._pass_odds == now._odds
    assert seen > 0


@pytest.mark.parametrize(("name", "poses"), [("wam7", 3), ("dualarm19", 3)])
def test_a_robot_without_friction_needs_no_more_poses(name: str, poses: int) -> None:
    """With all states on, one visit a pose: ≤ 1 % after 3, and it is known that no friction is there."""
    robot = cp.load(name)
    everywhere = workspace_poses(robot, 200, seed=2)
    log = visits(robot, workspace_poses(robot, poses, seed=11, margin=0.2), both_sides=False)
    est = listen(cp.OnlineGravity(robot, DT, prior="none"), log)
    assert inner(est).frictionless > 0.999
    assert relative_error(est, robot, everywhere) < 0.01
    with_friction = visits(
        robot, workspace_poses(robot, poses, seed=11, margin=0.2), friction=0.03 * robot.effort_limit
    )
    assert inner(listen(cp.OnlineGravity(robot, DT, prior="none"), with_friction)).frictionless < 0.001


def test_friction_that_comes_later_is_found() -> None:
    """After ten poses without any, friction of 2 % of the limits at six poses is not taken for weight."""
    robot = cp.load("wam7")
    everywhere = workspace_poses(robot, 200, seed=2)
    est = listen(cp.OnlineGravity(robot, DT), visits(robot, workspace_poses(robot, 10, seed=1, margin=0.2)))
    assert inner(est).frictionless > 0.999
    listen(est, visits(robot, workspace_poses(robot, 6, seed=7, margin=0.2), friction=0.02 * robot.effort_limit))
    assert inner(est).frictionless < 0.001
    assert relative_error(est, robot, everywhere) < 0.01


def test_wrong_torque_constants_are_within_the_standard_deviation() -> None:
    """Torques read 1.5 % too high look like weight; no number of poses makes the deviation forget that they may be."""
    robot = cp.load("wam7")
    everywhere = workspace_poses(robot, 200, seed=2)
    poses = workspace_poses(robot, 12, seed=1, margin=0.2)
    log = visits(robot, poses, friction=0.01 * robot.effort_limit, creeps=True)
    honest, sure = cp.OnlineGravity(robot, DT), cp.OnlineGravity(robot, DT, gain_std=0.0)
    for est in (honest, sure):
        for q, tau in zip(log.q, 1.015 * log.tau, strict=True):
            est.update(q, np.zeros(7), tau)
        for _ in range(50):
            est.update(log.q[-1] + 0.1, np.zeros(7), log.tau[-1])
    g = robot.gravity(everywhere)
    error = np.abs(honest.gravity(everywhere) - g)[:, 1:6]
    assert np.mean(error < 2.0 * honest.std(everywhere)[:, 1:6]) > 0.95
    assert np.mean(error < 2.0 * sure.std(everywhere)[:, 1:6]) < 0.9
    np.testing.assert_array_equal(honest.gravity(everywhere), sure.gravity(everywhere))


def test_an_arm_that_does_not_slide_is_held_once() -> None:
    """Creep within the play of friction begins new holds; they are the same measurement and change nothing."""
    robot = cp.load("planar3")
    est = listen(
        cp.OnlineGravity(robot, DT), visits(robot, workspace_poses(robot, 2, seed=1, margin=0.2), friction=1.0)
    )
    pose = workspace_poses(robot, 1, seed=6, margin=0.2)[0]
    tau = robot.gravity(pose) + 1.0
    hold(est, pose, tau)
    hold(est, pose + 0.0011, tau, 1)
    learned, values = inner(est).holds, inner(est).parameters
    for creep in range(1, 8):
        hold(est, pose + 0.0011 * (creep % 2), tau)
    assert inner(est).holds == learned
    np.testing.assert_array_equal(inner(est).parameters, values)


def test_only_a_hold_that_was_looked_at_to_its_end_counts_as_one_without_news() -> None:
    """An arm that moves, one that stops too shortly, and a hold that ends among its joints are no frozen holds."""
    robot = cp.load("wam7")
    pose = workspace_poses(robot, 1, seed=4, margin=0.3)[0]
    tau = robot.gravity(pose)
    for ticks in (
        *range(0, 66, 6),
        *range(66, 76),
    ):  # from not at all, over too short for a mean, into the joints' turns
        est = cp.OnlineGravity(robot, DT)
        for step in range(40):
            est.update(pose + 0.01 * step, np.full(7, 1.0), tau)
        hold(est, pose, tau, ticks)
        for step in range(1, 40):
            est.update(pose + 0.01 * step, np.full(7, 1.0), tau)
        assert (inner(est).frozen_holds, inner(est).holds) == (0, 0), ticks
        np.testing.assert_array_equal(inner(est).parameters, inner(cp.OnlineGravity(robot, DT)).parameters)
    hold(est, pose, tau, 100)
    hold(est, pose + 0.2, robot.gravity(pose + 0.2), 2)
    assert inner(est).holds + inner(est).frozen_holds == 1


def test_novelty_and_deviation_fall_near_the_data() -> None:
    """1 before any data; small at a learned pose; larger far from it."""
    robot = cp.load("wam7")
    pose = workspace_poses(robot, 1, seed=1, margin=0.2)
    far = workspace_poses(robot, 50, seed=9)
    est = cp.OnlineGravity(robot, DT, prior="none")
    assert est.novelty(pose[0]) == pytest.approx(1.0)
    np.testing.assert_allclose(est.novelty(far), 1.0)
    listen(est, visits(robot, pose))
    near, away = float(est.novelty(pose[0])), np.asarray(est.novelty(far))
    assert near < 0.2
    assert np.median(away) > 0.7
    assert np.all(est.std(pose[0]) <= np.median(est.std(far), axis=0) + 1e-9)


def test_the_values_in_use_move_smoothly() -> None:
    """What is learned comes in over BLEND: no tick changes ĝ by more than a fifteenth of the whole change."""
    robot = cp.load("wam4")
    est = cp.OnlineGravity(robot, DT, prior="none")
    log = visits(robot, workspace_poses(robot, 1, seed=1, margin=0.2), both_sides=False)
    pose = log.q[-1]
    steps = [est.gravity(pose)]
    for q, tau in zip(log.q, log.tau, strict=True):
        est.update(q, np.zeros(4), tau)
        steps.append(est.gravity(pose))
    jumps = np.abs(np.diff(steps, axis=0)).max(axis=0)
    assert np.all(jumps <= np.abs(steps[-1]) / 15.0 + 1e-9)
    assert np.abs(steps[-1]).max() > 1.0


def test_a_stuck_joint_is_not_believed_twice() -> None:
    """Where friction holds, the torque of a standing arm may be changed by a controller; it teaches nothing."""
    robot = cp.load("planar3")
    log = visits(robot, workspace_poses(robot, 4, seed=1, margin=0.2), friction=1.0)
    est = listen(cp.OnlineGravity(robot, DT, prior="none"), log)
    before = inner(est).parameters
    pose = workspace_poses(robot, 1, seed=6, margin=0.2)
    more = visits(robot, pose, friction=1.0, both_sides=False)
    for q, tau in zip(more.q, more.tau, strict=True):
        est.update(q, np.zeros(3), tau)
    learned = inner(est).parameters
    for _ in range(1000):  # somebody's controller pushes against friction, the arm stays
        est.update(more.q[-1], np.zeros(3), more.tau[-1] - 1.5)
    np.testing.assert_array_equal(inner(est).parameters, learned)
    assert np.abs(learned - before).max() < 0.01


def test_a_joint_that_friction_let_go_of_counts_little() -> None:
    """It came from above and stuck, then its controller turned the friction round before the arm was looked at.

    Believing that friction still pushes from above would put 1.5 times the friction into the weight.
    """
    robot = cp.load("planar3")
    friction = np.array([1.0, 0.5, 0.2])
    est = listen(
        cp.OnlineGravity(robot, DT, prior="none"),
        visits(robot, workspace_poses(robot, 3, seed=1, margin=0.2), friction=friction, creeps=True),
    )
    everywhere = workspace_poses(robot, 200, seed=2)
    before, learned = relative_error(est, robot, everywhere), inner(est).holds
    more = visits(
        robot, workspace_poses(robot, 1, seed=6, margin=0.2), friction=friction, both_sides=False, creeps=True
    )
    still = len(more) - 150
    for row, (q, tau) in enumerate(zip(more.q, more.tau, strict=True)):
        est.update(q, np.zeros(3), tau + (1.5 * friction if row >= still else 0.0))
    for _ in range(50):
        est.update(more.q[-1] + 0.1, np.zeros(3), more.tau[-1])
    assert before < 2e-3
    assert relative_error(est, robot, everywhere) < 5e-3
    assert inner(est).holds <= learned + 1


def test_does_not_learn_when_told_not_to() -> None:
    robot = cp.load("planar3")
    est = cp.OnlineGravity(robot, DT, prior="none")
    before = inner(est).parameters
    est.learning = False
    listen(est, visits(robot, workspace_poses(robot, 2, seed=1, margin=0.2)))
    np.testing.assert_array_equal(inner(est).parameters, before)


def hold(est: cp.OnlineGravity, q: np.ndarray, tau: np.ndarray, ticks: int = 100) -> None:
    """Stand at a pose with constant torques."""
    for _ in range(ticks):
        est.update(q, np.zeros_like(q), tau)


def test_one_hold_that_contradicts_is_doubted() -> None:
    """Brakes hold the arm while its drives are off, or somebody leans on it: no weight is unlearned at one pose."""
    robot = cp.load("wam7")
    poses, everywhere = workspace_poses(robot, 6, seed=1, margin=0.2), workspace_poses(robot, 50, seed=2)
    est = listen(cp.OnlineGravity(robot, DT), visits(robot, poses))
    before, learned = est.gravity(everywhere), inner(est).holds
    parked, pushed = workspace_poses(robot, 2, seed=9, margin=0.2)
    for shake in (0.0, 0.004):  # a hold that is shaken a little is the same hold
        hold(est, parked + shake, np.zeros(7), 300)
    hold(est, poses[0], robot.gravity(poses[0]))
    hold(est, pushed, robot.gravity(pushed) + 0.2 * robot.effort_limit)
    hold(est, poses[1], robot.gravity(poses[1]))
    assert inner(est).doubted_holds == 3
    assert inner(est).holds <= learned + 2
    np.testing.assert_allclose(est.gravity(everywhere), before, atol=0.05)


def test_a_contradiction_that_is_borne_out_is_learned_everywhere() -> None:
    """A load that comes and stays, two poses in turn: the first hold is doubted, the others teach."""
    robot = cp.load("wam7")
    loaded = robot.with_payload(3.0, com=(0.0, 0.0, 0.1))
    one, other = workspace_poses(robot, 2, seed=9, margin=0.2)
    est = listen(cp.OnlineGravity(robot, DT), visits(robot, workspace_poses(robot, 6, seed=1, margin=0.2)))
    before, learned = relative_error(est, loaded, np.array([one, other])), inner(est).holds
    for pose in (one, other, one, other, one):
        hold(est, pose, loaded.gravity(pose))
    hold(est, one + 0.2, loaded.gravity(one + 0.2), 2)
    assert inner(est).doubted_holds == 1
    assert inner(est).holds == learned + 4
    assert relative_error(est, loaded, np.array([one, other])) < 0.8 * before


def test_an_arm_that_starts_on_its_brakes_keeps_its_weight() -> None:
    """Torques of zero from the first sample on, at two poses, say nothing about gravity."""
    robot = cp.load("wam7")
    est, random = cp.OnlineGravity(robot, DT), np.random.default_rng(0)
    everywhere = workspace_poses(robot, 50, seed=2)
    for pose in workspace_poses(robot, 2, seed=1, margin=0.2):
        hold(est, pose, 1e-4 * robot.effort_limit * random.normal(size=7))
    np.testing.assert_allclose(est.gravity(everywhere), robot.gravity(everywhere), atol=1e-9)


def test_a_pose_that_is_not_endured_teaches_nothing() -> None:
    """While a drive is saturated or a joint rests at its stop, the torque does not carry the weight; later it may."""
    robot = cp.load("wam7")
    pose = workspace_poses(robot, 1, seed=4, margin=0.3)[0]
    tau, stop = robot.gravity(pose), pose.copy()
    stop[1] = robot.upper[1] - 0.005
    saturated = tau.copy()
    saturated[1] = 0.99 * robot.effort_limit[1]
    for q, torque in ((stop, robot.gravity(stop)), (pose, saturated)):
        est = cp.OnlineGravity(robot, DT)
        before = inner(est).parameters
        hold(est, q, torque, 200)
        hold(est, q + 0.2, robot.gravity(q + 0.2), 2)
        np.testing.assert_array_equal(inner(est).parameters, before)
        assert (inner(est).holds, inner(est).frozen_holds, inner(est).doubted_holds) == (0, 0, 0)
    hold(est, pose, saturated, 100)
    hold(est, pose, tau, 50)
    hold(est, pose + 0.2, robot.gravity(pose + 0.2), 2)
    assert inner(est).holds == 1


def test_a_joint_that_stays_has_no_side() -> None:
    """Of two joints that came from below one goes on, at the same torques: at the next hold only its side is known."""
    robot = cp.load("planar3")
    est, tau = cp.OnlineGravity(robot, DT, prior="none"), np.array([3.0, 2.0, 1.0])
    for goal in (np.array([0.4, 0.3, 0.2]), np.array([0.8, 0.3, 0.2])):
        start = goal - [0.4, 0.3 * (goal[0] < 0.5), 0.0]
        for share in np.linspace(0.0, 1.0, 60):
            q = start + share * (goal - start)
            est.update(q, np.zeros(3), tau)
        hold(est, goal, tau)
        sides = inner(est)._told_rows[Told.SIDE]
        np.testing.assert_array_equal(sides, [1.0, 1.0, 0.0] if goal[0] < 0.5 else [1.0, 0.0, 0.0])


def test_the_side_is_followed_while_nothing_is_learned() -> None:
    """Up by 1 rad and back by 0.3 while learning is off: the joint rests on the friction of the way down."""
    robot = cp.load("pendulum")
    est = cp.OnlineGravity(robot, DT, prior="none")
    friction, zero = 0.05 * float(robot.effort_limit[0]), np.zeros(1)
    log = visits(robot, np.array([[0.2], [-0.3], [0.4]]), friction=friction)
    listen(est, log)
    rest, truth, learned = np.array([0.9]), robot.gravity([0.9]), inner(est).holds
    est.learning = False
    for q, side in [*((q, 1.0) for q in np.linspace(0.4, 1.9, 80)), *((q, -1.0) for q in np.linspace(1.9, 0.9, 50))]:
        est.update(np.array([q]), zero, robot.gravity([q]) + side * friction)
    hold(est, rest, truth - friction)
    assert inner(est).holds == learned
    np.testing.assert_allclose(inner(est)._sliding.torque, truth - friction, rtol=0.05)
    est.learning = True
    hold(est, rest, truth - friction)
    assert inner(est).doubted_holds == 0
    np.testing.assert_allclose(est.gravity(rest), truth, rtol=0.01)


def test_random_and_faulty_input_stays_finite_and_bounded() -> None:
    """Rests, jumps, NaN, infinities, absurd numbers and random torques: all finite, covariance within twice the prior.

    The study repeats this a million times.
    """
    robot = cp.load("wam7")
    est = cp.OnlineGravity(robot, DT)
    rng = np.random.default_rng(0)
    q = np.zeros(7)
    everywhere = workspace_poses(robot, 50, seed=2)
    widest = (1.0 + 1e-6) / np.sqrt(LEAST_PRIOR)
    largest = 0.0
    for tick in range(60_000):
        if tick % 100 == 0:
            q = rng.uniform(-1.0, 1.0, 7)
            tau = rng.standard_normal(7) * 10.0 ** rng.uniform(-2.0, 2.0)
        sample = [q.copy(), 1e-3 * rng.standard_normal(7), tau + 0.01 * rng.standard_normal(7)]
        if rng.random() < 0.02:
            sample[int(rng.integers(3))][int(rng.integers(7))] = rng.choice([np.nan, np.inf, -np.inf, 1e300])
        est.update(*sample, flags=int(rng.choice([0, 0, 0, 0, 0, 0, 0, 32])))
        if tick % 5000 == 0:
            assert np.isfinite(est.gravity(q)).all()
            largest = max(largest, float(np.abs(est.gravity(everywhere)).max()))
            assert np.isfinite(est.std(everywhere)).all()
            assert np.all(est.novelty(everywhere) <= widest)
    assert inner(est).holds > 100
    assert inner(est).refused > 1000
    assert largest < 1e4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hold_noise": -1.0}, "hold_noise"),
        ({"hold_noise": [1.0, 2.0]}, "hold_noise"),
        ({"memory": 0.1}, "memory"),
        ({"gain_std": -0.1}, "gain_std"),
        ({"band": 0.0}, "band"),
        ({"prior": "guess"}, "prior"),
        ({"prior": Gaussian.from_covariance([0.0], [[1.0]])}, "prior is over 1"),
        ({"prior": Gaussian.from_covariance(np.zeros(6), np.diag(np.full(6, np.inf)))}, "prior"),
    ],
)
def test_bad_settings_are_refused(options: dict, message: str) -> None:
    with pytest.raises(cp.InputError, match=message):
        cp.OnlineGravity(cp.load("planar3"), **options)


def test_a_given_gaussian_is_the_prior() -> None:
    robot = cp.load("planar3")
    values = robot.base_gravity_parameters
    est = cp.OnlineGravity(robot, prior=Gaussian.from_covariance(values, 0.1**2 * np.eye(6)))
    q = np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(est.gravity(q), robot.gravity(q), atol=1e-9)
    Y = robot.base_gravity_regressor(q)
    np.testing.assert_allclose(est.std(q), 0.1 * np.linalg.norm(Y, axis=1), rtol=1e-9)


@pytest.mark.parametrize("gravity", [9.81, 1.62])
def test_without_a_prior_a_joint_may_carry_a_share_of_its_effort_limit(gravity: float) -> None:
    """The prior torque's deviation is LOAD_SHARE of the limit at every pose, under any gravity; without, nothing is."""
    robot = cp.load("pendulum").mounted(gravity=(0.0, 0.0, -gravity))
    estimator = RecursiveGravity(robot, 0.002, prior="none", gain_std=0.0)
    for q in (0.0, 0.7, 2.0):
        assert estimator.std([q]) == pytest.approx(LOAD_SHARE * robot.effort_limit)
    assert not RecursiveGravity(robot.mounted(gravity=(0.0, 0.0, 0.0)), 0.002, prior="none").std([0.3]).any()


def test_without_a_prior_every_joint_has_its_own_limit() -> None:
    """A base parameter is named by its joint; it may be as large as that joint's limit lets it."""
    robot = cp.load("puma560")
    estimator = RecursiveGravity(robot, 0.002, prior="none")
    limit = dict(zip(robot.joint_names, robot.effort_limit.tolist(), strict=True))
    first = [limit[name.partition(".")[0]] for name in robot.base_parameters.names]
    std = np.sqrt(np.diag(estimator.states.covariance))[: len(first)]
    assert std == pytest.approx(LOAD_SHARE * np.array(first) / 9.80665, rel=0.01)
