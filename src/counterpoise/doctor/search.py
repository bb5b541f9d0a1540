"""From the reading that believes the log to the one that explains it: one fault at a time, while the evidence pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .evidence import ReadingComparison, ReadingFit
from .gram import SignalColumns
from .moves import (
    effort_moves,
    exchangeable,
    in_degrees,
    position_moves,
    with_all_gains_found,
    with_gain_found,
    with_gravity_found,
)
from .priors import Cost, MassBelief
from .reading import Reading

COARSE = 4
"""Readings with other positions are first compared on every fourth point."""
LOOKED_AT = 4
"""How many readings with other positions, and how many others, are looked at closely."""
MOST_STEPS = 16
"""Most faults that are looked for one after the other."""
SIMPLE = 2
"""Kinds of fault up to which an explanation is taken as it is."""
DETOURS = 2
"""Other beginnings that are tried for explanations beyond that."""


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What was compared and found.

    Attributes:
        comparison: Compares readings on all points.
        cost: What readings cost.
        start: How the log explains itself.
        found: The best explanation.
    """

    comparison: ReadingComparison
    cost: Cost
    start: ReadingFit
    found: ReadingFit

    def score(self, fit: ReadingFit) -> float:
        """Return the log evidence of a fit less the cost of its reading."""
        return fit.evidence - self.cost(fit.reading)


def search(
    columns: SignalColumns,
    begin: Reading,
    beliefs: Sequence[MassBelief],
    first: Reading | None = None,
    *,
    positions: bool = True,
    units: bool = True,
) -> Search:
    """Return the reading of a recording that explains it best, and how it compares.

    Args:
        columns: The signals of model and recording, of at least one joint with a live effort.
        begin: The reading that believes the log and what it declares; other readings cost.
        beliefs: How far the model may be off.
        first: Where the search begins; None for there.
        positions: Whether positions may be understood otherwise than where the search begins.
        units: Whether all efforts may be in units of their own.
    """
    robot, points = columns.robot, columns.points
    moving = np.flatnonzero(points.moving).tolist()
    comparison = ReadingComparison(columns, beliefs)
    cost = Cost(begin, tuple(np.flatnonzero(points.alive).tolist()))
    coarse = ReadingComparison(columns, beliefs, COARSE)
    walk = _Walk(comparison, coarse, cost, moving, exchangeable(robot, moving), columns.leaves, positions, units)
    start = comparison.best(begin)
    at = start if first is None else comparison.best(first)
    if begin.free_gain:
        at = comparison.best(with_all_gains_found(comparison, cost, at.reading, at.belief))
    found = walk.up(at)
    if positions and cost.kinds(replace(found.reading, sprung=frozenset())) > SIMPLE:
        # A long explanation may be a detour around a short one: set out once more, by way of the positions.
        others = [comparison.best(reading) for reading in walk.promising_positions(at)[:DETOURS]]
        found = max([found, *(walk.up(other) for other in others)], key=walk.score)
    return Search(comparison, cost, start, found)


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Steps from reading to reading.

    Attributes:
        comparison: Compares readings on all points.
        coarse: Compares readings on some points.
        cost: What readings cost.
        moving: Joints that move.
        pairs: Joints that may have been exchanged.
        leaves: Bodies that may carry a payload.
        positions: Whether positions may be understood otherwise.
        units: Whether all efforts may be in units of their own.
    """

    comparison: ReadingComparison
    coarse: ReadingComparison
    cost: Cost
    moving: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    leaves: Sequence[int]
    positions: bool
    units: bool

    def score(self, fit: ReadingFit) -> float:
        """Return the log evidence of a fit less the cost of its reading."""
        return fit.evidence - self.cost(fit.reading)

    def up(self, found: ReadingFit) -> ReadingFit:
        """Return the best explanation that steps of one fault each lead to, always upwards."""
        for _ in range(MOST_STEPS):
            self.comparison.begin_from(found)
            self.coarse.begin_from(found)
            best = max((self.comparison.best(reading) for reading in self.candidates(found)), key=self.score)
            if self.score(best) <= self.score(found):
                break
            found = best
        return found

    def candidates(self, found: ReadingFit) -> list[Reading]:
        """Return the most promising readings one fault away."""
        comparison, cost, reading, belief = self.comparison, self.cost, found.reading, found.belief
        others = list(effort_moves(reading, cost.start, cost.alive, self.pairs, self.leaves))
        same = reading.position_factor == cost.start.position_factor
        if self.positions and same and self._may_be_degrees():
            others.append(in_degrees(comparison.robot, reading))
        if not reading.compensated:
            turned = with_gravity_found(comparison, reading, cost.start, belief)
            others += [] if turned is None else [turned]
        tuned = (with_gain_found(comparison, cost, reading, joint, belief) for joint in cost.alive)
        others += [gain for gain in tuned if gain is not None]
        if self.units and not reading.free_gain:
            others.append(with_all_gains_found(comparison, cost, reading, belief))
        return [reading, *self._promising(comparison, others, belief), *self.promising_positions(found)]

    def promising_positions(self, found: ReadingFit) -> list[Reading]:
        """Return the most promising readings that understand one joint's position, or two, otherwise."""
        if not self.positions:
            return []
        moves = position_moves(found.reading, self.cost.start, self.moving, self.pairs, self.cost.alive)
        return self._promising(self.coarse, moves, found.belief)

    def _promising(
        self, comparison: ReadingComparison, readings: Iterable[Reading], belief: MassBelief
    ) -> list[Reading]:
        ranked = sorted(readings, key=lambda reading: self.cost(reading) - comparison.fit(reading, belief).evidence)
        return ranked[:LOOKED_AT]

    def _may_be_degrees(self) -> bool:
        """Return whether a joint travels more than a turn: in radians rare, in degrees next to nothing."""
        return bool(np.ptp(self.comparison.points.q, axis=0).max() > 2.0 * np.pi)
