"""Rates that velocities or speed limits contradict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import diagnose, merged_fix
from counterpoise.doctor.finding import Consequence, Finding, LogFault
from counterpoise.doctor.timing import check_rate
from counterpoise.recording import Log, LogMapping, remapped
from library.analytic_log import moving_log

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)
"""100 Hz."""


def slowed(factor: float, **declared: Any) -> Log:
    """Return the recording with a clock that goes too fast by a factor."""
    return replace(LOG, time=LOG.time * factor, declared=replace(LOG.declared, **declared))


def without_velocity(log: Log) -> Log:
    return log.differentiated(0.05 * log.rate)


def test_a_right_rate_has_no_finding() -> None:
    assert check_rate(PUMA, LOG) == []
    assert check_rate(None, LOG) == []
    assert check_rate(PUMA, slowed(1.08)) == []  # filters of velocities do as much
    assert check_rate(PUMA, without_velocity(LOG)) == []


@pytest.mark.parametrize("factor", [0.25, 0.8, 1.25, 4.0])
@pytest.mark.parametrize("robot", [PUMA, None])
def test_a_declared_rate_that_velocities_contradict(factor: float, robot: cp.Robot | None) -> None:
    """It invalidates, and the fix has the measured rate, which fixes the log."""
    wrong = slowed(factor, time_from="rate", rate_source="declared", mapping={"time": {"rate": 100.0 / factor}})
    (finding,) = check_rate(robot, wrong)
    assert (finding.fault, finding.consequence) == (LogFault.RATE, Consequence.INVALIDATES)
    assert finding.fix["time"]["rate"] == pytest.approx(100.0, rel=2e-3)
    assert finding.fix["source"] == {"time.rate": "measured"}
    fixed = remapped(wrong, finding.fix, robot)
    assert fixed.rate == pytest.approx(100.0, rel=2e-3)
    assert fixed.declared.rate_source == "measured"
    assert check_rate(robot, fixed) == []


@pytest.mark.parametrize(("unit", "true"), [("s", "ms"), ("ms", "s"), ("ms", "us"), ("ns", "ms")])
def test_a_unit_of_time_that_velocities_contradict(unit: str, true: str) -> None:
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    wrong = slowed(units[unit] / units[true], time_from="column", mapping={"time": {"column": "t", "unit": unit}})
    (finding,) = check_rate(PUMA, wrong)
    assert finding.consequence is Consequence.INVALIDATES
    assert finding.fix == {"time": {"unit": true}, "source": {"time.unit": "measured"}}
    fixed = remapped(wrong, finding.fix, PUMA)
    assert fixed.time == pytest.approx(LOG.time)
    assert fixed.declared.mapping["time"] == {"column": "t", "unit": true}
    assert LogMapping.from_table(wrong.declared.mapping).merged_with(finding.fix).time.unit == true


@pytest.mark.parametrize(("unit", "factor"), [("deg/s", 180.0 / np.pi), ("rpm", 30.0 / np.pi)])
def test_velocities_in_another_unit_are_no_wrong_rate(unit: str, factor: float) -> None:
    log = replace(LOG, dq=LOG.dq * factor)
    (finding,) = check_rate(PUMA, log)
    assert finding.fix == {"velocity": {"unit": unit}, "source": {"velocity.unit": "measured"}}
    assert remapped(log, finding.fix, PUMA).dq == pytest.approx(LOG.dq)


def test_rows_in_reverse_order() -> None:
    (finding,) = check_rate(PUMA, replace(LOG[::-1], time=LOG.time))
    assert (finding.fault, finding.consequence) == (LogFault.RATE, Consequence.INVALIDATES)
    assert "run backwards in time" in finding.sentence
    one = np.array(LOG.dq)
    one[:, 1] *= -1.0
    assert check_rate(PUMA, replace(LOG, dq=one)) == []  # one velocity: not the time


@pytest.mark.parametrize("factor", [1e-2, 1e4])
def test_speeds_that_no_joint_has(factor: float) -> None:
    """Without velocities: the fastest joint stands nearly still, or runs much faster than it can."""
    (finding,) = check_rate(PUMA, without_velocity(slowed(factor)))
    assert (finding.fault, finding.consequence, finding.fix) == (LogFault.RATE, Consequence.INVALIDATES, {})
    assert "speed limit" in finding.sentence


def test_limits_do_not_speak_against_velocities_or_of_poses() -> None:
    slow = replace(slowed(1e4), dq=LOG.dq / 1e4)
    assert check_rate(PUMA, slow) == []  # recorded velocities agree: it is slow
    random = np.random.default_rng(0).uniform(-1.0, 1.0, (60, PUMA.n))
    table = Log(PUMA.joint_names, np.arange(60) / 100.0, random, np.zeros_like(random), random)
    poses = replace(table, declared=replace(LOG.declared, time_from="rate", velocity_from="position"))
    assert check_rate(PUMA, poses) == []
    degrees = replace(LOG, q=np.degrees(LOG.q), dq=np.degrees(LOG.dq))
    assert check_rate(PUMA, without_velocity(degrees)) == []


def test_a_guessed_unit_limits() -> None:
    log = without_velocity(slowed(1.0, time_from="column", rate_source="guessed", notes={"time": "ms: likely"}))
    (finding,) = check_rate(PUMA, log)
    assert (finding.fault, finding.consequence) == (LogFault.RATE, Consequence.LIMITS)


def test_the_model_is_compared_at_the_right_rate() -> None:
    """One wrong rate is one finding: nothing else is said for it, and the fix fixes all."""
    sound = {finding.fault for finding in diagnose(PUMA, LOG).alarms}
    wrong = slowed(0.25, time_from="rate", rate_source="declared", mapping={"time": {"rate": 400.0}})
    diagnosis = diagnose(PUMA, wrong)
    assert {finding.fault for finding in diagnosis.alarms} == sound | {LogFault.RATE}
    assert diagnosis.fix["time"]["rate"] == pytest.approx(100.0, rel=2e-3)
    assert diagnosis.facts["rate_hz"] == pytest.approx(400.0, rel=1e-2)


def test_fixes_say_where_their_numbers_come_from() -> None:
    """Sizes of efforts are guesses by the description, the rest is measured; a finding's own word counts."""

    def fixes(**fix: Any) -> Finding:
        return Finding(LogFault.GAIN, Consequence.INVALIDATES, (), "", "", fix=fix)

    told = merged_fix(
        [
            fixes(joints={"a": {"effort_gain": 2.0, "effort_sign": -1}}, effort={"kind": "current", "lag": 0.1}),
            fixes(
                joints={"b": {"effort_gain": 3.0, "position": "column"}}, source={"joints.b.effort_gain": "measured"}
            ),
            fixes(),
        ]
    )
    assert told["source"] == {
        "joints.a.effort_gain": "guessed",
        "joints.a.effort_sign": "measured",
        "effort.kind": "guessed",
        "effort.lag": "measured",
        "joints.b.effort_gain": "measured",
    }
    assert LogMapping.from_table(told).to_table()["source"] == told["source"]
    assert merged_fix([fixes()]) == {}
