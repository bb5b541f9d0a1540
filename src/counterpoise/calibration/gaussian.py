"""What is known of a linear model's unknowns before any data: a mean and how far from it they may lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """What is known of x beforehand: W (x − mean) has independent entries of standard deviation 1.

    Attributes:
        mean: x₀, in the units of the columns, shape (p,).
        root: W, shape (m, p); a column of zeros stands for a number of which nothing is known beforehand.
    """

    mean: Array
    root: Array

    def __post_init__(self) -> None:
        """Freeze the arrays; refuse shapes that do not fit and entries that are no numbers."""
        object.__setattr__(self, "mean", frozen(self.mean))
        object.__setattr__(self, "root", frozen(self.root))
        if self.mean.ndim != 1 or self.root.ndim != 2 or self.root.shape[1] != len(self.mean):
            raise InputError(
                f"the prior's mean has shape {self.mean.shape} and its root {self.root.shape}; expected (p,) and (m, p)"
            )
        if not (np.isfinite(self.mean).all() and np.isfinite(self.root).all()):
            raise InputError("the prior's mean or root has entries that are no numbers; leave out what is not known")

    @classmethod
    def from_covariance(cls, mean: npt.ArrayLike, covariance: npt.ArrayLike) -> Self:
        """Make a prior from a positive definite covariance matrix.

        Args:
            mean: x₀, shape (p,).
            covariance: Shape (p, p). A row and column whose diagonal is infinite stand for an entry of which nothing is
                known beforehand.
        """
        center, spread = np.array(mean, dtype=np.float64), np.array(covariance, dtype=np.float64)
        if spread.shape != (len(center), len(center)):
            raise InputError(f"the covariance has shape {spread.shape}; expected ({len(center)}, {len(center)})")
        known = np.flatnonzero(np.isfinite(np.diag(spread)))
        size = np.sqrt(np.abs(np.diag(spread)[known]))
        size[size == 0.0] = 1.0
        try:
            factor = np.linalg.cholesky(spread[np.ix_(known, known)] / np.outer(size, size))
        except np.linalg.LinAlgError as error:
            raise InputError("the prior's covariance is not positive definite; drop a column that is known") from error
        root = np.zeros((len(known), len(center)))
        root[:, known] = np.linalg.inv(factor) / size
        return cls(center, root)
