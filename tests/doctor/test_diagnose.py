"""The whole doctor: order of findings, shadows, plain JSON, the joints' names."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnose import diagnose
from counterpoise.doctor.finding import Consequence, Fault
from counterpoise.errors import InputError
from counterpoise.logs.log import Log
from counterpoise.logs.read import remapped
from doctor_cases import at_the_motors, recording, reversed_effort, wrong_model

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
    assert {finding.fault for finding in diagnosis.alarms} >= {Fault.EFFORT_SIGN, Fault.DEAD}
    table = json.loads(json.dumps(diagnosis.to_table(), allow_nan=False))
    assert table["findings"][0]["fault"] == "effort-sign"
    assert table["fix"] == {"joints": {"joint2": {"effort_sign": -1}}}


def test_a_dead_effort_is_not_blamed_for_anything_else(log: Log) -> None:
    tau = log.tau.copy()
    tau[:, 1] = 1e-3 * np.random.default_rng(0).normal(size=len(log))
    diagnosis = diagnose(MODEL, replace(log, tau=tau))
    blamed = {finding.fault for finding in diagnosis.alarms if "joint2" in finding.subjects}
    assert blamed == {Fault.DEAD}


def test_mended_by_its_fix_the_recording_is_sound(log: Log) -> None:
    faulty = reversed_effort(log, *range(4))
    assert diagnose(MODEL, remapped(faulty, diagnose(MODEL, faulty).fix, MODEL)).alarms == ()


def test_of_motor_side_numbers_nothing_else_is_said(log: Log) -> None:
    (finding,) = diagnose(MODEL, at_the_motors(log)).alarms
    assert finding.fault is Fault.MOTOR_SIDE


def test_other_joints_are_refused_with_both_lists(log: Log) -> None:
    with pytest.raises(InputError, match=r"joint4.*are not the robot's.*joint7"):
        diagnose(cp.load("wam7"), log)
