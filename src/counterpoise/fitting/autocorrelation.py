"""How many samples carry the information of one, from the residuals' own autocorrelation.

Residuals of a moving arm are model error (friction that no simple law describes, cogging, elasticity), filtered: one
is much like the next. A mean of N of them is as uncertain as one of N/f independent ones, with f the integrated
autocorrelation time in samples. Taking them for independent would make the data's word √f times too loud, and the
prior's too faint.

f is found by blocking ([Flyvbjerg1989]): with s_B² the mean square of block means of length B and s² that of the
residuals, B s_B²/s² rises with B to f. The smallest B = 2^l with B³ > 2 N f_B² balances what longer correlations are
missed against how few blocks are left ([Lee2011]). Blocks are kept for all l at once, so a recording of any length
needs a constant memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..foundation import Array

LEVELS = 40
LEAST_BLOCKS = 8
"""Fewer blocks than this say nothing about their scatter."""


def autocorrelation_times(residuals: Array, starts: Iterable[int] = ()) -> Array:
    """Return f ≥ 1 of each column of residuals, shape (a,).

    Args:
        residuals: Shape (k, a); NaN ones are passed over.
        starts: Rows that do not succeed the row before them.
    """
    blocking = Blocking(residuals.shape[1])
    for stretch in np.split(residuals, list(starts)):
        blocking.add(stretch)
        blocking.pause()
    return blocking.autocorrelation_times()


class Blocking:
    """Mean squares of block means, for blocks of 1, 2, 4, … successive residuals of a joints."""

    def __init__(self, joints: int) -> None:
        """Start without residuals."""
        self._squares = np.zeros((LEVELS, joints))
        self._blocks = np.zeros((LEVELS, joints))
        self._open = np.full((LEVELS, joints), np.nan)

    def add(self, residuals: Array) -> None:
        """Take in successive residuals, shape (k, a); NaN ones are passed over."""
        for joint, column in enumerate(residuals.T):
            means = column[np.isfinite(column)]
            for level in range(LEVELS):
                if len(means) == 0:
                    break
                self._squares[level, joint] += float(means @ means)
                self._blocks[level, joint] += len(means)
                if np.isfinite(self._open[level, joint]):
                    means = np.concatenate([[self._open[level, joint]], means])
                pairs = len(means) // 2
                self._open[level, joint] = means[-1] if len(means) % 2 else np.nan
                means = 0.5 * (means[0 : 2 * pairs : 2] + means[1 : 2 * pairs : 2])

    def pause(self) -> None:
        """Say that what follows does not succeed what was before: open blocks are left out."""
        self._open[:] = np.nan

    def autocorrelation_times(self) -> Array:
        """Return f ≥ 1 of each joint, shape (a,)."""
        return np.array([self._of(joint) for joint in range(self._squares.shape[1])])

    def _of(self, joint: int) -> float:
        blocks, squares = self._blocks[:, joint], self._squares[:, joint]
        if blocks[0] < LEAST_BLOCKS or not squares[0] > 0.0:
            return 1.0
        variance = squares[0] / blocks[0]
        found = 1.0
        for level in range(LEVELS):
            if blocks[level] < LEAST_BLOCKS:
                break
            size = 2.0**level
            found = max(found, size * squares[level] / blocks[level] / variance)
            if size**3 > 2.0 * blocks[0] * found**2:
                break
        return found
