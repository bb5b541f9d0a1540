"""The full form against Newton–Euler, and the equations as printed, which are wrong, against both."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import JointKind
from counterpoise.dynamics import REVOLUTE, ancestors, body_poses, joint_matrix
from counterpoise.foundation import transform
from counterpoise.sensing.plate.gravity_wrench import gravity_wrenches
from counterpoise.sensing.plate.joint_analyzer import JointAnalyzer, Term, analyzed, link_wrenches
from library.native_builds import set_names, using
from library.random_robots import random_motion, random_robot, random_sensor

SEEDS = range(200)
KINDS = {
    "rotary": (JointKind.REVOLUTE, JointKind.CONTINUOUS),
    "linear": (JointKind.PRISMATIC,),
    "mixed": (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC),
}
A2 = 0.4318
"""Length of the PUMA's upper arm [m]."""


def case(seed: int) -> cp.Robot:
    """A chain or a tree of rotary, linear or mixed joints, some with mimics, mounted and loaded anyhow."""
    kinds = KINDS[("rotary", "linear", "mixed")[seed % 3]]
    joints = int(np.random.default_rng(seed).integers(1, 13))
    return random_robot(seed, joints=joints, shape=("chain", "mixed", "star")[(seed // 3) % 3], kinds=kinds).robot()


@pytest.mark.parametrize("reads", ["on_robot", "on_sensor"])
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("name", set_names() or [""])
def test_full_form_is_newton_euler_minus_gravity(name, block, reads) -> None:
    """On 200 random chains and trees τ_d equals M q̈ + C q̇, and τ_d + g the joint's torque, within 1e-8."""
    for seed in SEEDS[block::10]:
        with using(name) if name else nullcontext():
            robot = case(seed)
            sensor = random_sensor(robot, np.random.default_rng(seed), reads)
        q, dq, ddq = random_motion(robot, seed, 1 + seed % 17)
        reading = sensor.frame.reading(robot.base_wrench(q, dq, ddq))
        torques = sensor.joint_torques(q, reading, dq, ddq, form="full")
        moving = robot.inverse_dynamics(q, dq, ddq)
        assert np.abs(torques - (moving - robot.gravity(q))).max() <= 1e-8, seed
        assert np.abs(torques + robot.gravity(q) - moving).max() <= 1e-8, seed
        one = sensor.joint_torques(q[0], reading[0], dq[0], ddq[0], form="full")
        assert np.abs(one - torques[0]).max() <= 1e-8


@pytest.mark.parametrize("block", range(5))
def test_the_sign_convention_matters(block) -> None:
    """Reading a plate with the wrong sign is wrong by far more than any rounding."""
    for seed in SEEDS[block::40]:
        robot = case(seed)
        rng = np.random.default_rng(seed)
        right, wrong = (random_sensor(robot, np.random.default_rng(seed), reads) for reads in ("on_robot", "on_sensor"))
        q, dq, ddq = random_motion(robot, seed, 5)
        wrench = robot.base_wrench(q, dq, ddq) + rng.normal(size=(5, 6))
        reading = right.frame.reading(wrench)
        assert np.abs(right.joint_torques(q, reading, dq, ddq) - wrong.joint_torques(q, reading, dq, ddq)).max() > 0.1


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_stages_and_identity_agree_for_any_wrench(seed) -> None:
    """The patent's subtraction of every non-distal link equals inverse dynamics plus A (w − model's base wrench)."""
    robot = case(seed)
    q, dq, ddq = random_motion(robot, seed, 4)
    wrench = 30.0 * np.random.default_rng(seed).normal(size=(4, 6))
    w_g = gravity_wrenches(robot.tree, q)
    assert np.abs(w_g - robot.base_wrench(q)).max() <= 1e-10 * max(1.0, np.abs(w_g).max())
    by_links = analyzed(robot.tree, q, wrench - w_g, dq, ddq)
    A = joint_matrix(robot.tree, body_poses(robot.tree, q))
    identity = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
    identity += np.einsum("kij,kj->ki", A, wrench - robot.base_wrench(q, dq, ddq))
    scale = max(1.0, np.abs(identity).max())
    assert np.abs(by_links - identity).max() <= 1e-10 * scale
    sensor = cp.BaseSensor(robot)
    assert np.abs(sensor.joint_torques(q, wrench, dq, ddq) - by_links).max() <= 1e-10 * scale


@pytest.mark.parametrize("seed", range(12))
def test_a_contact_on_a_distal_link_is_measured_and_on_another_corrupts(seed) -> None:
    """A push on link k changes τ_i by what the joint really feels where k is distal, else by something else."""
    robot = random_robot(seed, joints=5, shape="chain", mimics=False, loads=False).robot()
    rng = np.random.default_rng(seed)
    q, dq, ddq = (rows[0] for rows in random_motion(robot, seed, 1))
    sensor = cp.BaseSensor(robot)
    free = sensor.joint_torques(q, robot.base_wrench(q, dq, ddq), dq, ddq)
    body = 2
    link = robot.link_names[int(np.flatnonzero(robot.tree.link_body == body)[0])]
    push = 20.0 * rng.normal(size=6)
    at = robot.forward_kinematics(q, at=link)[:3, 3]
    at_base = np.concatenate([push[:3], push[3:] + np.cross(at, push[:3])])
    touched = sensor.joint_torques(q, robot.base_wrench(q, dq, ddq) - at_base, dq, ddq)
    felt = -robot.wrench_torque(q, push, at=link)  # the same motion needs that much less from the actuators
    distal = np.array([joint in ancestors(robot.tree, body) for joint in range(robot.n)])
    assert np.abs((touched - free - felt)[distal]).max() <= 1e-9
    assert np.abs((touched - free - felt)[~distal]).max() > 1e-3


def patent(robot, q, on_base, dq, ddq, sign):
    """The patent's claims 6 and 14 with ``sign`` before the link sum; wrench by the robot on its base, gravity removed.

    On a chain, joint by joint, the links with lower numbers only.
    """
    tree = robot.tree
    poses = body_poses(tree, q)
    force, moment, centers = link_wrenches(tree, poses, dq, ddq, Term.ALL)
    torques = np.zeros((len(q), tree.bodies))
    for i in range(tree.bodies):
        rotary, origin = tree.kind[i] == REVOLUTE, poses.origin[:, i]
        bracket = on_base[:, 3:] - np.cross(origin, on_base[:, :3]) if rotary else on_base[:, :3].copy()
        for j in range(i):
            own = moment[:, j] + np.cross(centers[:, j] - origin, force[:, j]) if rotary else force[:, j]
            bracket = bracket + sign * own
        torques[:, i] = -np.sum(poses.rotation[:, i, :, 2] * bracket, axis=1)
    return torques


@pytest.mark.parametrize("name", ["puma560", "wam7", "scara", "four linear joints"])
def test_the_patents_relation_needs_a_plus(name) -> None:
    """With a plus before the link sum the patent's relation is exact; with a minus it is wrong by several N m or N."""
    linear = random_robot(2, joints=4, shape="chain", kinds=KINDS["linear"], mimics=False, massless=False).robot()
    robot = linear if name == "four linear joints" else cp.load(name)
    q, dq, ddq = random_motion(robot, 1, 200)
    on_base = -(robot.base_wrench(q, dq, ddq) - robot.base_wrench(q))
    truth = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
    assert np.abs(patent(robot, q, on_base, dq, ddq, +1.0) - truth).max() <= 1e-9
    assert np.abs(patent(robot, q, on_base, dq, ddq, -1.0) - truth).max() > 3.0
    sensor = cp.BaseSensor(robot, reads="on_sensor")
    total = -robot.base_wrench(q, dq, ddq)
    assert np.abs(sensor.joint_torques(q, total, dq, ddq) - truth).max() <= 1e-9


def test_equation_12_as_printed_has_the_wrong_sign_of_gravity() -> None:
    """w_t − [m g; Σ d × m g] with g pointing down: the PUMA's joint 2 is wrong by 90 N m, wrist joints by 130 N m.

    That is the moment's sign alone; with the force's, for a robot of 61 kg, joint 3 is wrong by hundreds.
    """
    robot = cp.load("puma560")
    q = np.random.default_rng(0).uniform(robot.lower, robot.upper, (20_000, robot.n))
    w_t = robot.base_wrench(q)  # at rest: the dynamic torque is nought
    of_gravity = -gravity_wrenches(robot.tree, q)
    analyzer = JointAnalyzer(robot)
    printed = analyzer.torques(q, w_t - of_gravity)
    corrected = analyzer.torques(q, w_t + of_gravity)
    assert np.abs(corrected).max() <= 1e-10
    assert 80.0 < np.abs(printed[:, 1]).max() < 100.0
    assert np.abs(printed[:, 2]).max() > 300.0
    moment_only = analyzer.torques(q, (w_t - of_gravity) * [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert 120.0 < np.abs(moment_only).max() < 150.0


def equation_24(q, *, printed: bool, height: float = 0.0):
    """A(q) of the PUMA's first three joints as printed, or corrected for a plate ``height`` below the shoulder."""
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    wrong, right = A2 * c2 * c1, A2 * s2 * s1
    A = np.array(
        [
            [0, 0, 0, 0, 0, 1],
            [0, 0, 0, s1, -c1, 0],
            [A2 * s2 * c1, wrong if printed else right, -A2 * c2, s1, -c1, 0],
        ]
    )
    A[1:, :3] += 0.0 if printed else np.array([height * c1, height * s1, 0.0])
    return A


def test_equation_24_needs_its_correction() -> None:
    """Corrected eq. (24) equals A(q) to 1e-12, also above a plate; as printed, 100 N make an error of tens of N m."""
    robot = cp.load("puma560")
    poses = np.random.default_rng(1).uniform(robot.lower, robot.upper, (200, robot.n))
    worst = 0.0
    for height in (0.0, 0.672):
        sensor = cp.BaseSensor(robot, transform(np.eye(3), [0.0, 0.0, -height]))
        for q in poses:
            A = (sensor.matrix(q) @ sensor.frame.to_base)[:3]
            assert np.abs(A - equation_24(q, printed=False, height=height)).max() <= 1e-12
            worst = max(worst, np.abs((A - equation_24(q, printed=True)) @ [0.0, 100.0, 0.0, 0.0, 0.0, 0.0]).max())
    assert worst > 40.0


@pytest.mark.parametrize("reads", ["on_robot", "on_sensor"])
def test_one_rotary_joint_has_a_closed_form(reads) -> None:
    """Claim 20: τ_1 = −z_0 · M_d for the wrench on the base; a pendulum's is its inertia times its acceleration."""
    robot = cp.load("pendulum")
    sensor = cp.BaseSensor(robot, reads=reads)
    sign = 1.0 if reads == "on_robot" else -1.0
    q, dq, ddq = np.array([0.7]), np.array([1.3]), np.array([-2.1])
    reading = sign * robot.base_wrench(q, dq, ddq)
    tree = robot.tree
    torque = sensor.joint_torques(q, reading, dq, ddq)
    assert torque[0] == pytest.approx(tree.inertia[0, 2, 2] * ddq[0], abs=1e-12)
    axis, origin = tree.rotation[0][:, 2], tree.origin[0]
    dynamic = reading - sign * robot.base_wrench(q)
    assert torque[0] == pytest.approx(sign * axis @ (dynamic[3:] - np.cross(origin, dynamic[:3])), abs=1e-12)


@pytest.mark.parametrize("reads", ["on_robot", "on_sensor"])
def test_one_linear_joint_has_a_closed_form(reads) -> None:
    """Claim 26: f_1 = −z_0 · F_d for the wrench on the base; a slider's is its mass times its acceleration."""
    robot = cp.load("slider")
    sensor = cp.BaseSensor(robot, reads=reads)
    sign = 1.0 if reads == "on_robot" else -1.0
    q, dq, ddq = np.zeros((3, robot.n))
    first = robot.tree.q_index[0]
    q[first], dq[first], ddq[first] = 0.1, 0.2, -1.7
    reading = sign * robot.base_wrench(q, dq, ddq)
    force = sensor.joint_torques(q, reading, dq, ddq)[first]
    assert force == pytest.approx(robot.tree.mass.sum() * ddq[first], abs=1e-11)
    dynamic = reading - sign * robot.base_wrench(q)
    assert force == pytest.approx(sign * robot.tree.rotation[0][:, 2] @ dynamic[:3], abs=1e-11)


@pytest.mark.parametrize("terms", [Term.WRENCH, Term.WRENCH | Term.LINEAR, Term.LINKS, Term.ALL & ~Term.GYROSCOPIC])
def test_any_subset_of_terms(terms) -> None:
    """Terms add up: a subset and its complement give the whole, and the moment alone is A(q) w_d."""
    robot = cp.load("wam7")
    q, dq, ddq = random_motion(robot, 3, 6)
    wrench = 10.0 * np.random.default_rng(2).normal(size=(6, 6))
    whole = JointAnalyzer(robot).torques(q, wrench, dq, ddq)
    part = JointAnalyzer(robot, terms).torques(q, wrench, dq, ddq)
    rest = JointAnalyzer(robot, Term.ALL & ~terms).torques(q, wrench, dq, ddq)
    assert np.abs(part + rest - whole).max() <= 1e-9
    assert np.abs(part - whole).max() > 1e-3
    if terms == Term.WRENCH:
        A = cp.BaseSensor(robot).matrix(q)
        assert np.abs(part - np.einsum("kij,kj->ki", A, wrench)).max() <= 1e-10
    assert JointAnalyzer(robot, terms).torques(q[0], wrench[0], dq[0], ddq[0]) == pytest.approx(part[0], abs=1e-10)


def test_acceleration_matrix_is_what_accelerations_take() -> None:
    """B(q) q̈ of eq. (19) is what the links that are not distal take at rest."""
    robot = cp.load("puma560")
    analyzer = JointAnalyzer(robot)
    q, _, ddq = random_motion(robot, 4, 3)
    B = analyzer.acceleration_matrix(q)
    lost = -analyzer.torques(q, np.zeros((3, 6)), None, ddq)
    assert np.abs(np.einsum("kij,kj->ki", B, ddq) - lost).max() <= 1e-10
    assert np.abs(B[:, 0]).max() <= 1e-12  # nothing but the base lies before the first joint
    assert analyzer.acceleration_matrix(q[0]) == pytest.approx(B[0], abs=1e-12)
