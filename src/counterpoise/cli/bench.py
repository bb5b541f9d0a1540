"""``counterpoise bench``: how fast this machine computes, and how that compares with Pinocchio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .output import Progressing, console, json_option, note, print_json, printable, table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from .bench_machine import CopyResult
    from .bench_robot import Operation, RobotResult
    from .bench_timing import Ratio

EXAMPLES = """\b
Examples:
  counterpoise bench                     about half a minute
  counterpoise bench --quick             a few seconds, rough
  counterpoise bench --robot arm.urdf    your own arm
  counterpoise bench --json > bench.json
  COUNTERPOISE_ISA=baseline counterpoise bench     another instruction set of the kernel
"""
ROBOTS = ("wam7", "dualarm19")
HOW_TO_COMPARE = "Pinocchio is not installed, so only our own times are shown; for the comparison: pip install pin"


@click.command(epilog=EXAMPLES)
@click.option("--robot", "source", metavar="SOURCE", help="Bundled name or file; default: wam7 and dualarm19.")
@click.option("--quick", is_flag=True, help="Fewer rounds and poses: seconds instead of half a minute.")
@json_option
def bench(source: str | None, quick: bool, as_json: bool) -> None:
    """Measure the speed of the hot path on this machine.

    Single calls from Python, their overhead included, and batches of poses on one thread. Where Pinocchio is installed
    (pip install pin), it computes the same robot in the same rounds, after both were found to agree within 1e-9, and
    the ratio of its time to ours stands beside the bar that we hold ourselves to. A bar that is missed is information,
    not an error.
    """
    results = measure(ROBOTS if source is None else (source,), quick=quick)
    if as_json:
        print_json(results.as_data())
        return
    screen = console()
    screen.print(_head(results), soft_wrap=True)
    for result in results.robots:
        screen.print()
        screen.print(_title(result))
        screen.print(_robot_table(result))
    screen.print()
    screen.print(_copy_title(results.copy))
    screen.print(_copy_table(results.copy))
    screen.print()
    for remark in _remarks(results):
        screen.print(remark, style="dim")
    if results.peer is None:
        note(HOW_TO_COMPARE)
