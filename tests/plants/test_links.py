"""Rigid, frictionless, noiseless: the simulated arm obeys our own Newton–Euler equations, and keeps its energy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description import Description, Inertia, Joint, JointKind, Link, Mimic
from counterpoise.foundation import rotation_from_rpy, transform
from counterpoise.plants import ideal
from counterpoise.plants.config import ArmConfig, Encoder, Plate, Timing
from counterpoise.plants.simulated import SimulatedArm

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

Array = npt.NDArray[np.float64]
ARMS = ["puma560", "wam7", "titan2", "dualarm19", "scara", "gantry", "slider", "pendulum"]


def states(robot: cp.Robot, count: int) -> list[tuple[Array, Array]]:
    random = np.random.default_rng(7)
    lower, upper = np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0)
    return [(random.uniform(lower, upper), random.normal(size=robot.n)) for _ in range(count)]


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.4, 1.2, -0.3)], ids=["upright", "tilted"])
def test_accelerations_and_base_wrench_are_newton_eulers(name: str, rpy: tuple[float, float, float]) -> None:
    """At random states, with payload and mounting: M q̈ + C q̇ + g + J_r q̈ = τ and the plate's wrench, to 1e-9 relative.

    The PUMA's third link breaks the triangle inequality in print; its tensor arrives in the simulation as it is.
    """
    robot = cp.load(name).mounted(rpy=rpy)
    robot = robot.with_payload(1.3, com=(0.02, -0.05, 0.1), link=robot.link_names[-1])
    arm = SimulatedArm(robot, ideal())
    for q, dq in states(robot, 4):
        arm.reset(q, dq)
        truth = arm.truth()
        needed = robot.inverse_dynamics(truth.q, truth.dq, truth.ddq) + robot.rotor_inertia * truth.ddq
        assert np.abs(needed - truth.torque).max() <= 1e-9 * np.abs(truth.torque).max(initial=1.0)
        wrench = robot.base_wrench(truth.q, truth.dq, truth.ddq)
        assert np.abs(wrench - truth.wrench).max() <= 1e-9 * np.abs(wrench).max()


def test_readings_while_moving_are_newton_eulers() -> None:
    """Driven for half a second through the protocol, every reading of the plate is base_wrench of the true motion."""
    robot = cp.load("puma560")
    T_base_sensor = transform(rotation_from_rpy((0.0, 0.0, 0.7)), [0.1, -0.2, -0.6])
    arm = SimulatedArm(robot, ideal().replaced(plate=Plate(T_base_sensor=T_base_sensor, reads="on_sensor")))
    rotation, origin = T_base_sensor[:3, :3], T_base_sensor[:3, 3]
    with arm:
        hold = arm.read().tau
        for tick in range(500):
            arm.write(hold + np.array([3.0, 5.0, -2.0, 0.3, 0.2, 0.1]) * np.sin(0.02 * tick))
            if tick % 25:
                continue
            truth, reading = arm.truth(), arm.read().wrench
            wrench = robot.base_wrench(truth.q, truth.dq, truth.ddq)
            moment = wrench[3:] - np.cross(origin, wrench[:3])
            expected = -np.concatenate([rotation.T @ wrench[:3], rotation.T @ moment])
            assert reading is not None
            assert np.abs(reading - expected).max() <= 1e-9 * np.abs(expected).max()
        assert np.abs(truth.dq).max() > 0.2


def energy(robot: cp.Robot, q: Array, dq: Array) -> tuple[float, float]:
    """Return total and kinetic energy [J] by our own dynamics, rotors included."""
    still = np.zeros(robot.n)
    mass = np.array([robot.inverse_dynamics(q, still, unit) - robot.gravity(q) for unit in np.eye(robot.n)])
    kinetic = 0.5 * dq @ (mass + np.diag(robot.rotor_inertia)) @ dq
    return float(kinetic - robot.total_mass * robot.gravity_base @ robot.center_of_mass(q)), float(kinetic)


@pytest.mark.parametrize("name", ["puma560", "wam7", "pendulum"])
def test_energy_is_conserved(name: str) -> None:
    """Falling freely for 10 s, the sum of both energies stays within 1e-7 of the largest kinetic one."""
    robot = cp.load(name)
    arm = SimulatedArm(robot, ideal(dt=0.02).replaced(start="slack", plate=None))
    arm.reset(0.5 * (np.maximum(robot.lower, -1.0) + np.minimum(robot.upper, 1.0)) + 0.1)
    totals, kinetics = [], []
    with arm:
        for _ in range(500):
            total, kinetic = energy(robot, *(arm.truth().q, arm.truth().dq))
            totals.append(total)
            kinetics.append(kinetic)
            arm.write(np.zeros(robot.n))
    assert max(kinetics) > 0.0
    assert np.ptp(totals) < 1e-7 * max(kinetics)


def compliant(**changes: object) -> Plate:
    settings: dict[str, object] = {
        "T_base_sensor": transform(rotation_from_rpy((0.0, 0.0, 0.5)), [0.0, 0.0, -0.6]),
        "stiffness": (3e7, 3e7, 2e8, 1e7, 1e7, 3e6),
        "damping": (2e4, 2e4, 5e4, 5e3, 5e3, 1e3),
        "top_mass": 10.0,
        "top_com": (0.01, 0.0, 0.02),
        "top_inertia": (0.1, 0.1, 0.2),
    }
    return Plate(**(settings | changes))  # type: ignore[arg-type]


def test_compliant_plate_at_rest_reads_the_weight() -> None:
    """In equilibrium the strain of the plate is the holding wrench, to 1e-4; the top's own weight is tared away."""
    robot = cp.load("puma560").mounted(rpy=(0.3, 0.0, 0.0))
    config = ArmConfig(timing=Timing(dt=1e-2), encoder=Encoder(velocity="exact"), plate=compliant())
    with SimulatedArm(robot, config) as arm:
        hold = arm.read().tau
        for _ in range(5):
            arm.write(hold)
        truth = arm.truth()
        expected = robot.base_wrench(truth.q)
        assert np.abs(truth.wrench - expected).max() < 1e-4 * np.abs(expected).max()
        assert np.abs(truth.dq).max() < 1e-9
        assert 1e-6 < np.abs(truth.deflection).max() < 1e-4


def test_compliant_plate_follows_a_slow_motion() -> None:
    """Well below its own modes the plate reads the rigid wrench within 1 %; a hundred times softer it does not."""
    robot, errors = cp.load("puma560"), []
    for softer in (1.0, 100.0):
        plate = compliant(stiffness=np.array([3e7, 3e7, 2e8, 1e7, 1e7, 3e6]) / softer, damping=(200.0,) * 6)
        config = ArmConfig(timing=Timing(dt=1e-3), encoder=Encoder(velocity="exact"), plate=plate)
        with SimulatedArm(robot, config) as arm:
            hold, worst = arm.read().tau, 0.0
            for tick in range(500):
                arm.write(hold + np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]) * (1.0 - np.cos(0.0126 * tick)))
                truth = arm.truth()
                worst = max(worst, np.abs(truth.wrench - robot.base_wrench(truth.q, truth.dq, truth.ddq))[5])
            errors.append(worst)
    assert errors[0] < 0.01 * 4.0
    assert errors[1] > 5.0 * errors[0]


def test_rotor_is_not_felt_by_the_plate() -> None:
    """A thousand times the rotor's inertia slows the arm down and leaves no trace of its own in the wrench."""
    robot = cp.load("pendulum")
    config = ideal()
    heavy = SimulatedArm(robot, config.replaced(drive=type(config.drive)(inertia=50.0)))
    with heavy as arm:
        arm.write(np.array([5.0]))
        truth = arm.truth()
        assert truth.wrench == pytest.approx(robot.base_wrench(truth.q, truth.dq, truth.ddq), rel=1e-9, abs=1e-9)


def test_robots_that_cannot_be_simulated_are_refused() -> None:
    """Mimic joints, links without inertia and a plate without a base are named."""
    body = Inertia(1.0, [0.1, 0.0, 0.0], np.eye(3) * 0.01)
    links = (Link("base"), Link("a", body), Link("b", body))
    joints = (
        Joint("first", JointKind.REVOLUTE, "base", "a"),
        Joint("second", JointKind.REVOLUTE, "base", "b", mimic=Mimic("first", 2.0)),
    )
    with pytest.raises(cp.ModelError, match="'second' mimics another"):
        SimulatedArm(cp.Robot(Description("fingers", links, joints, "base")), ideal())
    empty = Description("ghost", (Link("base"), Link("a")), (Joint("only", JointKind.REVOLUTE, "base", "a"),), "base")
    with pytest.raises(cp.ModelError, match="no inertia"):
        SimulatedArm(cp.Robot(empty), ideal())
    with pytest.raises(cp.InputError, match="needs a base with mass, and link 'base' has none"):
        SimulatedArm(cp.load("wam7"), ArmConfig(plate=compliant(top_mass=0.0)))


def test_missing_mujoco_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without MuJoCo the error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(cp.errors.MissingExtraError, match=r"pip install 'counterpoise\[sim\]'"):
        SimulatedArm(cp.load("pendulum"))
