"""``counterpoise replay``: plan a taught path as a whole, then follow it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import click

from ..errors import InfeasiblePathError, InputError, SafetyError
from .options import clearance_options, exit_codes, json_option, log_option, page_option
from .output import (
    EXIT_ERROR,
    LOG_ENDINGS,
    Progressing,
    console,
    note,
    note_written,
    print_json,
    printable,
    refuse_file,
    refuse_page,
    table,
    tell_interruption,
    warn,
)
from .plant import Arm, Driven, driven_options, yes_option

if TYPE_CHECKING:
    from ..identification import Clearance
    from ..tasks import ReplayPlan, ReplayReport


EXAMPLES = """\b
Examples:
  counterpoise replay wam7 loop.path.csv --dry-run                   plan and check; nothing moves
  counterpoise replay wam7 loop.path.csv --speed 0.5 --page replay.html
  counterpoise replay wam7 loop.path.csv --law pd                    without gravity, to compare
  counterpoise replay wam7 loop.path.csv --payload 2 --radius 0.05 --table 0 --dry-run
  counterpoise replay mydriver wipe.path.csv --robot arm.urdf --speed 0.3 --yes     a real arm: it moves
""" + exit_codes(
    "done",
    "the path cannot be followed; a fault that stopped the arm, or it strayed from its path; Ctrl-C",
    drives=True,
)


@click.command(epilog=EXAMPLES)
@click.argument("plant")
@click.argument("path_file", metavar="FILE")
@click.option(
    "--speed",
    type=click.FloatRange(min=0.001, max=10.0),
    default=1.0,
    show_default=True,
    help="Factor on the taught speed.",
)
@click.option("--dry-run", is_flag=True, help="Plan and check only; the arm is read, nothing moves.")
@click.option(
    "--law", type=click.Choice(("pd-gravity", "pd")), default="pd-gravity", show_default=True, help="Control law."
)
@click.option(
    "--waypoints",
    type=click.Choice(("stop", "pass")),
    default="stop",
    show_default=True,
    help="What to do at each waypoint.",
)
@clearance_options
@click.option(
    "--margin",
    type=click.FloatRange(min=0.01, max=0.9),
    default=0.1,
    show_default=True,
    help="Share of the effort limits that the plan leaves to the feedback.",
)
@click.option(
    "--bound", type=click.FloatRange(min=1e-4), help="Error that stops the arm [rad or m]; default: 0.2 rad, 40 mm."
)
@click.option("--other-robot", is_flag=True, help="Accept a path taught to another geometry with the same joints.")
@log_option()
@page_option
@driven_options
@yes_option
@json_option
def replay(
    *,
    plant: str,
    path_file: str,
    speed: float,
    dry_run: bool,
    law: Literal["pd-gravity", "pd"],
    waypoints: Literal["stop", "pass"],
    clearance: Clearance | None,
    margin: float,
    bound: float | None,
    other_robot: bool,
    page_path: str | None,
    out_path: str | None,
    arm: Arm,
    yes: bool,
    as_json: bool,
) -> None:
    """Replay a taught path.

    PLANT is a simulated arm (see counterpoise simulate) or a plant that an installed package registers. The whole
    motion, the slow move to its start included, is planned and checked before anything moves: joint limits, speeds,
    torques with the payload, and collisions where --radius or --table is given. A path that cannot be followed is
    refused with the first instant and joint. Then the arm goes to the start, follows with PD and gravity, and its
    tracking errors are printed. It is stopped when it strays. Ctrl-C, SIGTERM and SIGHUP end in the safe stop.
    """
    refuse_page(page_path)
    refuse_file("--out", out_path, LOG_ENDINGS)
    from ..control import INTERRUPTIONS, SignalSafe, standing_sample
    from ..tasks import PlanSettings, Replay, plan_replay, read_path

    path = read_path(path_file)
    driven = arm.driven(plant)
    if not (driven.simulated or yes or dry_run):
        raise click.UsageError(
            "this would move a real arm: look at the plan first (--dry-run switches it on and reads where it stands, "
            "no more), clear its path, then add --yes"
        )
    settings = PlanSettings(waypoints=waypoints, effort_share=1.0 - margin)
    rig = None if dry_run else driven.rig()  # refused, where it is, before the arm is switched on
    report: ReplayReport | None = None
    error: SafetyError | None = None
    interrupted: BaseException | None = None
    with SignalSafe(driven.plant):
        try:
            plan = plan_replay(
                driven.robot,
                path,
                speed,
                start=standing_sample(driven.plant).q,
                plant=driven.plant,
                friction=driven.friction,
                clearance=clearance,
                other_robot=other_robot,
                settings=settings,
            )
        except InfeasiblePathError as refused:
            if not as_json:
                raise
            _print_refusal(refused)
            raise SystemExit(EXIT_ERROR) from None
        if not as_json:
            _print_plan(plan, driven, law)
        if rig is not None:
            job = Replay(rig, plan, law=law, bound=bound)
            try:
                with Progressing(f"replaying {path.name}") as progressing:
                    job.run(progressing.update, log=out_path is not None)
            except INTERRUPTIONS as ended:
                interrupted = ended
            except SafetyError as caught:
                error = caught
            report = job.report
    written = _write(report, out_path, page_path, plan)
    if error is not None:
        raise error
    if as_json:
        document = {"plan": plan.as_data(), "report": None if report is None else report.as_data()}
        print_json(
            document | {"dry_run": dry_run, "interrupted": interrupted is not None, "out": written, "page": page_path}
        )
    else:
        if report is not None:
            _print_report(report)
        note_written("recording", written)
        note_written("page", page_path)
    if interrupted is not None and (code := tell_interruption(interrupted)) != EXIT_ERROR:
        raise SystemExit(code)
    if not dry_run and report is None:
        raise InputError("interrupted before anything moved")
    if interrupted is not None or (report is not None and report.outcome != "completed"):
        raise SystemExit(EXIT_ERROR)


def _write(report: ReplayReport | None, out_path: str | None, page_path: str | None, plan: ReplayPlan) -> str | None:
    """Write recording and page; return where the recording is, None where there is none."""
    log = None if report is None or report.run is None else report.run.log
    written = out_path if log is not None else None
    if written is not None and log is not None:
        from ..recording import write_log

        write_log(log, written)
    if page_path is not None:
        from ..report import plan_page, replay_page, write_page

        write_page(plan_page(plan) if report is None else replay_page(report), page_path)
    return written


def _print_refusal(error: InfeasiblePathError) -> None:
    """Print a refusal as every error is printed as JSON, with what a script may want to act on."""
    told = {"kind": type(error).__name__, "message": str(error), "path": None, "line": None}
    found = {"time": error.time, "joint": error.joint, "what": error.what, "feasible_speed": error.feasible_speed}
    print_json({"error": told | found})


def _print_plan(plan: ReplayPlan, driven: Driven, law: str) -> None:
    screen, data = console(), plan.as_data()
    screen.print(printable(f"Plan: '{plan.path.name}' ({plan.path.kind}) at speed {plan.speed:g}"), style="bold")
    screen.print(
        f"  time           {plan.duration:.1f} s: {data['approach_seconds']:.1f} s to the start, "
        f"{data['path_seconds']:.1f} s on the path"
    )
    for what, unit in (("speed", "of its speed limit"), ("effort", "of its effort limit")):
        shares = data["share_of_limit"][what]
        worst = max(shares, key=lambda name: shares[name])
        screen.print(printable(f"  largest {what:<6} {shares[worst]:.0%} {unit} ({worst})"))
    gravity = " without gravity" if law == "pd" else " with the model's gravity"
    gravity = " with the arm's own gravity compensation" if driven.plant.adds_gravity else gravity
    screen.print(f"  law            PD{gravity}", style="dim")
    for text in plan.notes:
        note(text)


def _print_report(report: ReplayReport) -> None:
    screen = console()
    style = {"completed": "green", "stopped": "yellow", "aborted": "red"}[report.outcome]
    screen.print(printable(f"{report.outcome}{': ' if report.reason else ''}{report.reason}"), style=style)
    rows = table("", "rms error", "largest", "at", "", left=("",), title=f"Tracking along the path, {report.law}")
    for tip in report.tips:
        rows.add_row(
            printable(f"tip {tip.name}"), f"{1e3 * tip.rms:.2f}", f"{1e3 * tip.largest:.2f}", _at(tip.at), "mm"
        )
    for joint in report.joints:
        unit = "mrad" if joint.unit == "rad" else "mm"
        rows.add_row(printable(joint.name), f"{1e3 * joint.rms:.2f}", f"{1e3 * joint.largest:.2f}", _at(joint.at), unit)
    screen.print(rows)
    if report.held > 0.0:
        screen.print(f"paused for {report.held:.1f} s")
    if report.outcome == "aborted":
        warn("the arm strayed from its path and was stopped; look for what holds it, or raise --bound")


def _at(time: float) -> str:
    return "–" if math.isnan(time) else f"{time:.2f} s"
