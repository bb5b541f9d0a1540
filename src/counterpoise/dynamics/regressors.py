"""Matrices that multiply the unknown masses: gravity torques and the base wrench are linear in them."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from .kinematics import ancestors, body_poses, gather
from .newton_euler import body_motion
from .tree import REVOLUTE, Tree

GRAVITY_PARAMETERS = ("m", "mx", "my", "mz")
"""Per moving body: mass [kg] and first moment m·c [kg m], in the joint frame."""
INERTIAL_PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Per body: the above and the inertia about the frame's origin [kg m²], in Pinocchio's order."""

# Positions of Ixx, Ixy, Iyy, Ixz, Iyz, Izz in a 3 × 3 tensor.
_ROWS = (0, 0, 1, 0, 1, 2)
_COLUMNS = (0, 1, 1, 2, 2, 2)


def gravity_parameters(tree: Tree) -> Array:
    """Return [m, m c] of every moving body in its joint frame, shape (4 b,)."""
    moments = np.einsum("bji,bj->bi", tree.joint_rotation, tree.first_moment)
    return np.concatenate([tree.mass[:, None], moments], axis=1).ravel()


def inertial_parameters(tree: Tree) -> Array:
    """Return the ten parameters of the base and of every moving body in its joint frame, shape (10 (b + 1),)."""
    to_joint = np.swapaxes(tree.joint_rotation, 1, 2)
    tensors = to_joint @ tree.inertia @ tree.joint_rotation
    moving = np.concatenate([gravity_parameters(tree).reshape(-1, 4), tensors[:, _ROWS, _COLUMNS]], axis=1)
    base = [tree.base_mass, *tree.base_first_moment, *tree.base_inertia[_ROWS, _COLUMNS]]
    return np.concatenate([base, moving.ravel()])


def gravity_regressors(tree: Tree, q: Array) -> Array:
    """Return Y with g(q) = Y p, shape (k, n, 4 b), for q of shape (k, n).

    From U = −Σ_k g · (m_k o_k + R_k m_k c_k) and g_i = ∂U/∂q_i: with w_i = z_i × g, a rotary joint i that carries body
    k has the entries w_i · (o_k − o_i) for m_k and R_kᵀ w_i for m_k c_k; a linear one −z_i · g and 0.
    """
    poses = body_poses(tree, q)
    joint_axes = poses.rotation @ tree.joint_rotation  # R_base_joint: parameters are in the file's joint frame
    rows = np.zeros((len(q), tree.bodies, tree.bodies, 4))
    for k in range(tree.bodies):
        for i in ancestors(tree, k):
            axis = poses.rotation[:, i, :, 2]
            if tree.kind[i] == REVOLUTE:
                lever = np.cross(axis, tree.gravity_base)
                rows[:, i, k, 0] = np.sum(lever * (poses.origin[:, k] - poses.origin[:, i]), axis=1)
                rows[:, i, k, 1:] = np.einsum("kji,kj->ki", joint_axes[:, k], lever)
            else:
                rows[:, i, k, 0] = -(axis @ tree.gravity_base)
    return gather(tree, rows.reshape(len(q), tree.bodies, 4 * tree.bodies), axis=1)


def base_wrench_regressors(tree: Tree, q: Array, dq: Array, ddq: Array) -> Array:
    """Return W with base_wrench = W φ, shape (k, 6, 10 (b + 1)): the base link's ten columns first, then the bodies'.

    Per body, with a the acceleration of its origin minus gravity, S = [α]× + [ω]×[ω]× (base axes) and o its origin:
    force = a m + S R h; moment about the base origin = o × force + R h × a + R (I R-frame terms), h = m c.
    """
    k = len(q)
    poses = body_poses(tree, q)
    motion = body_motion(tree, poses, dq, ddq)
    result = np.zeros((k, 6, 10 * (tree.bodies + 1)))
    result[:, :3, 0] = -tree.gravity_base
    result[:, 3:, 1:4] = -_moment_of_force_at_columns(np.tile(np.eye(3), (k, 1, 1)), np.tile(tree.gravity_base, (k, 1)))
    R_joint = poses.rotation @ tree.joint_rotation
    for body in range(tree.bodies):
        R = R_joint[:, body]
        w, dw, a = motion.omega[:, body], motion.alpha[:, body], motion.acceleration[:, body]
        spin = skew(dw) + skew(w) @ skew(w)
        block = result[:, :, 10 * (body + 1) : 10 * (body + 2)]
        block[:, :3, 0] = a
        block[:, :3, 1:4] = spin @ R
        block[:, 3:, 1:4] = _moment_of_force_at_columns(R, a)
        w_body, dw_body = (np.einsum("kji,kj->ki", R, v) for v in (w, dw))
        block[:, 3:, 4:] = R @ (inertia_columns(dw_body) + skew(w_body) @ inertia_columns(w_body))
        block[:, 3:, :4] += skew(poses.origin[:, body]) @ block[:, :3, :4]
    return result


def skew(vector: Array) -> Array:
    """Return [v]× with [v]× u = v × u, shape (k, 3, 3), for v of shape (k, 3)."""
    matrix = np.zeros((len(vector), 3, 3))
    matrix[:, 0, 1], matrix[:, 0, 2], matrix[:, 1, 2] = -vector[:, 2], vector[:, 1], -vector[:, 0]
    matrix[:, 1, 0], matrix[:, 2, 0], matrix[:, 2, 1] = vector[:, 2], -vector[:, 1], vector[:, 0]
    return matrix


def inertia_columns(vector: Array) -> Array:
    """Return L(v) with I v = L(v) [Ixx, Ixy, Iyy, Ixz, Iyz, Izz]ᵀ, shape (k, 3, 6), for v of shape (k, 3)."""
    matrix = np.zeros((len(vector), 3, 6))
    for column, (row, other) in enumerate(zip(_ROWS, _COLUMNS, strict=True)):
        matrix[:, row, column] += vector[:, other]
        if row != other:
            matrix[:, other, column] += vector[:, row]
    return matrix


def _moment_of_force_at_columns(columns: Array, force: Array) -> Array:
    """Return the matrix whose j-th column is columns_j × force, shape (k, 3, 3)."""
    return -skew(force) @ columns
