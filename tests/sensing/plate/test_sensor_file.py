"""The file of a calibrated plate: what was saved comes back, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.identification import checksum
from counterpoise.sensing.plate.sensor_calibration import SensorCalibration, calibrate_sensor
from counterpoise.sensing.plate.sensor_file import VERSION, load_sensor_calibration
from library.plate_recordings import random_truth, recorded


@pytest.fixture(scope="module")
def robot() -> cp.Robot:
    return cp.load("puma560")


@pytest.fixture(scope="module")
def found(robot: cp.Robot) -> SensorCalibration:
    return calibrate_sensor(robot, recorded(robot, random_truth(0), 0, np.arange(0.0, 20.0, 0.02)))


@pytest.fixture
def saved(found: SensorCalibration, tmp_path: Path) -> Path:
    return found.save(tmp_path / "plate.json")


def test_what_was_saved_comes_back(robot: cp.Robot, found: SensorCalibration, saved: Path) -> None:
    """Every number, word and name."""
    again = load_sensor_calibration(saved, robot)
    for name in SensorCalibration.__dataclass_fields__:
        one, other = getattr(found, name), getattr(again, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other, err_msg=name)
        elif name != "frame":
            assert one == other, name
    # A pose is made a rotation again on reading: one rounding.
    np.testing.assert_allclose(again.frame.to_base, found.frame.to_base, rtol=1e-12, atol=1e-12)


def test_another_robot_or_mounting_is_refused(robot: cp.Robot, saved: Path) -> None:
    with pytest.raises(cp.errors.DataFileError, match="belongs to robot"):
        load_sensor_calibration(saved, cp.load("wam7"))
    with pytest.raises(cp.errors.DataFileError, match="mounted"):
        load_sensor_calibration(saved, robot.mounted(rpy=(0.0, 0.5, 0.0)))


def change(path: Path, *, sign: bool = True, **changes: object) -> None:
    """Change a file's content, with a checksum that fits or not."""
    document = json.loads(path.read_text())
    document["content"] |= changes
    if sign:
        document["checksum"] = checksum(document["content"])
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"lag": 0.5}, "checksum"),
        ({"sign": True, "gain": [[1.0]]}, "hold together"),
        ({"sign": True, "noise": [1.0]}, "hold together"),
        ({"sign": True, "reads": "both"}, "does not hold what"),
        ({"sign": True, "extra": 1}, "does not hold what"),
        ({"sign": True, "prior": {"luck": 1.0}}, "hold together"),
        ({"sign": True, "gain_determined": [[True]]}, "hold together"),
    ],
)
def test_damage_is_noticed(robot: cp.Robot, saved: Path, changes: dict[str, object], match: str) -> None:
    """A changed number, a missing row, an unknown word."""
    change(saved, **({"sign": False} | changes))
    with pytest.raises(cp.errors.DataFileError, match=match):
        load_sensor_calibration(saved, robot)


def test_other_files_are_refused(robot: cp.Robot, saved: Path, tmp_path: Path) -> None:
    """A newer version, another schema, no JSON, no file, no folder to write to."""
    document = json.loads(saved.read_text())
    saved.write_text(json.dumps(document | {"version": VERSION + 1}))
    with pytest.raises(cp.errors.DataFileError, match="Update counterpoise"):
        load_sensor_calibration(saved, robot)
    saved.write_text(json.dumps(document | {"schema": "counterpoise-calibration"}))
    with pytest.raises(cp.errors.DataFileError, match="no calibrated plate"):
        load_sensor_calibration(saved, robot)
    saved.write_text("{")
    with pytest.raises(cp.errors.DataFileError, match="not JSON"):
        load_sensor_calibration(saved, robot)
    with pytest.raises(cp.errors.DataFileError):
        load_sensor_calibration(tmp_path / "none.json", robot)


def test_a_folder_that_does_not_exist(found: SensorCalibration, tmp_path: Path) -> None:
    with pytest.raises(cp.errors.DataFileError, match="cannot be written"):
        found.save(tmp_path / "nowhere" / "plate.json")
