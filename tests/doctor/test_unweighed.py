"""Arms whose description has no masses: the doctor says so, signs are told by friction, calibration works by data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import diagnose, friction_signs
from counterpoise.doctor.finding import Consequence, LogFault
from counterpoise.recording import Motion
from library.simulated_motion import other_masses, recording

WAM = cp.load("wam7")
FRICTION = np.array([0.94, 1.36, 0.77, 0.6, 0.21, 0.21, 0.05])


def without_masses(robot: cp.Robot) -> cp.Robot:
    links = tuple(replace(link, inertia=None) for link in robot.description.links)
    return cp.Robot(replace(robot.description, links=links), mount=robot.mount, gravity=robot.gravity_world)


BARE = without_masses(WAM)


@pytest.fixture(scope="module")
def log() -> cp.Log:
    return recording(other_masses(WAM, 3), 2, coulomb=FRICTION, noise=0.05, seconds=40.0)


def test_a_sound_recording_gets_a_note(log: cp.Log) -> None:
    findings = {finding.fault: finding for finding in diagnose(BARE, log).findings}
    assert findings[LogFault.NO_MASSES].consequence is Consequence.NOTE
    assert LogFault.EFFORT_SIGN not in findings
    assert "has no masses" in findings[LogFault.NO_MASSES].sentence


@pytest.mark.parametrize("joints", [range(7), (3,), (0, 5)])
def test_reversed_efforts_are_told_by_friction(log: cp.Log, joints: tuple[int, ...]) -> None:
    tau = log.tau.copy()
    tau[:, list(joints)] *= -1.0
    findings = {finding.fault: finding for finding in diagnose(BARE, replace(log, tau=tau)).findings}
    assert findings[LogFault.EFFORT_SIGN].consequence is Consequence.DANGER
    assert findings[LogFault.EFFORT_SIGN].subjects == tuple(WAM.joint_names[joint] for joint in joints)


def test_signs_of_random_arms() -> None:
    """12 recordings: no sign is told wrong."""
    told = 0
    for seed in range(12):
        made = recording(other_masses(WAM, seed), seed, coulomb=FRICTION, noise=0.05, seconds=20.0)
        smooth = Motion.on_grid(made)
        assert smooth is not None
        signs = friction_signs(BARE, smooth)
        assert set(signs.values()) <= {1}
        told += len(signs)
    assert told > 42  # half of them


def test_without_friction_nothing_tells_the_sign() -> None:
    """A fit would be as good with the efforts turned over, so that it is spoilt."""
    made = recording(other_masses(WAM, 3), 2, noise=0.05, seconds=20.0)
    (finding,) = (one for one in diagnose(BARE, made).findings if one.fault is LogFault.NO_MASSES)
    assert finding.consequence is Consequence.INVALIDATES and finding.subjects == WAM.joint_names


def test_calibration_comes_from_the_data_alone(log: cp.Log, tmp_path: Path) -> None:
    """The weights are right, no number runs away, and the file is read again."""
    true = other_masses(WAM, 3)
    fit = cp.calibrate(BARE, log)
    assert fit.trusted and fit.prior == ""
    assert np.abs(fit.x).max() < 100.0
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (300, 7))
    error = np.sqrt(np.mean((fit.robot.gravity(q) - true.gravity(q)) ** 2, axis=0))
    assert np.all(error < 0.03)
    again = cp.load_calibration(fit.save(tmp_path / "arm.calibration.json"), BARE)
    np.testing.assert_allclose(again.robot.gravity(q), fit.robot.gravity(q), atol=1e-9)
    assert not cp.calibrate(BARE, replace(log, tau=-log.tau)).trusted


def test_no_prior_leaves_no_number_of_any_size(log: cp.Log, tmp_path: Path) -> None:
    fit = cp.calibrate(WAM, log, prior=None)
    assert np.abs(fit.x).max() < 100.0
    assert cp.load_calibration(fit.save(tmp_path / "arm.calibration.json"), WAM).prior == ""
