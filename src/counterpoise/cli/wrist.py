"""``counterpoise wrist``: a wrist sensor's zero and its tool, from poses at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import exit_codes, json_option
from .output import (
    EXIT_NOT_TRUSTED,
    console,
    note_written,
    number,
    print_json,
    print_verdict,
    printable,
    refuse_file,
    table,
)
from .recording import ReadingOptions, reading_options
from .source import Source, source_options

if TYPE_CHECKING:
    from ..sensing import WristFit


EXAMPLES = """\b
Examples:
  counterpoise wrist arm.urdf poses.csv --link tool0 --out arm.wrist.json
  counterpoise wrist arm.urdf run.mcap --link flange --sensor-xyz 0 0 0.03 --find turn
  counterpoise wrist wam7 poses.csv --use rows --link toolplate --find turn --find tilt --json | jq .mass
""" + exit_codes("found and trusted", not_trusted="found, but not all that was looked for, or not to be relied on")


@click.command(epilog=EXAMPLES)
@source_options
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@reading_options
@click.option("--link", required=True, metavar="NAME", help="Link that the sensor is mounted on.")
@click.option(
    "--sensor-xyz", nargs=3, type=float, default=(0.0, 0.0, 0.0), metavar="X Y Z", help="Its origin there [m]."
)
@click.option(
    "--sensor-rpy", nargs=3, type=float, default=(0.0, 0.0, 0.0), metavar="R P Y", help="Its axes there [rad]."
)
@click.option(
    "--reads",
    type=click.Choice(("on_robot", "on_tool")),
    help="Reading: what tool and surroundings exert on the robot, or the opposite; default: by the tool's weight.",
)
@click.option(
    "--find",
    "wanted",
    multiple=True,
    type=click.Choice(("turn", "axes", "tilt")),
    help="Also find the sensor's turn about its z axis, its axes altogether, the tilt of gravity; repeatable.",
)
@click.option(
    "--use",
    type=click.Choice(("auto", "static", "rows")),
    default="auto",
    show_default=True,
    help="Take poses at which the arm stands, or every row as a pose.",
)
@click.option("--out", "out_path", metavar="FILE.json", help="Write the calibration, usually ARM.wrist.json.")
@json_option
def wrist(
    *,
    source: Source,
    logs: tuple[str, ...],
    reading: ReadingOptions,
    link: str,
    sensor_xyz: tuple[float, float, float],
    sensor_rpy: tuple[float, float, float],
    reads: str | None,
    wanted: tuple[str, ...],
    use: str,
    out_path: str | None,
    as_json: bool,
) -> None:
    """Calibrate a force/torque sensor at the wrist from poses at rest.

    SOURCE is the arm's description: a file or the name of a bundled arm (see counterpoise load). LOG is a recording of
    poses at rest in different orientations, touching nothing: positions and the sensor's six channels; or a table with
    one pose a row. Found are the sensor's zero, and mass and centre of mass of all beyond it; every pose is predicted
    from the others.
    """
    refuse_file("--out", out_path, (".json",))
    if "turn" in wanted and "axes" in wanted:
        raise click.UsageError("--find axes finds the turn too; leave --find turn out")
    from ..foundation import plain, rotation_from_rpy, transform
    from ..sensing import calibrate_wrist_poses, wrist_poses

    robot, log = reading.robot_and_log(source, logs)
    fit = calibrate_wrist_poses(
        robot,
        wrist_poses(robot, log, use=use),  # type: ignore[arg-type]
        link=link,
        T_link_sensor=transform(rotation_from_rpy(sensor_rpy), sensor_xyz),
        reads=reads,  # type: ignore[arg-type]
        turn="full" if "axes" in wanted else "axis" if "turn" in wanted else "none",
        tilt="tilt" in wanted,
    )
    if out_path is not None:
        fit.save(out_path)
    if as_json:
        print_json({"trusted": fit.trusted, "file": out_path, **plain(fit)})
    else:
        _print(fit)
        note_written("calibration", out_path)
    if not fit.trusted:
        raise SystemExit(EXIT_NOT_TRUSTED)


def _print(fit: WristFit) -> None:
    from ..dynamics import WRENCH_COMPONENTS, WRENCH_UNITS

    screen = console()
    print_verdict(screen, "TRUSTED" if fit.trusted else "NOT TRUSTED", fit.verdict)
    for sentence in fit.sentences:
        screen.print(printable(sentence))
    rows = table("channel", "zero", "±", "left over", "held out", "", title="The sensor", left=("channel", ""))
    values = (fit.bias, fit.bias_std, fit.residual, fit.heldout)
    for at, (name, unit) in enumerate(zip(WRENCH_COMPONENTS, WRENCH_UNITS, strict=True)):
        rows.add_row(name, *(number(float(value[at])) for value in values), unit)
    screen.print(rows)
