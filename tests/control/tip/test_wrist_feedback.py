"""What the arm exerts by a wrist sensor: zero and tool removed, sign and frame right, bad readings bridged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.tip.hybrid_force import HybridForce
from counterpoise.control.tip.impedance import Impedance
from counterpoise.control.tip.tip_wrench import TipWrench
from counterpoise.control.tip.wrist_feedback import WristFeedback
from counterpoise.errors import InputError
from counterpoise.tasks import Admittance
from library.wrist_stand_in import reading_of, wrist_calibration

ROBOT = cp.load("puma560")
CALIBRATION = wrist_calibration(ROBOT, "link6", mass=0.8, com=np.array([0.01, -0.02, 0.06]))
POSE = np.array([0.4, 0.5, -2.2, 0.3, 0.7, -0.2])


@pytest.mark.parametrize("at", ["link6", "link5"])
def test_the_force_on_the_robot_comes_back_with_the_other_sign(at: str) -> None:
    """A surface that pushes the arm with f at a point is pushed with −f, and the moment is about the link's origin."""
    force, point = np.array([3.0, -7.0, 12.0]), ROBOT.forward_kinematics(POSE)[:3, 3] + [0.02, 0.01, -0.05]
    reading = reading_of(CALIBRATION, POSE, force, point)
    exerted = WristFeedback(CALIBRATION, lambda: reading).exerted(POSE, at)
    assert exerted is not None
    np.testing.assert_allclose(exerted[:3], -force, atol=1e-9)
    origin = ROBOT.forward_kinematics(POSE, at=at)[:3, 3]
    np.testing.assert_allclose(exerted[3:], -np.cross(point - origin, force), atol=1e-9)


@pytest.mark.parametrize("at", ["link6", "link3"])
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.7, -1.2, 0.4)], ids=["upright", "tilted"])
def test_a_load_beyond_the_sensor_is_no_force_on_the_surroundings(at: str, rpy: tuple[float, float, float]) -> None:
    """What a load weighs is taken off, at any mounting; a load before the sensor is not felt; letting go undoes it."""
    robot = ROBOT.mounted(rpy=rpy)
    calibration = wrist_calibration(robot, "link6", mass=0.8, com=np.array([0.01, -0.02, 0.06]))
    tool = robot.with_payload(0.8, com=(0.01, -0.02, 0.06))  # a model that carries the tool too, as many do
    mass, com, touch = 1.5, np.array([0.03, 0.0, 0.1]), np.array([3.0, -7.0, 12.0])
    T = robot.forward_kinematics(POSE)
    load_at, point = T[:3, 3] + T[:3, :3] @ com, T[:3, 3] + [0.02, 0.01, -0.05]
    free = reading_of(calibration, POSE, touch, point)
    held = free + reading_of(calibration, POSE, mass * robot.gravity_base, load_at) - calibration.bias
    held -= reading_of(calibration, POSE, np.zeros(3), point) - calibration.bias
    feedback = WristFeedback(calibration, lambda: held)
    expected = WristFeedback(calibration, lambda: free).exerted(POSE, at)
    loaded = tool.with_payload(mass, com=com.tolist())
    carrying = feedback.carrying(tool, loaded)
    np.testing.assert_allclose(carrying.exerted(POSE, at), expected, atol=1e-9)  # type: ignore[arg-type]
    more = carrying.carrying(loaded, loaded.with_payload(2.0, link="link3"))
    np.testing.assert_allclose(more.exerted(POSE, at), expected, atol=1e-9)  # type: ignore[arg-type]
    back = carrying.carrying(loaded, tool).exerted(POSE, at)
    np.testing.assert_allclose(back, feedback.exerted(POSE, at), atol=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [None, np.full(6, np.nan), np.zeros(5), "text", np.full(6, 1e6)])
def test_bad_readings_are_bridged_and_no_more(bad: Any) -> None:
    """The last good reading stands in hold_ticks times; then there is none, until the next good one."""
    good = reading_of(CALIBRATION, POSE, np.array([1.0, 2.0, 3.0]), np.zeros(3))
    current: list[Any] = [good]
    feedback = WristFeedback(CALIBRATION, lambda: current[0], hold_ticks=3, largest=1e3)
    first = feedback.exerted(POSE, "link6")
    assert first is not None
    current[0] = bad
    for _ in range(3):
        np.testing.assert_array_equal(feedback.exerted(POSE, "link6"), first)  # type: ignore[arg-type]
    assert feedback.exerted(POSE, "link6") is None
    current[0] = good
    assert feedback.exerted(POSE, "link6") is not None
    feedback.reset()
    current[0] = bad
    assert feedback.exerted(POSE, "link6") is None


def test_an_arm_that_hangs_otherwise_is_refused() -> None:
    """A calibration on the floor is none for the ceiling, nor for another arm; every law that reads it looks."""
    feedback = WristFeedback(CALIBRATION, lambda: None)
    hanging = ROBOT.mounted(rpy=(np.pi, 0.0, 0.0))
    impedance = Impedance(hanging, (400.0,) * 3 + (15.0,) * 3)
    for make in (
        lambda: TipWrench(hanging, np.ones(6), feedback=feedback),
        lambda: HybridForce(impedance, 10.0, (0, 0, 1), feedback=feedback),
        lambda: Admittance(hanging, feedback, 8e-3),
    ):
        with pytest.raises(InputError, match="mounting"):
            make()
    with pytest.raises(InputError, match="joints"):
        TipWrench(cp.load("wam7"), np.ones(6), feedback=feedback)


def test_arguments_are_checked() -> None:
    """A calibration, something to call, and a whole number."""
    for arguments in ((None, lambda: None), (CALIBRATION, 3)):
        with pytest.raises(InputError):
            WristFeedback(*arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="hold_ticks"):
        WristFeedback(CALIBRATION, lambda: None, hold_ticks=-1)
