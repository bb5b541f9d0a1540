r"""Recursive least squares in square-root form: the triangular factor of the information, one row at a time.

All that is known of the p unknowns x is kept as a triangle [R z] of p rows and p + 1 columns, with

.. math:: \Lambda = R^T R = P^{-1}, \qquad R\,\hat x = z

A measurement y = a x + e with e of standard deviation σ is the row [a y]/σ. Givens rotations fold it into the triangle
(orthogonal, so Λ can never lose its sign, whatever rounding does; [Bierman1977]) and leave in its place

- the normalised innovation ρ = (y − a x̂⁻) / √(a P⁻ aᵀ + σ²), of mean 0 and variance 1 if all is as believed,
- the product γ of the cosines, γ² = σ² / (a P⁻ aᵀ + σ²): the share of what the row says that was known before.

So how surprising and how informative a measurement was costs nothing extra.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..errors import InputError


def factor_of(mean: Array, covariance: Array) -> Array:
    """Return the triangle of a normal distribution, shape (p, p + 1), its diagonal positive.

    Args:
        mean: Shape (p,).
        covariance: Positive definite, shape (p, p).

    Raises:
        InputError: The covariance is not positive definite.
    """
    size = np.sqrt(np.diag(covariance))
    try:
        lower = np.linalg.cholesky(covariance / np.outer(size, size))
    except np.linalg.LinAlgError as error:
        raise InputError("the prior's covariance must be positive definite") from error
    root = np.linalg.inv(lower) / size  # Wᵀ W = P⁻¹, W lower triangular; QR makes it upper triangular
    triangle: Array = np.asarray(np.linalg.qr(root, mode="r"))
    triangle *= np.where(np.diag(triangle) < 0.0, -1.0, 1.0)[:, None]
    return np.ascontiguousarray(np.column_stack([np.triu(triangle), triangle @ mean]))


def fold(factor: Array, row: Array) -> tuple[float, float]:
    """Fold one row into a triangle.

    Args:
        factor: [R z], shape (p, p + 1); changed in place.
        row: [a y]/σ, shape (p + 1,); used up.

    Returns:
        The innovation ρ and γ, see above.
    """
    kept = 1.0
    for k in range(len(factor)):
        if row[k] == 0.0:
            continue
        size = float(np.sqrt(factor[k, k] ** 2 + row[k] ** 2))
        c, s = float(factor[k, k]) / size, float(row[k]) / size
        kept *= c
        line, rest = factor[k, k:].copy(), row[k:].copy()
        factor[k, k:] = c * line + s * rest
        row[k:] = c * rest - s * line
        row[k] = 0.0
    return float(row[-1]), kept


def fold_torque(
    factor: Array,
    row: Array,
    regressor: Array,
    columns: npt.NDArray[np.int64],
    joint: int,
    joints: int,
    side: float,
    torque: float,
    sigma: float,
    offset_at: int,
    friction_at: int,
) -> tuple[float, float]:
    """Fold the holding torque of one joint into a triangle: τ = Y_i β + offset_i + side · friction_i + noise.

    Args:
        factor: [R z], shape (p, p + 1); changed in place.
        row: Room for p + 1 numbers.
        regressor: The robot's gravity regressor at the pose, shape (n, 4 bodies).
        columns: Its columns that belong to β.
        joint: Which joint, i.
        joints: Number of joints, n.
        side: Side from which the joint came: −1, 0 or 1.
        torque: Its torque [N m or N].
        sigma: Standard deviation of that [N m or N].
        offset_at: Where the n offsets begin among the unknowns; −1 for none.
        friction_at: Where the n friction torques begin; −1 for none.

    Returns:
        As :func:`fold`.
    """
    row[:] = 0.0
    row[: len(columns)] = regressor.reshape(joints, -1)[joint, columns] / sigma
    if offset_at >= 0:
        row[offset_at + joint] = 1.0 / sigma
    if friction_at >= 0:
        row[friction_at + joint] = side / sigma
    row[-1] = torque / sigma
    return fold(factor, row)


def solve(factor: Array, x: Array) -> None:
    """Write the estimate x̂ of a triangle into ``x``, shape (p,); 0 for an unknown of which nothing is known."""
    for k in reversed(range(len(factor))):
        rest = float(factor[k, -1] - factor[k, k + 1 : -1] @ x[k + 1 :])
        x[k] = rest / float(factor[k, k]) if factor[k, k] != 0.0 else 0.0


def standard_deviations(factor: Array, rows: Array) -> Array:
    """Return the standard deviation of rows · x, shape (…,), for rows of shape (…, p)."""
    spread = np.linalg.solve(factor[:, :-1].T, rows.reshape(-1, rows.shape[-1]).T)
    return np.asarray(np.sqrt(np.sum(spread**2, axis=0)).reshape(rows.shape[:-1]))


def covariance_of(factor: Array) -> Array:
    """Return P = (RᵀR)⁻¹, shape (p, p)."""
    inverse = np.linalg.inv(factor[:, :-1])
    return np.asarray(inverse @ inverse.T)
