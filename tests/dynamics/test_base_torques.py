"""Joint torques from the wrench under the base: the identity, what others compute, and the signs."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description import JointKind, parse_urdf
from counterpoise.dynamics import kernel as kernels
from counterpoise.dynamics.kinematics import ancestors
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.sensing import JointAnalyzer, analyzed
from library.native_builds import installed_sets, set_names, using
from library.random_robots import random_motion, random_robot

Array = npt.NDArray[np.float64]

KINDS = (
    (JointKind.REVOLUTE, JointKind.CONTINUOUS),
    (JointKind.PRISMATIC,),
    (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC),
)
SHAPES = ("chain", "mixed", "star")
SEEDS = range(120)
GROUP = 12
POSES = 5

native_only = pytest.mark.skipif(not kernels.NATIVE, reason="the native kernel is not built or is disabled")


@cache
def arm(seed: int) -> cp.Robot:
    """Return a chain or a tree of rotary, linear or mixed joints, some with mimics, mounted and loaded anyhow."""
    return random_robot(seed, kinds=KINDS[seed % 3], shape=SHAPES[(seed // 3) % 3]).robot()


def wrenches(seed: int, count: int) -> Array:
    """Return any wrenches, shape (count, 6)."""
    return 30.0 * np.random.default_rng([3, seed]).normal(size=(count, 6))


def base_matrix(robot: cp.Robot, q: Array) -> Array:
    """Return A(q), shape (n, 6), from Jacobians: the rows are the twists of the joints at the base origin.

    A Jacobian of a link has the joint's velocity of the link's origin p in its first rows and its rotation in the last;
    at the base origin the velocity is v + p × ω. A robot without mimics has one link on every joint.
    """
    rows = np.zeros((robot.n, 6))
    for joint in robot.description.joints:
        if joint.name in robot.joint_names:
            at = robot.joint_names.index(joint.name)
            column = robot.jacobian(q, at=joint.child)[:, at]
            origin = robot.forward_kinematics(q, at=joint.child)[:3, 3]
            rows[at] = np.concatenate([column[:3] + np.cross(origin, column[3:]), column[3:]])
    return rows


def size_of(robot: cp.Robot, wrench: Array) -> float:
    """Return what rounding is measured by: the largest number on the way to the torques, at least 1."""
    reach = 1.0 + sum(float(np.linalg.norm(origin)) for origin in robot.tree.origin) + np.pi * robot.tree.kind.sum()
    return max(1.0, float(np.abs(wrench).max()) * reach)


# ------------------------------------------------------------------------------------------------------- the identity


@pytest.mark.parametrize("first", range(0, SEEDS.stop, GROUP))
def test_torques_are_the_identity(first: int) -> None:
    """τ_d = inverse dynamics − gravity + A(q) (w − base wrench) on trees without mimics, for any wrench."""
    for seed in range(first, first + GROUP):
        robot = random_robot(seed, kinds=KINDS[seed % 3], shape=SHAPES[(seed // 3) % 3], mimics=False).robot()
        q, dq, ddq = random_motion(robot, seed, POSES)
        expected = robot.base_wrench(q, dq, ddq)
        wrench = wrenches(seed, POSES) + (expected if seed % 2 else 0.0)
        torques = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
        torques += np.array([base_matrix(robot, q[k]) @ (wrench - expected)[k] for k in range(POSES)])
        scale = size_of(robot, np.concatenate([wrench, expected]))
        for kernel in (robot, ReferenceKernel(robot.tree)):
            assert np.abs(kernel.base_torques(q, wrench, dq, ddq) - torques).max() <= 1e-12 * scale, seed
            one = kernel.base_torques(q[0], wrench[0], dq[0], ddq[0])
            assert one.shape == (robot.n,) and np.abs(one - torques[0]).max() <= 1e-12 * scale, seed


@pytest.mark.parametrize("name", ["puma560", "wam7", "scara", "dualarm19"])
def test_the_identity_holds_to_rounding_on_real_arms(name: str) -> None:
    """Within 1e-12 N m, also tilted and loaded; 2e-13 was measured upright."""
    for robot in (cp.load(name), loaded(cp.load(name).mounted(rpy=(0.4, -0.8, 1.1)))):
        q, dq, ddq = 0.3 * np.stack(random_motion(robot, 1, 300))
        expected = robot.base_wrench(q, dq, ddq)
        wrench = expected + wrenches(1, 300)
        A = np.array([base_matrix(robot, pose) for pose in q])
        torques = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
        torques += np.einsum("kij,kj->ki", A, wrench - expected)
        for kernel in (robot, ReferenceKernel(robot.tree)):
            assert np.abs(kernel.base_torques(q, wrench, dq, ddq) - torques).max() <= 1e-12


def loaded(robot: cp.Robot) -> cp.Robot:
    """Return the robot with a load on its last link."""
    return robot.with_payload(1.3, com=(0.05, -0.02, 0.1), link=robot.link_names[-1], inertia=0.01 * np.eye(3))


@pytest.mark.parametrize("first", range(0, SEEDS.stop, GROUP))
def test_what_the_model_says_gives_the_model_torques(first: int) -> None:
    """With w = base_wrench the torque at the joints, τ_d + g, is inverse dynamics: with mimics, mounts and payloads."""
    for seed in range(first, first + GROUP):
        robot = arm(seed)
        q, dq, ddq = random_motion(robot, seed, POSES)
        wrench = robot.base_wrench(q, dq, ddq)
        moving = robot.inverse_dynamics(q, dq, ddq)
        scale = size_of(robot, wrench)
        for kernel in (robot, ReferenceKernel(robot.tree)):
            torques = kernel.base_torques(q, wrench, dq, ddq)
            assert np.abs(torques + robot.gravity(q) - moving).max() <= 1e-12 * scale, seed
            assert np.abs(kernel.base_torques(q, robot.base_wrench(q))).max() <= 1e-12 * scale, seed


@pytest.mark.parametrize("seed", range(24))
def test_a_payload_is_felt_or_taken_for_torque(seed: int) -> None:
    """A load of the model changes nothing at rest; one that it lacks looks like torque at the joints that carry it."""
    made = random_robot(seed, shape="chain", mimics=False, loads=False)
    robot, tip = made.robot(), f"link{len(made.description.joints) - 1}"
    carrying = robot.with_payload(2.0, com=(0.1, 0.05, -0.2), link=tip)
    q = random_motion(robot, seed, POSES)[0]
    wrench = carrying.base_wrench(q)
    scale = size_of(carrying, wrench)
    assert np.abs(carrying.base_torques(q, wrench)).max() <= 1e-12 * scale
    weight = carrying.gravity(q) - robot.gravity(q)
    assert np.abs(robot.base_torques(q, wrench) - weight).max() <= 1e-12 * scale


def test_mimic_joints_add_to_their_masters() -> None:
    """The row of a master is its own plus the multiplier times its follower's, here written out."""
    body = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
    text = f"""<robot name="gripper"><link name="base"/><link name="a">{body}</link><link name="b">{body}</link>
    <joint name="turn" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
    <joint name="slide" type="prismatic"><parent link="base"/><child link="b"/><origin xyz="0 0 2"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="9" velocity="9"/><mimic joint="turn" multiplier="-0.5" offset="0.2"/></joint>
    </robot>"""
    robot = cp.Robot(parse_urdf(text.encode()))
    assert robot.joint_names == ("turn",)
    for kernel in (robot, ReferenceKernel(robot.tree)):
        at_rest = robot.base_wrench([0.3])
        torque = kernel.base_torques([0.3], at_rest + np.array([1.0, 10.0, 100.0, 1e3, 1e4, 7.0]))
        assert torque == pytest.approx([7.0 - 0.5 * 10.0], abs=1e-9)


# ----------------------------------------------------------------------------------------------- the other algorithms


@pytest.mark.parametrize("first", range(0, SEEDS.stop, GROUP))
def test_the_joint_analyzer_says_the_same(first: int) -> None:
    """The patent's two stages, link by link and in the native plate kernel, on trees of every kind."""
    for seed in range(first, first + GROUP):
        robot = arm(seed)
        q, dq, ddq = random_motion(robot, seed, POSES)
        wrench = wrenches(seed, POSES)
        dynamic = wrench - robot.base_wrench(q)
        scale = size_of(robot, np.concatenate([wrench, robot.base_wrench(q, dq, ddq)]))
        sensor = cp.BaseSensor(robot)
        for kernel in (robot, ReferenceKernel(robot.tree)):
            torques = kernel.base_torques(q, wrench, dq, ddq)
            for other in (
                analyzed(robot.tree, q, dynamic, dq, ddq),
                JointAnalyzer(robot).torques(q, dynamic, dq, ddq),
                sensor.joint_torques(q, wrench, dq, ddq, form="full"),
            ):
                assert np.abs(torques - other).max() <= 1e-12 * scale, seed
            at_rest = sensor.joint_torques(q, wrench, form="full")
            assert np.abs(kernel.base_torques(q, wrench) - at_rest).max() <= 1e-12 * scale, seed


@pytest.mark.parametrize("first", range(0, 60, GROUP))
def test_pinocchio_says_the_same(first: int) -> None:
    """Its rnea, its base force and the rows of its Jacobian at the base origin, mimics by its own expansion."""
    from library.twin import agree
    from library.twin_pinocchio import pin, pinocchio_twin

    for seed in range(first, first + GROUP):
        made = random_robot(seed)
        robot = made.robot()
        twin = pinocchio_twin(made.description, made.mount, made.gravity_world, made.loads)
        motion = random_motion(robot, seed, POSES)
        wrench = wrenches(seed, POSES)
        expected = []
        for q, dq, ddq, w in zip(*motion, wrench, strict=True):
            # At the world's origin, which is the base's.
            twists = pin.computeJointJacobians(twin.model, twin.data, twin._configuration(q)).reshape(6, -1)
            A = (np.vstack([made.mount.T @ twists[:3], made.mount.T @ twists[3:]]) @ twin.E).T
            torque = twin.inverse_dynamics(q, dq, ddq) - twin.gravity(q)
            expected.append(torque + A @ (w - twin.base_wrench(q, dq, ddq)))
        for kernel in (robot, ReferenceKernel(robot.tree)):
            found = kernel.base_torques(motion[0], wrench, *motion[1:])
            agree(found, np.array(expected), "base torques", oracle="Pinocchio", where=f"[seed {seed}]")


@pytest.mark.parametrize("seed", range(30))
def test_a_push_on_the_arm_is_measured_at_the_joints_that_carry_it(seed: int) -> None:
    """Pinocchio moves the arm against a contact; what the plate then feels gives its torques, up to the contact's link.

    A joint that does not carry the link feels nothing of the contact, but the plate does: its torque is wrong there.
    """
    from library.twin_pinocchio import pin, pinocchio_twin

    made = random_robot(seed, mimics=False, shape=SHAPES[seed % 3], joints=2 + seed % 9)
    robot = made.robot()
    twin = pinocchio_twin(made.description, made.mount, made.gravity_world, made.loads)
    q, dq, ddq = (rows[0] for rows in random_motion(robot, seed, 1))
    body = robot.n - 1
    joint = twin.model.getJointId(robot.tree.body_names[body])
    push = np.random.default_rng(seed).normal(size=6) * 20.0  # world axes, at the world's origin: force, moment
    pin.forwardKinematics(twin.model, twin.data, twin._configuration(q))
    contacts = pin.StdVec_Force()
    contacts.extend([pin.Force.Zero() for _ in range(twin.model.njoints)])
    contacts[joint] = twin.data.oMi[joint].actInv(pin.Force(push))
    torques = twin.E.T @ pin.rnea(
        twin.model, twin.data, twin._configuration(q), twin.E @ dq, twin.E @ ddq, contacts
    ) - twin.gravity(q)
    plate = twin.base_wrench(q, dq, ddq) - np.concatenate([made.mount.T @ push[:3], made.mount.T @ push[3:]])
    found = robot.base_torques(q, plate, dq, ddq)
    carrying = ancestors(robot.tree, body)
    others = [i for i in range(robot.n) if i not in carrying]
    scale = max(1.0, float(np.abs(plate).max()))
    assert np.abs((found - torques)[carrying]).max() <= 1e-10 * scale
    if others:
        assert np.abs((found - torques)[others]).max() > 1e-3


# ------------------------------------------------------------------------------------------------------------ the signs


def test_the_wrench_is_what_the_plate_exerts_on_the_robot() -> None:
    """A plate that turns a pendulum forwards about its axis shows a positive torque; the opposite wrench does not."""
    robot = cp.load("pendulum")
    axis, origin = robot.tree.rotation[0][:, 2], robot.tree.origin[0]
    for kernel in (robot, ReferenceKernel(robot.tree)):
        at_rest = robot.base_wrench([0.7])
        push = np.concatenate([np.zeros(3), 3.0 * axis])
        assert kernel.base_torques([0.7], at_rest + push) == pytest.approx([3.0], abs=1e-12)
        force = np.array([1.0, 2.0, 3.0])
        lever = np.concatenate([force, np.zeros(3)])
        expected = -axis @ np.cross(origin, force)
        assert kernel.base_torques([0.7], at_rest + lever) == pytest.approx([expected], abs=1e-12)
        assert abs(kernel.base_torques([0.7], -at_rest)[0]) > abs(robot.gravity([0.7])[0]) > 0.1


@pytest.mark.parametrize("name", ["puma560", "wam7", "scara", "gantry"])
def test_a_flipped_wrench_is_wrong_by_twice_the_weight(name: str) -> None:
    """At rest the right sign gives nothing, the wrong one −2 A(q) w: what a plate declared wrongly would show."""
    robot = cp.load(name).mounted(rpy=(0.3, 0.2, 0.0))
    q = random_motion(robot, 2, 20)[0]
    wrench = robot.base_wrench(q)
    for kernel in (robot, ReferenceKernel(robot.tree)):
        assert np.abs(kernel.base_torques(q, wrench)).max() <= 1e-11
        flipped = kernel.base_torques(q, -wrench)
        assert np.abs(flipped).max() > 5.0
        A = np.array([base_matrix(robot, pose) for pose in q])
        assert np.abs(flipped + 2.0 * np.einsum("kij,kj->ki", A, wrench)).max() <= 1e-10


def test_one_linear_joint_has_a_closed_form() -> None:
    """[Patent], claim 26, for the wrench on the robot: f = z · F_d; a slider's is its mass times its acceleration."""
    robot = cp.load("slider")
    first = robot.tree.q_index[0]
    q, dq, ddq = np.zeros((3, robot.n))
    q[first], dq[first], ddq[first] = 0.1, 0.2, -1.7
    axis = robot.tree.rotation[0][:, 2]
    for kernel in (robot, ReferenceKernel(robot.tree)):
        wrench = robot.base_wrench(q, dq, ddq)
        force = kernel.base_torques(q, wrench, dq, ddq)[first]
        assert force == pytest.approx(robot.tree.mass.sum() * ddq[first], abs=1e-11)
        assert force == pytest.approx(axis @ (wrench - robot.base_wrench(q))[:3], abs=1e-11)
        moment = np.array([0.0, 0.0, 0.0, 5.0, -4.0, 3.0])
        assert kernel.base_torques(q, wrench + moment, dq, ddq)[first] == pytest.approx(force, abs=1e-11)


# ----------------------------------------------------------------------------------------------------- what is accepted


def test_a_missing_rate_is_zero() -> None:
    """None, left out and zeros are the same; one wrench serves all poses."""
    robot = cp.load("wam7")
    q, dq, ddq = random_motion(robot, 6, 9)
    wrench, still = wrenches(6, 9), np.zeros_like(q)
    for kernel in (robot, ReferenceKernel(robot.tree)):
        for given, meant in (((), (still, still)), ((dq, None), (dq, still)), ((None, ddq), (still, ddq))):
            difference = kernel.base_torques(q, wrench, *given) - kernel.base_torques(q, wrench, *meant)
            assert np.abs(difference).max() <= 1e-12
        spread = np.tile(wrench[0], (9, 1))
        assert np.array_equal(kernel.base_torques(q, wrench[0], dq, ddq), kernel.base_torques(q, spread, dq, ddq))


def test_unphysical_inertias_are_refused_for_motion_only() -> None:
    """At rest no inertia is used; a motion needs real ones."""
    text = b"""<robot name="odd"><link name="base"/><link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    robot = cp.Robot(parse_urdf(text))
    for kernel in (robot, ReferenceKernel(robot.tree)):
        assert kernel.base_torques([0.1], np.zeros(6)).shape == (1,)
        for motion in ([[0.1], [0.2]], [[0.1], None], [None, [0.2]]):
            with pytest.raises(cp.errors.PhysicalConsistencyError, match="arm"):
                kernel.base_torques([0.1], np.zeros(6), *motion)


def test_a_robot_without_joints_has_no_torques() -> None:
    """A lone block gives empty rows."""
    block = cp.Robot(parse_urdf(b'<robot name="block"><link name="block"/></robot>'))
    for kernel in (block, ReferenceKernel(block.tree)):
        for q in (np.zeros(0), np.zeros((3, 0))):
            assert kernel.base_torques(q, np.ones(6), q, q).shape == q.shape


@native_only
@pytest.mark.parametrize("name", set_names())
def test_a_row_does_not_depend_on_its_place_or_on_threads(name: str) -> None:
    """Each row of a batch has the same bytes alone in a batch and on any number of threads."""
    with using(name):
        robot = cp.load("dualarm19")
    q, dq, ddq = random_motion(robot, 5, 9000)
    wrench = wrenches(5, 9000)
    whole = robot.base_torques(q, wrench, dq, ddq)
    part = slice(1237, 1251)
    assert robot.base_torques(q[part], wrench[part], dq[part], ddq[part]).tobytes() == whole[part].tobytes()
    try:
        kernels.set_batch_threads(2)
        assert robot.base_torques(q, wrench, dq, ddq).tobytes() == whole.tobytes()
        wrench[8000, 4] = np.nan
        with pytest.raises(cp.InputError, match=r"wrench\['my'\] in pose 8000"):
            robot.base_torques(q, wrench, dq, ddq)
    finally:
        kernels.set_batch_threads(1)


@native_only
@pytest.mark.parametrize("seed", range(12))
def test_every_instruction_set_agrees_where_the_weight_is_all_there_is(seed: int) -> None:
    """Where gravity nearly cancels the wrench, what is left agrees to 1e-12 of what went in."""
    robot = arm(seed)
    q, dq, ddq = random_motion(robot, seed, 33)
    wrench = robot.base_wrench(q, dq, ddq) + 1e-3 * wrenches(seed, 33)
    expected = ReferenceKernel(robot.tree).base_torques(q, wrench, dq, ddq)
    scale = size_of(robot, wrench)
    for each in installed_sets():
        found = each.kernel(robot.tree).base_torques(q, wrench, dq, ddq)
        assert np.abs(found - expected).max() <= 1e-12 * scale, each.label
