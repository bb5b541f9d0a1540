"""What a simulated arm touches: planes push back as stated, bonds pull both links alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.plants.config import ArmConfig, Timing
from counterpoise.plants.events import Bond, Surface
from counterpoise.plants.links import Links
from counterpoise.plants.simulated import Bonded, SimulatedArm, Touching
from library.random_robots import random_robot

pytest.importorskip("mujoco")
ROBOT = cp.load("puma560")
POSE = np.array([0.0, 0.6, -2.4, 0.0, 0.5, 0.0])
DAMPING = np.array([20.0, 20.0, 10.0, 1.0, 1.0, 0.5])


def settled(plant: SimulatedArm, wrench: np.ndarray, seconds: float = 2.0) -> None:
    """Exert a wrench at the tip with damped joints until the arm rests."""
    for _ in range(round(seconds / plant.dt)):
        sample = plant.read()
        tau = ROBOT.gravity(sample.q) + ROBOT.wrench_torque(sample.q, wrench) - DAMPING * sample.dq
        plant.write(tau)


def arm(surface: Surface) -> SimulatedArm:
    return SimulatedArm(ROBOT, ArmConfig(position=POSE, timing=Timing(2e-3, 5e-4), events=(surface,)))


def test_a_surface_pushes_back_with_what_the_arm_exerts() -> None:
    """At rest on a plane through the tip the normal force is Jᵀw's, and the depth is the force over the stiffness."""
    tip = ROBOT.forward_kinematics(POSE)[:3, 3]
    plant = arm(Surface(origin=tip, normal=(0, 0, 2.0), stiffness=2e4, damping=300.0, friction=2.0))
    with plant:
        settled(plant, np.array([0.0, 0.0, -25.0, 0.0, 0.0, 0.0]))
    (touch,) = plant.touches()
    assert touch.force[2] == pytest.approx(25.0, rel=0.02)
    assert tip[2] - touch.point[2] == pytest.approx(touch.force[2] / 2e4, rel=0.05)
    assert ROBOT.link_names[touch.link] == "link6"


def test_nothing_acts_above_the_surface() -> None:
    """A tip in the air feels nothing."""
    tip = ROBOT.forward_kinematics(POSE)[:3, 3]
    plant = arm(Surface(origin=tip - [0.0, 0.0, 0.01]))
    with plant:
        settled(plant, np.zeros(6), 0.1)
    np.testing.assert_array_equal(plant.touches()[0].force, np.zeros(3))


def test_friction_opposes_sliding_and_is_bounded_by_the_normal_force() -> None:
    """A tip that is pushed along the plane feels at most μ N, against its motion."""
    tip = ROBOT.forward_kinematics(POSE)[:3, 3]
    plant = arm(Surface(origin=tip, stiffness=2e4, damping=300.0, friction=0.3))
    with plant:
        settled(plant, np.array([0.0, 15.0, -20.0, 0.0, 0.0, 0.0]), 0.8)
        velocity = ROBOT.jacobian(plant.truth().q)[:3] @ plant.truth().dq
    force = plant.touches()[0].force
    assert velocity[1] > 5e-3
    assert force[1] < 0.0
    assert np.hypot(force[0], force[1]) <= 0.3 * force[2] + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_what_is_touched_acts_as_it_says_on_any_tree(seed: int) -> None:
    """Branches, linear joints, tilted mounts: our Newton–Euler explains the motion by Jᵀ of what the touches state."""
    made = random_robot(seed, joints=6, mimics=False, massless=False, tilted=True)
    robot = made.robot()
    rng = np.random.default_rng(seed)
    q, dq = rng.uniform(-0.5, 0.5, robot.n), rng.uniform(-0.5, 0.5, robot.n)
    links = Links(robot, None, np.zeros(robot.n), 1e-3, "rk4")
    links.stand(q, dq)
    names, point = robot.link_names, np.array([0.1, -0.05, 0.2])
    tip, other = len(names) - 1, len(names) // 2
    T = robot.forward_kinematics(q, at=names[tip])
    normal = rng.normal(size=3)
    origin = T[:3, :3] @ point + T[:3, 3] + 1e-3 * normal / np.linalg.norm(normal)
    plane = Surface(point=point, origin=origin, normal=normal, stiffness=1e5, damping=1.0, friction=0.4)
    touching, bonded = Touching(plane, tip), Bonded(Bond(names[other], names[tip], damping=80.0), other, tip)
    for contact in (touching, bonded):
        links.release()
        contact.apply(links)
        links.forward()
        touch = contact.touch
        assert np.linalg.norm(touch.force) > 1e-6
        tau = np.zeros(robot.n)
        for link, sign in ((tip, 1.0),) if contact is touching else ((tip, 1.0), (other, -1.0)):
            arm = touch.point - robot.forward_kinematics(q, at=names[link])[:3, 3]
            wrench = np.concatenate([touch.force, touch.moment + np.cross(arm, touch.force)])
            tau += sign * robot.wrench_torque(q, wrench, at=names[link])
        found = robot.inverse_dynamics(q, dq, links.acceleration.copy())
        np.testing.assert_allclose(found, tau, atol=1e-6 * max(1.0, np.abs(tau).max()))
    # The plane pushes out and holds back what slides; the bond's damper takes energy.
    assert touching.touch.force @ normal > 0.0
    (v_1, w_1), (v_2, w_2) = (np.split(robot.jacobian(q, at=names[link]) @ dq, 2) for link in (other, tip))
    arm = T[:3, 3] - robot.forward_kinematics(q, at=names[other])[:3, 3]
    assert bonded.touch.force @ (v_2 - v_1 - np.cross(w_1, arm)) <= 0.0
    assert bonded.touch.moment @ (w_2 - w_1) <= 0.0


def test_a_bond_holds_two_hands_together() -> None:
    """Hands that push towards each other feel that push in the bond, and stay where they are."""
    robot = cp.load("dualarm19")
    q = np.array([0.0, 0.1, 0.0, 0.2, 0.3, 0.0, 0.8, 0.0, 0.3, 0.0, 0.0, -0.2, -0.3, 0.0, -0.8, 0.0, -0.3, 0.0, 0.0])
    bond = Bond("right_hand", "left_hand", stiffness=2e4, damping=200.0, turn_stiffness=200.0, turn_damping=2.0)
    plant = SimulatedArm(robot, ArmConfig(position=q, timing=Timing(1e-3, 5e-4), events=(bond,)))
    start = robot.forward_kinematics(q, at="left_hand")[:3, 3]
    push = np.array([0.0, -12.0, 0.0, 0.0, 0.0, 0.0])
    with plant:
        for _ in range(800):
            sample = plant.read()
            tau = robot.gravity(sample.q) - 8.0 * sample.dq
            tau += robot.wrench_torque(sample.q, push, at="left_hand")
            plant.write(tau + robot.wrench_torque(sample.q, -push, at="right_hand"))
        end = robot.forward_kinematics(plant.truth().q, at="left_hand")[:3, 3]
    (touch,) = plant.touches()
    assert robot.link_names[touch.link] == "left_hand"
    assert touch.force[1] == pytest.approx(12.0, rel=0.05)
    assert np.linalg.norm(end - start) < 0.01


@pytest.mark.parametrize(
    "make",
    [
        lambda: Surface(normal=(0.0, 0.0, 0.0)),
        lambda: Surface(stiffness=0.0),
        lambda: Surface(friction=-0.1),
        lambda: Surface(origin=(0.0, 0.0)),
        lambda: Bond("a", "a"),
        lambda: Bond("a", 3),  # type: ignore[arg-type]
    ],
)
def test_events_that_cannot_be_are_refused(make: Any) -> None:
    """Every number is checked when the event is made."""
    with pytest.raises(InputError):
        make()


def test_unknown_links_are_refused() -> None:
    """An event names a link of the robot."""
    with pytest.raises(InputError, match="no link 'gripper'"):
        SimulatedArm(ROBOT, ArmConfig(events=(Surface(link="gripper"),)))
