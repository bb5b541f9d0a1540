"""The argument SOURCE and its options, shared by every command that reads a robot."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .options import Decorator

if TYPE_CHECKING:
    from ..dynamics import Robot


@dataclass(frozen=True, slots=True)
class Source:
    """Where a robot comes from and how it stands.

    Attributes:
        text: Path or bundled name.
        strict: Refuse a file with warnings.
        allow_xacro: Permit xacro, which runs code.
        xacro_arguments: Values for the xacro file.
        mount_rpy: Roll, pitch, yaw of the base in the world, in the unit of the command line; None for upright.
        rotor_inertia: Rotor inertias as they were stated; None for the file's.
        fixed_joints: Joints that do not move, each as "joint=position", in the unit of the command line.
    """

    text: str
    strict: bool = False
    allow_xacro: bool = False
    xacro_arguments: dict[str, str] = field(default_factory=dict)
    mount_rpy: tuple[float, float, float] | None = None
    rotor_inertia: str | None = None
    fixed_joints: tuple[str, ...] = ()

    def load(self, *, degrees: bool = False) -> Robot:
        """Read the robot, fix the joints that do not move, and put it on its mount.

        Args:
            degrees: The mount's angles and the positions of turning joints are in degrees.

        Raises:
            CounterpoiseError: The robot cannot be read, a joint cannot be fixed, or the mount's angles are no angles in
                rad.
        """
        from ..dynamics import load

        robot = load(self.text, strict=self.strict, allow_xacro=self.allow_xacro, xacro_arguments=self.xacro_arguments)
        if self.fixed_joints:
            robot = robot.locked(_positions(self.fixed_joints, robot, degrees=degrees))
        if self.rotor_inertia is not None:
            robot = robot.with_rotor_inertia(stated_rotors(self.rotor_inertia, robot))
        if self.mount_rpy is None:
            return robot
        angles = [math.radians(angle) for angle in self.mount_rpy] if degrees else list(self.mount_rpy)
        if not all(abs(angle) <= 2.0 * math.pi for angle in angles):  # true for NaN as well
            shown = " ".join(f"{angle:g}" for angle in self.mount_rpy)
            raise InputError(
                f"--mount-rpy {shown} goes beyond one turn; expected angles in {'degrees' if degrees else 'rad'}"
            )
        return robot.mounted(rpy=angles)


def mount_option(default: str = "upright") -> Decorator:
    """Return the option that turns a robot's base, with what holds unless it is given."""
    return click.option(
        "--mount-rpy",
        nargs=3,
        type=float,
        metavar="R P Y",
        help=f"How the base stands: fixed-axis roll, pitch, yaw in the world [rad], as in URDF; default: {default}.",
    )


def rotor_option() -> Decorator:
    """Return the option that states rotor inertias."""
    return click.option(
        "--rotor-inertia",
        metavar="NUMBERS",
        help="Drive inertias at the link side [kg m² or kg], one per joint or some as joint=number, with commas; a "
        "URDF file states none.",
    )


def fix_option() -> Decorator:
    """Return the option that fixes joints which do not move."""
    return click.option(
        "--fix-joint",
        "fixed_joints",
        multiple=True,
        metavar="JOINT=VALUE",
        help="A joint that does not move, such as a gripper's finger, and its position [rad or m]; repeatable. The arm "
        "then has the other joints only, and recordings need no column of this one.",
    )


def _positions(texts: tuple[str, ...], robot: Robot, *, degrees: bool) -> dict[str, float]:
    """Return the positions that --fix-joint states, by joint name [rad or m].

    Raises:
        click.UsageError: One is not joint=number, or names a joint for the second time.
    """
    from ..dynamics import rotary

    turning = dict(zip(robot.joint_names, rotary(robot), strict=True))
    positions: dict[str, float] = {}
    for text in texts:
        name, separator, value = text.rpartition("=")
        try:
            position = float(value)
        except ValueError:
            separator = ""
        if not (separator and name) or name in positions:
            raise click.UsageError(f"--fix-joint {text!r} is not of the form joint=number, each joint once")
        positions[name] = math.radians(position) if degrees and turning.get(name, False) else position
    return positions


def stated_rotors(text: str, robot: Robot) -> list[float] | dict[str, float]:
    """Return the rotor inertias that --rotor-inertia states, in joint order or by name.

    Raises:
        click.UsageError: It is neither.
    """
    parts = [part.strip() for part in text.split(",")]
    try:
        if not any("=" in part for part in parts):
            return [float(part) for part in parts]
        pairs = [part.rpartition("=") for part in parts]
        named = {name.strip(): float(value) for name, separator, value in pairs if separator}
    except ValueError:
        named = {}
    if len(named) != len(parts):
        raise click.UsageError(
            f"--rotor-inertia {text!r} is neither {robot.n} numbers nor joint=number, each joint once, with commas"
        )
    return named


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add SOURCE and its options to a command, which receives them as one ``source``."""

    @functools.wraps(command)
    def gathered(
        source: str,
        strict: bool,
        allow_xacro: bool,
        xacro_argument: tuple[str, ...],
        mount_rpy: tuple[float, float, float] | None,
        rotor_inertia: str | None,
        fixed_joints: tuple[str, ...],
        **others: Any,
    ) -> Any:
        arguments = _xacro_arguments(xacro_argument)
        if arguments and not allow_xacro:
            raise click.UsageError("--xacro-arg needs --allow-xacro: xacro files run code, so ask for it by name")
        asked = Source(source, strict, allow_xacro, arguments, mount_rpy, rotor_inertia, fixed_joints)
        return command(source=asked, **others)

    decorated: Callable[..., Any] = gathered
    for option in (
        rotor_option(),
        fix_option(),
        mount_option(),
        click.option(
            "--xacro-arg",
            "xacro_argument",
            multiple=True,
            metavar="NAME:=VALUE",
            help="Value of an argument of the xacro file; repeatable.",
        ),
        click.option(
            "--allow-xacro", is_flag=True, help="Permit .xacro files; they run code, so only those you trust."
        ),
        click.option("--strict", is_flag=True, help="Treat warnings about the description as an error."),
        click.argument("source"),
    ):
        decorated = option(decorated)
    return decorated


def _xacro_arguments(given: tuple[str, ...]) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for text in given:
        name, separator, value = text.partition(":=")
        if not (name and separator):
            raise click.UsageError(f"--xacro-arg {text!r} is not of the form name:=value")
        if name in arguments:
            raise click.UsageError(f"--xacro-arg {name!r} is given twice")
        arguments[name] = value
    return arguments
