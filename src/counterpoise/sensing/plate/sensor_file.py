"""The file of a calibrated plate: its calibration as it is, read for one robot and with numbers that a plate has."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...dynamics import Robot
from ...foundation import refuse_beyond, refuse_shape, write_document
from ...identification import read_for_robot
from .sensor_calibration import SensorCalibration
from .wrench_frame import WrenchFrame

SCHEMA = "counterpoise-sensor"
VERSION = 2

SPREADS = {
    **dict.fromkeys(("noise", "frame_error", "zero_error", "bias_std", "drift_std", "signal"), (6,)),
    **dict.fromkeys(("residual_before", "residual_after", "heldout"), (6,)),
    **dict.fromkeys(("rotation_std", "origin_std"), (3,)),
    "gain_std": (6, 6),
}
"""Fields that are deviations, and their shapes."""
MOST_ORIGIN = 100.0
"""Farthest that a plate can lie from the base's origin [m]."""
MOST_GAIN = 10.0
"""A channel's own gain lies between this and its inverse; a fraction of a foreign component, per metre, within it."""
MOST_READING = 1e6
"""Zeros, noise and errors of a reading [N, N m]."""
MOST_LAG = 10.0
"""[s]."""


def save_sensor_calibration(calibration: SensorCalibration, path: str | Path) -> Path:
    """Write a calibrated plate, all or nothing.

    Returns:
        The file that was written.

    Raises:
        DataFileError: It cannot be written.
    """
    return write_document(path, SCHEMA, VERSION, calibration)


def load_sensor_calibration(path: str | Path, robot: Robot) -> SensorCalibration:
    """Read a calibrated plate for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter.

    Raises:
        DataFileError: The file cannot be read, is of another kind, is damaged, was written by another version, or
            belongs to another robot or mounting; the message says which.
    """
    kind = "calibrated plate"
    return read_for_robot(path, robot, SensorCalibration, _checked, schema=SCHEMA, version=VERSION, kind=kind)


def _checked(found: SensorCalibration) -> SensorCalibration:
    """Return the calibration of a file; refuse numbers that no plate has.

    Raises:
        InputError: A shape does not fit, or a number lies beyond its bound; the message names its field.
    """
    frame = found.frame
    WrenchFrame.checked(frame.T_base_sensor, frame.reads, point=frame.point, gain=frame.gain, bias=frame.bias)
    own = np.diag(frame.gain)
    refuse_beyond("frame.T_base_sensor", frame.T_base_sensor, -MOST_ORIGIN, MOST_ORIGIN)
    refuse_beyond("frame.point", frame.point, -MOST_ORIGIN, MOST_ORIGIN)
    refuse_beyond("frame.gain", own, 1.0 / MOST_GAIN, MOST_GAIN)
    refuse_beyond("frame.gain", frame.gain - np.diag(own), -MOST_GAIN, MOST_GAIN)
    refuse_beyond("frame.bias", frame.bias, -MOST_READING, MOST_READING)
    for name, shape in SPREADS.items():
        refuse_shape(name, getattr(found, name), shape)
        refuse_beyond(name, getattr(found, name), 0.0, MOST_READING)
    refuse_shape("drift", found.drift, (6,))
    refuse_shape("gain_determined", found.gain_determined, (6, 6))
    refuse_beyond("drift", found.drift, -MOST_READING, MOST_READING)
    refuse_beyond("lag", found.lag, -MOST_LAG, MOST_LAG)
    refuse_beyond("lag_std", found.lag_std, 0.0, np.inf)
    refuse_beyond("reference", found.reference, -1e15, 1e15)
    refuse_beyond("cutoff", found.cutoff, 0.0, MOST_READING)
    refuse_beyond("samples", found.samples, 0.0, 1e15)
    refuse_beyond("outliers", found.outliers, 0.0, 1.0)
    return found
