"""Random trees against Pinocchio: every quantity, on both kernels, single and batched."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from counterpoise.description import JointKind
from counterpoise.dynamics.reference import ReferenceKernel
from library.random_robots import RandomRobot, random_motion, random_robot
from library.twin import Coordinates, agree, compare
from library.twin_pinocchio import PinocchioTwin, pin, pinocchio_twin

Array = npt.NDArray[np.float64]

SEEDS = 200
GROUP = 20
POSES = 5
"""One more than the four poses that an AVX2 lane holds, so that a batch also has a remainder."""


@cache
def robot_of(seed: int) -> RandomRobot:
    """Return the robot of a seed, made once: several tests look at the same ones."""
    return random_robot(seed)


def twin_of(made: RandomRobot) -> PinocchioTwin:
    return pinocchio_twin(made.description, made.mount, made.gravity_world, made.loads)


def some_links(names: tuple[str, ...], seed: int) -> list[str]:
    """The base and up to three more links."""
    rng = np.random.default_rng(seed)
    return [names[0], *(str(name) for name in rng.permutation(names[1:])[:3])]


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_random_trees(first: int) -> None:
    """Torques, base wrench, centre of mass, mass, poses and Jacobians of twenty seeds.

    Joints are in depth-first order, also where the file defines them before their parents; mimics are left out.
    """
    for seed in range(first, first + GROUP):
        made = robot_of(seed)
        robot = made.robot()
        assert list(robot.joint_names) == Coordinates(made.description).names, f"seed {seed}"
        links = some_links(robot.link_names, seed)
        compare(robot, twin_of(made), random_motion(robot, seed, POSES), links, f"seed {seed}")


def test_mass_matrices() -> None:
    """Thirty random trees, mimics and unbounded joints among them, against its inverse dynamics, column by column.

    Where a twin's joints are in depth-first order, which its composite rigid body algorithm needs, against that too.
    """
    composite = 0
    for seed in range(30):
        made = robot_of(seed)
        robot, twin = made.robot(), twin_of(made)
        poses = random_motion(robot, seed, 3)[0]
        batch = robot.mass_matrix(poses)
        assert batch.shape == (3, robot.n, robot.n)
        for q, M in zip(poses, batch, strict=True):
            still = np.zeros(robot.n)
            moved = [twin.inverse_dynamics(q, still, push) - twin.gravity(q) for push in np.eye(robot.n)]
            agree(M, np.transpose(moved), "mass matrix", oracle="Pinocchio", where=f"[seed {seed}]")
            if all(list(each) == list(range(each[0], each[0] + len(each))) for each in twin.model.subtrees):
                upper = np.triu(pin.crba(twin.model, twin.data, twin._configuration(q)))
                theirs = twin.E.T @ (upper + np.triu(upper, 1).T) @ twin.E
                agree(M, theirs, "mass matrix (crba)", oracle="Pinocchio", where=f"[seed {seed}]")
                composite += 1
            np.testing.assert_allclose(robot.mass_matrix(q), M, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(M, M.T)
    assert composite >= 10


def test_the_longest_trees_and_wide_batches() -> None:
    """Thirty joints, and batches on both sides of a lane's width."""
    for seed, count in zip(range(500, 506), (1, 3, 4, 8, 9, 17), strict=True):
        made = random_robot(seed, joints=30)
        robot = made.robot()
        compare(robot, twin_of(made), random_motion(robot, seed, count), some_links(robot.link_names, seed), seed)


def test_rotor_inertia_of_mimics_is_reflected_to_their_master() -> None:
    """A follower at k times the speed adds k² of its own rotor."""
    for seed in range(60):
        made = robot_of(seed)
        coordinates = Coordinates(made.description)
        rotors = {joint.name: joint.rotor_inertia for joint in made.description.joints}
        E, _ = coordinates.expansion(coordinates.all_names)
        expected = np.diag(E.T @ np.diag([rotors[name] for name in coordinates.all_names]) @ E)
        np.testing.assert_allclose(made.robot().rotor_inertia, expected, rtol=1e-13, err_msg=f"seed {seed}")


def test_parameters_and_regressors() -> None:
    """Ten numbers per body in Pinocchio's order and joint frames; its regressors, column by column."""
    for seed in range(300, 330):
        # Unbounded joints stand in a turned frame in the twin, so parameters could not be compared entry by entry.
        made = random_robot(seed, kinds=(JointKind.REVOLUTE, JointKind.PRISMATIC), mimics=False)
        robot, twin = made.robot(), twin_of(made)
        model, data = twin.model, twin.data
        q, dq, ddq = (rows[0] for rows in random_motion(robot, seed, 1))
        # Their order of joints is ours: rows of E say which of ours each of theirs is.
        theirs = [int(np.flatnonzero(twin.E[:, joint])[0]) for joint in range(robot.n)]

        def check(ours: Array, expected: Array, what: str, seed: int = seed) -> None:
            agree(ours, expected, what, oracle="Pinocchio", where=f"[seed {seed}]")

        parameters = np.array([model.inertias[1 + joint].toDynamicParameters() for joint in theirs])
        check(robot.inertial_parameters[10:].reshape(-1, 10), parameters, "inertial parameters")
        check(robot.gravity_parameters.reshape(-1, 4), parameters[:, :4], "gravity parameters")

        still = np.zeros(robot.n)
        static = pin.computeJointTorqueRegressor(model, data, twin._configuration(q), still, still)
        static = static.reshape(robot.n, robot.n, 10)[np.ix_(theirs, theirs)][:, :, :4].reshape(robot.n, -1)
        moving = pin.computeJointTorqueRegressor(model, data, twin._configuration(q), twin.E @ dq, twin.E @ ddq)
        moving = moving.reshape(robot.n, robot.n, 10)[np.ix_(theirs, theirs)].reshape(robot.n, -1)
        # W: each body's regressor in its joint frame, moved to the base origin and turned to base axes.
        pin.rnea(model, data, twin._configuration(q), twin.E @ dq, twin.E @ ddq)
        pin.forwardKinematics(model, data, twin._configuration(q))
        blocks = []
        for joint in theirs:
            body = pin.bodyRegressor(data.v[1 + joint], data.a_gf[1 + joint])
            wrench = data.oMi[1 + joint].toDualActionMatrix() @ body
            blocks.append(np.vstack([made.mount.T @ wrench[:3], made.mount.T @ wrench[3:]]))
        for kernel in (robot, ReferenceKernel(robot.tree)):
            check(kernel.gravity_regressor(q), static, "gravity regressor")
            check(kernel.inertial_regressor(q, dq, ddq), moving, "inertial regressor")
            check(kernel.base_wrench_regressor(q, dq, ddq)[:, 10:], np.hstack(blocks), "base wrench regressor")


def test_the_random_robots_cover_every_feature() -> None:
    """The comparison above is worth what its robots contain."""
    made = [robot_of(seed) for seed in range(SEEDS)]
    joints = [joint for robot in made for joint in robot.description.joints]
    masters = {(id(robot), joint.name) for robot in made for joint in robot.description.joints if joint.mimic}
    counted = {
        **{f"{kind} joints": sum(joint.kind is kind for joint in joints) for kind in JointKind},
        "mimic joints": sum(joint.mimic is not None for joint in joints),
        "mimics with offset": sum(joint.mimic is not None and joint.mimic.offset != 0.0 for joint in joints),
        "mimics of mimics": sum(
            joint.mimic is not None and (id(robot), joint.mimic.master) in masters
            for robot in made
            for joint in robot.description.joints
        ),
        "child frames off the joint": sum(not np.array_equal(joint.T_joint_child, np.eye(4)) for joint in joints),
        "tilted mounts": sum(not np.array_equal(robot.mount, np.eye(3)) for robot in made),
        "base links with mass": sum(robot.description.links[0].inertia is not None for robot in made),
        "payloads on the base": sum(load.link == "base" for robot in made for load in robot.loads),
        "payloads on welded links": sum(
            joint.kind is JointKind.FIXED and joint.child == load.link
            for robot in made
            for load in robot.loads
            for joint in robot.description.joints
        ),
        "robots of 25 to 30 joints": sum(
            25 <= sum(joint.kind is not JointKind.FIXED for joint in robot.description.joints) <= 30 for robot in made
        ),
        "branched robots": sum(
            len({joint.parent for joint in robot.description.joints}) < len(robot.description.joints) for robot in made
        ),
        "weightless moving links": sum(
            joint.kind is not JointKind.FIXED and link.inertia is None
            for robot in made
            for joint in robot.description.joints
            for link in robot.description.links
            if link.name == joint.child
        ),
    }
    assert {what: count for what, count in counted.items() if count < 6} == {}, counted
