"""The whole robot's centre of mass: Jacobian against Pinocchio, and the true one with its uncertainty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification import workspace_poses
from counterpoise.sensing.center_of_mass import center_of_mass_jacobian, estimated_center
from library.calibration_data import other_masses, visits
from library.random_robots import random_motion, random_robot


@pytest.mark.parametrize("name", ["planar3", "wam7", "dualarm19", "scara"])
def test_centre_and_jacobian_against_pinocchio(name: str) -> None:
    """p_com and J_com of the moving bodies are Pinocchio's; ours counts the base link as well."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from library.twin_pinocchio import pinocchio_twin

    robot = cp.load(name)
    twin = pinocchio_twin(robot.description, np.eye(3), robot.gravity_world)
    moving = float(robot.tree.mass.sum())
    for q in random_motion(robot, 0, 5)[0]:
        theirs = pin.jacobianCenterOfMass(twin.model, twin.data, twin._configuration(q)) @ twin.E
        np.testing.assert_allclose(center_of_mass_jacobian(robot, q), theirs * moving / robot.total_mass, atol=1e-12)
        np.testing.assert_allclose(robot.center_of_mass(q), twin.center_of_mass(q), atol=1e-12)


def test_jacobian_is_the_derivative_and_gives_gravity() -> None:
    """J is ∂p_com/∂q, and g = −M Jᵀ g_base, for random trees with every kind of joint; batched as single."""
    for seed in range(200, 215):
        robot = random_robot(seed, joints=6).robot()
        q = random_motion(robot, seed, 3)[0]
        J = center_of_mass_jacobian(robot, q)
        assert J.shape == (3, 3, robot.n)
        np.testing.assert_array_equal(center_of_mass_jacobian(robot, q[1]), J[1])
        step = 1e-6 * np.eye(robot.n)
        for pose, columns in zip(q, J, strict=True):
            difference = (robot.center_of_mass(pose + step) - robot.center_of_mass(pose - step)).T / 2e-6
            np.testing.assert_allclose(columns, difference, atol=1e-7)
        torques = -robot.total_mass * np.einsum("kcn,c->kn", J, robot.gravity_base)
        np.testing.assert_allclose(torques, robot.gravity(q), atol=1e-9 * max(1.0, np.abs(torques).max()))


def learned(robot: cp.Robot, truth: cp.Robot) -> cp.OnlineGravity:
    est = cp.OnlineGravity(robot, 0.01)
    log = visits(truth, workspace_poses(robot, 12, seed=1, margin=0.2))
    for q, tau in zip(log.q, log.tau, strict=True):
        est.update(q, np.zeros(robot.n), tau)
    return est


def test_the_true_centre_is_found_where_torques_determine_it() -> None:
    """On an arm on its side every coordinate is; the truth lies within a few standard deviations, nearer than CAD."""
    robot = cp.load("wam7").mounted(rpy=(0.4, 1.0, 0.0))
    better, worst = [], 0.0
    for seed in range(6):
        truth = other_masses(robot, seed=seed, size=0.1)
        est = learned(robot, truth)
        for q in workspace_poses(robot, 5, seed=seed + 20):
            found = est.center_of_mass(q, total_mass=truth.total_mass, total_mass_std=0.01)
            error = np.abs(found.position - truth.center_of_mass(q))
            worst = max(worst, float((error / found.std).max()))
            better.append(np.linalg.norm(error) / np.linalg.norm(found.described - truth.center_of_mass(q)))
    assert np.median(better) < 0.5
    assert worst < 4.0


def test_says_what_it_does_not_know() -> None:
    """Upright, the base link and what turns about the vertical are the description's: less is determined."""
    robot = cp.load("dualarm19")
    q = np.zeros(19)
    est = cp.OnlineGravity(robot, 0.01)
    before = est.center_of_mass(q)
    assert not before.determined.any()
    np.testing.assert_allclose(before.position, robot.center_of_mass(q), atol=1e-9)
    np.testing.assert_allclose(before.std, before.described_std, rtol=0.05)
    after = learned(robot, robot).center_of_mass(q)
    assert np.all(after.std <= before.std * (1.0 + 1e-9))
    assert after.total_mass == pytest.approx(robot.total_mass, rel=0.05)


def test_a_weighed_robot_knows_its_mass() -> None:
    robot = cp.load("wam7")
    covariance = np.eye(len(robot.base_gravity_parameters)) * 1e-8
    found = estimated_center(
        robot, np.zeros(7), np.array(robot.base_gravity_parameters), covariance, total_mass=22.0, total_mass_std=0.01
    )
    assert found.total_mass == pytest.approx(22.0, abs=0.02)
    assert found.total_mass_std == pytest.approx(0.01, rel=0.05)


def test_bad_arguments_are_refused() -> None:
    est = cp.OnlineGravity(cp.load("planar3"))
    with pytest.raises(cp.InputError, match="one pose"):
        est.center_of_mass(np.zeros((2, 3)))
    with pytest.raises(cp.InputError, match="total_mass"):
        est.center_of_mass(np.zeros(3), total_mass=-1.0)


def test_the_centre_of_an_arm_without_any_mass_does_not_move() -> None:
    """No 0/0: the Jacobian is zero, as the centre stays at the base."""
    robot = cp.load("planar3")
    links = tuple(replace(link, inertia=None) for link in robot.description.links)
    bare = cp.Robot(replace(robot.description, links=links))
    q = np.array([[0.3, 0.2, -0.1], [0.0, 0.0, 0.0]])
    assert not center_of_mass_jacobian(bare, q).any() and not bare.center_of_mass(q).any()
