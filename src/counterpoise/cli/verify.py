"""``counterpoise verify``: a calibration against a fresh recording."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ..report import in_units, verification_columns
from .options import exit_codes, json_option, page_option
from .output import (
    EXIT_NOT_TRUSTED,
    console,
    note_written,
    number,
    print_json,
    print_verdict,
    printable,
    refuse_page,
    table,
)
from .recording import ReadingOptions, reading_options
from .source import Source, source_options

if TYPE_CHECKING:
    from ..identification import TipLoad, Verification, WeightChange


EXAMPLES = """\b
Examples:
  counterpoise verify arm.urdf arm.calibration.json today.npz
  counterpoise verify arm.urdf arm.calibration.json today.mcap --mapping arm.toml --page check.html
""" + exit_codes("it holds", not_trusted="it does not hold, or was not trusted to begin with")


@click.command(epilog=EXAMPLES)
@source_options
@click.argument("calibration")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@reading_options
@page_option
@json_option
def verify(
    *,
    source: Source,
    calibration: str,
    logs: tuple[str, ...],
    reading: ReadingOptions,
    page_path: str | None,
    as_json: bool,
) -> None:
    """Check a calibration against a fresh recording.

    Does it still predict what the arm needs? SOURCE is the arm's description (see counterpoise load), CALIBRATION a
    file of counterpoise calibrate. LOG is a recording of the same robot on the same mounting: a CSV, NPZ, Parquet, ROS
    bag or MCAP file; several are merged on time. The weight that each joint carries is compared with what the
    calibration promised; friction, offsets and poses outside the calibrated range are distinguished.
    """
    refuse_page(page_path)
    from ..identification import load_calibration
    from ..identification import verify as run

    robot, log = reading.robot_and_log(source, logs)
    fit = load_calibration(calibration, robot)
    found = run(fit, log)
    if page_path is not None:
        from ..report import verification_page, write_page

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
        "verdict": found.verdict,
        "robot": found.fit.robot.name,
        "joints": list(found.fit.robot.joint_names),
        "samples": found.samples,
        "units": found.fit.units,
        "guessed": found.fit.data.guessed,
        "rate_source": found.fit.data.rate_source,
        "rms": found.rms,
        **_changes(found.change),
        "allowed": found.allowed,
        "load": _load(found.change.load),
        "signal": found.signal,
        "described_rms": found.described_rms,
        "sag": found.sag.per_joint,
        "sag_total": found.sag.total,
        "outside": found.outside,
        "elsewhere": None if found.elsewhere is None else _changes(found.elsewhere),
        "page": page_path,
    }


def _changes(change: WeightChange) -> dict[str, Any]:
    return {
        "weight_change": change.weight,
        "weight_change_error": change.weight_error,
        "offset_change": change.offset,
        "offset_change_error": change.offset_error,
    }


def _load(load: TipLoad | None) -> dict[str, Any] | None:
    return None if load is None else {"link": load.link, "mass_kg": load.mass, "std_kg": load.std}


def _print(found: Verification, page_path: str | None) -> None:
    screen, fit = console(), found.fit
    headline = f"{'IT HOLDS' if found.holds else 'IT DOES NOT HOLD'}{in_units(fit)}"
    print_verdict(screen, headline, found.verdict)
    columns = verification_columns(found)
    rows = table(
        *("joint", *columns),
        title=f"Changes since the calibration, and errors, root mean square [{fit.units}], {found.samples} samples",
        left=("joint",),
    )
    for joint, name in enumerate(fit.robot.joint_names):
        if not math.isnan(found.rms[joint]):
            rows.add_row(printable(name), *(number(float(values[joint])) for values in columns.values()))
    screen.print(rows)
    note_written("page", page_path)
