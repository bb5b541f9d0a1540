"""How recorded velocities go with recorded positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.channel_findings import velocity_slopes
from counterpoise.doctor.points import points_of
from counterpoise.recording import Log
from library.doctor_cases import recording

LOG = recording(cp.load("wam4"))


def slopes(log: Log) -> list[float]:
    return velocity_slopes(log, points_of(log)).round(2).tolist()


def test_velocities_in_the_positions_unit_and_sign_have_slope_one() -> None:
    assert slopes(LOG) == [1.0, 1.0, 1.0, 1.0]
    assert slopes(replace(LOG, q=np.degrees(LOG.q), dq=np.degrees(LOG.dq))) == [1.0, 1.0, 1.0, 1.0]


def test_other_units_and_signs_show() -> None:
    found = slopes(replace(LOG, dq=LOG.dq * [1.0, -1.0, 57.3, 1.0]))
    assert found == pytest.approx([1.0, -1.0, 57.3, 1.0], rel=0.01)


def test_velocities_of_another_joint_or_of_none_have_slope_zero() -> None:
    dq = LOG.dq.copy()
    dq[:, 0] = np.random.default_rng(0).normal(size=len(LOG))
    dq[:, 3] = 0.0
    assert slopes(replace(LOG, dq=dq)) == [0.0, 1.0, 1.0, 0.0]


def test_what_was_not_measured_is_unknown() -> None:
    derived = replace(LOG, declared=replace(LOG.declared, velocity_from="position"))
    assert np.isnan(slopes(derived)).all()
    dq = LOG.dq.copy()
    dq[:, 2] = np.nan
    assert np.isnan(slopes(replace(LOG, dq=dq))).tolist() == [False, False, True, False]
