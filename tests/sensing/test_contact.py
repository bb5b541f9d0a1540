"""External torques: observed from the momentum, turned into a tip wrench and a touched link."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import CoulombViscous
from counterpoise.foundation import frozen
from counterpoise.recording import SampleFlag
from counterpoise.sensing.contact import FORCE_PRIOR, MOMENT_PRIOR, tip_wrench, touched_link
from counterpoise.sensing.momentum_observer import ExternalTorque, MomentumObserver
from counterpoise.sensing.payload_statistics import places_of
from library.random_robots import random_robot

WAM = cp.load("wam7")
PLACES = places_of(WAM)
DT = 1e-3
STD = np.array([0.3, 0.4, 0.25, 0.2, 0.06, 0.06, 0.02])


def motion(time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A smooth motion of all joints: position, velocity, acceleration."""
    phase = 2.0 * time + np.arange(7)
    middle = np.array([0.0, -0.8, 0.0, 1.6, 0.0, 0.3, 0.0])
    return middle + 0.4 * np.sin(phase), 0.8 * np.cos(phase), -1.6 * np.sin(phase)


def test_observer_follows_a_push_during_a_fast_motion() -> None:
    """Exact model: nothing before the push, the push's Jᵀw after a few time constants, with the right sign."""
    law = CoulombViscous(STD, 0.1 * STD)
    observer = MomentumObserver(WAM, DT, bandwidth=50.0, friction=law, friction_band=STD)
    push = np.array([10.0, -5.0, 20.0, 0.0, 0.0, 0.0])
    for tick in range(1500):
        q, dq, ddq = motion(tick * DT)
        external = WAM.wrench_torque(q, push, at="toolplate") if tick >= 700 else np.zeros(7)
        drive = WAM.inverse_dynamics(q, dq, ddq) + WAM.rotor_inertia * ddq + law.torque(dq) - external
        found = observer.update(q, dq, drive)
        if tick == 690:
            assert np.abs(found.value).max() < 0.4
        if tick == 1400:
            moving = np.abs(dq) > 0.1
            np.testing.assert_allclose(found.value[moving], external[moving], atol=0.8)
            assert found.touched
    assert np.corrcoef(found.value, external)[0, 1] > 0.98


def test_at_rest_friction_band_is_the_deviation() -> None:
    """A joint at rest may hide its whole band; one that moves only a share of it."""
    observer = MomentumObserver(WAM, DT, friction_band=STD)
    q = motion(0.0)[0]
    resting = observer.update(q, np.zeros(7), WAM.gravity(q))
    np.testing.assert_allclose(resting.std, STD)
    moving = observer.update(q, np.full(7, 0.5), WAM.gravity(q))
    assert np.all(moving.std < 0.3 * STD)


def test_bad_samples_are_bridged() -> None:
    """NaN, huge and flagged samples leave the estimate and do not enter the integral."""
    observer = MomentumObserver(WAM, DT, friction_band=STD)
    q = motion(0.0)[0]
    still = np.zeros(7)
    for _ in range(200):
        observer.update(q, still, WAM.gravity(q) + 1.0)
    before = observer.external.value
    np.testing.assert_allclose(before, -1.0, atol=0.05)
    for bad, flags in ((np.full(7, np.nan), 0), (np.full(7, 1e300), 0), (np.full(7, 50.0), SampleFlag.TAU_INVALID)):
        found = observer.update(q, still, bad, SampleFlag(flags))
        assert not found.valid
        np.testing.assert_array_equal(found.value, before)
    np.testing.assert_allclose(observer.update(q, still, WAM.gravity(q) + 1.0).value, before, atol=1e-9)
    with pytest.raises(cp.InputError, match="tau"):
        observer.update(q, still, [1.0])


def test_observer_stays_bounded_under_random_input() -> None:
    """20,000 random samples, bad ones among them: finite and bounded."""
    random = np.random.default_rng(0)
    observer = MomentumObserver(WAM, DT, friction_band=STD)
    for _ in range(20_000):
        tau = random.normal(size=7) * 10.0 ** random.uniform(-3, 8)
        found = observer.update(random.uniform(-3, 3, 7), random.normal(size=7) * 10, tau)
    assert np.isfinite(found.value).all() and np.abs(found.value).max() <= 1e6


def test_a_glitch_of_the_velocity_is_over_soon() -> None:
    """One absurd velocity within the accepted range leaves nothing after some time constants; a free arm is free."""
    observer = MomentumObserver(WAM, DT)
    q, still = motion(0.0)[0], np.zeros(7)
    assert np.all(observer.external.std > 0.0)
    for tick in range(1500):
        found = observer.update(q, still if tick != 100 else np.full(7, 1e5), WAM.gravity(q))
    np.testing.assert_allclose(found.value, 0.0, atol=1e-3)
    assert not found.touched


def test_a_direction_hardly_felt_does_not_drown() -> None:
    """Near a singular pose, with torques known exactly, felt components are exact and the others have the prior's."""
    random = np.random.default_rng(4)
    prior = np.array([FORCE_PRIOR] * 3 + [MOMENT_PRIOR] * 3)
    for _ in range(20):
        q = np.zeros(7) + 1e-9 * random.normal(size=7)
        q[0] = random.uniform(-2.0, 2.0)
        J, wrench = WAM.jacobian(q, at="toolplate"), random.normal(size=6)
        found = tip_wrench(WAM, q, ExternalTorque(frozen(J.T @ wrench), frozen(np.zeros(7)), True), at="toolplate")
        np.testing.assert_allclose(J.T @ found.wrench, J.T @ wrench, atol=1e-6)
        assert np.linalg.eigvalsh(found.covariance / np.outer(prior, prior)).max() == pytest.approx(1.0, abs=0.01)


def external(q: np.ndarray, link: str, force: np.ndarray, random: np.random.Generator) -> ExternalTorque:
    value = WAM.wrench_torque(q, np.concatenate([force, np.zeros(3)]), at=link) + STD * random.normal(size=7)
    return ExternalTorque(frozen(value), frozen(STD), True)


def test_tip_wrench_lies_within_its_error_bars() -> None:
    """Over random poses and pushes the error is as large as stated, in the told components."""
    random = np.random.default_rng(2)
    z = []
    for _ in range(100):
        q = random.uniform(-1.0, 1.0, 7) + np.array([0, -0.8, 0, 1.6, 0, 0, 0])
        force = 20.0 * random.normal(size=3)
        found = tip_wrench(WAM, q, external(q, "toolplate", force, random), at="toolplate")
        error = found.wrench - np.concatenate([force, np.zeros(3)])
        z.append((error / found.std)[found.identifiable])
    z = np.concatenate(z)
    assert 0.75 < np.sqrt(np.mean(z**2)) < 1.25


def test_a_direction_that_is_not_felt_has_the_priors_deviation() -> None:
    """A planar arm does not feel forces across its plane: it says so instead of giving a number."""
    planar = cp.load("planar3")
    q, tau = np.array([0.3, 0.8, -0.5]), np.array([2.0, 1.0, 0.5])
    unfelt = np.all(np.abs(planar.jacobian(q)) < 1e-12, axis=1)
    assert unfelt.sum() == 3
    found = tip_wrench(planar, q, ExternalTorque(frozen(tau), frozen(np.full(3, 0.1)), True))
    prior = np.array([FORCE_PRIOR] * 3 + [MOMENT_PRIOR] * 3)
    np.testing.assert_allclose(found.std[unfelt], prior[unfelt])
    np.testing.assert_allclose(found.wrench[unfelt], 0.0, atol=1e-12)
    assert not found.identifiable[unfelt].any() and found.identifiable[~unfelt].all()


def test_touched_link_is_among_the_set_with_its_probability() -> None:
    """30 N on random links: the set holds the link in nine of ten cases; without a push nothing is claimed."""
    random = np.random.default_rng(3)
    inside, count = 0, 120
    for _ in range(count):
        q = random.uniform(-1.0, 1.0, 7) + np.array([0, -0.8, 0, 1.6, 0, 0, 0])
        place = int(random.integers(3, 8))
        direction = random.normal(size=3)
        point = PLACES.centre[place] + PLACES.radius[place] / np.sqrt(5.0) * random.normal(size=3)
        link = PLACES.links[place]
        arm = WAM.forward_kinematics(q, at=link)[:3, :3] @ PLACES.com_in_link(place, point)
        force = 30.0 * direction / np.linalg.norm(direction)
        wrench = np.concatenate([force, np.cross(arm, force)])
        value = WAM.wrench_torque(q, wrench, at=link) + STD * random.normal(size=7)
        found = touched_link(PLACES, q, ExternalTorque(frozen(value), frozen(STD), True))
        inside += link in found.link_set
    assert inside / count > 0.85
    quiet = touched_link(PLACES, q, ExternalTorque(frozen(0.5 * STD), frozen(STD), True))
    assert quiet.probability < 0.5


def test_observer_on_trees_with_linear_and_following_joints() -> None:
    """Random trees in motion, pushed on a leaf from the fifth of a second on: free before, Jᵀw after."""
    for seed in (300, 302, 307, 312):
        robot = random_robot(seed, joints=6).robot()
        random = np.random.default_rng(seed)
        size, rate = random.uniform(0.1, 0.3, robot.n), random.uniform(0.5, 2.0, robot.n)
        leaf, wrench = robot.tree.leaves[0], np.array([5.0, -3.0, 4.0, 0.5, 0.2, -0.3])
        observer = MomentumObserver(robot, DT, bandwidth=40.0, friction_band=0.01)
        before, push = np.zeros(robot.n), np.zeros(robot.n)
        for tick in range(500):
            phase = rate * tick * DT
            q, dq, ddq = size * np.sin(phase), size * rate * np.cos(phase), -size * rate**2 * np.sin(phase)
            push = robot.wrench_torque(q, wrench, at=leaf) * (tick > 200)
            tau = robot.inverse_dynamics(q, dq, ddq) + robot.rotor_inertia * ddq - push
            found = observer.update(q, dq, tau)
            before = found.value if tick == 200 else before
        assert np.abs(before).max() < 0.1
        np.testing.assert_allclose(found.value, push, atol=0.05 * np.abs(push).max() + 0.05)


def test_the_observer_is_no_faster_than_half_the_rate() -> None:
    """A time constant of two periods is the least: just as fast is taken, faster is refused."""
    MomentumObserver(WAM, DT, bandwidth=0.5 / DT)
    for bandwidth in (0.51 / DT, 1.0 / DT, 0.0):
        with pytest.raises(cp.InputError, match="at most half of 1/dt"):
            MomentumObserver(WAM, DT, bandwidth=bandwidth)
