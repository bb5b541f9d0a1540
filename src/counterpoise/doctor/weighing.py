"""Whether a change of the reading may be said: what it is worth, whether it matters, and what else would do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..foundation import Array
from .evidence import ReadingFit
from .finding import LogFault
from .gram import OWN, SHAPES
from .moves import effort_moves, with_all_gains_found, with_gain_found, with_gravity_found
from .priors import AMBIGUOUS
from .reading import Change, Reading, changes
from .search import Search

TOLD = 8.0
"""Log evidence, costs included, by which a change must beat the reading without it to be said."""
TOLD_BY_FAULT = {LogFault.JOINT_ORDER: 40.0, LogFault.POSITION_SIGN: 40.0}
"""The same of faults that change where every joint is: with so many alternatives, a few poses suit one of them by
chance."""
WEIGHT_SHARE = 0.10
"""An effect matters from this share of a joint's weight on, root mean square over the recording ..."""
EFFORT_SHARE = 0.003
"""... or from this share of its effort limit on, whichever is larger."""
OFTEN = 3.0
"""Factor that most efforts must be off by to be in a unit of their own: all masses may look like two, and a link's like
half as much again."""
PERHAPS_UNIT = 2.0
"""Factor that most efforts must be off by for such a unit to be possible where it explains as much as another fault."""
BENDS = 0.3
"""Share of an offset that a spring must vary by to be told instead of it: any offset is the rest of a soft spring."""
SIGNS = (LogFault.EFFORT_SIGN, LogFault.POSITION_SIGN)
"""Faults that matter at any size: whatever is commanded goes the wrong way."""


def matters_from(found: Search, reading: Reading, fault: LogFault) -> Array:
    """Return the torque from which the effect of a fault matters to each joint [N m or N], shape (n,)."""
    robot, gram = found.comparison.robot, found.comparison.gram(reading)
    weight = np.zeros(robot.n)
    weight[found.comparison.columns.alive] = np.sqrt(gram.products[:, gram.weight, gram.weight])
    limit = np.where(np.isfinite(robot.effort_limit), robot.effort_limit, 0.0)
    return np.maximum(WEIGHT_SHARE * weight, 0.0 if fault in SIGNS else EFFORT_SHARE * limit)


def share_of(found: Search, fit: ReadingFit, change: Change) -> float:
    """Return the effect of a change over what matters, on the joint where that is largest."""
    least = np.maximum(matters_from(found, fit.reading, change.fault), 1e-12)
    return float(np.max(effect_of(found, fit, change) / least))


def effect_of(found: Search, fit: ReadingFit, change: Change) -> Array:
    """Return what a change makes of each joint's torque, root mean square over the recording [N m or N], shape (n,).

    Args:
        found: What was compared.
        fit: The fit of the reading with the change.
        change: The change.
    """
    comparison, reading = found.comparison, fit.reading
    gram, alive = comparison.gram(reading), comparison.columns.alive
    result = np.zeros(comparison.robot.n)
    own = list(gram.own)
    if change.fault is LogFault.OFFSET:
        joint = change.joints[0]
        result[joint] = abs(fit.own[joint, OWN.index("offset")])
    elif change.fault is LogFault.SPRING:
        joint, first = change.joints[0], OWN.index(SHAPES[0])
        size, columns = fit.own[joint, first:], own[first:]
        products = gram.products[int(np.searchsorted(alive, joint))][np.ix_(columns, columns)]
        result[joint] = np.sqrt(max(float(size @ products @ size), 0.0))
    elif change.fault is LogFault.PAYLOAD:
        (body,) = reading.loaded - change.without.loaded
        load = np.linalg.solve(comparison.columns.payload_spread[body], fit.payload[body][0])
        columns = list(gram.payload(body))
        result[alive] = np.sqrt(np.maximum(load @ gram.products[:, columns][:, :, columns] @ load, 0.0))
    elif change.fault is LogFault.GAIN:
        # Friction and a gain are one; what counts is the weight that would be taken for another, at most all of it.
        joint = change.joints[0]
        size = abs(np.log(abs(reading.effort_factor[joint] / change.without.effort_factor[joint])))
        row = int(np.searchsorted(alive, joint))
        result[joint] = min(size, 1.0) * np.sqrt(gram.products[row, gram.weight, gram.weight])
    else:
        change_of = comparison.columns.unexplained(reading) - comparison.columns.unexplained(change.without)
        result[alive] = np.sqrt(np.mean(change_of**2, axis=0))
    return result


def margin_of(found: Search, fit: ReadingFit, change: Change) -> float:
    """Return by how much the reading is better than the one without a change, costs included [nats]."""
    return found.score(fit) - found.score(found.comparison.best(change.without))


def only_told(found: Search) -> Search:
    """Return a search with those changes only that its recording tells, and that matter.

    A change stays when it beats the reading without it by TOLD, costs included, and makes a torque that matters on
    some joint. The weakest goes first, because another may stand on it. Of two orders, one of the positions and another
    one of the efforts, only the stronger can stay: one mistake makes one order.
    """
    fit = found.found
    while True:
        weak: list[tuple[float, Change]] = []
        every = changes(fit.reading, found.cost.start, found.cost.alive)
        orders = [change for change in every if change.fault is LogFault.JOINT_ORDER]
        doubtful = min(orders, key=lambda one: margin_of(found, fit, one)) if len(orders) > 1 else None
        for change in every:
            margin = margin_of(found, fit, change)
            share = share_of(found, fit, change)
            if change.fault is LogFault.EFFORT_IS_CURRENT and not is_unit(found, fit.reading):
                share = 0.0
            if margin < TOLD_BY_FAULT.get(change.fault, TOLD) or share < 1.0 or change is doubtful:
                weak.append((margin if share >= 1.0 else -np.inf, change))
        if not weak:
            return replace(found, found=fit)
        fit = found.comparison.best(min(weak, key=lambda entry: entry[0])[1].without)


def is_unit(found: Search, reading: Reading, least: float = OFTEN) -> bool:
    """Return whether open factors are so large that the efforts are in a unit of their own: masses cannot look so.

    Args:
        found: What was compared.
        reading: A reading with open factors.
        least: What most of the factors must be beyond.
    """
    begin = found.cost.start
    factors = [reading.effort_factor[joint] / begin.effort_factor[joint] for joint in found.cost.alive]
    return bool(np.median(np.abs(np.log(np.abs(factors)))) > np.log(least))


def rivals_of(found: Search, change: Change) -> dict[LogFault, tuple[int, ...]]:
    """Return other single faults that explain as much as a change: joints (indices) by fault.

    Args:
        found: What was compared and found.
        change: A change of the reading that was found.
    """
    comparison, cost, without = found.comparison, found.cost, change.without
    belief, least = found.found.belief, found.score(found.found) - AMBIGUOUS
    others = list(effort_moves(without, cost.start, cost.alive, (), comparison.columns.leaves))
    if len(change.joints) == 1:
        (joint,) = change.joints
        others.append(without.with_position_flipped(joint))
        if not without.free_gain and joint in cost.alive:
            scaled = with_gain_found(comparison, cost, without, joint, belief)
            others += [] if scaled is None else [scaled]
    if not without.compensated:
        mounted = with_gravity_found(comparison, without, cost.start, belief, known=0.0)
        others += [] if mounted is None else [mounted]
    if change.fault in (LogFault.GAIN, LogFault.GRAVITY_COMPENSATED) and not without.free_gain:
        unit = with_all_gains_found(comparison, cost, without, belief)
        others += [unit] if is_unit(found, unit, PERHAPS_UNIT) else []
    named: dict[LogFault, tuple[int, ...]] = {}
    for other in others:
        if other == found.found.reading or found.score(comparison.best(other)) < least:
            continue
        for entry in changes(other, cost.start, cost.alive):
            turned = entry.fault is LogFault.MOUNT and other.gravity_base != without.gravity_base
            in_own_unit = entry.fault is LogFault.EFFORT_IS_CURRENT and other.free_gain
            new = turned or in_own_unit or entry.without == without
            if change.fault is LogFault.OFFSET and entry.fault is LogFault.SPRING:
                new = new and _bends(found, comparison.best(other), entry, change)
            if new and (entry.fault, entry.joints) != (change.fault, change.joints):
                named[entry.fault] = tuple(dict.fromkeys((*named.get(entry.fault, ()), *entry.joints)))
    return named


def _bends(found: Search, fit: ReadingFit, spring: Change, offset: Change) -> bool:
    """Return whether a spring that would stand for an offset pulls by its position, and not by its rest alone."""
    size = float(np.max(effect_of(found, found.found, offset)))
    return float(np.max(effect_of(found, fit, spring))) > BENDS * size
