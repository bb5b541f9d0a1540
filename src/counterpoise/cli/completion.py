"""``counterpoise completion``: the script that a shell loads, and what is proposed for arms, joints, links and files.

Click knows commands, options and choices by itself. What the other values may be follows from the names of the
parameters, here at one place for all commands: see :data:`PROPOSED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from ..errors import CounterpoiseError
from .options import exit_codes

if TYPE_CHECKING:
    from ..dynamics import Robot


SHELLS = ("bash", "zsh", "fish")
ARMS = ("source", "plant", "preset", "robot_name")
"""Parameters that name the arm."""
PROGRAM, VARIABLE = "counterpoise", "_COUNTERPOISE_COMPLETE"
EXAMPLES = """\b
Examples:
  counterpoise completion bash > ~/.local/share/bash-completion/completions/counterpoise
  counterpoise completion zsh > ~/.zfunc/_counterpoise      with ~/.zfunc in fpath before compinit
  counterpoise completion fish > ~/.config/fish/completions/counterpoise.fish
  source <(counterpoise completion bash)                    this session only; bash 4.4 or newer
""" + exit_codes("done")


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the script that lets a shell complete command lines.

    Completed are commands, options and choices, bundled and simulated arms, files, and the joints and links of the
    arm that stands before on the line. The script belongs in a file that the shell loads.
    """
    made = get_completion_class(shell)
    if made is None:  # a click that does not know the shell
        raise click.UsageError(f"this version of click completes nothing in {shell}")
    script = made(ctx.find_root().command, {}, PROGRAM, VARIABLE).source()
    # In fish, click's own script ends every description at its first comma.
    click.echo(script.replace('string split ","', 'string split --max 1 ","'))


Names = Callable[[click.Context], Iterable[str]]


class Proposing(click.types.StringParamType):
    """Text for which a shell is told names, files, or both.

    Args:
        names: What may be said, given what stands before; None for nothing in particular.
        files: Whether it may be a file.
    """

    def __init__(self, names: Names | None = None, *, files: bool = False) -> None:
        """Keep where the names come from."""
        self._names = names
        self._files = files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return what begins as it was typed; files are left to the shell."""
        try:
            names = () if self._names is None else self._names(ctx)
        except (CounterpoiseError, OSError):  # the command itself will say what is wrong
            names = ()
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self._files else found


def propose(group: click.Group) -> None:
    """Give every parameter of the group's commands that takes plain text its proposals, by its name or metavar."""
    for command in group.commands.values():
        for parameter in command.params:
            if parameter.type is not click.STRING:
                continue
            known = PROPOSED.get(f"{command.name} {parameter.name}") or PROPOSED.get(parameter.name or "")
            if known is not None:
                parameter.type = known
            elif any(mark in (parameter.metavar or "") for mark in ("FILE", "LOG", "DIR", ".")):
                parameter.type = Proposing(files=True)


def _bundled(ctx: click.Context) -> Iterable[str]:
    from ..description import catalog

    return (entry.name for entry in catalog())


def _simulated(ctx: click.Context) -> Iterable[str]:
    from ..plants import VARIANTS

    return [each for name, variants in VARIANTS.items() for each in (name, *(f"{name}:{one}" for one in variants))]


def _drivable(ctx: click.Context) -> Iterable[str]:
    from ..control import installed_plants

    return [*_simulated(ctx), *installed_plants()]


def _experiments(ctx: click.Context) -> Iterable[str]:
    from ..lab import MODULES

    return ["all", *MODULES]


def _joints(ctx: click.Context) -> Iterable[str]:
    robot = _robot(ctx)
    return () if robot is None else robot.joint_names


def _links(ctx: click.Context) -> Iterable[str]:
    robot = _robot(ctx)
    return () if robot is None else robot.link_names


def _robot(ctx: click.Context) -> Robot | None:
    """Return the robot that the line names so far; None where it names none that is read quickly."""
    from ..dynamics import load
    from ..plants import VARIANTS, preset

    given = next((ctx.params[name] for name in ARMS if ctx.params.get(name)), None)
    first = next((each.name for each in ctx.command.params if isinstance(each, click.Argument)), None)
    if given is None and first in ARMS and ctx.args:
        given = ctx.args[0]  # where click leaves the arguments while an option still lacks its value
    if given is None or given.endswith((".xacro", ".xml")):  # would run code, or load MuJoCo
        return None
    name, _, variant = given.partition(":")
    return load(preset(name, variant or None).robot_name if name in VARIANTS else given)


PROPOSED: Mapping[str, Proposing] = {
    "source": Proposing(_bundled, files=True),
    "robot_name": Proposing(_bundled, files=True),
    "view source": Proposing(lambda ctx: [*_simulated(ctx), *_bundled(ctx)], files=True),
    "plant": Proposing(_drivable),
    "preset": Proposing(_simulated),
    "sources": Proposing(_simulated, files=True),
    "calibration": Proposing(files=True),
    "catalog names": Proposing(_bundled),
    "reproduce names": Proposing(_experiments),
    "joints": Proposing(_joints),
    "locked": Proposing(_joints),
    "fixed_joints": Proposing(lambda ctx: [f"{name}=" for name in _joints(ctx)]),
    "payload_link": Proposing(_links),
    "load_link": Proposing(_links),
    "demo_link": Proposing(_links),
}
"""Proposals by the parameter's name, or by command and name where the name alone does not tell."""
