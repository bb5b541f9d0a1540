"""Turn and tilt of a plate: what is stated, when it is declared, leaves nothing; the same words and numbers everywhere.

Recordings are made here by hand, or by MuJoCo's own force sensor: a shared helper would share its sign.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.cli.estimate import _sensor
from counterpoise.doctor import Finding, LogFault, PlateTurn, check_plate
from counterpoise.recording import Declared, Motion, remapped
from counterpoise.sensing import calibrate_sensor

ROBOT = cp.load("puma560")
RATE, HEIGHT = 100.0, -0.35
TIME = np.arange(0.0, 24.0, 1.0 / RATE)
NUMBER = r"(-?[0-9]+\.[0-9]+)"


def motion(robot: cp.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, dq, ddq along sums of sines."""
    random = np.random.default_rng(3)
    omega = 2.0 * np.pi * random.uniform(0.05, 0.4, (3, robot.n))
    phase, size = random.uniform(0.0, 2.0 * np.pi, (3, robot.n)), random.uniform(0.2, 0.45, (3, robot.n))
    angle = omega * TIME[:, None, None] + phase
    q = 0.3 + np.sum(size * np.sin(angle), axis=1)
    dq = np.sum(size * omega * np.cos(angle), axis=1)
    return q, dq, -np.sum(size * omega**2 * np.sin(angle), axis=1)


MOTION = motion(ROBOT)


def about(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    """Return the right-handed rotation by ``angle`` [rad] about a unit axis, by Rodrigues' formula."""
    x, y, z = axis
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * k + (1.0 - math.cos(angle)) * k @ k


def stated_rotation(yaw: float, x: float, y: float, *, upside_down: bool = False) -> np.ndarray:
    """Return the rotation that stated degrees mean: half a turn about x or none, the yaw, the tilt."""
    size = math.hypot(x, y)
    tilt = about((x / size, y / size, 0.0), math.radians(size)) if size > 0.0 else np.eye(3)
    begin = about((1.0, 0.0, 0.0), math.pi) if upside_down else np.eye(3)
    return begin @ about((0.0, 0.0, 1.0), math.radians(yaw)) @ tilt


def pose(rotation: np.ndarray) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[2, 3] = rotation, HEIGHT
    return made


def read_by(true: np.ndarray, declared: np.ndarray, moments: float = 1.0) -> cp.Log:
    """Return a recording of a plate whose axes are ``true`` in the base, and that is declared otherwise.

    Axes may be left-handed; ``moments`` is the sign of the moment channels.
    """
    q, dq, ddq = MOTION
    wrench = ROBOT.base_wrench(q, dq, ddq)
    force, moment = wrench[:, :3], wrench[:, 3:] - np.cross([0.0, 0.0, HEIGHT], wrench[:, :3])
    reading = np.concatenate([force @ true, moments * moment @ true], axis=1)  # each row is (Rᵀ f)ᵀ
    reading += np.random.default_rng(0).normal(size=reading.shape) * ([0.2] * 3 + [0.02] * 3)
    told = Declared(effort_kind="torque", sensor_reads="on_robot", T_base_sensor=pose(declared), time_from="stamp")
    return cp.Log(ROBOT.joint_names, TIME, q, dq, np.zeros_like(q), wrench=reading, declared=told)


def findings_of(log: cp.Log, robot: cp.Robot = ROBOT) -> list[Finding]:
    return check_plate(robot, log, Motion.on_grid(log))


def stated(findings: list[Finding]) -> np.ndarray:
    """Return the rotation that the doctor's sentences state, read from their text alone."""
    text = " ".join(finding.sentence for finding in findings)
    yaw = re.search(rf"turned by {NUMBER} ±", text)
    tilt = re.search(rf"tilted by {NUMBER}° about its x axis and {NUMBER}° about its y axis", text)
    x, y = (float(number) for number in tilt.groups()) if tilt else (0.0, 0.0)
    return stated_rotation(float(yaw[1]) if yaw else 0.0, x, y, upside_down="upside down" in text)


def degrees_between(one: np.ndarray, other: np.ndarray) -> float:
    return math.degrees(math.acos(np.clip(0.5 * (np.trace(one.T @ other) - 1.0), -1.0, 1.0)))


def fixed_by(fix: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return what a fix multiplies forces by, and moments, shapes (3, 3)."""
    if "rotation" in fix["wrench"]:
        return np.array(fix["wrench"]["rotation"]), np.array(fix["wrench"]["rotation"])
    matrix = np.array(fix["wrench"]["matrix"])
    np.testing.assert_array_equal(matrix[:3, 3:], 0.0)
    np.testing.assert_array_equal(matrix[3:, :3], 0.0)
    return matrix[:3, :3], matrix[3:, 3:]


PRINTED = 0.02
"""What rounding of three angles to 0.01° may change [degrees]."""
SURE = 5.0
"""Standard deviations from which a part is stated."""


def doubt(findings: list[Finding]) -> float:
    """Return how far what is stated may be from the truth [degrees]: four standard deviations.

    A part that is not sure is not stated, and may itself be SURE of them.
    """
    text = " ".join(finding.sentence for finding in findings)
    stds = np.array(findings[0].evidence["std_deg"])
    factors = [4.0 + (0.0 if "turned by" in text else SURE), *[4.0 + (0.0 if "tilted by" in text else SURE)] * 2]
    return float(np.linalg.norm(stds * factors)) + PRINTED


YAWS = st.floats(-180.0, 180.0)
TILTS = st.tuples(st.floats(-15.0, 15.0), st.floats(-15.0, 15.0))


@given(yaw=YAWS, tilt=TILTS, declared_yaw=st.sampled_from([0.0, 0.0, -70.0, 130.0]), upside_down=st.booleans())
@settings(max_examples=15, deadline=None)
@example(yaw=30.0, tilt=(1.2, -0.8), declared_yaw=0.0, upside_down=False)
@example(yaw=-1.5, tilt=(6.0, 3.0), declared_yaw=-70.0, upside_down=False)
@example(yaw=0.0, tilt=(6.0, 3.0), declared_yaw=0.0, upside_down=False)
@example(yaw=90.0, tilt=(0.0, 0.0), declared_yaw=0.0, upside_down=False)
@example(yaw=1.0, tilt=(1.0, -1.5), declared_yaw=0.0, upside_down=True)
def test_what_the_doctor_states_leaves_nothing_when_declared(yaw, tilt, declared_yaw, upside_down):
    declared = about((0.0, 0.0, 1.0), math.radians(declared_yaw))
    true = declared @ stated_rotation(yaw, *tilt, upside_down=upside_down)
    log = read_by(true, declared)
    findings = findings_of(log)
    if not findings:
        assert abs(yaw) < 2.5 and math.hypot(*tilt) < 2.5 and not upside_down
        return
    words = stated(findings)
    fixed = replace(log, declared=replace(log.declared, T_base_sensor=pose(declared @ words)))
    assert findings_of(fixed) == []
    assert degrees_between(declared @ words, true) < doubt(findings)
    (fix,) = [finding.fix for finding in findings if finding.fix]
    for back in fixed_by(fix):
        assert degrees_between(back, words) < PRINTED
    assert findings_of(remapped(log, fix, ROBOT)) == []
    for finding in findings:  # numbers of the JSON: all that was found, unsure parts too
        matrix = np.array(finding.evidence["R_base_sensor"])
        assert degrees_between(matrix, true) < doubt(findings)
        numbers = finding.evidence
        same = stated_rotation(numbers["yaw_deg"], *numbers["tilt_deg"], upside_down=numbers["upside_down"])
        assert degrees_between(declared @ same, matrix) < 0.01


LEFT_HANDED = {
    "x points the other way": np.diag([-1.0, 1.0, 1.0]),
    "y points the other way": np.diag([1.0, -1.0, 1.0]),
    "z points the other way": np.diag([1.0, 1.0, -1.0]),
    "x and y are exchanged": np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "x and y are exchanged, and both point the other way": np.array(
        [[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    ),
}
"""Axes in words, and as columns in right-handed axes."""


@pytest.mark.parametrize("axes", LEFT_HANDED)
@pytest.mark.parametrize(("yaw", "tilt"), [(0.0, (0.0, 0.0)), (12.0, (1.5, -1.0)), (-4.0, (5.0, 3.0))])
@pytest.mark.parametrize("moments", [1.0, -1.0], ids=["by components", "by the right-hand rule"])
def test_left_handed_axes_are_told_as_they_are_mended(axes, yaw, tilt, moments):
    """The axes that the words name, in right-handed axes that are turned and tilted as the words say, are the fix."""
    true = stated_rotation(yaw, *tilt) @ LEFT_HANDED[axes]
    log = read_by(true, np.eye(3), moments)
    findings = findings_of(log)
    assert [finding.fault for finding in findings if finding.fault is LogFault.PLATE_HANDEDNESS]
    told = re.search(r"left-handed: ([a-z ,]+) \(", findings[0].sentence)
    assert told is not None
    words = stated(findings) @ LEFT_HANDED[told[1]]
    assert degrees_between(words, true) < doubt(findings)
    (fix,) = [finding.fix for finding in findings if finding.fix]
    force, moment = fixed_by(fix)
    assert degrees_between(force, words) < PRINTED
    np.testing.assert_allclose(moment, moments * force, atol=1e-12)
    assert findings_of(remapped(log, fix, ROBOT)) == []


def test_plus_thirty_degrees_is_told_as_plus_thirty():
    (finding,) = findings_of(read_by(about((0.0, 0.0, 1.0), math.radians(30.0)), np.eye(3)))
    assert finding.fault is LogFault.PLATE_YAW
    assert finding.sentence.startswith(("The plate is turned by 30.0", "The plate is turned by 29.9"))


@given(yaw=YAWS, tilt=TILTS, upside_down=st.booleans())
@settings(max_examples=5, deadline=None)
def test_doctor_calibration_words_and_json_state_the_same(yaw, tilt, upside_down):
    true = stated_rotation(yaw, *tilt, upside_down=upside_down)
    log = read_by(true, np.eye(3))
    found = calibrate_sensor(ROBOT, log, masses="exact", fit=("rotation", "bias"))
    text = " ".join(found.sentences)
    told = re.search(rf"turned by {NUMBER} ±", text)
    tilted = re.search(rf"tilted by {NUMBER} ± [0-9.]+° about x and {NUMBER} ± ", text)
    assert told and tilted
    by_words = stated_rotation(
        float(told[1]), float(tilted[1]), float(tilted[2]), upside_down="lies upside down" in text
    )
    assert degrees_between(by_words, true) < 0.5
    document = json.loads(json.dumps(_sensor(found), default=lambda value: value.tolist()))
    by_json = stated_rotation(document["yaw_deg"], *document["tilt_deg"], upside_down=document["upside_down"])
    assert degrees_between(by_json, true) < 0.5
    assert degrees_between(by_json, np.array(document["T_base_sensor"])[:3, :3]) < 0.01
    findings = findings_of(log)
    assert degrees_between(stated(findings), by_words) < (doubt(findings) if findings else 2.9)


@given(yaw=YAWS, tilt=st.tuples(st.floats(-60.0, 60.0), st.floats(-60.0, 60.0)), upside_down=st.booleans())
def test_every_rotation_is_its_yaw_and_tilt(yaw, tilt, upside_down):
    true = stated_rotation(yaw, *tilt, upside_down=upside_down)
    others = stated_rotation(50.0, -20.0, 30.0)
    turn = PlateTurn.between(others @ true, others)
    np.testing.assert_allclose(turn.rotation, true, atol=1e-9)
    assert turn.upside_down == upside_down
    assert np.degrees([turn.tilt_x, turn.tilt_y]) == pytest.approx(tilt, abs=1e-6)


MJCF = """
<mujoco>
  <compiler angle="degree"/>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="base">
      <inertial pos="0.02 0 0.05" mass="4" diaginertia="0.02 0.02 0.02"/>
      <site name="plate" pos="0 0 -0.35" {turn}/>
      <body name="upper" pos="0 0 0.4">
        <joint name="j1" axis="0 0 1"/>
        <inertial pos="0.1 0.05 0.1" mass="6" diaginertia="0.05 0.06 0.04"/>
        <body name="fore" pos="0.1 0.1 0.2">
          <joint name="j2" axis="0 1 0"/>
          <inertial pos="0.25 0 0.02" mass="5" diaginertia="0.01 0.09 0.09"/>
          <body name="hand" pos="0.5 0 0">
            <joint name="j3" axis="1 0 0"/>
            <inertial pos="0.1 0.08 -0.1" mass="2" diaginertia="0.01 0.01 0.01"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <sensor>
    <force site="plate"/>
    <torque site="plate"/>
  </sensor>
</mujoco>
"""


@pytest.mark.parametrize("degrees", [30.0, -75.0, 140.0])
def test_mujocos_force_sensor_is_told_as_it_is_mounted(tmp_path, degrees):
    """The site's own axes in MuJoCo are T_base_sensor; its sensor reads what the robot exerts on what carries it."""
    text = MJCF.format(turn=f'euler="0 0 {degrees}"')
    path = tmp_path / "arm.xml"
    path.write_text(text)
    robot = cp.load(path)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    q, dq, ddq = (rows[:, :3] for rows in MOTION)
    reading = np.zeros((len(q), 6))
    for row in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[row], dq[row], ddq[row]
        mujoco.mj_inverse(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        mujoco.mj_sensorAcc(model, data)
        reading[row] = data.sensordata
    told = Declared(effort_kind="torque", sensor_reads="on_sensor", T_base_sensor=pose(np.eye(3)), time_from="stamp")
    if reading[:, 2].mean() > 0.0:
        told = replace(told, sensor_reads="on_robot")
    noise = np.random.default_rng(1).normal(size=reading.shape) * ([0.1] * 3 + [0.01] * 3)
    log = cp.Log(robot.joint_names, TIME, q, dq, np.zeros_like(q), wrench=reading + noise, declared=told)
    (finding,) = findings_of(log, robot)
    site = data.site_xmat[0].reshape(3, 3)
    assert degrees_between(stated([finding]), site) < 0.5
    assert finding.evidence["yaw_deg"] == pytest.approx(degrees, abs=0.5)
