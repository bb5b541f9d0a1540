"""Rotor inertias that a model does not know: asking before joints are pulsed, and printing what was found."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .output import console, note, printable, table, warn

if TYPE_CHECKING:
    from ..control.rotors.measurement import InertiaMeasurement
    from ..dynamics.robot import Robot

measure_option = click.option(
    "--measure-rotors/--no-measure-rotors",
    "measure_rotors",
    default=None,
    help="Measure unknown rotor inertias by torque pulses, or drive those joints softly; default: ask at a terminal, "
    "else measure.",
)


def settled(robot: Robot, choice: bool | None, *, simulated: bool, locked: Sequence[str] = ()) -> dict[str, Any]:
    """Announce the pulses that an arm with unknown rotors gets, and ask where somebody can answer.

    Nothing has been switched on yet: while a question waits for its answer, nobody holds the arm.

    Args:
        robot: The arm's model.
        choice: What the command line says; None for nothing.
        simulated: Whether nothing real moves; then nobody is asked.
        locked: Names of joints that are not moved.

    Returns:
        Settings of Recording and Floating.
    """
    from ..control.rotors.measurement import announcement, unknown_rotors

    names = [name for name in unknown_rotors(robot) if name not in locked]
    measure, announced = choice is not False, announcement(robot, names)
    if names and measure:
        warn(announced)
        if choice is None and not simulated and sys.stdin.isatty():
            measure = click.confirm("Pulse these joints now? Otherwise they are driven softly", err=True)
    if names and not measure:
        note(f"soft gains, and no pulses, on {', '.join(map(printable, names))}: their rotor inertias are unknown")

    def announce(text: str) -> None:
        note("the pulses begin" if text == announced else text)

    return {"measure_rotors": measure, "announce": announce}


def print_inertias(found: InertiaMeasurement) -> None:
    """Print what a measurement found, and the option that makes it needless the next time."""
    screen = console()
    screen.print(f"What each joint's torque moves, by pulses ({found.seconds:.0f} s)")
    rows = table("joint", "inertia", "95 % band", "of which links", "rotor", "", left=("joint", ""))
    for joint in found.joints:
        if joint.measured:
            band = f"{joint.low:.3g} … {joint.high:.3g}"
            rows.add_row(
                printable(joint.joint),
                f"{joint.inertia:.3g}",
                band,
                f"{joint.links:.3g}",
                f"{joint.rotor:.3g}",
                joint.unit,
            )
        else:
            rows.add_row(printable(joint.joint), "–", "", f"{joint.links:.3g}", "–", joint.unit)
    screen.print(rows)
    for reason in found.reasons:
        warn(reason)
    if found.option:
        note(f"to skip the pulses next time: {found.option}")
