r"""Recursive least squares in square-root form: the triangular factor of the information, one row at a time.

All that is known of the p unknowns x is kept as a triangle [R z] of p rows and p + 1 columns, with

.. math:: \Lambda = R^T R = P^{-1}, \qquad R\,\hat x = z

A measurement y = a x + e with e of standard deviation σ is the row [a y]/σ. Givens rotations fold it into the triangle
(orthogonal, so Λ can never lose its sign, whatever rounding does; [Bierman1977]) and leave in its place

- the normalised innovation ρ = (y − a x̂⁻) / √(a P⁻ aᵀ + σ²), of mean 0 and variance 1 if all is as believed,
- the product γ of the cosines, γ² = σ² / (a P⁻ aᵀ + σ²): the share of what the row says that was known before.

So how surprising and how informative a measurement was costs nothing extra.

The triangle may have further columns on the right, one for each error that is common to many measurements, here the
relative errors of the torque constants: a row brings by how much its y would be off if that error were 1. Folding turns
them with the rest, so that R⁻¹ times such a column is by how much x̂ would be off ("consider" parameters,
[Bierman1977]). They change neither x̂ nor P, and no number of measurements makes them go away.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array


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
        factor: [R z …], shape (p, w); changed in place.
        row: [a y …]/σ, shape (w,); used up.

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
    return float(row[len(factor)]), kept


def fold_torques(
    factor: Array,
    row: Array,
    regressor: Array,
    columns: npt.NDArray[np.int64],
    torque: Array,
    side: Array,
    sigma: Array,
    first: int,
    last: int,
    offset_at: int,
    friction_at: int,
    left: Array,
) -> None:
    """Fold the holding torques of some joints into a triangle.

    τ_i = Y_i β + offset_i + side_i friction_i + noise; by an error 1 of its torque constant τ_i would be off by itself.

    Args:
        factor: [R z], shape (p, p + 1), or with n more columns for the torque constants; changed in place.
        row: Room for a row of it.
        regressor: The robot's gravity regressor at the pose, shape (n, 4 bodies).
        columns: Its columns that belong to β.
        torque: Torques of the joints [N m or N], shape (n,).
        side: Sides from which the joints came: −1, 0 or 1, shape (n,).
        sigma: Standard deviations of the torques [N m or N], shape (n,).
        first: First joint to be folded in ...
        last: ... and the one after the last.
        offset_at: Where the n offsets begin among the unknowns; −1 for none.
        friction_at: Where the n friction torques begin; −1 for none.
        left: Takes what folding leaves, ρ and γ of each joint that is folded in (see :func:`fold`), shape (2, n).
    """
    p = len(factor)
    for joint in range(first, last):
        row[:] = 0.0
        row[: len(columns)] = regressor[joint, columns] / sigma[joint]
        if offset_at >= 0:
            row[offset_at + joint] = 1.0 / sigma[joint]
        if friction_at >= 0:
            row[friction_at + joint] = side[joint] / sigma[joint]
        row[p] = torque[joint] / sigma[joint]
        if len(row) > p + 1:
            row[p + 1 + joint] = row[p]
        left[:, joint] = fold(factor, row)


def solve(factor: Array, x: Array) -> None:
    """Write the estimate x̂ of a triangle into ``x``, shape (p,); 0 for an unknown of which nothing is known."""
    for k in reversed(range(len(factor))):
        rest = float(factor[k, len(x)] - factor[k, k + 1 : len(x)] @ x[k + 1 :])
        x[k] = rest / float(factor[k, k]) if factor[k, k] != 0.0 else 0.0


def head(values: Array, way: Array, columns: npt.NDArray[np.int64], x: Array, other: Array, share: float) -> None:
    """Head for the mean of two estimates.

    Args:
        values: Where one is, shape (m,).
        way: Takes the way to go, 0 but at ``columns``, shape (m,).
        columns: Which of the values the first unknowns are, b of them.
        x: An estimate; its first b numbers are used.
        other: Another one.
        share: Its share of the mean.
    """
    b = len(columns)
    way[:] = -values
    way[columns] += (1.0 - share) * x[:b] + share * other[:b]


def standard_deviations(factor: Array, rows: Array) -> Array:
    """Return the standard deviation of rows · x, shape (…,), for rows of shape (…, p)."""
    spread = np.linalg.solve(factor[:, : len(factor)].T, rows.reshape(-1, rows.shape[-1]).T)
    return np.asarray(np.sqrt(np.sum(spread**2, axis=0)).reshape(rows.shape[:-1]))


def tail_variances(factor: Array, out: Array) -> None:
    """Write the variances of the last unknowns into ``out``, as many as it has room for, shape (n,)."""
    at = len(factor) - len(out)
    inverse = np.linalg.inv(factor[at:, at : len(factor)])
    out[:] = np.sum(inverse**2, axis=1)


def covariance_of(factor: Array) -> Array:
    """Return P = (RᵀR)⁻¹, shape (p, p)."""
    inverse = np.linalg.inv(factor[:, : len(factor)])
    return np.asarray(inverse @ inverse.T)


def sensitivities(factor: Array) -> Array:
    """Return by how much x̂ would be off per common error, R⁻¹ times the further columns, shape (p, w − p − 1)."""
    return np.asarray(np.linalg.solve(factor[:, : len(factor)], factor[:, len(factor) + 1 :]))
