"""The priors of the doctor's comparison: what is expected of a model and of a drive before a recording is seen.

They say how wrong a good description may be without anything being wrong with the recording. ``Cost`` is what a reading
costs beforehand: how much log evidence a fault must bring before it is believed.

Chosen once, on simulated training recordings (seeds 0 to 999 of studies/doctor_faults.py), so that valid recordings
raise no alarm; judged on others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..dynamics import Robot
from ..foundation import Array
from .reading import Reading


@dataclass(frozen=True, slots=True)
class MassBelief:
    """How far a description may be off: standard deviations.

    Attributes:
        mass: Of a link's mass, relative.
        centre: Of a link's centre of mass, along each axis [m].
        inertia: Of a link's inertia about its centre, relative to its trace.
        least: Least one of a mass, relative to the mean link's: files leave masses out.
        common: Of the logarithm of one factor on all masses.
        reach: Of a link's centre of mass, relative to its distance from the joint; added to ``centre``.
        cost: What the data must gain in log evidence for this to be believed rather than a better description.
    """

    mass: float
    centre: float
    inertia: float
    least: float
    common: float = 0.0
    reach: float = 0.0
    cost: float = 0.0


GOOD = MassBelief(mass=0.10, centre=0.010, inertia=0.20, least=0.01)
"""A good description."""
BELIEFS = (
    GOOD,
    MassBelief(mass=0.20, centre=0.020, inertia=0.40, least=0.02, cost=5.0),
    MassBelief(mass=0.30, centre=0.030, inertia=0.60, least=0.03, cost=14.0),
)
"""Descriptions that are rather good: what they tell supports a fault, but never alone."""
ANY = MassBelief(mass=0.35, centre=0.03, inertia=0.6, least=0.05, common=0.35, reach=0.2)
"""Any description of this arm: one factor of up to two on all masses, links and counterweights of any usual size. What
is told under this belief is told by the recording."""
FRICTION = 0.7
"""Standard deviation of dry friction, of friction at the usual speed and of friction kept at rest, relative to the
standard deviation of the joint's effort."""
OFFSET = 0.08
"""Standard deviation of a sound channel's offset, relative to the standard deviation of the joint's effort: friction
that differs by direction looks like one."""
FREE_OFFSET = 1.5
"""The same of a channel that is suspected of an offset."""
ROTOR = 0.3
"""Relative standard deviation of a known rotor inertia."""
UNKNOWN_ROTOR = 1.0
"""Standard deviation of a rotor inertia that no file states, relative to the mean inertia that the joint turns."""
SPRING = 0.7
"""Standard deviation of a suspected spring, counterbalance or cable, relative to the joint's effort and weight."""
LEAST_SPRING = 0.02
"""The same of a joint that is not suspected: cables and hoses pull a little everywhere."""
PAYLOAD_MASS_SHARE = 0.1
"""Standard deviation of a suspected payload, relative to the robot's moving mass."""
PAYLOAD_LEVER = 0.1
"""Standard deviation of a suspected payload's centre about the last link's origin, along each axis [m]."""
RESIDUE = 0.01
"""Least standard deviation of what no model explains, relative to the standard deviation of the joint's effort, or of
the plate's predicted channels."""
INDEPENDENT_RATE = 3.0
"""Independent observations per second at most [Hz]: what a model leaves of a signal stays alike for a while."""
FURTHEST = 0.5
"""Longest delay of a channel that is looked for, to either side [s]."""


def parameter_spread(robot: Robot, belief: MassBelief = GOOD) -> Array:
    """Return L, shape (10 b, 10 b), with L Lᵀ the covariance of the bodies' ten inertial parameters (joint frames).

    Per body: mass, first moment and inertia scale together; the centre of mass moves; the inertia changes by itself;
    and a floor for links whose masses a file leaves out. All bodies scale by one factor.

    Args:
        robot: The model.
        belief: How far it may be off.
    """
    parameters = robot.inertial_parameters[10:].reshape(-1, 10)
    bodies = len(parameters)
    mean_mass = max(float(parameters[:, 0].mean()), 1e-6)
    least = belief.least * mean_mass
    covariance = np.zeros((bodies, 10, bodies, 10))
    for body, values in enumerate(parameters):
        mass = max(values[0], 0.0)
        size = max(values[4] + values[6] + values[9], 0.0)
        away = belief.reach * float(np.linalg.norm(values[1:4]))
        variance = np.zeros(10)
        variance[0] = least**2
        variance[1:4] = (belief.centre * mass) ** 2 + away**2 + (0.1 * least) ** 2
        variance[4:] = (0.5 * belief.inertia * (size + mass * belief.centre**2)) ** 2 + (0.01 * least) ** 2
        scaled = belief.mass * values
        covariance[body, :, body, :] = np.outer(scaled, scaled) + np.diag(variance)
    together = belief.common * parameters.ravel()
    whole = covariance.reshape(10 * bodies, 10 * bodies) + np.outer(together, together)
    return np.asarray(np.linalg.cholesky(whole), dtype=np.float64)


def payload_spread(robot: Robot, body: int) -> Array:
    """Return L, shape (4, 4), with L Lᵀ the covariance of a suspected payload's [m, mx, my, mz] in the joint frame.

    It is expected near the origin of the outermost link that the body carries: its flange or tool.
    """
    tree = robot.tree
    mass = PAYLOAD_MASS_SHARE * float(np.sum(tree.mass))
    ends = [
        index for index, name in enumerate(tree.link_names) if name in tree.leaves and tree.link_body[index] == body
    ]
    flange = np.mean([tree.joint_rotation[body].T @ tree.link_origin[index] for index in ends], axis=0) if ends else 0.0
    spread = np.zeros((4, 4))
    spread[0, 0] = mass
    spread[1:, 0] = mass * flange
    spread[1:, 1:] = PAYLOAD_LEVER * mass * np.eye(3)
    return spread


AMBIGUOUS = 5.0
"""Log evidence by which another explanation must be worse to be ruled out: odds of 150 to 1."""
SIGN = 5.0
"""One joint's effort or position of the other sign."""
ALL_SIGNS = 6.0
"""All efforts of the other sign: one convention, not n faults."""
ORDER = 6.0
"""Two channels exchanged."""
GAIN = 6.0
"""One joint's effort off by a factor."""
EFFORT_OFFSET = 6.0
"""One joint's effort off by a constant."""
UNIT = 6.0
"""All positions in degrees, or all efforts in a unit of their own."""
OPEN_FACTOR = 1.5
"""Each factor that is open because of that."""
GAIN_SPREAD = 0.7
"""Standard deviation of the log of a wrong gain: a factor of two."""
OPEN_SPREAD = 2.5
"""The same of an open factor: torque constants times gear ratios lie between 1 and 100."""
MOUNT = 6.0
"""Another mounting."""
PAYLOAD = 6.0
"""A payload that the model lacks."""
COMPENSATED = 6.0
"""Gravity is not in the efforts."""
SPRUNG = 6.0
"""A spring, counterbalance or cable on one joint."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Counts faults of readings of one recording.

    Attributes:
        start: The reading that believes the log in everything.
        alive: Joints whose efforts are alive.
    """

    start: Reading
    alive: tuple[int, ...]

    def __call__(self, reading: Reading) -> float:
        """Return the log evidence that a reading must bring over the one that believes the log."""
        start = self.start
        flipped = sum(reading.effort_factor[joint] * start.effort_factor[joint] < 0.0 for joint in self.alive)
        upright = len(self.alive) - flipped
        total = min(flipped * SIGN, ALL_SIGNS + upright * SIGN)
        total += SIGN * sum(
            new * old < 0.0 for new, old in zip(reading.position_factor, start.position_factor, strict=True)
        )
        if any(
            abs(abs(new / old) - 1.0) > 1e-9
            for new, old in zip(reading.position_factor, start.position_factor, strict=True)
        ):
            total += UNIT
        total += self.of_gains(reading)
        if reading.free_gain:
            total += OPEN_FACTOR * len(self.alive) + (0.0 if start.free_gain else UNIT)
        else:
            total += GAIN * sum(abs(log_gain) > 1e-9 for log_gain in self._log_gains(reading))
        total += ORDER * exchanges(reading.position_from, reading.effort_from)
        total += (
            EFFORT_OFFSET * len(reading.offset)
            + SPRUNG * len(reading.sprung)
            + PAYLOAD * len(reading.loaded)
            + COMPENSATED * (reading.compensated != start.compensated)
        )
        return total + MOUNT * (reading.gravity_base != start.gravity_base)

    def kinds(self, reading: Reading) -> int:
        """Return how many different kinds of fault a reading assumes."""
        start = self.start
        factors = zip(
            (*reading.effort_factor, *reading.position_factor),
            (*start.effort_factor, *start.position_factor),
            strict=True,
        )
        assumed = (
            any(new * old < 0.0 for new, old in factors),
            exchanges(reading.position_from, reading.effort_from) > 0,
            any(abs(log_gain) > 1e-9 for log_gain in self._log_gains(reading)) or reading.free_gain,
            {abs(factor) for factor in reading.position_factor} != {abs(factor) for factor in start.position_factor},
            bool(reading.offset),
            bool(reading.sprung),
            bool(reading.loaded),
            reading.gravity_base != start.gravity_base,
            reading.compensated != start.compensated,
        )
        return sum(assumed)

    def of_gains(self, reading: Reading) -> float:
        """Return the part that grows with the size of wrong or open gains."""
        spread = OPEN_SPREAD if reading.free_gain else GAIN_SPREAD
        return sum(0.5 * (log_gain / spread) ** 2 for log_gain in self._log_gains(reading))

    def _log_gains(self, reading: Reading) -> list[float]:
        start = self.start
        return [math.log(abs(reading.effort_factor[joint] / start.effort_factor[joint])) for joint in self.alive]


def exchanges(position_from: tuple[int, ...], effort_from: tuple[int, ...]) -> int:
    """Return the least number of exchanges: of whole joints, of positions alone and of efforts alone."""
    apart = _transpositions(position_from) + _transpositions(effort_from)
    back = {channel: joint for joint, channel in enumerate(position_from)}
    relative = tuple(back[channel] for channel in effort_from)
    together = min(_transpositions(position_from), _transpositions(effort_from)) + _transpositions(relative)
    return min(apart, together)


def _transpositions(order: tuple[int, ...]) -> int:
    seen: set[int] = set()
    cycles = 0
    for begin in range(len(order)):
        at = begin
        cycles += at not in seen
        while at not in seen:
            seen.add(at)
            at = order[at]
    return len(order) - cycles
