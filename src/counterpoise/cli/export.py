"""``counterpoise export``: an arm's weight as C for a controller, or as URDF or MJCF for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import Carried, exit_codes, json_option, payload_options
from .output import EXIT_NOT_TRUSTED, note, note_written, print_json, refuse_file, warn
from .source import Source, source_options

if TYPE_CHECKING:
    from ..dynamics import Robot
    from ..identification import Fit


EXAMPLES = """\b
Examples:
  counterpoise export arm.urdf --calibration arm.calibration.json --out arm_gravity.h    C for the controller
  counterpoise export arm.urdf --calibration arm.calibration.json --out calibrated.urdf
  counterpoise export wam7 --payload 1.2 --payload-com 0 0 0.1 --out wam7.xml
  counterpoise export wam7 --mount-rpy 0 1.5708 0 --out wall.h --prefix wall
""" + exit_codes("written", not_trusted="written, but the calibration is not trusted")
MOST_REASONS = 400
"""Letters of reasons that a comment holds."""
LEVEL = 1e-6
"""Gravity that differs by more from URDF's, which is upright and 9.81, is told of [m/s²]."""


@click.command(epilog=EXAMPLES)
@source_options
@click.option("--calibration", metavar="FILE.json", help="Calibration of the arm; its masses are written.")
@payload_options
@click.option(
    "--prefix", metavar="NAME", help="C: what all names begin with; default: the arm's name and a fingerprint."
)
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
    from ..exporters import LANGUAGES, c_prefix, copied_from, language_of
    from ..exporters import export as write

    refuse_file("--out", out_path, tuple(LANGUAGES))
    language = language_of(out_path)
    if prefix is not None and language != "C":
        raise click.UsageError("--prefix is for C (--out ….h)")
    robot = source.load()
    fit: Fit | None = None
    if calibration is not None:
        from ..dynamics import refuse_command_units
        from ..identification import load_calibration

        fit = load_calibration(calibration, robot)
        robot = fit.robot
        refuse_command_units(robot)  # before a prefix is made of its numbers
    if carried is not None:
        robot = carried.on(robot)
    if language == "C" and prefix is None:
        prefix = c_prefix(robot)
    write(robot, out_path, prefix=prefix, about=_about(robot, calibration, fit))
    copied = copied_from(robot) if language == "URDF" else None
    notes = _left_out(robot, fit, language, copied is not None)
    warnings = [*robot.warnings, *_dangers(robot, fit, language)]
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "out": out_path,
                "language": language,
                "prefix": prefix,
                "copy_of": None if copied is None else str(copied),
                "total_mass": robot.total_mass,
                "trusted": None if fit is None else fit.trusted,
                "notes": notes,
                "warnings": warnings,
            }
        )
    else:
        _print(robot, out_path, language, prefix, copied, warnings, notes)
    if fit is not None and not fit.trusted:
        raise SystemExit(EXIT_NOT_TRUSTED)


def _print(
    robot: Robot,
    out_path: str,
    language: str,
    prefix: str | None,
    copied: Path | None,
    warnings: list[str],
    notes: list[str],
) -> None:
    for text in warnings:
        warn(text)
    for text in notes:
        note(text)
    what = f"{language} of {robot.name}" if copied is None else f"a copy of {copied.name} with these masses"
    if language == "C":
        what += f" with {prefix}_gravity(q, tau)"
    note_written(what, out_path)


def _about(robot: Robot, calibration: str | None, fit: Fit | None) -> list[str]:
    """Return what the comment on top of a file says of its numbers."""
    from .. import __version__

    lines = [f"{robot.name}, {robot.total_mass:.6g} kg; written by Counterpoise {__version__}."]
    if calibration is None or fit is None:
        lines.append("Masses as described, not calibrated: a description is often 10 % off.")
    else:
        verdict = "trusted" if fit.trusted else f"NOT TRUSTED: {'; '.join(fit.reasons)[:MOST_REASONS]}"
        lines.append(f"Calibration {Path(calibration).name} of {fit.created}, {verdict}.")
        if left := _fitted_beside(fit):
            lines.append(f"Fitted, but NOT in this file: {', '.join(left)}.")
    lines += [f"Carries {load.inertia.mass:g} kg on {load.link}." for load in robot.payloads]
    return lines


def _fitted_beside(fit: Fit, *, at_rest: bool = False) -> list[str]:
    """Return what a calibration found beside masses, in words; or only what of it an arm at rest feels."""
    beside = [term for term in fit.model.terms.chosen if term.name != "bodies" and not term.scales_efforts]
    resting = [term.label for term in beside if term.acts_at_rest]
    return list(dict.fromkeys(resting if at_rest else [*resting, *(term.label for term in beside)]))


def _dangers(robot: Robot, fit: Fit | None, language: str) -> list[str]:
    """Return why the file's torques are not those of the arm, one sentence each."""
    found = []
    if fit is not None and not fit.trusted:
        found.append(f"the calibration is not trusted: {'; '.join(fit.reasons)}")
    if fit is not None and (left := _fitted_beside(fit, at_rest=True)):
        found.append(f"torques of the file lack what was fitted beside masses: {', '.join(left)}")
    from ..description import STANDARD_GRAVITY

    down = robot.gravity_base
    if language == "URDF" and abs(down - STANDARD_GRAVITY).max() > LEVEL:
        shown = ", ".join(f"{value:.4g}" for value in down + 0.0)
        found.append(f"URDF does not say how an arm stands: gravity was ({shown}) m/s² in base axes, and is not in it")
    return found


def _left_out(robot: Robot, fit: Fit | None, language: str, copied: bool) -> list[str]:
    """Return what else the file does not say, one sentence each."""
    notes = []
    if fit is None:
        notes.append("these are the described masses; --calibration writes fitted ones")
    elif left := _fitted_beside(fit):
        notes.append(f"of the calibration masses are written, not: {', '.join(left)}")
    if language == "URDF" and robot.rotor_inertia.any():
        notes.append("URDF has no rotor inertias: they are left out")
    if language != "C" and not copied:
        notes.append("meshes are left out")
    return notes
