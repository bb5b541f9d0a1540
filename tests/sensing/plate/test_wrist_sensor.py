"""A wrist sensor: its zero and its tool from a dozen orientations, and the contact that is left at run time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.foundation import inverse_transform, rotation_from_rpy, rotation_vector, transform, wrench_transform
from counterpoise.sensing.wrist_sensor import _calibration, _Solved, calibrate_wrist_sensor

Array = npt.NDArray[np.float64]
MASS, COM = 1.3, np.array([0.01, -0.02, 0.08])
BIAS = np.array([5.0, -3.0, 12.0, 0.4, -0.2, 0.1])
NOISE = np.array([0.1, 0.1, 0.2, 0.01, 0.01, 0.005])
MOUNT = transform(rotation_from_rpy([0.0, 0.0, 0.4]), [0.0, 0.0, 0.05])


@pytest.fixture(scope="module")
def robot() -> cp.Robot:
    return cp.load("puma560")


@pytest.fixture(scope="module")
def link(robot: cp.Robot) -> str:
    return robot.link_names[-1]


def wrist_log(robot: cp.Robot, link: str, seed: int, *, sign: float = 1.0, poses: Array | None = None) -> cp.Log:
    """Return twelve orientations, 1.5 s each, with moves between; the tool's weight by plain statics."""
    rng = np.random.default_rng([71, seed])
    if poses is None:
        poses = rng.uniform(np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0), (12, robot.n))
    part = np.clip(np.linspace(0.0, 2.0, 300), 0.0, 1.0)[:, None]
    blend = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    q = np.concatenate([one + (two - one) * blend for one, two in zip(poses, np.roll(poses, -1, axis=0), strict=True)])
    time = 0.01 * np.arange(len(q))
    axes = robot.forward_kinematics(q, at=link)[:, :3, :3] @ MOUNT[:3, :3]
    weight = MASS * np.einsum("kji,j->ki", axes, robot.gravity_base)
    reading = sign * np.concatenate([weight, np.cross(COM, weight)], axis=1) + BIAS
    reading += NOISE * rng.normal(size=reading.shape)
    return cp.Log(robot.joint_names, time, q, np.gradient(q, time, axis=0), np.full(q.shape, np.nan), wrench=reading)


def slow(log: cp.Log) -> cp.Log:
    """Return the log with its clock ten times slower: what accelerations would add is then far below the noise."""
    return cp.Log(log.joint_names, 10.0 * log.time, log.q, 0.1 * log.dq, log.tau, wrench=log.wrench)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_tool_and_zero(robot: cp.Robot, link: str, sign: float) -> None:
    """Mass, centre and zero come back within their spreads; the sign is that of a positive mass."""
    found = calibrate_wrist_sensor(robot, slow(wrist_log(robot, link, 0, sign=sign)), link=link, T_link_sensor=MOUNT)
    assert found.reads == ("on_robot" if sign > 0.0 else "on_tool")
    assert found.mass == pytest.approx(MASS, abs=4.0 * found.mass_std + 1e-3)
    assert found.mass_std < 0.02
    assert np.all(np.abs(found.com - COM) < 4.0 * found.com_std + 1e-4)
    assert np.all(found.com_std < 0.005)
    assert np.all(np.abs(found.bias - BIAS) < 4.0 * found.bias_std + 1e-3)
    assert all(found.determined.values())


def test_the_mount_is_found_too(robot: cp.Robot, link: str) -> None:
    """Any rotation of the mount, starting from none."""
    start = transform(np.eye(3), MOUNT[:3, 3])
    log = slow(wrist_log(robot, link, 1))
    found = calibrate_wrist_sensor(robot, log, link=link, T_link_sensor=start, fit_rotation=True)
    away = rotation_vector(found.T_link_sensor[:3, :3].T @ MOUNT[:3, :3])
    assert np.degrees(np.linalg.norm(away)) < 0.3
    assert np.all(np.abs(away) < 4.0 * found.rotation_std + 1e-4)
    assert found.determined["mount's rotation"]
    assert found.mass == pytest.approx(MASS, rel=0.01)


def test_contact_is_what_is_left(robot: cp.Robot, link: str) -> None:
    """At rest in any pose the tool vanishes, and a push of the surroundings shows; one sample or many."""
    found = calibrate_wrist_sensor(robot, slow(wrist_log(robot, link, 2)), link=link, T_link_sensor=MOUNT)
    q = np.random.default_rng(3).uniform(-1.5, 1.5, (20, robot.n))
    axes = robot.forward_kinematics(q, at=link)[:, :3, :3] @ MOUNT[:3, :3]
    weight = MASS * np.einsum("kji,j->ki", axes, robot.gravity_base)
    push = np.array([3.0, -2.0, 8.0, 0.1, 0.0, -0.2])
    reading = np.concatenate([weight, np.cross(COM, weight)], axis=1) + BIAS + push
    contact = found.contact_wrench(q, reading)
    assert np.abs(contact - push).max() < 0.1
    assert found.contact_wrench(q[0], reading[0]) == pytest.approx(contact[0])


def test_motion_is_taken_off(robot: cp.Robot, link: str) -> None:
    """A payload of the robot model is the oracle: the base wrench it adds, moved to the sensor, is what it exerts."""
    found = calibrate_wrist_sensor(robot, slow(wrist_log(robot, link, 4)), link=link, T_link_sensor=MOUNT)
    rng = np.random.default_rng(5)
    q, dq, ddq = (rng.uniform(-1.0, 1.0, (10, robot.n)) for _ in range(3))
    at_link = (MOUNT @ np.array([*found.com, 1.0]))[:3]
    loaded = robot.with_payload(found.mass, com=tuple(at_link), link=link)
    added = loaded.base_wrench(q, dq, ddq) - robot.base_wrench(q, dq, ddq)
    for row in range(len(q)):
        T_base_sensor = robot.forward_kinematics(q[row], at=link) @ MOUNT
        on_robot = -wrench_transform(inverse_transform(T_base_sensor)) @ added[row]
        contact = found.contact_wrench(q[row], on_robot + found.bias, dq[row], ddq[row])
        assert np.abs(contact).max() < 0.05 * np.abs(on_robot).max()
        assert np.abs(contact[:3]).max() < 1e-6 * np.abs(on_robot).max() + 1e-6


def test_an_acceleration_counts_without_a_speed(robot: cp.Robot, link: str) -> None:
    """An arm that sets off: the tool's inertia is felt before it moves, as that of any load of the model."""
    found = calibrate_wrist_sensor(robot, slow(wrist_log(robot, link, 4)), link=link, T_link_sensor=MOUNT)
    q, ddq = np.random.default_rng(8).uniform(-1.0, 1.0, (2, robot.n))
    still, away = found.contact_wrench(q, BIAS), found.contact_wrench(q, BIAS, ddq=ddq)
    assert away == pytest.approx(found.contact_wrench(q, BIAS, np.zeros(robot.n), ddq))
    at_link = (MOUNT @ np.array([*found.com, 1.0]))[:3]
    axes = robot.forward_kinematics(q, at=link)[:3, :3] @ MOUNT[:3, :3]
    loaded = robot.with_payload(found.mass, com=tuple(at_link), link=link)
    felt = loaded.base_wrench(q, None, ddq) - robot.base_wrench(q, None, ddq)
    felt -= loaded.base_wrench(q) - robot.base_wrench(q)
    assert axes @ (away - still)[:3] == pytest.approx(felt[:3], abs=1e-6)
    assert np.linalg.norm(felt[:3]) > 0.1


def test_the_centre_is_as_sure_as_drawn_errors_say(robot: cp.Robot, link: str) -> None:
    """c = (m c)/m for mass and first moment of known, correlated errors: the stated spread is that of many draws."""
    rng = np.random.default_rng(9)
    root = 0.01 * rng.normal(size=(4, 4)) @ np.diag([2.0, 1.0, 1.0, 1.0])
    covariance = np.zeros((13, 13))
    covariance[:4, :4] = root @ root.T
    covariance[4:10, 4:10] = 1e-6 * np.eye(6)
    for sign in (1.0, -1.0):
        x = sign * np.array([MASS, *(MASS * np.array([0.5, -0.4, 0.8])), *np.zeros(6)])
        solved = _Solved(x, covariance, MOUNT, np.ones(6))
        found = _calibration(robot, link, solved, None, np.ones(3))
        drawn = x[:4] + rng.normal(size=(100_000, 4)) @ root.T
        assert found.com_std == pytest.approx((drawn[:, 1:] / drawn[:, :1]).std(axis=0), rel=0.03)
        assert found.mass_std == pytest.approx(drawn[:, 0].std(), rel=0.03)


def test_one_orientation_is_refused(robot: cp.Robot, link: str) -> None:
    """Only joint 1 turns, about the vertical: weight and zero cannot be distinguished."""
    poses = np.zeros((12, robot.n))
    poses[:, 0] = np.random.default_rng(0).uniform(-2.0, 2.0, 12)
    with pytest.raises(cp.InputError, match="keeps its orientation"):
        calibrate_wrist_sensor(robot, slow(wrist_log(robot, link, 6, poses=poses)), link=link)


def test_refusals(robot: cp.Robot, link: str) -> None:
    """A contradicted sign, an unknown link or word, no readings, shapes that do not fit."""
    log = slow(wrist_log(robot, link, 7))
    with pytest.raises(cp.InputError, match="a mass is positive"):
        calibrate_wrist_sensor(robot, log, link=link, T_link_sensor=MOUNT, reads="on_tool")
    with pytest.raises(cp.InputError, match="no link"):
        calibrate_wrist_sensor(robot, log, link="hand")
    with pytest.raises(cp.InputError, match="reads is"):
        calibrate_wrist_sensor(robot, log, link=link, reads="up")
    with pytest.raises(cp.InputError, match="no plate readings"):
        calibrate_wrist_sensor(robot, cp.Log(log.joint_names, log.time, log.q, log.dq, log.tau), link=link)
    found = calibrate_wrist_sensor(robot, log, link=link, T_link_sensor=MOUNT)
    with pytest.raises(cp.InputError, match="reading has shape"):
        found.contact_wrench(np.zeros(6), np.zeros(5))
    with pytest.raises(cp.InputError, match="dq has shape"):
        found.contact_wrench(np.zeros(6), np.zeros(6), np.zeros(5))


@pytest.mark.parametrize(("lost", "usable"), [(0.3, True), (0.7, False)])
def test_a_recording_of_which_most_is_lost_is_refused(robot: cp.Robot, link: str, lost: float, usable: bool) -> None:
    """However well the rest would do: a sensor that is away for most of the time is not believed."""
    log = slow(wrist_log(robot, link, 11))
    reading = np.array(log.wrench)
    reading[np.arange(len(log)) % 300 < 300 * lost] = np.nan
    gappy = cp.Log(log.joint_names, log.time, log.q, log.dq, log.tau, wrench=reading)
    if usable:
        found = calibrate_wrist_sensor(robot, gappy, link=link, T_link_sensor=MOUNT)
        assert found.mass == pytest.approx(MASS, rel=0.02)
    else:
        with pytest.raises(cp.InputError, match="70% of the readings are no numbers"):
            calibrate_wrist_sensor(robot, gappy, link=link, T_link_sensor=MOUNT)
