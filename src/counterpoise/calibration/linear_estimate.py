"""Residuals and honest errors of an estimate that some other linear method made.

The WAM document's two methods end with the numbers alone. Both are linear in the measured torques: with rows A of the
eliminated form they solve Σ_poses Uᵀ (τ − A x) = 0 for some matrices U(q), n × p. Whatever noise the method believes
in, if the joints really have noise σ_i the covariance of its result is

    H⁻¹ (Σ_i σ_i² Σ_poses u_i u_iᵀ) H⁻ᵀ,        H = Σ_poses Uᵀ A,        u_i = row i of U

(a "sandwich"), and joint i uses up h_i = tr(H⁻¹ Σ_poses u_i a_iᵀ) of its measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..description.frozen import Array, frozen
from ..dynamics.robot import Robot
from .regression import SIGMA_FLOOR, JointRegression, Solution, solve
from .static_poses import StaticPoses
from .static_rows import CHUNK, static_columns, static_rows


def with_errors(
    robot: Robot, poses: StaticPoses, x: Array, instruments: Callable[[Array, Array], Array], *, offset: bool
) -> Solution:
    """Return a linear method's estimate with residuals, noise, covariance, and what the data determine.

    Args:
        robot: Kinematics and mounting.
        poses: The data that were fitted.
        x: The estimate: base gravity parameters, then offsets if fitted.
        instruments: Returns U, shape (k, n, p), for poses q (k, n) and their rows A (k, n, p).
        offset: Whether offsets were fitted.
    """
    columns = static_columns(robot, offset=offset)
    n, p = robot.n, len(columns)
    regression = JointRegression(robot.joint_names, columns)
    slopes, spreads = np.zeros((n, p, p)), np.zeros((n, p, p))
    for start in range(0, len(poses), CHUNK):
        q, torques = poses.q[start : start + CHUNK], poses.tau[start : start + CHUNK]
        A = static_rows(robot, q, offset=offset)
        U = instruments(q, A)
        regression.add(A, torques)
        by_joint = np.swapaxes(np.swapaxes(U, 0, 1), 1, 2)
        slopes += by_joint @ np.swapaxes(A, 0, 1)
        spreads += by_joint @ np.swapaxes(U, 0, 1)
    inverse = np.linalg.pinv(slopes.sum(axis=0), rcond=1e-12)
    fitted = np.einsum("pq,iqp->i", inverse, slopes)
    squares = regression.residual_squares(x)
    floor = SIGMA_FLOOR * max(float(np.max(regression.torque_rms())), 1e-12)
    freedom = len(poses) - fitted
    # A joint without a spare measurement shows no noise of its own; it gets the arm's mean.
    common = float(np.sum(squares)) / max(float(np.sum(freedom)), 1.0)
    own = squares / np.maximum(freedom, 1.0)
    sigma = np.maximum(np.sqrt(np.where(freedom >= 1.0, own, common)), floor)
    data = solve(regression, sigma=sigma)
    covariance = inverse @ np.einsum("i,ipq->pq", sigma**2, spreads) @ inverse.T
    return replace(
        data,
        x=frozen(x),
        covariance=frozen(0.5 * (covariance + covariance.T)),
        residual_rms=frozen(np.sqrt(squares / len(poses))),
        freedom=frozen(freedom),
    )
