"""The speed over which friction changes its sign is found where the data show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Samples, with_inertial_parameters
from counterpoise.identification import friction_speed
from counterpoise.identification.friction_speed import LEAST_SAMPLES, likeliest_speeds
from counterpoise.identification.moving import SPEED_FACTORS, prepare
from library.doctor_cases import differing_model

ARM = cp.load("wam4")
LEAST = 0.02


def swinging(robot: cp.Robot, v0: np.ndarray, *, seed: int = 0) -> Samples:
    """Return samples of joints that swing, with friction that changes its sign over v0."""
    random = np.random.default_rng(seed)
    time = np.arange(0.0, 40.0, 0.02)
    rate, phase = random.uniform(0.5, 1.5, robot.n), random.uniform(0.0, 6.0, robot.n)
    angle = rate * time[:, None] + phase
    q, dq, ddq = 0.6 * np.sin(angle), 0.6 * rate * np.cos(angle), -0.6 * rate**2 * np.sin(angle)
    rigid = robot.inverse_dynamics(q, dq, ddq)
    friction = 0.2 * np.std(rigid, axis=0).max() * np.tanh(dq / v0)
    tau = rigid + friction + 0.3 * dq + 0.01 * np.std(rigid, axis=0).max() * random.standard_normal(q.shape)
    return Samples(robot.joint_names, time, q, dq, ddq, tau, np.full(robot.n, LEAST))


def chosen(robot: cp.Robot, samples: Samples, *, torques: bool = True) -> list[float]:
    directions = [np.tanh(samples.dq / (factor * LEAST)) for factor in SPEED_FACTORS]
    found = likeliest_speeds(robot, samples, directions, together=4.0, torques=torques)
    return [SPEED_FACTORS[index] for index in found]


@pytest.mark.parametrize("factors", [(1.0, 1.0, 1.0, 1.0), (4.0, 1.0, 2.5, 1.6), (2.5, 4.0, 4.0, 4.0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_true_speed_is_chosen_with_a_wrong_description(factors: tuple[float, ...], seed: int) -> None:
    samples = swinging(ARM, LEAST * np.array(factors), seed=seed)
    assert chosen(differing_model(ARM, seed), samples) == list(factors)


def test_efforts_in_a_unit_of_their_own_tell_it_too() -> None:
    factors = [4.0, 1.0, 2.5, 1.6]
    samples = swinging(ARM, LEAST * np.array(factors))
    currents = replace(samples, tau=samples.tau / [0.01, 30.0, 7.0, 100.0])
    assert chosen(ARM, currents, torques=False) == factors


def test_coupled_motors_have_speeds_of_their_own() -> None:
    """Friction of the third motor acts on two joints, and changes its sign with the motor's speed."""
    coupling = np.eye(4)
    coupling[2, 3] = 1.0
    samples = swinging(ARM, np.full(4, LEAST))
    motors = samples.dq @ coupling.T
    factors = np.array([1.0, 1.0, 4.0, 1.0])
    band = 0.3 * np.std(samples.tau, axis=0).max()
    tau = (
        ARM.inverse_dynamics(samples.q, samples.dq, samples.ddq) + band * np.tanh(motors / (LEAST * factors)) @ coupling
    )
    tau = tau + 0.01 * band * np.random.default_rng(1).standard_normal(tau.shape)
    samples = replace(samples, tau=tau, motor_per_link=coupling)
    directions = [np.tanh(motors / (factor * LEAST)) for factor in SPEED_FACTORS]
    found = likeliest_speeds(ARM, samples, directions, together=4.0, torques=True)
    assert [SPEED_FACTORS[index] for index in found][2] == 4.0


def test_few_samples_and_descriptions_without_masses_keep_the_least() -> None:
    samples = swinging(ARM, np.full(4, 4.0 * LEAST))
    assert chosen(ARM, samples[: LEAST_SAMPLES - 1]) == [1.0] * 4
    links = tuple(replace(link, inertia=None) for link in ARM.description.links)
    bare = cp.Robot(replace(ARM.description, links=links), allow_unphysical=True)
    assert chosen(bare, samples) == [1.0] * 4


def test_joints_without_effort_keep_the_least() -> None:
    samples = swinging(ARM, np.full(4, 4.0 * LEAST))
    tau = samples.tau.copy()
    tau[:, 1] = np.nan
    tau[:, 2] = 0.0
    assert chosen(ARM, replace(samples, tau=tau)) == [4.0, 1.0, 1.0, 4.0]


def test_a_recording_is_prepared_with_it() -> None:
    """Friction over a speed that is four times the least one raises v0, sharp friction does not."""
    soft, sharp = (_log(ARM, factor) for factor in (4.0, 1e-3))
    least = prepare(ARM, sharp).v0
    assert np.all(prepare(ARM, soft).v0 >= 1.5 * least)


def _log(robot: cp.Robot, factor: float) -> cp.Log:
    samples = swinging(robot, np.full(robot.n, factor * 0.03 * 0.6))
    return cp.Log(robot.joint_names, samples.time, samples.q, samples.dq, samples.tau)


def test_exact_data_with_columns_that_depend_on_each_other_have_a_residual() -> None:
    """The normal matrix is singular to the last digit, and the noise next to nothing: no solver may end in an error."""
    column = 1e4 * np.sin(np.arange(200.0))
    left = friction_speed._residual(np.column_stack([column, column, 0.0 * column]), 1e-4 * column, 4.0)
    assert 0.0 < left < 1e-9 * float(np.var(1e-4 * column))


@pytest.mark.parametrize("light", [1e-2, 1e-4])
def test_a_description_in_another_unit_tells_it_too(light: float) -> None:
    """All masses too small by one factor are as good, where efforts have a unit of their own."""
    factors = [4.0, 1.0, 2.5, 1.6]
    samples = swinging(ARM, LEAST * np.array(factors))
    model = with_inertial_parameters(ARM, light * ARM.inertial_parameters[10:])
    assert chosen(model, samples, torques=False) == factors
