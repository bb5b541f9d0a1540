"""Calibration link by link, from the tips to the base: the WAM document's §4 ([Dellin2008], eqs. (26)–(28)).

For one link and all poses the unknowns are its first moment μ_j and, per pose, the two torques c_j that its actuator
does not measure:

    Z τ_j − Σ_children R_c^j (L c_c + Z τ_c) = [g^j]× μ_j − L c_j                                        (26), (28)

with everything on the left known once the links beyond are done. As written the system is singular: of μ_j the part
along the joint's own axis, and on an upright arm the whole of μ_1, cannot be told from c_j or are not felt at all, and
a plain solution returns numbers around 1e12. One of two remedies must be chosen:

- ``ridge=None``, the default: an absolute threshold. Directions of μ_j that change the torque by less than THRESHOLD of
  their full weight, over the poses, are left at zero. What can be known comes out exact.
- ``ridge=λ``: λ |(μ_j, c_j)|² is added, on all 3 + 2k unknowns, as Barrett's own program does (libbarrett, gravitycal,
  λ = 1e-6): it reproduces the vectors of Barrett's files, at the price of a small bias.

In body axes −L has orthonormal columns, so c_j follows from μ_j pose by pose, c_j = −Lᵀ (y − [g]× μ_j) / (1 + λ), and
what remains for μ_j are the rows along the axis with weight 1 and those across with weight λ/(1 + λ), plus the ridge:
the same minimum as the whole system's, at a cost linear in the number of poses.

Put in the eliminated form, the residuals obey (1 + ζ) e = Y μ − τ with ζ_ij = z_i · z_j for joints j beyond i: what an
outer joint could not explain is handed on to the inner ones as if it were real. Each joint's own e is least, in turn.
"""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array, frozen
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from ..errors import InputError
from .linear_estimate import with_errors
from .link_equations import FirstMomentSolution, base_from_first_moments, link_equations, require_first_moments
from .static_poses import StaticPoses

THRESHOLD = 1e-3
"""Root mean square change of torque, as a share of g |μ|, below which a direction of μ counts as not felt: a
milliradian of tilt, which no arm's geometry is known to. An offset that only repeats μ is left at zero, too."""
BARRETT_RIDGE = 1e-6
"""The ridge of Barrett's program: libbarrett, programs/gravitycal.cpp."""


def solve_iterative(
    robot: Robot, poses: StaticPoses, *, ridge: float | None = None, offset: bool = False
) -> FirstMomentSolution:
    """Fit link by link.

    Args:
        robot: Kinematics and mounting; its masses are not used.
        poses: Measured poses.
        ridge: λ > 0, or None for the absolute threshold. The stated errors do not include its bias.
        offset: Fit a constant torque per joint as well; the document does not. No ridge on it.

    Raises:
        InputError: A joint is linear or follows another, a torque is missing, or the poses cannot calibrate the arm.
    """
    require_first_moments(robot, poses, "iterative")
    if ridge is not None and not (np.isfinite(ridge) and ridge > 0.0):
        raise InputError(f"ridge is {ridge!r}; expected a number > 0, or None for the absolute threshold")
    equations = link_equations(robot, poses.q)
    k, n = poses.q.shape
    mu, offsets = np.zeros((n, 3)), np.zeros(n)
    outer = np.zeros((k, n, 3))  # Σ over children of their torque, in the link's own axes
    for body in reversed(range(n)):
        y = -outer[:, body]
        y[:, 2] += poses.tau[:, body]
        columns = np.zeros((k, 3, 4 if offset else 3))
        columns[:, :, :3] = equations.moment[:, body]
        columns[:, 2, 3:] = 1.0
        gravity = float(np.linalg.norm(robot.gravity_base))
        found = _felt(columns[:, 2], y[:, 2], gravity) if ridge is None else _ridged(columns, y, ridge)
        rest = y - columns @ found
        torque = np.empty((k, 3))
        torque[:, :2] = -rest[:, :2] / (1.0 + (ridge or 0.0))
        torque[:, 2] = poses.tau[:, body] - (found[3] if offset else 0.0)
        mu[body] = robot.tree.joint_rotation[body].T @ found[:3]
        offsets[body] = found[3] if offset else 0.0
        parent = equations.parent[body]
        if parent != BASE:
            outer[:, parent] += (equations.R_parent_body[:, body] @ torque[:, :, None])[:, :, 0]
    x = np.concatenate([base_from_first_moments(robot, mu), offsets if offset else np.zeros(0)])
    own = _own_columns(robot, offset=offset)

    def instruments(q: Array, A: Array) -> Array:
        # Each joint chooses its own columns so that they are orthogonal to its e = (1 + ζ)⁻¹ (Y μ − τ).
        chosen = np.linalg.solve(np.swapaxes(link_equations(robot, q).axes, 1, 2), A * own)
        return np.asarray(chosen, dtype=np.float64)

    return FirstMomentSolution(with_errors(robot, poses, x, instruments, offset=offset), frozen(mu))


def _felt(columns: Array, y: Array, gravity: float) -> Array:
    """Return the smallest least-squares solution over the directions that are felt, shape (3,) or (4,).

    Args:
        columns: Torque along the axis per unit of each unknown, shape (k, 3) or, with an offset, (k, 4).
        y: Torque to explain [N m], shape (k,).
        gravity: Strength of gravity [m/s²].
    """
    size = np.array([gravity] * 3 + [1.0] * (columns.shape[1] - 3))
    left, values, right = np.linalg.svd(columns / size, full_matrices=False)
    kept = values > THRESHOLD * np.sqrt(len(y))
    solution: Array = (right[kept].T / values[kept]) @ (left[:, kept].T @ y) / size
    return solution


def _ridged(columns: Array, y: Array, ridge: float) -> Array:
    """Return the minimum of |y − columns x|² with c eliminated and a ridge on μ and c, shape (3,) or (4,).

    Args:
        columns: Shape (k, 3, 3 or 4): rows across the axis (two) and along it.
        y: Shape (k, 3).
        ridge: λ.
    """
    weight = np.sqrt([ridge / (1.0 + ridge), ridge / (1.0 + ridge), 1.0])
    unknowns = columns.shape[2]
    penalty = np.sqrt(ridge) * np.eye(3, unknowns)
    rows = np.concatenate([(columns * weight[:, None]).reshape(-1, unknowns), penalty])
    solution, *_ = np.linalg.lstsq(rows, np.concatenate([(y * weight).ravel(), np.zeros(3)]), rcond=None)
    return np.array(solution, dtype=np.float64)


def _own_columns(robot: Robot, *, offset: bool) -> Array:
    """Return 1 where a joint fits the column in its own turn, else 0, shape (n, p)."""
    bodies = [column // 4 for column in robot.base_parameters.columns] + (list(range(robot.n)) if offset else [])
    return np.asarray(np.arange(robot.n)[:, None] == np.array(bodies)[None, :], dtype=np.float64)
