"""Options that many commands share, and how every help text tells its exit codes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import click

from .output import EXIT_ERROR, EXIT_HUNG_UP, EXIT_NOT_TRUSTED, EXIT_TERMINATED, EXIT_USAGE, LOG_ENDINGS

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
