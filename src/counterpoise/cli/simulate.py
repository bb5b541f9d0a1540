"""``counterpoise simulate``: a simulated arm under a law, with a summary, a log and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import InputError
from .options import (
    Carried,
    exit_codes,
    json_option,
    log_option,
    model_error_option,
    page_option,
    payload_options,
    seed_option,
    unknown_payload_option,
)
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
from .plant import named_preset

if TYPE_CHECKING:
    from rich.table import Table

    from ..control import RunReport
    from ..dynamics import Robot
    from ..identification import PosePlan
    from ..plants import Preset, SimulatedArm
    from ..report import JointTracking
    from ..tasks import Simulation, SimulationResult


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
    law: Literal["pd-gravity", "pd", "pid"] | None,
    gains_path: str | None,
    reference: Literal["hold", "sine", "triangle", "poses"] | None,
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

    from ..plants import SimulatedArm
    from ..tasks import Rig, Simulation, SimulationSettings, misjudged, read_gains

    chosen = named_preset(preset)
    bare = chosen.robot()
    robot = bare if carried is None else carried.on(bare)
    settings = SimulationSettings(
        law=law,
        gains=None if gains_path is None else read_gains(gains_path),
        stiffness=stiffness,
        reference=reference,
        joints=joints,
        amplitude=amplitude,
        period=period,
        poses=None if poses_path is None else _poses(poses_path, robot),
        duration=duration,
    )
    arm = SimulatedArm(robot, chosen.config.replaced(seed=seed))
    simulation = Simulation(Rig(arm, misjudged(bare if unknown_payload else robot, model_error)), settings)
    if not as_json:
        for text in simulation.notes:
            note(text)
    with Progressing(f"simulating {chosen.name}") as progressing:
        result = simulation.run(progressing.update, watch_friction=page_path is not None)
    joint_results = _judged(arm, result)
    setup = _setup(chosen, simulation)
    if carried is not None:
        setup["payload"] = f"{carried.mass:g} kg, {'unknown' if unknown_payload else 'known'} to the controller"
    if model_error:
        setup["model error"] = f"the controller's masses are {model_error:+.1f} % off"
    _write(chosen, simulation, result, joint_results, setup, out_path, page_path)
    if result.error is not None:
        if out_path or page_path:
            note("what was recorded before the fault is written")
        raise result.error
    if as_json:
        print_json(_document(chosen, simulation, result, joint_results) | {"out": out_path, "page": page_path})
    else:
        _print(chosen, simulation, result, joint_results)
        note_written("recording", out_path)
        note_written("page", page_path)
    if result.interruption is not None:
        raise SystemExit(tell_interruption(result.interruption))


def _poses(path: str, robot: Robot) -> PosePlan:
    from ..identification import read_plan
    from .poses import outside_limits

    plan = read_plan(path, robot)
    if outside := outside_limits(robot, plan.poses):
        raise InputError(outside[0])
    return plan


def _setup(preset: Preset, simulation: Simulation) -> dict[str, str]:
    """Return what was chosen, in words, for the page."""
    settings, arm = simulation.settings, simulation.arm
    moving = ", ".join(settings.joints) if settings.joints else "all"
    swing = f"{settings.reference} of {settings.period:g} s, joints {moving}"
    setup = {
        "arm": f"{preset.name}, variant {preset.variant}",
        "law": simulation.law_name,
        "reference": swing if settings.reference in ("sine", "triangle") else settings.reference,
        "seed": str(arm.config.seed),
        "control period": f"{1e3 * arm.dt:.4g} ms",
    }
    titles = {"kp": "stiffness K_p", "kd": "damping K_d", "ki": "integral gain K_i", "k_int": "torque loop k_int"}
    source = "by rule" if settings.gains is None else "tuned"
    for name, values in simulation.gains.items():
        if values.any() and (name != "ki" or simulation.law_name in ("pid", "pi")):
            setup[f"{titles[name]} ({source})"] = ", ".join(f"{value:.4g}" for value in values)
    return setup


def _judged(arm: SimulatedArm, result: SimulationResult) -> tuple[JointTracking, ...]:
    from ..report import tracking

    log = result.report.log
    ticks = len(result.desired)
    if log is None or ticks == 0:
        return ()
    elapsed = log.time[:ticks] - log.time[0]
    skipped = int((elapsed < SKIPPED).sum())
    return tracking(result.report, result.desired, arm.effort_limit, skipped if skipped < ticks else 0)


def _write(
    preset: Preset,
    simulation: Simulation,
    result: SimulationResult,
    joints: tuple[JointTracking, ...],
    setup: dict[str, str],
    out_path: str | None,
    page_path: str | None,
) -> None:
    if out_path is not None and result.report.log is not None:
        from ..recording import write_log

        write_log(result.report.log, out_path)
    if page_path is not None and joints:
        from ..report import SimulatedRun, simulation_page, write_page

        run = SimulatedRun(
            title=f"{preset.name} ({preset.variant}) under {simulation.law_name}",
            robot=simulation.arm.robot,
            report=result.report,
            desired=result.desired,
            joints=joints,
            effort_limit=simulation.arm.effort_limit,
            hidden=result.hidden,
            setup=setup,
            counted_from=SKIPPED if len(result.desired) * simulation.arm.dt > SKIPPED else 0.0,
            configuration=simulation.arm.config.describe().splitlines(),
            interrupted=result.interruption is not None,
        )
        write_page(simulation_page(run), page_path)


def _print(preset: Preset, simulation: Simulation, result: SimulationResult, joints: tuple[JointTracking, ...]) -> None:
    report, screen = result.report, console()
    name = f"{preset.name} ({preset.variant})"
    simulated = (report.ticks - report.stop_ticks) * simulation.arm.dt
    screen.print(
        f"{name}, {simulation.law_name}, {simulation.settings.reference}: {simulated:.4g} s at "
        f"{1.0 / simulation.arm.dt:.4g} Hz, {report.duration / result.seconds:.2g} × real time"
    )
    screen.print(_joint_table(simulation.arm.robot, joints))
    skipped = f"Errors from {SKIPPED:g} s on. " if simulated > SKIPPED else ""
    screen.print(f"{skipped}{_events(report)}", style="dim")
    if away := [joint.name for joint in joints if not joint.follows]:
        warn(
            f"{', '.join(away)} did not follow: friction or gravity is more than the gains can hold. Try --law pid, or "
            "--stiffness 2"
        )
    if lost := report.plate_text():
        warn(f"{lost}. The errors above include this time")
    if result.interruption is not None:
        warn(f"interrupted: the arm was stopped ({report.end.value}, then '{report.stop}')")


def _joint_table(robot: Robot, joints: tuple[JointTracking, ...]) -> Table:
    from ..dynamics import effort_units, rotary

    units = ["mrad" if turns else "mm" for turns in rotary(robot)]
    columns = ("joint", "rms error", "largest", "", "peak torque", " ", "of limit", "saturated", "rate-limited")
    rows = table(*columns, left=("joint", "", " "))
    for joint, unit, effort in zip(joints, units, effort_units(robot), strict=True):
        rows.add_row(
            printable(joint.name),
            fixed(1e3 * joint.rms, 3),
            fixed(1e3 * joint.largest, 3),
            unit,
            fixed(joint.peak_effort, 2),
            effort,
            f"{joint.effort_fraction:.0%}",
            str(joint.saturated),
            str(joint.rate_limited),
        )
    return rows


def _events(report: RunReport) -> str:
    ordinary = ("started", "stopping", "stopped")
    kinds = [event.kind for event in report.events if event.kind not in ordinary]
    counted = ", ".join(f"{kinds.count(kind)} {kind.replace('_', ' ')}" for kind in dict.fromkeys(kinds))
    return f"Events: {counted}." if counted else "No events."


def _document(
    preset: Preset, simulation: Simulation, result: SimulationResult, joints: tuple[JointTracking, ...]
) -> dict[str, Any]:
    from dataclasses import asdict

    from ..dynamics import effort_units, position_units

    report, robot = result.report, simulation.arm.robot
    units = zip(position_units(robot), effort_units(robot), strict=True)
    return {
        "preset": preset.name,
        "variant": preset.variant,
        "law": simulation.law_name,
        "reference": simulation.settings.reference,
        "seed": simulation.arm.config.seed,
        "duration": (report.ticks - report.stop_ticks) * simulation.arm.dt,
        "dt": simulation.arm.dt,
        "gains": simulation.gains,
        "joints": [
            asdict(joint) | {"follows": joint.follows, "position_unit": position, "effort_unit": effort}
            for joint, (position, effort) in zip(joints, units, strict=False)
        ],
        "errors_from": SKIPPED,
        "end": report.end.value,
        "interrupted": result.interruption is not None,
        "held_ticks": report.held_ticks,
        "plate_losses": [asdict(loss) for loss in report.plate_losses],
        "events": [asdict(event) for event in report.events],
        "real_time_factor": report.duration / result.seconds,
        "notes": simulation.notes,
    }
