"""The options of every command that reads a recording: whose it is, how the arm stands, what its columns mean."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from .output import Progressing, warn
from .source import Source, fix_option, mount_option

if TYPE_CHECKING:
    from ..dynamics import Robot
    from ..recording import Log, ReadingBudget


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How recordings are read.

    Attributes:
        mapping: Path of a mapping file; None where the columns' names tell.
        recover: Read what is intact of damaged files.
        budget: What they may cost; None for the default.
    """

    mapping: str | None
    recover: bool
    budget: ReadingBudget | None = None

    @property
    def given(self) -> bool:
        """Whether anything was asked for."""
        return self.mapping is not None or self.recover or self.budget is not None

    def log(self, files: Sequence[str], robot: Robot | None) -> Log:
        """Read files that belong together, with a progress bar."""
        from ..recording import read_log

        with Progressing(f"reading {files[0]}") as bar:
            log = read_log(
                list(files),
                robot,
                self.mapping,
                recover=self.recover,
                progress=lambda done: bar.update(done, 1.0),
                budget=self.budget,
            )
        for entry in log.declared.notes.get("recovered", ()):
            warn(f"{entry['file']}: {entry['rows']} rows read, {entry['left_out']} left out; {entry['reason']}")
        return log

    def robot_and_log(self, arm: Source, files: Sequence[str]) -> tuple[Robot, Log]:
        """Read a robot and its recording; without --mount-rpy the robot stands as the recording declares."""
        import numpy as np

        robot = arm.load()
        log = self.log(files, robot)
        if arm.mount_rpy is None and log.declared.gravity_base is not None:
            robot = robot.mounted(rotation=np.eye(3), gravity=log.declared.gravity_base)
        return robot, log


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --mapping, --recover and --budget to a command, which receives them as one ``reading``."""

    @functools.wraps(command)
    def gathered(mapping: str | None, recover: bool, budgets: tuple[str, ...], **others: Any) -> Any:
        return command(reading=ReadingOptions(mapping, recover, _budget(budgets)), **others)

    decorated = click.option(
        "--budget",
        "budgets",
        metavar="NAME=AMOUNT",
        multiple=True,
        help="Raise what recordings may cost: memory=8GB, rows=1e8, unpacked=10GB, topics, columns, orders.",
    )(gathered)
    decorated = click.option(
        "--recover", is_flag=True, help="Read what is intact of damaged files, without their rows of garbage."
    )(decorated)
    return click.option(
        "--mapping", metavar="FILE.toml", help="What a recording's columns mean where their names do not say it."
    )(decorated)


def _budget(texts: tuple[str, ...]) -> ReadingBudget | None:
    if not texts:
        return None
    from ..recording import ReadingBudget

    return ReadingBudget().raised(texts)


def arm_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --robot, --mount-rpy and --fix-joint to a command; it receives one ``arm``, None where none is given."""

    @functools.wraps(command)
    def gathered(
        robot_name: str | None,
        mount_rpy: tuple[float, float, float] | None,
        fixed_joints: tuple[str, ...],
        **others: Any,
    ) -> Any:
        if robot_name is None and (mount_rpy is not None or fixed_joints):
            raise click.UsageError(f"{'--fix-joint' if mount_rpy is None else '--mount-rpy'} needs --robot")
        arm = None if robot_name is None else Source(robot_name, mount_rpy=mount_rpy, fixed_joints=fixed_joints)
        return command(arm=arm, **others)

    decorated = fix_option()(gathered)
    decorated = mount_option("as the recording declares, else upright")(decorated)
    return click.option(
        "--robot", "robot_name", metavar="SOURCE", help="The recording's arm: a file or the name of a bundled arm."
    )(decorated)
