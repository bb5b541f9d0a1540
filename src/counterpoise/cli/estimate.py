"""``counterpoise estimate``: joint torques from the plate under the robot, with bands, from a recording.

Torques of every joint, plate and friction are printed as text or as JSON.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..dynamics import WRENCH_COMPONENTS
from ..errors import InputError
from .options import exit_codes, json_option, page_option
from .output import (
    EXIT_NOT_TRUSTED,
    Progressing,
    console,
    note_written,
    number,
    print_json,
    print_verdict,
    printable,
    refuse_file,
    refuse_page,
    table,
    warn,
)
from .recording import ReadingOptions, arm_options, reading_options
from .source import Source

if TYPE_CHECKING:
    from ..dynamics import Robot
    from ..recording import Log
    from ..sensing import (
        JointFriction,
        JointSummary,
        Masses,
        PlateFriction,
        RecordingTorques,
        RecordingVerdict,
        SensorCalibration,
    )


def print_torques(found: RecordingTorques, verdict: RecordingVerdict) -> None:
    """Print the verdict and a table of the joints."""
    from ..sensing import used_plate

    screen = console()
    print_verdict(screen, verdict.headline, verdict.checks)
    for sentence in verdict.notes:
        screen.print(f"  - {printable(sentence)}")
    screen.print(printable(used_plate(found)))
    rows = table(
        *("joint", "torque", "band ±", "without gravity", "band ±", "valid", "motor effort", "motor − plate"),
        title=f"Joint torques by the plate, root mean square over {len(found.log)} samples; bands are one deviation",
        left=("joint",),
    )
    rows.columns[0].no_wrap = True
    for joint in found.joints:
        rows.add_row(*_row(joint))
    screen.print(rows)
    if not found.effort_note:
        screen.print("Motor − plate is friction, rotor inertia, an error of the motor's torque constant, and the band.")


def _row(joint: JointSummary) -> tuple[str, ...]:
    name = f"{printable(joint.name)} [{joint.unit}]"
    share = f"{joint.valid:.0%}"
    if not joint.informative:
        return (name, "unknown", number(joint.band), "–", "–", share, number(joint.effort), "–")
    moving = number(joint.dynamic) if joint.dynamic_informative else "in its band"
    bands = (number(joint.band), number(joint.dynamic_band))
    compared = (number(joint.effort), number(joint.effort_difference))
    return (name, number(joint.torque), bands[0], moving, bands[1], share, *compared)


def print_sensor(calibration: SensorCalibration) -> None:
    """Print what was found of the plate, and what was not."""
    screen = console()
    screen.print("\nThe plate, as this recording shows it:", style="bold")
    for sentence in calibration.sentences:
        screen.print(f"  - {printable(sentence)}")


def print_friction(robot: Robot, friction: PlateFriction) -> None:
    """Print a table of the joints' friction."""
    from ..dynamics import effort_units

    screen = console()
    rows = table(
        *("joint", "Coulomb", "±", "visc. +", "visc. −", "break", "load", "rotor", "gain", "±"),
        title="Friction per joint and torque gain: motor effort less rotor inertia less plate torque",
        left=("joint",),
    )
    rows.columns[0].no_wrap = True
    for joint, unit in zip(friction.joints, effort_units(robot), strict=True):
        rows.add_row(*_friction_row(joint, unit))
    screen.print()
    screen.print(rows)
    for joint in friction.joints:
        if not joint.determined:
            screen.print(f"  - {printable(joint.name)}: no information; {printable(joint.reason)}")


def _friction_row(joint: JointFriction, unit: str) -> tuple[str, ...]:
    name = f"{printable(joint.name)} [{unit}]"
    if not joint.determined:
        return (name, "unknown", *["–"] * 8)
    gain = (f"{joint.gain:.3f}", f"{joint.gain_std:.3f}") if joint.gain_determined else ("1?", "–")
    load = "–" if math.isnan(joint.load) else f"{joint.load:.1%}"
    values = (
        *(joint.coulomb, joint.coulomb_std, joint.viscous_positive, joint.viscous_negative, joint.breakaway),
        joint.rotor_inertia,
    )
    cells = [number(value) for value in values]
    if math.isfinite(joint.coulomb_std):
        cells[1] = f"{joint.coulomb_std:.1g}"
    return (name, *cells[:5], load, cells[5], *gain)


def document(found: RecordingTorques, verdict: RecordingVerdict, friction: PlateFriction | None) -> dict[str, Any]:
    """Return everything as plain values for JSON; what a joint does not tell is null."""
    tare = found.tare
    start = float(found.log.time[0])
    return {
        "verdict": verdict.level,
        "headline": verdict.headline,
        "sentences": list(verdict.sentences),
        "checks": verdict.checks,
        "robot": found.robot.name,
        "form": found.form,
        "cutoff_hz": found.cutoff,
        "samples": len(found.log),
        "valid": float(found.torque.valid.mean()),
        "tare": None
        if tare is None
        else {"time_s": None if tare.time is None else tare.time - start, "q": tare.q, "reading": tare.reading},
        "joints": [_joint(joint) for joint in found.joints],
        "plate": _plate(found),
        "findings": [
            {"fault": one.fault.value, "consequence": one.consequence.name.lower(), "sentence": one.sentence}
            for one in found.findings
        ],
        "sensor": None if found.calibration is None else _sensor(found.calibration),
        "friction": None if friction is None else [_joint_friction(joint) for joint in friction.joints],
    }


def _joint(joint: JointSummary) -> dict[str, Any]:
    known = joint.informative
    return {
        "name": joint.name,
        "unit": joint.unit,
        "informative": known,
        "why": joint.why or None,
        "torque_rms": joint.torque if known else None,
        "band": joint.band,
        "dynamic_rms": joint.dynamic if joint.dynamic_informative else None,
        "dynamic_band": joint.dynamic_band,
        "valid": joint.valid,
        "effort_rms": joint.effort,
        "effort_difference_rms": joint.effort_difference if known else None,
        "effort_difference_mean": joint.effort_offset if known else None,
    }


def _plate(found: RecordingTorques) -> dict[str, Any] | None:
    check = found.check
    if check is None:
        return None
    return {
        name: {
            "unit": "N" if channel < 3 else "N m",
            "signal": check.signal[channel],
            "offset": check.offset[channel],
            "left_over": check.left_over[channel],
            "explained": check.explained[channel],
        }
        for channel, name in enumerate(WRENCH_COMPONENTS)
    }


def _sensor(calibration: SensorCalibration) -> dict[str, Any]:
    frame, turn = calibration.frame, calibration.turn
    return {
        "T_base_sensor": frame.T_base_sensor,
        "reads": frame.reads,
        "gain": frame.gain,
        "bias": frame.bias,
        "lag_s": calibration.lag,
        "yaw_deg": math.degrees(turn.yaw),
        "tilt_deg": [math.degrees(turn.tilt_x), math.degrees(turn.tilt_y)],
        "upside_down": turn.upside_down,
        "determined": dict(calibration.determined),
        "sentences": list(calibration.sentences),
    }


def _joint_friction(joint: JointFriction) -> dict[str, Any]:
    from ..foundation import plain

    table: dict[str, Any] = plain(replace(joint, curve=None))
    del table["curve"]
    return table | {"reason": joint.reason or None}


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
    with and without gravity, with a band of one standard deviation. Joints on which the plate has no information are
    named.

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
    from ..sensing import CUTOFF, judged, recording_torques, refuse_without_plate

    robot, log = reading.robot_and_log(arm, logs)
    log = log.without_infinities()
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
        from ..sensing import write_recording_torques

        write_recording_torques(found, out_path)
    if page_path is not None:
        from ..report import base_sensor_page, write_page

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
        from ..sensing import load_sensor_calibration

        return load_sensor_calibration(sensor_path, robot)
    if not find:
        return None
    from ..sensing import calibrate_sensor

    return calibrate_sensor(robot, log, masses=masses)


def _friction(found: RecordingTorques) -> PlateFriction | None:
    """Return the friction of every joint; None, with a warning, where the recording cannot tell it."""
    from ..sensing import plate_friction

    try:
        return plate_friction(found.robot, found.log, found.sensor)
    except InputError as error:
        warn(f"friction is not fitted: {error}")
        return None
