"""Recursive Newton–Euler: joint torques and the wrench that the plate under the base exerts on the robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..foundation import Array, cross
from .kinematics import BodyPoses, body_poses, gather
from .tree import BASE, REVOLUTE, Tree


class BodyMotion(NamedTuple):
    """How the bodies move, in base axes, each array of shape (k, b, 3).

    Attributes:
        omega: Angular velocity [rad/s].
        alpha: Angular acceleration [rad/s²].
        acceleration: Acceleration of the body origin minus gravity [m/s²]: what an accelerometer there would feel.
    """

    omega: Array
    alpha: Array
    acceleration: Array


def body_motion(tree: Tree, poses: BodyPoses, dq: Array, ddq: Array) -> BodyMotion:
    """Propagate velocities and accelerations from the base outwards ([Luh1980], written in base axes).

    The base accelerates upwards with −g, so that weight needs no term of its own.
    """
    shape = (len(dq), tree.bodies, 3)
    omega, alpha, acceleration = np.empty(shape), np.empty(shape), np.empty(shape)
    still = np.zeros((len(dq), 3))
    for body, parent in enumerate(tree.parent):
        axis = poses.rotation[:, body, :, 2]
        rate = (dq[:, tree.q_index[body]] * tree.q_gain[body])[:, None]
        rate_change = (ddq[:, tree.q_index[body]] * tree.q_gain[body])[:, None]
        if parent == BASE:
            w, dw, a, arm = still, still, still - tree.gravity_base, poses.origin[:, body]
        else:
            w, dw, a = omega[:, parent], alpha[:, parent], acceleration[:, parent]
            arm = poses.origin[:, body] - poses.origin[:, parent]
        a = a + cross(dw, arm) + cross(w, cross(w, arm))
        if tree.kind[body] == REVOLUTE:
            omega[:, body] = w + axis * rate
            alpha[:, body] = dw + axis * rate_change + cross(w, axis * rate)
            acceleration[:, body] = a
        else:
            omega[:, body], alpha[:, body] = w, dw
            acceleration[:, body] = a + axis * rate_change + 2.0 * cross(w, axis * rate)
    return BodyMotion(omega, alpha, acceleration)


def body_wrenches(tree: Tree, poses: BodyPoses, motion: BodyMotion) -> tuple[Array, Array]:
    """Return (force, moment about the body origin) that must act on each body, base axes, shapes (k, b, 3) ([Luh1980]).

    With h = m c and the inertia about the body origin: F = m a + α × h + ω × (ω × h),
    N = I α + ω × I ω + h × a.
    """
    R = poses.rotation
    w, dw, a = motion
    h = (R @ tree.first_moment[None, :, :, None])[..., 0]
    inertia = R @ tree.inertia @ np.swapaxes(R, -1, -2)
    force = tree.mass[:, None] * a + cross(dw, h) + cross(w, cross(w, h))
    momentum = (inertia @ w[..., None])[..., 0]
    moment = (inertia @ dw[..., None])[..., 0] + cross(w, momentum) + cross(h, a)
    return force, moment


def newton_euler(tree: Tree, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array]:
    """Return the joint torques, shape (k, n), and the base wrench, shape (k, 6), for motions of shape (k, n).

    The base wrench is what the plate exerts on the robot, force first, in base axes at the base origin; the weight of
    the base link is part of it ([Morel2000], eqs. (8) and (10)–(12), with the sign of gravity corrected).
    """
    poses = body_poses(tree, q)
    force, moment = body_wrenches(tree, poses, body_motion(tree, poses, dq, ddq))
    torques = np.empty((len(q), tree.bodies))
    base_force = np.tile(-tree.base_mass * tree.gravity_base, (len(q), 1))
    base_moment = np.tile(-cross(tree.base_first_moment, tree.gravity_base), (len(q), 1))
    for body in reversed(range(tree.bodies)):
        axis = poses.rotation[:, body, :, 2]
        carried = moment if tree.kind[body] == REVOLUTE else force
        torques[:, body] = np.sum(axis * carried[:, body], axis=1)
        parent = tree.parent[body]
        if parent == BASE:
            base_force += force[:, body]
            base_moment += moment[:, body] + cross(poses.origin[:, body], force[:, body])
        else:
            arm = poses.origin[:, body] - poses.origin[:, parent]
            force[:, parent] += force[:, body]
            moment[:, parent] += moment[:, body] + cross(arm, force[:, body])
    return gather(tree, torques), np.concatenate([base_force, base_moment], axis=1)
