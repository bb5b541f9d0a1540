"""What commands say of themselves: examples that are understood, and one page that lists them all."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import click
import pytest

from counterpoise.cli.main import EXAMPLES, SETTINGS, main

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
COMMENT = re.compile(r"\s{3,}|\s[|>]\s")
"""What follows an example on its line: words for people, or what the shell does with the output."""


def examples(text: str) -> list[list[str]]:
    """Return the arguments of every call of the program in a help text."""
    lines = (COMMENT.split(line.strip())[0] for line in text.splitlines())
    calls = (line.partition("counterpoise ") for line in lines if re.match(r"(\w+=\w+ )?counterpoise ", line))
    return [shlex.split(rest) for _, _, rest in calls]


def page_maker() -> ModuleType:
    """Return the script that writes the page."""
    spec = importlib.util.spec_from_file_location("make_command_line", REFERENCE / "make_command_line.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [*main.commands, ""])
def test_examples_are_understood(name: str) -> None:
    """Every example of every help text, the group's own included, has options and choices that exist."""
    found = examples((main.commands[name].epilog or "") if name else EXAMPLES)
    assert found or name == "completion" or not name
    for arguments in found:
        group = click.Context(main, info_name="counterpoise", **SETTINGS)
        command_name, command, rest = main.resolve_command(group, list(arguments))
        assert command is not None
        try:
            command.make_context(command_name, rest, parent=group)
        except click.UsageError as error:
            pytest.fail(f"{' '.join(arguments)}: {error.format_message()}")


SAID_TWICE = {
    "--law": "which laws there are differs",
    "--joint": "joints that swing, or that are tuned",
    "--duration": "of a run, of floating, of a page, each with its default",
    "--out": "what is written differs",
    "--seed": "what is drawn differs",
    "--mount-rpy": "a recording may declare it",
    "--robot": "whose arm it is differs",
    "--stiffness": "of the law, or of what held the joints",
    "--margin": "of the poses, or of the plan's efforts",
    "--cutoff": "its default differs",
    "--friction": "fitted, or learned",
    "--damping": "of a loop, or of the joints",
    "--calibration": "used, or compared",
    "--count": "of poses that are chosen, or gone through",
    "--use": "of a fit, or of a wrist sensor's poses",
    "--friction-fraction": "may be changed later on the page",
}
"""Options that several commands explain in words of their own, and why."""


def test_an_option_is_explained_in_the_same_words_everywhere() -> None:
    """Where it means the same, it is the same text and the same word for the value; every command has exit codes."""
    texts: dict[str, set[tuple[str | None, str | None]]] = {}
    for command in main.commands.values():
        for each in command.params:
            if isinstance(each, click.Option):
                assert each.help, f"{command.name} {each.opts[0]} has no help"
                texts.setdefault(each.opts[0], set()).add((each.help, each.metavar))
        assert "Exit codes:\n  0  " in (command.epilog or ""), command.name
    assert {name for name, said in texts.items() if len(said) > 1} <= set(SAID_TWICE)


def test_the_page_is_what_the_commands_say() -> None:
    """docs/reference/command-line.md is up to date."""
    maker = page_maker()
    written = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    assert written == maker.text(), "run: python docs/reference/make_command_line.py"


def test_the_page_has_every_command() -> None:
    """Each command stands in exactly one group of the page."""
    listed = [name for names in page_maker().GROUPS.values() for name in names]
    assert sorted(listed) == sorted(main.commands)
