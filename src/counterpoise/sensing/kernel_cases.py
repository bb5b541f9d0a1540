"""What the native loops are checked with before they are used: one case per entry point.

Each case calls a function of the given part and returns all that it wrote. The stored results are those of the Python
specification (``tests/store_results.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..dynamics import pattern
from ..foundation import Array, Cases, Layout

JOINTS = 3
COLUMNS = np.array([1, 4, 6, 11], dtype=np.int64)


def _left() -> Array:
    return np.array([[0.5, -2.25, 1.0], [0.9, 0.25, 0.5]])


def _judge(module: Any) -> Iterable[float]:
    return list(module.judge(_left(), np.array([1.0, 0.0, -1.0]), np.array([0.1, 0.2, 0.4])))


def _relearn(module: Any) -> Iterable[float]:
    noise = np.array([0.1, 0.2, 0.4])
    module.relearn(noise, np.array([0.1, 0.3, 0.05]), _left(), 0.2, 4.0, 0.5, 5.0)
    return iter(noise)


def _factor(rows: int, columns: int) -> Array:
    factor = np.triu(pattern(rows, columns, 2))
    factor[np.arange(rows), np.arange(rows)] = 2.0 + 0.25 * np.arange(rows)
    return np.ascontiguousarray(factor)


def _fold(module: Any) -> Iterable[float]:
    factor, row = _factor(5, 6), pattern(1, 6, 3)[0]
    return [*module.fold(factor, row), *factor.ravel().tolist()]


def _fold_torques(module: Any) -> Iterable[float]:
    """Four masses, three offsets, three frictions, and a column of each torque constant."""
    factor, left = _factor(10, 14), np.zeros((2, JOINTS))
    torque, side, sigma = np.array([3.0, -1.0, 0.5]), np.array([1.0, 0.0, -1.0]), np.array([0.1, 0.2, 0.3])
    module.fold_torques(
        *(factor, np.zeros(14), pattern(JOINTS, 12, 6), COLUMNS, torque, side, sigma, 0, JOINTS, 4, 7, left)
    )
    return [*factor.ravel().tolist(), *left.ravel().tolist()]


def _solve(module: Any) -> Iterable[float]:
    x = np.zeros(5)
    module.solve(_factor(5, 6), x)
    return iter(x)


def _head(module: Any) -> Iterable[float]:
    way = np.zeros(12)
    module.head(pattern(1, 12, 1)[0], way, COLUMNS, pattern(1, 5, 2)[0], pattern(1, 5, 3)[0], 0.25)
    return iter(way)


def _tail_variances(module: Any) -> Iterable[float]:
    out = np.zeros(3)
    module.tail_variances(_factor(7, 8), out)
    return iter(out)


CASES: Cases = {
    run.__name__[1:]: run for run in (_judge, _relearn, _fold, _fold_torques, _solve, _head, _tail_variances)
}
"""Per entry point of the part a function of it."""
LAYOUT: Layout = {}
"""No loop shares rows or numbers with Python beyond its arguments."""
