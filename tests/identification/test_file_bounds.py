"""Absurd numbers with a right checksum: one of our errors that names the field, or a robot of bounded gravity."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.fitting import Terms, static_poses
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.document import checksum
from counterpoise.identification.file import FileBounds, load_calibration
from counterpoise.identification.pose_design import design_poses
from counterpoise.sensing import (
    SensorCalibration,
    TrigonometricTable,
    calibrate_sensor,
    load_sensor_calibration,
    load_table,
    save_table,
)
from library.calibration_data import motion, other_masses
from library.plate_recordings import random_truth, recorded

Path_ = tuple[Any, ...]
ABSURD: list[Any] = [
    *(1e300, -1e300, 1.7e308, 1e150, 1e40, -1e12, 1e9, -1.0, 0.0, 5e-324, 10**400, -(10**25)),
    *(None, True, "1e300", "", [], {}, [1e300], "nan"),
]
ARM = cp.load("wam4")
POSES = np.random.default_rng(3).uniform(-3.0, 3.0, (50, ARM.n))


def places(content: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Where each leaf of a document stands."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from places(value, (*at, key))
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from places(value, (*at, index))
        yield at
    else:
        yield at


def changed(document: dict[str, Any], place: Path_, value: Any) -> str:
    """Return the file with one leaf changed and the checksum made right."""
    made = copy.deepcopy(document)
    inside = made["content"]
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    made["checksum"] = checksum(made["content"])
    return json.dumps(made)


@pytest.fixture(scope="module")
def static_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    q = design_poses(ARM, 14)
    tau = other_masses(ARM).gravity(q) + 0.05 * np.random.default_rng(0).standard_normal(q.shape)
    terms = Terms(bodies="gravity", counterbalance=("joint2",), spring=("joint4",), tilt=True)
    fit = calibrate(ARM, static_poses(ARM.joint_names, q, tau), terms=terms)
    return fit.save(tmp_path_factory.mktemp("static") / "arm.calibration.json")


@pytest.fixture(scope="module")
def moving_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    robot = cp.load("planar3")
    fit = calibrate(robot, motion(other_masses(robot), coulomb=0.5, viscous=0.2, noise=0.1), findings=())
    return fit.save(tmp_path_factory.mktemp("moving") / "arm.calibration.json")


def bounded(robot: cp.Robot, described: cp.Robot) -> bool:
    """Whether gravity and friction-free dynamics are finite and no more than an arm of this size can need."""
    poses = POSES[:, : robot.n]
    torque = robot.n * 10.0 * FileBounds.of(described, "N m").torque
    return bool(np.abs(robot.gravity(poses)).max() < torque)


def assert_refused_or_bounded(text: str, path: Path, robot: cp.Robot) -> None:
    path.write_text(text)
    try:
        fit = load_calibration(path, robot)
    except cp.CounterpoiseError as error:
        assert str(path) in str(error)
        return
    assert np.isfinite(fit.robot.gravity(POSES[:, : robot.n])).all()
    assert bounded(fit.robot, robot)
    assert np.isfinite(fit.x).all() and np.isfinite(fit.covariance).all()
    assert np.linalg.eigvalsh(fit.covariance)[0] > -1e-3 * max(1e-12, float(np.abs(fit.covariance).max()))
    assert np.all((fit.torque_rms >= 0.0) | np.isnan(fit.torque_rms))


@given(data=st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_number_made_absurd_is_refused_or_harmless(
    static_file: Path, moving_file: Path, tmp_path: Path, data: st.DataObject
) -> None:
    file, robot = data.draw(st.sampled_from([(static_file, ARM), (moving_file, cp.load("planar3"))]), label="file")
    document = json.loads(file.read_text())
    sections = sorted({place[0] for place in places(document["content"])})
    section = data.draw(st.sampled_from(sections), label="section")
    place = data.draw(st.sampled_from([at for at in places(document["content"]) if at[0] == section]), label="place")
    value = data.draw(st.sampled_from(ABSURD) | st.floats(allow_nan=False, allow_infinity=False), label="value")
    assert_refused_or_bounded(changed(document, place, value), tmp_path / "changed.json", robot)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("data", "samples"), 10**400, r"data\.samples is inf"),
        (("model", "bodies", 0), 1e300, r"model\.bodies\[0\] is 1e\+300"),
        (("model", "bodies", 3), -1e9, r"model\.bodies\[3\] is -1e\+09"),
        (("model", "values", 1), 1e200, r"model\.values\[1\] \(.*\) is 1e\+200"),
        (("model", "coupling", 0), [1e30, 0.0, 0.0, 0.0], r"model\.coupling\[0\]\[0\]"),
        (("parameters", 0, "std"), -1.0, r"parameters\[0\]\.std is -1"),
        (("parameters", 0, "value"), 1e300, r"parameters\[0\]\.value"),
        (("covariance", 0, 0), -1.0, "covariance"),
        (("covariance", 0, 1), 1e3, "covariance"),
        (("errors", "heldout", 0), -3.0, r"errors\.heldout\[0\]"),
        (("errors", "fitted", 0), 1e250, r"errors\.fitted\[0\]"),
        (("errors", "stiffness", 0), -1.0, r"errors\.stiffness\[0\]"),
        (("data", "lower", 0), 1e5, r"data\.lower\[0\] is 100000, above"),
        (("errors", "gravity", 0), -7.0, r"errors\.gravity\[0\]"),
        (("verdict",), [], "verdict holds no check"),
    ],
)
def test_the_field_is_named(static_file: Path, tmp_path: Path, place: Path_, value: Any, words: str) -> None:
    document = json.loads(static_file.read_text())
    if place == ("verdict",):
        document["content"]["status"] = "trusted"
    path = tmp_path / "changed.json"
    path.write_text(changed(document, place, value))
    with pytest.raises(cp.errors.DataFileError, match=words):
        load_calibration(path, ARM)


def test_masses_that_differ_much_but_can_be_are_read(static_file: Path, tmp_path: Path) -> None:
    """A description with placeholder masses is no reason to refuse."""
    document = json.loads(static_file.read_text())
    heavy = document["content"]["model"]["bodies"]
    path = tmp_path / "heavy.json"
    path.write_text(changed(document, ("model", "bodies"), [20.0 * value for value in heavy]))
    assert load_calibration(path, ARM).robot.total_mass > 5.0 * ARM.total_mass


@pytest.fixture(scope="module")
def plate(tmp_path_factory: pytest.TempPathFactory) -> tuple[SensorCalibration, Path]:
    robot = cp.load("puma560")
    found = calibrate_sensor(robot, recorded(robot, random_truth(0), 0, np.arange(0.0, 20.0, 0.02)))
    return found, found.save(tmp_path_factory.mktemp("plate") / "plate.json")


@given(data=st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_plates_file_is_refused_or_harmless(
    plate: tuple[SensorCalibration, Path], tmp_path: Path, data: st.DataObject
) -> None:
    """Torques that a loaded plate makes of a plausible reading stay within what a plate may be off by."""
    robot = cp.load("puma560")
    document = json.loads(plate[1].read_text())
    place = data.draw(st.sampled_from(list(places(document["content"]))), label="place")
    value = data.draw(st.sampled_from(ABSURD), label="value")
    path = tmp_path / "plate.json"
    path.write_text(changed(document, place, value))
    try:
        found = load_sensor_calibration(path, robot)
    except cp.CounterpoiseError:
        return
    wrench = found.frame.wrench(np.full((1, 6), 100.0))
    assert np.abs(wrench).max() < 1e10
    assert np.all(np.isfinite(found.sensor(robot).joint_torques(np.zeros(6), np.full(6, 100.0))))


@pytest.mark.parametrize("field", ["gain", "bias", "T_base_sensor", "lag", "noise", "outliers", "cutoff"])
def test_a_plates_field_is_named(plate: tuple[SensorCalibration, Path], tmp_path: Path, field: str) -> None:
    document = json.loads(plate[1].read_text())
    given_value = document["content"][field]
    place: Path_ = {"gain": (field, 2, 2), "T_base_sensor": (field, 0, 3)}.get(
        field, (field, 0) if isinstance(given_value, list) else (field,)
    )
    path = tmp_path / "plate.json"
    path.write_text(changed(document, place, 50.0 if field == "gain" else -1e7))
    with pytest.raises(cp.errors.DataFileError, match=f"{field} holds"):
        load_sensor_calibration(path, cp.load("puma560"))


def test_a_tables_moments_are_bounded(tmp_path: Path) -> None:
    robot = cp.load("puma560")
    path = tmp_path / "table.json"
    save_table(TrigonometricTable.from_model(robot), path)
    document = json.loads(path.read_text())
    assert load_table(path, robot).source == "model"
    for field, value in (("coefficients", [[1e300, 0.0, 0.0]]), ("constant", [0.0] * 5 + [1e200])):
        made = copy.deepcopy(document)
        made[field][: len(value)] = value
        path.write_text(json.dumps(made))
        with pytest.raises(cp.errors.DataFileError, match=f"{field} holds"):
            load_table(path, robot)
