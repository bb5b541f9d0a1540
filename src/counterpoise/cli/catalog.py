"""``counterpoise catalog``: the bundled arms and where their numbers come from."""

from __future__ import annotations

import dataclasses
from textwrap import shorten
from typing import TYPE_CHECKING

import click

from .options import exit_codes, json_option
from .output import console, print_json, table

if TYPE_CHECKING:
    from rich.text import Text

    from ..description import CatalogEntry


EXAMPLES = """\b
Examples:
  counterpoise catalog                        every arm, in short
  counterpoise catalog wam7 puma560           two of them, with full citations and reasons
  counterpoise catalog --json | jq -r '.arms[] | select(.assumed == []) | .name'
""" + exit_codes("done")
SHORT_CITATION = 60
"""Characters of a citation shown in the short list."""


@click.command(epilog=EXAMPLES)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def catalog(names: tuple[str, ...], as_json: bool) -> None:
    """List the bundled arms.

    Each with its joints, its mass, what it is, the source of its numbers and which of them are assumed. Give names for
    full citations. Every name here can be used as SOURCE in the other commands.
    """
    from ..description import catalog as list_catalog
    from ..description import read_bundled

    for name in names:
        read_bundled(name)  # an unknown name ends here, with the nearest ones
    entries = [entry for entry in list_catalog() if not names or entry.name in names]
    if as_json:
        print_json({"arms": [dataclasses.asdict(entry) for entry in entries]})
        return
    rows = table("name", "joints", "mass [kg]", "what it is", left=("name", "what it is"))
    for entry in entries:
        end_section = entry is not entries[-1]
        account = _account(entry, full=bool(names))
        rows.add_row(entry.name, str(entry.joints), f"{entry.mass:.2f}", account, end_section=end_section)
    console().print(rows)


def _account(entry: CatalogEntry, *, full: bool) -> Text:
    """Say what an arm is, where its numbers come from and which are assumed."""
    from rich.text import Text

    text = Text(entry.summary)
    for citation in entry.sources:
        shown = citation if full else shorten(citation, SHORT_CITATION, placeholder=" …")
        text.append(f"\nsource: {shown}", style="dim")
    if full:
        for assumption in entry.assumed:
            text.append(f"\nassumed: {assumption}", style="yellow")
    elif entry.assumed:
        what = "; ".join(assumption.partition(": ")[0] for assumption in entry.assumed)
        text.append(f"\nassumed: {what}", style="yellow")
    return text
