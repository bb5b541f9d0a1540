"""Random trees against MuJoCo, whose recursion, inertia representation and joint anchors differ from Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from library.random_robots import random_motion, random_robot
from library.twin import agree, compare
from library.twin_mujoco import mujoco, mujoco_spec, mujoco_twin

FIRST = 1000
"""Seeds that Pinocchio's tests do not use."""
SEEDS = 120
GROUP = 20
POSES = 5


@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, GROUP))
def test_random_trees(first: int) -> None:
    """Torques, base wrench, centre of mass, mass, poses and Jacobians of twenty seeds."""
    for seed in range(first, first + GROUP):
        made = random_robot(seed, massless=False)
        robot = made.robot()
        twin = mujoco_twin(made.description, made.mount, made.gravity_world, made.loads)
        rng = np.random.default_rng(seed)
        links = ["base", *(str(name) for name in rng.permutation(robot.link_names[1:])[:3])]
        compare(robot, twin, random_motion(robot, seed, POSES), links, f"seed {seed}")


def test_a_force_torque_sensor_under_the_base_reads_our_base_wrench() -> None:
    """MuJoCo's sensors on the base body report, at rest, +m g: what the ground exerts on the robot."""
    for name in ("wam4", "titan2", "scara"):
        robot = cp.load(name).mounted(rpy=(0.3, -0.5, 1.1))
        spec = mujoco_spec(robot.description, robot.mount, robot.gravity_world)
        spec.body(robot.link_names[0]).add_site(name="plate")
        for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
            spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="plate")
        model = spec.compile()
        data = mujoco.MjData(model)
        for q, dq, ddq in zip(*random_motion(robot, 3, 4), strict=True):
            data.qpos[:], data.qvel[:] = q, dq
            mujoco.mj_forward(model, data)
            data.qacc[:] = ddq
            mujoco.mj_rnePostConstraint(model, data)
            mujoco.mj_sensorAcc(model, data)
            agree(robot.base_wrench(q, dq, ddq), data.sensordata, "base force/torque sensor", oracle="MuJoCo")
