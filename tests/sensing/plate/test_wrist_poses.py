"""A wrist sensor from poses at rest: honest deviations, degenerate poses named, held-out check, file and command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.errors import DataFileError, InputError
from counterpoise.foundation import checksum, rotation_from_rpy, rotation_from_vector, rotation_vector, transform
from counterpoise.sensing.wrist_calibration import (
    WristFit,
    WristPoses,
    calibrate_wrist_poses,
    load_wrist_fit,
    wrist_poses,
)

Array = npt.NDArray[np.float64]
ROBOT = cp.load("puma560")
LINK = ROBOT.link_names[-1]
MASS, COM = 1.3, np.array([0.01, -0.02, 0.08])
BIAS = np.array([5.0, -3.0, 12.0, 0.4, -0.2, 0.1])
NOISE = np.array([0.3, 0.3, 0.3, 0.02, 0.02, 0.02])
MOUNT = transform(rotation_from_rpy([0.0, 0.0, 0.4]), [0.0, 0.0, 0.05])
TILT = np.array([0.03, -0.02, 0.0])


def poses_at(q: Array, random: np.random.Generator, *, sign: float = 1.0, tilt: bool = False) -> WristPoses:
    """Readings by plain statics: the tool's weight along the sensor's axes, its moment about the sensor's origin."""
    gravity = rotation_from_vector(TILT) @ ROBOT.gravity_base if tilt else ROBOT.gravity_base
    axes = ROBOT.forward_kinematics(q, at=LINK)[:, :3, :3] @ MOUNT[:3, :3]
    weight = MASS * np.einsum("kji,j->ki", axes, gravity)
    reading = sign * np.hstack([weight, np.cross(COM, weight)]) + BIAS + NOISE * random.normal(size=(len(q), 6))
    return WristPoses(q, reading, "rows of a table")


def drawn(seed: int, count: int, **more: object) -> WristPoses:
    random = np.random.default_rng([17, seed])
    lower, upper = np.maximum(ROBOT.lower, -2.0), np.minimum(ROBOT.upper, 2.0)
    return poses_at(random.uniform(lower, upper, (count, ROBOT.n)), random, **more)  # type: ignore[arg-type]


def errors(fit: WristFit) -> Array:
    """All errors in units of their stated deviations."""
    found = [(fit.mass - MASS) / fit.mass_std, *((fit.com - COM) / fit.com_std), *((fit.bias - BIAS) / fit.bias_std)]
    away = rotation_vector(fit.T_link_sensor[:3, :3].T @ MOUNT[:3, :3])
    turned = {"none": [], "axis": [2], "full": [0, 1, 2]}[fit.turn]
    found += (away[turned] / fit.turn_std[turned]).tolist()
    if fit.tilt_std:
        found.append((fit.tilt - float(np.linalg.norm(TILT))) / fit.tilt_std)
    return np.array(found)


@pytest.mark.parametrize(
    ("count", "turn", "tilt", "start"),
    [
        (6, "none", False, MOUNT),
        (12, "none", False, MOUNT),
        (10, "axis", False, transform(np.eye(3), MOUNT[:3, 3])),
        (12, "full", True, transform(rotation_from_rpy([0.1, -0.1, 0.2]), MOUNT[:3, 3])),
    ],
)
def test_two_deviations_hold_95_per_cent(count: int, turn: str, tilt: bool, start: Array) -> None:
    """40 draws: between 90 and 99 % of all numbers lie within two of their stated deviations."""
    found = []
    for seed in range(40):
        poses = drawn(seed, count, tilt=tilt)
        fit = calibrate_wrist_poses(ROBOT, poses, link=LINK, T_link_sensor=start, turn=turn, tilt=tilt)  # type: ignore[arg-type]
        found.append(errors(fit))
        assert count < 10 or fit.trusted
    inside = float(np.mean(np.abs(np.array(found)) < 2.0))
    assert 0.90 < inside < 0.99


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sign_is_that_of_a_positive_mass(sign: float) -> None:
    fit = calibrate_wrist_poses(ROBOT, drawn(0, 12, sign=sign), link=LINK, T_link_sensor=MOUNT)
    assert fit.reads == ("on_robot" if sign > 0.0 else "on_tool")
    assert np.all(np.abs(errors(fit)) < 4.0)
    other = "on_tool" if sign > 0.0 else "on_robot"
    with pytest.raises(InputError, match="a mass is positive"):
        calibrate_wrist_poses(ROBOT, drawn(0, 12, sign=sign), link=LINK, T_link_sensor=MOUNT, reads=other)  # type: ignore[arg-type]


def test_any_turn_about_the_axis_is_found() -> None:
    for angle in np.linspace(-3.0, 3.0, 9):
        start = transform(rotation_from_rpy([0.0, 0.0, 0.4 + float(angle)]), MOUNT[:3, 3])
        fit = calibrate_wrist_poses(ROBOT, drawn(1, 12), link=LINK, T_link_sensor=start, turn="axis", reads="on_robot")
        away = rotation_vector(fit.T_link_sensor[:3, :3].T @ MOUNT[:3, :3])
        assert np.all(np.abs(away) < 4.0 * fit.turn_std + 1e-9)


def test_degenerate_poses_are_named() -> None:
    """One orientation is refused; turns about one axis leave a centre open, with a deviation that says so."""
    random = np.random.default_rng(0)
    still = np.tile(np.array([0.3, -0.5, 0.4, 0.0, 0.2, 0.0]), (8, 1))
    still[:, 0] = np.linspace(-1.0, 1.0, 8)  # turns about the vertical: gravity stays where it is
    with pytest.raises(InputError, match="keeps its orientation to gravity"):
        calibrate_wrist_poses(ROBOT, poses_at(still, random), link=LINK, T_link_sensor=MOUNT)
    line = np.tile(np.array([0.0, -0.5, 0.4, 0.0, 0.0, 0.0]), (10, 1))
    line[:, 4] = np.linspace(-0.25, 0.25, 10)  # the wrist nods a little: gravity moves along a line of the sensor
    fit = calibrate_wrist_poses(ROBOT, poses_at(line, random), link=LINK, T_link_sensor=MOUNT)
    assert not fit.trusted and not all(fit.determined.values())
    assert any("Not shown by these orientations" in sentence for sentence in fit.sentences)
    assert np.all(np.abs(np.where(np.isfinite(fit.com_std), fit.com - COM, 0.0)) < 5.0 * np.maximum(fit.com_std, 1e-9))
    with pytest.raises(InputError, match="no link"):
        calibrate_wrist_poses(ROBOT, drawn(0, 8), link="nowhere")


def test_a_wrong_mount_shows_in_the_held_out_poses() -> None:
    """A sensor turned by 0.4 rad from where it is said to be: predicted forces are off by more than they may."""
    fit = calibrate_wrist_poses(ROBOT, drawn(0, 12), link=LINK, T_link_sensor=transform(np.eye(3), MOUNT[:3, 3]))
    assert not fit.trusted and float(np.max(fit.heldout[:3])) > 3.0 * NOISE[0]


def test_poses_of_a_recording_and_of_a_table() -> None:
    """An arm that stands for a second at each pose gives their means; rows of a table are poses."""
    poses = drawn(3, 8)
    share = np.clip(np.linspace(0.0, 2.0, 200), 0.0, 1.0)[:, None]
    q = np.concatenate([a + (b - a) * share for a, b in zip(poses.q[:-1], poses.q[1:], strict=True)])
    axes = ROBOT.forward_kinematics(q, at=LINK)[:, :3, :3] @ MOUNT[:3, :3]
    weight = MASS * np.einsum("kji,j->ki", axes, ROBOT.gravity_base)
    random = np.random.default_rng(0)
    wrench = np.hstack([weight, np.cross(COM, weight)]) + BIAS + NOISE * random.normal(size=(len(q), 6))
    nothing = np.full(q.shape, np.nan)
    log = cp.Log(ROBOT.joint_names, 0.01 * np.arange(len(q)), q, nothing, nothing, wrench=wrench)
    found = wrist_poses(ROBOT, log, use="static")
    assert len(found.q) == 7
    np.testing.assert_allclose(found.q, poses.q[1:], atol=1e-3)
    fit = calibrate_wrist_poses(ROBOT, found, link=LINK, T_link_sensor=MOUNT)
    assert fit.mass == pytest.approx(MASS, abs=4.0 * fit.mass_std)
    table = cp.Log(ROBOT.joint_names, np.arange(8.0), poses.q, nothing[:8], nothing[:8], wrench=poses.reading)
    assert len(wrist_poses(ROBOT, table, use="rows").q) == 8
    with pytest.raises(InputError, match="at least 4"):
        wrist_poses(ROBOT, table[:3], use="rows")


def test_the_file_and_what_it_is_good_for(tmp_path: Path) -> None:
    fit = calibrate_wrist_poses(ROBOT, drawn(0, 12), link=LINK, T_link_sensor=MOUNT)
    path = fit.save(tmp_path / "arm.wrist.json")
    again = load_wrist_fit(path, ROBOT)
    assert again.mass == fit.mass and np.array_equal(again.bias, fit.bias) and again.verdict == fit.verdict
    other = drawn(9, 5)
    contact = again.calibration(ROBOT).contact_wrench(other.q, other.reading)
    assert np.all(np.abs(contact) < 6.0 * NOISE + 0.05)
    assert fit.tilt == 0.0 and fit.calibration(ROBOT).robot is ROBOT
    leans = replace(fit, tilt=0.1, gravity_base=rotation_from_rpy([0.1, 0.0, 0.0]) @ ROBOT.gravity_base)
    assert leans.calibration(ROBOT).robot.gravity_base == pytest.approx(leans.gravity_base)
    with pytest.raises(DataFileError, match="belongs to robot"):
        load_wrist_fit(path, cp.load("wam7"))
    text = json.loads(path.read_text())
    text["content"]["mass"] = -1.0
    path.write_text(json.dumps(text))
    with pytest.raises(DataFileError, match="checksum"):
        load_wrist_fit(path, ROBOT)


def written(path: Path, place: tuple[object, ...], value: object) -> None:
    """Change one value of a file's content, with a checksum that fits."""
    document = json.loads(path.read_text())
    inside = document["content"]
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    path.write_text(json.dumps(document | {"checksum": checksum(document["content"])}))


def test_what_is_not_known_stays_infinite_in_the_file(tmp_path: Path) -> None:
    """A wrist that turned about one axis only: part of the centre is not stated."""
    fit = calibrate_wrist_poses(ROBOT, drawn(0, 12), link=LINK, T_link_sensor=MOUNT)
    unknown = replace(fit, com_std=np.array([0.001, np.inf, 0.002]), tilt_std=np.inf)
    again = load_wrist_fit(unknown.save(tmp_path / "arm.wrist.json"), ROBOT)
    np.testing.assert_array_equal(again.com_std, unknown.com_std)
    assert again.tilt_std == np.inf and again.identity == fit.identity
    for name in WristFit.__dataclass_fields__:
        one, other = getattr(unknown, name), getattr(again, name)
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else repr(one) == repr(other), name


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("mass",), -1.0, "mass is -1"),
        (("mass",), None, "mass is nan"),
        (("mass_std",), 1e300, "mass_std is"),
        (("com",), [0.0, 0.0], "com has shape"),
        (("com", 1), 1e3, r"com\[1\] is 1000"),
        (("com", 1), None, r"com\[1\] is nan"),
        (("com_std", 0), -1.0, r"com_std\[0\] is -1"),
        (("bias", 0), 1e300, r"bias\[0\] is"),
        (("gravity_base",), [0.0, 0.0, 0.0], "gravity_base is 0"),
        (("T_link_sensor", 0, 0), 7.0, "T_link_sensor is no pose"),
        (("T_link_sensor", 0, 3), 1e300, "T_link_sensor"),
        (("poses",), 10**400, "poses is inf"),
        (("link",), "nothing", "no link 'nothing'"),
        (("reads",), "both", "does not hold what"),
        (("turn",), "some", "does not hold what"),
        (("verdict", 0, "passed"), 1, "does not hold what"),
        (("identity", "gravity_base"), [0.0, 0.0, None], "does not hold what"),
        (("identity", "gravity_base"), [0.0, 0.0, 1e9], "gravity_base holds"),
        (("surprise",), 1, "surprise"),
    ],
)
def test_a_file_with_impossible_numbers_is_refused(
    tmp_path: Path, place: tuple[object, ...], value: object, words: str
) -> None:
    fit = calibrate_wrist_poses(ROBOT, drawn(0, 12), link=LINK, T_link_sensor=MOUNT)
    path = fit.save(tmp_path / "arm.wrist.json")
    written(path, place, value)
    with pytest.raises(DataFileError, match=words) as caught:
        load_wrist_fit(path, ROBOT)
    assert str(path) in str(caught.value)
