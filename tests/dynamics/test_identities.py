"""What mechanics demands of any robot, whoever computes it: catalog arms, upright and tilted, and random trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.transform import Rotation

import counterpoise as cp
from counterpoise.description import Joint, JointKind, Link, catalog_names, checked
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.foundation import rotation_from_vector, transform
from library.random_robots import random_inertia, random_motion, random_robot, random_rotation
from library.twin import agree

Array = npt.NDArray[np.float64]

RANDOM = 30
POSES = 3
SUBJECTS = [
    *catalog_names(),
    *(f"{name}, tilted" for name in catalog_names()),
    *(f"random {seed}" for seed in range(2000, 2000 + RANDOM)),
]


@cache
def subject(name: str) -> cp.Robot:
    """A robot by the name that a failing test shows. All have mass in every moving body."""
    if name.startswith("random "):
        seed = int(name.split()[1])
        return random_robot(seed, joints=1 + seed % 14, massless=False).robot()
    robot = cp.load(name.removesuffix(", tilted"))
    return robot.mounted(rpy=(0.4, -0.7, 0.2), gravity=(0.5, 0.1, -9.6)) if name.endswith(", tilted") else robot


@pytest.fixture(params=SUBJECTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def robot(name: str) -> cp.Robot:
    return subject(name)


@pytest.fixture
def motion(robot: cp.Robot) -> tuple[Array, Array, Array]:
    return random_motion(robot, 11, POSES)


def same(ours: npt.ArrayLike, expected: npt.ArrayLike, what: str, *, scale: float = 1.0, within: float = 1e-10) -> None:
    """Agree relative to ``scale``, the size of the terms that an identity adds up."""
    size = max(1.0, scale)
    agree(np.asarray(ours) / size, np.asarray(expected) / size, what, oracle="identity", tolerance=within)


def size_of(values: npt.ArrayLike) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def derivative(function: Callable[[float], Array], step: float = 0.2, levels: int = 6) -> Array:
    """Derivative at 0 by central differences and Richardson's extrapolation: about 1e-12 for sines of the angle."""
    column = []
    for level in range(levels):
        h = step / 2**level
        column.append((function(h) - function(-h)) / (2.0 * h))
    for order in range(1, levels):
        column = [fine + (fine - coarse) / (4.0**order - 1.0) for coarse, fine in pairwise(column)]
    return column[0]


def links_of(robot: cp.Robot) -> list[str]:
    """The base, the last leaf and one link in between."""
    names = robot.link_names
    return list(dict.fromkeys([names[0], robot.tree.leaves[-1], names[len(names) // 2]]))


# --- linear in the parameters ---------------------------------------------------------------------------------------


def test_gravity_regressor_times_parameters_is_gravity(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    q = motion[0]
    for kernel in (robot, ReferenceKernel(robot.tree)):
        g = robot.gravity(q)
        same(kernel.gravity_regressor(q) @ robot.gravity_parameters, g, "Y p = g", scale=size_of(g))
        same(kernel.gravity_regressor(q[0]) @ robot.gravity_parameters, g[0], "Y p = g", scale=size_of(g))


def test_base_regressor_times_base_parameters_is_gravity(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    q = motion[0]
    g = robot.gravity(q)
    same(robot.base_gravity_regressor(q) @ robot.base_gravity_parameters, g, "Y_b p_b = g", scale=size_of(g))
    same(robot.base_gravity_regressor(q[1]) @ robot.base_gravity_parameters, g[1], "Y_b p_b = g", scale=size_of(g))


def test_base_wrench_regressor_times_parameters_is_the_base_wrench(
    robot: cp.Robot, motion: tuple[Array, Array, Array]
) -> None:
    """Moving and at rest; ten parameters for the base link, then ten per body."""
    for kernel in (robot, ReferenceKernel(robot.tree)):
        w, still = robot.base_wrench(*motion), robot.base_wrench(motion[0])
        W, W_still = kernel.base_wrench_regressor(*motion), kernel.base_wrench_regressor(motion[0])
        same(W @ robot.inertial_parameters, w, "W φ = base wrench", scale=size_of(w))
        same(W_still @ robot.inertial_parameters, still, "W φ = base wrench", scale=size_of(still))


def test_inertial_regressor_times_parameters_is_inverse_dynamics(
    robot: cp.Robot, motion: tuple[Array, Array, Array]
) -> None:
    """Moving and at rest; ten parameters per moving body, and none for the base, which no joint carries."""
    moving = robot.inertial_parameters[10:]
    for kernel in (robot, ReferenceKernel(robot.tree)):
        torque, g = robot.inverse_dynamics(*motion), robot.gravity(motion[0])
        same(kernel.inertial_regressor(*motion) @ moving, torque, "Y φ = inverse dynamics", scale=size_of(torque))
        same(kernel.inertial_regressor(motion[0]) @ moving, g, "Y φ = gravity at rest", scale=size_of(g))
        one = kernel.inertial_regressor(*(rows[0] for rows in motion)) @ moving
        same(one, torque[0], "Y φ = inverse dynamics", scale=size_of(torque))


# --- gravity is the gradient of an energy ---------------------------------------------------------------------------


def test_gravity_is_the_gradient_of_the_potential_energy(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """Of the whole weight at the centre of mass."""
    q = motion[0][0]
    g = robot.gravity(q)
    for joint in range(robot.n):
        along = np.eye(robot.n)[joint]

        def potential(h: float, along: Array = along) -> Array:
            return np.array([-robot.total_mass * robot.gravity_base @ robot.center_of_mass(q + h * along)])

        energy = size_of(potential(0.0)) + size_of(g)
        same(derivative(potential), g[[joint]], "dU/dq = g", scale=energy, within=1e-9)


def test_the_sign_of_gravity_on_a_pendulum() -> None:
    """By hand: raised to the side by +90°, 1.5 kg at 0.4 m must be pushed up with +m g l; the load is the negative."""
    pendulum = cp.load("pendulum")
    assert pendulum.gravity([np.pi / 2])[0] == pytest.approx(1.5 * 9.81 * 0.4, rel=1e-12)
    height = [pendulum.center_of_mass([angle])[2] for angle in (0.0, np.pi / 2)]
    assert height[1] > height[0]


# --- kinematics -----------------------------------------------------------------------------------------------------


def test_jacobian_is_the_derivative_of_the_pose(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """Linear rows move the origin; angular rows turn the link: Ṙ = [ω]× R."""
    q, dq = motion[0][0], motion[1][0]
    for at in links_of(robot):
        rate = derivative(lambda t, at=at: robot.forward_kinematics(q + t * dq, at=at), step=0.05)
        spin = rate[:3, :3] @ robot.forward_kinematics(q, at=at)[:3, :3].T
        omega = 0.5 * np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]])
        expected = np.concatenate([rate[:3, 3], omega])
        same(robot.jacobian(q, at=at) @ dq, expected, "J q̇ = d/dt pose", scale=size_of(expected), within=1e-9)


def test_poses_are_rigid(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    for at in links_of(robot):
        for pose in robot.forward_kinematics(motion[0], at=at):
            same(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), "R Rᵀ = 1", within=1e-13)
            assert np.linalg.det(pose[:3, :3]) > 0.0
            np.testing.assert_array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("tilt", [0.0, 1e-300, 1e-170, 1e-160, 1e-17, 1e-9, 1e-6, 1e-3])
def test_axes_almost_along_z(side: float, tilt: float) -> None:
    """Exporters write 1e-17 for 0: an axis next to ±z turns the link about itself, and about nothing else."""
    axis = np.array([tilt, -0.5 * tilt, side])
    axis /= np.linalg.norm(axis)
    joint = Joint("joint", JointKind.REVOLUTE, "base", "link", axis=axis)
    robot = cp.Robot(checked(name="one", links=[Link("base"), Link("link")], joints=[joint]))
    for angle in (0.0, 0.7, -3.0):
        turned = robot.forward_kinematics([angle])[:3, :3]
        np.testing.assert_allclose(turned, Rotation.from_rotvec(angle * axis).as_matrix(), rtol=0, atol=1e-15)
    np.testing.assert_allclose(robot.jacobian([0.3])[3:, 0], axis, rtol=0, atol=1e-15)


def test_virtual_work(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """τ · δq = w · δx for every wrench and every displacement, one wrench per pose or one for all."""
    q, dq, _ = motion
    wrenches = np.random.default_rng(5).uniform(-20.0, 20.0, (POSES, 6))
    for at in links_of(robot):
        moved = np.einsum("kij,kj->ki", robot.jacobian(q, at=at), dq)
        work = np.sum(wrenches * moved, axis=1)
        scale = size_of(moved) * 20.0
        same(np.sum(robot.wrench_torque(q, wrenches, at=at) * dq, axis=1), work, "virtual work", scale=scale)
        one = np.sum(robot.wrench_torque(q, wrenches[0], at=at) * dq, axis=1)
        same(one, moved @ wrenches[0], "virtual work", scale=scale)


# --- the plate ------------------------------------------------------------------------------------------------------


def test_the_plate_carries_the_weight(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """At rest: force −m g, and its moment is that of the weight at the centre of mass."""
    for q in motion[0]:
        wrench = robot.base_wrench(q)
        weight = robot.total_mass * robot.gravity_base
        same(wrench[:3], -weight, "force = −m g", scale=size_of(weight), within=1e-12)
        moment = np.cross(robot.center_of_mass(q), -weight)
        same(wrench[3:], moment, "moment = c × −m g", scale=size_of(moment))


def test_upright_the_plate_pushes_up() -> None:
    """The sign that a user sees first: (0, 0, +m g)."""
    for name in catalog_names():
        robot = cp.load(name)
        force = robot.base_wrench(np.zeros(robot.n))[:3]
        np.testing.assert_allclose(force, [0.0, 0.0, 9.81 * robot.total_mass], rtol=1e-13, atol=1e-12)


def test_the_plate_feels_the_change_of_momentum(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """Newton's second law for the whole robot: force + m g = m · acceleration of the centre of mass."""
    q, dq, ddq = (rows[0] for rows in motion)

    def velocity(t: float) -> Array:
        ahead = q + t * dq + 0.5 * t * t * ddq
        return derivative(lambda h: robot.center_of_mass(ahead + h * (dq + t * ddq)), step=0.05)

    acceleration = derivative(velocity, step=0.05, levels=4)
    force = robot.base_wrench(q, dq, ddq)[:3] + robot.total_mass * robot.gravity_base
    same(force, robot.total_mass * acceleration, "F + m g = m a", scale=size_of(force), within=1e-8)


CHAINS = [*catalog_names(), *(f"chain {seed}" for seed in range(2100, 2120))]


@pytest.mark.parametrize("name", CHAINS)
def test_torque_of_the_first_joint_from_the_plate(name: str) -> None:
    """The base wrench without the base link's weight, moved to the first joint, is what that joint transmits."""
    if name.startswith("chain "):
        made = random_robot(int(name.split()[1]), shape="chain", mimics=False)
        robot, description = made.robot(), made.description
    else:
        robot = cp.load(name).mounted(rpy=(0.2, 0.5, -0.3))
        description = robot.description
    joint, T_base_joint = first_joint(description.joints, description.root)
    axis, origin = T_base_joint[:3, :3] @ joint.axis, T_base_joint[:3, 3]
    for q, dq, ddq in zip(*random_motion(robot, 4, POSES), strict=True):
        wrench = robot.base_wrench(q, dq, ddq)
        own = robot.base_wrench_regressor(q, dq, ddq)[:, :10] @ robot.inertial_parameters[:10]
        np.testing.assert_allclose(own[:3], -robot.tree.base_mass * robot.gravity_base, rtol=1e-12, atol=1e-12)
        force, moment = (wrench - own)[:3], (wrench - own)[3:]
        expected = axis @ (moment - np.cross(origin, force)) if joint.kind.rotates else axis @ force
        torque = robot.inverse_dynamics(q, dq, ddq)[0]
        same(torque, expected, "first joint's torque from the plate", scale=size_of(wrench))


def first_joint(joints: tuple[Joint, ...], root: str) -> tuple[Joint, Array]:
    """The only moving joint next to the base and its frame in the base, through fixed joints."""
    pose, link = np.eye(4), root
    while True:
        (joint,) = [joint for joint in joints if joint.parent == link]
        pose = pose @ joint.T_parent_joint
        if joint.kind is not JointKind.FIXED:
            return joint, pose
        pose, link = pose @ joint.T_joint_child, joint.child


# --- motion ---------------------------------------------------------------------------------------------------------


def mass_matrix(robot: cp.Robot, q: Array) -> Array:
    """M(q), column by column from inverse dynamics: unit accelerations at zero speed, gravity taken off."""
    n = robot.n
    poses = np.tile(q, (n, 1))
    return (robot.inverse_dynamics(poses, np.zeros((n, n)), np.eye(n)) - robot.gravity(poses)).T


def test_mass_matrix_is_symmetric_and_positive(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    for q in motion[0]:
        M = mass_matrix(robot, q)
        gravity = size_of(robot.gravity(q))
        same(M, M.T, "M = Mᵀ", scale=size_of(M) + gravity)
        assert np.linalg.eigvalsh(0.5 * (M + M.T))[0] > 0.0


def test_power_is_the_change_of_kinetic_energy(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """d/dt ½ q̇ᵀ M q̇ = q̇ᵀ (τ − g): Coriolis and centrifugal terms do no work of their own."""
    q, dq, ddq = (rows[0] for rows in motion)

    def energy(t: float) -> Array:
        speed = dq + t * ddq
        return np.array([0.5 * speed @ mass_matrix(robot, q + t * dq + 0.5 * t * t * ddq) @ speed])

    torque = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
    scale = size_of(torque) * size_of(dq) * robot.n
    same(derivative(energy, step=0.05), [dq @ torque], "dT/dt = q̇ᵀ(τ − g)", scale=scale, within=1e-9)


def test_centrifugal_torque_is_quadratic_in_speed(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """τ(q, 2 q̇, 0) − g = 4 (τ(q, q̇, 0) − g), and reversing the speed changes nothing."""
    q, dq, _ = motion
    none = np.zeros_like(q)
    once, twice, back = (robot.inverse_dynamics(q, factor * dq, none) - robot.gravity(q) for factor in (1.0, 2.0, -1.0))
    scale = size_of(twice) + size_of(robot.gravity(q))
    same(twice, 4.0 * once, "C(2 q̇) = 4 C(q̇)", scale=scale)
    same(back, once, "C(−q̇) = C(q̇)", scale=scale)


def test_a_robot_at_rest_feels_gravity_alone(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    q = motion[0]
    none = np.zeros_like(q)
    g, wrench = robot.gravity(q), robot.base_wrench(q)
    same(robot.inverse_dynamics(q, none, none), g, "τ(q, 0, 0) = g", scale=size_of(wrench), within=1e-12)
    same(robot.base_wrench(q, none, none), wrench, "w(q, 0, 0) = w(q)", scale=size_of(wrench), within=1e-13)


# --- mount and gravity ----------------------------------------------------------------------------------------------


def bytes_of(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> list[bytes]:
    """Every result, to the last bit."""
    q = motion[0]
    results = [
        *(robot.gravity(q), robot.inverse_dynamics(*motion), robot.base_wrench(*motion), robot.center_of_mass(q)),
        *(robot.gravity_regressor(q), robot.base_wrench_regressor(*motion), robot.gravity_parameters),
        *(robot.base_parameters.regrouping, robot.mount, robot.gravity_world, robot.gravity_base),
        np.array(robot.total_mass),
        *(robot.forward_kinematics(q, at=link) for link in links_of(robot)),
    ]
    return [result.tobytes() for result in results]


def test_mounting_and_mounting_back_is_exact(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """Identical bytes, also after a mount by angles, a matrix or another gravity."""
    before = bytes_of(robot, motion)
    elsewhere = robot.mounted(rpy=(0.1, 2.0, -1.0)).mounted(rotation=random_rotation(np.random.default_rng(1)))
    elsewhere = elsewhere.mounted(gravity=(0.0, 1.0, 2.0))
    assert bytes_of(elsewhere, motion) != before
    assert bytes_of(elsewhere.mounted(rotation=robot.mount, gravity=robot.gravity_world), motion) == before


def test_a_rounded_mount_survives_a_payload_exactly() -> None:
    """A rotation typed with seven digits is made exact once; taking a load on and off must not turn the base again."""
    arm = cp.load("wam4")
    for seed in range(200):
        rng = np.random.default_rng(seed)
        robot = arm.mounted(rotation=np.round(random_rotation(rng), 7))
        assert robot.with_payload(1.0).without_payload().mount.tobytes() == robot.mount.tobytes(), f"seed {seed}"


def test_mount_turns_gravity_and_nothing_else(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """Poses stay; gravity in the base is Rᵀ times gravity in the world; giving that gravity upright is the same."""
    q = motion[0]
    R = random_rotation(np.random.default_rng(8))
    turned = robot.mounted(rotation=R)
    same(turned.gravity_base, R.T @ robot.gravity_world, "gravity_base = Rᵀ gravity_world", within=1e-14)
    for at in links_of(robot):
        np.testing.assert_array_equal(turned.forward_kinematics(q, at=at), robot.forward_kinematics(q, at=at))
    upright = robot.mounted(rotation=np.eye(3), gravity=turned.gravity_base)
    np.testing.assert_array_equal(upright.gravity(q), turned.gravity(q))


def test_turning_the_base_about_gravity_changes_no_torque(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    q = motion[0]
    down = robot.gravity_world / np.linalg.norm(robot.gravity_world)
    turned = robot.mounted(rotation=rotation_from_vector(1.3 * down) @ robot.mount)
    same(turned.gravity(q), robot.gravity(q), "yaw about gravity", scale=size_of(robot.gravity(q)))


def test_gravity_torques_scale_with_gravity(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """Doubling is exact in binary; tripling rounds; without gravity nothing is left."""
    q, dq, ddq = motion
    g = robot.gravity(q)
    np.testing.assert_array_equal(robot.mounted(gravity=2.0 * robot.gravity_world).gravity(q), 2.0 * g)
    same(robot.mounted(gravity=3.0 * robot.gravity_world).gravity(q), 3.0 * g, "linear in gravity", scale=size_of(g))
    weightless = robot.mounted(gravity=(0.0, 0.0, 0.0))
    np.testing.assert_array_equal(weightless.gravity(q), np.zeros_like(q))
    np.testing.assert_array_equal(weightless.base_wrench(q), np.zeros((POSES, 6)))
    torques = weightless.inverse_dynamics(q, dq, ddq) + g
    same(torques, robot.inverse_dynamics(q, dq, ddq), "τ = τ_inertial + g", scale=size_of(torques) + size_of(g))


# --- payload --------------------------------------------------------------------------------------------------------


def test_payload_on_and_off_is_exact(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """Identical bytes with every load taken off again."""
    bare = robot.without_payload()
    before = bytes_of(bare, motion)
    loaded = bare.with_payload(1.7, com=(0.1, -0.2, 0.3), link=bare.tree.leaves[-1])
    loaded = loaded.with_payload(0.4, link=bare.tree.leaves[0])
    assert bytes_of(loaded, motion) != before
    assert bytes_of(loaded.without_payload(), motion) == before


def test_payload_is_a_welded_link(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    """The same robot with one more fixed link of that mass, on any link, the base included."""
    q = motion[0]
    rng = np.random.default_rng(17)
    for at in links_of(robot):
        body = random_inertia(rng)
        place = transform(random_rotation(rng), rng.uniform(-0.2, 0.2, 3))
        com = place[:3, :3] @ body.com + place[:3, 3]
        tensor = place[:3, :3] @ body.tensor_com @ place[:3, :3].T
        loaded = robot.with_payload(body.mass, com=com.tolist(), link=at, inertia=0.5 * (tensor + tensor.T))
        old = robot.description
        welded = checked(
            name=old.name,
            links=[*old.links, Link("welded load", body)],
            joints=[*old.joints, Joint("weld of the load", JointKind.FIXED, at, "welded load", place)],
            convention=old.convention,
        )
        twin = cp.Robot(welded, mount=robot.mount, gravity=robot.gravity_world, payloads=robot.payloads)
        assert loaded.total_mass == pytest.approx(twin.total_mass, rel=1e-14)
        wrench, torques = twin.base_wrench(*motion), twin.inverse_dynamics(*motion)
        scale = size_of(wrench) + size_of(torques)
        same(loaded.gravity(q), twin.gravity(q), "payload = welded link", scale=scale, within=1e-12)
        same(loaded.inverse_dynamics(*motion), torques, "payload = welded link", scale=scale, within=1e-12)
        same(loaded.base_wrench(*motion), wrench, "payload = welded link", scale=scale, within=1e-12)


def test_order_of_payloads_does_not_matter(robot: cp.Robot, motion: tuple[Array, Array, Array]) -> None:
    loads = [(0.7, (0.1, 0.0, 0.2)), (2.5, (-0.1, 0.3, 0.0)), (0.01, (0.5, 0.5, -0.5))]
    at = robot.tree.leaves[-1]
    one, other = robot, robot
    for mass, com in loads:
        one = one.with_payload(mass, com=com, link=at)
    for mass, com in reversed(loads):
        other = other.with_payload(mass, com=com, link=at)
    torques = one.inverse_dynamics(*motion)
    same(other.inverse_dynamics(*motion), torques, "order of payloads", scale=size_of(torques), within=1e-12)


def test_holding_a_weight_takes_minus_jacobian_transpose_times_the_weight(
    robot: cp.Robot, motion: tuple[Array, Array, Array]
) -> None:
    """A wrench w acting on the arm changes the holding torque by −Jᵀ w; wrench_torque is the arm's own exertion."""
    q = motion[0]
    for at in links_of(robot):
        weight = np.concatenate([2.2 * robot.gravity_base, np.zeros(3)])
        change = robot.with_payload(2.2, link=at).gravity(q) - robot.gravity(q)
        same(change, -robot.wrench_torque(q, weight, at=at), "Δg = −Jᵀ w", scale=size_of(robot.gravity(q)))


def test_heavier_means_heavier() -> None:
    """Held out level, every kilogram at the tip costs the shoulder more torque of the same sign."""
    arm = cp.load("planar3")
    torques = [arm.with_payload(mass, link="link3").gravity(np.zeros(3)) for mass in (0.0, 1.0, 2.0)]
    assert np.all(torques[0] > 0.0)
    assert np.all(np.diff(torques, axis=0) > 0.0)
