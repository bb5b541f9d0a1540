"""``counterpoise simulate``: a simulated arm under a law, with a summary, a log and a page.

A simulated run as a command line asks for it: arm, law, reference, and what came of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt

from ..control import (
    INTERRUPTIONS,
    PD,
    PID,
    ControlLoop,
    Eased,
    Gains,
    Hold,
    Law,
    PDGravity,
    PoseList,
    Reference,
    RunReport,
    SignalSafe,
    Sine,
    Triangle,
    careful_gains,
    plate_of,
)
from ..dynamics import Robot, position_units, rotary
from ..errors import InputError, SafetyError
from ..foundation import Array
from ..identification import read_plan
from ..plants import FlowValve, Preset, SimulatedArm
from ..recording import Sample
from ..report import Hidden
from ..tasks import TuningRule, holding_loop, read_gains, take_tare
from .options import (
    Carried,
    exit_codes,
    json_option,
    log_option,
    misjudged,
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
from .plant import joint_index, named_preset
from .poses import outside_limits

if TYPE_CHECKING:
    from rich.table import Table

    from ..report import JointTracking


AMPLITUDE_ROTARY, AMPLITUDE_LINEAR = 0.2, 0.05
"""Amplitudes unless given [rad, m]; less where a limit is near."""
MARGIN = 0.02
"""Distance that a reference keeps from the joint limits [rad or m]."""
EASE = 1.0
"""Time over which a swing is faded in [s]."""
POSE_DWELL = 0.5
"""Time at each pose of a list [s]."""
SETTLING = 1.0
"""Time for which an arm is held before its plate is tared [s]."""
HIDDEN_INSTANTS = 1500
"""Instants at which friction is looked at, at most."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line chose; see its options."""

    preset: str
    law: str | None
    gains: str | None
    reference: str
    joints: tuple[str, ...]
    amplitude: float | None
    period: float
    poses: str | None
    duration: float | None
    seed: int
    carried: Carried | None
    payload_known: bool
    model_error: float
    stiffness: float


@dataclass(frozen=True, slots=True, eq=False)
class EndedRun:
    """A run that is over, however it ended.

    Attributes:
        preset: The simulated arm's preset.
        robot: The arm as it was, payload included.
        effort_limit: Largest torques [N m or N], shape (n,).
        report: What the loop reports.
        desired: What was desired at the first k samples [rad or m], shape (k, n).
        hidden: What only the simulation knows; None where it was not watched.
        seconds: Time the simulation took on the wall [s].
        interruption: What was raised for the signal that ended it; None where none did.
        error: The fault that ended it; None where none did.
    """

    preset: Preset
    robot: Robot
    effort_limit: Array
    report: RunReport
    desired: Array
    hidden: Hidden | None
    seconds: float
    interruption: BaseException | None
    error: SafetyError | None

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return self.interruption is not None


class Simulation:
    """A simulated run, ready to go; nothing has moved yet.

    Attributes:
        law_name: What closes the loop: "pd-gravity", "pd", "pid", or as a file of gains names it.
        notes: What the user may want to know before.
        duration: How long it will take [s].
    """

    def __init__(self, choice: Choice) -> None:
        """Build arm, reference and law.

        Raises:
            InputError: Something that was chosen does not exist, or would leave the joint limits.
            MissingExtraError: MuJoCo is not installed.
        """
        self.choice = choice
        self.preset = named_preset(choice.preset)
        bare = self.preset.robot()
        robot = bare if choice.carried is None else choice.carried.on(bare)
        self.arm = SimulatedArm(robot, self.preset.config.replaced(seed=choice.seed))
        self.model = misjudged(robot if choice.payload_known else bare, choice.model_error)
        with self.arm:
            start = self.arm.read().q
        self.arm.reset()
        self.reference = _reference(choice, robot, start, self.arm.velocity_limit)
        self.reference.reset(start)
        self.duration = choice.duration if choice.duration is not None else _natural_duration(self.reference)
        limit, dt = self.arm.effort_limit, self.arm.dt
        self.gains = careful_gains(self.model, start, limit, dt, stiffness=choice.stiffness)
        self.law_name = choice.law or ("pd" if self.arm.adds_gravity else "pd-gravity")
        self.tuned = None if choice.gains is None else read_gains(choice.gains)
        if self.tuned is not None:
            self.law_name = self.tuned.kind
        self.notes = [] if self.tuned is not None else _notes(self.law_name, self.arm, self.preset)

    def run(self, *, watch_friction: bool, progress: Callable[[float, float], None]) -> EndedRun:
        """Run it; faults and Ctrl-C end in the safe stop and in an outcome like any other.

        Args:
            watch_friction: Look at the true friction on the way.
            progress: Called now and then with the seconds done and in all.
        """
        arm, dt = self.arm, self.arm.dt
        every = max(1, round(self.duration / dt / HIDDEN_INSTANTS))
        instants: list[float] = []
        friction: list[Array] = []
        ticks = 0

        def watch(sample: Sample) -> bool:
            nonlocal ticks
            if ticks % every == 0:
                progress(ticks * dt, self.duration)
                if watch_friction:
                    instants.append(ticks * dt)
                    friction.append(arm.truth().friction_torque)
            ticks += 1
            return False

        interruption: BaseException | None = None
        error: SafetyError | None = None
        begun = time.perf_counter()
        with SignalSafe(arm):
            loop = self._loop()
            try:
                loop.run(self.duration, until=watch, log=True)
            except INTERRUPTIONS as ended:
                interruption = ended
            except SafetyError as caught:
                if caught.report is None:
                    raise
                error = caught
        seconds = time.perf_counter() - begun
        report = loop.last_report
        if report is None or report.log is None:
            raise InputError("the run ended before anything was recorded")
        samples = min(report.ticks - report.stop_ticks, len(report.log))
        desired = np.array([self.reference.at(tick * dt).q for tick in range(samples)]).reshape(samples, arm.n)
        hidden = Hidden(np.array(instants), np.array(friction)) if friction else None
        return EndedRun(self.preset, arm.robot, arm.effort_limit, report, desired, hidden, seconds, interruption, error)

    def _loop(self) -> ControlLoop:
        """Return the loop with its law; for tuned gains the arm is held first, and its plate tared."""
        arm, model = self.arm, self.model
        if self.tuned is None:
            return ControlLoop(arm, _law(self.law_name, arm, model, self.gains, self.reference), model)
        sensor = None if arm.plate is None else plate_of(arm, model)
        laws = partial(self.tuned.laws, arm, model, self.reference, sensor=sensor)
        if sensor is None:
            return ControlLoop(arm, laws(), model)
        loop = holding_loop(arm, model)
        loop.run(SETTLING, then="keep")
        take_tare(loop, sensor, TuningRule(step=max(TuningRule().step, self._reach())))
        loop.switch(laws())
        return loop

    def _reach(self) -> float:
        """Return how far the reference leads a joint from its start [rad or m]."""
        path = np.array([self.reference.at(time).q for time in np.linspace(0.0, self.duration, 200).tolist()])
        return float(np.abs(path - path[0]).max(initial=0.0))

    def gain_values(self) -> dict[str, Array]:
        """Return the gains in force, by name."""
        if self.tuned is not None:
            return {name: getattr(self.tuned, name) for name in ("kp", "ki", "kd", "k_int")}
        return {name: np.asarray(getattr(self.gains, name)) for name in ("kp", "ki", "kd")}

    def setup(self) -> dict[str, str]:
        """Return what was chosen, in words, for the page."""
        choice = self.choice
        moving = ", ".join(choice.joints) if choice.joints else "all"
        swing = f"{choice.reference} of {choice.period:g} s, joints {moving}"
        setup = {
            "arm": f"{self.preset.name}, variant {self.preset.variant}",
            "law": self.law_name,
            "reference": swing if choice.reference in ("sine", "triangle") else choice.reference,
            "seed": str(choice.seed),
            "control period": f"{1e3 * self.arm.dt:.4g} ms",
        }
        titles = {"kp": "stiffness K_p", "kd": "damping K_d", "ki": "integral gain K_i", "k_int": "torque loop k_int"}
        source = "by rule" if self.tuned is None else "tuned"
        for name, values in self.gain_values().items():
            if np.any(values) and (name != "ki" or self.law_name in ("pid", "pi")):
                setup[f"{titles[name]} ({source})"] = ", ".join(f"{value:.4g}" for value in values)
        if choice.carried is not None:
            knows = "known" if choice.payload_known else "unknown"
            setup["payload"] = f"{choice.carried.mass:g} kg, {knows} to the controller"
        if choice.model_error:
            setup["model error"] = f"the controller's masses are {choice.model_error:+.1f} % off"
        return setup


def _reference(choice: Choice, robot: Robot, start: Array, velocity_limit: Array) -> Reference:
    if choice.reference == "hold":
        return Hold()
    if choice.poses is not None:
        plan = read_plan(choice.poses, robot)
        if outside := outside_limits(robot, plan.poses):
            raise InputError(outside[0])
        return PoseList(list(plan.poses), speed=np.minimum(plan.travel_speed, velocity_limit), dwell=POSE_DWELL)
    moving = np.zeros(robot.n, dtype=bool)
    moving[[joint_index(robot, name) for name in choice.joints] if choice.joints else slice(None)] = True
    amplitude = _amplitude(choice, robot, start, moving)
    top = (4.0 if choice.reference == "triangle" else 2.0 * np.pi) * amplitude / choice.period
    if (over := np.flatnonzero(top > velocity_limit)).size:
        joint = int(over[0])
        raise InputError(
            f"joint '{robot.joint_names[joint]}': the {choice.reference} needs a speed of {top[joint]:.3g}, its limit "
            f"is {velocity_limit[joint]:g}; take a longer --period or a smaller --amplitude"
        )
    swing = Triangle(amplitude, choice.period) if choice.reference == "triangle" else Sine(amplitude, choice.period)
    return Eased(swing, EASE)


def _amplitude(choice: Choice, robot: Robot, start: Array, moving: npt.NDArray[np.bool_]) -> Array:
    """Return amplitudes [rad or m], shape (n,), that keep clear of the limits."""
    room = np.maximum(np.minimum(start - robot.lower, robot.upper - start) - MARGIN, 0.0)
    if choice.amplitude is None:
        wanted = np.where(rotary(robot), AMPLITUDE_ROTARY, AMPLITUDE_LINEAR)
        return np.asarray(np.where(moving, np.minimum(wanted, room), 0.0))
    if (over := np.flatnonzero(moving & (choice.amplitude > room))).size:
        joint = int(over[0])
        raise InputError(
            f"joint '{robot.joint_names[joint]}': an amplitude of {choice.amplitude:g} about {start[joint]:.4g} leaves "
            f"its limits {robot.lower[joint]:.4g} … {robot.upper[joint]:.4g} {position_units(robot)[joint]}; at most "
            f"{room[joint]:.3g} is possible"
        )
    return np.where(moving, choice.amplitude, 0.0)


def _natural_duration(reference: Reference) -> float:
    return reference.duration + POSE_DWELL if isinstance(reference, PoseList) else 8.0


def _law(name: str, arm: SimulatedArm, model: Robot, gains: Gains, reference: Reference) -> Law:
    if name == "pd":
        return PD(gains.kp, gains.kd, reference, reach=gains.reach)
    if name == "pid":
        limit = arm.effort_limit
        return PID(
            gains.kp, gains.ki, gains.kd, integral_limit=limit, dt=arm.dt, reference=reference, reach=gains.reach
        )
    return PDGravity(model, gains.kp, gains.kd, reference, reach=gains.reach)


def _notes(law: str, arm: SimulatedArm, chosen: Preset) -> list[str]:
    notes: list[str] = []
    if isinstance(chosen.config.drive.actuator, FlowValve):
        notes.append(
            "a flow valve takes the command as an opening and bears the weight itself: gains have another meaning there"
        )
    if law == "pid" and not arm.adds_gravity:
        notes.append("PID has no gravity model: the arm sags at the start, until the integral holds its weight")
    if law == "pd" and not arm.adds_gravity:
        notes.append("PD has no gravity model: the arm sags by its weight over its stiffness")
    return notes


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
    from ..report import tracking

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
        from ..recording import write_log

        write_log(outcome.report.log, out_path)
    if page_path is not None and joints:
        from ..report import SimulatedRun, simulation_page, write_page

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
    from ..dynamics import effort_units, rotary

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

    from ..dynamics import effort_units, position_units

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
