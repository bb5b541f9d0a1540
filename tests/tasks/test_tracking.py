"""Following gravity and payload through a recording."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.sensing import Tracker
from counterpoise.tasks import track_log
from counterpoise.tasks.tracking import PROGRESS_EVERY
from library.payload_data import random_poses, stream

WAM = cp.load("wam7")
FRICTION = np.array([0.94, 1.36, 0.77, 0.6, 0.21, 0.21, 0.05])
DT = 0.01


@pytest.fixture(scope="module")
def log() -> cp.Log:
    """Four poses, with the moves between them."""
    random = np.random.default_rng(3)
    samples = list(stream([WAM] * 4, random_poses(WAM, 4, random), FRICTION, DT, random))
    q, dq, tau = (np.array([sample[place] for sample in samples]) for place in range(3))
    return cp.Log(WAM.joint_names, DT * np.arange(len(q)), q, dq, tau)


def test_a_recording_is_followed_as_its_samples_are(log: cp.Log) -> None:
    """Sample by sample the tracker's own; what is told of the progress changes nothing, and is told now and then."""
    told: list[tuple[float, float]] = []
    quiet, loud = track_log(WAM, log), track_log(WAM, log, progress=lambda *done: told.append(done))
    tracker = Tracker(WAM, 1.0 / log.rate)
    for row in range(len(log)):
        tracker.update(log.q[row], log.dq[row], log.tau[row])
    by_hand = tracker.finished()
    for found in (quiet, loud):
        np.testing.assert_array_equal(found.gravity, by_hand.gravity)
        np.testing.assert_array_equal(found.time, by_hand.time)
    assert told == [(float(row), float(len(log))) for row in range(0, len(log), PROGRESS_EVERY)]
