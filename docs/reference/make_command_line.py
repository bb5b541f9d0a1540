"""Writes command-line.md from the commands themselves; a test fails where page and commands differ.

Run: python docs/reference/make_command_line.py
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from counterpoise.cli.main import EXIT_CODES, JSON_ERRORS, main
from counterpoise.cli.options import ANY_ERROR

PAGE = Path(__file__).with_name("command-line.md")
GROUPS = {
    "Begin": ("tour", "view", "catalog", "load", "gravity"),
    "From a recording to a calibrated arm": ("poses", "record", "doctor", "calibrate", "verify", "export"),
    "A plate under the base, a sensor at the wrist": ("estimate", "wrist", "tune"),
    "An arm in motion": ("simulate", "float", "teach", "replay", "track"),
    "Evidence and help": ("reproduce", "bench", "completion"),
}
"""Every command, by what it is for."""
HEAD = """# Command line

<!-- Written by docs/reference/make_command_line.py. -->

A command with `--help` says the same, for the version that is installed. Every command but `completion` takes `--json`:
one JSON document on stdout, errors too. SI units throughout: m, rad, kg, s, N, N m.
"""
EXIT_CODES_HEAD = """What they are for each command. An empty cell: nothing more, or the command never ends so.
`bench` and `reproduce` measure: a slow machine, or a figure that is not reproduced, is a result that is printed
and no failure.
"""
COMPLETION = """## Shell completion

Commands, options, choices, bundled and simulated arms, files, and the joints and links of the arm that stands before on
the line are completed in bash (4.4 or newer), zsh and fish. Write the script once to where the shell looks for it:

| shell | command |
|---|---|
| bash | `counterpoise completion bash > ~/.local/share/bash-completion/completions/counterpoise` |
| zsh | `counterpoise completion zsh > ~/.zfunc/_counterpoise`, with `fpath+=~/.zfunc` before `compinit` in `~/.zshrc` |
| fish | `counterpoise completion fish > ~/.config/fish/completions/counterpoise.fish` |

A key press costs 0.4 s of processor time, most of it for Python and NumPy to start. In bash, nothing is completed after
the colon of a variant such as `puma550:50Hz`: it is a word break there.
"""


def text() -> str:
    """Return the page."""
    codes = (EXIT_CODES + JSON_ERRORS).partition("Exit codes:\n")[2].rstrip()
    parts = [HEAD, f"## Exit codes\n\n```text\n{codes}\n```\n", _exit_codes(), COMPLETION, _contents()]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_command(main.commands[name]) for name in names]
    return "\n".join(parts)


def _exit_codes() -> str:
    """Return the table of what 0, 1 and 3 are for each command; 2, 129 and 143 are the same for all."""
    rows = [EXIT_CODES_HEAD, "| command | 0 | 1: an error in a file or a value, and | 3 |", "|---|---|---|---|"]
    for name in (name for names in GROUPS.values() for name in names):
        meanings = exit_meanings(main.commands[name])
        error = meanings[1].removeprefix(ANY_ERROR).removeprefix("; ")
        rows.append(f"| [`{name}`](#{name}) | {_cell(meanings[0])} | {_cell(error)} | {_cell(meanings.get(3, ''))} |")
    return "\n".join(rows) + "\n"


def exit_meanings(command: click.Command) -> dict[int, str]:
    """Return what each exit code of a command means, from its help."""
    meanings: dict[int, str] = {}
    code = None
    for line in (command.epilog or "").partition("Exit codes:\n")[2].splitlines():
        if found := re.fullmatch(r"  (\d+) +(.*)", line):
            code = int(found[1])
            meanings[code] = found[2]
        elif code is not None and line.strip():
            meanings[code] += f" {line.strip()}"
    return meanings


def _contents() -> str:
    rows = ["## Commands\n", "| for | command | what it does |", "|---|---|---|"]
    for title, names in GROUPS.items():
        for name in names:
            what = (main.commands[name].help or "").partition("\n\n")[0]
            rows.append(f"| {title if name == names[0] else ''} | [`{name}`](#{name}) | {_cell(what)} |")
    return "\n".join(rows) + "\n"


def _command(command: click.Command) -> str:
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    arguments = [_argument(each) for each in command.params if isinstance(each, click.Argument)]
    usage = " ".join(["counterpoise", command.name or "", "[OPTIONS]", *arguments])
    rows = [_row(each) for each in command.params if isinstance(each, click.Option)]
    table = ["| option | what it means |", "|---|---|", *rows] if rows else []
    epilog = (command.epilog or "").replace("\b\n", "").rstrip()
    lines = [f"### {command.name}", "", f"`{usage}`", "", *(f"{each}\n" for each in paragraphs), *table, ""]
    return "\n".join([*lines, f"```text\n{epilog}\n```", ""])


def _argument(argument: click.Argument) -> str:
    if isinstance(argument.type, click.Choice):
        return "{" + "|".join(argument.type.choices) + "}"
    shown = argument.metavar or (argument.name or "").upper() + ("" if argument.nargs == 1 else "...")
    return shown if argument.required or shown.startswith("[") else f"[{shown}]"


def _row(option: click.Option) -> str:
    names = ", ".join(option.opts)
    if isinstance(option.type, click.Choice):
        value = "|".join(option.type.choices)
    else:
        value = "" if option.is_flag else option.metavar or "TEXT"
    told = [_cell(option.help or "")]
    if option.required:
        told.append("Required.")
    elif option.show_default and option.default is not None:
        told.append(f"Default: {option.default}.")
    return f"| `{_cell(f'{names} {value}'.rstrip())}` | {' '.join(told)} |"


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
