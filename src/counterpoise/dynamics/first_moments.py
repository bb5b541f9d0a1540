"""Gravity compensation by cumulative first moments, as the WAM document formulates it [Dellin2008].

Frame j sits at the far end of link j with z along joint j + 1 (standard DH). The vectors μ_j are all that gravity
needs: no mass appears in the recursion.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError, ModelError
from ..foundation import Array
from .kinematics import body_coordinates, relative_pose
from .tree import REVOLUTE, Tree


def first_moments(tree: Tree, convention: str) -> Array:
    """Return μ_j = m_j r_cj − M_j r_mj in frame j [kg m], shape (n, 3) ([Dellin2008], eqs. (9) and (14)).

    M_j is the mass that joint j carries, r_cj the link's centre of mass and r_mj its joint's origin, both in frame j.

    Raises:
        ModelError: The robot is not a serial chain of rotary joints given in standard DH.
    """
    links = end_links(tree, convention)
    carried = np.cumsum(tree.mass[::-1])[::-1]
    result = np.empty((tree.n, 3))
    for j, link in enumerate(links):
        # From joint j, r_cj − r_mj = c and −r_mj = o, the origin of joint j + 1: μ = m c + (M − m) o. The document's
        # frame j sits at that origin; where a placement moves the joint away from the DH frame, the joint counts.
        moment = tree.first_moment[j].copy()
        if j + 1 < tree.n:
            moment += carried[j + 1] * tree.origin[j + 1]
        result[j] = tree.link_rotation[link].T @ moment
    return result


def gravity_from_first_moments(tree: Tree, convention: str, q: Array, mu: Array) -> Array:
    """Return the holding torques from μ alone, tip to base, shape (k, n), for q (k, n) and mu (n, 3).

    τ⃗_j = R_{j+1}^j τ⃗_{j+1} + g^j × μ_j ([Dellin2008], eq. (14)); the joint's torque is the component of τ⃗_j along joint
    j's axis, which is z of frame j − 1 (eq. (15)) unless a placement turns the joint.
    """
    links = end_links(tree, convention)
    if mu.shape != (tree.n, 3):
        raise InputError(f"mu has shape {mu.shape}; expected ({tree.n}, 3): one first moment per joint")
    coordinates = body_coordinates(tree, q)
    # R_{j-1}^j of the document turns frame j − 1 into frame j; its transpose, built here, turns j into j − 1.
    R_previous_j = np.empty((len(q), tree.n, 3, 3))
    gravity = np.empty((len(q), tree.n, 3))
    down = np.tile(tree.gravity_base, (len(q), 1))
    R_body_previous = np.eye(3)
    for j, link in enumerate(links):
        R_parent_body, _ = relative_pose(tree, j, coordinates[:, j])
        R_previous_j[:, j] = R_body_previous.T @ R_parent_body @ tree.link_rotation[link]
        down = np.einsum("kji,kj->ki", R_previous_j[:, j], down)
        gravity[:, j] = down
        R_body_previous = tree.link_rotation[link]
    torques = np.empty((len(q), tree.n))
    torque = np.zeros((len(q), 3))
    for j in reversed(range(tree.n)):
        torque = torque + np.cross(gravity[:, j], mu[j])
        axis_j = tree.link_rotation[links[j]][2]  # joint axis, z of the body frame, in frame j
        torques[:, j] = torque @ axis_j
        torque = (R_previous_j[:, j] @ torque[:, :, None])[:, :, 0]
    return torques


def end_links(tree: Tree, convention: str) -> list[int]:
    """Return the index of each joint's own link, whose frame is DH frame j.

    Raises:
        ModelError: The robot is not a serial chain of rotary joints given in standard DH.
    """
    serial = all(int(parent) == j - 1 for j, parent in enumerate(tree.parent))
    rotary = bool(np.all(tree.kind == REVOLUTE))
    if convention != "dh-standard" or not serial or not rotary or tree.bodies != tree.n:
        raise ModelError(
            "cumulative first moments are defined for serial arms with rotary joints in standard DH only "
            f"([Dellin2008]); this robot is {'serial' if serial else 'branched'}, "
            f"{'all rotary' if rotary else 'with linear joints'} and described as '{convention}'. "
            "gravity_parameters and base_gravity_parameters serve any robot"
        )
    return [int(np.flatnonzero(tree.link_body == j)[0]) for j in range(tree.n)]
