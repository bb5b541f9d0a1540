"""The glossary: every term once, every name and command that it points to exists."""

from __future__ import annotations

import re

import click
import pytest

import counterpoise as cp
from counterpoise.cli.main import main
from library.docs_pages import ROOT

ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| term ")
]
PLACES = sorted({code for row in ROWS for code in re.findall(r"`([^`]+)`", row[2])})


def exists(place: str) -> bool:
    """Whether a public name, a command with its options, or an option of any command is there."""
    options = {
        name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for name, command in main.commands.items()
        if isinstance(command, click.Command)
    }
    words = place.split()
    if words[0] == "counterpoise":
        return words[1] in options and {*words[2:]} <= options[words[1]]
    if place.startswith("--"):
        return any(place in names for names in options.values())
    value: object = cp
    for name in place.removeprefix("cp.").split("."):
        if name not in getattr(value, "__all__", dir(value)) and name not in dir(value):
            return False
        value = getattr(value, name)
    return True


@pytest.mark.parametrize("place", PLACES)
def test_places_exist(place: str) -> None:
    """What a row points to is public and spelled as it is in the code."""
    assert exists(place)


@pytest.mark.parametrize(
    "place", ["cp.Robot.mass", "cp.nothing", "counterpoise floats", "counterpoise float --tare", "--tar"]
)
def test_a_wrong_place_is_seen(place: str) -> None:
    """The check above can fail."""
    assert not exists(place)


def test_terms_are_defined_once() -> None:
    """One meaning a term, in few words, each with a place."""
    terms = [term for row in ROWS for term in row[0].split(", ")]
    assert len(terms) > 50 and len(terms) == len(set(terms))
    assert all(len(row) == 3 and row[2] and len(row[1].split()) <= 30 for row in ROWS)
