"""What surrounds the arithmetic: the machine, the time to import, and the time to copy the poses."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...dynamics import Robot
from .robot import Effort, random_poses
from .timing import Ratio, RoundTimes, Statement, time_interleaved

COPY_BAR = 4.0
"""Most that gravity of many poses may take, in times of copying the array that holds them."""
LARGEST_COPY = 24_000_000
"""Numbers in the array that is copied, at most: 192 MB."""

_IMPORT = "import time; begun = time.perf_counter(); import {module}; print(time.perf_counter() - begun)"


@dataclass(frozen=True, slots=True)
class CopyResult:
    """Gravity of many poses beside copying them; all times per pose.

    Attributes:
        robot: Name of the robot.
        poses: How many poses.
        times: By statement.
        over_fresh_copy: gravity(Q, T) over Q.copy(), which has to get memory first.
        over_copy: gravity(Q, T) over copying into an array that exists.
    """

    robot: str
    poses: int
    times: dict[str, RoundTimes]
    over_fresh_copy: Ratio
    over_copy: Ratio


def measure_copy(robot: Robot, effort: Effort, after_round: Callable[[], None]) -> CopyResult:
    """Time gravity of a large batch beside copying the batch."""
    poses = max(1, min(effort.copy_poses, LARGEST_COPY // max(robot.n, 1)))
    Q = random_poses(robot, poses)
    names = {"robot": robot, "np": np, "Q": Q, "T": np.empty_like(Q), "C": np.empty_like(Q)}
    codes = ("robot.gravity(Q, T)", "np.copyto(C, Q)", "Q.copy()", "robot.gravity(Q)")
    times = time_interleaved(
        {code: Statement(code, names, poses) for code in codes},
        rounds=effort.batch_rounds,
        seconds=effort.batch_seconds,
        after_round=after_round,
    )
    ours = times["robot.gravity(Q, T)"]
    return CopyResult(
        robot.name, poses, times, Ratio.of(ours, times["Q.copy()"]), Ratio.of(ours, times["np.copyto(C, Q)"])
    )


def import_seconds(modules: tuple[str, ...], times: int, after_round: Callable[[], None]) -> dict[str, float | None]:
    """Return how long each import takes in a fresh interpreter [s], median; None where it could not be started."""
    found: dict[str, list[float]] = {module: [] for module in modules}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for _ in range(times):
        for module in modules:
            command = [sys.executable, "-c", _IMPORT.format(module=module)]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode == 0:
                found[module].append(float(done.stdout.split()[-1]))
        after_round()
    return {module: statistics.median(seconds) if seconds else None for module, seconds in found.items()}


def machine() -> dict[str, Any]:
    """Return what the figures depend on: processor, system, versions and how busy the machine is."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "counterpoise": __version__,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
