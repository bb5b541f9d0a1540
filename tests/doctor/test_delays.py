"""Delay between channels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.finding import Finding
from counterpoise.doctor.timing import check_delays, effort_delay, velocity_delay
from counterpoise.recording import Motion
from library.analytic_log import late, moving_log

ROBOTS = {name: cp.load(name) for name in ("puma560", "wam7", "titan2")}
LOGS = {name: moving_log(robot, seed=3) for name, robot in ROBOTS.items()}


def delays(robot: cp.Robot | None, log: cp.Log) -> list[Finding]:
    return check_delays(robot, log, Motion.on_grid(log))


@pytest.mark.parametrize("name", ROBOTS)
def test_no_delay_in_good_recordings(name):
    assert delays(ROBOTS[name], LOGS[name]) == []


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("lag", [0.15, 0.0037, -0.2])
def test_delays_are_measured_between_samples(name, lag):
    """Within a tenth of a sample for velocities, and three standard deviations for efforts."""
    velocity = velocity_delay(Motion.on_grid(late(LOGS[name], "dq", lag)))
    assert velocity.lag == pytest.approx(lag, abs=1e-3)
    effort = effort_delay(ROBOTS[name], Motion.on_grid(late(LOGS[name], "tau", lag)))
    assert abs(effort.lag - lag) < max(3.0 * effort.std, 5e-3)


def test_findings_carry_the_shift_as_a_fix():
    log = late(late(LOGS["puma560"], "tau", 0.2), "dq", 0.05)
    found = {finding.subjects[0]: finding for finding in delays(ROBOTS["puma560"], log)}
    assert found["effort"].fix["effort"]["lag"] == pytest.approx(0.2, abs=0.01)
    assert found["velocity"].fix["velocity"]["lag"] == pytest.approx(0.05, abs=1e-3)
    assert "later than the positions" in found["effort"].sentence


def test_sign_and_unit_of_efforts_do_not_matter():
    log = late(LOGS["puma560"], "tau", 0.2)
    turned = replace(log, tau=log.tau * [-0.05, 7.0, -1.0, 0.3, -20.0, 1.0])
    (finding,) = delays(ROBOTS["puma560"], turned)
    assert finding.evidence["lag_s"] == pytest.approx(0.2, abs=0.01)


def test_derived_velocities_and_missing_models_are_not_judged():
    log = late(LOGS["puma560"], "dq", 0.1)
    derived = replace(log, declared=replace(log.declared, velocity_from="position"))
    assert delays(ROBOTS["puma560"], derived) == []
    assert delays(None, late(LOGS["puma560"], "tau", 0.2)) == []
    assert len(delays(None, log)) == 1


def test_efforts_without_any_relation_give_no_delay():
    noise = np.random.default_rng(0).normal(size=LOGS["puma560"].tau.shape)
    assert effort_delay(ROBOTS["puma560"], Motion.on_grid(replace(LOGS["puma560"], tau=noise))) is None


def test_one_joint_of_several_does_not_tell_a_delay():
    """Its friction, or a spring, may look like any delay. An arm of one joint has no other to ask."""
    robot = ROBOTS["puma560"]
    log = late(LOGS["puma560"], "tau", 0.2)
    alone = np.full(log.tau.shape, np.nan)
    alone[:, 2] = log.tau[:, 2]
    (finding,) = delays(robot, replace(log, tau=alone))
    assert list(finding.evidence["per_joint_s"]) == ["joint3"]
    noise = np.random.default_rng(0).normal(size=log.tau.shape)
    noise[:, 2] = log.tau[:, 2]
    assert list(effort_delay(robot, Motion.on_grid(replace(log, tau=noise))).per_joint) == [2]
    assert delays(robot, replace(log, tau=noise)) == []
