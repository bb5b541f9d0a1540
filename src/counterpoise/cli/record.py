"""``counterpoise record``: drive an arm through poses, each from both sides, and write the recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import InputError, SafetyError
from .options import exit_codes, json_option, log_option
from .output import (
    LOG_ENDINGS,
    Progressing,
    console,
    note,
    note_written,
    print_json,
    refuse_file,
    tell_interruption,
    warn,
)
from .plant import PlantOptions, measure_option, pace_option, plant_options, print_inertias, yes_option

if TYPE_CHECKING:
    from ..control import Plant
    from ..dynamics import Robot
    from ..recording import Log
    from ..tasks import Recording


EXAMPLES = """\b
Examples:
  counterpoise record wam7 --poses poses.csv --out run.npz              a simulated arm, to try
  counterpoise record puma550:50Hz --poses plan.toml --out run.npz --dwell 2
  counterpoise record mydriver --option port=/dev/ttyUSB0 --robot arm.urdf --poses plan.toml --out run.npz
  counterpoise record mydriver --robot arm.urdf --poses plan.toml --out run.npz --yes     ... and now it moves

\b
Poses: a CSV file with a header of joint names, or a plan:
  schema = "counterpoise/poses-1"
  joints = ["shoulder", "elbow"]
  poses = [[0.0, 0.5], [0.3, -0.2]]     and, if wanted, approach, creep_speed, travel_speed, settle, dwell
""" + exit_codes("the recording is written", "a fault that stopped the arm; Ctrl-C", drives=True)
SIMULATED_DWELL = 1.0
"""Time to measure at each pose of a simulated arm [s], unless the plan or the command line says otherwise."""


@click.command(epilog=EXAMPLES)
@click.argument("plant")
@click.option(
    "--poses",
    "poses_path",
    required=True,
    metavar="FILE",
    help="Poses to go through: CSV with joint names, or a plan of counterpoise poses.",
)
@log_option(required=True)
@click.option(
    "--dwell", type=float, metavar="S", help="Time to measure at each pose and side [s]; default: 4 s, simulated 1 s."
)
@click.option("--settle", type=float, metavar="S", help="Time to come to rest after each move [s]; default: 0.5 s.")
@click.option(
    "--integral",
    type=click.Choice(("auto", "none", "all")),
    default="auto",
    show_default=True,
    help="Joints with integral action during travel; it is always off while measuring.",
)
@measure_option
@plant_options
@pace_option
@yes_option
@json_option
def record(
    *,
    plant: str,
    poses_path: str,
    out_path: str,
    dwell: float | None,
    settle: float | None,
    integral: Literal["auto", "none", "all"],
    measure_rotors: bool | None,
    asked: PlantOptions,
    pace: Literal["plant", "clock"],
    yes: bool,
    as_json: bool,
) -> None:
    """Record poses of an arm, each approached from both sides.

    The recording is for counterpoise calibrate. PLANT is a simulated arm (see counterpoise simulate) or a plant that an
    installed package registers. For each pose the arm goes beyond it by 0.03 rad on every joint (1 cm on linear ones),
    creeps back at 0.05 rad/s (15 mm/s), settles and is measured; then the same from the other side, so that friction is
    gone from the mean of the two. It ends where it began.

    The plan is checked against the limits and printed before anything moves. Moves are straight in joint space, and
    nothing checks for collisions. Ctrl-C, SIGTERM and SIGHUP end in the safe stop; what was recorded is still written.
    """
    refuse_file("--out", out_path, LOG_ENDINGS)
    from ..control import INTERRUPTIONS, SignalSafe, StoppedFromOutside
    from ..recording import write_log
    from ..tasks import Recording

    driven = replace(asked.made(plant), pace=pace)
    plan = _plan(poses_path, driven.robot, driven.simulated, dwell, settle)
    moves = driven.simulated or yes
    rig = driven.rig(**(driven.rotors(measure_rotors) if moves else {}))
    recording = Recording(rig, plan, integral=integral)
    if not as_json:
        _print_plan(recording, driven.plant)
    if not moves:
        raise click.UsageError("this would move a real arm: look at the plan, clear its path, then add --yes")
    ended: BaseException | None = None
    try:
        with SignalSafe(driven.plant), Progressing(f"recording {plant}") as progressing:
            recording.run(progressing.update)
    except INTERRUPTIONS as caught:
        ended = caught
    except SafetyError:
        if recording.log is not None:
            write_log(recording.log, out_path)
            note_written("what was recorded before the fault is", out_path)
        raise
    log = recording.log
    if log is None:
        if isinstance(ended, StoppedFromOutside):
            raise ended
        raise InputError("interrupted before anything was recorded")
    write_log(log, out_path)
    _report(recording, log, out_path, interrupted=ended is not None, as_json=as_json)
    if ended is not None:
        raise SystemExit(tell_interruption(ended))


def _plan(path: str, robot: Robot, simulated: bool, dwell: float | None, settle: float | None) -> Any:
    from ..identification import read_plan

    settings = {name: value for name, value in (("dwell", dwell), ("settle", settle)) if value is not None}
    if simulated and dwell is None and not path.lower().endswith(".toml"):
        settings["dwell"] = SIMULATED_DWELL
    return read_plan(path, robot, **settings)


def _facts(recording: Recording) -> dict[str, Any]:
    plan = recording.plan
    return {
        "poses": len(plan.poses),
        "approaches": 2 * len(plan.poses),
        "seconds": recording.duration_from(plan.poses[0]),
        "dwell": plan.dwell,
        "settle": plan.settle,
        "largest_speed": {
            name: float(speed) for name, speed in zip(plan.joint_names, plan.travel_speed.tolist(), strict=True)
        },
        "integral": list(recording.with_integral),
        "plan_notes": recording.notes,
    }


def _print_plan(recording: Recording, driven: Plant) -> None:
    facts, screen = _facts(recording), console()
    fastest = max(facts["largest_speed"], key=lambda name: facts["largest_speed"][name])
    minutes, seconds = divmod(round(facts["seconds"]), 60)
    screen.print(f"Plan: {facts['poses']} poses, each from both sides, {facts['dwell']:g} s of measurement each time")
    screen.print(f"  time           {minutes} min {seconds} s, and the travel to the first pose")
    screen.print(f"  largest speed  {facts['largest_speed'][fastest]:.3g} rad/s or m/s ({fastest})")
    gravity = "the arm's own gravity compensation" if driven.adds_gravity else "the model's gravity"
    integral = f"; integral action on {', '.join(facts['integral'])}" if facts["integral"] else ""
    soft = f"; soft on {', '.join(recording.measures)} until measured" if recording.measures else ""
    screen.print(f"  law            PD with {gravity}{integral}{soft}")
    screen.print("  Moves are straight in joint space; nothing checks for collisions.", style="dim")
    for text in facts["plan_notes"]:
        note(text)


def _report(recording: Recording, log: Log, out_path: str, *, interrupted: bool, as_json: bool) -> None:
    from ..identification import arrival_notes, arrivals

    reached, doubts = len(arrivals(log)), arrival_notes(log)
    if as_json:
        facts = _facts(recording) | {"samples": len(log), "reached": reached, "doubts": doubts}
        facts["inertias"] = None if recording.measurement is None else recording.measurement.as_data()
        print_json(facts | {"interrupted": interrupted, "out": out_path})
        return
    if recording.measurement is not None:
        print_inertias(recording.measurement)
    span = float(log.time[-1] - log.time[0])
    console().print(
        f"Recorded {len(log)} samples in {span:.4g} s: {reached} of {2 * len(recording.plan.poses)} approaches"
    )
    for text in doubts:
        warn(text)
    if doubts:
        note("try --integral all, or a larger approach in the plan; the mean of both sides keeps friction otherwise")
    if interrupted:
        warn("interrupted: the arm was stopped, and the rest of the plan is missing")
    note_written("recording", out_path)
