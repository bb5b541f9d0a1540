"""Joint torques of a motion as a matrix that multiplies the unknown masses and inertias."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from .kinematics import ancestors, body_poses, gather
from .robot import Robot
from .tree import REVOLUTE


def joint_regressors(robot: Robot, q: Array, dq: Array, ddq: Array) -> Array:
    """Return Y with inverse_dynamics(q, dq, ddq) = Y φ, shape (k, n, 10 b), φ = ``robot.inertial_parameters[10:]``.

    A body's columns of the base wrench regressor are the wrench (f, m) that must act on it, at the base origin. A
    rotary joint i that carries the body transmits z_i · (m − o_i × f), a linear one z_i · f.

    Args:
        robot: The robot, with its mounting: gravity is part of the torques.
        q: Joint positions [rad or m], shape (k, n).
        dq: Joint velocities, same shape.
        ddq: Joint accelerations, same shape.
    """
    tree = robot.tree
    wrenches = robot.base_wrench_regressor(q, dq, ddq)[:, :, 10:]
    poses = body_poses(tree, q)
    axes = poses.rotation[:, :, :, 2]
    revolute = (np.asarray(tree.kind) == REVOLUTE)[None, :, None]
    twists = np.concatenate(
        [np.where(revolute, np.cross(poses.origin, axes), axes), np.where(revolute, axes, 0.0)], axis=2
    )
    rows = np.zeros((len(q), tree.bodies, 10 * tree.bodies))
    for body in range(tree.bodies):
        columns = slice(10 * body, 10 * (body + 1))
        carriers = ancestors(tree, body)
        rows[:, carriers, columns] = twists[:, carriers] @ wrenches[:, :, columns]
    return gather(tree, rows, axis=1)
