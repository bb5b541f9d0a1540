"""The whole doctor: order of findings, shadows, plain JSON, the joints' names."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import diagnose
from counterpoise.doctor.finding import Consequence, LogFault
from counterpoise.errors import InputError
from counterpoise.recording import Log
from library.analytic_log import moving_log
from library.doctor_cases import assert_readable, at_the_motors, recording, reversed_effort, wrong_model

ARM = cp.load("wam4")
MODEL = wrong_model(ARM)


@pytest.fixture(scope="module")
def log() -> Log:
    return recording(ARM)


def test_a_sound_recording_raises_no_alarm(log: Log) -> None:
    diagnosis = diagnose(MODEL, log)
    assert diagnosis.alarms == ()
    assert diagnosis.fix == {}
    assert diagnosis.facts["samples"] == len(log)


def test_findings_are_ordered_by_consequence_and_are_plain_json(log: Log) -> None:
    tau = reversed_effort(log, 1).tau.copy()
    tau[:, 3] = 0.0
    diagnosis = diagnose(MODEL, replace(log, tau=tau))
    consequences = [finding.consequence for finding in diagnosis.findings]
    assert consequences == sorted(consequences, reverse=True)
    assert diagnosis.worst is Consequence.DANGER
    assert {finding.fault for finding in diagnosis.alarms} >= {LogFault.EFFORT_SIGN, LogFault.DEAD}
    table = json.loads(json.dumps(diagnosis.to_table(), allow_nan=False))
    assert table["findings"][0]["fault"] == "effort-sign"
    assert table["fix_changes"] == {
        "joints": {"joint2": {"effort_sign": -1}},
        "source": {"joints.joint2.effort_sign": "measured"},
    }


def test_a_dead_effort_is_not_blamed_for_anything_else(log: Log) -> None:
    tau = log.tau.copy()
    tau[:, 1] = 1e-3 * np.random.default_rng(0).normal(size=len(log))
    diagnosis = diagnose(MODEL, replace(log, tau=tau))
    blamed = {finding.fault for finding in diagnosis.alarms if "joint2" in finding.subjects}
    assert blamed == {LogFault.DEAD}


def test_of_motor_side_numbers_nothing_else_is_said(log: Log) -> None:
    (finding,) = diagnose(MODEL, at_the_motors(log)).alarms
    assert finding.fault is LogFault.MOTOR_SIDE


def test_any_numbers_are_survived() -> None:
    """NaN, infinities, constant and large values in every group of channels: findings or none, never an exception."""
    small = cp.load("planar3")
    short = moving_log(small, duration=8.0)
    for trial in range(12):
        random = np.random.default_rng(trial)
        changes = {}
        for name in ("time", "q", "dq", "tau", "wrench"):
            values = np.array(getattr(short, name))
            bad = random.random(values.shape) < random.choice([0.0, 0.02, 0.6, 1.0], p=[0.5, 0.2, 0.2, 0.1])
            values[bad] = random.choice([np.nan, np.inf, -np.inf, 0.0, 1e6])
            changes[name] = values
        assert_readable(diagnose(small, replace(short, **changes)).findings)


@pytest.mark.parametrize(("row", "stamp"), [(700, 0.0), (0, 0.0), (-1, 1.8e9), (700, 1e300)])
def test_one_wrong_stamp_hides_no_fault(log: Log, row: int, stamp: float) -> None:
    """A message stamped 0 beside others of today costs itself, and half a minute does not last for 50 years."""
    time = log.time + 1.7e9
    time[row] = stamp
    diagnosis = diagnose(MODEL, replace(reversed_effort(log, 1), time=time))
    assert {finding.fault for finding in diagnosis.alarms} == {LogFault.EFFORT_SIGN, LogFault.TIME_DUPLICATES}
    finding = next(each for each in diagnosis.findings if each.fault is LogFault.TIME_DUPLICATES)
    assert finding.evidence["rows"] == [row % len(log)]
    assert diagnosis.facts["duration_s"] == pytest.approx(np.ptp(log.time), abs=0.02)


def test_other_joints_are_refused_with_both_lists(log: Log) -> None:
    with pytest.raises(InputError, match=r"joint4.*are not the robot's.*joint7"):
        diagnose(cp.load("wam7"), log)
