"""The argument PLANT and its options, shared by every command that moves an arm, simulated or real.

Where a model does not know rotor inertias, the user is asked before joints are pulsed, and what was found is printed.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import InputError
from .options import Carried, payload_options, seed_option
from .output import console, note, printable, table, warn
from .source import Source, mount_option, rotor_option, stated_rotors

if TYPE_CHECKING:
    from ..control import Plant
    from ..dynamics import FrictionLaw, Robot
    from ..identification import Fit
    from ..plants import Preset, SimulatedArm
    from ..tasks import InertiaMeasurement, Rig


pace_option = click.option(
    "--pace",
    type=click.Choice(("plant", "clock")),
    default="plant",
    show_default=True,
    help="Who keeps the period of an arm that is not simulated.",
)
yes_option = click.option("--yes", is_flag=True, help="Move an arm that is not simulated.")

measure_option = click.option(
    "--measure-rotors/--no-measure-rotors",
    "measure_rotors",
    default=None,
    help="Measure unknown rotor inertias by torque pulses, or drive those joints softly; default: ask at a terminal, "
    "else measure.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Driven:
    """A plant and its model, as the command line names them. Nothing has been switched on.

    Attributes:
        name: The plant's name on the command line.
        simulated: Whether nothing real moves.
        plant: The plant.
        robot: Its model, calibrated and loaded as asked.
        estop: What was said about the emergency stop.
        pace: Who keeps the period of an arm that is not simulated.
        fit: Its calibration; None where none was given.
    """

    name: str
    simulated: bool
    plant: Plant
    robot: Robot
    estop: str | None
    pace: Literal["plant", "clock"] = "plant"
    fit: Fit | None = None

    @property
    def friction(self) -> FrictionLaw | None:
        """The calibration's friction, where it has one and it is one of joints, not of coupled motors."""
        return None if self.fit is None or self.fit.model.coupled else self.fit.friction

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

    def rig(self, robot: Robot | None = None, **rotors: Any) -> Rig:
        """Return what tasks drive.

        Args:
            robot: Another model; None for the arm's own.
            rotors: What :meth:`rotors` returned, for tasks that may pulse the joints.

        Raises:
            SafetyError: Nothing stops the arm when this program dies.
        """
        from ..control import WallClock
        from ..tasks import Rig

        return Rig(
            self.plant,
            self.robot if robot is None else robot,
            clock=WallClock() if self.pace == "clock" and not self.simulated else None,
            i_have_an_estop=self.estop,
            calibration=self.fit,
            **rotors,
        )

    def rotors(self, choice: bool | None, locked: Sequence[str] = ()) -> dict[str, Any]:
        """Announce the pulses that an arm with unknown rotors gets, and ask where somebody can answer.

        Nothing has been switched on yet: while a question waits for its answer, nobody holds the arm.

        Args:
            choice: What the command line says; None for nothing.
            locked: Names of joints that are not moved.

        Returns:
            Settings of a rig.
        """
        from ..tasks import announcement, unknown_rotors

        names = [name for name in unknown_rotors(self.robot) if name not in locked]
        measure, announced = choice is not False, announcement(self.robot, names)
        if names and measure:
            warn(announced)
            if choice is None and not self.simulated and sys.stdin.isatty():
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


@dataclass(frozen=True, slots=True)
class PlantOptions:
    """What the command line says of a plant; see the options."""

    source: str | None
    mount_rpy: tuple[float, float, float] | None
    options: tuple[str, ...]
    seed: int
    estop: str | None
    rotor_inertia: str | None = None
    unknown_rotors: bool = False

    def preset(self, name: str) -> Preset | None:
        """Return the preset of a simulated arm; None where the plant is not simulated.

        Raises:
            click.UsageError: A model or driver options for a simulated arm, which needs none.
            InputError: There is no such variant.
        """
        from ..plants import VARIANTS

        if name.partition(":")[0] not in VARIANTS:
            return None
        if self.source is not None or self.mount_rpy is not None or self.options or self.rotor_inertia is not None:
            raise click.UsageError(
                f"'{name}' is simulated and brings its own model: leave out --robot, --mount-rpy, --rotor-inertia and "
                "--option"
            )
        return named_preset(name)

    def made(self, name: str) -> Driven:
        """Return the plant and its model.

        Raises:
            InputError: There is no such plant.
            click.UsageError: A model is missing, or given for a simulated arm.
        """
        from ..control import installed_plants, make_plant
        from ..plants import VARIANTS

        if (preset := self.preset(name)) is not None:
            arm = preset.arm(seed=self.seed)
            return Driven(name, True, arm, self._told(arm.robot), self.estop)
        installed = installed_plants()
        if name not in installed:
            raise InputError(
                f"there is no plant '{name}'; simulated are {', '.join(VARIANTS)}; installed packages register "
                f"{', '.join(sorted(installed)) or 'none'}"
            )
        if self.source is None:
            raise click.UsageError(f"plant '{name}' needs the arm's model: --robot arm.urdf, or a bundled name")
        if self.unknown_rotors:
            raise click.UsageError("--unknown-rotors is for simulated arms, whose rotors are known")
        plant = make_plant(name, **_driver_options(self.options))
        robot = self._told(Source(self.source, mount_rpy=self.mount_rpy).load())
        return Driven(name, False, plant, robot, self.estop)

    def _told(self, robot: Robot) -> Robot:
        """Return the model with the rotors that were stated, or without any."""
        if self.unknown_rotors:
            return robot.with_rotor_inertia(dict.fromkeys(robot.joint_names))
        if self.rotor_inertia is None:
            return robot
        return robot.with_rotor_inertia(stated_rotors(self.rotor_inertia, robot))


def plant_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add PLANT's options to a command, which receives them as one ``asked``."""

    @functools.wraps(command)
    def gathered(
        source: str | None,
        mount_rpy: tuple[float, float, float] | None,
        options: tuple[str, ...],
        seed: int,
        estop: str | None,
        rotor_inertia: str | None,
        unknown_rotors: bool,
        **others: Any,
    ) -> Any:
        asked = PlantOptions(source, mount_rpy, options, seed, estop, rotor_inertia, unknown_rotors)
        return command(asked=asked, **others)

    decorated: Callable[..., Any] = gathered
    for option in (
        click.option(
            "--estop",
            metavar="WORDS",
            help="Required to drive an arm without a watchdog: say that an emergency stop is in reach.",
        ),
        seed_option(),
        click.option(
            "--unknown-rotors",
            is_flag=True,
            help="Simulated: keep the rotor inertias from the model, to see how an arm is driven without them.",
        ),
        rotor_option(),
        click.option(
            "--option", "options", multiple=True, metavar="KEY=VALUE", help="For the plant's driver; repeatable."
        ),
        mount_option(),
        click.option(
            "--robot",
            "source",
            metavar="SOURCE",
            help="Model of an arm that is not simulated: a file or the name of a bundled arm.",
        ),
    ):
        decorated = option(decorated)
    return decorated


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

        made = self.asked.made(name)
        plant, bare = made.plant, made.robot
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
        return replace(made, plant=plant, robot=robot, fit=fit, pace=self.pace)


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


def named_preset(text: str) -> Preset:
    """Return the preset called ``name`` or ``name:variant``.

    Raises:
        InputError: There is none.
    """
    from ..plants import preset

    name, separator, variant = text.partition(":")
    return preset(name, variant if separator else None)


def _driver_options(given: tuple[str, ...]) -> dict[str, Any]:
    """Return --option KEY=VALUE, repeated, as a dict; values are read as JSON where they are some."""
    options: dict[str, Any] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not (key.isidentifier() and separator):
            raise click.UsageError(f"--option {text!r} is not of the form key=value")
        if key in options:
            raise click.UsageError(f"--option {key!r} is given twice")
        try:
            options[key] = json.loads(value)  # numbers, true, false; anything else is text
        except ValueError:
            options[key] = value
    return options
