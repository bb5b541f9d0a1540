"""Second stop of the tour: calibrate the model on the fixed recording, and hold it against other poses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...foundation import Array
from ...identification import Fit, Verification, calibrate, load_calibration, verify
from ...recording import Log
from .hidden_arm import HiddenArm

TRIED = 500
"""Random poses at which the model is held against the hidden truth."""


@dataclass(frozen=True, slots=True, eq=False)
class Modelled:
    """A calibrated model.

    Attributes:
        fit: The calibration, as it was read back from its file.
        path: The file.
        verification: The calibration against poses that it has not seen.
        described_error: What gravity torques of the description are off by, rms over random poses [N m], shape (n,);
            known because the arm is simulated.
        calibrated_error: The same of the calibrated model.
    """

    fit: Fit
    path: Path
    verification: Verification
    described_error: Array
    calibrated_error: Array


def modelled(arm: HiddenArm, fixed: Log, fresh: Log, folder: Path) -> Modelled:
    """Calibrate, save, load, verify."""
    path = folder / "arm.calibration.json"
    calibrate(arm.described, fixed).save(path)
    fit = load_calibration(path, arm.described)
    robot = arm.true
    poses = np.random.default_rng(arm.seed).uniform(robot.lower, robot.upper, (TRIED, robot.n))
    true = robot.gravity(poses)
    described, calibrated = (
        np.sqrt(np.mean((model.gravity(poses) - true) ** 2, axis=0)) for model in (arm.described, fit.robot)
    )
    return Modelled(fit, path, verify(fit, fresh), described, calibrated)
