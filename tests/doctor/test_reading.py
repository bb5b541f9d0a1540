"""Readings and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.priors import ALL_SIGNS, GAIN, ORDER, SIGN, Cost, exchanges
from counterpoise.doctor.reading import Reading, swapped
from counterpoise.recording import Declared

ROBOT = cp.load("planar3")
PLAIN = Reading.as_recorded(ROBOT)
COST = Cost(PLAIN, (0, 1, 2))


def test_what_the_log_declares_is_believed() -> None:
    told = Reading.as_recorded(ROBOT, Declared(effort_kind="current", adds_gravity=True, gravity_base=(0.0, 9.81, 0.0)))
    assert told.free_gain
    assert told.compensated
    assert told.gravity_base == (0.0, 9.81, 0.0)


def test_positions_are_taken_from_their_channels_with_their_factors() -> None:
    reading = PLAIN.with_channels(position=swapped(3, 0, 2)).with_position_flipped(0)
    np.testing.assert_array_equal(reading.positions(np.array([[1.0, 2.0, 3.0]])), [[-3.0, 2.0, 1.0]])


@pytest.mark.parametrize(
    ("position", "effort", "count"),
    [
        ((0, 1, 2), (0, 1, 2), 0),
        ((1, 0, 2), (0, 1, 2), 1),
        ((1, 0, 2), (1, 0, 2), 1),
        ((1, 2, 0), (1, 2, 0), 2),
        ((1, 0, 2), (0, 2, 1), 2),
        ((1, 2, 0), (0, 1, 2), 2),
    ],
)
def test_exchanges_are_counted_once_for_whole_joints(
    position: tuple[int, ...], effort: tuple[int, ...], count: int
) -> None:
    assert exchanges(position, effort) == count


def test_a_convention_costs_less_than_as_many_faults() -> None:
    assert COST(PLAIN) == 0.0
    assert COST(PLAIN.with_effort_flipped(1)) == SIGN
    assert COST(PLAIN.with_effort_flipped(0, 1, 2)) == ALL_SIGNS < 3 * SIGN
    assert COST(PLAIN.with_channels(effort=(1, 0, 2))) == ORDER
    assert COST(PLAIN.with_effort_factors({0: 2.0})) > GAIN
