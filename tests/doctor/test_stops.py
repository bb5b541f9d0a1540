"""Poses at joint stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import counterpoise as cp
from counterpoise.doctor.coverage import check_stops
from counterpoise.doctor.finding import Finding, LogFault
from counterpoise.recording import Motion
from library.analytic_log import moving_log, with_column

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)


def stops(log: cp.Log) -> list[Finding]:
    return check_stops(PUMA, log, Motion.on_grid(log))


def test_recording_inside_the_limits_has_none():
    assert stops(LOG) == []


def test_joint_that_rests_at_its_limit_is_named():
    q = np.array(LOG.q)
    upper = float(PUMA.upper[2])
    q[:, 2] = np.minimum(q[:, 2] - q[:, 2].max() + upper + 0.2, upper - 0.004)
    (finding,) = stops(replace(LOG, q=q))
    assert finding.fault is LogFault.JOINT_STOPS and finding.subjects == ("joint3",)
    assert finding.evidence["joints"]["joint3"]["limit"] == upper


def test_turning_round_at_a_limit_is_no_rest():
    time = np.arange(0.0, 20.0, 0.01)
    q = np.array(LOG.q[: len(time)])
    upper = float(PUMA.upper[0])
    q[:, 0] = upper - 0.8 + 0.8 * np.sin(2.0 * time)
    dq = np.gradient(q, time, axis=0)
    log = cp.Log(PUMA.joint_names, time, q, dq, LOG.tau[: len(time)])
    assert stops(log) == []


def test_positions_far_outside_are_another_fault():
    """Degrees or an offset, not a stop."""
    log = replace(LOG, q=with_column(LOG.q, 1, LOG.q[:, 1] + 10.0))
    assert stops(log) == []
