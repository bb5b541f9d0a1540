"""Gravity and payload side by side: neither spoils the other."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing.track import Tracker
from library.payload_data import random_poses, stream

WAM = cp.load("wam7")
FRICTION = np.array([0.94, 1.36, 0.77, 0.6, 0.21, 0.21, 0.05])
DT = 0.01


@pytest.mark.parametrize(("mass", "link"), [(2.0, "toolplate"), (1.0, "link4")])
def test_a_load_is_not_learned_as_the_arms_own_weight(mass: float, link: str) -> None:
    """8 empty poses, 6 loaded, 4 empty: the empty arm's gravity is as good as before, with the load's on top."""
    random = np.random.default_rng(0)
    loaded = WAM.with_payload(mass, com=(0.0, 0.0, 0.1), link=link)
    robots = [WAM] * 8 + [loaded] * 6 + [WAM] * 4
    everywhere = random_poses(WAM, 100, np.random.default_rng(9))
    tracker, size = Tracker(WAM, DT, friction_band=FRICTION), np.sqrt(np.mean(WAM.gravity(everywhere) ** 2))
    errors = []
    for index, sample in enumerate(stream(robots, random_poses(WAM, 18, random), FRICTION, DT, random)):
        tracker.update(*sample)
        if index % 200 == 199:
            error = tracker.gravity.gravity(everywhere) - WAM.gravity(everywhere)
            errors.append(float(np.sqrt(np.mean(error**2)) / size))
    assert [event.kind for _, event in tracker.payload.events] == ["attached", "released"]
    assert errors[8:14] == [errors[7]] * 6
    assert max(errors[7:]) < 0.02
    track = tracker.finished()
    at = int(np.searchsorted(track.time, 27.8))
    change = track.gravity[at] - loaded.gravity(track.q[at])
    assert np.all(np.abs(change) < 4.0 * track.gravity_std[at] + 0.05)


def test_absurd_positions_end_nothing() -> None:
    """A position of 1e12 rad in a recording is passed over."""
    tracker = Tracker(WAM, DT)
    for _ in range(30):
        tracker.update(np.full(7, 1e12), np.zeros(7), np.zeros(7))
    assert tracker.finished().samples == 30
    assert tracker.payload.estimate.text().startswith("nothing known of a payload")
