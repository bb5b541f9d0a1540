"""Changes of a reading are weighed one by one: what they are worth, what they do to torques, what else would do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.finding import LogFault
from counterpoise.doctor.gram import SignalColumns
from counterpoise.doctor.moves import in_degrees
from counterpoise.doctor.points import points_of
from counterpoise.doctor.priors import ANY
from counterpoise.doctor.reading import Reading, changes, swapped
from counterpoise.doctor.search import Search, search
from counterpoise.doctor.weighing import TOLD, TOLD_BY_FAULT, effect_of, margin_of, only_told, rivals_of, share_of
from counterpoise.recording import Log
from library.doctor_cases import exchanged, recording, reversed_effort, scaled_effort, wrong_model

ARM = cp.load("wam4")
MODEL = wrong_model(ARM)
PLAIN = Reading.as_recorded(MODEL)
LOG = recording(ARM)
ALIVE = (0, 1, 2, 3)


def searched(log: Log) -> Search:
    return search(SignalColumns(MODEL, points_of(log)), PLAIN, (ANY,))


READINGS = {
    LogFault.EFFORT_SIGN: PLAIN.with_effort_flipped(1),
    LogFault.POSITION_SIGN: PLAIN.with_position_flipped(2).with_effort_flipped(2),
    LogFault.JOINT_ORDER: PLAIN.with_channels(position=swapped(4, 0, 3), effort=swapped(4, 0, 3)),
    LogFault.DEGREES: in_degrees(MODEL, PLAIN),
    LogFault.GAIN: PLAIN.with_effort_factors({3: 0.4}),
    LogFault.EFFORT_IS_CURRENT: replace(PLAIN.with_effort_factors(dict.fromkeys(ALIVE, 9.0)), free_gain=True),
    LogFault.OFFSET: replace(PLAIN, offset=frozenset({1})),
    LogFault.SPRING: replace(PLAIN, sprung=frozenset({0})),
    LogFault.PAYLOAD: replace(PLAIN, loaded=frozenset({3})),
    LogFault.GRAVITY_COMPENSATED: replace(PLAIN, compensated=True),
    LogFault.MOUNT: replace(PLAIN, gravity_base=(9.81, 0.0, 0.0)),
}


@pytest.mark.parametrize("fault", READINGS)
def test_each_fault_is_one_change_and_can_be_taken_back(fault: LogFault) -> None:
    (change,) = changes(READINGS[fault], PLAIN, ALIVE)
    assert (change.fault, change.without) == (fault, PLAIN)
    assert changes(PLAIN, PLAIN, ALIVE) == []


def test_of_several_changes_each_is_taken_back_alone() -> None:
    reading = replace(
        PLAIN.with_effort_flipped(1).with_effort_factors({3: 0.4}), offset=frozenset({2}), compensated=True
    )
    found = changes(reading, PLAIN, ALIVE)
    assert len(found) == 4
    for change in found:
        left = changes(change.without, PLAIN, ALIVE)
        assert {entry.fault for entry in left} == {entry.fault for entry in found} - {change.fault}


def test_all_efforts_reversed_are_one_convention() -> None:
    (change,) = changes(PLAIN.with_effort_flipped(*ALIVE), PLAIN, ALIVE)
    assert change.joints == ALIVE


def test_effects_are_torques() -> None:
    found = searched(reversed_effort(LOG, 1))
    (change,) = changes(found.found.reading, PLAIN, ALIVE)
    effect = effect_of(found, found.found, change)
    effort = found.comparison.points.effort[:, 1]
    np.testing.assert_allclose(effect, [0.0, 2.0 * np.sqrt(np.mean(effort**2)), 0.0, 0.0], rtol=1e-9)
    assert margin_of(found, found.found, change) > 100.0


def test_a_gain_of_a_joint_that_carries_no_weight_does_not_matter() -> None:
    """The first joint is vertical: friction and a gain are one there."""
    found = searched(LOG)
    reading = PLAIN.with_effort_factors({0: 3.0, 3: 3.0})
    fit = found.comparison.best(reading)
    vertical, loaded = changes(reading, PLAIN, ALIVE)
    assert share_of(found, fit, vertical) < 1e-3
    assert share_of(found, fit, loaded) > 1.0


def test_only_what_is_told_and_matters_is_kept() -> None:
    found = searched(scaled_effort(LOG, 3, 1.8))
    more = replace(found.found.reading, offset=frozenset({2}))
    kept = only_told(replace(found, found=found.comparison.best(more)))
    (change,) = changes(kept.found.reading, PLAIN, ALIVE)
    assert (change.fault, change.joints) == (LogFault.GAIN, (3,))
    assert margin_of(kept, kept.found, change) > TOLD


def test_of_two_orders_only_the_stronger_is_kept() -> None:
    """One mistake exchanges positions, efforts or both alike."""
    found = searched(LOG)
    both = exchanged(exchanged(LOG, 0, 1, "q", "dq"), 2, 3, "tau")
    found = replace(found, comparison=searched(both).comparison)
    reading = PLAIN.with_channels(position=swapped(4, 0, 1), effort=swapped(4, 2, 3))
    orders = changes(reading, PLAIN, ALIVE)
    assert [order.fault for order in orders] == [LogFault.JOINT_ORDER] * 2
    fit = found.comparison.best(reading)
    stronger = max(orders, key=lambda order: margin_of(found, fit, order))
    kept = changes(only_told(replace(found, found=fit)).found.reading, PLAIN, ALIVE)
    left = [order.joints for order in kept if order.fault is LogFault.JOINT_ORDER]
    assert left in ([stronger.joints], [])


def test_an_order_needs_more_evidence_than_other_faults() -> None:
    """In a few points one of many orders suits by chance."""
    order = swapped(4, 0, 3)
    found = searched(exchanged(LOG, 0, 3, "q", "dq", "tau")[:700])
    fit = found.comparison.best(PLAIN.with_channels(position=order, effort=order))
    (change,) = changes(fit.reading, PLAIN, ALIVE)
    assert TOLD < margin_of(found, fit, change) < TOLD_BY_FAULT[LogFault.JOINT_ORDER]
    assert only_told(replace(found, found=fit)).found.reading == PLAIN


def test_what_else_would_do_is_found() -> None:
    """Friction alone shows a reversed sign on a PUMA's last joint: effort or position."""
    puma = cp.load("puma560")
    model = wrong_model(puma)
    columns = SignalColumns(model, points_of(reversed_effort(recording(puma), 5)))
    found = only_told(search(columns, Reading.as_recorded(model), (ANY,)))
    (change,) = changes(found.found.reading, found.cost.start, found.cost.alive)
    rivals = rivals_of(found, change)
    assert {change.fault, *rivals} == {LogFault.EFFORT_SIGN, LogFault.POSITION_SIGN}
    assert all(joints == (5,) for joints in rivals.values())
