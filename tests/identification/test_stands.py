"""Poses at rest and motion of one recording, fitted together: what each adds, and what neither can spoil."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.fitting import Samples, StaticPoses, Terms, static_poses
from counterpoise.foundation import Array
from counterpoise.identification.data_choice import _of_actuators, data_kind, stands_of
from counterpoise.identification.file import load_calibration
from counterpoise.identification.fit import Fit
from counterpoise.identification.moving import moving_samples
from counterpoise.identification.runs import FittedRun
from counterpoise.identification.verification import verify
from counterpoise.identification.weighted import WeightedFit, weighted_fit
from counterpoise.recording import Declared
from library.calibration_data import motion, other_masses, visits

ARM = cp.load("planar3")
TRUTH = other_masses(ARM, seed=3, size=0.2)
FRICTION = np.array([2.0, 1.0, 0.4])


def poses_drawn(count: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (count, ARM.n))


@cache
def recording(seed: int = 0, dwell: float = 1.0) -> cp.Log:
    """Stand and move: poses reached from where the arm was, minimum jerk between them, noise on the efforts."""
    return visits(
        TRUTH, poses_drawn(14, seed), friction=tuple(FRICTION), noise=0.3, both_sides=False, dwell=dwell, seed=seed
    )


@cache
def calibrated(use: str, seed: int = 0) -> Fit:
    return cp.calibrate(ARM, recording(seed), use=use, findings=())  # type: ignore[arg-type]


def exact_runs(*, motion_noise: float = 0.0, pose_noise: float = 0.0, pose_gain: float = 1.0) -> list[FittedRun]:
    """Samples of the model itself: a motion, and poses at rest with another friction than that of the motion."""
    log = motion(TRUTH, coulomb=0.8, viscous=0.5, duration=30.0)
    random = np.random.default_rng(1)
    every = slice(None, None, 4)
    q, dq, tau = log.q[every], log.dq[every], log.tau[every]
    ddq = np.gradient(log.dq, log.time, axis=0)[every]
    tau = TRUTH.inverse_dynamics(q, dq, ddq) + 0.8 * np.tanh(dq / 0.01) + 0.5 * dq
    moving = Samples(
        joint_names=ARM.joint_names,
        time=log.time[every],
        q=q,
        dq=dq,
        ddq=ddq,
        tau=tau + motion_noise * random.standard_normal(tau.shape),
        v0=np.full(ARM.n, 0.01),
        rate=100.0,
        cutoff=3.0,
    )
    still, side = poses_drawn(16, 5), np.random.default_rng(2).choice([-1.0, 1.0], (16, ARM.n))
    held = pose_gain * TRUTH.gravity(still) + 0.8 * side + pose_noise * random.standard_normal(still.shape)
    zero = np.zeros_like(still)
    poses = Samples(ARM.joint_names, np.linspace(0.0, 29.0, 16), still, zero, zero, held, moving.v0, direction=side)
    return [FittedRun(moving), FittedRun(poses, poses=True)]


def at_rest_alone(poses: Samples) -> WeightedFit:
    return weighted_fit(ARM, poses, terms=Terms(bodies="gravity", offset=("all",), coulomb=("all",)))


def apart(one: WeightedFit, other: WeightedFit) -> Array:
    """Return how far loads are apart, over the deviation that the first one states, shape (n,)."""
    q = poses_drawn(60, 9)
    (first, deviation), (second, _) = one.posterior.load(q), other.posterior.load(q)
    return np.asarray(np.sqrt(np.mean((first - second) ** 2, axis=0) / np.mean(deviation**2, axis=0)))


def test_with_exact_data_poses_motion_and_both_agree() -> None:
    moving, poses = exact_runs()
    assert isinstance(poses.samples, Samples)
    q = poses_drawn(60, 9)
    for fit in (weighted_fit(ARM, [moving]), at_rest_alone(poses.samples), weighted_fit(ARM, [moving, poses])):
        load = fit.model.rows(at_pose(q), fit.x)[0][:, :, fit.model.groups["bodies"]]
        np.testing.assert_allclose(load @ fit.x[fit.model.groups["bodies"]], TRUTH.gravity(q), atol=2e-4)


def at_pose(q: Array) -> Samples:
    zero = np.zeros_like(q)
    return Samples(ARM.joint_names, np.arange(float(len(q))), q, zero, zero, zero, np.ones(ARM.n), direction=zero)


def test_poses_of_huge_noise_do_not_change_the_motions_fit() -> None:
    moving, poses = exact_runs(motion_noise=0.1, pose_noise=300.0)
    alone, both = weighted_fit(ARM, [moving]), weighted_fit(ARM, [moving, poses])
    assert np.all(apart(alone, both) < 0.5)  # of deviations of 0.6 % of the load
    q = poses_drawn(60, 9)
    loads = [fit.posterior.load(q)[0] for fit in (alone, both)]
    shift, size = (np.sqrt(np.mean(values**2, axis=0)) for values in (loads[0] - loads[1], loads[0]))
    assert np.all(shift < 0.003 * size.max())


def test_a_motion_of_huge_noise_does_not_change_the_fit_of_the_poses() -> None:
    moving, poses = exact_runs(motion_noise=10.0, pose_noise=0.05)
    assert isinstance(poses.samples, Samples)
    alone, both = at_rest_alone(poses.samples), weighted_fit(ARM, [moving, poses])
    assert np.all(apart(alone, both) < 1.0)
    stated = [np.sqrt(np.mean(fit.posterior.load(poses_drawn(60, 9))[1] ** 2, axis=0)) for fit in (alone, both)]
    assert np.all(stated[1] < 2.0 * stated[0])


def test_noises_of_poses_and_motion_are_told_apart() -> None:
    both = weighted_fit(ARM, exact_runs(motion_noise=0.5, pose_noise=0.05))
    of_motion, of_poses = both.posterior.noise[: ARM.n], both.posterior.noise[ARM.n :]
    np.testing.assert_allclose(of_motion, 0.5, rtol=0.15)
    assert np.all((of_poses > 0.02) & (of_poses < 0.3))


def test_a_contradiction_widens_the_stated_error() -> None:
    """Poses that say half as much again as the motion: the errors grow by as much as the two are apart."""
    agreeing, odd = (weighted_fit(ARM, exact_runs(motion_noise=0.2, pose_noise=0.1, pose_gain=g)) for g in (1.0, 1.5))
    assert np.all(agreeing.posterior.apart < 2.0)
    assert np.max(odd.posterior.apart) > 3.0
    assert np.all(odd.posterior.widened >= odd.posterior.apart)
    deviations = [np.sqrt(np.mean(one.posterior.load(poses_drawn(60, 9))[1] ** 2, axis=0)) for one in (agreeing, odd)]
    assert np.all(deviations[1] > 1.5 * deviations[0])


def test_both_state_a_smaller_error_than_either_alone() -> None:
    both, static, moving = (calibrated(use) for use in ("auto", "static", "moving"))
    assert (both.data.kind, static.data.kind, moving.data.kind) == ("both", "static", "moving")
    assert np.all(both.errors.gravity < 1.05 * static.errors.gravity)  # where one says nearly all, no more than that
    assert np.any(both.errors.gravity < 0.8 * static.errors.gravity)
    assert np.all(both.errors.gravity < moving.errors.gravity)
    missed = both.robot.gravity(recording().q) - TRUTH.gravity(recording().q)
    ratio = np.sqrt(np.mean(missed**2, axis=0)) / both.errors.gravity  # of one draw, 95 % each
    assert np.all(ratio < 1.1) and np.median(ratio) < 0.6
    assert both.trusted, both.reasons
    assert both.data.why.startswith("14 poses at rest and the motion: the arm stands still")
    assert "beside poses at rest" in both.summary()


def test_a_standing_counts_once() -> None:
    """No sample of the motion lies within a standing that is a pose; a part of the motion takes its own poses along."""
    log = recording()
    samples = moving_samples(ARM, log)
    stands = stands_of(ARM, log, samples)
    assert stands is not None
    moving, poses = stands.beside(samples)
    assert isinstance(moving.samples, Samples) and isinstance(poses.samples, Samples)
    assert poses.poses and not moving.poses
    assert len(poses.samples) == 14
    within = (moving.samples.time[:, None] >= stands.spans[:, 0]) & (moving.samples.time[:, None] <= stands.spans[:, 1])
    assert not within.any()
    first = samples.time < samples.time[len(samples) // 2]
    part = stands.beside(samples[first])[1].samples
    assert isinstance(part, Samples)
    assert 5 <= len(part) <= 8
    assert np.all(part.time <= samples.time[first][-1])


def test_standings_at_one_pose_from_the_same_side_are_one() -> None:
    where = poses_drawn(7, 2)
    log = visits(TRUTH, np.concatenate([where, where, where]), friction=0.3, noise=0.05, both_sides=False)
    stands = stands_of(ARM, log, moving_samples(ARM, log))
    assert stands is not None
    assert len(stands.spans) == 21
    assert len(stands.poses) < 21


def test_what_a_recording_is_used_for() -> None:
    def kind(log: cp.Log, use: str = "auto", terms: Terms | None = None) -> str:
        return data_kind(log, use, terms, "weighted")[0]  # type: ignore[arg-type]

    log = recording()
    assert kind(log) == "both"
    assert kind(recording(0, 20.0)) == "static"  # it does nothing but stand
    assert kind(motion(TRUTH)) == "moving"
    assert [kind(log, use) for use in ("static", "rows", "moving")] == ["static", "rows", "moving"]
    assert kind(log, terms=Terms.static()) == "static"
    assert kind(log, terms=Terms.moving()) == "moving"
    assert data_kind(log, "auto", None, "iterative")[0] == "static"
    assert kind(replace(log, declared=Declared(time_from="rate", rate_source="guessed"))) == "static"


def test_where_the_motion_contradicts_the_poses_these_are_fitted_alone() -> None:
    """A hand that carries the arm from pose to pose: the drives hold it at rest, and do next to nothing on the way."""
    log = recording()
    speed = np.abs(np.gradient(log.q, log.time, axis=0)).max(axis=1)
    carried = np.where(speed[:, None] > 0.02, 0.3 * log.tau, log.tau)
    fit = cp.calibrate(ARM, replace(log, tau=carried), findings=())
    assert fit.data.kind == "static"
    assert "poses alone are fitted" in fit.data.why
    missed = fit.robot.gravity(log.q) - TRUTH.gravity(log.q)
    assert np.all(np.sqrt(np.mean(missed**2, axis=0)) < fit.errors.gravity)


def test_verify_uses_both_as_the_calibration_did(tmp_path: Path) -> None:
    fit = load_calibration(calibrated("auto").save(tmp_path / "arm.calibration.json"), ARM)
    assert fit.data.kind == "both"
    found = verify(fit, recording(1))
    assert found.holds, found.verdict.reasons
    heavy = TRUTH.with_payload(1.5, com=(0.2, 0.0, 0.0))
    tool = visits(heavy, poses_drawn(14, 4), friction=tuple(FRICTION), noise=0.3, both_sides=False, seed=4)
    assert any("kg more" in reason for reason in verify(fit, tool).verdict.reasons)
    only_poses = verify(fit, visits(TRUTH, poses_drawn(8, 6), friction=tuple(FRICTION), noise=0.3, dwell=30.0))
    assert only_poses.samples == 8  # means of both sides
    assert only_poses.holds, only_poses.verdict.reasons


def test_two_recordings_each_with_its_poses() -> None:
    both = cp.calibrate(ARM, recording(), also=[recording(1)], findings=())
    assert both.data.kind == "both"
    assert both.data.why.startswith("28 poses at rest and the motion")
    assert np.all(both.errors.gravity < 1.05 * calibrated("auto").errors.gravity)


def test_poses_without_their_motion_before_them_are_refused() -> None:
    moving, poses = exact_runs()
    with pytest.raises(InputError, match="follow the run of the motion"):
        weighted_fit(ARM, [poses, moving])


def test_pairs_add_to_single_poses() -> None:
    """One accidental pair among many poses: all of them count, and the pair tells friction besides."""
    random = np.random.default_rng(0)
    q = poses_drawn(16, 7)
    q = np.concatenate([q, q[:1]])
    side = random.choice([-1, 1], (17, ARM.n))
    side[16] = -side[0]
    tau = TRUTH.gravity(q) + FRICTION * side + 0.05 * random.standard_normal(q.shape)
    pair = np.where(np.isin(np.arange(17), (0, 16)), 0, -1)
    poses = StaticPoses(ARM.joint_names, q, tau, np.full(q.shape, np.nan), side, pair)
    fit = cp.calibrate(ARM, poses)
    assert fit.data.samples == 17
    np.testing.assert_allclose(fit.errors.friction_band, FRICTION, atol=0.15)
    single = StaticPoses(ARM.joint_names, q[1:16], tau[1:16], np.full((15, ARM.n), np.nan), side[1:16], pair[1:16])
    without = cp.calibrate(ARM, single)
    assert np.all(fit.errors.gravity <= 1.05 * without.errors.gravity)


def test_offsets_have_a_prior_at_rest() -> None:
    """Where gravity hardly changes, an offset could take its place; it stays of a usual size, and the prior decides."""
    random = np.random.default_rng(3)
    q = np.array([0.4, -0.3, 0.5]) + 0.1 * random.uniform(-1.0, 1.0, (10, ARM.n))
    tau = ARM.gravity(q) + 0.3 * random.standard_normal(q.shape)
    fit = cp.calibrate(ARM, static_poses(ARM.joint_names, q, tau))
    assert np.all(np.abs(fit.offset) < 0.15 * np.sqrt(np.mean(tau**2, axis=0)))
    assert np.all(np.abs(fit.robot.gravity(q) - ARM.gravity(q)).mean(axis=0) <= fit.errors.gravity)


def test_a_few_poses_are_fitted_beside_a_motion() -> None:
    """Three are too few by themselves, and tell what friction is at rest."""
    log = visits(TRUTH, poses_drawn(3), friction=tuple(FRICTION), noise=0.3, both_sides=False, dwell=3.0)
    kind, why = data_kind(log, "auto", None, "weighted")
    assert kind == "both" and "4 different poses" in why  # where it began is one of them
    fit = cp.calibrate(ARM, log, findings=())
    assert fit.data.kind == "both" and "poses at rest and the motion" in fit.data.why


def test_an_actuator_has_a_side_where_the_joints_that_it_moves_agree() -> None:
    """θ̇₂ = q̇₁ − q̇₂: the second actuator came upwards where joint 1 did or joint 2 came downwards, and none objects."""
    coupling = np.array([[1.0, 0.0], [1.0, -1.0]])
    side = np.array([[1, 1], [1, -1], [-1, 1], [0, 0], [1, 0], [0, 1], [-1, -1]])
    found = _of_actuators(coupling, side)
    assert found.tolist() == [[1, 0], [1, 1], [-1, -1], [0, 0], [1, 1], [0, -1], [-1, 0]]
