"""Base gravity parameters: as many as the numerical rank, exact, and the same whatever the masses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description import Description, Inertia, Joint, JointKind, Link, Mimic, catalog_names, checked
from counterpoise.dynamics.regressors import gravity_regressors
from counterpoise.foundation import transform
from library.random_robots import RandomRobot, random_inertia, random_robot
from library.twin import agree

Array = npt.NDArray[np.float64]

TILT = (0.3, -0.4, 0.1)
SEEDS = range(3000, 3025)


COUNTS = {
    "dualarm19": (36, 38),
    "gantry": (1, 3),
    "pendulum": (2, 2),
    "planar3": (6, 6),
    "puma560": (10, 12),
    "puma560_akb": (10, 12),
    "scara": (1, 7),
    "slider": (1, 1),
    "titan2": (10, 12),
    "wam4": (6, 8),
    "wam7": (12, 14),
}
"""How many combinations of masses joint torques reveal, upright and tilted."""


@pytest.mark.parametrize("name", catalog_names())
def test_counts_of_the_catalog(name: str) -> None:
    """Two per rotary joint that is not always vertical, one per linear joint whose mass is felt."""
    robot = cp.load(name)
    found = len(robot.base_parameters.columns), len(robot.mounted(rpy=TILT).base_parameters.columns)
    assert found == COUNTS[name]
    for turned in (robot, robot.mounted(rpy=TILT)):
        check_basis(turned, 1, name)


def check_basis(robot: cp.Robot, seed: int, where: str) -> None:
    """The basis explains the regressor exactly, its own regressor has full rank, and the rank is the numerical one."""
    base = robot.base_parameters
    count = len(base.columns)
    poses = np.random.default_rng(seed).uniform(-np.pi, np.pi, (3 * len(base.regrouping.T) // robot.n + 20, robot.n))
    Y, Y_base = robot.gravity_regressor(poses), robot.base_gravity_regressor(poses)
    assert Y_base.shape == (len(poses), robot.n, count)
    np.testing.assert_array_equal(Y_base, Y[:, :, list(base.columns)], err_msg=where)
    agree(Y_base @ base.regrouping, Y, "Y = Y_b G", oracle="identity", where=where)
    agree(Y_base @ robot.base_gravity_parameters, robot.gravity(poses), "Y_b p_b = g", oracle="identity", where=where)

    scale = float(np.linalg.norm(robot.gravity_base)) * np.sqrt(len(poses))
    spectrum = np.linalg.svd(Y.reshape(-1, Y.shape[2]), compute_uv=False) / scale
    assert np.sum(spectrum > 1e-9) == count, f"{where}: rank {np.sum(spectrum > 1e-9)}, basis {count}"
    if count:
        own = np.linalg.svd(Y_base.reshape(-1, count), compute_uv=False) / scale
        # A wide gap, so that neither rank hangs on the threshold.
        assert own[-1] > 1e-6, f"{where}: smallest singular value {own[-1]}"
        assert np.all(spectrum[count:] < 1e-13), f"{where}: {spectrum[count:]}"
    assert list(base.columns) == sorted(set(base.columns))
    assert len(base.names) == count
    names = robot.gravity_parameter_names
    assert base.names == tuple(names[column] for column in base.columns)


@pytest.mark.parametrize("mimics", [False, True], ids=["independent", "mimics"])
@pytest.mark.parametrize("right_angles", [False, True], ids=["askew", "right angles"])
@pytest.mark.parametrize("tilted", [False, True], ids=["upright", "tilted"])
def test_random_trees(mimics: bool, right_angles: bool, tilted: bool) -> None:
    """Twenty-five trees each; only right angles make axes parallel, where the rules have their exceptions."""
    for seed in SEEDS:
        joints = 1 + seed % 12 if mimics else None  # the search for coupled columns grows with the fourth power
        made = random_robot(seed, joints=joints, mimics=mimics, right_angles=right_angles, tilted=tilted)
        check_basis(made.robot(), seed, f"seed {seed}")


def with_multipliers(made: RandomRobot, size: float) -> RandomRobot:
    """Every mimic at ±size of its master and without offset, as in grippers and parallelograms."""

    def changed(joint: Joint) -> Joint:
        if joint.mimic is None:
            return joint
        return replace(joint, mimic=Mimic(joint.mimic.master, float(size * np.sign(joint.mimic.multiplier))))

    old = made.description
    joints = [changed(joint) for joint in old.joints]
    return replace(made, description=checked(name=old.name, links=old.links, joints=joints))


@pytest.mark.parametrize("size", [1.0, 0.5, 0.0])
def test_mimics_of_simple_ratio(size: float) -> None:
    """Equal, half and no motion of the master, where columns coincide or vanish."""
    for seed in SEEDS:
        made = with_multipliers(random_robot(seed, joints=1 + seed % 12, right_angles=True), size)
        check_basis(made.robot(), seed, f"seed {seed}")


def gripper(first: Inertia, second: Inertia) -> Description:
    """A vertical yaw, a horizontal pitch, and two fingers that slide apart along ±y by one coordinate."""
    links = [
        Link("base"),
        Link("turret", random_inertia(np.random.default_rng(1))),
        Link("hand", random_inertia(np.random.default_rng(2))),
        Link("left", first),
        Link("right", second),
    ]
    ahead = transform(np.eye(3), [0.1, 0.0, 0.3])
    joints = [
        Joint("yaw", JointKind.REVOLUTE, "base", "turret"),
        Joint("pitch", JointKind.REVOLUTE, "turret", "hand", ahead, np.array([1.0, 0.0, 0.0])),
        Joint("grip", JointKind.PRISMATIC, "hand", "left", ahead, np.array([0.0, 1.0, 0.0])),
        Joint(
            "grip_mirror", JointKind.PRISMATIC, "hand", "right", ahead, np.array([0.0, -1.0, 0.0]), mimic=Mimic("grip")
        ),
    ]
    return checked(name="gripper", links=links, joints=joints)


def test_opposed_fingers_feel_the_difference_of_their_weights() -> None:
    """Fingers of equal mass hold each other up; unequal ones need the difference, and one column of the two is kept."""
    heavy, light = (replace(random_inertia(np.random.default_rng(3)), mass=mass) for mass in (0.5, 0.2))
    equal, unequal = cp.Robot(gripper(light, light)), cp.Robot(gripper(heavy, light))
    assert unequal.joint_names == ("yaw", "pitch", "grip")
    for pitch in (0.0, 0.4, -1.2):
        q = [0.7, pitch, 0.03]
        assert equal.gravity(q)[2] == pytest.approx(0.0, abs=1e-12)
        # The y axis of the hand rises with the pitch about x.
        assert unequal.gravity(q)[2] == pytest.approx((0.5 - 0.2) * 9.81 * np.sin(pitch), abs=1e-12)
    for robot in (equal, unequal):
        check_basis(robot, 5, "gripper")
        assert robot.base_parameters.names == ("pitch.my", "pitch.mz", "grip.m")
    first, second = robot.tree.body_names.index("grip"), robot.tree.body_names.index("grip_mirror")
    row = robot.base_parameters.regrouping[2]
    assert (row[4 * first], row[4 * second]) == (pytest.approx(1.0), pytest.approx(-1.0))


def variants(robot: cp.Robot) -> Iterator[cp.Robot]:
    """The same mechanism loaded again, with other masses, and with loads."""
    description = robot.description
    yield cp.Robot(description, mount=robot.mount, gravity=robot.gravity_world)
    rng = np.random.default_rng(9)
    links = [replace(link, inertia=random_inertia(rng)) for link in description.links]
    other = checked(name="other", links=links, joints=description.joints, convention=description.convention)
    yield cp.Robot(other, mount=robot.mount, gravity=robot.gravity_world)
    yield robot.with_payload(3.0, com=(0.1, 0.2, 0.3), link=robot.tree.leaves[0])


@pytest.mark.parametrize("name", [*catalog_names(), *(f"random {seed}" for seed in range(3100, 3115))])
def test_the_basis_depends_on_the_mechanism_alone(name: str) -> None:
    """The same columns and the same bytes from another load, other masses or a payload: a calibration file keeps its
    meaning."""
    robot = random_robot(int(name.split()[1]), joints=9).robot() if name.startswith("random ") else cp.load(name)
    for other in variants(robot):
        assert other.base_parameters.columns == robot.base_parameters.columns
        assert other.base_parameters.names == robot.base_parameters.names
        assert other.base_parameters.regrouping.tobytes() == robot.base_parameters.regrouping.tobytes()


@pytest.mark.parametrize("name", catalog_names())
def test_another_strength_of_gravity_keeps_the_basis(name: str) -> None:
    """On the Moon the same combinations are seen; without gravity, none."""
    robot = cp.load(name)
    moon = robot.mounted(gravity=(0.0, 0.0, -1.62)).base_parameters
    assert moon.columns == robot.base_parameters.columns
    np.testing.assert_allclose(moon.regrouping, robot.base_parameters.regrouping, rtol=0, atol=1e-14)
    weightless = robot.mounted(gravity=(0.0, 0.0, 0.0))
    assert weightless.base_parameters.columns == ()
    assert weightless.base_gravity_regressor(np.zeros((2, robot.n))).shape == (2, robot.n, 0)


def test_masses_that_no_torque_reveals_do_not_change_gravity() -> None:
    """Moving along the null space of the regrouping leaves every torque alone; along a base parameter it does not."""
    robot = cp.load("wam7")
    base = robot.base_parameters
    poses = np.random.default_rng(2).uniform(-2.0, 2.0, (20, robot.n))
    _, _, directions = np.linalg.svd(base.regrouping)
    hidden, seen = directions[len(base.columns) :], directions[: len(base.columns)]
    assert len(hidden) == 28 - 12
    Y = gravity_regressors(robot.tree, poses)
    np.testing.assert_allclose(Y @ hidden.T, 0.0, atol=1e-12)
    assert np.all(np.linalg.norm(Y @ seen.T, axis=(0, 1)) > 1e-2)
