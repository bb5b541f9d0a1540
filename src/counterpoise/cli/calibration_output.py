"""What ``calibrate`` and ``verify`` print alike: a verdict, and a table of the joints' errors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .output import printable, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..calibration.fit import Fit
    from ..calibration.verdict import Verdict

EXIT_NOT_TRUSTED = 3
"""Exit code of a fit that is not trusted, or of a calibration that no longer holds."""


def refuse_unwritable(out_path: str | None, page_path: str | None) -> None:
    """Refuse, before any work, files that could not be written at the end.

    Raises:
        click.UsageError: Another ending than .json for a calibration, .html for a page, or no such folder.
    """
    refuse_file("--out", out_path, (".json",))
    refuse_file("--page", page_path, (".html", ".htm"))


def refuse_file(option: str, path: str | None, endings: tuple[str, ...]) -> None:
    """Refuse, before any work, a file that could not be written at the end.

    Raises:
        click.UsageError: Another ending, or no such folder.
        MissingExtraError: What writes pages or Parquet is not installed.
    """
    if path is None:
        return
    if not Path(path).parent.is_dir():
        raise click.UsageError(f"{option} {path}: there is no folder {Path(path).parent}")
    if not path.lower().endswith(endings):
        raise click.UsageError(f"{option} {path}: its name must end in {' or '.join(endings)}")
    if path.lower().endswith((".html", ".htm")):
        from ..report.page import page_libraries

        page_libraries()
    elif path.lower().endswith(".parquet"):
        from ..logs.parquet_source import parquet_library

        parquet_library()


def print_verdict(screen: Console, headline: str, verdict: Verdict) -> None:
    """Print the headline in green or red, and every check with what was found."""
    screen.print(headline, style="bold green" if verdict.trusted else "bold red")
    for check in sorted(verdict.checks, key=lambda check: check.passed):
        style = "" if check.passed else "red"
        screen.print(f"  {'ok  ' if check.passed else 'FAIL'} {check.name}: {printable(check.sentence)}", style=style)


def joint_table(fit: Fit) -> Table:
    """Return the errors of every measured joint."""
    rows = table(
        *("joint", "before", "fitted", "held out", "signal", "of signal", "tolerated", "friction", "sag [mm]"),
        title=f"Errors, root mean square [{fit.units}]",
        left=("joint",),
    )
    for joint, name in enumerate(fit.robot.joint_names):
        if math.isnan(fit.signal[joint]):
            continue
        share = fit.heldout_rms[joint] / fit.signal[joint] if fit.signal[joint] > 0.0 else math.nan
        rows.add_row(
            printable(name),
            number(fit.described_rms[joint]),
            number(fit.torque_rms[joint]),
            number(fit.heldout_rms[joint]),
            number(fit.signal[joint]),
            "–" if math.isnan(share) else f"{share:.0%}",
            number(fit.tolerated[joint]),
            number(fit.friction_band[joint]),
            number(1e3 * fit.sag.per_joint[joint]),
        )
    return rows


def number(value: float) -> str:
    """Return a number with three digits, a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.3g}"
