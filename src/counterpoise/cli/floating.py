"""The options of every command that lets an arm float: how it floats, and what pushes a simulated one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import Decorator
from .plant import Driven, measure_option

if TYPE_CHECKING:
    from ..tasks import LinkPush, PushScript


def parsed(text: str) -> LinkPush:
    """Read ``link,Fx,Fy,Fz,seconds``.

    Raises:
        click.UsageError: It is not of that form.
    """
    from ..tasks import LinkPush

    *name, fx, fy, fz, seconds = text.split(",") if text.count(",") >= 4 else ("",) * 5
    try:
        force, lasts = (float(fx), float(fy), float(fz)), float(seconds)
    except ValueError:
        force, lasts = (0.0, 0.0, 0.0), -1.0
    if not (0.0 < lasts <= 60.0 and all(map(math.isfinite, force)) and name):
        raise click.UsageError(f"--push {text!r} is not of the form link,Fx,Fy,Fz,seconds [N, s, at most 60 s]")
    return LinkPush(",".join(name), force, lasts)


def push_script(driven: Driven, pushes: Sequence[LinkPush], **settings: Any) -> PushScript:
    """Return what pushes a simulated arm; settings as of PushScript.

    Raises:
        InputError: The plant is no simulated arm, or --push names a link that does not exist.
    """
    from ..dynamics import link_name
    from ..tasks import PushScript

    for push in pushes:
        link_name(driven.robot, push.link, "--push")
    return PushScript(driven.arm, pushes, **settings)


def floating_options(friction_fraction: float) -> Decorator:
    """Return what adds the options of floating to a command.

    The command receives FloatSettings as ``settings``, the choice to pulse joints as ``measure_rotors``, and LinkPushes
    as ``pushes``.

    Args:
        friction_fraction: Fraction of the friction that is compensated unless told.
    """

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def gathered(
            friction_fraction: float,
            damping: float | None,
            locked: tuple[str, ...],
            hold_when_released: bool,
            by: Any,
            pushes: tuple[str, ...],
            **others: Any,
        ) -> Any:
            from ..tasks import FloatSettings

            settings = FloatSettings(
                friction_fraction=friction_fraction,
                damping=damping,
                locked=locked,
                hold_when_released=hold_when_released,
                by=by,
            )
            return command(settings=settings, pushes=tuple(map(parsed, pushes)), **others)

        options = (
            click.option(
                "--friction-fraction",
                type=float,
                default=friction_fraction,
                show_default=True,
                help="Fraction of the friction that is compensated, below 1.",
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
                help="What the holding torque is taken from: the measured effort, or the command.",
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
