"""What ``calibrate`` and ``verify`` print alike: a verdict, and a table of the joints' errors."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from ..report import gravity_share
from .output import printable, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..foundation import Verdict
    from ..identification import Fit


def print_verdict(screen: Console, headline: str, verdict: Verdict, told_below: Collection[str] = ()) -> None:
    """Print the headline in green or red, and every check with what was found.

    Args:
        screen: Where to.
        headline: The verdict in capitals.
        verdict: The checks.
        told_below: Names of checks that are left out where they passed, because a list below says the same.
    """
    screen.print(headline, style="bold green" if verdict.trusted else "bold red")
    shown = [check for check in verdict if not (check.passed and check.name in told_below)]
    for check in sorted(shown, key=lambda check: check.passed):
        style = "" if check.passed else "red"
        screen.print(f"  {'ok  ' if check.passed else 'FAIL'} {check.name}: {printable(check.sentence)}", style=style)


def joint_table(fit: Fit) -> Table:
    """Return the errors of every measured joint."""
    rows = table(
        *("joint", "gravity ±95 %", "of gravity", "tolerated", "before", "fitted", "held out", "signal", "friction"),
        title=f"Errors, root mean square [{fit.units}]",
        left=("joint",),
    )
    for joint, name in enumerate(fit.robot.joint_names):
        if math.isnan(fit.errors.signal[joint]):
            continue
        rows.add_row(
            printable(name),
            number(fit.errors.gravity[joint]),
            gravity_share(fit, joint),
            number(fit.errors.tolerated[joint]),
            number(fit.errors.described[joint]),
            number(fit.torque_rms[joint]),
            number(fit.heldout_rms[joint]),
            number(fit.errors.signal[joint]),
            number(fit.errors.friction_band[joint]),
        )
    return rows


def number(value: float) -> str:
    """Return a number with three digits, a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.3g}"
