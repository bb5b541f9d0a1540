"""The file of a calibrated plate: JSON with schema, version and checksum (calibration/document.py)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ..calibration.document import read_document, refuse_other_robot, robot_identity, robot_table, write_document
from ..calibration.file_schema import RobotTable, rows
from ..description.frozen import frozen
from ..dynamics.inputs import numbers
from ..dynamics.robot import Robot
from ..errors import DataFileError, InputError
from .sensor_calibration import SensorCalibration
from .sensor_prior import SensorPrior
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
    _, plain = read_document(path, SCHEMA, VERSION, "calibrated plate")
    try:
        content = msgspec.convert(plain, _Content)
    except msgspec.ValidationError as error:
        raise DataFileError(f"does not hold what a calibrated plate has: {error}", path=path) from error
    refuse_other_robot(content.robot, robot, path)
    try:
        return _calibration(content)
    except InputError as error:  # numbers that no plate has
        raise DataFileError(f"does not hold together: {error}", path=path) from error


def _calibration(content: _Content) -> SensorCalibration:
    unknown = set(content.prior) - set(SensorPrior.__slots__)
    if unknown:
        raise InputError(f"the prior has no {', '.join(sorted(unknown))}")
    shown = np.array(content.gain_determined, dtype=bool)
    if shown.shape != (6, 6):
        raise InputError(f"gain_determined has shape {shown.shape}; expected (6, 6)")
    given: dict[str, Any] = {name: numbers(getattr(content, name), name, shape) for name, shape in _VECTORS.items()}
    given |= {name: getattr(content, name) for name in _SAME}
    return SensorCalibration(
        frame=WrenchFrame.checked(frozen(content.T_base_sensor), content.reads, gain=content.gain, bias=content.bias),
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
