r"""The speed v₀ over which friction changes its sign, chosen from the data.

The effort of a joint is compared with

.. math:: e = s\,Y\phi + o + F_c\,d_{v_0} + F_v \dot q + J \ddot q

for several v₀, where d is tanh(u/v₀) after the low-pass of the efforts and φ may be off the description as far as
descriptions are (fitting/prior.py). All of them have the same number of unknowns, so the log likelihood decides:
−(N/2) log(residual sum of squares), N the number of independent samples. A joint keeps the smallest v₀ unless another
one is TOLD better: friction builds up over a distance in real gears, and tanh is the nearest that a fit has for that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..fitting import COMMON, WIDE, Samples, covariance_root, parameter_covariance, scaled_coupling
from ..foundation import Array

TOLD = 5.0
"""Log likelihood by which a larger v₀ must be better, odds of 150 to 1."""
MOST_ROWS = 1500
"""Samples that it is judged by, at most."""
LEAST_SAMPLES = 50
ROUNDS = 4
"""Rounds in which noise and unknowns are found."""


def likeliest_speeds(
    robot: Robot, samples: Samples, directions: Sequence[Array], *, together: float, torques: bool
) -> npt.NDArray[np.int64]:
    """Return which of several v₀ suits each actuator's friction best, shape (n,).

    Args:
        robot: The robot as described; one without masses keeps the first v₀.
        samples: Of a motion, k of them.
        directions: For every v₀, smallest first, the low-passed sign of friction at the samples, shape (k, n).
        together: Samples that count as one.
        torques: Whether efforts are torques; otherwise they are scaled to the description's.
    """
    chosen = np.zeros(robot.n, dtype=np.int64)
    if len(samples) < LEAST_SAMPLES or not robot.tree.mass.any():
        return chosen
    rows = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), MOST_ROWS)).round().astype(np.int64))
    picked = samples[rows]
    described = robot.inertial_parameters[10:]
    root = covariance_root(parameter_covariance(robot, 10) + COMMON**2 * np.outer(described, described))
    matrix = samples.motor_per_link
    coupling = np.eye(robot.n) if matrix is None else scaled_coupling(matrix)
    speed, change = picked.dq @ coupling.T, picked.ddq @ coupling.T
    count = len(samples) / together
    regressor = robot.inertial_regressor(picked.q, picked.dq, picked.ddq)
    for joint in np.flatnonzero(samples.active).tolist():
        effort = picked.tau[:, joint]
        known = np.isfinite(effort)
        if known.sum() < LEAST_SAMPLES or not np.std(effort[known]) > 0.0:
            continue
        y, model = effort[known], regressor[known, joint] @ described
        scale = 1.0 if torques or not np.std(model) > 0.0 else float(np.std(y) / np.std(model))
        bodies = np.column_stack([scale * (regressor[known, joint] @ root), _wide(model[:, None], y)])
        drives = [at for at in range(robot.n) if coupling[at, joint] != 0.0]
        fixed = [np.ones((len(y), 1)), speed[known][:, drives], change[known][:, drives]]
        first = directions[0][rows][known]
        residuals = []
        for one in directions:
            direction = first[:, drives].copy()
            if joint in drives:
                direction[:, drives.index(joint)] = one[rows][known, joint]
            own = _wide(np.column_stack([*fixed, direction]), y)
            residuals.append(_residual(np.column_stack([bodies, own]), y, len(y) / count))
        gained = 0.5 * count * np.log(residuals[0] / np.array(residuals))
        best = int(np.argmax(gained))
        chosen[joint] = best if gained[best] > TOLD else 0
    return chosen


def _wide(columns: Array, y: Array) -> Array:
    """Return columns so scaled that an unknown of size 1 makes up WIDE times the effort."""
    size = np.max(np.abs(columns), axis=0)
    return np.asarray(columns * (WIDE * np.max(np.abs(y)) / np.where(size > 0.0, size, np.inf)))


def _residual(columns: Array, y: Array, together: float) -> float:
    """Return the mean square that unknowns of standard deviation 1 leave of y."""
    normal, pull, power = columns.T @ columns, columns.T @ y, float(y @ y)
    together = max(together, 1.0)
    square = float(np.var(y))
    # By eigenvalues: of exact data the weight is so large that columns that depend on each other would leave nothing.
    values, vectors = np.linalg.eigh(normal)
    values, turned = np.maximum(values, 0.0), vectors.T @ pull
    for _ in range(ROUNDS):
        weight = 1.0 / (together * max(square, 1e-12 * power / len(y)))
        x = vectors @ (weight * turned / (weight * values + 1.0))
        square = max((power - 2.0 * float(x @ pull) + float(x @ normal @ x)) / len(y), 1e-12 * power / len(y))
    return square
