"""The file of a calibrated plate: JSON with schema, version and checksum (identification/document.py)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ...dynamics import Robot, numbers
from ...errors import InputError
from ...identification import (
    RobotTable,
    read_for_robot,
    refuse_beyond,
    robot_identity,
    robot_table,
    rows,
    write_document,
)
from .sensor_calibration import SensorCalibration
from .sensor_fit import SensorPrior
from .wrench_frame import WrenchFrame

SCHEMA = "counterpoise-sensor"
VERSION = 1

Row = tuple[float, ...]
_VECTORS = {
    **dict.fromkeys(("drift", "noise", "frame_error", "zero_error", "bias_std", "drift_std", "signal"), (6,)),
    **dict.fromkeys(("residual_before", "residual_after", "heldout"), (6,)),
    **dict.fromkeys(("rotation_std", "origin_std"), (3,)),
    "gain_std": (6, 6),
}
MOST_ORIGIN = 100.0
"""Farthest that a plate can lie from the base's origin [m]."""
MOST_GAIN = 10.0
"""A channel's own gain lies between this and its inverse; a share of a foreign component, per metre, within it."""
MOST_READING = 1e6
"""Zeros, noise and errors of a reading [N, N m]."""
MOST_LAG = 10.0
"""[s]."""
_SAME = ("lag", "lag_std", "drift_per", "reference", "masses", "cutoff", "samples", "outliers", "sentences")


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that the checksum covers; names and units as in SensorCalibration."""

    robot: RobotTable
    created: str
    package: str
    data_sha256: str
    T_base_sensor: tuple[Row, ...]
    reads: Literal["on_robot", "on_sensor"]
    gain: tuple[Row, ...]
    bias: Row
    lag: float
    lag_std: float
    drift: Row
    drift_per: Literal["s", "K"]
    reference: float
    noise: Row
    frame_error: Row
    zero_error: Row
    rotation_std: Row
    origin_std: Row
    bias_std: Row
    gain_std: tuple[Row, ...]
    drift_std: Row
    determined: dict[str, bool]
    gain_determined: tuple[tuple[bool, ...], ...]
    signal: Row
    residual_before: Row
    residual_after: Row
    heldout: Row
    masses: str
    prior: dict[str, float]
    cutoff: float
    samples: int
    outliers: float
    sentences: tuple[str, ...]


def save_sensor_calibration(calibration: SensorCalibration, path: str | Path) -> Path:
    """Write a calibrated plate, all or nothing.

    Returns:
        The file that was written.

    Raises:
        DataFileError: It cannot be written.
    """
    frame = calibration.frame
    vectors = {name: getattr(calibration, name).tolist() for name in _VECTORS}
    content = msgspec.to_builtins(
        {
            "robot": robot_table(calibration.identity, calibration.joint_names),
            "created": calibration.created,
            "package": calibration.version,
            "data_sha256": calibration.data_sha256,
            "T_base_sensor": rows(frame.T_base_sensor),
            "reads": frame.reads,
            "gain": rows(frame.gain),
            "bias": frame.bias.tolist(),
            "determined": dict(calibration.determined),
            "gain_determined": calibration.gain_determined.tolist(),
            "prior": asdict(calibration.prior),
            **vectors,
            **{name: getattr(calibration, name) for name in _SAME},
        }
    )
    write_document(path, SCHEMA, VERSION, content)
    return Path(path)


def load_sensor_calibration(path: str | Path, robot: Robot) -> SensorCalibration:
    """Read a calibrated plate for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter.

    Raises:
        DataFileError: The file cannot be read, is of another kind, is damaged, was written by a newer version, or
            belongs to another robot or mounting; the message says which.
    """
    return read_for_robot(path, robot, _Content, _calibration, schema=SCHEMA, newest=VERSION, kind="calibrated plate")


def _calibration(content: _Content) -> SensorCalibration:
    unknown = set(content.prior) - set(SensorPrior.__slots__)
    if unknown:
        raise InputError(f"the prior has no {', '.join(sorted(unknown))}")
    if [len(row) for row in content.gain_determined] != [6] * 6:
        raise InputError("gain_determined is no matrix of six rows and columns")
    shown = np.array(content.gain_determined, dtype=bool)
    given: dict[str, Any] = {name: numbers(getattr(content, name), name, shape) for name, shape in _VECTORS.items()}
    given |= {name: getattr(content, name) for name in _SAME}
    frame = WrenchFrame.checked(content.T_base_sensor, content.reads, gain=content.gain, bias=content.bias)
    _refuse_impossible(content, frame)
    return SensorCalibration(
        frame=frame,
        determined=dict(content.determined),
        gain_determined=shown,
        prior=SensorPrior(**content.prior),
        identity=robot_identity(content.robot),
        joint_names=content.robot.joints,
        data_sha256=content.data_sha256,
        created=content.created,
        version=content.package,
        **given,
    )


def _refuse_impossible(content: _Content, frame: WrenchFrame) -> None:
    """Refuse numbers that no plate has.

    Raises:
        InputError: A number lies beyond its bound; the message names its field.
    """
    own = np.diag(frame.gain)
    checks: list[tuple[str, Any, float, float]] = [
        ("T_base_sensor", frame.T_base_sensor[:3, 3], -MOST_ORIGIN, MOST_ORIGIN),
        ("gain", own, 1.0 / MOST_GAIN, MOST_GAIN),
        ("gain", frame.gain - np.diag(own), -MOST_GAIN, MOST_GAIN),
        ("bias", frame.bias, -MOST_READING, MOST_READING),
        ("lag", content.lag, -MOST_LAG, MOST_LAG),
        ("lag_std", content.lag_std, 0.0, np.inf),
        ("drift", content.drift, -MOST_READING, MOST_READING),
        ("reference", content.reference, -1e15, 1e15),
        ("cutoff", content.cutoff, 0.0, MOST_READING),
        ("samples", float(content.samples), 0.0, 1e15),
        ("outliers", content.outliers, 0.0, 1.0),
    ]
    spreads = (name for name in _VECTORS if name != "drift")
    checks += [(name, getattr(content, name), 0.0, MOST_READING) for name in spreads]
    for check in checks:
        refuse_beyond(*check)
