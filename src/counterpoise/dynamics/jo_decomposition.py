"""The generalised decomposition g = Z(q) s of the on-line gravity paper [Jo]."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..description.rotations import cross
from ..errors import ModelError
from .kinematics import ancestors, body_poses
from .tree import REVOLUTE, Tree


def jo_decomposition(tree: Tree, q: Array) -> tuple[Array, Array]:
    r"""Return Z, shape (k, n, 3n(n+1)), and s, shape (3n(n+1),), with gravity = Z s, for q of shape (k, n).

    Row i of Z is zero outside its own block of 3(n + 1) columns, which is

    .. math:: -g^T [z_i]_\times \begin{bmatrix} I_3 & {}^0R_1 & \dots & {}^0R_n \end{bmatrix}

    ([Jo], section II-A and II-B, with g the gravity vector in the base frame instead of −g_c e_z). Block i of s holds,
    for every body j that joint i carries, m_j c_j plus the carried mass of each child times its offset, in joint frame
    j; zeros elsewhere. The first three entries of a block belong to the base frame and are always zero.

    Raises:
        ModelError: A joint is linear, or follows another one: the offsets in s would depend on q.
    """
    if np.any(tree.kind != REVOLUTE):
        linear = tree.body_names[int(np.flatnonzero(tree.kind != REVOLUTE)[0])]
        raise ModelError(
            f"the Z–s decomposition needs rotary joints only: '{linear}' is linear, so its offset, a part of the "
            "constant vector s, would change with q. gravity_regressor serves any robot"
        )
    n = tree.n
    if tree.bodies != n:
        raise ModelError("the Z–s decomposition is not defined for mimic joints; gravity_regressor serves any robot")
    poses = body_poses(tree, q)
    frames = np.concatenate(
        [np.broadcast_to(np.eye(3), (len(q), 1, 3, 3)), poses.rotation @ tree.joint_rotation], axis=1
    )
    width = 3 * (n + 1)
    Z = np.zeros((len(q), n, n * width))
    s = np.zeros(n * width)
    moments = _carried_moments(tree)
    for i in range(n):
        lever = cross(poses.rotation[:, i, :, 2], tree.gravity_base)  # −gᵀ[z]× = (z × g)ᵀ
        Z[:, i, i * width : (i + 1) * width] = np.einsum("kc,kfcj->kfj", lever, frames).reshape(len(q), width)
    for j in range(n):
        for i in ancestors(tree, j):
            s[i * width + 3 * (j + 1) : i * width + 3 * (j + 2)] = moments[j]
    return Z, s


def _carried_moments(tree: Tree) -> Array:
    """Return m_j c_j + Σ_children M_child r_child in joint frame j [kg m], shape (n, 3)."""
    carried = tree.mass.copy()
    moments = tree.first_moment.copy()
    for body in reversed(range(tree.bodies)):
        parent = tree.parent[body]
        if parent >= 0:
            carried[parent] += carried[body]
            moments[parent] += carried[body] * tree.origin[body]
    in_joint_frames: Array = np.einsum("bji,bj->bi", tree.joint_rotation, moments)
    return in_joint_frames
