"""What must be true before a plant may be driven."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..dynamics.inputs import refuse_command_units
from ..dynamics.robot import Robot
from ..errors import InputError, SafetyError
from .braked_start import held_by_brakes
from .law import Law
from .plant import Plant
from .safety import SafetyFilter

ESTOP_WORDS = "I have an emergency stop within reach"
"""What must be said to drive a plant that does not stop by itself when commands stay away."""


_DECLARED = {"stop": ("zero", "brake"), "effort_kind": ("torque", "current"), "adds_gravity": (True, False)}


def refuse_unclear_plant(plant: Plant) -> None:
    """Refuse a plant whose declarations have no meaning: a misspelt "brake" would let the arm down.

    Raises:
        InputError: One of them is not as the protocol says.
    """
    for name, choices in _DECLARED.items():
        value = getattr(plant, name)
        if value not in choices:
            raise InputError(f"the plant's {name} is {value!r}; expected {' or '.join(map(repr, choices))}")
    held_by_brakes(plant)


def refuse_wrong_filter(safety: SafetyFilter, robot: Robot, plant: Plant) -> None:
    """Refuse a filter made for another arm, another dt or a stronger plant.

    Raises:
        InputError: The three do not belong together.
    """
    if not safety.limits.joint_names == robot.joint_names == tuple(plant.joint_names):
        raise InputError(
            f"filter {list(safety.limits.joint_names)}, robot {list(robot.joint_names)} and plant "
            f"{list(plant.joint_names)} must have the same joints in the same order"
        )
    if safety.dt != plant.dt:
        raise InputError(f"the filter's dt is {safety.dt:g} s and the plant's {plant.dt:g} s")
    wider = safety.limits.first_wider(plant.effort_limit, plant.velocity_limit, plant.lower, plant.upper)
    if wider is not None:
        raise InputError(
            f"joint '{wider.joint}': the filter's {wider.limit} exceeds the plant's; make the filter with plant=..."
        )
    plate = plant.plate
    if plate is not None and not np.all(safety.plate_range <= plate.range):
        raise InputError("the filter does not know the range of the plant's plate; make the filter with plant=...")


def refuse_no_torques(robot: Robot, laws: Sequence[Law]) -> None:
    """Refuse a model whose gravity is no torque, the loop's own or a law's.

    Raises:
        InputError: It is that of a calibration in command units.
    """
    refuse_command_units(robot)
    for law in laws:
        model = getattr(law, "robot", None)
        if isinstance(model, Robot):
            refuse_command_units(model)


def refuse_gravity_twice(plant: Plant, laws: Sequence[Law]) -> None:
    """Refuse laws that add gravity to a plant that does so itself.

    Raises:
        SafetyError: They do.
    """
    twice = [type(law).__name__ for law in laws if law.adds_gravity]
    if plant.adds_gravity and twice:
        raise SafetyError(
            f"the plant adds gravity itself and so does {twice[0]}: compensated twice, the arm is thrown up. Use a law "
            "without gravity, or switch the plant's own compensation off and declare adds_gravity=False"
        )


def refuse_without_watchdog(plant: Plant, words: str | None) -> None:
    """Refuse a plant that goes on with its last torque when this program dies, unless told so in words.

    Raises:
        SafetyError: It has no watchdog, and the words were not said; or one too short to be fed.
    """
    if plant.watchdog is None or plant.watchdog == math.inf:  # one that never acts is none
        if words != ESTOP_WORDS:
            raise SafetyError(
                "the plant has no watchdog: if this program dies, the last torque stays on. Use hardware that stops "
                f"when commands stay away, or say i_have_an_estop={ESTOP_WORDS!r}"
            )
    elif not plant.watchdog >= plant.dt:
        raise SafetyError(
            f"the plant's watchdog of {plant.watchdog:g} s is shorter than its period of {plant.dt:g} s; it would "
            "act between any two commands"
        )
