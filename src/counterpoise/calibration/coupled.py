"""Calibration by the coupled matrix: the WAM document's §3, all links and poses in one system ([Dellin2008], eq. (25)).

Unknowns are the first moments of all links and, for each pose, the 2 n torques c_j that no actuator measures; every
link and pose gives three equations. The system is solved as it stands, in the plain least-squares sense. Its columns
for c_j belong to one pose each, so the orthogonal transformation of a sparse QR works pose by pose: of the 3 n
equations of a pose 2 n fix its c_j, and the n others, free of them, go into one small triangular factor. Cost is linear
in the number of poses. Of the 3 n columns of first moments the structural base is kept: the rest are exact combinations
of it, and the result speaks of the same numbers as the other methods.

What it believes. Call e_j the error of link j's equation, in base axes, and h_j = g × μ_j. Summing (14) from the tips
to joint i gives t_i = Σ_{k at or beyond i} (h_k + e_k); along the axis, τ_i = z_i · t_i = Y_i μ + ε_i with
ε_i = z_i · Σ_{k ≥ i} e_k. Minimising Σ|e_k|² over the free c_j is to find the smallest e that explains ε = A e, which
costs εᵀ (A Aᵀ)⁻¹ ε. So the coupled solution is generalised least squares on the eliminated form τ = Y μ with covariance

    (A Aᵀ)_ij = (n − max(i, j) + 1) z_i · z_j

(on a tree: the number of bodies that both joints carry, times z_i · z_j). It holds the last joint to be the most
precise and the first the least, by a fixed n : 1 in variance, and the errors of parallel joints to go together. Real
drives differ by a hundred and more, and independently: that is why the document finds it imprecise on the end links.
"""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array, frozen
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from .linear_estimate import with_errors
from .link_equations import FirstMomentSolution, first_moments_from_base, link_equations, require_first_moments
from .regression import JointRegression, solve
from .static_poses import StaticPoses
from .static_rows import static_columns

CHUNK_POSES = 256
"""Poses eliminated at once."""


def solve_coupled(robot: Robot, poses: StaticPoses, *, offset: bool = False) -> FirstMomentSolution:
    """Fit by the coupled matrix.

    Args:
        robot: Kinematics and mounting; its masses are not used.
        poses: Measured poses.
        offset: Fit a constant torque per joint as well; the document does not.

    Raises:
        InputError: A joint is linear or follows another, a torque is missing, or the poses cannot calibrate the arm.
    """
    require_first_moments(robot, poses, "coupled")
    columns = static_columns(robot, offset=offset)
    kept = [3 * (column // 4) + column % 4 - 1 for column in robot.base_parameters.columns]
    regression = JointRegression(("equations",), columns)
    for start in range(0, len(poses), CHUNK_POSES):
        chunk = slice(start, start + CHUNK_POSES)
        G, T, S = pose_matrices(robot, poses.q[chunk])
        across = _free_of(T)
        measured = across @ S
        A = across @ G[:, :, kept]
        if offset:
            A = np.concatenate([A, measured], axis=2)
        y = (measured @ poses.tau[chunk][:, :, None])[:, :, 0]
        regression.add(A.reshape(-1, 1, len(columns)), y.reshape(-1, 1))
    x = solve(regression, sigma=[1.0]).x

    def instruments(q: Array, A: Array) -> Array:
        _, T, S = pose_matrices(robot, q)
        whitening = _free_of(T) @ S
        return np.swapaxes(whitening, 1, 2) @ (whitening @ A)

    solution = with_errors(robot, poses, x, instruments, offset=offset)
    return FirstMomentSolution(solution, frozen(first_moments_from_base(robot, x[: len(kept)])))


def pose_matrices(robot: Robot, q: Array) -> tuple[Array, Array, Array]:
    """Return G, T and S of each pose with S τ = G μ + T c ([Dellin2008], eqs. (20)–(24)).

    Args:
        robot: A robot with rotary joints only.
        q: Poses [rad], shape (k, n).

    Returns:
        G (k, 3n, 3n), for first moments in the joint frames; T (k, 3n, 2n); S (k, 3n, n), which makes the document's
        right-hand side y from the measured torques.
    """
    equations = link_equations(robot, q)
    k, n = q.shape
    G, T, S = np.zeros((k, n, 3, n, 3)), np.zeros((k, n, 3, n, 2)), np.zeros((k, n, 3, n))
    for body, parent in enumerate(equations.parent):
        G[:, body, :, body] = equations.moment[:, body] @ robot.tree.joint_rotation[body]
        T[:, body, :, body] = -np.eye(3)[:, :2]
        S[:, body, 2, body] = 1.0
        if parent != BASE:
            T[:, parent, :, body] = equations.R_parent_body[:, body, :, :2]
            S[:, parent, :, body] = -equations.R_parent_body[:, body, :, 2]
    return G.reshape(k, 3 * n, 3 * n), T.reshape(k, 3 * n, 2 * n), S.reshape(k, 3 * n, n)


def _free_of(T: Array) -> Array:
    """Return, per pose, orthonormal rows that T does not reach, shape (k, n, 3n): the last rows of Qᵀ of its QR."""
    complete, _ = np.linalg.qr(T, mode="complete")
    rows: Array = np.swapaxes(complete[:, :, T.shape[2] :], 1, 2)
    return rows
