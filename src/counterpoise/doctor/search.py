"""From the reading that believes the log to the one that explains it: one fault at a time, while the evidence pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.robot import Robot
from .cost import Cost
from .evidence import Comparison, Fit
from .gram import LEAST_MOTION, Columns
from .motion import Motion
from .moves import (
    effort_moves,
    in_degrees,
    position_moves,
    with_all_gains_found,
    with_gain_found,
    with_gravity_found,
)
from .reading import Reading

COARSE = 4
"""Readings with other positions are first compared on every fourth point."""
LOOKED_AT = 4
"""How many readings with other positions, and how many others, are looked at closely."""
MOST_STEPS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What was compared and found.

    Attributes:
        comparison: Compares readings on all points.
        cost: What readings cost.
        start: How the log explains itself.
        found: The best explanation.
        alive: Joints with a live effort.
        moving: Joints that move.
    """

    comparison: Comparison
    cost: Cost
    start: Fit
    found: Fit
    alive: tuple[int, ...]
    moving: tuple[int, ...]

    def score(self, fit: Fit) -> float:
        """Return the log evidence of a fit less the cost of its reading."""
        return fit.evidence - self.cost(fit.reading)


def search(robot: Robot, motion: Motion, begin: Reading, first: Reading | None = None) -> Search:
    """Return the reading of a recording that explains it best, and how it compares.

    Args:
        robot: The model.
        motion: The recording's points.
        begin: The reading that believes the log and what it declares; other readings cost.
        first: Where the search begins; None for there.
    """
    columns = Columns(robot, motion)
    comparison, coarse = Comparison(columns), Comparison(columns, COARSE)
    alive = tuple(np.flatnonzero(motion.alive).tolist())
    moving = tuple(np.flatnonzero(np.ptp(motion.q, axis=0) > LEAST_MOTION).tolist())
    cost = Cost(begin, alive)
    start = comparison.best(begin)
    found = start if first is None else comparison.best(first)
    if begin.free_gain and alive:
        found = comparison.best(with_all_gains_found(comparison, cost, found.reading, found.trust))
    if alive:
        for _ in range(MOST_STEPS):
            comparison.begin_from(found)
            coarse.begin_from(found)
            candidates = _candidates(robot, comparison, coarse, cost, found, moving, columns.leaves)
            best = max((comparison.best(candidate) for candidate in candidates), key=lambda fit: _score(cost, fit))
            if _score(cost, best) <= _score(cost, found):
                break
            found = best
    return Search(comparison, cost, start, found, alive, moving)


def _score(cost: Cost, fit: Fit) -> float:
    return fit.evidence - cost(fit.reading)


def _candidates(
    robot: Robot,
    comparison: Comparison,
    coarse: Comparison,
    cost: Cost,
    found: Fit,
    moving: Sequence[int],
    leaves: Sequence[int],
) -> list[Reading]:
    """Return the most promising readings one fault away, and the present one with the factors that suit it now."""
    reading, trust, alive = found.reading, found.trust, cost.alive
    others = list(effort_moves(reading, cost.start, alive, leaves))
    if reading.position_factor == cost.start.position_factor:
        others.append(in_degrees(robot, reading))
    if not reading.compensated and (turned := with_gravity_found(comparison, reading, cost.start, trust)) is not None:
        others.append(turned)
    tuned = (with_gain_found(comparison, cost, reading, joint, trust) for joint in alive)
    others += [gain for gain in tuned if gain is not None]
    if not reading.free_gain:
        others.append(with_all_gains_found(comparison, cost, reading, trust))
    positions = list(position_moves(reading, cost.start, moving, alive))
    return [
        reading,
        *_promising(comparison, cost, others, trust),
        *_promising(coarse, cost, positions, trust),
    ]


def _promising(comparison: Comparison, cost: Cost, readings: Iterable[Reading], trust: float) -> list[Reading]:
    ranked = sorted(readings, key=lambda reading: cost(reading) - comparison.fit(reading, trust).evidence)
    return ranked[:LOOKED_AT]
