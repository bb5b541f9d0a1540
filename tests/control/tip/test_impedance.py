"""Impedance at the tip: the spring that was asked for, passive, bounded, finite everywhere, with a quiet elbow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import counterpoise as cp
from counterpoise.control.gains import default_gains
from counterpoise.control.law import Law
from counterpoise.control.loop import ControlLoop
from counterpoise.control.safety import SafetyFilter
from counterpoise.control.tip.impedance import Impedance
from counterpoise.control.tip.tip import FixedPose, Straight, TipPath, direction_of, tip_state
from counterpoise.dynamics import mass_matrix_with_rotors
from counterpoise.errors import InputError
from counterpoise.recording import Sample
from library.ideal_arm import SPEEDS, IdealArm

ROBOT = cp.load("wam7")
Q = np.array([0.2, 0.5, -0.1, 1.8, 0.1, 0.6, 0.2])
SOFT = (300.0, 400.0, 500.0, 4.0, 5.0, 6.0)
ZERO = np.zeros(7)


def sample(q: Any, dq: Any = ZERO) -> Sample:
    return Sample(0.0, np.array(q, dtype=float), np.array(dq, dtype=float), np.zeros(7))


def started(law: Impedance, q: Any = Q) -> Impedance:
    law.reset(sample(q))
    law.torque(sample(q), 0.0)
    return law


def test_it_keeps_the_protocol() -> None:
    """A law that starts with gravity alone, and leaves gravity out for a plant that adds it."""
    law = started(Impedance(ROBOT, SOFT))
    assert isinstance(law, Law)
    np.testing.assert_allclose(law.torque(sample(Q), 0.1), ROBOT.gravity(Q), atol=1e-9)
    bare = started(Impedance(ROBOT, SOFT, gravity=False))
    assert not bare.adds_gravity
    np.testing.assert_allclose(bare.torque(sample(Q), 0.1), 0.0, atol=1e-9)


def test_the_spring_is_the_one_asked_for() -> None:
    """Displaced by a millimetre and a milliradian, the tip is pulled back with K e, force and moment."""
    law = started(Impedance(ROBOT, SOFT, bandwidth=1e4))
    dq = 1e-3 * np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.6, 0.2])
    state = tip_state(ROBOT, Q, dq, "toolplate")
    tau = law.torque(sample(Q + dq), 0.1) - ROBOT.gravity(Q + dq)
    expected = -state.jacobian.T @ (np.array(SOFT) * state.twist)
    np.testing.assert_allclose(tau, expected, rtol=2e-2, atol=1e-6)


def test_a_full_matrix_couples_directions() -> None:
    """An off-diagonal stiffness pulls along x for a way along y."""
    K = np.diag(SOFT)
    K[0, 1] = K[1, 0] = 100.0
    law = started(Impedance(ROBOT, K, bandwidth=1e4))
    state = tip_state(ROBOT, Q, ZERO, "toolplate")
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = state.rotation, state.position + np.array([0.0, 0.01, 0.0])
    np.testing.assert_allclose(law.spring(state, pose), [1.0, 4.0, 0.0, 0.0, 0.0, 0.0], atol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_damping_takes_energy_everywhere(seed: int) -> None:
    """At any pose and speed, with the spring at rest, the torques beyond gravity do no positive work."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(ROBOT.lower, ROBOT.upper)
    dq = rng.uniform(-1.0, 1.0, 7)
    law = started(Impedance(ROBOT, SOFT), q)
    tau = law.torque(sample(q, dq), 1e-3) - ROBOT.gravity(q)
    assert np.isfinite(tau).all()
    assert tau @ dq <= 1e-9


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_torques_stay_bounded_at_singular_poses(seed: int) -> None:
    """Stretched out, far from its goal and half a turn away, no joint is asked for more than its bound."""
    rng = np.random.default_rng(seed)
    q = np.where(rng.random(7) < 0.6, 0.0, rng.uniform(ROBOT.lower, ROBOT.upper))
    goal = np.eye(4)
    goal[:3, :3] = ROBOT.forward_kinematics(q)[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    goal[:3, 3] = rng.uniform(-5.0, 5.0, 3)
    law = started(Impedance(ROBOT, SOFT, path=FixedPose(goal), posture=np.ones(7), posture_stiffness=20.0), q)
    tau = law.torque(sample(q, rng.uniform(-3.0, 3.0, 7)), 1e-3) - ROBOT.gravity(q)
    assert np.all(np.abs(tau) <= 0.5 * ROBOT.effort_limit + 1e-9)


def test_the_spring_saturates_in_its_direction() -> None:
    """Far away the pull has the length of the limit and points at the goal."""
    law = started(Impedance(ROBOT, (400.0,) * 3 + (5.0,) * 3, force_limit=30.0, bandwidth=1e4))
    state = tip_state(ROBOT, Q, ZERO, "toolplate")
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = state.rotation, state.position + np.array([3.0, 0.0, 4.0])
    np.testing.assert_allclose(law.spring(state, pose), [18.0, 0.0, 24.0, 0.0, 0.0, 0.0], atol=1e-9)


def test_the_posture_does_not_accelerate_the_tip() -> None:
    """Pull to a posture and damping of the elbow move the elbow only: J M⁻¹ τ = 0."""
    law = started(Impedance(ROBOT, SOFT, posture=Q + 0.2, posture_stiffness=5.0))
    tau = law.torque(sample(Q), 1e-3) - ROBOT.gravity(Q)
    pulled = np.linalg.solve(mass_matrix_with_rotors(ROBOT, Q), tau)
    assert np.abs(pulled).max() > 0.1
    np.testing.assert_allclose(ROBOT.jacobian(Q) @ pulled, 0.0, atol=1e-6)


def test_light_directions_are_softened_once_and_told() -> None:
    """About the last joint's axis the arm is light: K is cut there to the bandwidth, and stays elsewhere."""
    law = started(Impedance(ROBOT, (400.0,) * 3 + (20.0,) * 3))
    J, M = ROBOT.jacobian(Q), mass_matrix_with_rotors(ROBOT, Q)
    inverse = J @ np.linalg.solve(M, J.T)
    assert np.sqrt(np.linalg.eigvals(inverse @ law.stiffness).real.max()) == pytest.approx(40.0, rel=1e-6)
    assert [kind for kind, _ in law.news()] == ["softened"]
    along = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert along @ law.stiffness @ along == pytest.approx(400.0, rel=0.15)
    assert law.news() == []


def test_damping_is_bearable_for_the_rotors() -> None:
    """No joint's own share of the damping exceeds its rotor's inertia over eight periods."""
    law = started(Impedance(ROBOT, (2000.0,) * 3 + (50.0,) * 3, bandwidth=1e3, damping_ratio=1.0))
    state = tip_state(ROBOT, Q, ZERO, "toolplate")
    own = np.diag(state.jacobian.T @ law.inertias(Q, state, 2e-3).damping @ state.jacobian)
    assert np.max(own * 8.0 * 2e-3 / ROBOT.rotor_inertia) == pytest.approx(1.0)


def test_damping_that_is_scaled_down_is_told_once_and_names_the_joint() -> None:
    """A rotor that bears little of the damping is an event of the run: an undamped spring is not silent."""
    law = started(Impedance(ROBOT, (2000.0,) * 3 + (50.0,) * 3, bandwidth=1e3, damping_ratio=1.0))
    assert [kind for kind, _ in law.news()] == []  # the period is not known on the first tick
    law.torque(sample(Q), 2e-3)
    ((kind, message),) = law.news()
    assert kind == "damped_less"
    assert any(f"'{name}'" in message for name in ROBOT.joint_names)
    other = law.with_robot(ROBOT.with_payload(0.2))
    law.torque(sample(Q), 4e-3)
    other.torque(sample(Q), 4e-3)
    assert law.news() == other.news() == []
    law.torque(sample(Q), 0.1)  # a period that became much longer: much less is bearable
    assert [kind for kind, _ in law.news()] == ["damped_less"]
    gentle = started(Impedance(ROBOT, (50.0,) * 3 + (0.5,) * 3))
    gentle.torque(sample(Q), 2e-3)
    assert gentle.news() == []


def test_unknown_rotors_get_no_more_damping_than_the_soft_law() -> None:
    """Where the model lacks a rotor, the damping is bounded all the same, and it is told why."""
    model = ROBOT.with_rotor_inertia({"joint4": None, "joint6": None})
    law = started(Impedance(model, (2000.0,) * 3 + (50.0,) * 3, bandwidth=1e3, damping_ratio=1.0))
    state = tip_state(model, Q, ZERO, "toolplate")
    own = np.diag(state.jacobian.T @ law.inertias(Q, state, 2e-3).damping @ state.jacobian)
    soft = default_gains(model, Q, model.effort_limit, 2e-3).kd
    unknown = [3, 5]
    assert np.all(own[unknown] <= 1.000001 * soft[unknown])
    blind = ROBOT.with_rotor_inertia(dict.fromkeys(ROBOT.joint_names))
    law = started(Impedance(blind, (2000.0,) * 3 + (50.0,) * 3, bandwidth=1e3, damping_ratio=1.0))
    own = np.diag(state.jacobian.T @ law.inertias(Q, state, 2e-3).damping @ state.jacobian)
    soft = default_gains(blind, Q, blind.effort_limit, 2e-3).kd
    assert np.max(own / soft) == pytest.approx(1.0)
    ((kind, message),) = law.news()
    assert kind == "damped_less" and "is unknown" in message and "rotor_inertia" in message


def test_a_law_for_another_payload_starts_anew_where_the_arm_is_then() -> None:
    """with_robot keeps the posture of the run, but pins none: before the start and at a later one it is the arm's."""
    fresh = Impedance(ROBOT, SOFT, posture_stiffness=20.0).with_robot(ROBOT)
    later = started(Impedance(ROBOT, SOFT, posture_stiffness=20.0)).with_robot(ROBOT)
    moved = Q + 0.3
    for law in (fresh, later):
        law.reset(sample(moved))
        np.testing.assert_allclose(law.torque(sample(moved), 0.0), ROBOT.gravity(moved), atol=1e-9)


@pytest.mark.parametrize("axis", range(3))
def test_the_spring_turns_back_the_short_way_up_to_half_a_turn(axis: int) -> None:
    """Turned by any angle below π the moment points back along the axis; next to π it is as large and finite."""
    law = started(Impedance(ROBOT, (100.0,) * 3 + (2.0,) * 3, bandwidth=1e4, moment_limit=100.0))
    state = tip_state(ROBOT, Q, ZERO, "toolplate")
    for angle in (1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-7, np.pi + 1e-7):
        pose = np.eye(4)
        turn = Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix()
        pose[:3, :3], pose[:3, 3] = turn @ state.rotation, state.position
        short = angle if angle < np.pi else angle - 2.0 * np.pi
        np.testing.assert_allclose(law.spring(state, pose)[3:], 2.0 * short * np.eye(3)[axis], atol=1e-7)


def test_an_ideal_arm_follows_a_straight_line_and_comes_back_when_pushed() -> None:
    """The tip goes 0.2 m along its line, keeps its orientation, and rests there."""
    plant = IdealArm(ROBOT, q=Q, dt=2e-3)
    path = Straight([(0.0, 0.2, 0.0)], speed=0.3)
    law = Impedance(ROBOT, (800.0,) * 3 + (10.0,) * 3, path=path)
    start = ROBOT.forward_kinematics(Q)
    loop = ControlLoop(plant, law, ROBOT, safety=SafetyFilter(ROBOT, plant=plant, velocity_limit=SPEEDS["wam7"]))
    with plant:
        loop.run(2.5, then="keep")
        end = ROBOT.forward_kinematics(plant.q)
        assert np.abs(plant.dq).max() < 0.02
    np.testing.assert_allclose(end[:3, 3] - start[:3, 3], [0.0, 0.2, 0.0], atol=2e-3)
    np.testing.assert_allclose(end[:3, :3], start[:3, :3], atol=2e-2)


@pytest.mark.parametrize(
    "arguments",
    [
        {"stiffness": np.ones(5)},
        {"stiffness": -np.ones(6)},
        {"stiffness": np.triu(np.ones((6, 6)))},
        {"stiffness": SOFT, "damping": -np.ones(6)},
        {"stiffness": SOFT, "damping_ratio": -1.0},
        {"stiffness": SOFT, "posture": np.zeros(3)},
        {"stiffness": SOFT, "posture": np.full(7, np.nan)},
        {"stiffness": SOFT, "force_limit": 0.0},
        {"stiffness": SOFT, "at": "hand"},
        {"stiffness": SOFT, "bandwidth": np.nan},
    ],
)
def test_arguments_without_a_meaning_are_refused(arguments: dict[str, Any]) -> None:
    """Every argument is checked when the law is made; a stiffness that feeds energy is none."""
    with pytest.raises(InputError):
        Impedance(ROBOT, **arguments)


def test_paths() -> None:
    """A straight path starts and ends at rest; a path that was not reset, and a pose that is none, are refused."""
    path = Straight([(0.1, 0.0, 0.0), (0.0, 0.0, -0.1)], speed=0.1, dwell=0.2)
    assert isinstance(path, TipPath)
    with pytest.raises(InputError, match="not reset"):
        path.at(0.0)
    path.reset(np.eye(4))
    np.testing.assert_allclose(path.at(path.duration).pose[:3, 3], [0.1, 0.0, -0.1])
    times = np.linspace(0.0, path.duration, 400)
    speeds = np.array([path.at(time).twist for time in times])
    assert np.abs(speeds).max() <= 0.1 + 1e-9
    assert not speeds[0].any()
    assert not speeds[-1].any()
    for pose in (np.zeros((4, 4)), np.eye(3), np.diag([1.0, 1.0, -1.0, 1.0]), "there"):
        with pytest.raises(InputError):
            FixedPose(pose)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no steps"):
        Straight([], speed=0.1)


def test_another_payload_goes_on_where_the_law_is() -> None:
    """with_robot changes the torque by the load's gravity at first; the path goes on."""
    law = started(Impedance(ROBOT, SOFT, path=Straight([(0.1, 0.0, 0.0)], speed=0.1)))
    loaded = ROBOT.with_payload(0.5)
    change = law.with_robot(loaded).torque(sample(Q), 0.4) - law.torque(sample(Q), 0.4)
    np.testing.assert_allclose(change, loaded.gravity(Q) - ROBOT.gravity(Q), atol=0.05)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-9])
def test_a_vector_without_a_length_is_no_direction(size: float) -> None:
    """Up to a nanometre it is rounding; what is longer is made a unit vector."""
    with pytest.raises(InputError, match="expected a direction"):
        direction_of([0.0, size, 0.0], "axis")
    assert direction_of([0.0, 2e-9, 0.0], "axis").tolist() == [0.0, 1.0, 0.0]
