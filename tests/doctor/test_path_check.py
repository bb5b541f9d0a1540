"""Held-out part that repeats the training path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import counterpoise as cp
from counterpoise.doctor.coverage import check_path
from counterpoise.doctor.finding import LogFault
from counterpoise.recording import Motion
from library.analytic_log import moving_log

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)


def back_again(log: cp.Log) -> cp.Log:
    time = np.concatenate([log.time, log.time[-1] + 0.01 + log.time])
    parts = {name: np.concatenate([values, values[::-1]]) for name, values in (("q", log.q), ("tau", log.tau))}
    return cp.Log(log.joint_names, time, parts["q"], np.concatenate([log.dq, -log.dq[::-1]]), parts["tau"])


def test_new_path_is_not_named():
    assert check_path(Motion.on_grid(LOG)) == []


def test_path_driven_back_is_named_as_such():
    (finding,) = check_path(Motion.on_grid(back_again(LOG)))
    assert finding.fault is LogFault.REPEATED_PATH and finding.evidence["driven_back"]
    assert "driven back along the first part" in finding.sentence


def test_second_round_is_named_as_such():
    twice = replace(back_again(LOG), q=np.concatenate([LOG.q, LOG.q]))
    (finding,) = check_path(Motion.on_grid(twice))
    assert "in the same sense" in finding.sentence and not finding.evidence["driven_back"]


def test_arm_that_stands_has_no_path():
    assert check_path(Motion.on_grid(replace(LOG, q=np.zeros_like(LOG.q)))) == []
