"""The WAM document's equations of one link, in the frames of our bodies ([Dellin2008], eqs. (14)–(19)).

For link j at rest, with t_j the torque that its parent exerts on it, taken at joint j,

    t_j − Σ_children R_c^j t_c = g^j × μ_j,        t_j = L c_j + Z τ_j                              (14), (15), (17)

τ_j is what the actuator of joint j applies, c_j are the two components that no actuator measures, and μ_j is the
cumulative first moment. The document writes this for a chain; on a tree the sum runs over all children of the link.

Our body frame j has joint j's own axis as z. The document's frame j differs from it by a constant rotation, and its
c_j by a turn in the plane across the axis: both leave lengths alone, so least squares, with a ridge or without, has the
same solution in either.

μ_j does not depend on the pose only if every joint is rotary. A linear joint moves masses along the links before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array, frozen
from ..description.rotations import skew
from ..dynamics.first_moments import end_links
from ..dynamics.kinematics import ancestors, body_poses
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE, REVOLUTE
from ..errors import InputError
from .regression import Solution
from .static_poses import StaticPoses, require_spread


@dataclass(frozen=True, slots=True, eq=False)
class FirstMomentSolution:
    """What the document's methods return.

    Attributes:
        solution: Base gravity parameters and offsets, with residuals and errors.
        mu: First moments in the joint frames [kg m], shape (n, 3). The data determine the torques and ``solution``; how
            μ is shared between neighbouring links is the method's choice.
    """

    solution: Solution
    mu: Array


@dataclass(frozen=True, slots=True, eq=False)
class LinkEquations:
    """What eqs. (14)–(19) need of k poses of a robot with n bodies, one per joint.

    Attributes:
        parent: Parent body of each body, BASE for the base, shape (n,).
        R_parent_body: Turns body axes into the parent's, shape (k, n, 3, 3).
        moment: [g^j]× in body axes [m/s²], shape (k, n, 3, 3).
        axes: z_i · z_j where joint i carries body j (itself included), else 0, shape (k, n, n).
    """

    parent: tuple[int, ...]
    R_parent_body: Array
    moment: Array
    axes: Array


def link_equations(robot: Robot, q: Array) -> LinkEquations:
    """Return the equations' matrices for poses q [rad], shape (k, n)."""
    tree = robot.tree
    rotation = body_poses(tree, q).rotation
    gravity = np.einsum("kbji,j->kbi", rotation, robot.gravity_base)
    R_parent_body = rotation.copy()
    for body, parent in enumerate(tree.parent):
        if parent != BASE:
            R_parent_body[:, body] = np.swapaxes(rotation[:, parent], 1, 2) @ rotation[:, body]
    axis = rotation[:, :, :, 2]
    carries = np.zeros((tree.bodies, tree.bodies))
    for body in range(tree.bodies):
        carries[ancestors(tree, body), body] = 1.0
    axes = np.einsum("kia,kja->kij", axis, axis) * carries
    return LinkEquations(tuple(int(parent) for parent in tree.parent), R_parent_body, skew(gravity), axes)


def require_first_moments(robot: Robot, poses: StaticPoses, method: str) -> None:
    """Refuse robots and poses that the document's methods cannot treat.

    Raises:
        InputError: A joint is linear or mimics another, a joint's torque was not measured, or the poses cannot
            calibrate any arm.
    """
    tree = robot.tree
    instead = 'method="weighted" serves any arm'
    linear = [name for name, kind in zip(tree.body_names, tree.kind, strict=True) if kind != REVOLUTE]
    if linear:
        raise InputError(
            f"method=\"{method}\" is for rotary joints: joint '{linear[0]}' is linear, and sliding it changes the "
            f"first moments of the links before it, which the method takes for constants ([Dellin2008]). {instead}"
        )
    if tree.bodies != tree.n:
        mimic = next(name for name in tree.body_names if name not in tree.joint_names)
        raise InputError(
            f"method=\"{method}\" needs the torque at every joint: joint '{mimic}' follows another and has none of its "
            f"own. {instead}"
        )
    require_spread(robot, poses)
    if not poses.measured.all():
        name = robot.joint_names[int(np.flatnonzero(~poses.measured)[0])]
        raise InputError(
            f"method=\"{method}\" needs the torque at every joint: that of '{name}' was not measured. {instead}"
        )


def base_from_first_moments(robot: Robot, mu: Array) -> Array:
    """Return the base gravity parameters that first moments amount to, shape (b,).

    Args:
        robot: A robot with rotary joints only.
        mu: First moments in the joint frames [kg m], shape (n, 3). Put as m c of massless bodies they give the same
            torques: the offsets between joints are already in them.
    """
    parameters = np.column_stack([np.zeros(len(mu)), mu])
    values: Array = robot.base_parameters.regrouping @ parameters.ravel()
    return values


def first_moments_from_base(robot: Robot, values: Array) -> Array:
    """Return first moments [kg m] in the joint frames, shape (n, 3), with what base parameters do not fix at zero."""
    parameters = np.zeros(4 * robot.n)
    parameters[list(robot.base_parameters.columns)] = values
    return parameters.reshape(-1, 4)[:, 1:]


def first_moments_in_dh_frames(robot: Robot, mu: Array) -> Array:
    """Turn first moments from the joint frames into the document's frames (standard DH, far end), shape (n, 3).

    Raises:
        ModelError: The robot is not a serial chain of rotary joints in standard DH.
    """
    tree = robot.tree
    links = end_links(tree, robot.description.convention)
    turned = [tree.link_rotation[link].T @ tree.joint_rotation[body] @ mu[body] for body, link in enumerate(links)]
    return frozen(turned)
