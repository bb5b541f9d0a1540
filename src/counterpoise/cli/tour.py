"""``counterpoise tour``: the whole chain on a simulated arm with hidden faults, in a minute and without a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import exit_codes, json_option, seed_option
from .output import EXIT_NOT_TRUSTED, Progressing, console, note_written, print_json, refuse_page, table, warn

if TYPE_CHECKING:
    from ..lab import Stop, Tour


PAGE = "counterpoise-tour.html"
EXAMPLES = """\b
Examples:
  counterpoise tour                             a minute; the page is counterpoise-tour.html
  counterpoise tour --keep files                recordings, mapping and calibration, too
  counterpoise tour --seed 3 --no-page          another arm with other errors
  counterpoise tour --json | jq .summary
""" + exit_codes(
    "the tour was taken", not_trusted="the tour was taken, but its calibration is not trusted or does not hold"
)


@click.command(epilog=EXAMPLES)
@click.option(
    "--page", "page_path", metavar="FILE.html", default=PAGE, show_default=True, help="Write a page to look at."
)
@click.option("--no-page", is_flag=True, help="Write no page.")
@click.option("--keep", "folder", metavar="DIR", help="Keep the files that were written.")
@seed_option("the hidden errors")
@json_option
def tour(*, page_path: str, no_page: bool, folder: str | None, seed: int, as_json: bool) -> None:
    """Show everything once, on an arm with hidden faults.

    A simulated geared arm stands on a force plate. Its description has wrong masses, it carries a tool that nobody
    entered, friction is unknown, and the logger writes one effort with the wrong sign. The tour records it, lets the
    doctor name the faults, calibrates, verifies, floats, finds a load, and moves finely with the plate where PID
    cannot. Every number is computed in this run.
    """
    import tempfile

    from ..dynamics import NATIVE
    from ..lab import take_tour

    refuse_page(None if no_page else page_path)
    if not NATIVE:
        warn("there are no native kernels here (see counterpoise doctor --self): the tour takes some six minutes")
    kept = None if folder is None else Path(folder)
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, Progressing("taking the tour") as progressing:
        number = 0

        def after(stop: Stop) -> None:
            nonlocal number
            number += 1
            if not as_json:
                _print_stop(number, stop)

        done = take_tour(kept or Path(scratch), lambda share, _: progressing.update(share, 1.0), after, seed)
    if not no_page:
        from ..report import tour_page, write_page

        write_page(tour_page(done), page_path)
    if as_json:
        print_json(_document(done, None if no_page else page_path))
    else:
        _print_summary(done)
        note_written("page", None if no_page else page_path)
        note_written("files are", kept)
    if not (done.modelled.fit.trusted and done.modelled.verification.holds):
        raise SystemExit(EXIT_NOT_TRUSTED)


def _print_stop(number: int, stop: Stop) -> None:
    from rich.padding import Padding

    from ..lab import STOPS, sentences

    screen = console()
    title = STOPS[number - 1][0]
    screen.print(f"{number}. {title[0].upper()}{title[1:]}", style="bold")
    for text in sentences(stop):
        screen.print(Padding(text, (0, 0, 0, 3)))


def _print_summary(done: Tour) -> None:
    from ..lab import summary

    screen = console()
    lines = table("what", "hidden", "found", left=("what", "hidden", "found"))
    for row in summary(done):
        lines.add_row(*row)
    screen.print()
    screen.print(lines)
    screen.print(f"All of it computed in {done.seconds:.0f} s.")
    screen.print(
        "Next: counterpoise load my_robot.urdf · counterpoise doctor my_run.csv --robot my_robot.urdf · "
        "counterpoise view wam7"
    )


def _document(done: Tour, page: str | None) -> dict[str, Any]:
    from ..lab import sentences, summary

    stops = (done.recorded, done.modelled, done.floated, done.found, done.fine)
    return {
        "seconds": done.seconds,
        "trusted": done.modelled.fit.trusted,
        "verified": done.modelled.verification.holds,
        "stops": [sentences(stop) for stop in stops],
        "summary": [dict(zip(("what", "hidden", "found"), row, strict=True)) for row in summary(done)],
        "page": page,
    }
