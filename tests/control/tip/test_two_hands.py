"""Two hands and one part: equilibrium, a squeeze that does no work, shares, and a simulated robot that holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import counterpoise as cp
from counterpoise.control.law import Law
from counterpoise.control.tip.two_hands import TwoHands, share_load
from counterpoise.errors import InputError
from counterpoise.plants import ArmConfig, AttachPayload, Bond, SimulatedArm, Timing
from counterpoise.recording import Sample

ROBOT = cp.load("dualarm19")
HANDS = ("right_hand", "left_hand")
_ARM = (0.2, 0.3, 0.0, 0.8, 0.0, 0.3, 0.0, 0.0)
Q = np.array([0.0, 0.1, 0.0, *_ARM, *(-angle for angle in _ARM)])
POINT = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3).map(np.array)


@settings(max_examples=200)
@given(POINT, POINT, POINT, POINT, st.floats(0.0, 1.0) | st.none(), st.floats(-50.0, 50.0))
def test_the_part_is_in_equilibrium(
    p_1: np.ndarray, p_2: np.ndarray, com: np.ndarray, weight: np.ndarray, share: float | None, squeeze: float
) -> None:
    """Forces of both hands and the weight add up to zero, and so do their moments about any point."""
    if np.linalg.norm(p_2 - p_1) < 0.01:
        return
    first, second = share_load(p_1, p_2, com, 20.0 * weight, share=share, squeeze=squeeze)
    np.testing.assert_allclose(first[:3] + second[:3] + 20.0 * weight, 0.0, atol=1e-9)
    moments = first[3:] + second[3:] + np.cross(p_1, first[:3]) + np.cross(p_2, second[:3])
    np.testing.assert_allclose(moments + np.cross(com, 20.0 * weight), 0.0, atol=1e-8)


def test_a_lever_needs_no_moments() -> None:
    """With the centre above the line between level hands, each carries by its distance, with forces alone."""
    p_1, p_2, com = np.zeros(3), np.array([0.4, 0.0, 0.0]), np.array([0.1, 0.0, 0.05])
    first, second = share_load(p_1, p_2, com, np.array([0.0, 0.0, -40.0]))
    assert first[2] == pytest.approx(30.0)
    assert second[2] == pytest.approx(10.0)
    np.testing.assert_allclose(first[3:] + second[3:], 0.0, atol=1e-12)


@pytest.mark.parametrize("height", [-0.5, 0.1, 0.8])
def test_a_lever_counts_distances_across_the_weight(height: float) -> None:
    """How much higher one hand holds changes no share, nor does how high the centre lies."""
    p_1, p_2, weight = np.zeros(3), np.array([0.3, 0.2, height]), np.array([0.0, 0.0, -40.0])
    for part in (0.25, 0.6):
        com = part * p_2 + [0.02, -0.03, 0.1]  # beside the line, square to it as seen from above
        first, second = share_load(p_1, p_2, com, weight)
        assert first[2] == pytest.approx(40.0 * (1.0 - part))
        assert second[2] == pytest.approx(40.0 * part)


@pytest.mark.parametrize("aside", [(0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (0.02, 0.1, 0.03)])
def test_shares_do_not_jump_when_the_part_is_turned_over(aside: tuple[float, float, float]) -> None:
    """Hands turned about a level axis, through above each other: no hand's force changes by steps."""
    weight, forces = np.array([0.0, 0.0, -30.0]), []
    for angle in np.linspace(0.0, 2.0 * np.pi, 4001):
        turn = Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix()
        p_1, p_2, com = (turn @ point for point in ([-0.2, 0.0, 0.0], [0.2, 0.0, 0.0], np.array(aside)))
        forces.append(share_load(p_1, p_2, com, weight).first[2])
    assert np.abs(np.diff(forces)).max() < 0.4
    assert np.min(forces) >= 0.0


def test_a_squeeze_presses_towards_the_other_hand() -> None:
    """Each hand pushes the part towards the other; the sum is nothing."""
    p_1, p_2 = np.zeros(3), np.array([0.0, 0.3, 0.0])
    first, second = share_load(p_1, p_2, p_1, np.zeros(3), squeeze=15.0)
    np.testing.assert_allclose(first, [0.0, 15.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(second, [0.0, -15.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("seed", range(3))
def test_virtual_work_of_the_law(seed: int) -> None:
    """In any motion that keeps the part rigid, the torques beyond g do exactly the work that lifts the part."""
    rng = np.random.default_rng(seed)
    mass, com = 3.0, np.array([0.02, -0.05, 0.03])
    q = Q + rng.uniform(-0.1, 0.1, 19)
    law = TwoHands(ROBOT, HANDS, mass, com, squeeze=20.0, damping=0.0)
    now = Sample(0.0, q, np.zeros(19), np.zeros(19))
    law.reset(now)
    law.torque(now, 0.0)
    tau = law.torque(now, 10.0) - ROBOT.gravity(q)
    J_1, J_2 = (ROBOT.jacobian(q, at=hand) for hand in HANDS)
    T_1, T_2 = (ROBOT.forward_kinematics(q, at=hand) for hand in HANDS)
    arm = T_2[:3, 3] - T_1[:3, 3]
    # Second hand moves as the first one's body does: v_2 = v_1 + ω × arm, ω_2 = ω_1.
    shift = np.eye(6)
    shift[:3, 3:] = -np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    _, sizes, rows = np.linalg.svd(J_2 - shift @ J_1)
    dq = rows[int((sizes > 1e-9).sum()) :].T @ rng.normal(size=19 - int((sizes > 1e-9).sum()))
    lever = T_1[:3, :3] @ com
    velocity = J_1[:3] @ dq + np.cross(J_1[3:] @ dq, lever)
    assert np.linalg.norm(velocity) > 1e-2
    assert tau @ dq == pytest.approx(-mass * ROBOT.gravity_base @ velocity, rel=1e-7)


@pytest.mark.parametrize("share", [None, 0.3])
def test_a_simulated_robot_holds_the_part_with_the_chosen_squeeze(share: float | None) -> None:
    """The part, fixed to one hand and bonded to the other, stays; the bond carries the force that was planned."""
    pytest.importorskip("mujoco")
    mass, com = 3.0, np.array([0.0, -0.05, 0.0])
    bond = Bond(*HANDS, stiffness=2e4, damping=300.0, turn_stiffness=400.0, turn_damping=4.0)
    part = AttachPayload(time=0.0, mass=mass, com=com, link=HANDS[0])
    timing = Timing(1e-3, 5e-4)
    plant = SimulatedArm(ROBOT, ArmConfig(position=Q, timing=timing, events=(bond, part)))
    law = TwoHands(ROBOT, HANDS, mass, com, squeeze=15.0, share=share, damping=10.0, over=1e-3)
    start = ROBOT.forward_kinematics(Q, at=HANDS[0])[:3, 3]
    with plant:
        law.reset(plant.read())
        for _ in range(1500):
            sample = plant.read()
            plant.write(law.torque(sample, sample.time))
        moved = ROBOT.forward_kinematics(plant.truth().q, at=HANDS[0])[:3, 3] - start
        felt = plant.touches()[0]
    # What the bond exerts on the second hand is the opposite of what that hand exerts on the part.
    np.testing.assert_allclose(-felt.force, law.wrenches.second[:3], atol=0.6)
    np.testing.assert_allclose(-felt.moment, law.wrenches.second[3:], atol=0.15)
    assert np.linalg.norm(moved) < 2e-3


def test_a_law_made_for_another_payload_before_its_start_is_damped() -> None:
    """with_robot before the first reset keeps what was asked for: the default damping is derived when it starts."""
    loaded = ROBOT.with_payload(1.0, link="chest")
    still, moving = (Sample(0.0, Q, speed * np.ones(19), np.zeros(19)) for speed in (0.0, 0.1))
    torques = []
    for law in (TwoHands(ROBOT, HANDS, 2.0, (0, 0, 0)).with_robot(loaded), TwoHands(loaded, HANDS, 2.0, (0, 0, 0))):
        law.reset(still)
        torques.append(law.torque(moving, 0.0) - loaded.gravity(Q))
    np.testing.assert_array_equal(*torques)
    assert np.abs(torques[0]).max() > 0.01


def test_it_keeps_the_protocol_and_its_bounds() -> None:
    """It starts with gravity alone; a squeeze beyond the joints is scaled as a whole."""
    law = TwoHands(ROBOT, HANDS, 2.0, (0, 0, 0), squeeze=1e4)
    now = Sample(0.0, Q, np.zeros(19), np.zeros(19))
    law.reset(now)
    assert isinstance(law, Law)
    np.testing.assert_allclose(law.torque(now, 0.0), ROBOT.gravity(Q), atol=1e-9)
    tau = law.torque(now, 10.0) - ROBOT.gravity(Q)
    assert law.scale < 1.0
    assert np.max(np.abs(tau) / ROBOT.effort_limit) == pytest.approx(0.5)
    wild = law.torque(Sample(0.0, Q, np.full(19, 1e4), np.zeros(19)), 10.0) - ROBOT.gravity(Q)
    assert np.all(np.abs(wild) <= 0.5 * ROBOT.effort_limit * (1 + 1e-9))
    other = law.with_robot(ROBOT.with_payload(1.0, link="chest"))
    assert np.abs(other.torque(now, 10.0) - law.torque(now, 10.0)).max() > 0.1


@pytest.mark.parametrize(
    "arguments",
    [
        {"hands": ("right_hand", "right_hand")},
        {"hands": ("right_hand", "left_hand", "chest")},
        {"hands": ("right_hand", "nose")},
        {"mass": -1.0},
        {"com": (0.0, 0.0)},
        {"share": 1.5},
        {"squeeze": np.nan},
    ],
)
def test_arguments_without_a_meaning_are_refused(arguments: dict[str, Any]) -> None:
    """Every argument is checked when the law is made."""
    standard: dict[str, Any] = {"hands": HANDS, "mass": 1.0, "com": (0.0, 0.0, 0.0)}
    with pytest.raises(InputError):
        TwoHands(ROBOT, **(standard | arguments))


def test_hands_at_one_point_have_no_line() -> None:
    """There is nothing to squeeze along."""
    with pytest.raises(InputError, match="apart"):
        share_load(np.zeros(3), np.zeros(3), np.zeros(3), np.array([0.0, 0.0, -9.81]))
