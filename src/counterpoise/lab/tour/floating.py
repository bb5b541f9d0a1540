"""Third stop of the tour: the arm floats with the calibrated model, after a check that refuses the described one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import SafetyError
from ...foundation import Array, frozen
from ...identification import Fit
from ...plants import Push
from ...tasks import Floating, FloatReport, FloatSettings, Rig
from .hidden_arm import HiddenArm

SHARE = 0.5
"""Share of the friction that is compensated."""
FORCE, PUSH_AFTER, PUSH_TIME, REST_TIME = 15.0, 0.5, 1.0, 4.0
"""Sideways push on the tip [N], when it begins, how long it lasts, and for how long the arm is then watched [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Floated:
    """An arm that was let go.

    Attributes:
        refused: Why the arm may not float with the described model; "" where it may.
        report: How it floated with the calibrated one.
        time: Since it was let go [s], shape (k,).
        tip: Path of its tip from there, by the encoders [m], shape (k, 3).
        moved: How far the push moved the tip [m].
        drifted: How far the tip went in the last seconds of rest [m].
    """

    refused: str
    report: FloatReport
    time: Array
    tip: Array
    moved: float
    drifted: float


def floated(arm: HiddenArm, fit: Fit) -> Floated:
    """Check with both models, float with the calibrated one, push the tip sideways, let go."""
    plant = arm.plant(3)

    def push() -> None:
        now = plant.read().time
        force = (0.0, FORCE, 0.0, 0.0, 0.0, 0.0)
        plant.push(Push(arm.tip, force, start=now + PUSH_AFTER, end=now + PUSH_AFTER + PUSH_TIME))

    floating = Floating(Rig(plant, fit.robot, calibration=fit), FloatSettings(friction_fraction=SHARE), began=push)
    with plant:
        report = floating.run(PUSH_AFTER + PUSH_TIME + REST_TIME, log=True)
    log = None if report.run is None else report.run.log
    if report.run is None or log is None:
        raise SafetyError(f"the arm did not float: {report.reason}")
    driven = report.run.ticks - report.run.stop_ticks
    path = arm.described.forward_kinematics(log.q[:driven], at=arm.tip)[:, :3, 3]
    tip, time = frozen(path - path[0]), frozen(log.time[:driven] - log.time[0])
    rested = int(np.searchsorted(time, PUSH_AFTER + PUSH_TIME + 1.0))
    drifted = float(np.linalg.norm(tip[-1] - tip[rested]))
    return Floated(_refused(arm), report, time, tip, float(np.linalg.norm(tip, axis=1).max()), drifted)


def _refused(arm: HiddenArm) -> str:
    """Return why the check refuses the described model."""
    plant = arm.plant(4)
    floating = Floating(Rig(plant, arm.described), FloatSettings(friction_fraction=SHARE))
    with plant:
        try:
            floating.run(0.1)
        except SafetyError as error:
            return str(error)
    return ""
