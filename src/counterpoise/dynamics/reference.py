"""The NumPy specification of the kernel: every per-pose operation, and the contract that the native kernel copies.

The docstrings here are the documentation of both kernels: the native type takes them over when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError, PhysicalConsistencyError
from ..foundation import Array
from .base_torques import base_torques
from .gravity import centers_of_mass, gravity_torques
from .inputs import as_rows, check_out, link_index, refuse_wrench_shape
from .kinematics import link_jacobians, link_poses, wrench_torques
from .newton_euler import newton_euler
from .regressors import base_wrench_regressors, gravity_regressors, inertial_regressors
from .tree import Tree

WRENCH_COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")
FRAME_ROWS = 7
"""Of what turns a reading into a wrench: six of a matrix and an offset."""


def unphysical(tree: Tree) -> PhysicalConsistencyError:
    """Return the error for dynamics asked of inertias that no real body has."""
    return PhysicalConsistencyError(
        f"inertial dynamics cannot be trusted: {tree.refusal}. Correct the file, or load it with allow_unphysical=True "
        "to compute with the numbers as they stand; gravity and kinematics are not affected",
        path=tree.path,
    )


class ReferenceKernel:
    """Kinematics and dynamics of a compiled tree.

    Every method takes one pose, ``q`` of shape (n,), or a batch of shape (k, n), and returns one result or k of them,
    stacked along a new first axis. Positions are in rad (or m for linear joints), results in SI units and base axes.
    Where there is an ``out``, it must be a C-contiguous float64 array of exactly the result's shape that shares no
    memory with an input; it is filled and returned.
    """

    __slots__ = ("tree",)
    tree: Tree

    def __new__(cls, tree: Tree) -> Self:
        """Make a kernel from a compiled tree."""
        self = super().__new__(cls)
        object.__setattr__(self, "tree", tree)
        return self

    def gravity(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Return g(q), the torques that the actuators must apply to hold the arm still [N m, or N for linear joints].

        Args:
            q: Joint positions, shape (n,) or (k, n).
            out: Where to write the result; shape of q.

        Returns:
            Holding torques, shape (n,) or (k, n). What gravity itself exerts on the joints is the negative.
        """
        rows = as_rows(q, "q", self.tree.joint_names)
        return _apply(lambda q2: gravity_torques(self.tree, q2), out, rows)

    def inverse_dynamics(
        self, q: npt.ArrayLike, dq: npt.ArrayLike, ddq: npt.ArrayLike, out: Array | None = None
    ) -> Array:
        """Return M q̈ + C q̇ + g: the torques for a motion, without friction and without rotor inertia.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            dq: Joint velocities, same shape.
            ddq: Joint accelerations, same shape.
            out: Where to write the result; shape of q.

        Returns:
            Link-side torques [N m or N], shape (n,) or (k, n).

        Raises:
            PhysicalConsistencyError: A link has an inertia that no real body has.
        """
        if self.tree.refusal:
            raise unphysical(self.tree)
        velocity = as_rows(dq, "dq", self.tree.joint_names)
        rows = self._motion(q, velocity, as_rows(ddq, "ddq", self.tree.joint_names))
        return _apply(lambda *motion: newton_euler(self.tree, *motion)[0], out, *rows)

    def base_wrench(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike | None = None,
        ddq: npt.ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return the wrench that the plate under the base exerts on the robot, its weight and the base link's included.

        Upright and at rest the force is (0, 0, +m g).

        Args:
            q: Joint positions, shape (n,) or (k, n).
            dq: Joint velocities, same shape; None for a robot at rest.
            ddq: Joint accelerations, same shape; None for zero.
            out: Where to write the result.

        Returns:
            (fx, fy, fz, mx, my, mz) [N, N m] in base axes at the base origin, shape (6,) or (k, 6).

        Raises:
            PhysicalConsistencyError: A motion is given and a link has an inertia that no real body has.
        """
        rows = self._motion(q, dq, ddq)
        return _apply(lambda *motion: newton_euler(self.tree, *motion)[1], out, *rows)

    def base_torques(
        self,
        q: npt.ArrayLike,
        wrench: npt.ArrayLike,
        dq: npt.ArrayLike | None = None,
        ddq: npt.ArrayLike | None = None,
        out: Array | None = None,
        *,
        frame: Array | None = None,
    ) -> Array:
        """Return τ_d, the joint torques without gravity, from what the plate under the base exerts on the robot.

        τ_d = inverse_dynamics(q, dq, ddq) − gravity(q) + A(q) (w − base_wrench(q, dq, ddq)). Row i of A(q) is
        [(o_i × z_i)ᵀ, z_iᵀ] for a rotary joint with axis z_i through o_i and [z_iᵀ, 0] for a linear one. This is the
        joint analyzer of [Patent], claims 6 and 14, with a plus before its sums over the links, and eq. (21) of
        [Morel2000] with the sign of gravity corrected. A contact on a link that a joint carries is part of the joint's
        torque; one on any other link makes it wrong. Friction and rotor inertia are not in it: no plate feels them.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            wrench: (fx, fy, fz, mx, my, mz) [N, N m] that the plate exerts on the robot, its weight included, in base
                axes at the base origin, shape (6,) or (k, 6); one wrench serves a whole batch of poses.
            dq: Joint velocities, same shape as q; None for a robot at rest.
            ddq: Joint accelerations, same shape as q; None for zero.
            out: Where to write the result; shape of q.
            frame: How the wrench is made of what is passed for it, a plate's reading r: w = X r − b, with X the first
                six rows and b the last, shape (7, 6). None: it is the wrench itself.

        Returns:
            Torques [N m or N], shape (n,) or (k, n). The torque at the joints is τ_d + gravity(q).

        Raises:
            PhysicalConsistencyError: A motion is given and a link has an inertia that no real body has.
        """
        rows, velocity, acceleration = self._motion(q, dq, ddq)
        wrenches = as_rows(wrench, "wrench", WRENCH_COMPONENTS)
        refuse_wrench_shape(wrenches, rows)
        if frame is not None:
            checked = as_rows(frame, "frame", WRENCH_COMPONENTS)
            if checked.shape != (FRAME_ROWS, 6):
                raise InputError(f"frame must have shape ({FRAME_ROWS}, 6): a matrix and, below it, an offset")
            if out is not None:
                check_out(out, rows.shape, [wrenches, checked])
            # Dot products of rows, not a matrix product: a row's bytes must not depend on how many there are.
            wrenches = np.einsum("...j,ij->...i", wrenches, checked[:6]) - checked[6]
        spread = np.broadcast_to(wrenches, (*rows.shape[:-1], 6))
        return _apply(lambda *values: base_torques(self.tree, *values), out, rows, spread, velocity, acceleration)

    def center_of_mass(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Return the centre of mass of the whole robot, base link and payload included.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            out: Where to write the result.

        Returns:
            Position in the base frame [m], shape (3,) or (k, 3).
        """
        rows = as_rows(q, "q", self.tree.joint_names)
        return _apply(lambda q2: centers_of_mass(self.tree, q2), out, rows)

    def forward_kinematics(self, q: npt.ArrayLike, at: str | None = None, out: Array | None = None) -> Array:
        """Return T_base_link, the pose of a link in the base frame.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            at: Name of any link, fixed ones too; may be left out unless the arm is branched (:func:`.default_tip`).
            out: Where to write the result.

        Returns:
            Homogeneous transform, shape (4, 4) or (k, 4, 4).
        """
        rows = as_rows(q, "q", self.tree.joint_names)
        link = link_index(self.tree.link_names, self.tree.tips, at)
        return _apply(lambda q2: link_poses(self.tree, q2, link), out, rows)

    def jacobian(self, q: npt.ArrayLike, at: str | None = None, out: Array | None = None) -> Array:
        """Return the geometric Jacobian of a link's origin, linear rows first, in base axes.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            at: Name of any link, fixed ones too; may be left out unless the arm is branched (:func:`.default_tip`).
            out: Where to write the result.

        Returns:
            J with (v, ω) = J q̇, shape (6, n) or (k, 6, n).
        """
        rows = as_rows(q, "q", self.tree.joint_names)
        link = link_index(self.tree.link_names, self.tree.tips, at)
        return _apply(lambda q2: link_jacobians(self.tree, q2, link), out, rows)

    def wrench_torque(
        self, q: npt.ArrayLike, wrench: npt.ArrayLike, at: str | None = None, out: Array | None = None
    ) -> Array:
        """Return Jᵀ w: the joint torques with which the arm exerts the wrench w on its surroundings.

        A wrench that acts on the arm changes the holding torque by −Jᵀ w.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            wrench: (fx, fy, fz, mx, my, mz) [N, N m] in base axes at the link's origin, shape (6,) or (k, 6); one
                wrench serves a whole batch of poses.
            at: Name of the link; may be left out unless the arm is branched (:func:`.default_tip`).
            out: Where to write the result; shape of q.

        Returns:
            Torques [N m or N], shape (n,) or (k, n).
        """
        rows = as_rows(q, "q", self.tree.joint_names)
        wrenches = as_rows(wrench, "wrench", WRENCH_COMPONENTS)
        refuse_wrench_shape(wrenches, rows)
        link = link_index(self.tree.link_names, self.tree.tips, at)
        spread = np.broadcast_to(wrenches, (*rows.shape[:-1], 6))
        return _apply(lambda q2, w2: wrench_torques(self.tree, q2, w2, link), out, rows, spread)

    def gravity_regressor(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Return Y with gravity(q) = Y @ gravity_parameters.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            out: Where to write the result.

        Returns:
            Y, shape (n, 4 b) or (k, n, 4 b), for b moving bodies; the columns of a body are [m, m cx, m cy, m cz].
        """
        rows = as_rows(q, "q", self.tree.joint_names)
        return _apply(lambda q2: gravity_regressors(self.tree, q2), out, rows)

    def inertial_regressor(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike | None = None,
        ddq: npt.ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return Y with inverse_dynamics(q, dq, ddq) = Y @ inertial_parameters[10:].

        Args:
            q: Joint positions, shape (n,) or (k, n).
            dq: Joint velocities, same shape; None for a robot at rest.
            ddq: Joint accelerations, same shape; None for zero.
            out: Where to write the result.

        Returns:
            Y, shape (n, 10 b) or (k, n, 10 b), for b moving bodies; the columns of a body are
            [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the joint frame's origin. The base link has none:
            no joint carries it.
        """
        rows = self._motion(q, dq, ddq, needs_inertia=False)
        return _apply(lambda *motion: inertial_regressors(self.tree, *motion), out, *rows)

    def base_wrench_regressor(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike | None = None,
        ddq: npt.ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return W with base_wrench(q, dq, ddq) = W @ inertial_parameters.

        Args:
            q: Joint positions, shape (n,) or (k, n).
            dq: Joint velocities, same shape; None for a robot at rest.
            ddq: Joint accelerations, same shape; None for zero.
            out: Where to write the result.

        Returns:
            W, shape (6, 10 (b + 1)) or (k, 6, 10 (b + 1)): ten columns for the base link, then ten for each of the b
            moving bodies: [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the joint frame's origin.
        """
        rows = self._motion(q, dq, ddq, needs_inertia=False)
        return _apply(lambda *motion: base_wrench_regressors(self.tree, *motion), out, *rows)

    def _motion(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike | None,
        ddq: npt.ArrayLike | None,
        needs_inertia: bool = True,
    ) -> tuple[Array, Array, Array]:
        if needs_inertia and self.tree.refusal and not (dq is None and ddq is None):
            raise unphysical(self.tree)
        rows = as_rows(q, "q", self.tree.joint_names)
        rates = [
            np.zeros_like(rows) if value is None else as_rows(value, name, self.tree.joint_names)
            for name, value in (("dq", dq), ("ddq", ddq))
        ]
        for name, value in zip(("dq", "ddq"), rates, strict=True):
            if value.shape != rows.shape:
                raise InputError(f"{name} has shape {value.shape}; expected the shape of q, {rows.shape}")
        return rows, rates[0], rates[1]


def _apply(compute: Callable[..., Array], out: Array | None, *rows: Array) -> Array:
    """Run a batched computation on one pose or many, and put the result into ``out`` when there is one."""
    single = rows[0].ndim == 1
    result = compute(*(np.atleast_2d(values) for values in rows))
    if single:
        result = result[0]
    if out is None:
        return np.ascontiguousarray(result)
    target = check_out(out, result.shape, rows)
    np.copyto(target, result)
    return target
