"""Gravity torques from link vectors, as the lecture derives them, and the centre of mass."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..description.rotations import cross
from .kinematics import body_poses, gather
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
