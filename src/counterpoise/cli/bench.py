"""``counterpoise bench``: how fast this machine computes, and how that compares with Pinocchio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import exit_codes, json_option
from .output import Progressing, console, note, print_json, printable, table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..lab import CopyResult, Operation, Results, RobotResult


EXAMPLES = """\b
Examples:
  counterpoise bench                     about half a minute
  counterpoise bench --quick             a few seconds, rough
  counterpoise bench --robot arm.urdf    your own arm
  counterpoise bench --json > bench.json
  COUNTERPOISE_ISA=baseline counterpoise bench     another instruction set of the kernel
""" + exit_codes("measured, whether a bar is missed or not", "the two libraries disagree")
ROBOTS = ("wam7", "dualarm19")
HOW_TO_COMPARE = "Pinocchio is not installed, so only our own times are shown; for the comparison: pip install pin"


@click.command(epilog=EXAMPLES)
@click.option(
    "--robot",
    "source",
    metavar="SOURCE",
    help="The arm: a file or the name of a bundled arm; default: wam7 and dualarm19.",
)
@click.option("--quick", is_flag=True, help="Fewer rounds and poses: seconds instead of half a minute.")
@json_option
def bench(source: str | None, quick: bool, as_json: bool) -> None:
    """Measure the speed of the hot path on this machine.

    Single calls from Python, their overhead included, and batches of poses on one thread. Where Pinocchio is installed
    (pip install pin), it computes the same robot in the same rounds, after both were found to agree within 1e-9, and
    the ratio of its time to ours stands beside the bar that we hold ourselves to. A bar that is missed is information,
    not an error.
    """
    from ..lab import measure

    with Progressing("measuring") as progressing:
        sources = ROBOTS if source is None else (source,)
        results = measure(sources, quick=quick, progress=progressing.update)
    if as_json:
        print_json(results.as_data())
        return
    screen = console()
    screen.print(_head(results))
    for result in results.robots:
        screen.print()
        screen.print(_robot_table(result))
    screen.print()
    screen.print(_copy_table(results.copy, has_bar=bool(results.instruction_set)))
    screen.print()
    for remark in _remarks(results):
        screen.print(remark, style="dim")
    if results.peer is None:
        note(HOW_TO_COMPARE)
    elif any(result.largest_difference is None for result in results.robots):
        note("joints that mimic others are not built in Pinocchio here, so such a robot is measured alone")


def _head(results: Results) -> str:
    machine = results.machine
    kernel = f"native kernel ({results.instruction_set})" if results.instruction_set else "NumPy kernel (no native one)"
    load = "" if machine["load_average"] is None else f", load {machine['load_average']:.1f}"
    peer = "" if results.peer is None else f", Pinocchio {results.peer}"
    versions = f"Python {machine['python']}, NumPy {machine['numpy']}{peer}"
    return (
        f"counterpoise {machine['counterpoise']}, {kernel}\n"
        f"{machine['processor']}, {machine['cores']} cores{load}; {machine['system']}; {versions}"
    )


def _robot_table(result: RobotResult) -> Table:
    title = f"{printable(result.robot.name)}, {result.robot.n} joints"
    if result.largest_difference is None:
        rows = table("statement", "poses", "per pose", left=("statement",), title=title)
        for operation in result.operations:
            rows.add_row(*_head_cells(operation))
        return rows
    title += f"; results of the two agree within {result.largest_difference:.1g}"
    columns = ("statement", "poses", "per pose", "Pinocchio", "ratio", "bar", "")
    rows = table(*columns, left=("statement", ""), title=title)
    for operation in result.operations:
        rows.add_row(
            *_head_cells(operation),
            "" if operation.peer is None else _time(operation.peer.median),
            "" if operation.ratio is None else _times(operation.ratio.median),
            *_bar_cells(operation),
        )
    return rows


def _head_cells(operation: Operation) -> tuple[str, str, str]:
    return operation.code.removeprefix("robot."), str(operation.poses), _time(operation.ours.median)


def _bar_cells(operation: Operation) -> tuple[str, Text | str]:
    if operation.bar is None:
        return "", ""
    return f"≥ {operation.bar.least:g}", _verdict(operation.passes is True)


def _verdict(passes: bool) -> Text:
    from rich.text import Text

    return Text("pass", style="green") if passes else Text("below", style="yellow")


def _copy_table(copy: CopyResult, *, has_bar: bool) -> Table:
    from ..lab import COPY_BAR

    title = f"{printable(copy.robot)}, {copy.poses} poses at once, beside copying them"
    rows = table("statement", "per pose", "gravity(Q, T) over it", "bar", "", left=("statement", ""), title=title)
    ratios = {"Q.copy()": copy.over_fresh_copy, "np.copyto(C, Q)": copy.over_copy}
    for code, timing in copy.times.items():
        cells: list[str | Text] = [code.removeprefix("robot."), _time(timing.median)]
        if (ratio := ratios.get(code)) is not None:
            cells.append(_times(ratio.median))
            cells += [f"≤ {COPY_BAR:g}", _verdict(ratio.median <= COPY_BAR)] if has_bar else []
        rows.add_row(*cells)
    return rows


def _remarks(results: Results) -> list[str]:
    """Say what the figures mean."""
    from ..lab import COUNTS_CPU_TIME

    clock = "CPU time of the calling thread" if COUNTS_CPU_TIME else "time on the wall"
    remarks = [f"Times are medians of interleaved rounds ({clock}), Python's call overhead included; one thread."]
    if results.peer is not None:
        remarks.append(
            "Ratios are Pinocchio's time over ours, medians within rounds. Its side: computeGeneralizedGravity, "
            "rnea, computeJointTorqueRegressor (all 10 parameters per body; ours has the 4 of gravity), "
            "computeJointJacobian(…).T @ w; for batches the faster of a Python loop and rneaInParallel on one thread."
        )
    numpy_time, our_time = results.imports["numpy"], results.imports["counterpoise"]
    if numpy_time is not None and our_time is not None:
        remarks.append(f"import counterpoise takes {_time(our_time)}, of which NumPy alone {_time(numpy_time)}.")
    return remarks


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 1.0 else f"{ratio:.2g}"


def _time(seconds: float) -> str:
    for scale, unit in ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms")):
        if seconds < 1000 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"
