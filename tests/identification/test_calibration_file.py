"""The calibration file: what was saved comes back, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.fitting import Terms, registered_terms, static_poses
from counterpoise.fitting.chosen_terms import IN_EVERY_FILE
from counterpoise.foundation import Check, Verdict, checksum
from counterpoise.identification import file as calibration_file
from counterpoise.identification.calibration import calibrate
from counterpoise.identification.file import NOT_TRUSTED, load_calibration
from counterpoise.identification.fit import Fit
from counterpoise.identification.pose_design import design_poses
from library.calibration_data import motion, other_masses


@pytest.fixture(scope="module")
def robot() -> cp.Robot:
    return cp.load("wam4")


@pytest.fixture(scope="module")
def fit(robot: cp.Robot) -> Fit:
    q = design_poses(robot, 10)
    random = np.random.default_rng(0)
    tau = other_masses(robot).gravity(q) + 0.05 * random.standard_normal(q.shape)
    return calibrate(robot, static_poses(robot.joint_names, q, tau), serial="A-17", tool="gripper")


@pytest.fixture(scope="module")
def moving_fit() -> Fit:
    robot = cp.load("planar3")
    return calibrate(robot, motion(other_masses(robot), coulomb=0.5, viscous=0.2, noise=0.1), findings=())


@pytest.fixture
def saved(fit: Fit, tmp_path: Path) -> Path:
    return fit.save(tmp_path / "arm.calibration.json")


def assert_same(one: Fit, other: Fit) -> None:
    """Everything but the evidence is equal, number by number; the model's covariance to the digits that a file has."""
    spread = np.sqrt(np.diag(one.model_covariance))
    left, right = one.model_covariance, other.model_covariance
    np.testing.assert_allclose(left / np.outer(spread, spread), right / np.outer(spread, spread), atol=1e-5)
    np.testing.assert_array_equal(one.x, other.x)
    assert one.model.names == other.model.names and one.model.terms == other.model.terms
    assert_equal(one.record(), other.record(), "record")
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (20, one.robot.n))
    np.testing.assert_allclose(one.robot.gravity(q), other.robot.gravity(q), atol=1e-12)


def assert_equal(one: Any, other: Any, at: str) -> None:
    """Types, words and numbers are equal, NaN to NaN; an array is as read-only as it was."""
    assert type(one) is type(other), at
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, err_msg=at)
        assert not other.flags.writeable, at
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), at
        for key, value in one.items():
            assert_equal(value, other[key], f"{at}.{key}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), at
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            assert_equal(left, right, f"{at}[{number}]")
    elif is_dataclass(one):
        for field in fields(one):
            assert_equal(getattr(one, field.name), getattr(other, field.name), f"{at}.{field.name}")
    else:
        assert one == other or repr(one) == repr(other) == "nan", at


def test_a_static_fit_comes_back(fit: Fit, robot: cp.Robot, saved: Path) -> None:
    found = load_calibration(saved, robot)
    assert_same(fit, found)
    assert found.trusted
    assert found.identity.serial == "A-17"
    assert found.evidence is None


def test_a_moving_fit_comes_back_and_predicts_the_same(moving_fit: Fit, tmp_path: Path) -> None:
    found = load_calibration(moving_fit.save(tmp_path / "arm.json"), moving_fit.described)
    assert_same(moving_fit, found)
    q, dq, ddq = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 5, 3))
    for pose in zip(q, dq, ddq, strict=True):
        np.testing.assert_allclose(
            found.robot.inverse_dynamics(*pose), moving_fit.robot.inverse_dynamics(*pose), atol=1e-9
        )


def test_the_file_knows_every_term() -> None:
    """Those of version 2 are always named, later ones where they are fitted."""
    assert len(Terms().table()) == IN_EVERY_FILE
    for term in registered_terms():
        chosen = Terms(**{term.name: term.default or term.asked_for(())})
        assert term.name in chosen.table()
        assert Terms.from_table(chosen.table()) == chosen


def test_loading_needs_the_geometry_not_the_masses(fit: Fit, robot: cp.Robot, saved: Path) -> None:
    """The description may have been given other masses since; the file's count."""
    found = load_calibration(saved, other_masses(robot, seed=5, size=0.4))
    q = np.full(4, 0.3)
    np.testing.assert_allclose(found.robot.gravity(q), fit.robot.gravity(q), atol=1e-12)


def test_a_fit_that_is_not_trusted_says_so_in_name_and_content(fit: Fit, robot: cp.Robot, tmp_path: Path) -> None:
    """... and leaves a trusted file of the asked name alone."""
    good = fit.save(tmp_path / "arm.calibration.json")
    before = good.read_bytes()
    bad = replace(fit, verdict=Verdict((Check("rank", False, "nothing is known"),)))
    written = bad.save(tmp_path / "arm.calibration.json")
    assert written.name == f"arm.{NOT_TRUSTED}.calibration.json"
    assert good.read_bytes() == before
    assert json.loads(written.read_text())["content"]["status"] == NOT_TRUSTED
    found = load_calibration(written, robot)
    assert not found.trusted
    assert found.reasons == ("nothing is known",)
    assert bad.save(tmp_path / "plain.json").name == f"plain.{NOT_TRUSTED}.json"
    assert bad.save(written).name == written.name


def test_another_robot_is_refused(saved: Path) -> None:
    with pytest.raises(cp.errors.DataFileError, match="belongs to robot 'wam4' with joints"):
        load_calibration(saved, cp.load("wam7"))


def test_another_geometry_under_the_same_names_is_refused(fit: Fit, robot: cp.Robot, saved: Path) -> None:
    joints = list(robot.description.joints)
    moved = joints[2].T_parent_joint.copy()
    moved[0, 3] += 0.001
    joints[2] = replace(joints[2], T_parent_joint=moved)
    other = cp.Robot(replace(robot.description, joints=tuple(joints)))
    with pytest.raises(cp.errors.DataFileError, match="another geometry"):
        load_calibration(saved, other)


def test_another_mounting_is_refused(robot: cp.Robot, saved: Path) -> None:
    with pytest.raises(cp.errors.DataFileError, match="mounted"):
        load_calibration(saved, robot.mounted(rpy=(0.0, 0.3, 0.0)))


def test_another_payload_is_refused(fit: Fit, robot: cp.Robot, saved: Path, tmp_path: Path) -> None:
    """The file's weights hold the load it was made with: another one would be swallowed, or counted twice."""
    carrying = robot.with_payload(2.0, com=(0.0, 0.0, 0.1))
    with pytest.raises(cp.errors.DataFileError, match="payload of 0 kg; the robot carries 2 kg"):
        load_calibration(saved, carrying)
    q = design_poses(robot, 10)
    loaded = calibrate(carrying, static_poses(robot.joint_names, q, carrying.gravity(q)))
    written = loaded.save(tmp_path / "loaded.calibration.json")
    with pytest.raises(cp.errors.DataFileError, match="payload of 2 kg"):
        load_calibration(written, robot)
    found = load_calibration(written, carrying)
    np.testing.assert_allclose(found.robot.gravity(q), carrying.gravity(q), atol=1e-9)
    np.testing.assert_allclose(found.robot.without_payload().gravity(q), robot.gravity(q), atol=1e-9)


def test_a_newer_version_is_refused(robot: cp.Robot, saved: Path) -> None:
    document = json.loads(saved.read_text())
    document["version"] = calibration_file.VERSION + 1
    saved.write_text(json.dumps(document))
    with pytest.raises(cp.errors.DataFileError, match="Update counterpoise"):
        load_calibration(saved, robot)


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_earlier_version_is_refused(robot: cp.Robot, saved: Path, version: int) -> None:
    """Its layout was another; the message says what to do."""
    document = json.loads(saved.read_text())
    document["version"] = version
    saved.write_text(json.dumps(document))
    with pytest.raises(cp.errors.DataFileError, match="calibrate again"):
        load_calibration(saved, robot)


def test_a_changed_number_is_noticed(robot: cp.Robot, saved: Path) -> None:
    """A digit of a mass, changed by hand: the checksum tells."""
    document = json.loads(saved.read_text())
    document["content"]["model"]["bodies"][1] += 1e-9
    saved.write_text(json.dumps(document))
    with pytest.raises(cp.errors.DataFileError, match="checksum"):
        load_calibration(saved, robot)


def test_a_status_that_its_checks_contradict_is_refused(robot: cp.Robot, saved: Path) -> None:
    """Not even with a checksum made to fit."""
    document = json.loads(saved.read_text())
    document["content"]["verdict"][0]["passed"] = False
    document["checksum"] = checksum(document["content"])
    saved.write_text(json.dumps(document))
    with pytest.raises(cp.errors.DataFileError, match="contradict"):
        load_calibration(saved, robot)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("model", "bodies"), [1.0]),
        (("model", "values"), []),
        (("model", "coupling"), [[1.0]]),
        (("model", "measured"), [False, False, False, False]),
        (("errors", "heldout"), [1.0]),
        (("covariance",), [[1.0]]),
        (("model", "terms", "offset"), ["elbow"]),
        (("model", "terms", "bodies"), "half"),
        (("data", "samples"), "many"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(robot: cp.Robot, saved: Path, where: tuple[str, ...], value: Any) -> None:
    document = json.loads(saved.read_text())
    table = document["content"]
    for key in where[:-1]:
        table = table[key]
    table[where[-1]] = value
    document["checksum"] = checksum(document["content"])
    saved.write_text(json.dumps(document))
    with pytest.raises(cp.errors.DataFileError):
        load_calibration(saved, robot)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 3}', "nonsense", "[" * 5000, '{"schema": "counterpoise-log"}']
)
def test_what_is_no_calibration_is_refused(robot: cp.Robot, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(cp.errors.DataFileError, match=r"x\.json"):
        load_calibration(path, robot)


def test_a_missing_file_is_refused(robot: cp.Robot, tmp_path: Path) -> None:
    with pytest.raises(cp.errors.DataFileError, match="no such file"):
        load_calibration(tmp_path / "none.json", robot)
    with pytest.raises(cp.errors.DataFileError, match="regular file"):
        load_calibration(tmp_path, robot)


def test_a_file_that_cannot_be_written_is_an_error(fit: Fit, tmp_path: Path) -> None:
    with pytest.raises(cp.errors.DataFileError):
        fit.save(tmp_path / "nowhere" / "arm.calibration.json")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400))
def test_any_bytes_give_a_calibration_or_our_error(tmp_path: Path, robot: cp.Robot, data: bytes) -> None:
    path = tmp_path / "fuzz.json"
    path.write_bytes(data)
    with pytest.raises(cp.errors.DataFileError):
        load_calibration(path, robot)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_gives_the_same_calibration_or_our_error(
    tmp_path: Path, robot: cp.Robot, fit: Fit, data: st.DataObject
) -> None:
    """Bytes cut, doubled or changed anywhere; the checksum is repaired in half of the cases, so that values get
    through."""
    path = fit.save(tmp_path / "fuzz.calibration.json")
    text = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        kind = data.draw(st.sampled_from(("change", "cut", "double")))
        if kind == "change":
            text[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del text[at : at + data.draw(st.integers(1, 50))]
        else:
            text[at:at] = text[at : at + 20]
    if data.draw(st.booleans()):
        try:
            document = json.loads(bytes(text))
            document["checksum"] = checksum(document["content"])
            text = bytearray(json.dumps(document).encode())
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
    path.write_bytes(bytes(text))
    try:
        found = load_calibration(path, robot)
    except cp.errors.DataFileError:
        return
    assert np.isfinite(found.robot.gravity(np.zeros(4))).all()
