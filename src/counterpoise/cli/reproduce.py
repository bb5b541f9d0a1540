"""``counterpoise reproduce``: published experiments run again, the printed numbers beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import exit_codes, json_option, page_option
from .output import EXIT_ERROR, Progressing, console, note_written, print_json, printable, refuse_page, table, warn

if TYPE_CHECKING:
    from ..lab import Done, Outcome


EXAMPLES = """\b
Examples:
  counterpoise reproduce --list
  counterpoise reproduce morel-fig8
  counterpoise reproduce all --page papers.html         every figure on one page; some minutes
  counterpoise reproduce morel-fig11 morel-fig13 --seeds 3 --json
  counterpoise reproduce map --page map.html            the study of 80 random plants; half an hour
""" + exit_codes("the experiments ran, whatever they showed", "an experiment could not be run")


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME]...|all")
@click.option("--list", "listing", is_flag=True, help="List the experiments.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=100),
    default=5,
    show_default=True,
    help="Seeds to run each with, from 0 on.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at a time; default: one per processor.")
@page_option
@json_option
def reproduce(
    *, names: tuple[str, ...], listing: bool, seeds: int, jobs: int | None, page_path: str | None, as_json: bool
) -> None:
    """Run published experiments again on simulated arms.

    Each prints the paper's numbers beside ours, as the median and the spread over the seeds, and ends with a verdict:
    reproduced, partly or not, and what decides it. No plant is tuned to win; every controller is tuned by the same rule
    on the same plant. Without NAME, the experiments are listed.
    """
    refuse_page(page_path)
    if listing or not names:
        if names or page_path:
            raise click.UsageError("--list takes no names and no page")
        _list(as_json)
        return
    from ..lab import experiment_names, run_many

    chosen = experiment_names(names)
    with Progressing(f"running {', '.join(chosen)}") as progressing:
        done = run_many(chosen, seeds, lambda share, _: progressing.update(share, 1.0), jobs)
    if page_path is not None:
        _write_page(done, seeds, page_path)
    if as_json:
        print_json({"seeds": seeds, "experiments": [_document(each) for each in done], "page": page_path})
    else:
        for each in done:
            _print(each)
        note_written("page", page_path)
    if any(each.outcome is None for each in done):
        raise SystemExit(EXIT_ERROR)


def _list(as_json: bool) -> None:
    from ..lab import LONG_STUDIES, MODULES, experiment

    known = [experiment(name) for name in MODULES]
    if as_json:
        fields = ("name", "title", "source", "claim")
        rows = [{field: getattr(each, field) for field in fields} for each in known]
        print_json({"experiments": [row | {"in_all": row["name"] not in LONG_STUDIES} for row in rows]})
        return
    lines = table("name", "what", "source", left=("name", "what", "source"))
    for each in known:
        lines.add_row(each.name, each.title + ("; not in all" if each.name in LONG_STUDIES else ""), each.source)
    console().print(lines)


def _write_page(done: list[Done], seeds: int, path: str) -> None:
    from ..lab import experiment
    from ..report import papers_page, write_page

    write_page(papers_page([(experiment(each.name), each.outcome, each.failure) for each in done], seeds), path)


def _print(done: Done) -> None:
    from ..lab import experiment
    from ..report import number, spread, verdict_words

    about = experiment(done.name)
    screen = console()
    screen.print(f"{about.name}: {about.title}", style="bold")
    screen.print(f"{about.source}. {about.claim}")
    outcome: Outcome | None = done.outcome
    if outcome is None:
        warn(f"{done.name} could not be run: {done.failure}")
        return
    lines = table("what", "unit", "paper", "ours", "seeds", left=("what", "unit"))
    for entry in outcome.comparisons:
        lines.add_row(printable(entry.what), entry.unit, number(entry.printed), number(entry.ours), spread(entry))
    screen.print(lines)
    screen.print(f"{verdict_words(outcome)}. {outcome.decides}")
    for text in outcome.notes:
        screen.print(f"  {text}")
    screen.print()


def _document(done: Done) -> dict[str, Any]:
    if done.outcome is None:
        return {"name": done.name, "failure": done.failure, "seconds": done.seconds}
    numbers = [
        {field: getattr(entry, field) for field in ("what", "unit", "printed", "ours", "spread")}
        for entry in done.outcome.comparisons
    ]
    told = {field: getattr(done.outcome, field) for field in ("verdict", "decides", "notes")}
    return {"name": done.name, "comparisons": numbers, **told, "seconds": done.seconds}
