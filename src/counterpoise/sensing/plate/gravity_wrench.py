r"""The gravity wrench, what the plate exerts on a robot at rest, and the gravity compensator that takes it off.

The wrench is that of the gravity wrench generator ([Patent], claims 2–5, 8). The plate carries the weight, so the
wrench **on the robot** is the opposite of what gravity exerts:

.. math:: F_g = -\sum_j m_j g, \qquad M_g = -\sum_j O G_j × m_j g,

over all links, the base included, with O the base origin and g pointing down. [Morel2000] eqs. (10)–(12) print the
other sign, which is right for the robot's wrench on the ground only.

Three forms are interchangeable: the model (here), the exact trigonometric table and the linearly interpolated table.

The gravity compensator is the first of the patent's two stages: base wrench in, dynamic wrench out.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...dynamics import BASE, REVOLUTE, Robot, Tree, body_poses
from ...errors import ModelError
from ...foundation import Array, frozen


class GravityWrench(Protocol):
    """A gravity wrench generator."""

    @property
    def complete(self) -> bool:
        """Whether the whole wrench is generated, or only its position-dependent components."""
        ...

    def wrench(self, q: Array) -> Array:
        """Return w_g [N, N m] on the robot, base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
        """
        ...


class ModelGravityWrench:
    """The gravity wrench from the robot's masses and centres of mass ([Patent], claims 3, 4).

    Args:
        robot: The robot, mounted and loaded as it stands.
    """

    complete = True

    def __init__(self, robot: Robot) -> None:
        """Keep the robot."""
        self.robot = robot

    def wrench(self, q: Array) -> Array:
        """Return w_g, shape (6,) or (k, 6); see :class:`GravityWrench`."""
        return self.robot.base_wrench(q)


class PositionDependent:
    """Only the position-dependent components of a gravity wrench ([Patent], claims 8, 15, 21, 27, 33).

    The force and the moment's constant coefficient are left out: what a tare takes away anyway. It serves the tared
    forms; the full form needs the whole wrench.

    Args:
        whole: Generator of the whole wrench.
        constant: Its constant part, as :func:`constant_gravity_wrench` gives it, shape (6,).
    """

    complete = False

    def __init__(self, whole: GravityWrench, constant: Array) -> None:
        """Keep both."""
        self.whole, self.constant = whole, frozen(constant)

    def wrench(self, q: Array) -> Array:
        """Return w_g without its constant part, shape (6,) or (k, 6); see :class:`GravityWrench`."""
        return self.whole.wrench(q) - self.constant


def gravity_wrenches(tree: Tree, q: Array) -> Array:
    """Return w_g, shape (k, 6), link by link as claims 3 and 4 have it: the specification of robot.base_wrench(q)."""
    poses = body_poses(tree, q)
    force = np.tile(-(tree.base_mass + tree.mass.sum()) * tree.gravity_base, (len(q), 1))
    moment = np.tile(-np.cross(tree.base_first_moment, tree.gravity_base), (len(q), 1))
    for j in range(tree.bodies):
        m_OG = tree.mass[j] * poses.origin[:, j] + poses.rotation[:, j] @ tree.first_moment[j]
        moment -= np.cross(m_OG, tree.gravity_base)
    return np.concatenate([force, moment], axis=1)


def constant_gravity_wrench(tree: Tree) -> Array:
    """Return the part of w_g that no joint position changes, shape (6,).

    The moment is multilinear in (1, cos q, sin q) per rotary joint and (1, q) per linear one. Its constant coefficient
    follows from the same recursion with cos q = sin q = 0, which leaves of a rotation its part along the axis, and with
    linear joints at 0.

    Raises:
        ModelError: A joint mimics another: then the form is not multilinear.
    """
    refuse_mimics(tree, "the position-dependent components of the gravity wrench")
    along_axis = np.diag([0.0, 0.0, 1.0])
    total = tree.base_first_moment.copy()
    rotation, origin = np.empty((tree.bodies, 3, 3)), np.empty((tree.bodies, 3))
    for body, parent in enumerate(tree.parent):
        own = tree.rotation[body] @ along_axis if tree.kind[body] == REVOLUTE else tree.rotation[body]
        R, o = (np.eye(3), np.zeros(3)) if parent == BASE else (rotation[parent], origin[parent])
        rotation[body], origin[body] = R @ own, o + R @ tree.origin[body]
        total = total + tree.mass[body] * origin[body] + rotation[body] @ tree.first_moment[body]
    force = -(tree.base_mass + tree.mass.sum()) * tree.gravity_base
    return frozen(np.concatenate([force, -np.cross(total, tree.gravity_base)]))


def refuse_mimics(tree: Tree, what: str) -> None:
    """Raise ModelError where a joint mimics another."""
    followers = [name for name in tree.body_names if name not in tree.joint_names]
    if followers:
        raise ModelError(
            f"joint '{followers[0]}' mimics another one, and {what} need joints that move independently; use the model "
            "itself, or a linear table"
        )


class GravityCompensator:
    """Subtracts the gravity wrench: w_d = w − w_g(q) ([Patent], claim 2; [Morel2000], eq. (12), sign corrected).

    Args:
        generator: What generates w_g.
    """

    def __init__(self, generator: GravityWrench) -> None:
        """Keep the generator."""
        self.generator = generator

    def dynamic_wrench(self, q: Array, wrench: Array) -> Array:
        """Return w_d [N, N m] on the robot, base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
            wrench: w, same frame, shape (6,) or (k, 6).
        """
        return wrench - self.generator.wrench(q)
