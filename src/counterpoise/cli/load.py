"""``counterpoise load``: what a file describes, at a glance.

The robot's tree is shown as lines of text: chains run straight down, only branches are indented.

.. code-block:: text

    base
    │ joint1 → link1
    ├─ camera_mount → camera      a side frame: nothing moves beyond it
    │ joint2 → link2
    ├─┬ left_1 → left_upper       here the arm branches
    │ └ left_2 → left_fore
    └─┬ right_1 → right_upper
      └ right_2 → right_fore

A serial arm of 30 links is as narrow as one of 3, and every line is one row of a table.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..description import Description, Joint, JointKind
from .options import exit_codes, json_option
from .output import console, limit, print_json, printable, table
from .source import Source, source_options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..description import Link
    from ..dynamics import Robot


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One link with the joint that leads to it.

    Attributes:
        stem: Box characters before the names.
        joint: Joint that leads to the link; None for the base.
        link: Name of the link.
    """

    stem: str
    joint: Joint | None
    link: str

    @property
    def label(self) -> str:
        """Names of joint and link."""
        return self.link if self.joint is None else f"{self.joint.name} → {self.link}"

    @property
    def is_fixed(self) -> bool:
        """True where a fixed joint leads to the link."""
        return self.joint is not None and self.joint.kind is JointKind.FIXED


def tree_lines(description: Description) -> list[TreeLine]:
    """Return the lines of a checked description, depth first, children in file order."""
    children: defaultdict[str, list[Joint]] = defaultdict(list)
    for joint in description.joints:
        children[joint.parent].append(joint)
    moving = _links_with_motion_beyond(description)
    lines = [TreeLine("", None, description.root)]
    # (joint, indentation of its line, what its line begins with, indentation of what follows below it)
    pending: list[tuple[Joint, str, str, str]] = []

    def push(link: str, indentation: str) -> None:
        """Queue the children of a link whose chain runs down at the given indentation."""
        siblings = children[link]
        sides = [joint for joint in siblings[:-1] if not _moves(joint, moving)]
        straight = len(sides) == len(siblings) - 1  # all but the last are side frames: the chain goes on with the last
        queued: list[tuple[Joint, str, str, str]] = []
        for joint in siblings:
            is_last = joint is siblings[-1]
            if is_last and straight:
                begins = "│ " if children[joint.child] else "└ "
                queued.append((joint, indentation, begins, indentation))
            else:
                bar, gap = ("└─", "  ") if is_last else ("├─", "│ ")
                queued.append((joint, indentation, bar + ("┬ " if children[joint.child] else " "), indentation + gap))
        pending.extend(reversed(queued))

    push(description.root, "")
    while pending:
        joint, indentation, begins, below = pending.pop()
        lines.append(TreeLine(indentation + begins, joint, joint.child))
        push(joint.child, below)
    return lines


def _moves(joint: Joint, moving: set[str]) -> bool:
    return joint.kind is not JointKind.FIXED or joint.child in moving


def _links_with_motion_beyond(description: Description) -> set[str]:
    """Names of the links below which some joint moves."""
    joint_to = {joint.child: joint for joint in description.joints}
    found: set[str] = set()
    for joint in description.joints:
        if joint.kind is JointKind.FIXED:
            continue
        link = joint.parent
        while link not in found:
            found.add(link)
            if link == description.root:
                break
            link = joint_to[link].parent
    return found


EXAMPLES = """\b
Examples:
  counterpoise load wam7
  counterpoise load arm.urdf --strict          exit code 1 if anything is suspicious
  counterpoise load arm.urdf.xacro --allow-xacro --xacro-arg prefix:=left_
  counterpoise load wam7 --mount-rpy 0 1.5708 0     on a wall
  counterpoise load arm.urdf --json | jq .total_mass
""" + exit_codes("done", "with --strict: a warning")


@click.command(epilog=EXAMPLES)
@source_options
@json_option
def load(source: Source, as_json: bool) -> None:
    """Show what a file or a bundled arm describes.

    SOURCE is a file (.urdf, .xml for MJCF, .toml for a DH table, .xacro) or the name of a bundled arm. Printed are the
    tree of links and joints, the masses, the limits, the gravity parameters that torques can reveal, and what is
    suspicious about the file.
    """
    robot = source.load()
    if as_json:
        print_json(_document(robot))
        return
    screen = console()
    _print_head(screen, robot)
    screen.print()
    screen.print(_tree_table(robot))
    if robot.n:
        screen.print()
        screen.print(_joint_table(robot))
    screen.print()
    _print_parameters(screen, robot)
    for warning in robot.warnings:
        screen.print(f"warning: {printable(warning)}", style="yellow", soft_wrap=True)


def _document(robot: Robot) -> dict[str, Any]:
    """Return everything about a robot as JSON-ready data; unlimited and unknown become null."""
    description = robot.description
    by_name = {joint.name: joint for joint in description.joints}
    rotors = np.where(robot.rotor_inertia_known, robot.rotor_inertia, math.nan)
    values = (robot.lower, robot.upper, robot.velocity_limit, robot.effort_limit, rotors)
    fields = ("lower", "upper", "velocity_limit", "effort_limit", "rotor_inertia")
    return {
        "name": robot.name,
        "summary": description.summary,
        "path": description.path,
        "convention": description.convention,
        "n": robot.n,
        "joint_names": robot.joint_names,
        "link_names": robot.link_names,
        "root": description.root,
        "total_mass": robot.total_mass,
        "gravity_world": robot.gravity_world,
        "gravity_base": robot.gravity_base,
        "mount": robot.mount,
        "joints": [
            {"name": name, "kind": by_name[name].kind.value}
            | {field: float(value[index]) for field, value in zip(fields, values, strict=True)}
            for index, name in enumerate(robot.joint_names)
        ],
        "tree": {
            "links": [_link_data(link) for link in description.links],
            "joints": [_joint_data(joint) for joint in description.joints],
        },
        "gravity_parameters": _named(robot.gravity_parameter_names, robot.gravity_parameters.tolist()),
        "base_gravity_parameters": _named(robot.base_parameters.names, robot.base_gravity_parameters.tolist()),
        "warnings": robot.warnings,
    }


def _named(names: tuple[str, ...], values: list[float]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in zip(names, values, strict=True)]


def _link_data(link: Link) -> dict[str, Any]:
    inertia = link.inertia
    return {
        "name": link.name,
        "mass": None if inertia is None else inertia.mass,
        "com": None if inertia is None else inertia.com,
        "inertia_com": None if inertia is None else inertia.tensor_com,
        "line": link.line,
    }


def _joint_data(joint: Joint) -> dict[str, Any]:
    mimic = joint.mimic
    return {
        "name": joint.name,
        "kind": joint.kind.value,
        "parent": joint.parent,
        "child": joint.child,
        "axis": joint.axis if joint.kind.value != "fixed" else None,
        "T_parent_joint": joint.T_parent_joint,
        "T_joint_child": joint.T_joint_child,
        "lower": joint.lower,
        "upper": joint.upper,
        "mimic": None
        if mimic is None
        else {"joint": mimic.master, "multiplier": mimic.multiplier, "offset": mimic.offset},
        "line": joint.line,
    }


def _print_head(screen: Console, robot: Robot) -> None:
    from rich.text import Text

    description = robot.description
    kinds = Counter(joint.kind.value for joint in description.joints if joint.name in set(robot.joint_names))
    kinds_shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    title = Text(printable(robot.name), style="bold")
    title.append(
        f"  {robot.n} joint{'' if robot.n == 1 else 's'} ({kinds_shown})" if robot.n else "  no joint", style="not bold"
    )
    title.append(
        f", {len(robot.link_names)} link{'' if len(robot.link_names) == 1 else 's'}, {robot.total_mass:.3f} kg",
        style="not bold",
    )
    screen.print(title)
    if description.summary:
        screen.print(printable(description.summary))
    gravity = ", ".join(f"{value:.4g}" for value in robot.gravity_base)
    form = {"tree": "", "dh-standard": "standard DH, ", "dh-modified": "modified DH, "}[description.convention]
    screen.print(f"{form}gravity in the base frame ({gravity}) m/s²", style="dim")


def _tree_table(robot: Robot) -> Table:
    from rich.text import Text

    rows = table("joint → link", "kind", "axis", "range", "mass [kg]", left=("joint → link", "kind", "axis", "range"))
    inertia_of = {link.name: link.inertia for link in robot.description.links}
    for line in tree_lines(robot.description):
        inertia = inertia_of[line.link]
        mass = "–" if inertia is None else f"{inertia.mass:.3f}"
        name = Text(line.stem + printable(line.label), style="bold" if line.joint is None else "")
        rows.add_row(name, *_joint_cells(line), mass, style="dim" if line.is_fixed else "")
    return rows


def _joint_cells(line: TreeLine) -> tuple[str, str, str]:
    """Return kind, axis and range of the joint that leads to a link."""
    joint = line.joint
    if joint is None:
        return "base", "", ""
    if line.is_fixed:
        return "fixed", "", ""
    axis = " ".join(f"{value:.3g}" for value in joint.axis + 0.0)
    axes = {"1 0 0": "x", "0 1 0": "y", "0 0 1": "z", "-1 0 0": "-x", "0 -1 0": "-y", "0 0 -1": "-z"}
    if joint.mimic is not None:
        multiple = printable(f"{joint.mimic.multiplier:g} × {joint.mimic.master}")
        return joint.kind.value, axes.get(axis, axis), f"mimics {multiple}"
    unit = "rad" if joint.kind.rotates else "m"
    bounded = limit(joint.lower) + limit(joint.upper) != "––"
    span = f"{limit(joint.lower)} … {limit(joint.upper)} {unit}" if bounded else "–"
    return joint.kind.value, axes.get(axis, axis), span


def _joint_table(robot: Robot) -> Table:
    by_name = {joint.name: joint for joint in robot.description.joints}
    rotates = {by_name[name].kind.rotates for name in robot.joint_names}
    position, speed, effort, rotor = {
        frozenset({True}): ("rad", "rad/s", "N m", "kg m²"),
        frozenset({False}): ("m", "m/s", "N", "kg"),
    }.get(frozenset(rotates), ("rad | m", "rad/s | m/s", "N m | N", "kg m² | kg"))
    rows = table(
        *("#", "joint", "kind", f"lower\n[{position}]", f"upper\n[{position}]", f"velocity\n[{speed}]"),
        *(f"effort\n[{effort}]", f"rotor inertia\n[{rotor}]"),
        left=("joint", "kind"),
    )
    for index, name in enumerate(robot.joint_names):
        values = (robot.lower, robot.upper, robot.velocity_limit, robot.effort_limit)
        rows.add_row(
            str(index),
            printable(name),
            by_name[name].kind.value,
            *(limit(float(value[index])) for value in values),
            f"{robot.rotor_inertia[index]:.4g}" if robot.rotor_inertia_known[index] else "unknown",
        )
    return rows


def _print_parameters(screen: Console, robot: Robot) -> None:
    from rich.text import Text

    names = robot.base_parameters.names
    text = Text(f"{len(names)} base gravity parameter{'' if len(names) == 1 else 's'}: ", style="bold")
    text.append(printable(", ".join(names) or "no joint feels gravity"), style="not bold")
    screen.print(text)
