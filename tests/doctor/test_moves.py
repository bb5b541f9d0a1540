"""Steps between readings: each can be taken back, none is tried that makes no sense, and each costs what it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.doctor.evidence import ReadingComparison
from counterpoise.doctor.gram import SignalColumns
from counterpoise.doctor.moves import (
    KNOWN_TILT,
    LEAST_TILT,
    MOST_FREE,
    NEIGHBOURS,
    effort_moves,
    exchangeable,
    in_degrees,
    position_moves,
    tilt_found,
    with_all_gains_found,
    with_gain_found,
    with_gravity_found,
)
from counterpoise.doctor.points import points_of
from counterpoise.doctor.priors import (
    COMPENSATED,
    EFFORT_OFFSET,
    GAIN,
    GOOD,
    MOUNT,
    OPEN_FACTOR,
    ORDER,
    PAYLOAD,
    SIGN,
    UNIT,
    Cost,
    exchanges,
)
from counterpoise.doctor.reading import Reading, swapped
from library.doctor_cases import as_currents, recording, reversed_effort, scaled_effort

ARM = cp.load("wam4")
TREE = cp.load("dualarm19")
PLAIN = Reading.as_recorded(ARM)
ALIVE = (0, 1, 2, 3)
PAIRS = exchangeable(ARM, ALIVE)
COST = Cost(PLAIN, ALIVE)
LOG = recording(ARM)


def compared(log: cp.Log) -> ReadingComparison:
    return ReadingComparison(SignalColumns(ARM, points_of(log)))


def efforts_moved(reading: Reading) -> list[Reading]:
    return list(effort_moves(reading, PLAIN, ALIVE, PAIRS, (3,)))


def positions_moved(reading: Reading) -> list[Reading]:
    return list(position_moves(reading, PLAIN, ALIVE, PAIRS, ALIVE))


@given(st.integers(2, 12), st.data())
def test_exchanged_twice_is_the_identity(n: int, data: st.DataObject) -> None:
    first, second = data.draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))
    order = swapped(n, first, second)
    assert tuple(order[order[joint]] for joint in range(n)) == tuple(range(n))
    assert exchanges(order, tuple(range(n))) == int(first != second)


@given(st.permutations(range(6)), st.permutations(range(6)))
@settings(max_examples=60)
def test_exchanges_of_whole_joints_cost_no_more_than_apart(position: list[int], effort: list[int]) -> None:
    """Least number of exchanges: none for the identity only, and the same whichever channel is called the other."""
    order, other = tuple(position), tuple(effort)
    same = tuple(range(6))
    assert exchanges(order, order) == exchanges(order, same) == exchanges(same, order)
    assert exchanges(order, other) == exchanges(other, order)
    assert exchanges(order, other) <= exchanges(order, same) + exchanges(same, other)
    assert (exchanges(order, other) == 0) == (order == other == same)


def test_every_step_can_be_taken_back() -> None:
    for step in efforts_moved(PLAIN):
        assert PLAIN in efforts_moved(step), step
    for step in positions_moved(PLAIN):
        assert PLAIN in positions_moved(step), step


def test_each_step_is_one_kind_of_fault() -> None:
    steps = efforts_moved(PLAIN) + positions_moved(PLAIN) + [in_degrees(ARM, PLAIN)]
    assert len(set(steps)) == len(steps)
    assert all(COST.kinds(step) == 1 for step in steps)
    assert all(COST(step) >= min(SIGN, ORDER, EFFORT_OFFSET, PAYLOAD, COMPENSATED, UNIT) for step in steps)


def test_a_dead_effort_is_moved_nowhere() -> None:
    steps = list(effort_moves(PLAIN, PLAIN, (0, 1, 3), PAIRS, ()))
    assert all(step.effort_factor[2] == 1.0 and step.effort_from[2] == 2 and 2 not in step.offset for step in steps)
    steps = list(position_moves(PLAIN, PLAIN, ALIVE, PAIRS, (0, 1, 3)))
    assert all(step.effort_factor[2] == 1.0 and step.effort_from[2] == 2 for step in steps)


KINDS: dict[str, tuple[Reading, int, float]] = {
    "nothing": (PLAIN, 0, 0.0),
    "two signs": (PLAIN.with_effort_flipped(0).with_position_flipped(2), 1, 2 * SIGN),
    "order": (PLAIN.with_channels(position=swapped(4, 0, 1)), 1, ORDER),
    "degrees": (in_degrees(ARM, PLAIN), 1, UNIT),
    "offset": (replace(PLAIN, offset=frozenset({1, 2})), 1, 2 * EFFORT_OFFSET),
    "payload": (replace(PLAIN, loaded=frozenset({3})), 1, PAYLOAD),
    "mounting": (replace(PLAIN, gravity_base=(9.81, 0.0, 0.0)), 1, MOUNT),
    "compensated": (replace(PLAIN, compensated=True), 1, COMPENSATED),
    "open factors": (replace(PLAIN, free_gain=True), 1, UNIT + 4 * OPEN_FACTOR),
    "sign and order": (PLAIN.with_effort_flipped(0).with_channels(effort=swapped(4, 1, 2)), 2, SIGN + ORDER),
    "three": (replace(PLAIN.with_effort_flipped(1), compensated=True, offset=frozenset({0})), 3, 0.0),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_fault_are_counted_and_each_fault_is_paid(name: str) -> None:
    reading, kinds, price = KINDS[name]
    assert COST.kinds(reading) == kinds
    assert COST(reading) == pytest.approx(price or COST(reading))
    assert COST(reading) >= 0.0


def test_a_gain_costs_more_the_larger_it_is_either_way() -> None:
    costs = [COST(PLAIN.with_effort_factors({1: factor})) for factor in (1.5, 3.0, 8.0)]
    assert costs == sorted(costs) and costs[0] > GAIN
    assert COST(PLAIN.with_effort_factors({1: 0.25})) == pytest.approx(COST(PLAIN.with_effort_factors({1: 4.0})))
    assert COST.kinds(PLAIN.with_effort_factors({1: -1.0})) == 1


def test_what_the_log_declares_is_no_fault() -> None:
    declared = replace(PLAIN, compensated=True, free_gain=True)
    cost = Cost(declared, ALIVE)
    assert cost(declared) == OPEN_FACTOR * 4
    assert cost(replace(declared, compensated=False)) == OPEN_FACTOR * 4 + COMPENSATED


def test_any_two_joints_of_an_arm_may_be_exchanged() -> None:
    assert len(exchangeable(cp.load("wam7"), range(7))) == 21


def test_of_two_arms_and_a_torso_only_neighbours_and_twins_may_be_exchanged() -> None:
    """19 joints: neighbours in the order, and joints as far from the base on the other side."""
    pairs = exchangeable(TREE, range(19))
    names = TREE.joint_names
    told = {(names[first], names[second]) for first, second in pairs}
    assert len(pairs) == len(set(pairs)) < 19 * 18 // 4
    assert all(first < second for first, second in pairs)
    assert {(names[joint], names[joint + NEIGHBOURS]) for joint in range(19 - NEIGHBOURS)} <= told
    right = [name for name in names if name.startswith("right")]
    left = [name for name in names if name.startswith("left")]
    assert len(right) == len(left) > 3
    assert all((one, two) in told or (two, one) in told for one, two in zip(right, left, strict=True))
    assert (right[0], left[3]) not in told and (left[3], right[0]) not in told


def test_of_a_tree_that_moves_few_joints_any_two_may_be_exchanged() -> None:
    assert len(exchangeable(TREE, range(MOST_FREE))) == MOST_FREE * (MOST_FREE - 1) // 2


def test_sliding_joints_are_not_in_degrees() -> None:
    gantry = cp.load("gantry")
    assert in_degrees(gantry, Reading.as_recorded(gantry)).position_factor == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("factor", [0.4, 2.2])
def test_a_gain_is_found(factor: float) -> None:
    comparison = compared(scaled_effort(LOG, 3, factor))
    found = with_gain_found(comparison, COST, PLAIN, 3, GOOD)
    assert found is not None
    assert found.effort_factor[3] * factor == pytest.approx(1.0, rel=0.12)
    assert found.effort_factor[:3] == (1.0, 1.0, 1.0)


def test_a_right_gain_is_left_alone() -> None:
    assert with_gain_found(compared(LOG), COST, PLAIN, 3, GOOD) is None


def test_all_gains_are_found_with_their_signs() -> None:
    log = reversed_effort(as_currents(LOG), 1)
    found = with_all_gains_found(compared(log), COST, PLAIN, GOOD)
    true = np.linspace(4.0, 20.0, 4) * [1.0, -1.0, 1.0, 1.0]
    assert found.free_gain
    assert np.sign(found.effort_factor).tolist() == np.sign(true).tolist()
    assert found.effort_factor[1] == pytest.approx(true[1], rel=0.15)  # those that gravity loads
    assert found.effort_factor[3] == pytest.approx(true[3], rel=0.15)


@pytest.mark.parametrize("rpy", [(0.6, 0.0, 0.0), (0.0, -1.2, 0.3), (2.5, 0.3, 0.0)])
def test_gravity_is_found_of_its_own_size(rpy: tuple[float, float, float]) -> None:
    tilted = ARM.mounted(rpy=rpy)
    found = with_gravity_found(compared(recording(tilted)), PLAIN, PLAIN, GOOD)
    assert found is not None
    vector = np.array(found.gravity_base)
    assert np.linalg.norm(vector) == pytest.approx(9.81)
    assert np.degrees(np.arccos(vector @ tilted.gravity_base / 9.81**2)) < 4.0


def test_a_mounting_that_is_not_known_well_is_not_named() -> None:
    """A tilt of 0.2 rad, and what a recording would have to say of it: eight deviations, or any number asked for."""
    tilted = compared(recording(ARM.mounted(rpy=(0.2, 0.0, 0.0))))
    found = with_gravity_found(tilted, PLAIN, PLAIN, GOOD)
    assert found is not None
    angle, deviation = tilt_found(tilted, found, PLAIN, GOOD)
    assert angle == pytest.approx(0.2, abs=0.05)
    assert angle > KNOWN_TILT * deviation
    assert with_gravity_found(tilted, PLAIN, PLAIN, GOOD, known=1.1 * angle / deviation) is None


def test_an_arm_that_stands_nearly_upright_is_left_so() -> None:
    tilted = ARM.mounted(rpy=(0.3 * LEAST_TILT, 0.0, 0.0))
    assert with_gravity_found(compared(recording(tilted)), PLAIN, PLAIN, GOOD) is None
