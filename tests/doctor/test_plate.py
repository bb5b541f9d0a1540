"""The plate: sign, axes, mounting, timing, cross-talk, distinguished beside a model that is 10 % and 10 mm off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.finding import Finding, LogFault
from counterpoise.doctor.plate import check_plate
from counterpoise.foundation import rotation_from_rpy
from counterpoise.recording import Motion, remapped
from library.analytic_log import late, moving_log, with_column


def wrong_model(robot: cp.Robot, seed: int = 0) -> cp.Robot:
    """Every mass 10 % off, every centre of mass 10 mm."""
    random = np.random.default_rng(seed)
    links = []
    for link in robot.description.links:
        inertia = link.inertia
        if inertia is not None:
            shift = random.normal(size=3)
            factor = 1.0 + 0.1 * random.choice([-1.0, 1.0])
            com = inertia.com + 0.01 * shift / np.linalg.norm(shift)
            inertia = replace(inertia, mass=inertia.mass * factor, com=com)
        links.append(replace(link, inertia=inertia))
    return cp.Robot(replace(robot.description, links=tuple(links)), allow_unphysical=True)


ROBOTS = {name: cp.load(name) for name in ("puma560", "wam7", "titan2")}
MODELS = {name: wrong_model(robot) for name, robot in ROBOTS.items()}
LOGS = {name: moving_log(robot, seed=5) for name, robot in ROBOTS.items()}
ARMS = pytest.mark.parametrize("arm", ROBOTS)


def mixed(log: cp.Log, matrix: np.ndarray) -> cp.Log:
    return replace(log, wrench=log.wrench @ matrix.T)


def both(matrix: np.ndarray, sign: float = 1.0) -> np.ndarray:
    whole = np.zeros((6, 6))
    whole[:3, :3], whole[3:, 3:] = matrix, sign * matrix
    return whole


def findings_of(robot: cp.Robot, log: cp.Log) -> list[Finding]:
    return check_plate(robot, log, Motion.on_grid(log))


def found(arm: str, log: cp.Log) -> list[LogFault]:
    return [finding.fault for finding in findings_of(MODELS[arm], log)]


@ARMS
def test_good_plate_has_no_finding_tared_or_not(arm):
    log = LOGS[arm]
    assert found(arm, log) == []
    assert found(arm, replace(log, wrench=log.wrench - log.wrench[0])) == []


@ARMS
@pytest.mark.parametrize("tared", [False, True])
def test_opposite_sign(arm, tared):
    wrench = -LOGS[arm].wrench
    log = replace(LOGS[arm], wrench=wrench - wrench[0] if tared else wrench)
    (finding,) = findings_of(MODELS[arm], log)
    assert finding.fault is LogFault.PLATE_SIGN
    assert finding.fix == {"wrench": {"reads": "on_sensor"}}


def test_declared_sign_is_respected():
    log = replace(LOGS["wam7"], wrench=-LOGS["wam7"].wrench)
    declared = replace(log, declared=replace(log.declared, sensor_reads="on_sensor"))
    assert found("wam7", declared) == []
    assert found("wam7", replace(LOGS["wam7"], declared=declared.declared)) == [LogFault.PLATE_SIGN]


@pytest.mark.parametrize(
    ("arm", "degrees"), [("puma560", 5.0), ("puma560", 170.0), ("wam7", -30.0), ("wam7", 5.0), ("titan2", 90.0)]
)
def test_yaw_is_measured(arm, degrees):
    log = mixed(LOGS[arm], both(rotation_from_rpy([0.0, 0.0, np.radians(degrees)]).T))
    (finding,) = findings_of(MODELS[arm], log)
    assert finding.fault is LogFault.PLATE_YAW
    assert finding.evidence["yaw_deg"] == pytest.approx(degrees, abs=max(1.0, 4.0 * finding.evidence["std_deg"][0]))


@ARMS
def test_tilt_is_measured(arm):
    log = mixed(LOGS[arm], both(rotation_from_rpy(np.radians([6.0, -4.0, 0.0])).T))
    (finding,) = findings_of(MODELS[arm], log)
    assert finding.fault is LogFault.PLATE_TILT
    assert finding.evidence["tilt_deg"] == pytest.approx([6.0, -4.0], abs=1.0)


@pytest.mark.parametrize(("arm", "lag"), [("puma560", 0.05), ("wam7", 0.25), ("titan2", 0.1)])
def test_lag_is_measured(arm, lag):
    (finding,) = findings_of(MODELS[arm], late(LOGS[arm], "wrench", lag))
    assert finding.fault is LogFault.PLATE_LAG
    assert finding.fix["wrench"]["lag"] == pytest.approx(lag, abs=0.01)


@ARMS
@pytest.mark.parametrize(("axis", "sign"), [(0, 1.0), (1, -1.0), (2, 1.0), (2, -1.0)])
def test_left_handed_axes(arm, axis, sign):
    """Moments by components (+) or by the right-hand rule in the mirrored axes (−)."""
    mirror = np.eye(3)
    mirror[axis, axis] = -1.0
    assert found(arm, mixed(LOGS[arm], both(mirror, sign))) == [LogFault.PLATE_HANDEDNESS]


@ARMS
@pytest.mark.parametrize(("channel", "source", "share"), [(3, 4, 0.15), (4, 3, -0.2), (0, 4, 0.3), (2, 3, -0.4)])
def test_cross_talk_is_measured(arm, channel, source, share):
    matrix = np.eye(6)
    matrix[channel, source] = share
    (finding,) = findings_of(MODELS[arm], mixed(LOGS[arm], matrix))
    assert finding.fault is LogFault.PLATE_CROSS_TALK
    names = ("fx", "fy", "fz", "mx", "my", "mz")
    key = f"plate {names[source]} in plate {names[channel]}"
    assert finding.evidence["shares"][key]["share"] == pytest.approx(share, abs=0.25 * abs(share))


@pytest.mark.parametrize(
    "matrix",
    [
        both(np.diag([1.0, 1.0, -1.0]), -1.0),
        -both(rotation_from_rpy([0.0, 0.0, 0.4])),
    ],
)
def test_fix_mends(matrix):
    """With the findings' changes applied, nothing is left to find; each turn by itself is in test_fixes.py."""
    robot, log = MODELS["puma560"], mixed(LOGS["puma560"], matrix)
    for finding in findings_of(robot, log):
        if finding.fix:
            log = remapped(log, finding.fix, robot)
    assert findings_of(robot, log) == []


def test_missing_readings_and_dead_channels_are_left_to_others():
    log = LOGS["puma560"]
    assert found("puma560", replace(log, wrench=None)) == []
    assert found("puma560", replace(log, wrench=with_column(log.wrench, 4, 0.0))) == []
    assert found("puma560", replace(log, wrench=np.full_like(log.wrench, np.nan))) == []
    holes = np.array(log.wrench)
    holes[::5] = np.nan
    assert found("puma560", replace(log, wrench=holes)) == []


def test_noise_is_not_interpreted():
    noise = np.random.default_rng(0).normal(size=LOGS["wam7"].wrench.shape)
    assert found("wam7", replace(LOGS["wam7"], wrench=noise)) == []
