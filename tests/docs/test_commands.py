"""Every command line of the pages is one that the program understands; the quick ones are run."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from counterpoise.cli.main import SETTINGS, main
from library.docs_pages import PAGES, ROOT, commands, mentioned, name_of

pytest.importorskip("mujoco", reason="many commands drive a simulated arm")
ONLY_READ = {
    r"\w+ mydriver": "a driver that is not installed",
    r"view": "serves a page until it is ended",
    r"(reproduce (?!--list)|tune|bench|tour)": "minutes; run by the tests of the command",
    r"(simulate|record|float|teach|replay)": "an arm in motion, up to a minute; run by the tests of the command",
    r"calibrate med7dock": "a published recording that is not ours to ship",
}
"""Commands that are parsed and not run, and why."""
WITH_COMMANDS = [page for page in PAGES if commands(page, "counterpoise")]
WITH_MENTIONS = [page for page in PAGES if mentioned(page, "counterpoise")]


def parse(arguments: list[str]) -> None:
    """Let click read a command line, without running it."""
    group = click.Context(main, info_name="counterpoise", **SETTINGS)
    name, command, rest = main.resolve_command(group, list(arguments))
    assert command is not None
    command.make_context(name, rest, parent=group)


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_command_lines_are_understood(page: Path) -> None:
    """No page names a command, an option or a choice that does not exist."""
    for line, arguments in commands(page, "counterpoise"):
        try:
            parse(arguments)
        except click.UsageError as error:
            pytest.fail(f"{name_of(page)}:{line}: {' '.join(arguments)}: {error.format_message()}")


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_quick_commands_run(page: Path, reader_folder: Path) -> None:
    """What takes seconds runs, in the order of the page, and ends as it should."""
    for line, arguments in commands(page, "counterpoise"):
        if any(re.match(pattern, " ".join(arguments)) for pattern in ONLY_READ):
            continue
        result = CliRunner().invoke(main, arguments, catch_exceptions=False)
        expected = 3 if arguments[:2] == ["doctor", "run.mcap"] else 0  # it has a fault, and the doctor says so
        assert result.exit_code == expected, f"{name_of(page)}:{line}: {' '.join(arguments)}:\n{result.output}"


@pytest.mark.parametrize("page", WITH_MENTIONS, ids=name_of)
def test_commands_in_running_text_exist(page: Path) -> None:
    """A command that the text mentions exists, and has the options that stand beside it."""
    for words in mentioned(page, "counterpoise"):
        name = words[0]
        if name.startswith("-") or not name.isidentifier():
            continue
        assert name in main.commands, f"{name_of(page)}: counterpoise {' '.join(words)}"
        known = {option for parameter in main.commands[name].params for option in parameter.opts}
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert options <= known | {"--help"}, f"{name_of(page)}: counterpoise {' '.join(words)}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_scripts_and_targets_exist(page: Path) -> None:
    """A script that a page runs is in the repository, and what it makes is a target of the Makefile."""
    scripts = [words[0] for _, words in commands(page, "python")] + [words[0] for words in mentioned(page, "python")]
    missing = [script for script in scripts if script.endswith(".py") and not (ROOT / script).is_file()]
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    made = [words[0] for _, words in commands(page, "make")] + [words[0] for words in mentioned(page, "make")]
    assert not missing and set(made) <= targets


@pytest.mark.parametrize("arguments", (["no-such-command"], ["load", "arm.urdf", "--no-such-option"], ["gravity"]))
def test_a_wrong_command_line_is_seen(arguments: list[str]) -> None:
    """The parser refuses unknown commands, unknown options and missing arguments, so the tests above can fail."""
    with pytest.raises(click.UsageError):
        parse(arguments)
