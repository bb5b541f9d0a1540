"""A push on a simulated arm can be taken back before its time is over."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise.dynamics.load import load
from counterpoise.plants.events import Push
from counterpoise.plants.presets import ideal
from counterpoise.plants.simulated import SimulatedArm

pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'counterpoise[sim]'")


def test_a_released_push_acts_no_longer() -> None:
    """The acceleration is that of the push while it acts and zero at once when it is taken back; the other stays."""
    robot = load("pendulum")
    push, other = (Push(wrench=(force, 0.0, 0.0, 0.0, 0.0, 0.0)) for force in (4.0, 1.0))
    with SimulatedArm(robot, ideal()) as arm:
        arm.push(push)
        arm.push(other)
        arm.write(robot.gravity(arm.read().q))
        both = arm.truth().ddq.copy()
        arm.release(push)
        one = arm.truth().ddq.copy()
        arm.release(other)
        arm.release(other)
        none = arm.truth().ddq.copy()
    assert abs(both[0]) > 1e-2
    assert one == pytest.approx(both / 5.0, rel=0.05)
    assert np.abs(none).max() < 0.02 * np.abs(both).max()
