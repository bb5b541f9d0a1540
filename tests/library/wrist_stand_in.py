"""A wrist sensor of a simulated arm: tool and contact at the toolplate, with a zero and noise of its own."""

from __future__ import annotations

import numpy as np

import counterpoise as cp
from counterpoise.foundation import Array
from counterpoise.plants import SimulatedArm
from counterpoise.sensing import WristCalibration, tool_columns

BIAS = np.array([3.0, -5.0, 8.0, 0.2, -0.1, 0.3])


def wrist_calibration(
    robot: cp.Robot, link: str, *, mass: float = 0.0, com: Array | None = None, bias: Array = BIAS
) -> WristCalibration:
    """Return a calibration as if it had been found exactly: a sensor at the link's own frame."""
    zero = np.zeros(3)
    return WristCalibration(
        robot=robot,
        link=link,
        T_link_sensor=np.eye(4),
        reads="on_robot",
        mass=mass,
        com=zero if com is None else com,
        bias=bias,
        mass_std=0.0,
        com_std=zero,
        bias_std=np.zeros(6),
        rotation_std=zero,
        noise=np.zeros(6),
        determined={},
        sentences=(),
    )


def reading_of(
    calibration: WristCalibration, q: Array, force: Array, point: Array, noise: Array | None = None
) -> Array:
    """Return the raw reading under a force on the robot at a point, both in the base frame, at rest."""
    robot = calibration.robot
    T = robot.forward_kinematics(q, at=calibration.link)
    moment = np.cross(point - T[:3, 3], force)
    contact = np.concatenate([T[:3, :3].T @ force, T[:3, :3].T @ moment])
    columns = tool_columns(robot, calibration.link, calibration.T_link_sensor, q[None])[0]
    tool = columns @ (calibration.mass * np.array([1.0, *calibration.com]))
    return calibration.bias + contact + tool + (0.0 if noise is None else noise)


class WristOf:
    """Reads the first touch of a simulated arm."""

    def __init__(
        self, plant: SimulatedArm, calibration: WristCalibration, *, noise: float = 0.0, seed: int = 0
    ) -> None:
        self._plant, self._calibration, self._noise = plant, calibration, noise
        self._random = np.random.default_rng(seed)

    def __call__(self) -> Array:
        touch = self._plant.touches()[0]
        noise = self._noise * self._random.normal(size=6) * [1.0, 1.0, 1.0, 0.05, 0.05, 0.05]
        return reading_of(self._calibration, self._plant.truth().q, touch.force, touch.point, noise)
