"""Steps of the search: from one reading of a recording to others that differ by a single fault.

Among the faults are positions that no link can have, recorded at the motors, in front of the gears, or in degrees. A
gear multiplies angles. Where several joints travel much farther, or run much faster, than the description's limits
allow, the numbers are not the links' radians. Whether they are degrees, one factor for all joints, is left to the
evidence; gear ratios are different for each joint and must come from the maker.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..dynamics import Robot, ancestors, rotary
from ..foundation import Array
from .evidence import ReadingComparison
from .finding import Consequence, Finding, LogFault, listed, short
from .gram import SHAPES
from .points import MotionPoints
from .priors import Cost, MassBelief
from .reading import Reading, swapped

DEGREE = math.pi / 180.0
GAIN_STEP = 0.35
"""First step, in log gain, by which a better gain is looked for."""
GAIN_RANGE = math.log(8.0)
"""Largest log gain that is looked for on one joint alone."""

LEAST_TILT = math.radians(3.0)
"""Least angle of a mounting that is looked for ..."""
KNOWN_TILT = 8.0
"""... and how many times its standard deviation it must be: that takes the model for right, and is off itself where
friction, masses and springs are not as described."""
MOST_FREE = 8
"""Joints up to which any two may have been exchanged ..."""
NEIGHBOURS = 1
"""... and how far apart in the joint order two of more joints may be."""
CERTAIN = 4.0
"""Standard deviations that a regression coefficient must be away from zero for its sign to be taken from it."""


def exchangeable(robot: Robot, joints: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of joints that may have been exchanged.

    All of them on an arm; of more than MOST_FREE joints only neighbours and joints of two branches at the same depth
    (left and right), as those are what people exchange and the others grow with the square of the number.
    """
    if len(joints) <= MOST_FREE:
        return list(combinations(joints, 2))
    tree = robot.tree
    depth = {int(tree.q_index[body]): len(ancestors(tree, body)) for body in reversed(range(tree.bodies))}
    return [(i, j) for i, j in combinations(joints, 2) if depth[i] == depth[j] or j - i <= NEIGHBOURS]


def effort_moves(
    reading: Reading,
    start: Reading,
    alive: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    leaves: Sequence[int],
) -> Iterator[Reading]:
    """Yield readings with other efforts: signs, two exchanged, an offset, a spring, gravity left out, a payload."""
    for joint in alive:
        yield reading.with_effort_flipped(joint)
        yield replace(reading, offset=reading.offset ^ {joint})
        yield replace(reading, sprung=reading.sprung ^ {joint})
        if not reading.free_gain and abs(reading.effort_factor[joint]) != abs(start.effort_factor[joint]):
            plain = math.copysign(start.effort_factor[joint], reading.effort_factor[joint])
            yield reading.with_effort_factors({joint: plain})
    yield reading.with_effort_flipped(*alive)
    for first, second in pairs:
        if first in alive and second in alive:
            yield reading.with_channels(effort=swapped(reading.n, first, second))
    yield replace(reading, compensated=not reading.compensated)
    for body in leaves:
        yield replace(reading, loaded=reading.loaded ^ {body})
    if reading.free_gain and not start.free_gain:
        # Open factors can stand in for one fault of all joints: ask for that one instead, signs kept.
        signs = {joint: math.copysign(start.effort_factor[joint], reading.effort_factor[joint]) for joint in alive}
        torques = replace(reading.with_effort_factors(signs), free_gain=False)
        yield torques
        yield replace(torques, compensated=not torques.compensated)
        yield replace(torques, compensated=not torques.compensated, offset=start.offset)
        for body in leaves:
            yield replace(torques, loaded=torques.loaded | {body})


def position_moves(
    reading: Reading,
    start: Reading,
    moving: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    alive: Sequence[int],
) -> Iterator[Reading]:
    """Yield readings with other positions: a sign, both signs of a joint, two exchanged, whole joints exchanged."""
    for joint in moving:
        flipped = reading.with_position_flipped(joint)
        yield flipped
        if joint in alive:
            yield flipped.with_effort_flipped(joint)
    for first, second in pairs:
        order = swapped(reading.n, first, second)
        yield reading.with_channels(position=order)
        if first in alive and second in alive:
            yield reading.with_channels(position=order, effort=order)
    if reading.gravity_base != start.gravity_base:
        yield replace(reading, gravity_base=start.gravity_base)


def in_degrees(robot: Robot, reading: Reading) -> Reading:
    """Return the reading with the rotary joints' positions taken for degrees."""
    factors = (
        factor * DEGREE if turns else factor
        for factor, turns in zip(reading.position_factor, rotary(robot), strict=True)
    )
    return replace(reading, position_factor=tuple(factors))


def with_gravity_found(
    comparison: ReadingComparison,
    reading: Reading,
    start: Reading,
    belief: MassBelief,
    *,
    known: float = KNOWN_TILT,
) -> Reading | None:
    """Return the reading with gravity's direction as the efforts show it, its size kept.

    None where they show none, or one that is hardly turned from where the log has it: no arm stands perfectly.

    Args:
        comparison: The recording, to be compared with readings.
        reading: The reading otherwise.
        start: The reading of the log as it is.
        belief: What is known of the masses.
        known: Standard deviations by which it must be turned.
    """
    size = float(np.linalg.norm(reading.gravity_base))
    found = reading
    for _ in range(3):  # the model's error is itself weighed along gravity: a second look is nearly exact
        vector, _ = comparison.gravity(found, belief)
        length = float(np.linalg.norm(vector))
        if length < 0.2 * size:
            return None
        x, y, z = (vector * (size / length)).tolist()
        found = replace(found, gravity_base=(x, y, z))
    angle, deviation = tilt_found(comparison, found, start, belief)
    return found if angle > max(LEAST_TILT, known * deviation) else None


def tilt_found(
    comparison: ReadingComparison, reading: Reading, start: Reading, belief: MassBelief
) -> tuple[float, float]:
    """Return the angle between gravity of a reading and of the log, and its standard deviation [rad]."""
    vector, before = np.array(reading.gravity_base), np.array(start.gravity_base)
    _, covariance = comparison.gravity(reading, belief)
    size = float(np.linalg.norm(vector))
    across = np.eye(3) - np.outer(vector, vector) / size**2
    deviation = math.sqrt(max(float(np.trace(across @ covariance @ across)), 0.0) / 2.0) / size
    return angle_between(vector, before), deviation


def angle_between(first: Array, second: Array) -> float:
    """Return the angle between two vectors [rad]."""
    return math.atan2(float(np.linalg.norm(np.cross(first, second))), float(first @ second))


def with_gain_found(
    comparison: ReadingComparison, cost: Cost, reading: Reading, joint: int, belief: MassBelief
) -> Reading | None:
    """Return the reading with the gain of one joint's effort that suits best; None where that is the present one."""

    def at(log_gain: float) -> Reading:
        if log_gain == 0.0:
            return reading
        return reading.with_effort_factors({joint: reading.effort_factor[joint] * math.exp(log_gain)})

    def score(log_gain: float) -> float:
        changed = at(log_gain)
        # What it costs that there is a wrong gain at all is for the search; here only how large it is counts.
        return comparison.fit(changed, belief).evidence - cost.of_gains(changed)

    best = max((0.0, GAIN_STEP, -GAIN_STEP), key=score)
    if best == 0.0:
        return None
    width = best
    while abs(best + width) < GAIN_RANGE and score(best + width) > score(best):
        best += width
    for _ in range(4):
        width *= 0.5
        best = max((best, best - width, best + width), key=score)
    return at(best)


def with_all_gains_found(comparison: ReadingComparison, cost: Cost, reading: Reading, belief: MassBelief) -> Reading:
    """Return the reading with every effort in a unit of its own: signed factors found by regression, then refined.

    A joint whose torque the model does not explain takes its sign from friction and its size from the others.
    """
    factors: dict[int, float] = {}
    signs: dict[int, float] = {}
    alive = cost.alive
    for row, joint in enumerate(alive):
        slope, doubt, friction = regressed(comparison, reading, row, alive.index(reading.effort_from[joint]))
        if abs(slope) > CERTAIN * doubt:
            factors[joint] = 1.0 / slope
        else:
            signs[joint] = math.copysign(1.0, friction)
    usual = math.exp(float(np.mean([math.log(abs(factor)) for factor in factors.values()]))) if factors else 1.0
    factors |= {joint: sign * usual for joint, sign in signs.items()}
    found = replace(reading.with_effort_factors(factors), free_gain=True)
    for joint in alive:
        found = with_gain_found(comparison, cost, found, joint, belief) or found
    return found


def regressed(comparison: ReadingComparison, reading: Reading, row: int, effort: int) -> tuple[float, float, float]:
    """Return 1/a of a joint's effort e = m/a + friction + offset, m the model's torque, its doubt, and friction.

    ``row`` and ``effort`` count the joints with a live effort.
    """
    gram = comparison.gram(reading)
    channel = gram.first_effort + effort
    own = list(gram.own)[: -len(SHAPES)]  # a sine of the position is what many weights are
    choice = np.zeros((gram.products.shape[1], 1 + len(own)))
    choice[[gram.moving, gram.weight], 0] = 1.0, 0.0 if reading.compensated else 1.0
    choice[own, range(1, 1 + len(own))] = 1.0
    block = choice.T @ gram.products[row] @ choice
    block += 1e-9 * np.diag(np.maximum(np.diag(block), 1e-12))
    inverse = np.linalg.inv(block)
    solution = inverse @ (choice.T @ gram.products[row][:, channel])
    left = gram.products[row][channel, channel] - solution @ block @ solution
    doubt = math.sqrt(max(left, 0.0) * inverse[0, 0] / comparison.points.effective)
    return float(solution[0]), doubt, float(solution[[2, 3, 6]].sum())


EXCESS = 1.5
"""Travel over the range that the limits allow from which a joint's numbers cannot be the link's."""
UNLIMITED_RANGE = 4.0 * np.pi
"""Range taken for a rotary joint without limits [rad]."""
SHARE = 0.5
"""Share of the moving rotary joints that must exceed their ranges: one alone may have a wrong limit."""
TELLING = 3.0
"""Correlation of two motors' speeds, in standard deviations of chance, from which a coupling is suspected. Paths of few
waves correlate by themselves: so do about half of the wrists that are not coupled."""


@dataclass(frozen=True, slots=True, eq=False)
class Excess:
    """How far joints travel beyond what their limits allow.

    Attributes:
        ratio: Travel over range, shape (n,); 0 for joints that slide or do not move.
        joints: Joints beyond EXCESS.
        everywhere: Whether so many are that the positions as a whole cannot be the links'.
    """

    ratio: Array
    joints: tuple[int, ...]
    everywhere: bool


def excess_of(robot: Robot, points: MotionPoints) -> Excess:
    """Return how far the recorded positions go beyond the robot's limits."""
    travel = np.ptp(points.q, axis=0)
    span = robot.upper - robot.lower
    span = np.where(np.isfinite(span), np.minimum(span, UNLIMITED_RANGE), UNLIMITED_RANGE)
    turns = np.array(rotary(robot)) & points.moving
    ratio = np.where(turns, travel / np.maximum(span, 1e-3), 0.0)
    beyond = tuple(np.flatnonzero(ratio > EXCESS).tolist())
    return Excess(ratio, beyond, bool(beyond) and len(beyond) >= SHARE * int(turns.sum()))


def motor_side_finding(robot: Robot, points: MotionPoints, excess: Excess, *, degrees_possible: bool) -> Finding:
    """Return the finding that positions and efforts were recorded in front of the gears.

    Args:
        robot: The model.
        points: The recording's points.
        excess: How far they go beyond the limits.
        degrees_possible: Whether degrees with efforts in a unit of their own explain the data as well.
    """
    names = tuple(robot.joint_names[joint] for joint in excess.joints)
    least = {robot.joint_names[joint]: float(excess.ratio[joint]) for joint in excess.joints}
    pairs = _coupled_pairs(robot, points)
    sentence = (
        f"The positions of {listed(names)} travel {short(min(least.values()))} to {short(max(least.values()))} times "
        "the range that the links have: positions and efforts were recorded at the motors, in front of the gears"
    )
    evidence: dict[str, object] = {
        "least_gear_ratio": least,
        "gear_ratios": "unknown: the data give a lower bound only",
    }
    if pairs:
        told = ", ".join(f"{first} and {second} (correlation {value:.2f})" for first, second, value in pairs)
        sentence += (
            f". Motors of the wrist move together ({told}), as coupling makes them, but a path may do so too: a "
            "coupled wrist is suspected"
        )
        evidence["coupling_suspected"] = [[first, second] for first, second, _ in pairs]
        evidence["speed_correlation"] = {f"{first}, {second}": value for first, second, value in pairs}
    if degrees_possible:
        sentence += (
            "; or they are degrees, and the efforts are in a unit of their own. These data do not determine which"
        )
    alternatives = (LogFault.DEGREES.value, LogFault.EFFORT_IS_CURRENT.value) if degrees_possible else ()
    return Finding(
        fault=LogFault.MOTOR_SIDE,
        consequence=Consequence.DANGER,
        subjects=names,
        sentence=sentence + ".",
        remedy=(
            "State the gear ratios of the maker as [motor] ratio, or the whole coupling matrix as motor_per_link where "
            'the wrist is coupled, and side = "motor" for positions and efforts.'
        ),
        evidence=evidence,
        confidence=0.95,  # whichever it is, they are not the links' radians
        alternatives=alternatives,
        fix={} if alternatives else {"position": {"side": "motor"}, "effort": {"side": "motor"}},
    )


def _coupled_pairs(robot: Robot, points: MotionPoints) -> list[tuple[str, str, float]]:
    """Return pairs of the last three moving joints whose speeds go together more than by chance."""
    wrist = np.flatnonzero(points.moving)[-3:]
    if len(wrist) < 2:
        return []
    correlation = np.atleast_2d(np.corrcoef(points.dq[:, wrist].T))
    pairs = []
    for first in range(len(wrist)):
        for second in range(first + 1, len(wrist)):
            value = float(correlation[first, second])
            if abs(np.arctanh(np.clip(value, -0.999999, 0.999999))) * np.sqrt(points.effective) > TELLING:
                pairs.append((robot.joint_names[wrist[first]], robot.joint_names[wrist[second]], value))
    return pairs
