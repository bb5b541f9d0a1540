"""``counterpoise track``: gravity and payload as they are estimated during a run, from a recording or live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import Carried, exit_codes, json_option, page_option, payload_options, seed_option
from .output import Progressing, console, fixed, note_written, print_json, printable, refuse_page, table
from .recording import ReadingOptions, arm_options, reading_options
from .source import Source

if TYPE_CHECKING:
    from ..dynamics import Robot
    from ..identification import Fit
    from ..sensing import Track

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
        found = _live(sources[0], carried, (begin, release), calibration_path, max_mass, count, seed)
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
    carried: Carried | None,
    when: tuple[float, float | None],
    calibration_path: str | None,
    max_mass: float | None,
    poses: int,
    seed: int,
) -> Track:
    from ..tasks import Load, track_simulated
    from .plant import named_preset

    preset = named_preset(source)
    bare = preset.robot()
    fit, load = _fit(calibration_path, bare), Load()
    if carried is not None:
        carried.on(bare)  # refuses what cannot be, in the words of the command line
        load = Load(carried.mass, carried.com, carried.link, *when)
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
    from ..tasks import track_log

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
