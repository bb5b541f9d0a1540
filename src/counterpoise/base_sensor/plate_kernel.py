"""Which code turns plate readings into joint torques: the native one where it was built, else the NumPy specification.

Both compute τ_d = A(q) w_d minus the dynamic wrench of every link that is not distal, with
w_d = X reading − offset − w_g(q). The native kernel does so in one call without allocation, from a matrix X and, per
form, an offset and whether gravity and motion count. What it is not prepared for (a table, a subset of terms, a form
that is not ready) and every fault goes to ``_by_stages``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.inputs import as_rows, check_out, refuse_wrench_shape
from ..dynamics.kernel import made_plate_kernel
from ..dynamics.reference import WRENCH_COMPONENTS
from ..dynamics.robot import Robot
from ..errors import InputError
from .analyzer_terms import analyzed_rows

FORMS = ("full", "tared", "tared+model")
"""Names of the three forms; their places are the native kernel's."""


class ReferencePlateKernel:
    """Joint torques from the wrench under the base, for one robot.

    Made bare, it takes w_d itself: X is the identity and there is no offset and no gravity. A subclass sets them.
    """

    robot: Robot

    def __new__(cls, robot: Robot) -> Self:
        """Make a kernel for a robot."""
        self = super().__new__(cls)
        self.robot = robot
        return self

    def joint_torques(
        self,
        q: npt.ArrayLike,
        wrench: npt.ArrayLike,
        dq: npt.ArrayLike | None = None,
        ddq: npt.ArrayLike | None = None,
        form: str = "auto",
        out: Array | None = None,
    ) -> Array:
        """Return τ_d: the torques at the joints without what holds the robot's weight [N m, or N for linear joints].

        The torque at the joint is τ_d + gravity(q). Friction and rotor inertia are not in it: no plate feels them.

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
            wrench: The plate's raw reading, force first [N, N m], in the sensor's axes and sign, shape (6,) or (k, 6).
            dq: Joint velocities, shape of q; None for zero. The kinematics-only form "tared" does not use it.
            ddq: Joint accelerations, shape of q; None for zero. The form "tared" does not use it.
            form: "full" (model, untared), "tared" (kinematics only), "tared+model" (difference of the model's gravity
                since the tare) or "auto": the last of them where a tare and masses exist, else what is there.
            out: Where to write the result; shape of q.

        Returns:
            Torques, shape (n,) or (k, n).

        Raises:
            InputError: A shape or an entry that cannot be, an unknown form, or a form that needs a tare and has none.
            ModelError: A form that needs masses, of a robot without any.
            PhysicalConsistencyError: A motion is given and a link has an inertia that no real body has.
        """
        return self._by_stages(q, wrench, dq, ddq, form, out)

    def _by_stages(
        self,
        q: npt.ArrayLike,
        wrench: npt.ArrayLike,
        dq: npt.ArrayLike | None,
        ddq: npt.ArrayLike | None,
        form: str,
        out: Array | None,
    ) -> Array:
        """Compute step by step: here, of a bare kernel, the joint analyzer's equations alone."""
        rows = checked_rows(self.robot, q, wrench, dq, ddq)
        return delivered(analyzed_rows(self.robot.tree, *rows), out, rows)

    def _set_reading(self, matrix: Array) -> None:
        """Let w = matrix · reading, shape (6, 6); only the native kernel keeps it."""

    def _set_form(self, form: int, offset: Array | None, gravity: bool, moves: bool) -> None:
        """Prepare a form, or with offset None leave it to ``_by_stages``; only the native kernel keeps it.

        Args:
            form: Place in FORMS, or len(FORMS) for "auto".
            offset: What is subtracted from the wrench [N, N m], base axes and origin, shape (6,).
            gravity: Whether the model's gravity wrench is subtracted too.
            moves: Whether velocities and accelerations count.
        """


def checked_rows(
    robot: Robot,
    q: npt.ArrayLike,
    wrench: npt.ArrayLike,
    dq: npt.ArrayLike | None,
    ddq: npt.ArrayLike | None,
) -> tuple[Array, Array, Array | None, Array | None]:
    """Return the arguments of joint_torques as float64 rows, or raise InputError for what does not fit."""
    rows = as_rows(q, "q", robot.joint_names)
    wrenches = as_rows(wrench, "wrench", WRENCH_COMPONENTS)
    refuse_wrench_shape(wrenches, rows)
    rates: list[Array | None] = []
    for name, value in (("dq", dq), ("ddq", ddq)):
        rate = None if value is None else as_rows(value, name, robot.joint_names)
        if rate is not None and rate.shape != rows.shape:
            raise InputError(f"{name} has shape {rate.shape}; expected the shape of q, {rows.shape}")
        rates.append(rate)
    return rows, wrenches, rates[0], rates[1]


def delivered(result: Array, out: Array | None, inputs: tuple[Array | None, ...]) -> Array:
    """Return the result, in ``out`` where there is one."""
    if out is None:
        return np.ascontiguousarray(result)
    target = check_out(out, result.shape, [given for given in inputs if given is not None])
    np.copyto(target, result)
    return target


if TYPE_CHECKING:
    PlateKernel = ReferencePlateKernel
else:
    PlateKernel = made_plate_kernel(ReferencePlateKernel)
