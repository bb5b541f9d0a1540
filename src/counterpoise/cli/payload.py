"""The options of every command whose arm may carry something, and of what its controller does not know."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..dynamics.robot import Robot

unknown_payload_option = click.option(
    "--unknown-payload", is_flag=True, help="Simulated: the controller does not know of the payload."
)
model_error_option = click.option(
    "--model-error",
    type=click.FloatRange(min=-90.0, max=200.0),
    default=0.0,
    show_default=True,
    metavar="PERCENT",
    help="Simulated: how much larger the masses are that the controller believes in.",
)


@dataclass(frozen=True, slots=True)
class Carried:
    """What an arm carries.

    Attributes:
        mass: Its mass [kg].
        com: Its centre of mass in the link's frame [m].
        link: Link that carries it; None for the tip of an arm that is not branched.
    """

    mass: float
    com: tuple[float, float, float]
    link: str | None

    def on(self, robot: Robot) -> Robot:
        """Return the robot with it.

        Raises:
            InputError: A mass that cannot be, no such link, or none given where the robot has several tips.
        """
        from ..dynamics.inputs import link_name

        return robot.with_payload(self.mass, com=self.com, link=link_name(robot, self.link, "--payload-link"))


def misjudged(robot: Robot, model_error: float) -> Robot:
    """Return the robot as a controller believes it to be whose masses are too large by ``model_error`` [%]."""
    # Gravity torques are linear in the masses: all of them off by a share is gravity off by that share.
    return robot.mounted(gravity=(1.0 + model_error / 100.0) * robot.gravity_world) if model_error else robot


def payload_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --payload and its kin to a command, which receives them as one ``carried``, None for nothing."""

    @functools.wraps(command)
    def gathered(
        payload: float, payload_com: tuple[float, float, float] | None, payload_link: str | None, **others: Any
    ) -> Any:
        if not payload and (payload_com is not None or payload_link is not None):
            raise click.UsageError("--payload-com and --payload-link need --payload MASS")
        carried = Carried(payload, payload_com or (0.0, 0.0, 0.0), payload_link) if payload else None
        return command(carried=carried, **others)

    decorated: Callable[..., Any] = gathered
    for option in (
        click.option(
            "--payload-link", metavar="NAME", help="Link that carries it; the tip unless the arm is branched."
        ),
        click.option(
            "--payload-com",
            nargs=3,
            type=float,
            metavar="X Y Z",
            help="Its centre of mass in the link's frame [m]; default: 0 0 0.",
        ),
        click.option("--payload", type=float, default=0.0, metavar="MASS", help="What the arm carries [kg]."),
    ):
        decorated = option(decorated)
    return decorated
