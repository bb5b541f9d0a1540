"""An arm that is driven by hand or along a path: plant, calibration and payload, and how it floats."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import InputError
from .options import Decorator
from .output import warn
from .payload import Carried, payload_options
from .plant import PlantOptions, pace_option, plant_options
from .rotors import measure_option

if TYPE_CHECKING:
    from ..calibration.fit import Fit
    from ..control.plant import Plant
    from ..dynamics.robot import Robot
    from ..friction.law import FrictionLaw
    from ..plants.simulated import SimulatedArm


@dataclass(frozen=True, slots=True, eq=False)
class Driven:
    """An arm to be driven.

    Attributes:
        name: The plant's name on the command line.
        simulated: Whether nothing real moves.
        plant: The plant.
        robot: Its model, calibrated and loaded as asked.
        fit: Its calibration; None where none was given.
        pace: Who keeps the period.
        estop: What was said about the emergency stop.
    """

    name: str
    simulated: bool
    plant: Plant
    robot: Robot
    fit: Fit | None
    pace: Literal["plant", "clock"]
    estop: str | None

    @property
    def friction(self) -> FrictionLaw | None:
        """The calibration's friction, where it has one and it is one of joints, not of coupled motors."""
        return None if self.fit is None or self.fit.columns.coupled else self.fit.friction

    @property
    def arm(self) -> SimulatedArm:
        """The simulated arm, to be pushed.

        Raises:
            InputError: It is none.
        """
        from ..plants.simulated import SimulatedArm

        if not isinstance(self.plant, SimulatedArm):
            raise InputError(f"'{self.name}' is no simulated arm that can be pushed")
        return self.plant


@dataclass(frozen=True, slots=True)
class Arm:
    """What the command line says of an arm; see the options."""

    asked: PlantOptions
    calibration: str | None
    carried: Carried | None
    pace: Literal["plant", "clock"]

    def driven(self, name: str, *, knows_payload: bool = True) -> Driven:
        """Make the plant and its model; a simulated arm carries the payload, and its model is told of it.

        Args:
            name: The plant's name on the command line.
            knows_payload: Whether the model is told; a simulated arm carries it anyway.

        Raises:
            InputError: There is no such plant, or the payload or calibration does not fit.
        """
        from ..calibration.file import load_calibration

        simulated, plant, bare = self.asked.made(name)
        fit = None if self.calibration is None else load_calibration(self.calibration, bare)
        if fit is not None:
            _refuse_or_warn(fit, Path(self.calibration or "").name)
        robot = bare if fit is None else fit.robot
        if self.carried is not None:
            if knows_payload:
                robot = self.carried.on(robot)
            preset = self.asked.preset(name)
            if preset is not None:
                from ..plants.simulated import SimulatedArm

                plant = SimulatedArm(self.carried.on(bare), preset.config.replaced(seed=self.asked.seed))
        return Driven(name, simulated, plant, robot, fit, "plant" if simulated else self.pace, self.asked.estop)


def _refuse_or_warn(fit: Fit, name: str) -> None:
    """Refuse a calibration whose masses are none; tell that of one that is not good to float.

    Raises:
        InputError: It is in command units.
    """
    from ..dynamics.inputs import refuse_command_units

    refuse_command_units(fit.robot)
    if not fit.trusted:
        warn(f"{name} is not trusted: {'; '.join(fit.reasons)}")
    elif not any(statement.use == "float" for statement in fit.statements):
        warn(f"{name} is trusted for {', '.join(fit.uses)}, but it is not good to float")


def driven_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an arm to a command, which receives them as one ``arm``."""

    @payload_options
    @plant_options
    @pace_option
    @functools.wraps(command)
    def gathered(
        asked: PlantOptions, calibration: str | None, carried: Carried | None, pace: Any, **others: Any
    ) -> Any:
        return command(arm=Arm(asked, calibration, carried, pace), **others)

    return click.option("--calibration", metavar="FILE.json", help="The arm's calibration: weight and friction.")(
        gathered
    )


def floating_options(share: float) -> Decorator:
    """Return what adds the options of floating to a command, which receives them as ``how``, settings of Floating.

    Args:
        share: Share of the friction that is compensated unless told.
    """

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def gathered(**given: Any) -> Any:
            names = ("share", "damping", "locked", "hold_when_released", "by", "measure_rotors")
            return command(how={name: given.pop(name) for name in names}, **given)

        options = (
            click.option(
                "--share",
                type=float,
                default=share,
                show_default=True,
                help="Share of the friction that is compensated, below 1.",
            ),
            click.option(
                "--damping",
                type=click.FloatRange(min=0.0),
                help="Damping of every joint [N m s/rad or N s/m]; default: by the inertias.",
            ),
            click.option(
                "--lock", "locked", multiple=True, metavar="JOINT", help="Joint that stays where it is; repeatable."
            ),
            click.option(
                "--hold",
                "hold_when_released",
                is_flag=True,
                help="Hold the arm where it is released, until it is pushed.",
            ),
            click.option(
                "--by",
                type=click.Choice(("effort", "command")),
                default="effort",
                show_default=True,
                help="What tells the holding torque: the measured effort, or the command.",
            ),
            measure_option,
            click.option(
                "--push",
                "pushes",
                multiple=True,
                metavar="LINK,FX,FY,FZ,S",
                help="Simulated: push a link with a force [N, base frame] for S seconds; repeatable.",
            ),
        )
        for option in reversed(options):
            gathered = option(gathered)
        return gathered

    return added
