"""What the plate under the base tells about a floating arm: its friction, and the force of a hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base_sensor.sensor import BaseSensor
from ..description.frozen import Array, frozen
from ..logs.sample import Sample
from .arms import ViewArm

TARE_FROM, TARE_UNTIL = 0.3, 1.0
"""When the plate is tared, after the start [s]: the arm is held, empty and untouched."""
SMOOTHING = 0.1
"""Time constant of what is shown [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Felt:
    """What the plate feels.

    Attributes:
        friction: Motor torque minus the torque that the plate finds at the joint [N m or N], shape (n,).
        force: Force on the arm from outside, base frame [N], shape (3,).
    """

    friction: Array
    force: Array


class TaredPlate:
    """Tares the plate while the arm is held at the start, then follows its reading."""

    def __init__(self, arm: ViewArm) -> None:
        """Prepare for an arm."""
        info = arm.plant.plate
        self._sensor = None if info is None else BaseSensor(arm.robot, info.T_base_sensor, info.reads, range=info.range)
        self._robot = arm.robot
        self._step = arm.plant.dt / SMOOTHING
        self.forget()

    def forget(self) -> None:
        """Forget tare and past readings."""
        self._rows: list[tuple[Array, Array]] = []
        self._mean: Array | None = None
        self._effort: Array | None = None
        self._tare_force: Array | None = None
        if self._sensor is not None:
            self._sensor.untare()

    def take(self, sample: Sample) -> Array | None:
        """Take one sample; return the wrench that the plate exerts on the robot, base axes, base origin, shape (6,).

        None where there is no plate, or no reading.
        """
        if self._sensor is None or sample.wrench is None:
            return None
        if TARE_FROM <= sample.time < TARE_UNTIL:
            self._rows.append((sample.q, sample.wrench))
        elif self._rows and self._tare_force is None:
            q = np.mean([row[0] for row in self._rows], axis=0)
            reading = np.mean([row[1] for row in self._rows], axis=0)
            self._sensor.tare(q, reading)
            self._tare_force = self._sensor.wrench(reading)[:3]
            self._rows = []
        if self._mean is None or self._effort is None:
            self._mean, self._effort = sample.wrench.copy(), sample.effort.copy()
        self._mean += self._step * (sample.wrench - self._mean)
        self._effort += self._step * (sample.effort - self._effort)
        return self._sensor.wrench(sample.wrench)

    def felt(self, sample: Sample) -> Felt | None:
        """Return what the plate feels, smoothed; None before the tare."""
        if self._sensor is None or self._mean is None or self._tare_force is None or self._effort is None:
            return None
        dynamic = self._sensor.joint_torques(sample.q, self._mean)
        friction = self._effort - dynamic - self._robot.gravity(sample.q)
        return Felt(frozen(friction), frozen(self._tare_force - self._sensor.wrench(self._mean)[:3]))
