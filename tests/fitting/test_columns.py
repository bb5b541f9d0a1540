"""Rows of the model: they predict what the model says, and are its derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import EffortModel, Samples, Terms, tilt_axes
from counterpoise.foundation import rotation_from_vector
from library.random_robots import random_robot
from library.simulated_motion import motion

EVERYTHING = Terms(
    offset=("all",),
    coulomb=("all",),
    viscous=("all",),
    rotor=("all",),
    gain=("all",),
    zero=("all",),
    tilt=True,
)


def samples_of(robot: cp.Robot, seed: int = 0, coupling: np.ndarray | None = None) -> Samples:
    time, q, dq, ddq = (rows[::40] for rows in motion(robot, seed))
    tau = np.random.default_rng(seed).normal(size=q.shape)
    return Samples(robot.joint_names, time, q, dq, ddq, tau, np.full(robot.n, 0.05), motor_per_link=coupling)


def columns_of(robot: cp.Robot, terms: Terms, coupling: np.ndarray | None = None) -> EffortModel:
    made = samples_of(robot, coupling=coupling)
    return EffortModel(robot, terms, made.active, made.actuator_per_link)


@pytest.mark.parametrize("bodies", ["gravity", "full"])
def test_the_cad_values_predict_the_robots_own_torques(bodies: str) -> None:
    """Without friction, the start of a fit is the description itself."""
    robot = cp.load("wam7")
    samples = samples_of(robot)
    still = replace(samples, dq=0.0 * samples.dq, ddq=0.0 * samples.ddq)
    made = still if bodies == "gravity" else samples
    columns = columns_of(robot, Terms(bodies=bodies))  # type: ignore[arg-type]
    expected = robot.inverse_dynamics(made.q, made.dq, made.ddq)
    assert np.allclose(columns.predict(made, columns.start()), expected, atol=1e-9)
    A, y = columns.rows(made, columns.start())
    assert np.allclose(A @ columns.start(), expected, atol=1e-9)
    assert np.array_equal(y, made.tau)


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_the_derivatives_of_the_prediction(seed: int) -> None:
    """For every unknown, on random trees with linear and mimic joints, coupled drives, gain, zero and tilt."""
    robot = random_robot(seed, joints=5, loads=False).robot()
    rng = np.random.default_rng(seed)
    coupling = np.eye(robot.n) + 0.3 * np.triu(rng.normal(size=(robot.n, robot.n)), 1)
    samples = samples_of(robot, seed, coupling)
    columns = EffortModel(robot, EVERYTHING, samples.active, samples.actuator_per_link)
    x = columns.start() + 0.1 * rng.normal(size=len(columns.names))
    A, y = columns.rows(samples, x)
    scale = np.abs(columns.predict(samples, x)).max() + 1.0
    assert np.allclose(y - A @ x, samples.tau - columns.predict(samples, x), atol=1e-8 * scale)
    for column in range(len(x)):
        step = 1e-4 * np.eye(len(x))[column]
        slope = (columns.predict(samples, x + step) - columns.predict(samples, x - step)) / 2e-4
        assert np.allclose(A[:, :, column], slope, atol=1e-5 * scale), columns.names[column]


def test_springs_and_counterbalances_act_on_their_own_joint() -> None:
    robot = cp.load("wam4")
    name = robot.joint_names[1]
    columns = columns_of(robot, Terms(spring=(name,), counterbalance=(name,)))
    samples = samples_of(robot)
    x = columns.start()
    plain = columns.predict(samples, x)
    for key, value in ((f"{name}.spring", 3.0), (f"{name}.cosine", 5.0), (f"{name}.sine", -2.0)):
        x[columns.names.index(key)] = value
    added = columns.predict(samples, x) - plain
    expected = 3.0 * samples.q[:, 1] + 5.0 * np.cos(samples.q[:, 1]) - 2.0 * np.sin(samples.q[:, 1])
    assert np.allclose(added[:, 1], expected)
    assert np.allclose(np.delete(added, 1, axis=1), 0.0)


def test_friction_of_a_coupled_drive_is_felt_by_every_joint_it_moves() -> None:
    """The TX40's wrist: motor 6 turns with joints 5 and 6, and its friction loads both, power preserving."""
    robot = cp.load("puma560")
    G = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    G[5, 4] = 32.0
    samples = samples_of(robot, 1, G)
    columns = EffortModel(robot, Terms(coulomb=("all",)), samples.active, samples.actuator_per_link)
    x = np.zeros(len(columns.names))
    x[columns.names.index(f"{robot.joint_names[5]}.coulomb")] = 2.0
    torque = columns.predict(samples, x)
    motor = samples.dq[:, 4] + samples.dq[:, 5]
    friction = 2.0 * np.tanh(motor / 0.05)
    assert np.allclose(torque[:, 4], friction) and np.allclose(torque[:, 5], friction)
    assert np.allclose(np.sum(torque * samples.dq, axis=1), friction * motor)
    assert np.all(np.sum(torque * samples.dq, axis=1) >= 0.0)


def test_tilt_is_that_of_a_mounted_robot() -> None:
    """A base that leans by a small rotation predicts what a robot mounted so does."""
    robot = cp.load("wam7").mounted(rpy=(0.3, -0.2, 0.5))
    columns = columns_of(robot, Terms(bodies="gravity", tilt=True))
    samples = samples_of(robot)
    still = replace(samples, dq=0.0 * samples.dq, ddq=0.0 * samples.ddq)
    x = columns.start()
    x[columns.groups["tilt"]] = (0.05, -0.03)
    first, second = tilt_axes(robot)
    turn = rotation_from_vector(0.05 * first - 0.03 * second)
    leaning = robot.mounted(rotation=robot.mount @ turn)
    assert np.allclose(columns.predict(still, x), leaning.gravity(still.q), atol=1e-9)


def test_only_bodies_that_a_measured_joint_carries_are_unknowns() -> None:
    robot = cp.load("dualarm19")
    samples = samples_of(robot)
    active = np.zeros(robot.n, dtype=bool)
    active[[4, 5]] = True
    columns = EffortModel(robot, Terms(), active, samples.actuator_per_link)
    A, _ = columns.rows(samples, columns.start())
    assert A.shape[1] == 2 and len(columns.names) < 10 * robot.tree.bodies
    assert np.all(np.abs(A).max(axis=(0, 1)).reshape(-1, 10).max(axis=1) > 0.0)


def test_terms_for_joints_without_effort_or_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(cp.InputError, match="no measured effort"):
        _ = columns_of(cp.load("wam4"), Terms(coulomb=("nobody",))).names
    gantry = cp.load("gantry")
    with pytest.raises(cp.InputError, match="linear joint"):
        columns_of(gantry, Terms(counterbalance=(gantry.joint_names[0],)))
    with pytest.raises(cp.InputError, match="tuple of joint names"):
        Terms(coulomb="all")  # type: ignore[arg-type]
    with pytest.raises(cp.InputError, match="'gravity' or 'full'"):
        Terms(bodies="some")  # type: ignore[arg-type]
