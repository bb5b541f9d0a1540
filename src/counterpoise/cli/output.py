"""What every command prints with: text for people, JSON for scripts, errors for both.

Results, warnings about a description among them, go to stdout; notes, progress and plain errors to stderr. With
``--json``, stdout holds exactly one JSON document whatever happens: the result, or
``{"error": {"kind", "message", "path", "line"}}`` with a non-zero exit code.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from ..foundation import Verdict


EXIT_ERROR = 1
"""Exit code of an error of ours, and of a run that ended in a fault or by Ctrl-C."""
EXIT_USAGE = 2
"""Exit code of a wrong command line."""
EXIT_NOT_TRUSTED = 3
"""Exit code of a command that is done, but its result is not trusted, was refused, or has findings that invalidate."""
EXIT_HUNG_UP, EXIT_TERMINATED = 129, 143
"""Exit codes of a run that SIGHUP or SIGTERM ended."""
LOG_ENDINGS = (".npz", ".csv")
"""Endings of a recording that is written."""
PAGE_ENDINGS = (".html", ".htm")
PIPED_WIDTH = 120
"""Width of tables [characters] that go to a file or a pipe."""
PROGRESS_DELAY = 1.0
"""How long work goes on before a progress bar appears [s]."""

LEVEL_COLOURS = {"good": "green", "doubtful": "yellow", "bad": "red"}

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def console(stderr: bool = False) -> Console:
    """Return a rich console that prints text as it stands: no markup, no emoji, no guessed highlights."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def table(*columns: str, title: str = "", left: Sequence[str] = ()) -> Table:
    """Return an empty table in our style: numbers to the right, the columns named in ``left`` to the left."""
    from rich import box
    from rich.table import Table

    result = Table(
        box=box.SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        result.add_column(column, justify="left" if column in left else "right", overflow="fold")
    return result


def printable(text: str) -> str:
    """Return text from a file fit for a terminal: control and direction characters escaped, line feeds kept."""
    return _CONTROL_CHARACTERS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def fixed(value: float, digits: int = 4) -> str:
    """Return a number with a fixed count of decimals, never "-0.0000"."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def limit(value: float) -> str:
    """Return a limit in short form, a dash where there is none."""
    return "–" if math.isinf(value) else f"{value:.5g}"


def number(value: float) -> str:
    """Return a number with three digits, a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.3g}"


def print_verdict(screen: Console, headline: str, verdict: Verdict, told_below: Collection[str] = ()) -> None:
    """Print the headline in green, yellow or red, and every check with what was found, failed ones first.

    Args:
        screen: Where to.
        headline: The verdict in capitals.
        verdict: The checks.
        told_below: Names of checks that are left out where they passed, because a list below says the same.
    """
    screen.print(printable(headline), style=f"bold {LEVEL_COLOURS[verdict.level]}")
    shown = [check for check in verdict if not (check.passed and check.name in told_below)]
    for check in sorted(shown, key=lambda check: check.passed):
        mark, style = ("ok  ", "") if check.passed else ("FAIL", "red") if check.decides else ("CARE", "yellow")
        screen.print(f"  {mark} {check.name}: {printable(check.sentence)}", style=style)


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on one line of stdout; dataclasses in it become tables."""
    from ..foundation import plain

    click.echo(json.dumps(plain(document), allow_nan=False))


def print_error(kind: str, message: str, *, as_json: bool, path: str | None = None, line: int | None = None) -> None:
    """Print an error: one JSON document on stdout, or one line on stderr (a listing keeps its lines)."""
    if as_json:
        print_json({"error": {"kind": kind, "message": message, "path": path, "line": line}})
    else:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {printable(message)}", err=True)


def warn(message: str) -> None:
    """Print what the user should doubt, to stderr in yellow."""
    click.echo(click.style(f"warning: {printable(message)}", fg="yellow"), err=True)


def note(message: str) -> None:
    """Print what the user may want to know, to stderr."""
    click.echo(click.style(f"note: {printable(message)}", fg="cyan"), err=True)


def drop_lost_terminal() -> None:
    """Send what is still to be printed nowhere, where the terminal has gone (SIGHUP): printing must not fail."""
    for stream in (sys.stdout, sys.stderr):
        try:
            number = stream.fileno()
        except (OSError, ValueError):  # no file at all
            continue
        if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)


def tell_interruption(error: BaseException) -> int:
    """Say what went wrong while a signal ended the run; return the exit code: EXIT_ERROR, or 128 + signal.

    Args:
        error: What was raised after the arm had been stopped.
    """
    for text in getattr(error, "__notes__", ()):
        warn(text)
    return EXIT_ERROR if isinstance(error, KeyboardInterrupt) else int(getattr(error, "code", EXIT_ERROR))


def note_written(what: str, path: str | Path | None) -> None:
    """Say that something was written, where a file for it was given."""
    if path is not None:
        note(f"{what} written to {path}")


def refuse_page(path: str | None) -> None:
    """Refuse, before any work, a --page that could not be written at the end; see :func:`refuse_file`."""
    refuse_file("--page", path, PAGE_ENDINGS)


def refuse_file(option: str, path: str | None, endings: tuple[str, ...]) -> None:
    """Refuse, before any work, a file that could not be written at the end.

    Raises:
        click.UsageError: Another ending, or no such folder.
        MissingExtraError: What writes pages or Parquet is not installed.
    """
    if path is None:
        return
    if not Path(path).parent.is_dir():
        raise click.UsageError(f"{option} {path}: there is no folder {Path(path).parent}")
    if not path.lower().endswith(endings):
        raise click.UsageError(f"{option} {path}: its name must end in {' or '.join(endings)}")
    if path.lower().endswith(PAGE_ENDINGS):
        from ..report import page_libraries

        page_libraries()
    elif path.lower().endswith(".parquet"):
        from ..recording import parquet_library

        parquet_library()


class Progressing:
    """A progress bar on stderr that appears once the work has gone on for PROGRESS_DELAY, and only on a terminal."""

    def __init__(self, what: str) -> None:
        """Name the work, e.g. "reading poses.csv"."""
        self._what = what
        self._begun = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        """Begin to count time."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar off the screen, where that is still there."""
        if error is not None:
            drop_lost_terminal()
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: float) -> None:
        """Say how much of the work is done."""
        if self._bar is None:
            if time.monotonic() - self._begun < PROGRESS_DELAY or not sys.stderr.isatty():
                return
            from rich.progress import Progress

            # No thread of its own: it would compete with what a benchmark measures.
            self._bar = Progress(console=console(stderr=True), transient=True, auto_refresh=False)
            self._bar.add_task(printable(self._what))
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, refresh=True)
