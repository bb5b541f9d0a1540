"""The options of commands that drive an arm, simulated or real: which one, with which model, and how it floats."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import InputError
from .output import warn
from .record import driver_options, plant_and_model

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

    source: str | None
    mount_rpy: tuple[float, float, float] | None
    options: tuple[str, ...]
    calibration: str | None
    payload: float
    payload_com: tuple[float, float, float]
    payload_link: str | None
    seed: int
    pace: Literal["plant", "clock"]
    estop: str | None

    def driven(self, name: str, *, knows_payload: bool = True) -> Driven:
        """Make the plant and its model; a simulated arm carries the payload, and its model is told of it.

        Args:
            name: The plant's name on the command line.
            knows_payload: Whether the model is told; a simulated arm carries it anyway.

        Raises:
            InputError: There is no such plant, or the payload or calibration does not fit.
            UsageError: A payload's link without a payload.
        """
        from ..calibration.file import load_calibration

        if not self.payload and self.payload_link is not None:
            raise click.UsageError("--payload-link needs --payload MASS")

        options = driver_options(self.options)
        simulated, plant, bare = plant_and_model(name, self.source, self.mount_rpy, options, self.seed)
        fit = None if self.calibration is None else load_calibration(self.calibration, bare)
        if fit is not None and not fit.trusted:
            warn(f"{Path(self.calibration or '').name} is not trusted: {'; '.join(fit.reasons)}")
        robot = bare if fit is None else fit.robot
        if self.payload:
            if knows_payload:
                robot = self._loaded(robot)
            if simulated:
                from ..plants.simulated import SimulatedArm
                from .simulation import named_preset

                plant = SimulatedArm(self._loaded(bare), named_preset(name).config.replaced(seed=self.seed))
        return Driven(name, simulated, plant, robot, fit, "plant" if simulated else self.pace, self.estop)

    def _loaded(self, robot: Robot) -> Robot:
        return robot.with_payload(self.payload, com=self.payload_com, link=self.payload_link)


def driven_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an arm to a command, which receives them as one ``arm``."""

    @functools.wraps(command)
    def gathered(**given: Any) -> Any:
        names = ("source", "mount_rpy", "options", "calibration", "payload", "payload_com", "payload_link", "seed")
        arm = Arm(**{name: given.pop(name) for name in (*names, "pace", "estop")})
        return command(arm=arm, **given)

    options = (
        click.option("--robot", "source", metavar="SOURCE", help="The arm's model, for a plant that is not simulated."),
        click.option(
            "--mount-rpy", nargs=3, type=float, metavar="R P Y", help="How its base stands [rad], as in URDF."
        ),
        click.option(
            "--option", "options", multiple=True, metavar="KEY=VALUE", help="For the plant's driver; repeatable."
        ),
        click.option("--calibration", metavar="F.json", help="The arm's calibration: weight and friction."),
        click.option(
            "--payload", type=click.FloatRange(min=0.0), default=0.0, metavar="MASS", help="What it carries [kg]."
        ),
        click.option(
            "--payload-com",
            nargs=3,
            type=float,
            default=(0.0, 0.0, 0.0),
            metavar="X Y Z",
            help="Its centre of mass in the link's frame [m].",
        ),
        click.option("--payload-link", metavar="NAME", help="Link that carries it; the tip where there is only one."),
        click.option("--seed", type=click.IntRange(min=0), default=0, help="Of a simulated arm's noise."),
        click.option(
            "--pace", type=click.Choice(("plant", "clock")), default="plant", help="Who keeps a real arm's period."
        ),
        click.option("--estop", metavar="WORDS", help="What must be said to drive an arm without a watchdog."),
    )
    for option in reversed(options):
        gathered = option(gathered)
    return gathered


def floating_options(share: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds the options of floating to a command, which receives them as ``how``, settings of Floating.

    Args:
        share: Share of the friction that is compensated unless told.
    """

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def gathered(**given: Any) -> Any:
            names = ("share", "damping", "locked", "hold_when_released", "by")
            return command(how={name: given.pop(name) for name in names}, **given)

        options = (
            click.option(
                "--share",
                type=float,
                default=share,
                show_default=True,
                help="Of the friction that is compensated, < 1.",
            ),
            click.option(
                "--damping", type=click.FloatRange(min=0.0), help="[N m s/rad or N s/m]; default: by the inertias."
            ),
            click.option(
                "--lock", "locked", multiple=True, metavar="JOINT", help="Joint that stays where it is; repeatable."
            ),
            click.option(
                "--hold",
                "hold_when_released",
                is_flag=True,
                help="Hold the arm when it was released, until it is pushed.",
            ),
            click.option(
                "--by",
                type=click.Choice(("effort", "command")),
                default="effort",
                help="What tells the holding torque.",
            ),
            click.option(
                "--push",
                "pushes",
                multiple=True,
                metavar="LINK,FX,FY,FZ,S",
                help="Simulated: force [N], time [s]; repeatable, one after another.",
            ),
        )
        for option in reversed(options):
            gathered = option(gathered)
        return gathered

    return added
