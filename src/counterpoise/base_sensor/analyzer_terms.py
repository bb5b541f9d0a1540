r"""The joint analyzer's equations: from the dynamic base wrench to the joints' torques ([Patent], claims 6, 7, 14).

With w_d = (F_d, M_d) what the plate exerts on the robot beyond its weight, at the base origin, Newton and Euler written
for the base and then link by link outwards ([Morel2000], eqs. (5)–(9)) leave for the joint that moves body i

.. math:: τ_i = z_i^T \Big[ M_d^{O_i} - \sum_{j \notin D(i)}
          \big( I_j \dot ω_j + ω_j × I_j ω_j + O_iG_j × m_j \dot V_{G_j} \big) \Big], \qquad
          f_i = z_i^T \Big[ F_d - \sum_{j \notin D(i)} m_j \dot V_{G_j} \Big]

for a rotary and for a linear joint. D(i) are the bodies that joint i carries, the distal ones; on a chain the others
are those before it, on a tree also every other branch. [Patent] states the same for the opposite wrench, the robot's on
its base: there the brackets have a minus in front, and with it the sum needs a **plus**. A minus inside as well is
wrong by the whole sum twice over.

The first term is A(q) w_d with A = Jᵀ at the base origin ([Morel2000], eqs. (13), (14)); the others are B(q) q̈ and
C(q, q̇) q̇ (eqs. (15)–(20)). All terms together are :meth:`Robot.base_torques <counterpoise.Robot.base_torques>` of
w_d plus the model's gravity wrench, which computes them by an identity instead of link by link.
"""

from __future__ import annotations

from enum import Flag

import numpy as np

from ..description.frozen import Array
from ..dynamics.kinematics import BodyPoses, ancestors, body_poses, gather
from ..dynamics.newton_euler import body_motion
from ..dynamics.reference import unphysical
from ..dynamics.tree import REVOLUTE, Tree


class Term(Flag):
    """Terms of the analyzer; [Patent] claim 7 covers any subset of them."""

    WRENCH = 1
    """M_d about the joint's origin, or F_d for a linear joint: A(q) w_d."""
    ANGULAR = 2
    """I_j ω̇_j of every link that is not distal."""
    GYROSCOPIC = 4
    """ω_j × I_j ω_j."""
    LINEAR = 8
    """O_iG_j × m_j V̇_Gj, or m_j V̇_Gj for a linear joint."""
    LINKS = ANGULAR | GYROSCOPIC | LINEAR
    ALL = WRENCH | LINKS


def analyzed(tree: Tree, q: Array, dynamic_wrench: Array, dq: Array, ddq: Array, terms: Term = Term.ALL) -> Array:
    """Return τ_d, shape (k, n), for rows of shape (k, n) and wrenches (k, 6): the equations above, term by term."""
    poses = body_poses(tree, q)
    torques = np.zeros((len(q), tree.bodies))
    at_rest = not (np.any(dq) or np.any(ddq))
    # What every link's own motion takes: force, and moment about its centre of mass.
    force, moment, centers = link_wrenches(tree, poses, dq, ddq, terms)
    for i in range(tree.bodies):
        rotary = tree.kind[i] == REVOLUTE
        axis, origin = poses.rotation[:, i, :, 2], poses.origin[:, i]
        left = np.zeros((len(q), 3))  # what is left of the wrench in front of joint i: M about O_i, or F
        if Term.WRENCH in terms:
            f, m = dynamic_wrench[:, :3], dynamic_wrench[:, 3:]
            left += m - np.cross(origin, f) if rotary else f
        for j in range(tree.bodies):
            if at_rest or i in ancestors(tree, j):
                continue
            left -= moment[:, j] + np.cross(centers[:, j] - origin, force[:, j]) if rotary else force[:, j]
        torques[:, i] = np.sum(axis * left, axis=1)
    return gather(tree, torques)


def analyzed_rows(
    tree: Tree, q: Array, dynamic_wrench: Array, dq: Array | None, ddq: Array | None, terms: Term = Term.ALL
) -> Array:
    """Return τ_d of one pose or several, shape (n,) or (k, n).

    Args:
        tree: The robot.
        q: Joint positions, shape (n,) or (k, n).
        dynamic_wrench: w_d, shape (6,) or (k, 6).
        dq: Joint velocities, shape of q; None for rest.
        ddq: Joint accelerations, shape of q; None for zero.
        terms: Which terms to take.

    Raises:
        PhysicalConsistencyError: A motion is given and a link has an inertia that no real body has.
    """
    if tree.refusal and not (dq is None and ddq is None):
        raise unphysical(tree)
    wrench = np.broadcast_to(dynamic_wrench, (*q.shape[:-1], 6))
    rates = (np.zeros_like(q) if rate is None else rate for rate in (dq, ddq))
    q2, w2, dq2, ddq2 = (np.atleast_2d(rows) for rows in (q, wrench, *rates))
    torques = analyzed(tree, q2, w2, dq2, ddq2, terms)
    return torques if q.ndim == 2 else torques[0]


def link_wrenches(tree: Tree, poses: BodyPoses, dq: Array, ddq: Array, terms: Term) -> tuple[Array, Array, Array]:
    """Return (m V̇_G, I ω̇ + ω × I ω, G): force and moment about the centre of mass that move each body, and that centre.

    In base axes, without gravity, each of shape (k, b, 3) ([Morel2000], eq. (10), first line).
    """
    motion = body_motion(tree, poses, dq, ddq)
    omega, alpha = motion.omega, motion.alpha
    com = np.divide(tree.first_moment, tree.mass[:, None], out=np.zeros((tree.bodies, 3)), where=tree.mass[:, None] > 0)
    arm = (poses.rotation @ com[None, :, :, None])[..., 0]
    acceleration = (
        motion.acceleration + tree.gravity_base + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    )
    about_com = tree.inertia - tree.mass[:, None, None] * (
        np.sum(com**2, axis=1)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    )
    inertia = poses.rotation @ about_com @ np.swapaxes(poses.rotation, -1, -2)
    moment = np.zeros_like(omega)
    if Term.ANGULAR in terms:
        moment = moment + (inertia @ alpha[..., None])[..., 0]
    if Term.GYROSCOPIC in terms:
        moment = moment + np.cross(omega, (inertia @ omega[..., None])[..., 0])
    force = tree.mass[:, None] * acceleration if Term.LINEAR in terms else np.zeros_like(omega)
    return force, moment, poses.origin + arm
