"""What a hold says: means, sides, errors; how it fits in; what holds leave unexplained."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording import REVERSAL, Follower, Means
from counterpoise.sensing import hold, kernel
from counterpoise.sensing.hold import LET_GO, UNEVEN, Sliding, Told, bears_weight, summarise

ROBOT = cp.load("wam7")
POSE = np.array([0.1, -0.5, 0.2, 1.0, 0.1, 0.3, 0.2])


def test_sides_and_errors_of_a_hold() -> None:
    """A joint that slid keeps its side, with the change of torque since as an error; others count with all friction."""
    random = np.random.default_rng(0)
    means, told = Means(6), np.zeros((len(Told), 3))
    rows = np.hstack([0.3 + np.zeros((100, 3)), 5.0 + 0.1 * random.standard_normal((100, 3))])
    for row in rows:
        means.add(row)
    square, noise = np.full(3, 4.0), np.full(3, 0.2)
    sliding = np.array([5.0, 5.0, 5.0 + 1.1 * LET_GO * 2.0])
    summarise(told, means, np.array([-1.0, 0.0, 1.0]), sliding, square, noise)
    np.testing.assert_array_equal(told[Told.SIDE], [-1.0, 0.0, 0.0])
    np.testing.assert_allclose(told[Told.POSE], 0.3, rtol=1e-12)
    np.testing.assert_allclose(told[Told.TORQUE], rows[:, 3:].mean(axis=0), rtol=1e-12)
    free = np.sqrt(0.2**2 + rows[:, 3:].var(axis=0, ddof=1) / 100)
    np.testing.assert_allclose(told[Told.SIGMA_FREE], free, rtol=1e-9)
    np.testing.assert_allclose(told[Told.SIGMA], [np.hypot(0.2, UNEVEN * 2.0), 2.01, 2.01], rtol=1e-2)


def test_a_joint_has_slid_when_its_follower_was_dragged_away() -> None:
    """Travel within the play is no slide since the hold; the torque is that of the last slot with one."""
    follower, reversal = Follower(np.full(2, np.nan), REVERSAL), np.full(2, REVERSAL)
    sliding = Sliding(follower, reversal)
    assert sliding.since_hold().all()  # nothing is known yet
    path = [(0.0, 1.0), (0.1, 2.0), (0.2, 3.0), (0.2, 7.0), (0.2 - 0.5 * REVERSAL, 8.0), (0.2, 9.0)]
    for q, tau in path:
        follower.update(np.array([q, 0.5]))
        sliding.note(np.full(2, tau))
    np.testing.assert_array_equal(sliding.torque, [2.0, 1.0])
    sliding.hold()
    assert not sliding.since_hold().any()
    for q in (0.2 - 0.5 * REVERSAL, 0.2 - 4.0 * REVERSAL):
        follower.update(np.array([q, 0.5]))
    np.testing.assert_array_equal(sliding.since_hold(), [True, False])


@pytest.mark.parametrize("share", [0.99, -0.99])
def test_a_saturated_drive_or_a_stop_bears_no_weight(share: float) -> None:
    """Each is told of its joint alone; 90 % of the limit are borne."""
    tau = np.zeros(7)
    tau[3] = share * ROBOT.effort_limit[3]
    np.testing.assert_array_equal(np.flatnonzero(~bears_weight(ROBOT, POSE, tau)), [3])
    assert bears_weight(ROBOT, POSE, 0.9 * tau).all()
    pose = POSE.copy()
    pose[1] = ROBOT.upper[1] - 0.005
    np.testing.assert_array_equal(np.flatnonzero(~bears_weight(ROBOT, pose, 0.9 * tau)), [1])


def test_native_and_specification_agree() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 7, 19):
        left = np.array([rng.standard_normal(n), rng.uniform(0.1, 1.0, n)])
        rows = (left, rng.choice([-1.0, 0.0, 1.0], n), rng.uniform(0.1, 0.3, n))
        assert kernel.judge(*rows) == pytest.approx(hold.judge(*rows))
        noise, start = np.tile(rng.uniform(0.1, 0.3, n), (2, 1)), np.full(n, 0.2)
        for module, values in zip((kernel, hold), noise, strict=True):
            module.relearn(values, start, 3.0 * left, 0.1, 9.0, 0.5, 10.0)
        np.testing.assert_allclose(noise[0], noise[1], rtol=1e-12)


def test_the_noise_of_holds_is_learned() -> None:
    """Innovations of three standard deviations raise it, none lower it, within bounds; unforeseen ones do not tell."""
    noise, start, one = np.ones(3), np.ones(3), np.ones(3)
    for _ in range(400):
        kernel.relearn(noise, start, np.array([[3.0, 0.0, 3.0], [1.0, 1.0, 0.0]]), 0.1, 9.0, 0.5, 10.0)
    np.testing.assert_allclose(noise, [10.0, 0.5, 1.0])
    with pytest.raises(ValueError, match="wrong type or size" if kernel.NATIVE else "broadcast"):
        kernel.judge(np.ones((2, 3)), one, np.ones(2))
