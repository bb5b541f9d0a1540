"""Gravity torques from link vectors, as the lecture derives them, the centre of mass, and g = Z(q) s as in [Jo].

``jo_decomposition`` is the generalised decomposition of the on-line gravity paper.
"""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..foundation import Array, cross
from .kinematics import ancestors, body_poses, gather
from .tree import BASE, REVOLUTE, Tree


def gravity_torques(tree: Tree, q: Array) -> Array:
    r"""Return the torques that hold the arm still, shape (k, n) [N m or N], for q of shape (k, n).

    With d_ik the vector from joint i's origin to the centre of mass of body k, which joint i carries, and e_i joint i's
    axis, gravity loads joint i by e_i · Σ_k m_k d_ik × g ([Udai], static joint torque due to gravity). The actuator has
    to supply the opposite:

    .. math:: g_i(q) = -e_i \cdot \sum_{k \ge i} m_k\, d_{ik} \times g

    For a linear joint the load is the weight along the axis: g_i = −e_i · Σ_k m_k g.
    """
    poses = body_poses(tree, q)
    axes = poses.rotation[:, :, :, 2]
    # Σ_k m_k d_ik = Σ_k (m_k o_k + R_k m_k c_k) − (Σ_k m_k) o_i: sums over what joint i carries, from the leaves
    # inwards; with first moments m_k c_k nothing is divided by a zero mass.
    moments = tree.mass[:, None] * poses.origin + (poses.rotation @ tree.first_moment[None, :, :, None])[..., 0]
    masses = tree.mass.copy()
    for k in reversed(range(tree.bodies)):
        if (parent := tree.parent[k]) != BASE:
            moments[:, parent] += moments[:, k]
            masses[parent] += masses[k]
    turning = cross(moments - masses[:, None] * poses.origin, tree.gravity_base)
    load = np.where((tree.kind == REVOLUTE)[:, None], turning, masses[:, None] * tree.gravity_base)
    return gather(tree, -np.einsum("kbi,kbi->kb", axes, load))


def centers_of_mass(tree: Tree, q: Array) -> Array:
    """Return the centre of mass of the whole robot, base link included, in the base frame [m], shape (k, 3).

    [Jo], CoM of the robot: p_com = (1/M) Σ m_i p_i^com. A robot without any mass has its centre at the base origin.
    """
    poses = body_poses(tree, q)
    moment = tree.base_first_moment + tree.mass @ poses.origin
    moment = moment + np.sum((poses.rotation @ tree.first_moment[None, :, :, None])[..., 0], axis=1)
    total = tree.base_mass + tree.mass.sum()
    return moment / total if total > 0.0 else np.zeros_like(moment)


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
