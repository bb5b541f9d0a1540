r"""Joint torques from the wrench under the base: the identity that the joint analyzer of [Patent] comes down to.

With w the wrench that the plate exerts on the robot at the base origin and w_model the model's own base wrench in the
same motion,

.. math:: τ_d = τ_{ID}(q, \dot q, \ddot q) - g(q) + A(q) \big( w - w_{model}(q, \dot q, \ddot q) \big).

Where the plate reads what the model says, the joint torques equal those of inverse dynamics; any other wrench acts on
the bodies that a joint carries, and A(q) projects it on the joint's axis. This is what the specification here computes.
B q̈ and C q̇ of [Morel2000] have no line of their own in it: with w_g the model's wrench at rest, their sum is
A (w_model − w_g) − (τ_ID − g). Term by term they are in sensing/plate/joint_analyzer.py.

The native kernel (native/dynamics/base_torques.hpp) computes the same link by link, with (F_d, M_d) = w − w_g(q) and
the sums over the links j that joint i does not carry:

.. math:: τ_i = z_i^T \Big[ M_d^{O_i} - \sum_j
          \big( I_j \dot ω_j + ω_j × I_j ω_j + O_iG_j × m_j \dot V_{G_j} \big) \Big], \qquad
          f_i = z_i^T \Big[ F_d - \sum_j m_j \dot V_{G_j} \Big]

for a rotary and for a linear joint. On a chain this equals [Morel2000], eq. (21), with the sign of gravity corrected,
and [Patent], claims 6 and 14. The patent takes the opposite wrench, by the robot on its base: with it the brackets have
a minus in front, and their sums need a **plus**.
"""

from __future__ import annotations

import numpy as np

from ..foundation import Array, cross
from .gravity import gravity_torques
from .kinematics import BodyPoses, body_poses, gather
from .newton_euler import newton_euler
from .tree import REVOLUTE, Tree


def base_torques(tree: Tree, q: Array, wrench: Array, dq: Array, ddq: Array) -> Array:
    """Return τ_d, shape (k, n), for motions of shape (k, n) and wrenches of shape (k, 6): the identity above."""
    torques, expected = newton_euler(tree, q, dq, ddq)
    unexplained = wrench - expected
    matrix = joint_matrix(tree, body_poses(tree, q))
    return torques - gravity_torques(tree, q) + (matrix @ unexplained[:, :, None])[:, :, 0]


def joint_matrix(tree: Tree, poses: BodyPoses) -> Array:
    """Return A(q), shape (k, n, 6), from the joints' axes and origins ([Morel2000], eqs. (13), (14)).

    Row i is [(o_i × z_i)ᵀ, z_iᵀ] for a rotary joint: z_i · (m − o_i × f); [z_iᵀ, 0] for a linear one. Rows of a mimic
    joint are added to its master's, times the multiplier.
    """
    axes = poses.rotation[:, :, :, 2]
    rotary = (tree.kind == REVOLUTE)[None, :, None]
    force = np.where(rotary, cross(poses.origin, axes), axes)
    moment = np.where(rotary, axes, 0.0)
    return gather(tree, np.concatenate([force, moment], axis=2), axis=1)
