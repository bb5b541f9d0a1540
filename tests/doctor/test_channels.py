"""Dead and frozen channels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.channels import check_dead, check_frozen
from counterpoise.doctor.finding import Consequence, Finding, LogFault
from counterpoise.recording import Motion
from library.analytic_log import moving_log, with_column

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)


def dead(robot: cp.Robot | None, log: cp.Log) -> list[Finding]:
    return check_dead(robot, log, Motion.on_grid(log))


def test_good_recording_has_neither():
    assert dead(PUMA, LOG) + check_frozen(LOG) == []


@pytest.mark.parametrize("value", [0.0, -3.2])
@pytest.mark.parametrize("joint", [0, 2, 5])
def test_constant_effort_is_dead(joint, value):
    (finding,) = dead(PUMA, replace(LOG, tau=with_column(LOG.tau, joint, value)))
    assert (finding.fault, finding.consequence) == (LogFault.DEAD, Consequence.INVALIDATES)
    assert finding.subjects == (PUMA.joint_names[joint],)
    assert finding.evidence["channel"] == "effort"


def test_effort_of_nothing_but_noise_is_dead_only_beside_a_model():
    noise = 1e-3 * np.random.default_rng(1).normal(size=len(LOG))
    log = replace(LOG, tau=with_column(LOG.tau, 1, noise))
    assert dead(PUMA, log)[0].subjects == ("joint2",)
    assert dead(None, log) == []


def test_velocity_and_position_and_plate_can_be_dead():
    wrench = with_column(LOG.wrench, 4, 1.25)
    log = replace(LOG, dq=with_column(LOG.dq, 3, 0.0), q=with_column(LOG.q, 0, 0.1), wrench=wrench)
    found = {finding.evidence["channel"]: finding for finding in dead(PUMA, log)}
    assert found["velocity"].subjects == ("joint4",) and found["velocity"].consequence is Consequence.LIMITS
    assert found["position"].subjects == ("joint1",)
    assert found["plate"].subjects == ("plate my",)


def test_joint_that_stands_is_not_dead():
    """A joint that never moves may well report nothing."""
    log = replace(LOG, q=with_column(LOG.q, 5, 0.3), dq=with_column(LOG.dq, 5, 0.0), tau=with_column(LOG.tau, 5, 0.0))
    assert dead(PUMA, log) == []


def test_joint_that_was_not_recorded_is_not_dead():
    notes = {"held": {"joint6": 0.3}}
    tau = with_column(LOG.tau, 5, np.nan)
    log = replace(LOG, q=with_column(LOG.q, 5, 0.3), tau=tau, declared=replace(LOG.declared, notes=notes))
    assert dead(PUMA, log) == []


def stuck(name: str, joint: int):
    """Return the log with a channel frozen for 1.5 s where its joint moves most, and when that begins."""
    begin = int(np.abs(LOG.q[150:, joint] - LOG.q[:-150, joint]).argmax())
    values = np.array(getattr(LOG, name))
    values[begin : begin + 150, joint] = values[begin, joint]
    return replace(LOG, **{name: values}), float(LOG.time[begin])


@pytest.mark.parametrize(("name", "kind"), [("q", "position"), ("dq", "velocity"), ("tau", "effort")])
@pytest.mark.parametrize("joint", [0, 1, 3])
def test_frozen_stretch_is_found_with_its_time(name, kind, joint):
    log, since = stuck(name, joint)
    (finding,) = check_frozen(log)
    assert finding.fault is LogFault.FROZEN and finding.evidence["channel"] == kind
    ((begin, end),) = finding.evidence["stretches_s"][PUMA.joint_names[joint]]
    assert (begin, end) == (pytest.approx(since, abs=0.02), pytest.approx(since + 1.49, abs=0.02))


def test_frozen_plate_is_found():
    wrench = np.array(LOG.wrench)
    wrench[500:700] = wrench[500]
    (finding,) = check_frozen(replace(LOG, wrench=wrench))
    assert len(finding.subjects) == 6


def test_motion_lost_in_a_gap_is_no_freeze():
    """A joint that stands, and has moved when the recording goes on after a gap, was not frozen."""
    time = np.concatenate([np.arange(0.0, 5.0, 0.01), np.arange(8.0, 14.0, 0.01)])
    q = np.where(time < 5.0, 0.2, 0.7 + 0.3 * np.sin(time - 8.0))
    random = np.random.default_rng(0)
    dq = np.where(time < 5.0, 0.0, 0.3 * np.cos(time - 8.0)) + 1e-3 * random.normal(size=len(time))
    log = cp.Log(("a",), time, q[:, None], dq[:, None], random.normal(size=(len(time), 1)))
    assert check_frozen(log) == []


def test_coarse_encoder_at_slow_speed_is_not_frozen():
    log = replace(LOG, q=5e-3 * np.round(LOG.q / 5e-3))
    assert check_frozen(log) == []


def test_a_coarse_effort_that_keeps_its_step_is_not_frozen_and_one_that_catches_up_is():
    """A slow load crosses few steps of a coarse converter; a stuck reader jumps afterwards."""
    noise = np.random.default_rng(0).normal(0.0, 0.2, len(LOG))
    busy = np.round(3.0 * np.sin(2.0 * LOG.time) + noise)
    slow = np.where(LOG.time < 8.0, busy, np.round(0.4 * np.sin(0.2 * LOG.time)))
    assert check_frozen(replace(LOG, tau=with_column(LOG.tau, 3, slow))) == []
    late = slow + 6.0 * (LOG.time > LOG.time[-1] - 2.0)
    assert [finding.fault for finding in check_frozen(replace(LOG, tau=with_column(LOG.tau, 3, late)))] == [
        LogFault.FROZEN
    ]
