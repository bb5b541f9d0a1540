"""The hold that yields: it fades in and out, bears what is below its threshold, and lets go above it."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.tasks.float.law import FADE_IN, FADE_OUT, MOST, YieldingHold

KP, KD, THRESHOLD = np.array([100.0, 50.0]), np.array([2.0, 1.0]), np.array([3.0, 1.0])
SLOW = np.array([0.05, 0.05])
STILL = np.zeros(2)
DT = 1e-3


def caught() -> YieldingHold:
    hold = YieldingHold(KP, KD, THRESHOLD, SLOW)
    hold.catch(STILL)
    hold.torque(STILL, STILL, 0.0)
    return hold


def test_a_moving_arm_is_slowed_down_first() -> None:
    """Only the damper acts until it has come to rest; there it is held. One that goes on is held after 1 s."""
    hold, q, speed = YieldingHold(KP, KD, THRESHOLD, SLOW), 0.0, 0.5
    hold.catch(STILL)
    for _ in range(400):
        tau = hold.torque(np.array([q, 0.0]), np.array([speed, 0.0]), DT)
        assert tau is not None and tau[0] == pytest.approx(-hold.level * min(2.0 * speed, 6.0))
        q += DT * speed
    tau = hold.torque(np.array([q, 0.0]), STILL, DT)
    assert hold.holding and tau is not None and np.all(tau == 0.0)
    back = hold.torque(np.array([q + 0.01, 0.0]), STILL, DT)
    assert back is not None and back[0] == pytest.approx(-1.0)
    pulled = YieldingHold(KP, KD, THRESHOLD, SLOW)
    pulled.catch(STILL)
    for tick in range(1200):
        pulled.torque(np.array([tick * DT * 0.5, 0.0]), np.array([0.5, 0.0]), DT)
    assert not pulled.holding


def test_it_is_off_until_it_catches() -> None:
    """No torque, and None rather than zeros: there is nothing to add."""
    hold = YieldingHold(KP, KD, THRESHOLD, SLOW)
    assert hold.torque(np.ones(2), np.ones(2), DT) is None and not hold.holding


def test_it_fades_in_and_bears_what_is_below_its_threshold() -> None:
    """The spring's torque rises with the level, and stays."""
    hold, levels = caught(), []
    for _ in range(round(2.0 * FADE_IN / DT)):
        tau = hold.torque(np.array([-0.02, 0.01]), STILL, DT)
        levels.append(hold.level)
    assert np.all(np.diff(levels) >= 0.0) and levels[0] < 0.01 and levels[-1] == 1.0
    assert tau == pytest.approx([2.0, -0.5]) and hold.holding


def test_a_push_makes_it_yield_without_a_jump() -> None:
    """Pushed by more than the threshold on one joint it lets go on all, its torque falling to nothing."""
    hold = caught()
    for _ in range(1000):
        hold.torque(STILL, STILL, DT)
    pushed, torques = np.array([0.0, -0.021]), []
    for _ in range(round(1.5 * FADE_OUT / DT)):
        tau = hold.torque(pushed, STILL, DT)
        torques.append(0.0 if tau is None else float(tau[1]))
    assert not hold.holding
    assert torques[-1] == 0.0 and np.max(-np.diff(torques)) <= 1.1 * 1.05 * DT / FADE_OUT
    assert hold.torque(pushed, STILL, DT) is None


@pytest.mark.parametrize("q", [-1e9, -1.0, 1.0, 1e9])
def test_its_torque_is_bounded(q: float) -> None:
    """However far and fast the arm is: twice the threshold."""
    hold = caught()
    for _ in range(1000):
        hold.torque(STILL, STILL, DT)
    tau = hold.torque(np.full(2, q), np.full(2, -q), DT)
    assert tau is not None and np.all(np.abs(tau) <= MOST * THRESHOLD)


def test_let_go_and_clear() -> None:
    """Asked to, it fades out; cleared, it is gone at once."""
    hold = caught()
    for _ in range(1000):
        hold.torque(STILL, STILL, DT)
    hold.let_go()
    assert hold.torque(np.full(2, 1e-3), STILL, DT) is not None and not hold.holding
    hold.clear()
    assert hold.level == 0.0 and hold.torque(np.full(2, 1e-3), STILL, DT) is None
