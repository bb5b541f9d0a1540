"""One benchmark run: robots, copying and imports measured, and all of it as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...dynamics import NATIVE, load
from .machine import COPY_BAR, CopyResult, import_seconds, machine, measure_copy
from .peer import peer_of, peer_version
from .robot import FULL, QUICK, Effort, Operation, RobotResult, measure_robot
from .timing import COUNTS_CPU_TIME


@dataclass(frozen=True, slots=True)
class Results:
    """All figures of one run.

    Attributes:
        machine: Processor, system, versions, load.
        instruction_set: That of the native kernel, "" where NumPy computes.
        peer: Version of Pinocchio, None where it is not installed.
        effort: How long was measured.
        robots: One result per robot.
        copy: Gravity beside copying the poses, on the first robot.
        imports: Time to import each module in a fresh interpreter [s].
    """

    machine: dict[str, Any]
    instruction_set: str
    peer: str | None
    effort: Effort
    robots: tuple[RobotResult, ...]
    copy: CopyResult
    imports: dict[str, float | None]

    def as_data(self) -> dict[str, Any]:
        """Return everything as JSON-ready data; times in s per call or per pose."""
        return {
            "machine": self.machine,
            "instruction_set": self.instruction_set or None,
            "clock": "CPU time of the thread" if COUNTS_CPU_TIME else "wall",
            "pinocchio": self.peer,
            "effort": asdict(self.effort),
            "robots": [_robot_data(result) for result in self.robots],
            "copy": {
                "robot": self.copy.robot,
                "poses": self.copy.poses,
                "seconds": {code: timing.as_data() for code, timing in self.copy.times.items()},
                "gravity_over_fresh_copy": asdict(self.copy.over_fresh_copy),
                "gravity_over_copy": asdict(self.copy.over_copy),
                "bar": COPY_BAR if self.instruction_set else None,
            },
            "import_seconds": self.imports,
        }


def measure(
    sources: Sequence[str], *, quick: bool = False, progress: Callable[[float, float], None] | None = None
) -> Results:
    """Run the benchmark.

    Args:
        sources: Files or bundled names.
        quick: Measure for seconds instead of half a minute.
        progress: Called after each round with the rounds that are done and those in all.

    Raises:
        CounterpoiseError: A robot cannot be read, or has no joint, or the two libraries disagree.
    """
    effort = QUICK if quick else FULL
    if not NATIVE:  # the NumPy kernel takes microseconds per pose, and the bar is not meant for it
        effort = replace(effort, copy_poses=effort.copy_poses // 50)
    robots = [load(source) for source in sources]
    steps = len(robots) * (effort.rounds + effort.batch_rounds) + effort.batch_rounds + effort.imports
    done = 0

    def after_round() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    return Results(
        machine=machine(),
        instruction_set=NATIVE,
        peer=peer_version(),
        effort=effort,
        robots=tuple(measure_robot(robot, peer_of(robot), effort, NATIVE, after_round) for robot in robots),
        copy=measure_copy(robots[0], effort, after_round),
        imports=import_seconds(("numpy", "counterpoise"), effort.imports, after_round),
    )


def _robot_data(result: RobotResult) -> dict[str, Any]:
    return {
        "name": result.robot.name,
        "joints": result.robot.n,
        "largest_difference": result.largest_difference,
        "operations": [_operation_data(operation) for operation in result.operations],
    }


def _operation_data(operation: Operation) -> dict[str, Any]:
    return {
        "key": operation.key,
        "statement": operation.code,
        "poses": operation.poses,
        "seconds": operation.ours.as_data(),
        "pinocchio_statement": operation.peer_code or None,
        "pinocchio_seconds": None if operation.peer is None else operation.peer.as_data(),
        "ratio": None if operation.ratio is None else asdict(operation.ratio),
        "bar": None if operation.bar is None else operation.bar.least,
        "aim": None if operation.bar is None else operation.bar.aim,
        "passes": operation.passes,
    }
