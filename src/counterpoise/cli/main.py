"""The entry point: one group of commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import io
import sys
from typing import Any

import click

from .. import __version__
from ..errors import CounterpoiseError
from .bench import bench
from .calibrate import calibrate
from .catalog import catalog
from .completion import completion, propose
from .doctor import doctor
from .estimate import estimate
from .export import export
from .float import float_
from .gravity import gravity
from .load import load
from .options import exit_codes
from .output import EXIT_ERROR, EXIT_USAGE, print_error
from .pose_design import poses
from .record import record
from .replay import replay
from .reproduce import reproduce
from .simulate import simulate
from .teach import teach
from .tour import tour
from .track import track
from .tune import tune
from .verify import verify
from .view import view
from .wrist import wrist

EXAMPLES = """\b
Examples:
  counterpoise tour                           everything once, on a simulated arm with hidden faults: a minute
  counterpoise catalog                        which arms are bundled
  counterpoise load arm.urdf                  what the file describes, and what is suspicious
  counterpoise gravity wam7 0 -0.5 0 1.2 0 0 0
  counterpoise gravity arm.urdf --csv poses.csv --out torques.csv
  counterpoise simulate wam7 --page run.html    a simulated arm under control
  counterpoise poses wam7 --out plan.toml     which poses to record, and what they will determine
  counterpoise record wam7 --poses plan.toml --out run.npz
  counterpoise calibrate wam7 run.npz --out wam7.calibration.json --page report.html
  counterpoise verify wam7 wam7.calibration.json later.npz
  counterpoise doctor run.csv --robot arm.urdf    what is wrong with a recording
  counterpoise estimate run.csv --robot arm.urdf --calibrate-sensor --out torques.csv    joint torques from a plate
  counterpoise wrist arm.urdf poses.csv --link tool0 --out arm.wrist.json    a wrist sensor's zero and its tool
  counterpoise tune puma550:50Hz --law bsc --joint joint1 --alone    gains by experiment
  counterpoise track run.npz --robot wam7 --page track.html    gravity and payload as they are estimated
  counterpoise teach wam7 --demo --out loop.path.csv    guide an arm by hand, keep its path
  counterpoise replay wam7 loop.path.csv --speed 0.5 --page replay.html
  counterpoise float wam7 --friction-fraction 0.7    zero gravity, checked before the arm is let go
  counterpoise view wam7                      a page where you can push the arm
  counterpoise export arm.urdf --calibration arm.calibration.json --out arm_gravity.h    C; or URDF, MJCF
  counterpoise reproduce all --page papers.html    published experiments, run again
  counterpoise bench --quick
  counterpoise doctor --self                  is this installation whole?
  source <(counterpoise completion bash)      complete command lines; zsh and fish, too
"""
EXIT_CODES = exit_codes(
    "done, and what was asked for holds",
    'a run that ended in a fault or by Ctrl-C; stderr has one line "error: ..."',
    not_trusted="done, but not trusted, refused by a check, or with findings that invalidate the result",
    drives=True,
)
WHERE_EXIT_CODES = (
    "They mean the same for every command. What 0, 1 and 3 are for each: counterpoise COMMAND --help,\n"
    "or the table in docs/reference/command-line.md#exit-codes.\n"
)
JSON_ERRORS = 'With --json, errors are JSON on stdout: {"error": {"kind", "message", "path", "line"}}.\n'
NUMBERS = (click.types.IntParamType, click.types.FloatParamType)
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class CommandGroup(click.Group):
    """A group that turns our exceptions into a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a CounterpoiseError ends with EXIT_ERROR, a wrong command line with EXIT_USAGE."""
        as_json = "--json" in ctx.args  # the command's own options are not parsed yet when its command line is wrong
        try:
            return super().invoke(ctx)
        except CounterpoiseError as error:
            path, line = getattr(error, "path", None), getattr(error, "line", None)
            print_error(type(error).__name__, str(error), as_json=as_json, path=path, line=line)
            ctx.exit(EXIT_ERROR)
        except click.UsageError as error:
            if not as_json:
                raise
            print_error("UsageError", error.format_message(), as_json=True)
            ctx.exit(EXIT_USAGE)


@click.group(cls=CommandGroup, epilog=EXAMPLES + EXIT_CODES + WHERE_EXIT_CODES + JSON_ERRORS, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="counterpoise")
def main() -> None:
    """Gravity and friction compensation of robot arms.

    SI units throughout: m, rad, kg, s, N, N m. Torques are those the actuators must apply to hold the arm; what gravity
    itself exerts is the negative.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show must not end in a traceback
            stream.reconfigure(errors="backslashreplace")


for command in (
    *(catalog, load, gravity, simulate, poses, record, calibrate, verify, bench, doctor, estimate, wrist),
    *(tune, track, float_, teach, replay, view, export, reproduce, tour, completion),
):
    main.add_command(command)
    for parameter in command.params:
        if parameter.metavar is None and isinstance(parameter.type, NUMBERS):
            parameter.metavar = "NUMBER"  # click would print "FLOAT RANGE"
propose(main)
