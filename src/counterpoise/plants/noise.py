"""Noise and rounding of sampled signals, made cheap: both run on a handful of numbers at every tick."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array

BLOCK = 256
"""Ticks for which random numbers are drawn at once."""


class NormalRows:
    """An endless table of normal random numbers, read row by row and drawn in blocks.

    Args:
        random: Where the numbers come from; nobody else may draw from it.
        scale: Standard deviation of each column, shape (m,).
    """

    def __init__(self, random: np.random.Generator, scale: Array) -> None:
        """Draw nothing yet."""
        self.any = bool(scale.any())
        self._random, self._scale = random, scale
        self._block, self._next = np.zeros((0, scale.size)), 0

    def block(self) -> Array:
        """Return the next BLOCK rows, shape (BLOCK, m)."""
        return self._random.standard_normal((BLOCK, self._scale.size)) * self._scale

    def row(self) -> Array:
        """Return the next row, shape (m,); it is not to be changed."""
        if self._next == len(self._block):
            self._block, self._next = self.block(), 0
        row: Array = self._block[self._next]
        self._next += 1
        return row


class Counter:
    """Rounding to the nearest multiple of a step, entry by entry.

    Args:
        step: The steps ≥ 0, shape (n,); where one is 0 its entry is left as it is.
    """

    def __init__(self, step: Array) -> None:
        """Prepare the reciprocals."""
        self.counts = bool(step.any())
        self._step, self._none = step, step == 0.0
        self._rate = 1.0 / np.where(self._none, 1.0, step)
        self._all = not bool(self._none.any())

    def counted(self, value: Array) -> Array:
        """Return the rounded values, shape (n,), in a new array."""
        rounded: Array = np.rint(value * self._rate)
        rounded *= self._step
        return rounded if self._all else np.where(self._none, value, rounded)
