"""Time stamps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.finding import Consequence, LogFault
from counterpoise.doctor.timing import check_timing
from library.analytic_log import moving_log

PUMA = cp.load("puma560")
LOG = moving_log(PUMA)


def test_good_time_has_no_finding():
    assert check_timing(LOG) == []


def test_gaps_are_counted_and_measured():
    kept = np.ones(len(LOG), dtype=bool)
    kept[500:560] = kept[1200:1300] = False
    (finding,) = check_timing(LOG[kept])
    assert (finding.fault, finding.consequence) == (LogFault.TIME_GAPS, Consequence.LIMITS)
    assert finding.evidence["gaps"] == 2
    assert finding.evidence["longest_s"] == pytest.approx(1.01)
    assert finding.evidence["lost_s"] == pytest.approx(1.6)


def test_single_lost_samples_are_neither_gap_nor_jitter():
    assert check_timing(LOG[np.arange(len(LOG)) % 50 != 7]) == []


def test_a_short_gap_is_a_note():
    kept = np.ones(len(LOG), dtype=bool)
    kept[500:504] = False
    (finding,) = check_timing(LOG[kept])
    assert finding.consequence is Consequence.NOTE


@pytest.mark.parametrize(("share", "consequence"), [(0.12, Consequence.NOTE), (0.3, Consequence.LIMITS)])
def test_jitter_is_measured(share, consequence):
    off = 0.01 * share * np.random.default_rng(0).normal(size=len(LOG)) / np.sqrt(2.0)
    (finding,) = check_timing(replace(LOG, time=np.sort(LOG.time + off)))
    assert (finding.fault, finding.consequence) == (LogFault.TIME_JITTER, consequence)
    assert finding.evidence["share"] == pytest.approx(share, rel=0.1)


def test_repeated_and_backward_stamps_are_told_apart():
    time = np.array(LOG.time)
    time[100:140] = time[99]
    time[900:] -= 0.5
    finding = next(f for f in check_timing(replace(LOG, time=time)) if f.fault is LogFault.TIME_DUPLICATES)
    assert (finding.evidence["repeated"], finding.evidence["backward"]) == (40, 1)
    assert "goes back once, by up to 0.49 s" in finding.sentence


@pytest.mark.parametrize(("row", "stamp"), [(700, 1e9), (700, 0.0), (0, -1e9), (-1, 1e9)])
def test_a_wild_stamp_is_named_with_its_row(row, stamp):
    time = np.array(LOG.time)
    time[row] = stamp
    declared = replace(LOG.declared, notes={"files": ["run.csv"]}, mapping={"time": {"first": 5}})
    findings = check_timing(replace(LOG, time=time, declared=declared))
    (finding,) = findings  # no gap of 30 years, no jitter
    assert (finding.fault, finding.consequence) == (LogFault.TIME_DUPLICATES, Consequence.LIMITS)
    assert finding.evidence["rows"] == [row % len(LOG)]
    assert f"row {row % len(LOG) + 5} of run.csv" in finding.sentence


def test_a_time_that_starts_again_spoils():
    time = np.array(LOG.time)
    time[len(time) // 2 :] -= time[len(time) // 2]
    finding = next(f for f in check_timing(replace(LOG, time=time)) if f.fault is LogFault.TIME_DUPLICATES)
    assert finding.consequence is Consequence.INVALIDATES
    assert finding.evidence["left_out"] == pytest.approx(0.5 * len(LOG), abs=2)


def test_a_column_that_was_refused_is_named():
    refused = {"file": "run.csv", "column": "t", "row": 3, "back": 150, "steps": 199}
    for source, consequence in (("guessed", Consequence.INVALIDATES), ("measured", Consequence.LIMITS)):
        declared = replace(LOG.declared, time_from="rate", rate_source=source, notes={"time_refused": refused})
        finding = next(f for f in check_timing(replace(LOG, declared=declared)) if f.fault is LogFault.TIME_DUPLICATES)
        assert finding.consequence is consequence
        assert "Column 't' of run.csv goes back in 150 of its first 199 steps, first in row 3" in finding.sentence


def test_a_measured_rate_is_a_note():
    declared = replace(LOG.declared, time_from="rate", rate_source="measured", notes={"time": "100 Hz: 6 joints"})
    (finding,) = check_timing(replace(LOG, declared=declared))
    assert (finding.fault, finding.consequence) == (LogFault.NO_TIME, Consequence.NOTE)
    assert "were measured (100 Hz: 6 joints)" in finding.sentence


def test_time_that_stands_spoils():
    (finding,) = check_timing(replace(LOG, time=np.zeros(len(LOG))))
    assert finding.consequence is Consequence.INVALIDATES


def test_assumed_rate_is_said_and_a_given_one_is_a_note():
    assumed = replace(LOG, declared=replace(LOG.declared, time_from="rate", notes={"assumed_rate": 100.0}))
    (finding,) = check_timing(assumed)
    assert (finding.fault, finding.consequence) == (LogFault.NO_TIME, Consequence.LIMITS)
    assert "100 samples per second were assumed" in finding.sentence
    given = replace(LOG, declared=replace(LOG.declared, time_from="rate"))
    assert check_timing(given)[0].consequence is Consequence.NOTE


def test_times_that_are_no_numbers_are_survived():
    time = np.array(LOG.time)
    time[::7] = np.nan
    assert all(f.fault is not LogFault.TIME_DUPLICATES for f in check_timing(replace(LOG, time=time)))
    assert check_timing(replace(LOG, time=np.full(len(LOG), np.nan))) == []
