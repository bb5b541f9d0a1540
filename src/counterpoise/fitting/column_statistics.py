"""Sizes of measured columns; entries that were not measured are NaN and left out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..foundation import Array, frozen

CERTAIN = 1.959964
"""Standard deviations of a 95 % interval of a normal distribution."""
NORMAL = 1.4826
"""Standard deviation of a normal distribution about zero, per median of its sizes."""
WORSE = 1.2
"""Errors (geometric mean of the joints) that are this many times the description's are worse. Its friction and rotors
are fitted without any prior, which takes a little off."""


def mean(values: Array) -> Array:
    """Return the mean of each column, shape (a,); NaN for an empty column."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def root_mean_square(values: Array) -> Array:
    """Return the root mean square of each column, shape (a,); NaN for an empty column."""
    return np.sqrt(mean(values**2))


def deviation(values: Array) -> Array:
    """Return the standard deviation of each column, shape (a,); NaN for an empty column."""
    return root_mean_square(values - mean(values))


def robust_std(values: Array) -> Array:
    """Return the standard deviation about zero that the median of the sizes stands for, shape (a,).

    Up to half of a column may be outliers. NaN for an empty column.
    """
    known = np.isfinite(values).any(axis=0)
    found = np.full(values.shape[1], np.nan)
    found[known] = NORMAL * np.nanmedian(np.abs(values[:, known]), axis=0)
    return found


def all_joints(values: Array, active: npt.NDArray[np.bool_]) -> Array:
    """Return one number per joint, read-only, NaN for joints without a measured effort, shape (n,).

    Args:
        values: Of the active joints, shape (a,).
        active: Which joints have a measured effort, shape (n,).
    """
    whole = np.full(len(active), np.nan)
    whole[active] = values
    return frozen(whole)


def better_than_described(fitted: Array, described: Array) -> bool:
    """Return whether a fit explains its own data better than the description does.

    Args:
        fitted: Errors of the fit, root mean square per joint, shape (a,).
        described: Errors of the description with its best friction and offsets, shape (a,).
    """
    known = np.isfinite(fitted) & np.isfinite(described) & (described > 0.0)
    ratio = np.log(np.maximum(fitted[known], 1e-300) / described[known])
    return not known.any() or bool(np.mean(ratio) < np.log(WORSE))
