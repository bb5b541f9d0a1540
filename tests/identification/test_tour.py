"""The order of the poses."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np

from counterpoise.identification.pose_design import move_times, short_tour


def _length(order: np.ndarray, cost: np.ndarray) -> float:
    way = [0, *(order + 1), 0]
    return float(sum(cost[a, b] for a, b in pairwise(way)))


def test_a_tour_visits_every_pose_once_and_is_nearly_the_shortest() -> None:
    """Against all orders of seven poses, on ten seeds."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        poses, speed, start = random.uniform(-1.0, 1.0, (7, 3)), random.uniform(0.2, 1.0, 3), np.zeros(3)
        cost = move_times(np.vstack([start, poses]), speed)
        order = short_tour(poses, speed, start)
        assert sorted(order.tolist()) == list(range(7))
        best = min(_length(np.array(other), cost) for other in permutations(range(7)))
        assert _length(order, cost) <= 1.15 * best


def test_the_slowest_joint_sets_the_time_of_a_move() -> None:
    times = move_times(np.array([[0.0, 0.0], [1.0, 0.5]]), np.array([1.0, 0.1]))
    assert times[0, 1] == 5.0
    assert times[1, 1] == 0.0
