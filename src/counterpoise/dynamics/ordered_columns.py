"""Independent columns of a matrix, chosen in a given order and never by size: the same basis on every machine."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..description.frozen import Array


def independent_columns(rows: Array, order: Iterable[int], tolerance: float) -> tuple[list[int], Array]:
    """Return the columns that do not depend on those before them, and the shares of every column in them.

    Gram–Schmidt in the given order, each column cleaned twice: rows[:, chosen] = basis · triangle.

    Args:
        rows: The matrix, shape (k, p).
        order: In which its columns are taken; all p of them.
        tolerance: Length of a cleaned column, relative to the longest column, up to which it is dependent.

    Returns:
        The chosen columns in ascending order, b of them, and S with rows = rows[:, chosen] @ S, shape (b, p).
    """
    longest = float(np.max(np.linalg.norm(rows, axis=0), initial=0.0))
    chosen: list[int] = []
    basis = np.zeros((len(rows), 0))
    triangle = np.zeros((0, 0))
    relations = np.zeros((rows.shape[1], rows.shape[1]))
    for column in order:
        rest, shares = rows[:, column].copy(), np.zeros(len(chosen))
        for _ in range(2):
            again = basis.T @ rest
            rest -= basis @ again
            shares += again
        size = float(np.linalg.norm(rest))
        if size > tolerance * longest:
            chosen.append(column)
            basis = np.column_stack([basis, rest / size])
            triangle = np.block([[triangle, shares[:, None]], [np.zeros((1, len(shares))), np.array([[size]])]])
            relations[column, column] = 1.0
        elif chosen:
            relations[chosen, column] = np.linalg.solve(triangle, shares)
    kept = sorted(chosen)
    return kept, relations[kept]
