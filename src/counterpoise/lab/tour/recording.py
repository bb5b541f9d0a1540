"""First stop of the tour: record poses, and let the doctor say what is wrong with the recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...doctor import Diagnosis, diagnose
from ...foundation import Array
from ...identification import PosePlan, design_poses
from ...recording import Log, LogMapping, read_log, write_log, write_mapping
from ...tasks import Recording, Rig
from ..papers.experiment import Progress
from .hidden_arm import HiddenArm

POSES, FRESH_POSES = 7, 3
"""Poses for the calibration, and for checking it."""
DWELL = 1.2
"""Time at rest on each side of a pose [s]."""
TRAVEL_SPEED = 1.2
"""From pose to pose [rad/s]: the visitor waits, and nothing stands in the arm's way."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A recording and what the doctor says of it.

    Attributes:
        path: The file as the arm's logger wrote it.
        mapping: The mapping that fixes it; None where the doctor has none.
        seconds: How long the arm moved.
        diagnosis: What is wrong with the file.
        fixed: The recording, read again with the mapping.
    """

    path: Path
    mapping: Path | None
    seconds: float
    diagnosis: Diagnosis
    fixed: Log


def recorded(arm: HiddenArm, folder: Path, progress: Progress) -> Recorded:
    """Record the poses, write the file, look at it, mend it, read it again."""
    path = folder / "recording.csv"
    log = _drive(arm, _poses(arm), 1, progress)
    write_log(arm.as_logged(log), path)
    found = diagnose(arm.described, read_log(path, arm.described))
    mapping = None
    if found.fix:
        mapping = folder / "fixed.toml"
        write_mapping(LogMapping.from_table(found.fix), mapping)
    fixed = read_log(path, arm.described, mapping)
    return Recorded(path, mapping, float(log.time[-1] - log.time[0]), found, fixed)


def fresh(arm: HiddenArm, mapping: Path | None, folder: Path, progress: Progress) -> Log:
    """Record other poses, midway between those of the calibration, read with the same mapping."""
    path = folder / "fresh.csv"
    poses = _poses(arm)
    between = 0.5 * (poses[:-1] + poses[1:])
    write_log(arm.as_logged(_drive(arm, between[:FRESH_POSES], 2, progress)), path)
    return read_log(path, arm.described, mapping)


def _poses(arm: HiddenArm) -> Array:
    return design_poses(arm.described, count=POSES, seed=1)


def _drive(arm: HiddenArm, poses: Array, run: int, progress: Progress) -> Log:
    robot = arm.described
    plan = PosePlan.of(robot, poses, dwell=DWELL, travel_speed=np.full(robot.n, TRAVEL_SPEED))
    plant = arm.plant(run)
    recording = Recording(Rig(plant, robot), plan)
    with plant:
        return recording.run(lambda done, total: progress(done / total))
