"""Matrices that multiply the unknown masses: joint torques and the base wrench are linear in them."""

from __future__ import annotations

import numpy as np

from ..foundation import Array, cross, skew
from .kinematics import BodyPoses, ancestors, body_poses, gather
from .newton_euler import BodyMotion, body_motion
from .tree import REVOLUTE, Tree

GRAVITY_PARAMETERS = ("m", "mx", "my", "mz")
"""Per moving body: mass [kg] and first moment m·c [kg m], in the joint frame."""
INERTIAL_PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Per body: the above and the inertia about the frame's origin [kg m²], in Pinocchio's order."""

TENSOR_ROWS = (0, 0, 1, 0, 1, 2)
"""Rows of Ixx, Ixy, Iyy, Ixz, Iyz, Izz in a 3 × 3 tensor ..."""
TENSOR_COLUMNS = (0, 1, 1, 2, 2, 2)
"""... and their columns."""


def gravity_parameters(tree: Tree) -> Array:
    """Return [m, m c] of every moving body in its joint frame, shape (4 b,)."""
    moments = np.einsum("bji,bj->bi", tree.joint_rotation, tree.first_moment)
    return np.concatenate([tree.mass[:, None], moments], axis=1).ravel()


def inertial_parameters(tree: Tree) -> Array:
    """Return the ten parameters of the base and of every moving body in its joint frame, shape (10 (b + 1),)."""
    to_joint = np.swapaxes(tree.joint_rotation, 1, 2)
    tensors = to_joint @ tree.inertia @ tree.joint_rotation
    moving = np.concatenate([gravity_parameters(tree).reshape(-1, 4), tensors[:, TENSOR_ROWS, TENSOR_COLUMNS]], axis=1)
    base = [tree.base_mass, *tree.base_first_moment, *tree.base_inertia[TENSOR_ROWS, TENSOR_COLUMNS]]
    return np.concatenate([base, moving.ravel()])


def gravity_regressors(tree: Tree, q: Array) -> Array:
    """Return Y with g(q) = Y p, shape (k, n, 4 b), for q of shape (k, n).

    From U = −Σ_k g · (m_k o_k + R_k m_k c_k) and g_i = ∂U/∂q_i: with w_i = z_i × g, a rotary joint i that carries body
    k has the entries w_i · (o_k − o_i) for m_k and R_kᵀ w_i for m_k c_k; a linear one −z_i · g and 0.
    """
    poses = body_poses(tree, q)
    joint_axes = poses.rotation @ tree.joint_rotation  # R_base_joint: parameters are in the file's joint frame
    axes = poses.rotation[:, :, :, 2]
    turns = tree.kind == REVOLUTE
    levers = np.where(turns[:, None], cross(axes, tree.gravity_base), 0.0)
    weights = np.where(turns, 0.0, -(axes @ tree.gravity_base))
    rows = np.zeros((len(q), tree.bodies, tree.bodies, 4))
    for k in range(tree.bodies):
        carriers = ancestors(tree, k)
        arms = poses.origin[:, k, None] - poses.origin[:, carriers]
        rows[:, carriers, k, 0] = weights[:, carriers] + np.sum(levers[:, carriers] * arms, axis=-1)
        rows[:, carriers, k, 1:] = levers[:, carriers] @ joint_axes[:, k]
    return gather(tree, rows.reshape(len(q), tree.bodies, 4 * tree.bodies), axis=1)


def inertial_regressors(tree: Tree, q: Array, dq: Array, ddq: Array) -> Array:
    """Return Y with M q̈ + C q̇ + g = Y φ, shape (k, n, 10 b), ten columns per moving body ([Khalil2002], [Luh1980]).

    The wrench that moves body k is linear in its ten parameters: columns F for the force and N for the moment about the
    body's origin (:func:`_body_wrench_columns`). A joint i that carries k feels z_i · (N + (o_k − o_i) × F) when rotary
    and z_i · F when linear.
    """
    poses = body_poses(tree, q)
    motion = body_motion(tree, poses, dq, ddq)
    axes = poses.rotation[:, :, :, 2]
    turns = (tree.kind == REVOLUTE)[:, None]
    rows = np.zeros((len(q), tree.bodies, 10 * tree.bodies))
    for k in range(tree.bodies):
        force, moment = _body_wrench_columns(tree, poses, motion, k)
        carriers = ancestors(tree, k)
        axis, turn = axes[:, carriers], turns[carriers]
        lever = np.where(turn, cross(axis, poses.origin[:, k, None] - poses.origin[:, carriers]), axis)
        rows[:, carriers, 10 * k : 10 * (k + 1)] = np.where(turn, axis, 0.0) @ moment + lever @ force
    return gather(tree, rows, axis=1)


def base_wrench_regressors(tree: Tree, q: Array, dq: Array, ddq: Array) -> Array:
    """Return W with base_wrench = W φ, shape (k, 6, 10 (b + 1)): the base link's ten columns first, then the bodies'.

    Each body's force counts as it is, its moment is taken about the base origin: o × F + N.
    """
    k = len(q)
    poses = body_poses(tree, q)
    motion = body_motion(tree, poses, dq, ddq)
    result = np.zeros((k, 6, 10 * (tree.bodies + 1)))
    result[:, :3, 0] = -tree.gravity_base
    result[:, 3:, 1:4] = -_moment_of_force_at_columns(np.tile(np.eye(3), (k, 1, 1)), np.tile(tree.gravity_base, (k, 1)))
    for body in range(tree.bodies):
        force, moment = _body_wrench_columns(tree, poses, motion, body)
        columns = slice(10 * (body + 1), 10 * (body + 2))
        result[:, :3, columns] = force
        result[:, 3:, columns] = moment + skew(poses.origin[:, body]) @ force
    return result


def _body_wrench_columns(tree: Tree, poses: BodyPoses, motion: BodyMotion, body: int) -> tuple[Array, Array]:
    """Return the columns of the force on a body and of the moment about its origin, base axes, shapes (k, 3, 10).

    With a the acceleration of the body's origin minus gravity, S = [α]× + [ω]×[ω]× and h = m c:
    F = a m + S R h and N = R h × a + R (I α + ω × I ω), the inertial terms in joint axes.
    """
    R = poses.rotation[:, body] @ tree.joint_rotation[body]
    w, dw, a = motion.omega[:, body], motion.alpha[:, body], motion.acceleration[:, body]
    force, moment = np.zeros((2, len(a), 3, 10))
    force[:, :, 0] = a
    force[:, :, 1:4] = (skew(dw) + skew(w) @ skew(w)) @ R
    moment[:, :, 1:4] = _moment_of_force_at_columns(R, a)
    w_joint, dw_joint = (np.einsum("kji,kj->ki", R, v) for v in (w, dw))
    moment[:, :, 4:] = R @ (_inertia_columns(dw_joint) + skew(w_joint) @ _inertia_columns(w_joint))
    return force, moment


def _inertia_columns(vector: Array) -> Array:
    """Return L(v) with I v = L(v) [Ixx, Ixy, Iyy, Ixz, Iyz, Izz]ᵀ, shape (k, 3, 6), for v of shape (k, 3)."""
    matrix = np.zeros((len(vector), 3, 6))
    for column, (row, other) in enumerate(zip(TENSOR_ROWS, TENSOR_COLUMNS, strict=True)):
        matrix[:, row, column] += vector[:, other]
        if row != other:
            matrix[:, other, column] += vector[:, row]
    return matrix


def _moment_of_force_at_columns(columns: Array, force: Array) -> Array:
    """Return the matrix whose j-th column is columns_j × force, shape (k, 3, 3)."""
    return -skew(force) @ columns
