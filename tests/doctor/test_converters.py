"""Saturated and quantised channels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.channels import check_quantised, check_saturated
from counterpoise.doctor.finding import Consequence, Finding, LogFault
from counterpoise.recording import Motion, SampleFlag
from library.analytic_log import moving_log, with_column

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)


def saturated(log: cp.Log) -> list[Finding]:
    return check_saturated(log, Motion.on_grid(log))


def quantised(log: cp.Log) -> list[Finding]:
    return check_quantised(log, Motion.on_grid(log))


def alarms(findings):
    return [finding for finding in findings if finding.consequence > Consequence.NOTE]


def test_good_recording_has_neither():
    assert saturated(LOG) == []
    assert alarms(quantised(LOG)) == []


@pytest.mark.parametrize("joint", [1, 4])
@pytest.mark.parametrize("upper", [True, False])
def test_effort_that_is_cut_off_is_found_with_its_value(joint, upper):
    column = LOG.tau[:, joint]
    cut = float(np.quantile(column, 0.94 if upper else 0.06))
    clipped = np.minimum(column, cut) if upper else np.maximum(column, cut)
    (finding,) = saturated(replace(LOG, tau=with_column(LOG.tau, joint, clipped)))
    assert finding.fault is LogFault.SATURATED and finding.subjects == (PUMA.joint_names[joint],)
    numbers = finding.evidence["flat_at"][PUMA.joint_names[joint]]
    assert numbers["value"] == pytest.approx(cut) and numbers["share"] == pytest.approx(0.06, abs=0.01)


def test_constant_speed_is_no_saturation_but_a_clipped_velocity_is():
    time = np.arange(0.0, 24.0, 0.01)
    swing = np.abs((time / 6.0) % 2.0 - 1.0) * 1.2
    speed = np.where((time / 6.0) % 2.0 < 1.0, -0.2, 0.2)
    zeros = np.zeros((len(time), 1))
    honest = cp.Log(("a",), time, swing[:, None], speed[:, None], zeros)
    assert saturated(honest) == []
    sine = cp.Log(("a",), time, np.sin(time)[:, None], np.clip(np.cos(time), -0.6, 0.6)[:, None], zeros)
    assert saturated(sine)[0].subjects == ("a",)


def test_resting_at_the_extreme_without_noise_is_no_saturation():
    """An exact recording of an arm that stands where it needs most torque is flat there by itself."""
    time = np.arange(0.0, 20.0, 0.01)
    q = np.clip(np.sin(0.6 * time), -2.0, 0.8)[:, None]
    dq = np.gradient(q, time, axis=0)
    assert saturated(cp.Log(("a",), time, q, dq, 5.0 * q)) == []


def test_flags_of_the_plate_are_believed():
    flags = np.where(LOG.time > 22.0, int(SampleFlag.WRENCH_SATURATED), 0)
    (finding,) = saturated(replace(LOG, flags=flags))
    assert finding.consequence is Consequence.INVALIDATES and "reports" in finding.sentence


@pytest.mark.parametrize("levels", [6, 15])
@pytest.mark.parametrize("joint", [1, 2])
def test_coarse_effort_limits(joint, levels):
    step = float(np.ptp(LOG.tau[:, joint])) / levels
    rounded = step * np.round(LOG.tau[:, joint] / step)
    (finding,) = alarms(quantised(replace(LOG, tau=with_column(LOG.tau, joint, rounded))))
    assert finding.subjects == (PUMA.joint_names[joint],)
    assert finding.evidence["step"][PUMA.joint_names[joint]] == pytest.approx(step, rel=1e-6)


def test_steps_below_the_noise_do_not_limit():
    """Noise of a step and more carries what lies between two steps."""
    noisy = LOG.tau[:, 5] + np.random.default_rng(0).normal(size=len(LOG))
    step = float(np.ptp(noisy)) / 10.0
    log = replace(LOG, tau=with_column(LOG.tau, 5, step * np.round(noisy / step)))
    assert alarms(quantised(log)) == []


def test_whole_degrees_limit_positions_and_tenths_do_not():
    degree = np.pi / 180.0
    coarse = replace(LOG, q=degree * np.round(LOG.q / degree))
    assert alarms(quantised(coarse))[0].evidence["channel"] == "position"
    fine = replace(LOG, q=0.1 * degree * np.round(LOG.q / (0.1 * degree)))
    assert alarms(quantised(fine)) == []


def test_motion_one_way_with_rests_is_no_saturation():
    """Zero is then the largest or smallest velocity, and is kept exactly."""
    time = np.arange(0.0, 12.0, 0.01)
    speed = np.where((time % 4.0) < 2.0, 0.3 * np.sin(0.5 * np.pi * (time % 4.0)) ** 2, 0.0)
    q = np.cumsum(speed)[:, None] * 0.01
    assert saturated(cp.Log(("a",), time, q, speed[:, None], np.zeros((len(time), 1)))) == []
