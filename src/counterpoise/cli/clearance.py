"""The options of every command that looks for collisions: how thick links are, and where a table stands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click


def clearance_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --radius and --table to a command, which receives them as one ``clearance``, None where neither is given."""

    @functools.wraps(command)
    def gathered(radius: float | None, table_height: float | None, **others: Any) -> Any:
        from ..calibration.clearance import RADIUS, Clearance

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
