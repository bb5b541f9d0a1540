"""Held poses: on which share of its friction a joint rests, and when."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.sensing.payload_dwell import GIVE, TREMBLE, DwellGatherer

DT = 0.01


def held(path: list[float], rest: float = 1.5):
    """Return the pose in which one joint rests after a path, 0.3 s a part; a second joint never moves."""
    gatherer = DwellGatherer(2, DT, np.ones(2))
    at = 0.0
    for goal in path:
        for q in np.linspace(at, goal, 31)[1:]:
            gatherer.add([q, 0.5], [0.0, 0.0], [1.0, 1.0], None)
        at = goal
    for _ in range(round(rest / DT)):
        gatherer.add([at, 0.5], [0.0, 0.0], [1.0, 1.0], None)
    pose = gatherer.present()
    assert pose is not None
    return pose


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_a_joint_that_comes_to_rest_rests_on_its_whole_friction(way: float) -> None:
    """The side is the way it came, and sure; of a joint that never moved nothing is known."""
    pose = held([0.4 * way])
    assert pose.side[0] == pytest.approx(way, abs=1e-3) and pose.side_std[0] < 1e-3
    assert pose.side[1] == 0.0 and pose.side_std[1] == 1.0


def test_settling_back_unwinds_friction() -> None:
    """0.2 mrad back leave about nothing of it, 5 mrad turn it; half-way the share is unsure, and says so."""
    give = float(GIVE[1, 0])
    for back in (1e-4, 2e-4, 4e-4):
        pose = held([0.4, 0.4 - back])
        expected = 2.0 * np.exp(-(back - 2.0 * TREMBLE) / give) - 1.0
        assert pose.side[0] == pytest.approx(expected, abs=0.05)
        assert 0.2 < pose.side_std[0] <= 1.0
    turned = held([0.4, 0.395])
    assert turned.side[0] == pytest.approx(-1.0, abs=0.02) and turned.side_std[0] < 0.02


def test_the_torque_of_sliding_is_that_before_the_rest() -> None:
    """A pose that ends because the joint goes on keeps the torque at which the joint slid to it."""
    gatherer = DwellGatherer(1, DT, np.ones(1))
    finished = None
    way, rest = [0.01 * min(k, 39) for k in range(44)], [0.39] * 100
    for q, tau in [*((q, 1.0) for q in way), *((q, -0.5) for q in rest)]:
        gatherer.add([q], [0.0], [tau], None)
    for k in range(40):
        gatherer.add([0.39 - 0.01 * k], [0.0], [-1.0], None)
        finished = gatherer.finished if gatherer.slot_done and gatherer.finished is not None else finished
    assert finished is not None
    assert finished.tau[0] == pytest.approx(-0.5) and finished.slid_tau[0] == 1.0


def test_trembling_of_an_encoder_unwinds_nothing() -> None:
    """A count back and forth for a minute at rest is no motion."""
    gatherer = DwellGatherer(1, DT, np.ones(1))
    for q in np.linspace(0.0, 0.4, 61)[1:]:
        gatherer.add([q], [0.0], [1.0], None)
    for index in range(6000):
        gatherer.add([0.4 + 1.5e-5 * (-1) ** (index // 2)], [0.0], [1.0], None)
    pose = gatherer.present()
    assert pose is not None and pose.side[0] > 0.9
    assert pose.time == pytest.approx(0.6 + 30.0, abs=0.5)


def test_a_load_that_only_the_plate_feels_ends_the_pose() -> None:
    """10 N more on the plate at the end of a standing: they are not averaged into the pose before."""
    gatherer = DwellGatherer(1, DT, np.ones(1))
    finished = []
    for index in range(300):
        weight = 100.0 + (10.0 if index >= 200 else 0.0)
        gatherer.add([0.1], [0.0], [1.0], [0.0, 0.0, weight, 0.0, 0.0, 0.0])
        if gatherer.slot_done and gatherer.finished is not None:
            finished.append(gatherer.finished)
    assert len(finished) == 1
    assert finished[0].wrench is not None and finished[0].wrench[2] == pytest.approx(100.0, abs=0.5)
