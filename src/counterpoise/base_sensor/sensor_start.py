"""Where a plate's calibration starts: sign, rough axes and lag, as the doctor's comparison finds them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from ..description.frozen import Array
from ..doctor.cost import AMBIGUOUS
from ..doctor.finding import LogFault
from ..doctor.plate import BELIEVED, UNRELATED, check_plate
from ..doctor.plate_fit import PlateClass, PlateFit, PlateModel, axes_of, fit_plate
from ..doctor.prepared import CUTOFF, Prepared, prepare
from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.filters import filtered
from ..logs.log import Log
from .sensor_data import PlateData
from .sensor_fit import Start
from .sensor_split import Mounting


@dataclass(frozen=True, slots=True, eq=False)
class FoundStart:
    """A start and how sure it is.

    Attributes:
        start: The start.
        declared: The plate as declared, gain 1 and no lag.
        sign_shown: Whether the recording tells the sign apart from a half turn and the like.
    """

    start: Start
    declared: Start
    sign_shown: bool


def find_start(robot: Robot, log: Log, data: PlateData, parts: Collection[str]) -> FoundStart:
    """Return where to start.

    Args:
        robot: The robot.
        log: The recording; what it declares of the plate is what the start is measured against.
        data: The recording, prepared.
        parts: What is to be fitted; rotation and lag stay as declared where they are not.

    Raises:
        InputError: The readings have nothing to do with the model, or come from left-handed axes or mixed signs.
    """
    declared = log.declared
    sign = -1.0 if declared.sensor_reads == "on_sensor" else 1.0
    pose = np.eye(4) if declared.T_base_sensor is None else np.asarray(declared.T_base_sensor)
    rotation, origin = np.array(pose[:3, :3]), np.array(pose[:3, 3])
    as_declared = Start(sign, Mounting(rotation, origin, np.eye(6)), 0.0)
    fit = fit_plate(PlateModel(robot, _slow(data), pose, sign))
    if fit.mismatch > UNRELATED:
        raise InputError(
            f"what the plate reads has no relation to the robot's model: {fit.mismatch:.0%} of mx and my are left over "
            "whatever axes, sign and lag are tried. Check that robot, joint order, units and the plate's columns are "
            "right (counterpoise doctor), and that nothing touches the arm"
        )
    kind, angles, lag = fit.kind, np.array([fit.yaw, *fit.tilt]), fit.lag
    axes = axes_of(kind, angles, rotation)
    if axes is None:
        kind, axes = _other_class(robot, log, fit, rotation)
    flipped = kind.force < 0.0 and not kind.mirrored
    if "rotation" not in parts:
        flipped = flipped and abs(fit.yaw) < 0.5 * math.pi
        axes = rotation
    start = Start(-sign if flipped else sign, Mounting(axes, origin, np.eye(6)), lag if "lag" in parts else 0.0)
    return FoundStart(start, as_declared, fit.margin > AMBIGUOUS)


def _slow(data: PlateData) -> Prepared:
    """Return the recording as the doctor looks at it: accelerations of coarse encoders would drown the rest."""
    smooth, cutoff = data.smooth, min(data.cutoff, CUTOFF)
    q, dq, ddq = (filtered(smooth.q, smooth.dt, cutoff, derivative=order) for order in range(3))
    reading = filtered(data.reading, smooth.dt, cutoff)
    return replace(smooth, q=q, dq=dq, ddq=ddq, wrench=reading, good=data.usable, cutoff=cutoff)


def _other_class(robot: Robot, log: Log, fit: PlateFit, declared: Array) -> tuple[PlateClass, Array]:
    """Return the runner-up and its axes where the best class is no turned plate and not sure either; refuse else."""
    runner_up, yaw = fit.runner_up
    unsure = fit.gain < BELIEVED or fit.margin < AMBIGUOUS
    axes = axes_of(runner_up, np.array([yaw, 0.0, 0.0]), declared)
    if unsure and axes is not None:
        return runner_up, axes
    blamed = (LogFault.PLATE_HANDEDNESS, LogFault.PLATE_SIGN)
    findings = [one for one in check_plate(robot, log, prepare(log)) if one.fault in blamed]
    told = " ".join(f"{one.sentence} {one.remedy}" for one in findings[:1]) or (
        "The plate's axes are left-handed, or forces and moments have opposite signs."
    )
    raise InputError(f"the plate cannot be calibrated as it is mapped. {told}")
