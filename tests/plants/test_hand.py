"""The hand that guides a simulated arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import ControlLoop, Gravity
from counterpoise.errors import InputError
from counterpoise.plants import ideal
from counterpoise.plants.hand import GuidingHand, closed_path
from counterpoise.plants.simulated import SimulatedArm
from counterpoise.recording import Sample

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

POSE = (0.3, 0.6, 0.5)


class DampedGravity(Gravity):
    """A floating arm with some damping."""

    def torque(self, sample: Sample, time: float) -> np.ndarray:
        return super().torque(sample, time) - 0.5 * sample.dq


def planar() -> SimulatedArm:
    """An ideal planar arm, bent."""
    return SimulatedArm(cp.load("planar3"), replace(ideal(dt=2e-3), position=POSE))


def test_the_tip_is_led_along_the_way() -> None:
    """A floating arm ends where the hand leads it, and the force stays below its bound."""
    arm = planar()
    robot = arm.robot
    path = np.array([[0.0, 0.0, 0.0], [0.06, 0.0, -0.08]])
    tip = robot.forward_kinematics(np.array(POSE))[:3, 3]
    plane = np.abs(robot.jacobian(np.array(POSE))[:3]).max(axis=1) > 1e-9  # what a planar arm can reach
    path[:, ~plane] = 0.0
    hand = GuidingHand(arm, path, 2.0, strongest=40.0)
    places = []

    def until(sample: Sample) -> bool:
        hand(sample)
        places.append(robot.forward_kinematics(sample.q)[:3, 3])
        return False

    with arm:
        ControlLoop(arm, DampedGravity(robot), robot).run(2.0, until=until)
    assert places[-1] == pytest.approx(tip + path[-1], abs=0.02)
    assert np.linalg.norm(path[-1]) > 0.05
    assert 0.0 < hand.peak_force <= 40.0


def test_a_loop_comes_back() -> None:
    """Closed, and as high as twice its size."""
    path = closed_path(0.1)
    assert path[0] == pytest.approx(path[-1])
    assert np.ptp(path[:, 2]) == pytest.approx(0.2, rel=0.01)


def test_what_cannot_be_led_is_refused() -> None:
    """One point, a time of zero, an arm with several tips."""
    arm = planar()
    with pytest.raises(InputError, match="path"):
        GuidingHand(arm, np.zeros((1, 3)), 1.0)
    with pytest.raises(InputError, match="seconds"):
        GuidingHand(arm, np.zeros((2, 3)), 0.0)
    with pytest.raises(InputError, match="no link 'nose'"):
        GuidingHand(arm, np.zeros((2, 3)), 1.0, link="nose")
    with pytest.raises(InputError, match="stiffness"):
        GuidingHand(arm, np.zeros((2, 3)), 1.0, stiffness=np.nan)
