"""``counterpoise export``: an arm's weight as C for a controller, or as URDF or MJCF for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import exit_codes, json_option
from .output import note, note_written, print_json, refuse_file, warn
from .payload import Carried, payload_options
from .source import Source, source_options

if TYPE_CHECKING:
    from ..calibration.fit import Fit
    from ..dynamics.robot import Robot

EXAMPLES = """\b
Examples:
  counterpoise export arm.urdf --calibration arm.calibration.json --out arm_gravity.h    C for the controller
  counterpoise export arm.urdf --calibration arm.calibration.json --out calibrated.urdf
  counterpoise export wam7 --payload 1.2 --payload-com 0 0 0.1 --out wam7.xml
  counterpoise export wam7 --mount-rpy 0 1.5708 0 --out wall.h --prefix wall
""" + exit_codes("written")
LANGUAGES = {".h": "C", ".urdf": "URDF", ".xml": "MJCF"}


@click.command(epilog=EXAMPLES)
@source_options
@click.option("--calibration", metavar="FILE.json", help="Calibration of the arm; its masses are written.")
@payload_options
@click.option("--prefix", metavar="NAME", help="C: what all names begin with; default: the arm's name.")
@click.option("--out", "out_path", required=True, metavar="FILE", help="The file: .h for C, .urdf, or .xml for MJCF.")
@json_option
def export(
    *,
    source: Source,
    calibration: str | None,
    carried: Carried | None,
    prefix: str | None,
    out_path: str,
    as_json: bool,
) -> None:
    r"""Write an arm's weight as C, URDF or MJCF.

    SOURCE is a file or the name of a bundled arm (see counterpoise load). The ending of --out says what is written:

    \b
    .h     a C header: gravity torques without memory or state, and a test of itself on the controller
    .urdf  of a URDF file a copy with the arm's masses, meshes and all else as they were; of others a new one
    .xml   MJCF: bodies, joints, motors and limits, without meshes
    """
    refuse_file("--out", out_path, tuple(LANGUAGES))
    language = LANGUAGES[Path(out_path).suffix.lower()]
    if prefix is not None and language != "C":
        raise click.UsageError("--prefix is for C (--out ….h)")
    from ..export.write import copied_from, write_robot

    robot = source.load()
    fit: Fit | None = None
    if calibration is not None:
        from ..calibration.file import load_calibration

        fit = load_calibration(calibration, robot)
        robot = fit.robot
    if carried is not None:
        robot = carried.on(robot)
    write_robot(robot, out_path, prefix=prefix, about=_about(robot, calibration, fit))
    notes = _left_out(robot, fit, language, source)
    copied = copied_from(robot) if language == "URDF" else None
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "out": out_path,
                "language": language,
                "copy_of": None if copied is None else str(copied),
                "total_mass": robot.total_mass,
                "trusted": None if fit is None else fit.trusted,
                "notes": notes,
                "warnings": robot.warnings,
            }
        )
        return
    for warning in robot.warnings:
        warn(warning)
    for text in notes:
        note(text)
    what = f"{language} of {robot.name}" if copied is None else f"a copy of {copied.name} with other masses"
    note_written(what, out_path)


def _about(robot: Robot, calibration: str | None, fit: Fit | None) -> list[str]:
    """Return what the comment of a C header says of the numbers' origin."""
    from .. import __version__

    lines = [f"{robot.name}, {robot.total_mass:.6g} kg; Counterpoise {__version__}."]
    if calibration is None or fit is None:
        lines.append("Masses as described, not calibrated: a description is often 10 % off.")
    else:
        verdict = "trusted" if fit.trusted else f"NOT TRUSTED: {'; '.join(fit.reasons)}"
        lines.append(f"Calibration {Path(calibration).name} of {fit.created}, {verdict}.")
    lines += [f"Carries {load.inertia.mass:g} kg on {load.link}." for load in robot.payloads]
    return lines


def _left_out(robot: Robot, fit: Fit | None, language: str, source: Source) -> list[str]:
    """Return what the file does not say, one sentence each."""
    notes = []
    if fit is None:
        notes.append("these are the described masses; --calibration writes fitted ones")
    else:
        if not fit.trusted:
            warn(f"the calibration is not trusted: {'; '.join(fit.reasons)}")
        if fit.units == "command units":
            warn("the calibration is in command units, and so is what was written: these are no kilograms")
        notes.append(
            "of the calibration only masses and first moments are written: no friction, offsets, springs or zero errors"
        )
    if language == "URDF" and source.mount_rpy is not None:
        notes.append("URDF does not say how an arm stands: --mount-rpy is not in the file")
    if language == "URDF" and robot.rotor_inertia.any():
        notes.append("URDF has no rotor inertias: they are left out")
    return notes
