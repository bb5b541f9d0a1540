"""Still segments: where, and from which side."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording.log import Log
from counterpoise.recording.stillness import still_segments
from library.analytic_log import standing_log

PUMA = cp.load("puma560")
SIDES = (1.0, -1.0, -1.0, 1.0, 1.0)


def poses_of(log: Log):
    return [segment for segment in still_segments(log) if segment.duration > 1.0]


def test_every_pose_is_found_with_its_side():
    segments = poses_of(standing_log(PUMA, SIDES))
    assert [segment.approach.tolist() for segment in segments] == [[side] * 6 for side in SIDES]


def test_means_are_those_of_the_segment():
    log = standing_log(PUMA, SIDES)
    for segment in poses_of(log):
        rows = slice(segment.start, segment.end)
        assert segment.q == pytest.approx(log.q[rows].mean(axis=0), abs=1e-9)
        assert segment.tau == pytest.approx(log.tau[rows].mean(axis=0))
        assert np.ptp(log.q[rows], axis=0).max() < 5e-3


def test_settling_is_cut_off():
    log = standing_log(PUMA, SIDES)
    plain, cut = poses_of(log), [s for s in still_segments(log, settle=0.4) if s.duration > 0.5]
    assert [b.duration for b in cut] == pytest.approx([a.duration - 0.4 for a in plain], abs=0.02)


def test_coarse_counts_do_not_look_like_motion():
    log = standing_log(PUMA, SIDES)
    coarse = Log(log.joint_names, log.time, 2e-3 * np.round(log.q / 2e-3), log.dq, log.tau)
    assert len([s for s in still_segments(coarse) if s.duration > 1.0]) == len(SIDES)


def test_creep_is_motion():
    time = np.arange(0.0, 5.0, 0.01)
    creep = Log(("a",), time, 0.05 * time[:, None], np.full((500, 1), 0.05), np.zeros((500, 1)))
    assert still_segments(creep) == ()


def test_missing_numbers_and_short_logs_are_survived():
    log = standing_log(PUMA, SIDES)
    tau = np.array(log.tau)
    tau[::3, 1] = np.nan
    tau[:, 2] = np.nan
    q = np.array(log.q)
    q[100:105] = np.nan
    segments = still_segments(Log(log.joint_names, log.time, q, log.dq, tau))
    assert segments and np.isfinite(segments[0].tau[1]) and np.isnan(segments[0].tau[2])
    assert still_segments(log[:2]) == ()
