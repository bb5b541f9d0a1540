"""A rig: an arm that may be driven, with all that a task needs for it, checked once.

Every task takes a rig first: it records poses, floats, replays or tunes with the same plant, model and safety filter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..control import Clock, ControlLoop, Gravity, Law, Plant, SafetyFilter, checked_filter
from ..dynamics import Robot

if TYPE_CHECKING:
    from ..identification import Fit


def warn_user(text: str) -> None:
    """Announce by a Python warning."""
    warnings.warn(text, UserWarning, stacklevel=2)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Rig:
    """A plant, the model of its arm, and how it is driven.

    ::

        rig = Rig(plant, robot)
        with SignalSafe(plant):
            report = float_arm(rig, 60.0, friction_fraction=0.5)

    Nothing is read or sent when it is made. ``dataclasses.replace(rig, robot=...)`` returns another one, checked too.

    Attributes:
        plant: What is driven. Enter it (``with SignalSafe(plant):``) around the task. When it adds gravity itself, the
            tasks' laws do not.
        robot: The arm's model, payload included.
        safety: The filter that every torque passes.
        clock: What keeps the period; None where the plant does.
        i_have_an_estop: What was said about the emergency stop.
        calibration: The calibration behind the model, for its uncertainty; None for a model taken as it is.
        measure_rotors: Whether tasks measure by torque pulses what joints with unknown rotors move; else those joints
            get soft gains.
        announce: Called with a sentence for people beside the arm before it is pulsed or moved further than usual.
    """

    plant: Plant
    robot: Robot
    safety: SafetyFilter
    clock: Clock | None
    i_have_an_estop: str | None
    calibration: Fit | None
    measure_rotors: bool
    announce: Callable[[str], None]

    def __init__(
        self,
        plant: Plant,
        robot: Robot,
        *,
        safety: SafetyFilter | None = None,
        clock: Clock | None = None,
        i_have_an_estop: str | None = None,
        calibration: Fit | None = None,
        measure_rotors: bool = True,
        announce: Callable[[str], None] = warn_user,
    ) -> None:
        """Put together what belongs together, or refuse it.

        Args:
            plant: What is driven.
            robot: The arm's model, payload included.
            safety: The filter; None makes one with the tighter of the robot's and the plant's limits.
            clock: What keeps the period, usually WallClock(); None where reading or writing takes as long as it should
                (simulations run as fast as they can).
            i_have_an_estop: Exactly "I have an emergency stop within reach", to drive a plant without a watchdog.
            calibration: The calibration behind the model, for its uncertainty.
            measure_rotors: Whether to measure unknown rotors by torque pulses (tasks/rotors).
            announce: Called before the first pulse; a Python warning by default.

        Raises:
            InputError: Plant, robot and filter do not belong together, or a limit is missing.
            SafetyError: Nothing stops the arm when this program dies.
        """
        values = {
            "plant": plant,
            "robot": robot,
            "safety": checked_filter(plant, robot, safety, clock, i_have_an_estop),
            "clock": clock,
            "i_have_an_estop": i_have_an_estop,
            "calibration": calibration,
            "measure_rotors": measure_rotors,
            "announce": announce,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def with_gravity(self, *laws: Law) -> tuple[Law, ...]:
        """Return laws without gravity, and the model's gravity beside them unless the plant adds it itself."""
        return laws if self.plant.adds_gravity else (*laws, Gravity(self.robot))

    def loop(self, law: Law | Sequence[Law]) -> ControlLoop:
        """Return a loop that drives the plant with a law, or several whose torques are summed.

        Raises:
            SafetyError: Gravity would be compensated twice.
        """
        return ControlLoop(
            self.plant,
            law,
            self.robot,
            safety=self.safety,
            clock=self.clock,
            i_have_an_estop=self.i_have_an_estop,
        )
