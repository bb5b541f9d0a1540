"""``counterpoise verify``: a calibration against a fresh recording."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from .calibration_output import EXIT_NOT_TRUSTED, number, print_verdict, refuse_unwritable
from .output import console, json_option, note, print_json, printable, table
from .recording import Reading, reading_options
from .source import Source, source_options

if TYPE_CHECKING:
    from ..calibration.verify import Verification

EXAMPLES = """\b
Examples:
  counterpoise verify arm.urdf arm.calibration.json today.npz
  counterpoise verify arm.urdf arm.calibration.json today.mcap --mapping arm.toml --page check.html

\b
Exit codes:
  0  it holds
  1  an error: another robot, a damaged file, a recording that cannot be used
  2  the command line itself is wrong
  3  it does not hold, or was not trusted to begin with
"""


@click.command(epilog=EXAMPLES)
@source_options
@click.argument("calibration")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@reading_options
@click.option("--page", "page_path", metavar="FILE.html", help="Write a page to look at.")
@json_option
def verify(
    *,
    source: Source,
    calibration: str,
    logs: tuple[str, ...],
    reading: Reading,
    page_path: str | None,
    as_json: bool,
) -> None:
    """Hold a calibration against a fresh recording.

    Does it still predict what the arm needs? CALIBRATION is a file of counterpoise calibrate; LOG is a recording of the
    same robot on the same mounting. Each joint's error may be twice that of the calibration's own check, or what the
    joint tolerates.
    """
    refuse_unwritable(None, page_path)
    from ..calibration.file import load_calibration
    from ..calibration.verify import verify as run

    robot = source.load()
    fit = load_calibration(calibration, robot)
    log = reading.log(logs, robot)
    found = run(fit, log)
    if page_path is not None:
        from ..report.calibration_page import verification_page
        from ..report.page import write_page

        write_page(verification_page(found), page_path)
    if as_json:
        print_json(_document(found, page_path))
    else:
        _print(found, page_path)
    if not found.holds:
        raise SystemExit(EXIT_NOT_TRUSTED)


def _document(found: Verification, page_path: str | None) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "reasons": list(found.verdict.reasons),
        "robot": found.fit.robot.name,
        "joints": list(found.fit.robot.joint_names),
        "samples": found.samples,
        "units": found.fit.units,
        "rms": found.rms,
        "allowed": found.allowed,
        "bias": found.bias,
        "signal": found.signal,
        "described_rms": found.described_rms,
        "sag": found.sag.per_joint,
        "sag_total": found.sag.total,
        "outside": found.outside,
        "page": page_path,
    }


def _print(found: Verification, page_path: str | None) -> None:
    screen, fit = console(), found.fit
    print_verdict(screen, "IT HOLDS" if found.holds else "IT DOES NOT HOLD", found.verdict)
    rows = table(
        *("joint", "error", "allowed", "constant", "signal", "before", "sag [mm]"),
        title=f"Errors, root mean square [{fit.units}], {found.samples} samples",
        left=("joint",),
    )
    for joint, name in enumerate(fit.robot.joint_names):
        if math.isnan(found.rms[joint]):
            continue
        values = (found.rms, found.allowed, found.bias, found.signal, found.described_rms, 1e3 * found.sag.per_joint)
        rows.add_row(printable(name), *(number(float(value[joint])) for value in values))
    screen.print(rows)
    if page_path is not None:
        note(f"the page is {page_path}")
