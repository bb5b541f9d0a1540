"""Missing readings: short gaps are bridged, long ones and saturated peaks are not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording import MOST_OF_RATE, SampleFlag
from counterpoise.sensing.plate import regression
from counterpoise.sensing.plate.log_estimate import frozen_rows
from counterpoise.sensing.plate.readings import short_gaps
from counterpoise.sensing.plate.regression import moving_plate_samples
from library.plate_recordings import random_truth, recorded

PUMA = cp.load("puma560")
TIME = np.arange(0.0, 20.0, 0.002)


def test_a_gap_is_short_by_the_time_between_its_neighbours() -> None:
    """At 2 Hz up to 0.1 s; never at the ends, nor for a sample without a time."""
    time = np.arange(0.0, 10.0, 0.01)
    missing = np.zeros(len(time), dtype=bool)
    missing[:3] = missing[100:108] = missing[200:210] = missing[-1:] = True
    short = short_gaps(time, missing, 2.0)
    assert np.array_equal(np.flatnonzero(short), np.arange(100, 108))
    assert np.array_equal(np.flatnonzero(short_gaps(time, missing, 1.8)), [*range(100, 108), *range(200, 210)])
    unknown = np.where(np.arange(len(time)) == 104, np.nan, time)
    assert not short_gaps(unknown, missing, 2.0)[104]
    assert not short_gaps(time, np.ones(len(time), dtype=bool), 2.0).any()


def test_scattered_gaps_cost_no_samples_and_change_little() -> None:
    """Two percent of the readings lost: as many samples as before, the same wrenches to some tenths of their noise."""
    log = recorded(PUMA, random_truth(0), 0, TIME)
    sensor = cp.BaseSensor(PUMA)
    lost = np.random.default_rng(0).random(len(log)) < 0.02
    lost[0] = lost[-1] = False
    whole, _ = moving_plate_samples(PUMA, log, sensor)
    some, _ = moving_plate_samples(PUMA, replace(log, wrench=np.where(lost[:, None], np.nan, log.wrench)), sensor)
    assert len(some.wrench) == len(whole.wrench)
    assert np.all(np.std(some.wrench - whole.wrench, axis=0) < [0.05, 0.05, 0.05, 0.03, 0.03, 0.01])


def test_saturated_peaks_are_left_out() -> None:
    """As short as other gaps, but a line across a peak is too low."""
    log = recorded(PUMA, random_truth(0), 0, TIME)
    flags = np.zeros(len(log), dtype=np.int64)
    flags[5000:5004] = int(SampleFlag.WRENCH_SATURATED)
    whole, _ = moving_plate_samples(PUMA, log, cp.BaseSensor(PUMA))
    some, _ = moving_plate_samples(PUMA, replace(log, flags=flags), cp.BaseSensor(PUMA))
    assert len(some.wrench) < len(whole.wrench)


def test_a_slow_plate_is_frozen_only_when_it_stays_longer_than_usual() -> None:
    """Readings that repeat 25 times each; one of them for 400 samples. A fast plate is frozen after 20."""
    count = np.arange(4000)
    q = np.outer(count, np.full(6, 1e-3))
    reading = np.repeat((count // 25)[:, None], 6, axis=1).astype(float)
    assert not frozen_rows(reading, q).any()
    reading[1000:1400] = -1.0
    found = frozen_rows(reading, q)
    assert found[1100:1400].all() and not found[:1000].any() and not found[1400:].any()
    fast = np.repeat(count[:, None], 6, axis=1).astype(float)
    fast[1000:1400] = -1.0
    assert np.flatnonzero(frozen_rows(fast, q))[0] == 1019


@pytest.mark.parametrize(("asked", "taken"), [(1.0, 6.0), (8.0, 8.0), (30.0, 10.0)])
def test_masses_are_fitted_to_motion_and_not_to_vibrations(
    asked: float, taken: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever moves, from 6 to 10 Hz: a reversal's ringing is over before the next; a slow recording shows less."""
    for rate in (1000.0, 12.0):
        monkeypatch.setattr(regression, "motion_band", lambda log, rate=rate: SimpleNamespace(cutoff=asked, rate=rate))
        log: Any = None
        assert regression.plate_cutoff(log) == pytest.approx(min(taken, MOST_OF_RATE * rate))
