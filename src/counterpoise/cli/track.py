"""``counterpoise track``: gravity and payload as they are estimated during a run, from a recording or live.

A run to be tracked: samples of a recording, or of a simulated arm that goes from pose to pose with a load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..control import ControlLoop, PDGravity, PoseList, careful_gains
from ..dynamics import MAX_INPUT, Robot, link_name
from ..errors import InputError
from ..identification import Fit, design_poses, effort_of
from ..plants import AttachPayload, Event, Preset, RemovePayloads, SimulatedArm
from ..recording import Log, Sample, SampleFlag, effort_guesses
from ..sensing import Track, Tracker, WrenchFrame
from .options import Carried, exit_codes, json_option, page_option, payload_options, seed_option
from .output import Progressing, console, fixed, note_written, print_json, printable, refuse_page, table
from .recording import ReadingOptions, arm_options, reading_options
from .source import Source

DWELL = 1.2
"""Time at each pose of a simulated run [s]."""
SPEED_SHARE = 0.5
FASTEST = 1.5
"""A simulated run travels at this share of the speed limits, and not faster than this [rad/s or m/s]."""
BEYOND = 2.0 * np.pi
"""Positions of a recording further beyond a joint's limits are no positions of that joint [rad or m]."""
PROGRESS_EVERY = 500
"""Samples between two reports of progress."""

Progress = Callable[[float, float], None]


@dataclass(frozen=True, slots=True)
class Load:
    """A load that comes, and perhaps goes, during a simulated run.

    Attributes:
        mass: [kg]; 0 for none.
        com: Centre of mass in the link's frame [m].
        link: Link that carries it; None for the tip of an arm that is not branched.
        attach: When it comes [s].
        release: When it goes [s]; None for never.
    """

    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    link: str | None = None
    attach: float = 0.0
    release: float | None = None

    def events(self) -> tuple[Event, ...]:
        """Return what happens to the simulated arm."""
        if not self.mass:
            return ()
        attached = AttachPayload(time=self.attach, mass=self.mass, com=self.com, link=self.link)
        return (attached,) if self.release is None else (attached, RemovePayloads(time=self.release))


def track_log(
    robot: Robot, log: Log, *, fit: Fit | None = None, max_mass: float | None = None, progress: Progress | None = None
) -> Track:
    """Follow gravity and payload through a recording.

    Args:
        robot: The arm, mounted as it stood, without the payload.
        log: The recording, with torques.
        fit: The arm's calibration; None for a description alone.
        max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
        progress: Called now and then with the samples done and in all.

    Raises:
        InputError: The recording is another robot's, lacks torques of a joint, has positions that cannot be, or efforts
            whose size is a guess.
    """
    log = log.ordered()
    declared = log.declared
    tau = effort_of(robot, log)
    if declared.effort_kind == "current" and declared.torque_constant is None:
        raise InputError("the recording's efforts are currents; give its mapping the torque constants")
    if guessed := effort_guesses(declared.guessed):
        raise InputError(
            f"{guessed}: nothing shows that efforts are torques, and a payload in kg cannot "
            "be told by them. Measure these numbers and declare them"
        )
    if not np.isfinite(log.rate):
        raise InputError("the recording has one sample only")
    silent = [robot.joint_names[joint] for joint in np.flatnonzero(~np.isfinite(tau).any(axis=0)).tolist()]
    if silent:
        raise InputError(
            f"the recording has no efforts of {', '.join(silent)}; gravity and payload are told by the torques of all "
            "joints. Record them, or describe joints that do not move as fixed"
        )
    _check_positions(robot, log)
    # Both estimators tell rest by the positions; a velocity that was never measured is none that is wrong.
    unmeasured = ~np.isfinite(log.dq).any(axis=0)
    dq = np.where(unmeasured, 0.0, log.dq)
    ignored = SampleFlag.DQ_INVALID if unmeasured.any() else SampleFlag.NONE
    frame = None
    if log.wrench is not None and declared.sensor_reads is not None:
        frame = WrenchFrame.checked(declared.T_base_sensor, declared.sensor_reads)
    tracker = Tracker(robot if fit is None else fit.robot, 1.0 / log.rate, fit=fit, max_mass=max_mass)
    for k in range(len(log)):
        wrench = None if frame is None or log.wrench is None else frame.wrench(log.wrench[k])
        tracker.update(log.q[k], dq[k], tau[k], wrench, SampleFlag(int(log.flags[k])) & ~ignored)
        if progress is not None and k % PROGRESS_EVERY == 0:
            progress(float(k), float(len(log)))
    return tracker.finished()


def _check_positions(robot: Robot, log: Log) -> None:
    """Refuse a recording most of whose positions are no angles or lengths of this arm.

    Raises:
        InputError: More than half of a joint's positions are absurd, or more than a turn beyond its limits.
    """
    beyond = np.maximum(robot.lower - log.q, log.q - robot.upper)  # NaN where the position is missing: not counted
    wrong = (beyond > BEYOND) | (np.abs(log.q) > MAX_INPUT)
    for joint in np.flatnonzero(wrong.mean(axis=0) > 0.5).tolist():
        value = float(np.median(log.q[wrong[:, joint], joint]))
        low, high = float(robot.lower[joint]), float(robot.upper[joint])
        limits = f"from {low:.4g} to {high:.4g}" if np.isfinite(high - low) else f"of less than {MAX_INPUT:.0e}"
        raise InputError(
            f"most positions of {robot.joint_names[joint]} cannot be: about {value:.4g}, expected a number {limits} "
            "[rad or m]. Degrees, encoder counts or another joint's column are put right by a mapping (--mapping)"
        )


def track_simulated(
    preset: Preset,
    load: Load,
    *,
    poses: int,
    seed: int,
    fit: Fit | None = None,
    max_mass: float | None = None,
    progress: Progress | None = None,
) -> Track:
    """Follow gravity and payload live, while a simulated arm goes from pose to pose.

    Args:
        preset: The arm.
        load: What it picks up; the controller does not know of it.
        poses: How many poses it goes to.
        seed: Of the poses and of noise.
        fit: The arm's calibration; None for the description, which is exact here.
        max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
        progress: Called now and then with the seconds done and in all.

    Raises:
        InputError: A load that cannot be, or poses that cannot be reached.
        SafetyError: The arm was stopped by a fault.
        MissingExtraError: MuJoCo is not installed.
    """
    bare = preset.robot()
    if load.mass:
        carrier = link_name(bare, load.link, "--payload-link")
        bare.with_payload(load.mass, com=load.com, link=carrier)  # refuses what cannot be, before anything moves
    arm = SimulatedArm(bare, preset.config.replaced(seed=seed, events=load.events()))
    model = bare if fit is None else fit.robot
    band = None
    if fit is None and preset.config.drive.friction is not None:
        band = np.broadcast_to(np.asarray(preset.config.drive.friction.coulomb, dtype=np.float64), (bare.n,))
    tracker = Tracker(model, arm.dt, fit=fit, friction_band=band, max_mass=max_mass)
    plate = arm.plate
    frame = None if plate is None else WrenchFrame.checked(plate.T_base_sensor, plate.reads)
    speed = np.minimum(SPEED_SHARE * arm.velocity_limit, FASTEST)
    reference = PoseList(list(design_poses(bare, poses, seed)), speed=speed, dwell=DWELL)
    with arm:
        start = arm.read().q
        reference.reset(start)
        duration = reference.duration + DWELL
        ticks = 0

        def watch(sample: Sample) -> bool:
            nonlocal ticks
            wrench = None if frame is None or sample.wrench is None else frame.wrench(sample.wrench)
            tracker.update(sample.q, sample.dq, sample.effort, wrench, sample.flags)
            if progress is not None and ticks % PROGRESS_EVERY == 0:
                progress(ticks * arm.dt, duration)
            ticks += 1
            return False

        gains = careful_gains(model, start, arm.effort_limit, arm.dt)
        law = PDGravity(model, gains.kp, gains.kd, reference, reach=gains.reach)
        ControlLoop(arm, law, model).run(duration, until=watch)
    return tracker.finished()


ATTACH = 20.0
"""When a simulated load comes, unless told [s]."""
EXAMPLES = """\b
Examples:
  counterpoise track run.npz --robot wam7 --page track.html
  counterpoise track run.mcap --robot arm.urdf --mapping arm.toml --calibration arm.calibration.json
  counterpoise track wam7 --payload 1.5 --attach 30 --release 60      live, on a simulated arm
  counterpoise track wam7:plate --payload 2 --payload-link link3 --attach 20
  counterpoise track run.npz --robot wam7 --json | jq '.payload | {mass, links, mass_known}'
""" + exit_codes("done, payload or none")


@click.command(epilog=EXAMPLES)
@click.argument("sources", nargs=-1, required=True, metavar="LOG...|PRESET")
@arm_options
@reading_options
@click.option("--calibration", "calibration_path", metavar="FILE.json", help="Calibration of the empty arm.")
@click.option(
    "--max-mass",
    type=click.FloatRange(min=0.1, max=1e4),
    help="Heaviest payload that may be [kg]; default: half of the moving mass.",
)
@payload_options
@click.option(
    "--attach", type=click.FloatRange(min=0.0), metavar="S", help="Simulated: when the payload comes [s]; default: 20."
)
@click.option(
    "--release", type=click.FloatRange(min=0.0), metavar="S", help="Simulated: when it goes [s]; default: never."
)
@click.option(
    "--count",
    type=click.IntRange(min=2, max=200),
    default=20,
    show_default=True,
    help="Simulated: number of poses to go through.",
)
@seed_option("a simulated arm's poses and noise")
@page_option
@json_option
def track(
    *,
    sources: tuple[str, ...],
    arm: Source | None,
    reading: ReadingOptions,
    calibration_path: str | None,
    max_mass: float | None,
    carried: Carried | None,
    attach: float | None,
    release: float | None,
    count: int,
    seed: int,
    page_path: str | None,
    as_json: bool,
) -> None:
    """Track gravity and payload through a run.

    LOG is a recording with positions and torques, and perhaps a plate's reading: a CSV, NPZ, Parquet, ROS bag or MCAP
    file; several are merged on time. PRESET is a simulated arm (see counterpoise simulate), which goes from pose to
    pose. Two estimators run side by side: the holding torques with their error bars, and the payload: whether there is
    one, its mass, and on which link, as a set with probabilities. Both learn from poses at rest.
    """
    refuse_page(page_path)
    live = len(sources) == 1 and not Path(sources[0]).exists() and "." not in Path(sources[0]).name
    if live and (arm is not None or reading.given):
        raise click.UsageError(
            "--robot, --mapping, --recover and --mount-rpy belong to a recording; a preset has its arm"
        )
    if not live and (carried is not None or attach is not None or release is not None):
        raise click.UsageError("--payload, --attach and --release belong to a simulated arm, not to a recording")
    begin = ATTACH if attach is None else attach
    if release is not None and release <= begin:
        raise click.UsageError(f"--release {release:g} is not after --attach {begin:g}")
    if live:
        load = Load() if carried is None else Load(carried.mass, carried.com, carried.link, begin, release)
        found = _live(sources[0], load, calibration_path, max_mass, count, seed)
    else:
        found = _recorded(sources, arm, reading, calibration_path, max_mass)
    name = ", ".join(Path(source).name for source in sources)
    if page_path is not None:
        from ..report import track_page, write_page

        write_page(track_page(name, found), page_path)
    if as_json:
        print_json(_document(sources, found, page_path))
    else:
        _print(name, found)
        note_written("page", page_path)


def _fit(path: str | None, robot: Robot) -> Fit | None:
    from ..identification import load_calibration

    return None if path is None else load_calibration(path, robot)


def _live(
    source: str,
    load: Load,
    calibration_path: str | None,
    max_mass: float | None,
    poses: int,
    seed: int,
) -> Track:
    from .plant import named_preset

    preset = named_preset(source)
    fit = _fit(calibration_path, preset.robot())
    with Progressing(f"simulating {preset.name}") as bar:
        return track_simulated(preset, load, poses=poses, seed=seed, fit=fit, max_mass=max_mass, progress=bar.update)


def _recorded(
    sources: tuple[str, ...],
    arm: Source | None,
    reading: ReadingOptions,
    calibration_path: str | None,
    max_mass: float | None,
) -> Track:
    if arm is None:
        raise click.UsageError("--robot is missing: the arm of the recording, e.g. --robot arm.urdf")

    robot, log = reading.robot_and_log(arm, sources)
    fit = _fit(calibration_path, robot)
    with Progressing(f"tracking {sources[0]}") as bar:
        return track_log(robot, log, fit=fit, max_mass=max_mass, progress=bar.update)


def _print(name: str, found: Track) -> None:
    from ..dynamics import effort_units

    screen, payload = console(), found.payload
    length = float(found.time[-1]) if len(found.time) else 0.0
    screen.print(printable(f"{name}: {found.samples} samples, {length:.4g} s, {found.robot.name}"), style="bold")
    screen.print(printable(payload.text()), style="green" if payload.detected else "")
    for time, event in found.events:
        screen.print(f"  {time:7.1f} s  payload {event.kind}")
    if not len(found.time):
        return
    rows = table(
        "joint", "measured", "model", "estimated", "±", "", title="Holding torque at the end", left=("joint", "")
    )
    for joint, (joint_name, unit) in enumerate(zip(found.robot.joint_names, effort_units(found.robot), strict=True)):
        values = (found.tau, found.model, found.gravity, found.gravity_std)
        rows.add_row(printable(joint_name), *(fixed(float(value[-1, joint]), 3) for value in values), unit)
    screen.print(rows)


def _document(sources: tuple[str, ...], found: Track, page_path: str | None) -> dict[str, Any]:
    payload = found.payload
    return {
        "sources": list(sources),
        "robot": found.robot.name,
        "samples": found.samples,
        "payload": {
            "detected": payload.detected,
            "text": payload.text(),
            "link": payload.link,
            "links": dict(payload.links),
            "link_set": list(payload.link_set),
            "mass": payload.mass,
            "mass_std": payload.mass_std,
            "mass_known": payload.mass_known,
            "unnoticed_mass": payload.unnoticed_mass,
            "com": payload.com,
            "com_std": payload.com_std,
            "combinations": [{"text": one.text, "value": one.value, "std": one.std} for one in payload.combinations],
            "confidence": payload.confidence,
            "poses": payload.poses,
            "advice": payload.advice,
        },
        "events": [{"time": time, "kind": event.kind} for time, event in found.events],
        "joints": list(found.robot.joint_names),
        "history": {
            "time": found.time,
            "gravity": found.gravity,
            "gravity_std": found.gravity_std,
            "model": found.model,
            "mass": found.mass,
            "mass_std": found.mass_std,
            "unnoticed_mass": found.unnoticed,
            "links": list(found.links),
            "probabilities": found.shares,
        },
        "page": page_path,
    }
