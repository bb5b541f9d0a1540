"""``counterpoise gravity``: holding torques of poses from the command line or from a file."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

import click

from ..errors import ModelError
from .options import exit_codes, json_option
from .output import console, note, note_written, print_json, printable, warn
from .payload import Carried, payload_options
from .source import Source, source_options

if TYPE_CHECKING:
    from ..description.frozen import Array
    from ..dynamics.robot import Robot

EXAMPLES = """\b
Examples:
  counterpoise gravity planar3                            at the zero pose
  counterpoise gravity planar3 0 -0.5 1.2                 one pose: its numbers
  counterpoise gravity planar3 0,-0.5,1.2 -1,0,0          two poses: one argument each
  counterpoise gravity planar3 --degrees 0 -30 70
  counterpoise gravity arm.urdf --csv poses.csv --out torques.csv
  counterpoise gravity wam7 --payload 1.2 --payload-com 0 0 0.1
  counterpoise gravity wam7 --csv poses.csv --json | jq .torques[0]

\b
CSV files:
  with a header, columns are found by joint name, in any order, and others are ignored;
  without one, there must be one column per joint, in joint order.
  Fields are separated by commas, semicolons or tabs.
""" + exit_codes("done")


@click.command(epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
@source_options
@click.argument("pose", nargs=-1, type=click.UNPROCESSED)
@click.option("--csv", "csv_path", metavar="FILE", help='Read poses from a CSV file; "-" for standard input.')
@click.option("--degrees", is_flag=True, help="All angles, of rotary joints and of the mount, are in degrees.")
@payload_options
@click.option("--out", "out_path", metavar="FILE", help='Write the torques as CSV; "-" for standard output.')
@json_option
@click.pass_context
def gravity(
    ctx: click.Context,
    *,
    source: Source,
    pose: tuple[str, ...],
    csv_path: str | None,
    degrees: bool,
    carried: Carried | None,
    out_path: str | None,
    as_json: bool,
) -> None:
    """Compute the torques that hold an arm still.

    SOURCE is a file or the name of a bundled arm (see counterpoise load). POSE is the position of every joint, in rad
    (m for linear joints) and in joint order: n numbers separated by spaces for one pose, or one argument of n numbers
    with commas per pose. Negative numbers need no quoting. Without POSE and --csv, the zero pose is taken.

    The torques are those the actuators must apply, in N m (N for linear joints); what gravity itself exerts is the
    negative.
    """
    _refuse_misspelt_options(ctx, pose)
    if pose and csv_path is not None:
        raise click.UsageError("give poses on the command line or by --csv, not both")
    if out_path == "-" and as_json:
        raise click.UsageError("--out - and --json both write to standard output; give --out a file")
    from .poses import given_poses, outside_limits

    robot = source.load(degrees=degrees)
    if robot.n == 0:
        raise ModelError(f"'{robot.name}' has no moving joint, so there is no torque to compute")
    if carried is not None:
        robot = carried.on(robot)
    q, notes = given_poses(robot, pose, csv_path, degrees=degrees)
    torques = robot.gravity(q)
    notes += outside_limits(robot, q)
    if out_path is not None:
        from .torque_file import write_torques

        write_torques(out_path, robot.joint_names, torques, read_from=csv_path)
    if as_json:
        print_json(_document(robot, q, torques, out_path, notes))
        return
    for warning in robot.warnings:
        warn(warning)
    for text in notes:
        note(text)
    if out_path is None:
        from .torque_table import torque_table

        screen = console()
        screen.print(_head(robot), style="dim")
        screen.print(torque_table(robot, q, torques, screen.width))
    elif out_path != "-":
        note_written(f"torques of {len(torques)} poses", out_path)


def _refuse_misspelt_options(ctx: click.Context, pose: tuple[str, ...]) -> None:
    """Refuse what looks like an option: negative numbers are let through by letting every unknown option through."""
    known = [name for parameter in ctx.command.params for name in parameter.opts]
    for text in pose:
        if re.match(r"-[0-9.]", text) is None and text.startswith("-"):
            option = text.split("=")[0]
            raise click.NoSuchOption(option, possibilities=difflib.get_close_matches(option, known), ctx=ctx)


def _head(robot: Robot) -> str:
    """Say what the torques hold: a mount or a load that was forgotten shows here."""
    loads = "".join(f", of which {load.inertia.mass:g} kg on {load.link}" for load in robot.payloads)
    down = ", ".join(f"{value:.4g}" for value in robot.gravity_base + 0.0)
    return printable(f"{robot.name}: {robot.total_mass:.3f} kg{loads}; gravity in the base frame ({down}) m/s²")


def _document(robot: Robot, q: Array, torques: Array, out_path: str | None, notes: list[str]) -> dict[str, Any]:
    from ..dynamics.joint_units import rotary

    turning = rotary(robot)
    return {
        "robot": robot.name,
        "joint_names": robot.joint_names,
        "position_units": ["rad" if rotates else "m" for rotates in turning],
        "torque_units": ["N m" if rotates else "N" for rotates in turning],
        "gravity_base": robot.gravity_base,
        "total_mass": robot.total_mass,
        "payloads": [
            {"link": load.link, "mass": load.inertia.mass, "com": load.inertia.com} for load in robot.payloads
        ],
        "poses": len(q),
        "q": q if out_path is None else None,
        "torques": torques if out_path is None else None,
        "out": out_path,
        "warnings": robot.warnings,
        "notes": notes,
    }
