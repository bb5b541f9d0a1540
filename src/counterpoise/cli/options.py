"""Options that many commands share, and how every help text states its exit codes.

Shared are the options of commands that look for collisions (how thick links are, and where a table stands), of commands
whose arm may carry something, and of what its controller does not know.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from .output import EXIT_ERROR, EXIT_HUNG_UP, EXIT_NOT_TRUSTED, EXIT_TERMINATED, EXIT_USAGE, LOG_ENDINGS

if TYPE_CHECKING:
    from ..dynamics import Robot


def clearance_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --radius and --table to a command, which receives them as one ``clearance``, None where neither is given."""

    @functools.wraps(command)
    def gathered(radius: float | None, table_height: float | None, **others: Any) -> Any:
        from ..identification import RADIUS, Clearance

        clearance = None
        if radius is not None or table_height is not None:
            clearance = Clearance(RADIUS if radius is None else radius, table_height)
        return command(clearance=clearance, **others)

    decorated: Callable[..., Any] = gathered
    for option in (
        click.option(
            "--table",
            "table_height",
            type=float,
            metavar="M",
            help="Keep links clear of a table this high above the base origin [m].",
        ),
        click.option(
            "--radius",
            type=click.FloatRange(min=0.0, min_open=True),
            metavar="M",
            help="Keep links clear of each other, as round bars of this radius [m]; default with --table: 0.06.",
        ),
    ):
        decorated = option(decorated)
    return decorated


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
        from ..dynamics import link_name

        return robot.with_payload(self.mass, com=self.com, link=link_name(robot, self.link, "--payload-link"))


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


ANY_ERROR = "an error in a file or a value"
"""What 1 means for every command."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document to stdout; errors become JSON too."
)
page_option = click.option("--page", "page_path", metavar="FILE.html", help="Write a page to look at.")


def log_option(*, required: bool = False) -> Decorator:
    """Return the option of a command that writes a recording."""
    text = f"Write the recording, {' or '.join(LOG_ENDINGS)}."
    return click.option("--out", "out_path", required=required, metavar="FILE", help=text)


def seed_option(what: str = "a simulated arm's noise") -> Decorator:
    """Return the option of a command that draws random numbers for something."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=f"Seed of {what}.")


def exit_codes(done: str, error: str = "", *, not_trusted: str = "", drives: bool = False) -> str:
    """Return how a help text tells the exit codes of its command.

    Args:
        done: What 0 means.
        error: What 1 may mean besides an error in a file or a value.
        not_trusted: What 3 means; "" where a command never ends so.
        drives: Whether the command drives an arm: SIGHUP and SIGTERM then end in its safe stop.
    """
    meanings = {
        0: done,
        EXIT_ERROR: f"{ANY_ERROR}{'; ' if error else ''}{error}",
        EXIT_USAGE: "the command line itself is wrong",
        EXIT_NOT_TRUSTED: not_trusted,
        EXIT_HUNG_UP: "SIGHUP, e.g. by a closed terminal: the arm was brought to its safe stop" if drives else "",
        EXIT_TERMINATED: "SIGTERM: the same" if drives else "",
    }
    width = 3 if drives else 1
    lines = [
        textwrap.fill(meaning, 110, initial_indent=f"  {code:<{width}}  ", subsequent_indent=" " * (width + 4))
        for code, meaning in meanings.items()
        if meaning
    ]
    return "\n".join(["\n\b\nExit codes:", *lines, ""])
