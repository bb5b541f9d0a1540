r"""The centre of mass of the whole robot: its Jacobian ([Jo], eq. (1)), and where it truly is, with its uncertainty.

Joint torques tell the base gravity parameters β = G p, not the masses p by themselves. How β is shared out is the
description's: with the description's values p₀ of covariance C (fitting/prior.py) and β̂ of covariance P,

.. math:: \hat p = p_0 + K (\hat\beta - G p_0), \qquad K = C G^T (G C G^T)^{-1}, \qquad
          \operatorname{cov} p = C - K G C + K P K^T

and the centre is (first moments) / (total mass), linear in p above and below, so its covariance follows to first order.
Where the torques determine a coordinate its uncertainty falls far below the description's; where they do not, such as
beside the axis of a vertical first joint, or through the base link, it stays, and the result says so. A weighed total
mass (the plate gives it outright) is one more measurement of p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics import REVOLUTE, Robot, ancestors, as_rows, body_poses, gather
from ..errors import InputError
from ..fitting import whole_covariance
from ..foundation import Array, frozen

DETERMINED = 0.5
"""A coordinate counts as determined by the data where less than this share of the description's uncertainty is left."""


@dataclass(frozen=True, slots=True, eq=False)
class CenterOfMass:
    """Where the robot's centre of mass is, base link included, in the base frame.

    Attributes:
        position: The estimate [m], shape (3,).
        std: Its standard deviation [m], shape (3,).
        described: The description's [m], shape (3,).
        described_std: How far a real arm may be from that [m], shape (3,).
        determined: Which coordinates the data determine, shape (3,).
        total_mass: Mass of the whole robot [kg].
        total_mass_std: Its standard deviation [kg].
    """

    position: Array
    std: Array
    described: Array
    described_std: Array
    determined: npt.NDArray[np.bool_]
    total_mass: float
    total_mass_std: float


def center_of_mass_jacobian(robot: Robot, q: npt.ArrayLike) -> Array:
    """Return J with velocity of the centre of mass = J q̇, base axes [m per rad or m], shape (3, n) or (k, 3, n).

    [Jo], eq. (1), with the missing R: column i is (1/M) Σ_k m_k z_i × (c_k − o_i) over the bodies k that joint i
    carries; (1/M) Σ_k m_k z_i for a linear joint. The gravity torque is g = −M Jᵀ g_base.
    """
    rows = as_rows(q, "q", robot.joint_names)
    tree, poses = robot.tree, body_poses(robot.tree, np.atleast_2d(rows))
    moments = (poses.rotation @ tree.first_moment[None, :, :, None])[..., 0]
    columns = np.zeros((len(moments), tree.bodies, 3))
    for k in range(tree.bodies):
        for i in ancestors(tree, k):
            axis = poses.rotation[:, i, :, 2]
            if tree.kind[i] == REVOLUTE:
                lever = tree.mass[k] * (poses.origin[:, k] - poses.origin[:, i]) + moments[:, k]
                columns[:, i] += np.cross(axis, lever)
            else:
                columns[:, i] += tree.mass[k] * axis
    total = robot.total_mass if robot.total_mass > 0.0 else 1.0
    jacobian = np.swapaxes(gather(tree, columns, axis=1), 1, 2) / total
    return jacobian if rows.ndim == 2 else np.asarray(jacobian[0])


def estimated_center(
    robot: Robot,
    q: npt.ArrayLike,
    base_values: Array,
    covariance: Array,
    *,
    total_mass: float | None = None,
    total_mass_std: float = 0.0,
) -> CenterOfMass:
    """Return the centre of mass that estimated base gravity parameters give.

    Args:
        robot: The robot as described; how mass is shared out among its links is taken from it.
        q: The pose [rad or m], shape (n,).
        base_values: β̂, as ``robot.base_parameters`` names them, shape (b,).
        covariance: Of those, shape (b, b).
        total_mass: Mass of the whole robot [kg] where it was weighed.
        total_mass_std: Standard deviation of that [kg].

    Raises:
        InputError: The description has no masses, or an argument is out of range.
    """
    pose = as_rows(q, "q", robot.joint_names)
    if pose.ndim != 1:
        raise InputError(f"q has shape {pose.shape}; expected one pose, ({robot.n},)")
    if total_mass is not None and not (0.0 < total_mass < 1e6 and 0.0 <= total_mass_std < 1e6):
        raise InputError(f"total_mass is {total_mass!r} ± {total_mass_std!r} kg; expected positive numbers")
    tree, G = robot.tree, robot.base_parameters.regrouping
    bodies = 4 * tree.bodies
    start = np.concatenate([[tree.base_mass], tree.base_first_moment, robot.gravity_parameters])
    spread = whole_covariance(robot)
    # What β says about the moving bodies; the base link is not felt by any joint.
    C = spread[4:, 4:]
    gain = np.linalg.solve(G @ C @ G.T, G @ C).T
    values, known = start.copy(), spread.copy()
    values[4:] += gain @ (base_values - G @ robot.gravity_parameters)
    known[4:, 4:] = C - gain @ G @ C + gain @ covariance @ gain.T
    masses = np.zeros(4 + bodies)
    masses[::4] = 1.0
    if total_mass is not None:
        shared = known @ masses
        weight = shared / (masses @ shared + total_mass_std**2)
        values = values + weight * (total_mass - masses @ values)
        known = known - np.outer(weight, shared)
    rows = _moment_rows(robot, pose)
    position, std = _center(rows, masses, values, known)
    described, described_std = _center(rows, masses, start, spread)
    return CenterOfMass(
        position=frozen(position),
        std=frozen(std),
        described=frozen(described),
        described_std=frozen(described_std),
        determined=std < DETERMINED * described_std,
        total_mass=float(masses @ values),
        total_mass_std=math.sqrt(max(float(masses @ known @ masses), 0.0)),
    )


def _moment_rows(robot: Robot, q: Array) -> Array:
    """Return L with the robot's first moment about the base origin = L [base's 4, bodies' 4 each], (3, 4 + 4 b)."""
    tree = robot.tree
    poses = body_poses(tree, q[None])
    rows = np.zeros((3, 4 + 4 * tree.bodies))
    rows[:, 1:4] = np.eye(3)
    for body in range(tree.bodies):
        at = 4 + 4 * body
        rows[:, at] = poses.origin[0, body]
        rows[:, at + 1 : at + 4] = poses.rotation[0, body] @ tree.joint_rotation[body]
    return rows


def _center(rows: Array, masses: Array, values: Array, covariance: Array) -> tuple[Array, Array]:
    """Return h/M and its standard deviation to first order, shapes (3,)."""
    total = float(masses @ values)
    position = rows @ values / total
    slope = (rows - np.outer(position, masses)) / total
    return position, np.sqrt(np.maximum(np.einsum("ci,ij,cj->c", slope, covariance, slope), 0.0))
