"""``counterpoise simulate``: a simulated arm under a law, with a summary, a log and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import exit_codes, json_option, log_option, page_option, seed_option
from .output import (
    LOG_ENDINGS,
    Progressing,
    console,
    fixed,
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
from .payload import Carried, model_error_option, payload_options, unknown_payload_option

if TYPE_CHECKING:
    from rich.table import Table

    from ..report.tracking import JointTracking
    from .simulation import EndedRun, Simulation

EXAMPLES = """\b
Examples:
  counterpoise simulate                                 the PUMA of the papers, every joint on a sine
  counterpoise simulate wam7 --page run.html            with a page to look at
  counterpoise simulate puma550:50Hz --reference triangle --joint joint1 --amplitude 0.05 --period 10
  counterpoise simulate wam7 --payload 2 --unknown-payload --reference hold
  counterpoise simulate puma550 --model-error 10        the controller's masses are 10 % too large
  counterpoise simulate wam7 --poses poses.csv --out run.npz
  counterpoise simulate puma550 --gains bsc.toml --reference triangle --joint joint1 --amplitude 0.002 --period 10
  counterpoise simulate --json | jq '.joints[] | {name, rms}'

\b
Arms:
  puma550 (stiff, 50Hz, 20Hz), wam7 (ground, plate), titan2 (torque-source, flow-valve), dualarm19 (ground);
  a variant is given as puma550:50Hz, the first is the default.
""" + exit_codes("done", "a fault that stopped the arm; Ctrl-C", drives=True)
SKIPPED = 1.0
"""Time at the start that does not count for the errors [s]: law and reference are being faded in."""


@click.command(epilog=EXAMPLES)
@click.argument("preset", default="puma550")
@click.option(
    "--law",
    type=click.Choice(("pd-gravity", "pd", "pid")),
    help="Control law; default: pd-gravity, or pd where the arm bears its own weight (a flow valve).",
)
@click.option("--gains", "gains_path", metavar="FILE.toml", help="Law and gains that counterpoise tune wrote.")
@click.option(
    "--reference",
    type=click.Choice(("hold", "sine", "triangle", "poses")),
    help="What to follow; default: sine, or poses where --poses is given.",
)
@click.option(
    "--poses",
    "poses_path",
    metavar="FILE",
    help="Poses to go through: CSV with joint names, or a plan of counterpoise poses.",
)
@click.option("--joint", "joints", multiple=True, metavar="NAME", help="Joint that swings; repeatable; default: all.")
@click.option(
    "--amplitude", type=click.FloatRange(min=0.0), help="Amplitude of the swing [rad or m]; default: 0.2 rad, 5 cm."
)
@click.option(
    "--period", type=click.FloatRange(min=0.05), default=4.0, show_default=True, help="Period of the swing [s]."
)
@click.option(
    "--duration",
    type=click.FloatRange(min=0.0, min_open=True, max=3600.0),
    metavar="S",
    help="Length of the run [s]; default: 8 s, or what the poses take.",
)
@seed_option()
@payload_options
@unknown_payload_option
@model_error_option
@click.option(
    "--stiffness",
    type=click.FloatRange(min=0.0, min_open=True, max=100.0),
    default=1.0,
    metavar="FACTOR",
    help="Factor on the gains, which follow from inertias, effort limits and period by a rule.",
)
@log_option()
@page_option
@json_option
def simulate(
    *,
    preset: str,
    law: str | None,
    gains_path: str | None,
    reference: str | None,
    poses_path: str | None,
    joints: tuple[str, ...],
    amplitude: float | None,
    period: float,
    duration: float | None,
    seed: int,
    carried: Carried | None,
    unknown_payload: bool,
    model_error: float,
    stiffness: float,
    out_path: str | None,
    page_path: str | None,
    as_json: bool,
) -> None:
    """Run a simulated arm under a control law.

    PRESET is a simulated arm with everything between a controller and its links: friction that sticks, gears that
    yield, encoders that count, a plate that drifts. The torques go through the safety filter, as on a real arm.

    Ctrl-C, SIGTERM and SIGHUP end in the safe stop; what was recorded until then is still shown and written.
    """
    if gains_path is not None and (law is not None or stiffness != 1.0):
        raise click.UsageError("--gains brings its law and its stiffness: leave out --law and --stiffness")
    if reference is None:
        reference = "sine" if poses_path is None else "poses"
    if poses_path is not None and reference != "poses":
        raise click.UsageError(f"--poses goes with --reference poses, not {reference}")
    if reference == "poses" and poses_path is None:
        raise click.UsageError("--reference poses needs --poses FILE")
    if reference in ("hold", "poses") and (joints or amplitude is not None):
        raise click.UsageError(f"--joint and --amplitude are for a swing, not for {reference}")
    if unknown_payload and carried is None:
        raise click.UsageError("--unknown-payload needs --payload MASS")
    refuse_file("--out", out_path, LOG_ENDINGS)
    refuse_page(page_path)
    from .simulation import Choice, Simulation

    choice = Choice(
        preset=preset,
        law=law,
        gains=gains_path,
        reference=reference,
        joints=joints,
        amplitude=amplitude,
        period=period,
        poses=poses_path,
        duration=duration,
        seed=seed,
        carried=carried,
        payload_known=not unknown_payload,
        model_error=model_error,
        stiffness=stiffness,
    )
    simulation = Simulation(choice)
    if not as_json:
        for text in simulation.notes:
            note(text)
    with Progressing(f"simulating {simulation.preset.name}") as progressing:
        outcome = simulation.run(watch_friction=page_path is not None, progress=progressing.update)
    joint_results = _judged(outcome)
    _write(simulation, outcome, joint_results, out_path, page_path)
    if outcome.error is not None:
        if out_path or page_path:
            note("what was recorded before the fault is written")
        raise outcome.error
    if as_json:
        print_json(_document(simulation, outcome, joint_results, out_path, page_path))
    else:
        _print(simulation, outcome, joint_results, out_path, page_path)
    if outcome.interruption is not None:
        raise SystemExit(tell_interruption(outcome.interruption))


def _judged(outcome: EndedRun) -> tuple[JointTracking, ...]:
    from ..report.tracking import tracking

    log = outcome.report.log
    ticks = len(outcome.desired)
    if log is None or ticks == 0:
        return ()
    elapsed = log.time[:ticks] - log.time[0]
    skipped = int((elapsed < SKIPPED).sum())
    return tracking(outcome.report, outcome.desired, outcome.effort_limit, skipped if skipped < ticks else 0)


def _write(
    simulation: Simulation,
    outcome: EndedRun,
    joints: tuple[JointTracking, ...],
    out_path: str | None,
    page_path: str | None,
) -> None:
    if out_path is not None and outcome.report.log is not None:
        from ..logs.files import write_log

        write_log(outcome.report.log, out_path)
    if page_path is not None and joints:
        from ..report.page import write_page
        from ..report.simulation_page import SimulatedRun, simulation_page

        run = SimulatedRun(
            title=f"{outcome.preset.name} ({outcome.preset.variant}) under {simulation.law_name}",
            robot=outcome.robot,
            report=outcome.report,
            desired=outcome.desired,
            joints=joints,
            effort_limit=outcome.effort_limit,
            hidden=outcome.hidden,
            setup=simulation.setup(),
            counted_from=SKIPPED if len(outcome.desired) * simulation.arm.dt > SKIPPED else 0.0,
            configuration=outcome.preset.config.replaced(seed=simulation.choice.seed).describe().splitlines(),
            interrupted=outcome.interrupted,
        )
        write_page(simulation_page(run), page_path)


def _print(
    simulation: Simulation,
    outcome: EndedRun,
    joints: tuple[JointTracking, ...],
    out_path: str | None,
    page_path: str | None,
) -> None:
    report, screen = outcome.report, console()
    name = f"{outcome.preset.name} ({outcome.preset.variant})"
    simulated = (report.ticks - report.stop_ticks) * simulation.arm.dt
    screen.print(
        f"{name}, {simulation.law_name}, {simulation.choice.reference}: {simulated:.4g} s at "
        f"{1.0 / simulation.arm.dt:.4g} Hz, {report.duration / outcome.seconds:.2g} × real time"
    )
    screen.print(_joint_table(outcome, joints))
    skipped = f"Errors from {SKIPPED:g} s on. " if simulated > SKIPPED else ""
    screen.print(f"{skipped}{_events(outcome)}", style="dim")
    if away := [joint.name for joint in joints if not joint.follows]:
        warn(
            f"{', '.join(away)} did not follow: friction or gravity is more than the gains can bear. Try --law pid, or "
            "--stiffness 2"
        )
    if outcome.interrupted:
        warn(f"interrupted: the arm was stopped ({report.end.value}, then '{report.stop}')")
    note_written("recording", out_path)
    note_written("page", page_path)


def _joint_table(outcome: EndedRun, joints: tuple[JointTracking, ...]) -> Table:
    from ..dynamics.joint_units import effort_units, rotary

    units = ["mrad" if turns else "mm" for turns in rotary(outcome.robot)]
    columns = ("joint", "rms error", "largest", "", "peak torque", " ", "of limit", "saturated", "rate-limited")
    rows = table(*columns, left=("joint", "", " "))
    for joint, unit, effort in zip(joints, units, effort_units(outcome.robot), strict=True):
        rows.add_row(
            printable(joint.name),
            fixed(1e3 * joint.rms, 3),
            fixed(1e3 * joint.largest, 3),
            unit,
            fixed(joint.peak_effort, 2),
            effort,
            f"{joint.share:.0%}",
            str(joint.saturated),
            str(joint.rate_limited),
        )
    return rows


def _events(outcome: EndedRun) -> str:
    ordinary = ("started", "stopping", "stopped")
    kinds = [event.kind for event in outcome.report.events if event.kind not in ordinary]
    counted = ", ".join(f"{kinds.count(kind)} {kind.replace('_', ' ')}" for kind in dict.fromkeys(kinds))
    return f"Events: {counted}." if counted else "No events."


def _document(
    simulation: Simulation,
    outcome: EndedRun,
    joints: tuple[JointTracking, ...],
    out_path: str | None,
    page_path: str | None,
) -> dict[str, Any]:
    from dataclasses import asdict

    from ..dynamics.joint_units import effort_units, position_units

    report = outcome.report
    units = zip(position_units(outcome.robot), effort_units(outcome.robot), strict=True)
    return {
        "preset": outcome.preset.name,
        "variant": outcome.preset.variant,
        "law": simulation.law_name,
        "reference": simulation.choice.reference,
        "seed": simulation.choice.seed,
        "duration": (report.ticks - report.stop_ticks) * simulation.arm.dt,
        "dt": simulation.arm.dt,
        "gains": simulation.gain_values(),
        "joints": [
            asdict(joint) | {"follows": joint.follows, "position_unit": position, "effort_unit": effort}
            for joint, (position, effort) in zip(joints, units, strict=False)
        ],
        "errors_from": SKIPPED,
        "end": report.end.value,
        "interrupted": outcome.interrupted,
        "held_ticks": report.held_ticks,
        "events": [asdict(event) for event in report.events],
        "real_time_factor": report.duration / outcome.seconds,
        "out": out_path,
        "page": page_path,
        "notes": simulation.notes,
    }
