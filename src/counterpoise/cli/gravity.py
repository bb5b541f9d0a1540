"""``counterpoise gravity``: holding torques of poses from the command line or from a file.

On the screen torques are a table that fits: one pose down the page, few poses side by side, many as their extremes. In
a CSV file they are a header of joint names, then one line per pose in full precision.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import numpy as np

from ..dynamics import effort_units, rotary
from ..errors import DataFileError, ModelError
from ..foundation import Array, write_atomically
from ..recording import CHUNK_ROWS, csv_blocks
from .options import Carried, exit_codes, json_option, payload_options
from .output import Progressing, console, fixed, limit, note, note_written, print_json, printable, table, warn
from .source import Source, source_options

if TYPE_CHECKING:
    from rich.table import Table

    from ..dynamics import Robot


STDOUT = "-"


def write_torques(path: str, joint_names: Sequence[str], torques: Array, *, read_from: str | None = None) -> None:
    """Write torques as CSV.

    Args:
        path: The file, which is replaced if it exists, all or nothing, or "-" for standard output.
        joint_names: Names of the n joints.
        torques: Torques [N m or N], shape (k, n).
        read_from: File that the poses came from; it is never overwritten.

    Raises:
        DataFileError: The file cannot be written, or is the one the poses came from.
    """
    if path == STDOUT:
        sys.stdout.writelines(csv_blocks(joint_names, [torques]))
        return
    if read_from is not None and _same_file(path, read_from):
        raise DataFileError("is the file that the poses came from; give --out another one", path=path)
    with Progressing(f"writing {path}") as progressing:

        def write(stream: BinaryIO) -> None:
            for count, block in enumerate(csv_blocks(joint_names, [torques])):
                stream.write(block.encode())
                progressing.update(min(count * CHUNK_ROWS, len(torques)), len(torques))

        write_atomically(path, write)


def _same_file(one: str, other: str) -> bool:
    """Whether both names are those of one file that exists."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # ValueError: a NUL byte in the path
        return False


NUMBER_WIDTH = 12
"""Characters of a column of numbers, its padding included."""
MOST_ROWS = 50
"""Poses listed one by one; more are summed up by their extremes."""


def torque_table(robot: Robot, q: Array, torques: Array, width: int) -> Table:
    """Return a table of holding torques.

    Args:
        robot: The robot.
        q: Poses [rad or m], shape (k, n).
        torques: Their torques [N m or N], shape (k, n).
        width: Width of the screen [characters].
    """
    if len(q) == 1:
        return _one_pose(robot, q[0], torques[0])
    names = [printable(name) for name in robot.joint_names]
    widest = max(map(len, names))
    if len(q) * NUMBER_WIDTH + widest + 8 <= width:
        rows = table("joint", *(f"pose {pose + 1}" for pose in range(len(q))), "unit", left=("joint", "unit"))
        for name, unit, values in zip(names, effort_units(robot), torques.T, strict=True):
            rows.add_row(name, *map(fixed, values.tolist()), unit)
    elif len(q) <= MOST_ROWS and robot.n * max(NUMBER_WIDTH, widest + 2) + 6 <= width:
        rows = table("pose", *(f"{name}\n[{unit}]" for name, unit in zip(names, effort_units(robot), strict=True)))
        for pose, values in enumerate(torques.tolist()):
            rows.add_row(str(pose + 1), *map(fixed, values))
    else:
        rows = _extremes(robot, torques)
    return rows


def _one_pose(robot: Robot, q: Array, torques: Array) -> Table:
    positions = [("rad", "N m") if rotates else ("m", "N") for rotates in rotary(robot)]
    rows = table("joint", "position", "", "holding torque", " ", "of its limit", left=("joint", "", " "))
    for index, (position_unit, unit) in enumerate(positions):
        most = float(robot.effort_limit[index])
        share = f"{abs(torques[index]) / most:.0%}" if 0.0 < most < np.inf else limit(np.inf)
        name = printable(robot.joint_names[index])
        rows.add_row(name, fixed(q[index]), position_unit, fixed(torques[index]), unit, share)
    return rows


def _extremes(robot: Robot, torques: Array) -> Table:
    rows = table("joint", "lowest", "mean", "highest", "unit", f"largest of {len(torques)}", left=("joint", "unit"))
    for index, unit in enumerate(effort_units(robot)):
        values = torques[:, index]
        numbers = (values.min(), values.mean(), values.max())
        largest = int(np.abs(values).argmax()) + 1
        rows.add_row(printable(robot.joint_names[index]), *(fixed(float(x)) for x in numbers), unit, str(largest))
    return rows


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
        write_torques(out_path, robot.joint_names, torques, read_from=csv_path)
    if as_json:
        print_json(_document(robot, q, torques, out_path, notes))
        return
    for warning in robot.warnings:
        warn(warning)
    for text in notes:
        note(text)
    if out_path is None:
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
    from ..dynamics import rotary

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
