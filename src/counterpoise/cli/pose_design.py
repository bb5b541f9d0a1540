"""``counterpoise poses``: which poses to record for a calibration, and what they will tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import clearance_options, exit_codes, json_option, seed_option
from .output import console, note_written, print_json, printable, refuse_file, table
from .source import Source, source_options

if TYPE_CHECKING:
    from ..identification import Clearance, PoseDesign


EXAMPLES = """\b
Examples:
  counterpoise poses wam7 --count 12 --out plan.toml        a plan that counterpoise record can run
  counterpoise poses arm.urdf --table 0 --radius 0.08       links as bars of 8 cm radius, above a table at the base
  counterpoise poses arm.urdf --mount-rpy 0 0.5 0 --json | jq .not_determined
""" + exit_codes("the poses are chosen")


@click.command("poses", epilog=EXAMPLES)
@source_options
@click.option("--count", type=click.IntRange(2, 1000), default=12, show_default=True, help="Number of poses.")
@seed_option("the random poses that are chosen from")
@click.option(
    "--margin", type=click.FloatRange(min=0.0), help="Distance from the limits [rad or m]; default: 0.1 rad, 3 cm."
)
@clearance_options
@click.option("--out", "out_path", metavar="FILE.toml", help="Write the plan for counterpoise record.")
@json_option
def poses(
    *,
    source: Source,
    count: int,
    seed: int,
    margin: float | None,
    clearance: Clearance | None,
    out_path: str | None,
    as_json: bool,
) -> None:
    """Choose poses for a calibration, before the robot moves.

    SOURCE is a file or the name of a bundled arm (see counterpoise load). Of many random poses within the joint limits
    those are taken whose holding torques determine the most (D-optimal), in an order with short moves. Printed is what
    they will determine and what not, how certain it will be, and what was checked. Nothing moves: look at the poses,
    then record them from both sides with counterpoise record.
    """
    refuse_file("--out", out_path, (".toml",))
    from ..identification import design

    robot = source.load()
    found = design(robot, count, seed, margin=margin, clearance=clearance)
    if out_path is not None:
        found.plan().write(out_path)
    if as_json:
        print_json(_document(found, out_path))
        return
    _print(found)
    note_written("plan", out_path)


def _document(found: PoseDesign, out_path: str | None) -> dict[str, Any]:
    identifiable = found.identifiable
    return {
        "robot": found.robot.name,
        "joints": list(found.robot.joint_names),
        "poses": found.poses,
        "condition": found.condition,
        "torque_std_per_noise": found.torque_std,
        "determined": [
            {"combination": one.text, "unit": one.unit, "described": one.value, "std_per_noise": one.std}
            for one in identifiable.determined
        ],
        "not_determined": list(identifiable.undetermined),
        "never_felt": list(identifiable.never_felt),
        "travel_seconds": found.travel_time,
        "checked": list(found.checked),
        "not_checked": list(found.not_checked),
        "plan": out_path,
    }


def _print(found: PoseDesign) -> None:
    screen = console()
    robot, identifiable = found.robot, found.identifiable
    rows = table("#", *robot.joint_names)
    for index, pose in enumerate(found.poses):
        rows.add_row(str(index + 1), *(f"{value:.3f}" for value in pose))
    screen.print(rows)
    seconds = f"{found.travel_time:.0f} s of travel at the plan's speeds"
    screen.print(f"\n{len(found.poses)} poses, {seconds}; condition {found.condition:.3g}")
    screen.print("Expected error of a holding torque for 1 N m (N) of noise on every joint:")
    names = [f"{printable(name)} {std:.2g}" for name, std in zip(robot.joint_names, found.torque_std, strict=True)]
    screen.print(f"  {', '.join(names)}")
    determined = [one for one in identifiable.determined if not one.text.endswith(".offset")]
    screen.print(f"\nThey will determine {len(determined)} combinations of masses and first moments:")
    for one in determined:
        screen.print(f"  {printable(one.text)} (± {one.std:.2g} {one.unit})")
    offsets = len(identifiable.determined) - len(determined)
    screen.print(f"and a constant torque of {offsets} of {robot.n} joints.")
    if identifiable.undetermined:
        screen.print(f"They will not determine: {printable(', '.join(identifiable.undetermined))}", style="yellow")
    if identifiable.never_felt:
        screen.print(
            f"Not identifiable from joint torques on this mounting: {printable(', '.join(identifiable.never_felt))}"
        )
    for title, sentences in (("Checked", found.checked), ("Not checked", found.not_checked)):
        screen.print(f"\n{title}:")
        for sentence in sentences:
            screen.print(f"  - {sentence}")
