"""Geometric Jacobians and the joint torques of a wrench at a link."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..description.rotations import cross
from .kinematics import ancestors, body_poses, gather
from .tree import BASE, REVOLUTE, Tree


def link_jacobians(tree: Tree, q: Array, link: int) -> Array:
    """Return the Jacobian of the link's origin, shape (k, 6, n): linear rows first, base axes.

    Column i is [z_i × (p − o_i); z_i] for a rotary joint that carries the link, [z_i; 0] for a linear one, else zero.
    """
    columns = np.zeros((len(q), 6, tree.bodies))
    body = int(tree.link_body[link])
    if body != BASE:
        poses = body_poses(tree, q)
        point = poses.origin[:, body] + poses.rotation[:, body] @ tree.link_origin[link]
        carriers = ancestors(tree, body)
        axes, turns = poses.rotation[:, :, :, 2][:, carriers], (tree.kind[carriers] == REVOLUTE)[:, None]
        moves = np.where(turns, cross(axes, point[:, None] - poses.origin[:, carriers]), axes)
        columns[:, :3, carriers] = np.swapaxes(moves, 1, 2)
        columns[:, 3:, carriers] = np.swapaxes(np.where(turns, axes, 0.0), 1, 2)
    return gather(tree, columns)


def wrench_torques(tree: Tree, q: Array, wrench: Array, link: int) -> Array:
    """Return Jᵀ w, shape (k, n): the torques with which the arm exerts w on its surroundings at the link's origin.

    Virtual work: τ · δq = w · δx for every δq ([Udai], external forces and torques, stacked force first here).
    """
    torques: Array = np.einsum("kij,ki->kj", link_jacobians(tree, q, link), wrench)
    return torques
