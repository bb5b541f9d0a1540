"""An arm that is driven by hand or along a path: plant, calibration and payload, and how it floats.

Rotor inertias that a model does not know: asking before joints are pulsed, and printing what was found.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import InputError
from .options import Carried, Decorator, payload_options
from .output import console, note, printable, table, warn
from .plant import PlantOptions, pace_option, plant_options

if TYPE_CHECKING:
    from ..control import Plant
    from ..dynamics import FrictionLaw, Robot
    from ..identification import Fit
    from ..plants import SimulatedArm
    from ..tasks import InertiaMeasurement


measure_option = click.option(
    "--measure-rotors/--no-measure-rotors",
    "measure_rotors",
    default=None,
    help="Measure unknown rotor inertias by torque pulses, or drive those joints softly; default: ask at a terminal, "
    "else measure.",
)


def settled(robot: Robot, choice: bool | None, *, simulated: bool, locked: Sequence[str] = ()) -> dict[str, Any]:
    """Announce the pulses that an arm with unknown rotors gets, and ask where somebody can answer.

    Nothing has been switched on yet: while a question waits for its answer, nobody holds the arm.

    Args:
        robot: The arm's model.
        choice: What the command line says; None for nothing.
        simulated: Whether nothing real moves; then nobody is asked.
        locked: Names of joints that are not moved.

    Returns:
        Settings of Recording and Floating.
    """
    from ..tasks import announcement, unknown_rotors

    names = [name for name in unknown_rotors(robot) if name not in locked]
    measure, announced = choice is not False, announcement(robot, names)
    if names and measure:
        warn(announced)
        if choice is None and not simulated and sys.stdin.isatty():
            measure = click.confirm("Pulse these joints now? Otherwise they are driven softly", err=True)
    if names and not measure:
        note(f"soft gains, and no pulses, on {', '.join(map(printable, names))}: their rotor inertias are unknown")

    def announce(text: str) -> None:
        note("the pulses begin" if text == announced else text)

    return {"measure_rotors": measure, "announce": announce}


def print_inertias(found: InertiaMeasurement) -> None:
    """Print what a measurement found, and the option that makes it needless the next time."""
    screen = console()
    screen.print(f"What each joint's torque moves, by pulses ({found.seconds:.0f} s)")
    rows = table("joint", "inertia", "95 % band", "of which links", "rotor", "", left=("joint", ""))
    for joint in found.joints:
        if joint.measured:
            band = f"{joint.low:.3g} … {joint.high:.3g}"
            rows.add_row(
                printable(joint.joint),
                f"{joint.inertia:.3g}",
                band,
                f"{joint.links:.3g}",
                f"{joint.rotor:.3g}",
                joint.unit,
            )
        else:
            rows.add_row(printable(joint.joint), "–", "", f"{joint.links:.3g}", "–", joint.unit)
    screen.print(rows)
    for reason in found.reasons:
        warn(reason)
    if found.option:
        note(f"to skip the pulses next time: {found.option}")


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
        from ..plants import SimulatedArm

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
        from ..identification import load_calibration

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
                from ..plants import SimulatedArm

                plant = SimulatedArm(self.carried.on(bare), preset.config.replaced(seed=self.asked.seed))
        return Driven(name, simulated, plant, robot, fit, "plant" if simulated else self.pace, self.asked.estop)


def _refuse_or_warn(fit: Fit, name: str) -> None:
    """Refuse a calibration whose masses are none; tell that of one that is not good to float.

    Raises:
        InputError: It is in command units.
    """
    from ..dynamics import refuse_command_units

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
