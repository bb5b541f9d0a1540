"""Held poses: on which fraction of its friction a joint rests, and when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from counterpoise.sensing.payload_dwell import GIVE, TREMBLE, HeldPose, HeldPoses

DT = 0.01


def add(poses: HeldPoses, q: Sequence[float], tau: Sequence[float], wrench: Sequence[float] | None = None) -> None:
    """Feed one sample."""
    poses.rests.add(q, np.zeros(len(q)), tau, wrench)
    if poses.rests.slot_done:
        poses.follow()


def finished(poses: HeldPoses) -> list[HeldPose]:
    """Return the pose that ended with the last sample, if one did."""
    return [poses.finished] if poses.rests.slot_done and poses.finished is not None else []


def held(path: list[float], rest: float = 1.5) -> HeldPose:
    """Return the pose in which one joint rests after a path, 0.3 s a part; a second joint never moves."""
    poses = HeldPoses(2, DT, np.ones(2))
    at = 0.0
    for goal in path:
        for q in np.linspace(at, goal, 31)[1:]:
            add(poses, [q, 0.5], [1.0, 1.0])
        at = goal
    for _ in range(round(rest / DT)):
        add(poses, [at, 0.5], [1.0, 1.0])
    pose = poses.present()
    assert pose is not None
    return pose


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_a_joint_that_comes_to_rest_rests_on_its_whole_friction(way: float) -> None:
    """The side is the way it came, and sure; of a joint that never moved nothing is known."""
    pose = held([0.4 * way])
    assert pose.friction_fraction[0] == pytest.approx(way, abs=1e-3) and pose.fraction_std[0] < 1e-3
    assert pose.friction_fraction[1] == 0.0 and pose.fraction_std[1] == 1.0
    np.testing.assert_array_equal(pose.rest.side, [way, 0.0])


def test_settling_back_unwinds_friction() -> None:
    """0.2 mrad back leave about nothing of it, 5 mrad turn it; half-way the fraction is unsure, and says so."""
    give = float(GIVE[1, 0])
    for back in (1e-4, 2e-4, 4e-4):
        pose = held([0.4, 0.4 - back])
        expected = 2.0 * np.exp(-(back - 2.0 * TREMBLE) / give) - 1.0
        assert pose.friction_fraction[0] == pytest.approx(expected, abs=0.05)
        assert 0.2 < pose.fraction_std[0] <= 1.0
        assert pose.rest.side[0] == 1.0  # no travel that counts as another direction
    turned = held([0.4, 0.395])
    assert turned.friction_fraction[0] == pytest.approx(-1.0, abs=0.02) and turned.fraction_std[0] < 0.02


def test_the_torque_of_sliding_is_that_before_the_rest() -> None:
    """A pose that ends because the joint goes on keeps the torque at which the joint slid to it."""
    poses = HeldPoses(1, DT, np.ones(1))
    found = []
    way, rest = [0.01 * min(k, 39) for k in range(44)], [0.39] * 100
    for q, tau in [*((q, 1.0) for q in way), *((q, -0.5) for q in rest)]:
        add(poses, [q], [tau])
    for k in range(40):
        add(poses, [0.39 - 0.01 * k], [-1.0])
        found += finished(poses)
    (pose,) = found
    assert pose.rest.tau[0] == pytest.approx(-0.5) and pose.slid_tau[0] == 1.0
    assert pose.rest.q[0] == pytest.approx(0.39, abs=1e-12)  # nothing of the way on is in it


def test_trembling_of_an_encoder_unwinds_nothing() -> None:
    """A count back and forth for a minute at rest is no motion."""
    poses = HeldPoses(1, DT, np.ones(1))
    for q in np.linspace(0.0, 0.4, 61)[1:]:
        add(poses, [q], [1.0])
    for index in range(6000):
        add(poses, [0.4 + 1.5e-5 * (-1) ** (index // 2)], [1.0])
    pose = poses.present()
    assert pose is not None and pose.friction_fraction[0] > 0.9
    assert pose.rest.begin + 0.5 * pose.rest.duration == pytest.approx(0.6 + 30.0, abs=0.5)


@pytest.mark.parametrize("axis", range(6))
def test_a_load_that_only_the_plate_feels_ends_the_pose(axis: int) -> None:
    """3 N or 1.5 N m more on the plate, along any axis, are not averaged into the pose before; half of it is noise."""
    more = 3.0 if axis < 3 else 1.5
    for share in (1.0, -1.0, 0.5):
        poses, found = HeldPoses(1, DT, np.ones(1)), []
        for index in range(300):
            wrench = np.array([0.0, 0.0, 100.0, 0.0, 0.0, 0.0])
            wrench[axis] += share * more if index >= 200 else 0.0
            add(poses, [0.1], [1.0], wrench.tolist())
            found += finished(poses)
        if share == 0.5:
            assert not found
            continue
        (pose,) = found
        assert pose.rest.wrench == pytest.approx([0.0, 0.0, 100.0, 0.0, 0.0, 0.0], abs=1e-9)


def test_a_joint_that_stays_is_not_counted_again() -> None:
    """One joint goes on, the other stays: at the next pose only the first is fresh; a torque that steps is, too."""
    poses, found = HeldPoses(2, DT, np.ones(2)), []
    for q, tau in ((0.0, 1.0), (0.5, 1.0), (1.0, 2.0)):
        for share in (*np.linspace(0.0, 1.0, 50), *np.ones(100)):
            add(poses, [q + 0.5 * share, 0.3], [1.0, tau])
            found += finished(poses)
    assert [pose.fresh.tolist() for pose in found] == [[True, True], [True, False]]
    present = poses.present()
    assert present is not None and present.fresh.all()


def test_a_little_way_back_may_have_unwound_all_friction_of_a_stiff_gear() -> None:
    """Three hundredths of a millirad beyond the encoder's tremble: most is left of a soft gear's, nothing is sure."""
    pose = held([0.4, 0.4 - 7e-5])
    assert pose.friction_fraction[0] > 0.7 and pose.fraction_std[0] > 0.85
