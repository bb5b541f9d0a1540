"""Held-back samples are new places of joint space, not new times."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.fitting import Samples
from counterpoise.identification.heldout import GUARD, Regions, Split, path_coordinate, split_samples
from counterpoise.identification.moving import moving_samples
from library.simulated_motion import motion, recording

ROBOT = cp.load("wam4")


@cache
def there_and_back() -> Samples:
    """A path of 10 s that is driven out and then back."""
    time, q, dq, ddq = motion(ROBOT, 3, seconds=10.0)
    q, dq, ddq = np.concatenate([q, q[::-1]]), np.concatenate([dq, -dq[::-1]]), np.concatenate([ddq, ddq[::-1]])
    time = np.arange(len(q)) * 0.01
    return Samples(ROBOT.joint_names, time, q, dq, ddq, np.zeros_like(q), np.ones(4))


@cache
def divided(how: str) -> Split:
    """A split of that path."""
    return split_samples(there_and_back(), how)


def test_a_split_by_time_tests_the_same_path_again_and_says_so() -> None:
    """The last 40 % of an out-and-back recording are not new; a split by path is."""
    assert divided("time:first:0.6").novelty[1] < 0.01
    for how in ("path", "path:first:0.6", "path:last:0.6"):
        assert divided(how).novelty[1] > 0.05, how


def test_no_place_is_both_fitted_and_held_back() -> None:
    """Every held-back sample keeps its distance from all fitted ones, and enough of both are left."""
    split = divided("path")
    assert not np.any(split.train & split.held)
    assert split.novelty[0] >= GUARD
    assert 0.1 < split.held.mean() < 0.45 and split.train.mean() > 0.4


def test_training_keeps_most_of_every_joints_range() -> None:
    samples = moving_samples(ROBOT, recording(ROBOT, 5, seconds=40.0))
    split = split_samples(samples)
    assert np.all(np.ptp(samples.q[split.train], axis=0) >= 0.6 * np.ptp(samples.q, axis=0))


def test_the_path_coordinate_of_a_way_back_is_that_of_the_way_out() -> None:
    """s = 1 − |2t/T − 1| for a path driven out and back."""
    samples = there_and_back()
    share = np.linspace(0.0, 1.0, len(samples))
    assert np.abs(path_coordinate(samples.q) - (1.0 - np.abs(2.0 * share - 1.0))).max() < 0.06


def test_a_path_that_is_never_driven_again_has_time_for_its_coordinate() -> None:
    share = np.linspace(0.0, 1.0, 500)
    q = np.stack([3.0 * share, share**2, np.sin(3.0 * share), 0.0 * share], axis=1)
    assert np.abs(path_coordinate(q) - share).max() < 0.03


def test_named_splits_take_the_stated_share() -> None:
    count = len(there_and_back())
    assert divided("time:first:0.6").train[: int(0.59 * count)].all()
    assert divided("time:last:0.25").train[int(0.76 * count) :].all()
    first = divided("path:first:0.6").train
    assert first[:500].all() and first[-500:].all() and not first[900:1100].any()


def test_the_same_poses_give_the_same_regions() -> None:
    q = motion(ROBOT, 8)[1]
    one, other = Regions(q, 5), Regions(q.copy(), 5)
    assert np.array_equal(one.of(q), other.of(q))
    assert len(np.unique(one.of(q))) == 5


@pytest.mark.parametrize("how", ["", "random", "time", "time:first", "path:first:2", "path:middle:0.5", "time:first:x"])
def test_unknown_splits_are_refused(how: str) -> None:
    with pytest.raises(cp.InputError, match="there is no split"):
        split_samples(there_and_back(), how)


def test_a_motion_that_cannot_be_divided_is_refused() -> None:
    samples = there_and_back()
    still = replace(samples, q=np.zeros_like(samples.q))
    with pytest.raises(cp.InputError, match="too small or too short"):
        split_samples(still)
