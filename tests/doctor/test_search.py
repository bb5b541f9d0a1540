"""The search: it only goes up, stays where nothing is wrong, and leaves no better step untaken."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.evidence import ReadingFit
from counterpoise.doctor.gram import SignalColumns
from counterpoise.doctor.moves import effort_moves, exchangeable, in_degrees, position_moves
from counterpoise.doctor.points import points_of
from counterpoise.doctor.priors import ANY
from counterpoise.doctor.reading import Reading, swapped
from counterpoise.doctor.search import Search, search
from counterpoise.recording import Log
from library.doctor_cases import (
    Change,
    as_currents,
    exchanged,
    recording,
    reversed_effort,
    reversed_position,
    shifted_effort,
    wrong_model,
)

ARM = cp.load("wam4")
MODEL = wrong_model(ARM)
PLAIN = Reading.as_recorded(MODEL)
LOG = recording(ARM)


def searched(log: Log, first: Reading | None = None) -> Search:
    return search(SignalColumns(MODEL, points_of(log)), PLAIN, (ANY,), first)


def score(searched: Search, fit: ReadingFit) -> float:
    """Return what the search compares: the log evidence less the cost of the reading."""
    return fit.evidence - searched.cost(fit.reading)


FAULTY: dict[str, tuple[Change, Reading]] = {
    "sound": (lambda log: log, PLAIN),
    "effort reversed": (lambda log: reversed_effort(log, 3), PLAIN.with_effort_flipped(3)),
    "position reversed": (lambda log: reversed_position(log, 1), PLAIN.with_position_flipped(1)),
    "whole joints exchanged": (
        lambda log: exchanged(log, 1, 3, "q", "dq", "tau"),
        PLAIN.with_channels(position=swapped(4, 1, 3), effort=swapped(4, 1, 3)),
    ),
    "offset": (lambda log: shifted_effort(log, 1, -3.0), replace(PLAIN, offset=frozenset({1}))),
    "sign and order": (
        lambda log: exchanged(reversed_effort(log, 1), 1, 3, "tau"),
        PLAIN.with_channels(effort=swapped(4, 1, 3)).with_effort_flipped(1),
    ),
}


@cache
def found_in(name: str) -> Search:
    return searched(FAULTY[name][0](LOG))


@pytest.mark.parametrize("name", FAULTY)
def test_the_reading_that_undoes_the_fault_is_found(name: str) -> None:
    found = found_in(name)
    assert found.found.reading == FAULTY[name][1]
    assert found.start.reading == PLAIN
    assert score(found, found.found) >= score(found, found.start)


@pytest.mark.parametrize("name", ["sound", "position reversed", "sign and order"])
def test_no_single_step_from_what_was_found_is_better(name: str) -> None:
    """All steps are tried here, not only those that a coarse look ranks first."""
    found = found_in(name)
    reading, joints = found.found.reading, range(MODEL.n)
    pairs = exchangeable(MODEL, joints)
    steps = [
        *effort_moves(reading, PLAIN, joints, pairs, (3,)),
        *position_moves(reading, PLAIN, joints, pairs, joints),
    ]
    best = max(score(found, found.comparison.best(step)) for step in steps)
    assert best <= score(found, found.found)


def test_the_way_does_not_matter() -> None:
    """From a wrong beginning the search comes back to the same place."""
    direct = found_in("sound")
    back = searched(LOG, PLAIN.with_effort_flipped(1).with_position_flipped(3))
    assert back.found.reading == direct.found.reading
    assert score(back, back.found) == pytest.approx(score(direct, direct.found), abs=0.5)


def test_degrees_are_tried_only_beyond_a_turn() -> None:
    degrees = replace(LOG, q=np.degrees(LOG.q), dq=np.degrees(LOG.dq))
    assert searched(degrees).found.reading == in_degrees(MODEL, PLAIN)
    assert all(abs(factor) == 1.0 for factor in searched(as_currents(LOG)).found.reading.position_factor)
