"""``counterpoise estimate``: joint torques from the plate under the robot, with bands, from a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InputError
from .estimate_output import document, print_friction, print_sensor, print_torques
from .options import exit_codes, json_option, page_option
from .output import EXIT_NOT_TRUSTED, Progressing, note_written, print_json, refuse_file, refuse_page, warn
from .recording import ReadingOptions, arm_options, reading_options
from .source import Source

if TYPE_CHECKING:
    from ..base_sensor.plate_friction import PlateFriction
    from ..base_sensor.recording_torques import Masses, RecordingTorques
    from ..base_sensor.sensor_calibration import SensorCalibration
    from ..dynamics.robot import Robot
    from ..logs.log import Log

EXAMPLES = """\b
Examples:
  counterpoise estimate run.csv --robot arm.urdf --calibrate-sensor --page plate.html
  counterpoise estimate run.csv --robot arm.urdf --calibrate-sensor --save-sensor plate.json
  counterpoise estimate later.csv --robot arm.urdf --sensor plate.json --out torques.parquet
  counterpoise estimate run.npz --robot puma560 --tare 0:1 --out torques.csv      changes since a rest
  counterpoise estimate run.mcap --robot arm.urdf --mapping arm.toml --calibrate-sensor --friction --page plate.html
  counterpoise estimate run.npz --robot puma560 --json | jq '.joints[] | {name, torque_rms, band}'
""" + exit_codes(
    "done; joints without information are named",
    not_trusted="done, but not to be used: plate and model disagree, or no joint's torque stands out from its band",
)


@click.command(epilog=EXAMPLES)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@arm_options
@reading_options
@click.option(
    "--sensor", "sensor_path", metavar="FILE.json", help="The plate's calibration, as --save-sensor wrote it."
)
@click.option("--calibrate-sensor", is_flag=True, help="Find sign, axes, zero, gain and lag from this recording.")
@click.option("--save-sensor", metavar="FILE.json", help="Write what --calibrate-sensor found.")
@click.option(
    "--masses",
    type=click.Choice(("cad", "exact")),
    default="cad",
    show_default=True,
    help="How well the robot's masses are known: cad, links off by 10 % and 2 % of the reach, or exact, weighed.",
)
@click.option(
    "--form",
    type=click.Choice(("auto", "full", "tared", "tared+model")),
    default="auto",
    show_default=True,
    help="How the weight is taken off; auto is tared+model with a tare, full without.",
)
@click.option("--tare", metavar="START:END", help="Where the arm stands [s from the first sample]: the plate's zero.")
@click.option(
    "--cutoff", type=click.FloatRange(min=0.0, min_open=True), help="Cutoff of the low-pass [Hz]; default: 10."
)
@click.option("--friction", "with_friction", is_flag=True, help="Fit each joint's friction: motor effort less plate.")
@click.option("--out", "out_path", metavar="FILE", help="Write the torques, .csv or .parquet, a row per sample.")
@page_option
@json_option
def estimate(
    *,
    logs: tuple[str, ...],
    arm: Source | None,
    reading: ReadingOptions,
    sensor_path: str | None,
    calibrate_sensor: bool,
    save_sensor: str | None,
    masses: Masses,
    form: str,
    tare: str | None,
    cutoff: float | None,
    with_friction: bool,
    out_path: str | None,
    page_path: str | None,
    as_json: bool,
) -> None:
    """Estimate joint torques from a six-axis plate under the robot.

    LOG is a recording with joint positions and the plate's reading: a CSV, NPZ, Parquet, ROS bag or MCAP file; several
    are merged on time. The result is the torque that each joint exerts on its link, free of friction and rotor inertia,
    with and without gravity, with a band of one standard deviation. Joints that the plate tells nothing of are named.

    The plate is taken as the recording declares it. If it disagrees with the model, that is said; --calibrate-sensor
    then finds how it is mounted.
    """
    if arm is None:
        raise click.UsageError(
            "--robot is missing: torques from a plate need the arm's geometry, e.g. --robot arm.urdf"
        )
    if calibrate_sensor and sensor_path is not None:
        raise click.UsageError("--sensor and --calibrate-sensor exclude each other: a plate is read or found, not both")
    if save_sensor is not None and not calibrate_sensor:
        raise click.UsageError("--save-sensor needs --calibrate-sensor")
    interval = _interval(tare)
    refuse_file("--out", out_path, (".csv", ".parquet"))
    refuse_page(page_path)
    refuse_file("--save-sensor", save_sensor, (".json",))
    _refuse_own_input((out_path, page_path, save_sensor), (*logs, *((sensor_path,) if sensor_path else ())))
    from ..base_sensor.log_estimate import CUTOFF
    from ..base_sensor.recording_torques import recording_torques, refuse_without_plate
    from ..base_sensor.recording_verdict import judged
    from ..doctor.prepared import without_infinities

    robot, log = reading.robot_and_log(arm, logs)
    log = without_infinities(log)
    refuse_without_plate(robot, log)
    calibration = _calibration(robot, log, sensor_path, calibrate_sensor, masses)
    if calibration is not None and save_sensor is not None:
        calibration.save(save_sensor)
    with Progressing(f"estimating the torques of {robot.name}") as bar:
        found = recording_torques(
            robot,
            log,
            calibration=calibration,
            form=form,
            tare=interval,
            cutoff=cutoff or CUTOFF,
            masses=masses,
            progress=bar.update,
        )
    verdict = judged(found)
    friction = None
    if with_friction and verdict.level == "bad":
        warn("friction is not fitted: it would be as wrong as the torques")
    elif with_friction:
        friction = _friction(found)
    if out_path is not None:
        from ..base_sensor.torque_file import write_recording_torques

        write_recording_torques(found, out_path)
    if page_path is not None:
        from ..report.base_sensor_page import base_sensor_page
        from ..report.page import write_page

        name = ", ".join(Path(file).name for file in logs)
        write_page(base_sensor_page(name, found, verdict, friction), page_path)
    written = {"out": out_path, "page": page_path, "sensor_file": save_sensor}
    if as_json:
        print_json(document(found, verdict, friction) | written)
    else:
        print_torques(found, verdict)
        if calibrate_sensor and calibration is not None:
            print_sensor(calibration)
        if friction is not None:
            print_friction(robot, friction)
        for what, path in (("torques", out_path), ("plate's calibration", save_sensor), ("page", page_path)):
            note_written(what, path)
    if verdict.level == "bad":
        raise SystemExit(EXIT_NOT_TRUSTED)


def _interval(text: str | None) -> tuple[float, float] | None:
    """Return begin and end of the tare [s].

    Raises:
        click.UsageError: It is not of the form START:END, or ends before it begins.
    """
    if text is None:
        return None
    try:
        begin, end = (float(part) for part in text.split(":"))
    except ValueError:
        raise click.UsageError(f"--tare {text!r} is not of the form START:END in seconds, e.g. --tare 0:1.5") from None
    if not 0.0 <= begin < end < float("inf"):
        raise click.UsageError(f"--tare {text!r}: expected 0 ≤ START < END, seconds from the first sample")
    return begin, end


def _refuse_own_input(written: tuple[str | None, ...], read: tuple[str, ...]) -> None:
    """Refuse to overwrite a file that is read.

    Raises:
        click.UsageError: One is among them.
    """
    inputs = {Path(path).resolve() for path in read}
    for path in written:
        if path is not None and Path(path).resolve() in inputs:
            raise click.UsageError(f"{path} is one of the files that are read; give the result another name")


def _calibration(
    robot: Robot, log: Log, sensor_path: str | None, find: bool, masses: Masses
) -> SensorCalibration | None:
    """Return the plate's calibration, read or found; None to take the plate as declared."""
    if sensor_path is not None:
        from ..base_sensor.sensor_file import load_sensor_calibration

        return load_sensor_calibration(sensor_path, robot)
    if not find:
        return None
    from ..base_sensor.sensor_calibration import calibrate_sensor

    return calibrate_sensor(robot, log, masses=masses)


def _friction(found: RecordingTorques) -> PlateFriction | None:
    """Return the friction of every joint; None, with a warning, where the recording cannot tell it."""
    from ..base_sensor.plate_friction import plate_friction

    try:
        return plate_friction(found.robot, found.log, found.sensor)
    except InputError as error:
        warn(f"friction is not fitted: {error}")
        return None
