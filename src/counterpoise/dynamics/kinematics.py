"""Kinematics of a compiled tree, for one or many poses at once: poses, Jacobians, joint torques of a wrench at a link.

Throughout the specification, ``k`` is the number of poses and ``b`` that of moving bodies; results are in the base
frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..foundation import Array, cross
from .tree import BASE, REVOLUTE, Tree


class BodyPoses(NamedTuple):
    """Where the bodies are.

    Attributes:
        rotation: R_base_body, shape (k, b, 3, 3). The third column is the joint's axis.
        origin: Body origin in the base frame [m], shape (k, b, 3).
    """

    rotation: Array
    origin: Array


def body_coordinates(tree: Tree, q: Array) -> Array:
    """Return each body's own joint coordinate, gain · q + offset (mimics included), shape (k, b)."""
    return q[:, tree.q_index] * tree.q_gain + tree.q_offset


def relative_pose(tree: Tree, body: int, coordinate: Array) -> tuple[Array, Array]:
    """Return (R_parent_body, p_parent_body), shapes (k, 3, 3) and (k, 3), for the body's coordinate of shape (k,)."""
    constant = tree.rotation[body]
    if tree.kind[body] == REVOLUTE:
        turn = np.zeros((len(coordinate), 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(coordinate)
        turn[:, 1, 0] = np.sin(coordinate)
        turn[:, 0, 1] = -turn[:, 1, 0]
        turn[:, 2, 2] = 1.0
        return constant @ turn, np.broadcast_to(tree.origin[body], (len(coordinate), 3))
    slide = tree.origin[body] + coordinate[:, None] * constant[:, 2]
    return np.broadcast_to(constant, (len(coordinate), 3, 3)), slide


def body_poses(tree: Tree, q: Array) -> BodyPoses:
    """Return the pose of every body in the base frame for q of shape (k, n)."""
    k = len(q)
    rotation = np.empty((k, tree.bodies, 3, 3))
    origin = np.empty((k, tree.bodies, 3))
    coordinates = body_coordinates(tree, q)
    for body, parent in enumerate(tree.parent):
        R, p = relative_pose(tree, body, coordinates[:, body])
        if parent == BASE:
            rotation[:, body], origin[:, body] = R, p
        else:
            rotation[:, body] = rotation[:, parent] @ R
            origin[:, body] = origin[:, parent] + (rotation[:, parent] @ p[:, :, None])[:, :, 0]
    return BodyPoses(rotation, origin)


def link_poses(tree: Tree, q: Array, link: int) -> Array:
    """Return T_base_link, shape (k, 4, 4), for q of shape (k, n)."""
    result = np.zeros((len(q), 4, 4))
    result[:, 3, 3] = 1.0
    body = tree.link_body[link]
    if body == BASE:
        result[:, :3, :3] = tree.link_rotation[link]
        result[:, :3, 3] = tree.link_origin[link]
        return result
    poses = body_poses(tree, q)
    result[:, :3, :3] = poses.rotation[:, body] @ tree.link_rotation[link]
    result[:, :3, 3] = poses.origin[:, body] + poses.rotation[:, body] @ tree.link_origin[link]
    return result


def ancestors(tree: Tree, body: int) -> list[int]:
    """Return the bodies from ``body`` up to the base, itself included."""
    chain: list[int] = []
    while body != BASE:
        chain.append(body)
        body = int(tree.parent[body])
    return chain


def gather(tree: Tree, per_body: Array, axis: int = -1) -> Array:
    """Sum a per-body axis (torques, Jacobian columns, regressor rows) into joints: a mimic adds gain times its own."""
    moved = np.moveaxis(per_body, axis, 0)
    result = np.zeros((tree.n, *moved.shape[1:]))
    for body in range(tree.bodies):
        result[tree.q_index[body]] += tree.q_gain[body] * moved[body]
    return np.moveaxis(result, 0, axis)


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
