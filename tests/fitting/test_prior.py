"""The prior: physical, independent of frames, and honest about what a description cannot say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import Inertia
from counterpoise.fitting import (
    CadPrior,
    EffortModel,
    Scales,
    Terms,
    arm_reach,
    parameter_covariance,
    prior_of,
    whole_covariance,
)
from counterpoise.fitting.prior import COM_SHARE, MASS_SHARE, TOOL_MASS_SHARE, body_covariance
from counterpoise.fitting.terms.gain import GAIN_SHARE
from counterpoise.sensing import Uncertainty, described_covariance, parameter_root

ROBOT = cp.load("wam7")


def test_masses_and_moments_have_the_stated_deviations() -> None:
    """A body in the middle of the chain: 10 % of its mass, 2 % of the reach for its centre of mass."""
    spread = body_covariance(ROBOT)
    mass, reach = ROBOT.tree.mass[1], arm_reach(ROBOT)
    assert np.sqrt(spread[1, 0, 0]) == pytest.approx(MASS_SHARE * mass)
    moment = ROBOT.inertial_parameters[10:].reshape(-1, 10)[1, 1:4]
    expected = np.hypot(MASS_SHARE * moment, mass * COM_SHARE * reach)
    assert np.sqrt(np.diag(spread[1])[1:4]) == pytest.approx(expected)


def test_the_last_body_may_carry_an_unknown_tool() -> None:
    """Its mass is uncertain by a share of all that moves, not of its own 70 g."""
    spread = body_covariance(ROBOT)
    moving = ROBOT.tree.mass.sum()
    assert np.sqrt(spread[-1, 0, 0]) >= TOOL_MASS_SHARE * moving
    assert np.sqrt(spread[-2, 0, 0]) < 0.2 * TOOL_MASS_SHARE * moving


def test_a_density_error_is_likely_whatever_its_size_in_the_joints_frame() -> None:
    """All ten parameters 10 % up is one standard deviation, also for a link that lies far from its joint's frame."""
    for body in (0, 1, 3):
        change = MASS_SHARE * ROBOT.inertial_parameters[10:].reshape(-1, 10)[body]
        distance = change @ np.linalg.solve(body_covariance(ROBOT)[body], change)
        assert distance <= 1.0 + 1e-6


def test_bodies_without_masses_stay_uncertain_and_a_robot_without_any_is_refused() -> None:
    emptied = [
        replace(link, inertia=None if place == 3 else link.inertia)
        for place, link in enumerate(ROBOT.description.links)
    ]
    spread = body_covariance(cp.Robot(replace(ROBOT.description, links=tuple(emptied))))
    assert np.all(np.linalg.eigvalsh(spread) > 0.0)
    nothing = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    bare = [replace(link, inertia=nothing) for link in ROBOT.description.links]
    with pytest.raises(cp.InputError, match="has no masses"):
        body_covariance(cp.Robot(replace(ROBOT.description, links=tuple(bare))))


def test_weight_is_trust_in_the_description_only() -> None:
    """Four times as strong: bodies half as wide, friction and the unknown tool as before."""
    columns = EffortModel(ROBOT, Terms(coulomb=("all",), rotor=("all",)), np.ones(7, dtype=bool), np.eye(7))
    scales = Scales(*(np.ones(7) for _ in range(4)))
    weak, strong = (prior_of(columns, weight, scales, columns.start()).root for weight in (1.0, 4.0))
    bodies = columns.groups["bodies"]
    assert np.allclose(strong[:, : bodies.stop - 10], 2.0 * weak[:, : bodies.stop - 10])
    tool = TOOL_MASS_SHARE * ROBOT.tree.mass.sum()
    assert body_covariance(ROBOT, 1e9)[-1, 0, 0] == pytest.approx(tool**2)
    assert np.allclose(strong[:, bodies.stop :], weak[:, bodies.stop :])


def test_a_gain_stays_near_its_first_guess_where_nothing_shows_it() -> None:
    """The current of a joint that carries no weight is friction: without a prior its gain would be any number."""
    columns = EffortModel(ROBOT, Terms(gain=("all",)), np.ones(7, dtype=bool), np.eye(7))
    start = columns.start()
    start[columns.groups["gain"]] = np.linspace(0.1, 0.7, 7)
    root = prior_of(columns, 1.0, Scales(*(np.ones(7) for _ in range(4))), start).root
    precision = (root.T @ root)[columns.groups["gain"], columns.groups["gain"]]
    np.testing.assert_allclose(np.diag(precision), 1.0 / (GAIN_SHARE * np.linspace(0.1, 0.7, 7)) ** 2)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan")])
def test_a_weight_that_means_nothing_is_refused(weight: float) -> None:
    with pytest.raises(cp.InputError, match="weight"):
        CadPrior(weight)


@pytest.mark.parametrize("name", ["puma560", "wam7", "titan2"])
def test_cad_means_one_thing(name: str) -> None:
    """Fits, on-line gravity, plates, their calibration and the centre of mass spread masses and centres alike."""
    robot = cp.load(name)
    at = np.arange(10 * robot.tree.bodies).reshape(-1, 10)[:, :4].ravel()
    own = parameter_covariance(robot, tool=False)
    root = parameter_root(robot, "cad")
    plate = Uncertainty.checked(robot).gravity[4:, 4:]
    G = robot.base_parameters.regrouping
    np.testing.assert_allclose((root @ root.T)[np.ix_(at, at)], own, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plate, own, rtol=1e-12)
    np.testing.assert_allclose(whole_covariance(robot)[4:, 4:], parameter_covariance(robot), rtol=1e-12)
    np.testing.assert_allclose(described_covariance(robot), G @ parameter_covariance(robot) @ G.T, rtol=1e-12)
    heavy = int(np.argmax(robot.tree.mass))
    mass = np.sqrt(own[4 * heavy, 4 * heavy]) / robot.tree.mass[heavy]
    assert mass == pytest.approx(0.1)
    assert COM_SHARE == 0.02
