"""Robots with fitted masses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import unphysical_links, with_gravity_parameters, with_inertial_parameters
from counterpoise.fitting.fitted_robot import FARTHEST_COM, arm_reach, completed_gravity_parameters

ARMS = ("wam7", "puma560", "dualarm19", "gantry", "scara", "titan2")


@pytest.mark.parametrize("name", ARMS)
def test_gravity_is_exactly_the_fits(name: str) -> None:
    """Base parameters far from the description's: torques follow them, inertias stay possible, nothing is lost."""
    robot = cp.load(name)
    random = np.random.default_rng(0)
    values = robot.base_parameters.regrouping @ robot.gravity_parameters
    values = values * (1.0 + 0.3 * random.standard_normal(len(values))) + 0.1 * random.standard_normal(len(values))
    found = with_gravity_parameters(robot, values)
    q = random.uniform(-1.5, 1.5, (20, robot.n))
    np.testing.assert_allclose(found.gravity(q), robot.base_gravity_regressor(q) @ values, atol=1e-11)
    assert found.link_names == robot.link_names
    assert unphysical_links(found) == unphysical_links(robot)


@pytest.mark.parametrize("name", ARMS)
def test_inertial_parameters_come_out_as_they_went_in(name: str) -> None:
    robot = cp.load(name)
    random = np.random.default_rng(1)
    parameters = robot.inertial_parameters[10:] * (1.0 + 0.2 * random.standard_normal(10 * robot.tree.bodies))
    found = with_inertial_parameters(robot, parameters, allow_unphysical=True)
    np.testing.assert_allclose(found.inertial_parameters[10:], parameters, atol=1e-12)
    np.testing.assert_array_equal(found.inertial_parameters[:10], robot.inertial_parameters[:10])


def test_a_payload_stays_a_payload() -> None:
    """Parameters include the load; taking it off leaves the arm without it, exactly."""
    robot = cp.load("wam4").with_payload(1.5, com=(0.0, 0.05, 0.1))
    bare = robot.without_payload()
    parameters = robot.inertial_parameters[10:] * 1.1
    found = with_inertial_parameters(robot, parameters)
    load = robot.inertial_parameters[10:] - bare.inertial_parameters[10:]
    np.testing.assert_allclose(found.without_payload().inertial_parameters[10:], parameters - load, atol=1e-12)


def test_a_calibrated_robot_can_be_mounted_and_sent_elsewhere() -> None:
    robot = cp.load("wam4")
    found = with_inertial_parameters(robot, robot.inertial_parameters[10:] * 1.2)
    turned = pickle.loads(pickle.dumps(found.mounted(rpy=(0.3, 0.2, 0.0))))
    q = np.full(4, 0.4)
    np.testing.assert_allclose(turned.gravity(q), 1.2 * robot.mounted(rpy=(0.3, 0.2, 0.0)).gravity(q), rtol=1e-12)


def test_a_robot_that_refuses_its_inertias_goes_on_refusing_unless_they_are_allowed() -> None:
    """A robot that computed goes on computing; one whose description no real body has needs the word again."""
    robot, q = cp.load("wam4"), np.full(4, 0.3)
    parameters = robot.inertial_parameters[10:].copy()
    parameters[4:10] = 0.0  # a mass away from its joint without any inertia about it
    computes = with_inertial_parameters(robot, parameters)
    assert np.isfinite(computes.mass_matrix(q)).all()
    refuses = cp.Robot(computes.description)
    for given in (refuses, with_inertial_parameters(refuses, parameters)):
        with pytest.raises(cp.errors.PhysicalConsistencyError):
            given.mass_matrix(q)
    allowed = with_inertial_parameters(refuses, parameters, allow_unphysical=True)
    np.testing.assert_allclose(allowed.mass_matrix(q), computes.mass_matrix(q), atol=1e-12)


def test_inertias_that_no_body_has_are_named() -> None:
    robot = cp.load("wam4")
    parameters = robot.inertial_parameters[10:].copy()
    parameters[10 + 4] = -1.0
    found = with_inertial_parameters(robot, parameters, allow_unphysical=True)
    assert unphysical_links(found) == ("link2",)


@pytest.mark.parametrize("values", [np.zeros(3), np.full(40, np.nan)])
def test_bad_parameters_are_refused(values: np.ndarray) -> None:
    with pytest.raises(cp.InputError):
        with_inertial_parameters(cp.load("wam4"), values)


@pytest.mark.parametrize("name", (*ARMS, "pendulum", "planar3"))
@pytest.mark.parametrize("size", [0.1, 10.0, 1000.0])
def test_no_body_is_too_light_for_its_first_moment(name: str, size: float) -> None:
    """However large the base values: masses that are not themselves fitted are raised until centres lie on the arm."""
    robot = cp.load(name)
    base = robot.base_parameters
    values = size * np.random.default_rng(2).standard_normal(len(base.columns))
    found = completed_gravity_parameters(robot, values)
    np.testing.assert_allclose(base.regrouping @ found, values, rtol=1e-9, atol=1e-9 * size)
    masses, moments = found[0::4], np.linalg.norm(found.reshape(-1, 4)[:, 1:], axis=1)
    free = ~np.isin(4 * np.arange(len(masses)), base.columns)
    assert np.all(moments[free] <= 1.0011 * FARTHEST_COM * (arm_reach(robot) or 1.0) * masses[free] + 1e-12)
