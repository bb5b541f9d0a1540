"""The order in which poses are visited: short moves, one after the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array

IntArray = npt.NDArray[np.int64]
MAX_ROUNDS = 50
"""Most rounds of improvement; a round without gain ends them."""


def move_times(poses: Array, speed: Array) -> Array:
    """Return the time of each move between two poses when all joints start and stop together, shape (k, k) [s].

    Args:
        poses: Poses [rad or m], shape (k, n).
        speed: Travel speeds [rad/s or m/s], shape (n,).
    """
    times: Array = np.max(np.abs(poses[:, None] - poses[None]) / speed, axis=2)
    return times


def short_tour(poses: Array, speed: Array, start: Array) -> IntArray:
    """Return an order of the poses with short moves, beginning near ``start``, shape (k,).

    The nearest pose not yet visited, then stretches of the tour are turned around as long as that shortens it (2-opt).
    Optimal it is not; within some percent of it for a few dozen poses.

    Args:
        poses: Poses [rad or m], shape (k, n).
        speed: Travel speeds [rad/s or m/s], shape (n,).
        start: Where the arm begins, and ends [rad or m], shape (n,).
    """
    cost = move_times(np.vstack([start, poses]), speed)
    tour = [0]
    left = set(range(1, len(cost)))
    while left:
        here = tour[-1]
        tour.append(min(left, key=lambda pose: (cost[here, pose], pose)))
        left.remove(tour[-1])
    order = np.array([*tour, 0])
    for _ in range(MAX_ROUNDS):
        shorter = False
        for first in range(1, len(order) - 2):
            for last in range(first + 1, len(order) - 1):
                a, b, c, d = order[first - 1], order[first], order[last], order[last + 1]
                if cost[a, c] + cost[b, d] < cost[a, b] + cost[c, d] - 1e-12:
                    order[first : last + 1] = order[first : last + 1][::-1]
                    shorter = True
        if not shorter:
            break
    return np.asarray(order[1:-1] - 1, dtype=np.int64)
