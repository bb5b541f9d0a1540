"""The task that fine motion is judged by: a joint follows a slow, small triangle in spite of its friction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...description.frozen import Array
from ...dynamics.robot import Robot
from ...errors import InputError
from ..base_sensor_control import plate_of
from ..careful_gains import soft_reach
from ..reference import Triangle
from ..stop_signals import SignalSafe
from .gains import LawGains
from .probe import MakePlant, MakeSafety, holding_loop, take_tare
from .rule import WITH_PLATE, TuningRule


@dataclass(frozen=True, slots=True)
class TriangleTask:
    """A triangle, run with any gains.

    Attributes:
        make_plant: Returns the plant for each run.
        robot: The arm's model.
        joint: Index of the joint that moves; the others hold.
        amplitude: Of the triangle [rad or m]; the default, ±0.1° in 10 s, is the task of [Morel2000], Fig. 8.
        period: Of the triangle [s].
        periods: How many are run; the first does not count.
        safety: Makes the safety filter; None for the default one.
        i_have_an_estop: See ControlLoop; for a plant without a watchdog.
    """

    make_plant: MakePlant
    robot: Robot
    joint: int = 0
    amplitude: float = math.radians(0.1)
    period: float = 10.0
    periods: int = 2
    safety: MakeSafety | None = None
    i_have_an_estop: str | None = None

    def errors(self, gains: LawGains, **settings: Any) -> Array:
        """Return reference minus the plant's own position after the first period [rad or m], shape (k,).

        Args:
            gains: The gains, and with them the law.
            settings: Passed on to base_sensor_control.

        Raises:
            SafetyError: A fault ended the run.
        """
        plant, joint = self.make_plant(), self.joint
        swings = np.zeros(self.robot.n)
        swings[joint] = self.amplitude
        reference = Triangle(swings, self.period)
        with SignalSafe(plant):
            sensor = plate_of(plant, self.robot) if gains.kind in WITH_PLATE else None
            safety = None if self.safety is None else self.safety(plant)
            loop = holding_loop(plant, self.robot, safety=safety, i_have_an_estop=self.i_have_an_estop)
            take_tare(loop, sensor, TuningRule())
            reach = soft_reach(self.robot, gains.kp, gains.kd)
            loop.switch(gains.laws(plant, self.robot, reference, sensor=sensor, reach=reach, **settings))
            log = loop.run(self.periods * self.period, log=True).log
        if log is None:
            raise InputError("the run ended before anything was recorded")
        ticks = np.arange(round(self.period / plant.dt), round(self.periods * self.period / plant.dt))
        wanted = np.array([reference.at(tick * plant.dt).q[joint] for tick in ticks])
        return np.asarray(wanted - log.q[ticks, joint])

    def rms(self, gains: LawGains) -> float:
        """Return the rms error [rad or m]: what a free tuner makes small."""
        return float(np.sqrt(np.mean(self.errors(gains) ** 2)))
