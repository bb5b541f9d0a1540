"""The argument PLANT and its options, shared by every command that moves an arm, simulated or real."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .options import seed_option
from .source import Source, mount_option, rotor_option, stated_rotors

if TYPE_CHECKING:
    from ..control import Plant
    from ..dynamics import Robot
    from ..plants import Preset


pace_option = click.option(
    "--pace",
    type=click.Choice(("plant", "clock")),
    default="plant",
    show_default=True,
    help="Who keeps the period of an arm that is not simulated.",
)
yes_option = click.option("--yes", is_flag=True, help="Move an arm that is not simulated.")


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

    def made(self, name: str) -> tuple[bool, Plant, Robot]:
        """Return whether the plant is simulated, the plant, and its model.

        Raises:
            InputError: There is no such plant.
            click.UsageError: A model is missing, or given for a simulated arm.
        """
        from ..control import installed_plants, make_plant
        from ..plants import VARIANTS

        if (preset := self.preset(name)) is not None:
            arm = preset.arm(seed=self.seed)
            return True, arm, self._told(arm.robot)
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
        return False, plant, self._told(Source(self.source, mount_rpy=self.mount_rpy).load())

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
        click.option("--estop", metavar="WORDS", help="What must be said to drive an arm without a watchdog."),
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


def named_preset(text: str) -> Preset:
    """Return the preset called ``name`` or ``name:variant``.

    Raises:
        InputError: There is none.
    """
    from ..plants import preset

    name, separator, variant = text.partition(":")
    return preset(name, variant if separator else None)


def joint_index(robot: Robot, name: str) -> int:
    """Return the place of a joint in the robot's order.

    Raises:
        InputError: There is no such joint.
    """
    if name not in robot.joint_names:
        raise InputError(f"there is no joint '{name}'; '{robot.name}' has {', '.join(robot.joint_names)}")
    return robot.joint_names.index(name)


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
