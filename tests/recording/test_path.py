"""Which way joints last moved, and how new a later part of a path is."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.recording.path import direction_of_travel, distance_to_path, novelty, thinned


def test_direction_is_kept_while_standing_and_changes_only_by_a_real_reversal():
    q = np.array([[0.0], [0.05], [0.0495], [0.05], [0.0489], [0.045], [0.045]])
    assert direction_of_travel(q, 0.002).ravel().tolist() == [0, 1, 1, 1, 1, -1, -1]


def test_direction_counts_from_the_farthest_point():
    """Creeping back in steps smaller than the reversal adds up."""
    q = np.concatenate([np.linspace(0.0, 0.1, 50), np.linspace(0.1, 0.09, 100)])[:, None]
    assert direction_of_travel(q, 0.002)[-1, 0] == -1.0


def test_standing_still_adds_no_points():
    q = np.repeat([[0.0], [1.0]], 500, axis=0) + 1e-5 * np.random.default_rng(0).normal(size=(1000, 1))
    assert len(thinned(q, 0.01)) == 2


def test_distance_is_to_the_line_between_corners():
    distance, nearest = distance_to_path(np.array([[0.6, 0.1], [2.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert distance == pytest.approx([0.1, 1.0])
    assert nearest.tolist() == [1, 1]


def wander(seed: int, count: int = 1200, joints: int = 6) -> np.ndarray:
    time = np.linspace(0.0, 1.0, count)[:, None, None]
    random = np.random.default_rng(seed)
    waves = np.sin(2.0 * np.pi * time * np.arange(1, 4) * 0.8 + random.uniform(0.0, 6.3, (joints, 3)))
    return (waves * random.normal(size=(joints, 3))).sum(axis=2)


@pytest.mark.parametrize("seed", range(4))
def test_new_path_is_new(seed):
    assert novelty(wander(seed)).share_repeated(0.03) < 0.2


@pytest.mark.parametrize("seed", range(4))
def test_way_back_repeats_backwards(seed):
    half = wander(seed)
    found = novelty(np.concatenate([half, half[::-1]]))
    assert found.share_repeated(0.03) > 0.99
    assert found.sense(0.03) < -0.95


def test_second_round_repeats_forwards():
    round_trip = wander(1)
    found = novelty(np.concatenate([round_trip, round_trip]))
    assert found.share_repeated(0.03) > 0.8
    assert found.sense(0.03) > 0.95


def test_speed_does_not_matter():
    """The way back at another speed is the same path."""
    half = wander(2)
    found = novelty(np.concatenate([half, half[::-3]]))
    assert found.share_repeated(0.03) > 0.99
