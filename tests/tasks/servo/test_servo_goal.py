"""Goals that make up for the droop: exact where the model is, bounded, and the right way round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.foundation import Array
from counterpoise.tasks.position_servo import ServoGoal, identify_stiffness
from library.ideal_arm import IdealArm
from library.position_servo import drooping_log

ROBOT = cp.load("puma560")
KP = np.array([900.0, 1500.0, 700.0, 120.0, 100.0, 60.0])
KD = np.array([60.0, 90.0, 30.0, 2.0, 2.0, 0.5])
RNG = np.random.default_rng(2)
RANGES = ((-1, 1), (-0.4, 1.6), (-3, -1), (-1.2, 1.2), (-1.2, 1.2), (-1, 1))
POSES = np.column_stack([RNG.uniform(low, high, 10) for low, high in RANGES])


def test_the_offset_is_the_load_over_the_stiffness() -> None:
    """goal − q_d = g(q_d) / K_p, towards where the servo must push; none for a stiffness without bound."""
    kp = KP.copy()
    kp[0] = np.inf
    q = POSES[0]
    goal = ServoGoal(ROBOT, kp).goal(q)
    np.testing.assert_allclose((goal - q)[1:], ROBOT.gravity(q)[1:] / KP[1:], atol=1e-15)
    assert goal[0] == q[0]


def test_an_offset_is_bounded_by_its_largest_and_by_the_limits() -> None:
    """A soft servo, or a pose next to a limit, gets what is allowed, and it is told."""
    soft = ServoGoal(ROBOT, 1e-3 * KP, largest=0.05)
    q = POSES[0]
    goal = soft.goal(q)
    assert np.abs(goal - q).max() <= 0.05 + 1e-12
    assert soft.bounded.any()
    near = ROBOT.upper - 1e-3
    servo = ServoGoal(ROBOT, 0.1 * KP)
    assert np.all(servo.goal(near) <= ROBOT.upper)
    assert not ServoGoal(ROBOT, 1e3 * KP).bounded.any()


@settings(max_examples=100)
@given(st.integers(0, 10_000), st.sampled_from([1e-6, 1e-2, 1.0, 1e6]), st.sampled_from([0.5, 1.0, 3.0]))
def test_any_goal_stays_next_to_its_pose_and_adds_nothing_beyond_a_limit(seed: int, soft: float, wide: float) -> None:
    """Whatever pose and stiffness: within the largest offset, never further out of the limits than the pose itself."""
    q = wide * np.random.default_rng(seed).uniform(ROBOT.lower, ROBOT.upper)
    servo = ServoGoal(ROBOT.with_payload(3.0), soft * KP)
    goal = servo.goal(q)
    assert np.all(np.abs(goal - q) <= servo.largest + 1e-12)
    assert np.all(goal <= np.maximum(q, ROBOT.upper))
    assert np.all(goal >= np.minimum(q, ROBOT.lower))


@pytest.mark.parametrize("wrong", [-KP, 0.0 * KP, np.full(6, np.nan), np.ones(3)])
def test_a_stiffness_that_cannot_be_is_refused(wrong: Array) -> None:
    """The other sign would double the droop."""
    with pytest.raises(InputError):
        ServoGoal(ROBOT, wrong)


def test_another_payload_needs_another_offset() -> None:
    """with_robot keeps the stiffness and takes the new load."""
    loaded = ROBOT.with_payload(2.0)
    goal = ServoGoal(ROBOT, KP).with_robot(loaded).goal(POSES[1])
    np.testing.assert_allclose(goal, ServoGoal(loaded, KP).goal(POSES[1]))


def test_a_pose_that_is_none_is_refused() -> None:
    """Shape and numbers are checked."""
    for wrong in (np.zeros(3), np.full(6, np.nan), np.zeros((2, 6))):
        with pytest.raises(InputError):
            ServoGoal(ROBOT, KP).goal(wrong)


def settled(goal: Array) -> Array:
    """Return where a frictionless arm with PD servos comes to rest."""
    plant = IdealArm(ROBOT, q=goal, dt=1e-3)
    with plant:
        for _ in range(1500):
            plant.write(KP * (goal - plant.q) - KD * plant.dq)
    return plant.q


@pytest.mark.parametrize("pose", POSES[:2])
def test_droop_shrinks_tenfold_with_a_known_stiffness(pose: Array) -> None:
    """On a simulated arm with PD servos, tip and joints."""
    plain, offset = settled(pose) - pose, settled(ServoGoal(ROBOT, KP).goal(pose)) - pose
    assert np.abs(plain).max() > 5e-3
    assert np.abs(plain).max() > 10.0 * np.abs(offset).max()


@pytest.mark.parametrize("pose", POSES[2:4])
def test_droop_shrinks_fivefold_with_an_identified_stiffness(pose: Array) -> None:
    """K_p from a recording of other poses with friction and noise."""
    friction = np.array([4.0, 5.0, 2.5, 0.05, 0.05, 0.001])
    log = drooping_log(ROBOT, POSES[4:], KP, friction=friction, noise=2e-5)
    stiffness = identify_stiffness(ROBOT, log, known={"joint4": 120.0, "joint5": 100.0, "joint6": 60.0})
    plain, offset = settled(pose) - pose, settled(ServoGoal(ROBOT, stiffness).goal(pose)) - pose
    assert np.abs(plain).max() > 5.0 * np.abs(offset).max()
