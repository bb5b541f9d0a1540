"""Rows of the static model: holding torque = base gravity regressor · base parameters + offset of the joint.

The nuisance torques of the WAM document (the two components of each link's torque that no actuator measures) are
eliminated exactly: projecting its eq. (14) on the joint axes, tip to base, leaves τ = Y(q) x with Y the gravity
regressor. What remains is one row per joint and pose, weighted by 1/σ_i²: the "way to weight the regression" that the
document's §4 looked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..errors import InputError
from .gaussian import Gaussian
from .regression import JointRegression, Solution, solve
from .robust import solve_robust
from .static_poses import StaticPoses, require_spread

CHUNK = 512
"""Poses turned into rows at once: bounds the memory, and what a chunk needs stays in the processor's cache."""


def static_columns(robot: Robot, *, offset: bool) -> tuple[str, ...]:
    """Return the unknowns' names: the base gravity parameters, then "joint.offset" [N m or N] for every joint."""
    return robot.base_parameters.names + (tuple(f"{name}.offset" for name in robot.joint_names) if offset else ())


def static_rows(robot: Robot, q: Array, *, offset: bool) -> Array:
    """Return the rows A with τ = A x at rest, shape (k, n, p), for poses q of shape (k, n) [rad or m]."""
    Y = robot.base_gravity_regressor(q)
    if not offset:
        return Y
    A = np.zeros((len(q), robot.n, Y.shape[2] + robot.n))
    A[:, :, : Y.shape[2]] = Y
    A[:, np.arange(robot.n), Y.shape[2] + np.arange(robot.n)] = 1.0
    return A


def static_blocks(robot: Robot, poses: StaticPoses, *, offset: bool) -> Iterator[tuple[Array, Array, None]]:
    """Yield (A, τ, no weights) chunk by chunk, as JointRegression.add and ``robust`` take them."""
    for start in range(0, len(poses), CHUNK):
        chunk = slice(start, start + CHUNK)
        yield static_rows(robot, poses.q[chunk], offset=offset), poses.tau[chunk], None


def relative_noise(robot: Robot) -> Array | None:
    """Return the expected ratios of the joints' noise, shape (n,); None where the description does not tell.

    Friction, which is what disturbs a holding torque, grows with the size of the drive: the torque limits stand for it.
    """
    limits = robot.effort_limit
    return limits / limits.max() if np.all(np.isfinite(limits) & (limits > 0.0)) else None


def solve_static(
    robot: Robot,
    poses: StaticPoses,
    *,
    offset: bool = True,
    robust: bool = True,
    prior: Gaussian | None = None,
    sigma: npt.ArrayLike | None = None,
) -> Solution:
    """Fit base gravity parameters, and an offset per joint, to poses at rest by weighted least squares.

    Cost is linear and memory constant in the number of poses.

    Args:
        robot: Kinematics and mounting; its masses are not used.
        poses: Measured poses.
        offset: Fit a constant torque per joint as well: half of what a one-sided approach leaves of friction, a zero
            error of the torque measurement, a cable's pull.
        robust: Weigh outliers down; not done where ``sigma`` is given.
        prior: What is known of the unknowns (``static_columns``) beforehand.
        sigma: Noise of one measured torque per joint [N m or N], shape (n,); None to estimate it.

    Raises:
        InputError: The poses cannot calibrate this arm, or gravity acts on none of its joints.
    """
    if prior is None:
        require_spread(robot, poses)
    columns = static_columns(robot, offset=offset)
    if not robot.base_parameters.names:
        raise InputError(f"gravity acts on no joint of robot '{robot.name}' as it is mounted; there is nothing to fit")
    ratio = relative_noise(robot)
    if robust and sigma is None:
        return solve_robust(
            lambda: static_blocks(robot, poses, offset=offset),
            robot.joint_names,
            columns,
            prior=prior,
            relative_sigma=ratio,
        )
    regression = JointRegression(robot.joint_names, columns)
    for A, torques, _ in static_blocks(robot, poses, offset=offset):
        regression.add(A, torques)
    return solve(regression, prior=prior, sigma=sigma, relative_sigma=ratio)
