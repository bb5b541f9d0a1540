"""All checks of a recording by itself, and the faults that the study puts in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import check_recording
from counterpoise.doctor.finding import Consequence, LogFault
from library.analytic_log import moving_log, standing_log, with_column
from library.doctor_cases import assert_readable
from library.study_module import load_study

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)


def alarms(robot, log):
    return {finding.fault for finding in check_recording(robot, log) if finding.consequence > Consequence.NOTE}


@pytest.mark.parametrize("name", ["puma560", "wam7", "titan2", "planar3"])
def test_good_recordings_raise_no_alarm(name):
    robot = cp.load(name)
    assert alarms(robot, moving_log(robot, seed=2)) == set()
    assert alarms(robot, standing_log(robot, [1.0, -1.0] * 5, seed=2)) == set()


def test_without_a_model_the_numbers_are_still_judged():
    log = replace(LOG, tau=with_column(LOG.tau, 2, 0.0))
    assert alarms(None, log) == {LogFault.DEAD}
    assert alarms(None, LOG) == set()


def test_worst_comes_first():
    log = replace(LOG, tau=with_column(LOG.tau, 2, 0.0), dq=with_column(LOG.dq, 1, 0.0))
    order = [finding.consequence for finding in check_recording(PUMA, log)]
    assert order == sorted(order, reverse=True) and order[0] is Consequence.INVALIDATES


def test_dead_joint_has_no_friction_band():
    log = replace(LOG, tau=with_column(LOG.tau, 2, 1e-3 * np.random.default_rng(0).normal(size=len(LOG))))
    friction = next(finding for finding in check_recording(PUMA, log) if finding.fault is LogFault.FRICTION)
    assert "joint3" not in friction.subjects and "joint2" in friction.subjects


@pytest.mark.parametrize("rows", [1, 2, 5, 19, 25, 60])
def test_short_recordings_are_survived(rows):
    assert_readable(check_recording(PUMA, LOG[:rows]))


def test_any_numbers_are_survived():
    """NaN, infinities, constant and huge values, in every group of channels: findings or none, never an exception."""
    random = np.random.default_rng(0)
    for trial in range(25):
        changes = {}
        for name in ("time", "q", "dq", "tau", "wrench"):
            values = np.array(getattr(LOG, name)[:400])
            bad = random.random(values.shape) < random.choice([0.0, 0.02, 0.6, 1.0])
            values[bad] = random.choice([np.nan, np.inf, -np.inf, 0.0, 1e6])
            changes[name] = values
        assert_readable(check_recording(PUMA if trial % 2 else None, replace(LOG[:400], **changes)))


@pytest.fixture(scope="module")
def study():
    return load_study("doctor_channel_faults")


def test_faults_of_the_study_are_named(study):
    """What the study puts into simulated recordings is found in recordings made by formula too."""
    random = np.random.default_rng(0)
    for fault, change in (study.FAULTS | study.PLATE_FAULTS).items():
        assert fault in {finding.fault for finding in check_recording(PUMA, change(LOG, random))}, fault
    for fault, change_both in study.MODEL_FAULTS.items():
        assert fault in alarms(*change_both(PUMA, LOG, random)), fault
