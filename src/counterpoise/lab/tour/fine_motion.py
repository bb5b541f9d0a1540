"""Last stop of the tour: a motion finer than friction lets PID make, closed on the plate.

Joint 1 alone follows the triangle of [Morel2000], Fig. 8: ±0.1° in 10 s. Both laws are tuned by the one rule of
tasks/tune/gains.py on the same joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...control import Triangle
from ...foundation import Array, frozen
from ...plants import SingleJoint
from ...tasks import Rig, tuned
from ..papers.experiment import Progress
from ..papers.task import TaskRun, follow, rms
from .hidden_arm import HiddenArm

AMPLITUDE, PERIOD = np.deg2rad(0.1), 10.0
BEGIN, END = 2.5, 12.5
"""Part of the motion that is judged [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class FineMotion:
    """A slow triangle with two laws; angles in degrees.

    Attributes:
        time: Shape (k,) [s].
        wanted: Shape (k,).
        pid: Position with PID, shape (k,).
        plate: Position with base sensor control, shape (k,).
        pid_rms: Error of PID.
        plate_rms: Error of base sensor control.
        count: One count of the encoder.
    """

    time: Array
    wanted: Array
    pid: Array
    plate: Array
    pid_rms: float
    plate_rms: float
    count: float

    @property
    def ratio(self) -> float:
        """How many times larger PID's error is."""
        return self.pid_rms / self.plate_rms


def fine_motion(arm: HiddenArm, progress: Progress) -> FineMotion:
    """Tune PID and base sensor control on joint 1, and run both."""

    def rig(run: int = 6) -> Rig:
        plant = SingleJoint.of(arm.true, arm.config.replaced(seed=arm.seed + run), 0)
        return Rig(plant, plant.robot)

    pid = tuned(rig, "pid", progress=lambda share: progress(0.5 * share)).gains
    plate = tuned(rig, "bsc", position=pid, progress=lambda share: progress(0.5 + 0.4 * share)).gains
    runs: list[TaskRun] = []
    for gains in (pid, plate):
        runs.append(follow(rig(7), gains, Triangle([AMPLITUDE], PERIOD), END).after(BEGIN))
        progress(0.9 + 0.05 * len(runs))
    errors = [float(np.rad2deg(rms(run.error()))) for run in runs]
    count = float(np.rad2deg(np.asarray(arm.config.encoder.resolution).ravel()[0]))
    first, second = runs
    wanted, with_pid, with_plate = (frozen(np.rad2deg(path[:, 0])) for path in (first.wanted, first.q, second.q))
    return FineMotion(frozen(first.time), wanted, with_pid, with_plate, errors[0], errors[1], count)
