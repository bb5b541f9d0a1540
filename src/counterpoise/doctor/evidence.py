"""How well a reading explains a recording: the log evidence of a linear model with stated priors.

For joint i, with t_i the recorded effort as the reading understands it,

    t_i = Y_i (φ_0 + δ) + J_i q̈_i + F_i tanh(q̇_i/v_0) + B_i q̇_i + K_i s_i + W_i z_i + o_i + p_i(q_i) + ε_i

with ε_i ~ N(0, σ_i²), the model's parameters φ_0 and their error δ shared by all joints, and rotor inertia, dry and
viscous friction, friction kept at rest (s_i: the way it moved last) and wound up (z_i), offset and a torque along its
position of its own. Priors are those of :mod:`counterpoise.doctor.priors`, the evidence is that below, for the recorded
numbers: a factor a on an effort counts w log |a|. Two things are known besides: friction takes energy and never gives
it, and links weigh something. The evidence is multiplied by the posterior probability of that over the prior one, joint
by joint.

**Posterior and log evidence** are those of a linear model of several joints with shared and own unknowns, in closed
form. Joint i observes  y_i = A_i x + C_i z_i + ε_i,  ε_i ~ N(0, σ_i²),  with the prior N(0, 1) on every entry of the
shared unknowns x and of the joint's own z_i (columns are scaled by their prior spread beforehand). N points are worth w
independent ones, so each joint's log likelihood is multiplied by w/N. With the precision Λ of the posterior and its
mean m, the log evidence up to a constant is ([Bishop2006], eqs. (3.79) to (3.86), with one σ per joint)

    Σ_i ( −w log σ_i − w |y_i|²/(2 N σ_i²) ) + ½ mᵀ Λ m − ½ log det Λ.

σ_i is set to where this is largest, by expectation maximisation ([Bishop2006], section 9.3.4). Each joint's own
unknowns are eliminated first, so that only the shared ones are solved for together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..foundation import Array
from .gram import OWN, SHAPES, Gram, SignalColumns
from .priors import (
    ANY,
    BELIEFS,
    FREE_OFFSET,
    FRICTION,
    LEAST_SPRING,
    OFFSET,
    RESIDUE,
    ROTOR,
    SPRING,
    UNKNOWN_ROTOR,
    MassBelief,
)
from .reading import Reading

ROUNDS = 40
"""Most rounds of expectation maximisation."""
CONVERGED = 0.02
"""Relative change of every σ_i below which the rounds end."""


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Scalar products of n joints' observations, each divided by the number of points.

    Attributes:
        block: Of the columns [A_i C_i] with each other, shape (n, c + d, c + d).
        pull: Of the columns with y_i, shape (n, c + d).
        power: |y_i|², shape (n,).
        shared: c, the number of shared unknowns.
    """

    block: Array
    pull: Array
    power: Array
    shared: int


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What observations say.

    Attributes:
        evidence: Log evidence up to a constant that depends on w and n only.
        residue: σ_i, shape (n,).
        shared: Mean of x, shape (c,).
        shared_covariance: Its covariance, shape (c, c).
        own: Means of z_i, shape (n, d).
        own_covariance: Their covariances, shape (n, d, d).
    """

    evidence: float
    residue: Array
    shared: Array
    shared_covariance: Array
    own: Array
    own_covariance: Array


def posterior(observations: Observations, worth: float, least: Array, start: Array) -> Posterior:
    """Return the posterior.

    Args:
        observations: The scalar products.
        worth: w, how many independent points the points are worth.
        least: Least σ_i, shape (n,).
        start: First guess of σ_i, shape (n,).
    """
    residue = np.maximum(start, least)
    for _ in range(ROUNDS):
        at = _solved(observations, worth, residue)
        updated = np.maximum(np.sqrt(_unexplained(observations, at)), least)
        if np.all(np.abs(updated - residue) < CONVERGED * residue):
            break
        residue = updated
    else:
        at = _solved(observations, worth, residue)
    evidence = _log_evidence(observations, worth, residue, at)
    return Posterior(evidence, residue, at.shared, at.shared_covariance, at.own, at.own_covariance)


class _Solved(NamedTuple):
    """The posterior for given σ_i, as in :class:`Posterior`, and what it was made of.

    ``tie`` is T with cov(x, z_i) = −cov(x) T_i, shape (n, c, d); the precisions are of x and of z_i with x known.
    """

    shared: Array
    shared_covariance: Array
    own: Array
    own_covariance: Array
    tie: Array
    precision: Array
    own_precision: Array


def _solved(observations: Observations, worth: float, residue: Array) -> _Solved:
    """Return the posterior for given σ_i."""
    c = observations.shared
    weight = worth / residue**2
    block, pull = weight[:, None, None] * observations.block, weight[:, None] * observations.pull
    own_precision = np.eye(block.shape[1] - c) + block[:, c:, c:]
    own_inverse = np.linalg.inv(own_precision)
    mixed = block[:, :c, c:]
    tie = mixed @ own_inverse
    precision = np.eye(c) + block[:, :c, :c].sum(axis=0) - (tie @ np.swapaxes(mixed, 1, 2)).sum(axis=0)
    right = pull[:, :c].sum(axis=0) - (tie @ pull[:, c:, None]).sum(axis=(0, 2))
    covariance = np.linalg.inv(precision)
    shared = covariance @ right
    own = (own_inverse @ (pull[:, c:] - shared @ mixed)[:, :, None])[:, :, 0]
    own_covariance = own_inverse + np.swapaxes(tie, 1, 2) @ covariance @ tie
    return _Solved(shared, covariance, own, own_covariance, tie, precision, own_precision)


def _log_evidence(observations: Observations, worth: float, residue: Array, at: _Solved) -> float:
    """Return the log evidence up to a constant."""
    c, weight = observations.shared, worth / residue**2
    pull = weight[:, None] * observations.pull
    gained = float(at.shared @ pull[:, :c].sum(axis=0) + np.sum(at.own * pull[:, c:]))
    size = float(np.linalg.slogdet(at.precision)[1] + np.linalg.slogdet(at.own_precision)[1].sum())
    return float(-worth * np.log(residue).sum() - 0.5 * (weight @ observations.power)) + 0.5 * (gained - size)


def _unexplained(observations: Observations, at: _Solved) -> Array:
    """Return the expected square of what remains of each y_i, divided by the number of points, shape (n,)."""
    c, block = observations.shared, observations.block
    x = np.concatenate([np.broadcast_to(at.shared, (len(block), c)), at.own], axis=1)
    left = observations.power - 2.0 * np.einsum("nj,nj->n", x, observations.pull)
    left += np.einsum("nj,nj->n", x, (block @ x[:, :, None])[:, :, 0])
    left += np.einsum("jk,njk->n", at.shared_covariance, block[:, :c, :c])
    left += np.einsum("njk,njk->n", at.own_covariance, block[:, c:, c:])
    left -= 2.0 * np.einsum("njk,njk->n", at.shared_covariance @ at.tie, block[:, :c, c:])
    return np.asarray(np.maximum(left, 0.0))


RUBBING = [OWN.index(name) for name in ("dry", "viscous", "wound")]
"""Columns that make up friction at the usual speed."""
FRICTION_DOUBT = 0.03
"""Added standard deviation of friction in the test of its sign, relative to the joint's effort: what a joint that has
none may show because the model is wrong."""
LEAST_WEIGHT = 0.35
"""Least torque of the links over the described one: a third of the described masses."""
MOST_LEFT = 0.4
"""Most of the weight that a robot leaves in its efforts when it takes gravity out by its own model."""
WEIGHT_DOUBT = 0.05
"""Added standard deviation of that share: torques that no model explains look like some of it."""
EITHER_WAY = 0.6
"""Standard deviation of that share, before the data, from which the links may pull either way."""
FIRST_GUESS = 0.3
"""Unexplained part of an effort that fits begin with."""
GRAVITY_SPREAD = 10.0
"""Prior standard deviation of a gravity vector that is estimated, along each axis [m/s²]."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadingFit:
    """How a reading explains a recording of n joints.

    Attributes:
        reading: The reading.
        evidence: Log evidence, in nats; only differences mean something.
        belief: How far the model may be off.
        alive: Joints with an effort, shape (n,).
        residue: What remains unexplained of each joint's torque, standard deviation [N m or N], shape (n,).
        scale: Standard deviation of each joint's torque as read [N m or N], shape (n,).
        own: Estimates of each joint's own columns (see gram.OWN), shape (n, 10).
        own_std: Their standard deviations, shape (n, 10).
        friction_sign: Friction at the usual speed over its standard deviation, shape (n,); negative: it gives energy.
        carried: What it adds to the evidence that links weigh what links may [nats].
        payload: Estimates of [m, mx, my, mz] in the joint frame [kg, kg m] and their standard deviations, by body.
    """

    reading: Reading
    evidence: float
    belief: MassBelief
    alive: npt.NDArray[np.bool_]
    residue: Array
    scale: Array
    own: Array
    own_std: Array
    friction_sign: Array
    carried: float
    payload: dict[int, tuple[Array, Array]]


class ReadingComparison:
    """Compares readings of one recording with a model.

    Attributes:
        robot: The model.
        points: The recording's points.
        spread: Standard deviation of each recorded effort, shape (n,).
        guess: Unexplained part of each joint's effort with which fits begin, shape (n,). A good guess saves rounds.
    """

    def __init__(self, columns: SignalColumns, beliefs: Sequence[MassBelief] = BELIEFS, every: int = 1) -> None:
        """Prepare to compare.

        Args:
            columns: The signals of model and recording.
            beliefs: How far the model may be off: what suits the data best is taken.
            every: Take every so many points: coarser and faster.
        """
        self.robot = columns.robot
        points = self.points = columns.points
        self.columns = columns
        self.beliefs = tuple(beliefs)
        self._every = every
        self.guess = np.full(columns.robot.n, FIRST_GUESS)
        self._fits: dict[tuple[Reading, MassBelief], ReadingFit] = {}
        level = np.nan_to_num(points.effort)
        self.spread: Array = np.where(points.alive, level.std(axis=0) + 0.02 * np.abs(level.mean(axis=0)), 0.0)

    def gram(self, reading: Reading) -> Gram:
        """Return the scalar products of a reading's kinematics."""
        return self.columns.gram(reading, self._every)

    def best(self, reading: Reading) -> ReadingFit:
        """Return the fit with the belief in the model that the data support."""
        return max((self.fit(reading, belief) for belief in self.beliefs), key=lambda fit: fit.evidence)

    def begin_from(self, fit: ReadingFit) -> None:
        """Let later fits begin with what a fit leaves unexplained."""
        self.guess = np.where(fit.alive, fit.residue / np.where(fit.alive, fit.scale, 1.0), FIRST_GUESS)

    def fit(self, reading: Reading, belief: MassBelief) -> ReadingFit:
        """Return how a reading explains the recording; its evidence includes the cost of the belief."""
        key = (reading, belief)
        if key not in self._fits:
            self._fits[key] = self._fitted(reading, belief)
        return self._fits[key]

    def expected(self, reading: Reading) -> Array:
        """Return the standard deviation of the torque that the model expects of each joint [N m or N], shape (n,)."""
        gram = self.gram(reading)
        parts = [gram.moving] if reading.compensated else [gram.moving, gram.weight]
        ones = gram.shared + OWN.index("offset")
        power = gram.products[:, parts][:, :, parts].sum(axis=(1, 2))
        mean = gram.products[:, parts, ones].sum(axis=1)
        result = np.zeros(self.robot.n)
        result[self.columns.alive] = np.sqrt(np.maximum(power - mean**2, 0.0))
        return result

    def weight(self, reading: Reading) -> Array:
        """Return the standard deviation of the weight that each joint carries, as read [N m or N], shape (n,)."""
        gram, result = self.gram(reading), np.zeros(self.robot.n)
        ones = gram.shared + OWN.index("offset")
        mean = gram.products[:, gram.weight, ones]
        result[self.columns.alive] = np.sqrt(np.maximum(gram.products[:, gram.weight, gram.weight] - mean**2, 0.0))
        return result

    def correlation(self, reading: Reading) -> Array:
        """Return the correlation of each joint's effort, as read, with the model's torque, shape (n,)."""
        gram, result = self.gram(reading), np.zeros(self.robot.n)
        parts = [gram.moving] if reading.compensated else [gram.moving, gram.weight]
        ones = gram.shared + OWN.index("offset")
        for row, joint in enumerate(self.columns.alive):
            products = gram.products[row]
            effort = gram.first_effort + int(np.searchsorted(self.columns.alive, reading.effort_from[joint]))
            model, level = products[parts, ones].sum(), products[effort, ones]
            both = products[parts, effort].sum() - model * level
            power = products[np.ix_(parts, parts)].sum() - model**2
            size = math.sqrt(max(power, 0.0) * max(products[effort, effort] - level**2, 0.0))
            result[joint] = math.copysign(1.0, reading.effort_factor[joint]) * both / size if size > 0.0 else 0.0
        return result

    def gravity(self, reading: Reading, belief: MassBelief) -> tuple[Array, Array]:
        """Return the gravity vector in the base frame that the efforts show, and its covariance [m/s²]."""
        gram, setup = self.gram(reading), self._setup(reading, belief)
        columns = list(gram.unit_gravity)
        at = setup.solve(self.points.effective, self.guess, columns, np.full(3, GRAVITY_SPREAD), weighed=False)
        where = slice(setup.common, setup.common + 3)
        return at.shared[where] * GRAVITY_SPREAD, at.shared_covariance[where, where] * GRAVITY_SPREAD**2

    def _setup(self, reading: Reading, belief: MassBelief) -> _Setup:
        return _Setup(self.columns, self.gram(reading), reading, belief, self.spread)

    def _fitted(self, reading: Reading, belief: MassBelief) -> ReadingFit:
        robot, gram, worth = self.robot, self.gram(reading), self.points.effective
        setup = self._setup(reading, belief)
        at = setup.solve(worth, self.guess)
        n, alive, scale = robot.n, setup.joints, setup.scale
        evidence = at.evidence + worth * float(np.log(np.abs(np.array(reading.effort_factor)[alive])).sum())
        evidence -= belief.cost
        own, own_std, friction_sign = np.zeros((n, len(OWN))), np.zeros((n, len(OWN))), np.zeros(n)
        residue = np.full(n, np.nan)
        residue[alive] = at.residue
        for index, joint in enumerate(alive):
            prior = setup.own_prior[joint]
            own[joint] = at.own[index] * prior
            covariance = at.own_covariance[index] * prior * prior[:, None]
            own_std[joint] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
            if gram.moves[joint]:
                spread = math.sqrt(max(covariance[np.ix_(RUBBING, RUBBING)].sum(), 0.0))
                doubt = math.hypot(spread, FRICTION_DOUBT * scale[joint])
                friction_sign[joint] = own[joint, RUBBING].sum() / doubt
                evidence += math.log(2.0) + _log_normal_cdf(friction_sign[joint])
        payload = {}
        for body, first in zip(sorted(reading.loaded), range(gram.shared, setup.common, 4), strict=True):
            part = slice(first, first + 4)
            load = self.columns.payload_spread[body]
            covariance = load @ at.shared_covariance[part, part] @ load.T
            payload[body] = (load @ at.shared[part], np.sqrt(np.diag(covariance)))
        carried = self._carries(setup, at)
        evidence += carried
        living = np.isin(np.arange(n), alive)
        return ReadingFit(
            reading, evidence, belief, living, residue, scale, own, own_std, friction_sign, carried, payload
        )

    def _carries(self, setup: _Setup, at: Posterior) -> float:
        """Return by how much the data make it likelier that the links weigh what links may [nats].

        Masses of any size are allowed, but none below LEAST_WEIGHT of the description's; and a robot that takes gravity
        out by its own model leaves no more than MOST_LEFT of it. The links' torque over the described one, along the
        recording, is normal before and after the data. Joints whose links may well pull either way, as light wrists do,
        say nothing.
        """
        gram, some = setup.gram, slice(0, setup.gram.shared)
        parts = [gram.weight] if setup.compensated else [gram.moving, gram.weight]
        total = 0.0
        for products in gram.products:
            power = float(products[np.ix_(parts, parts)].sum())
            slope = products[some, parts].sum(axis=1) / max(power, 1e-300)
            slope = slope if setup.held is None else setup.held.T @ slope
            before = float(np.linalg.norm(slope))
            if power <= 0.0 or before > EITHER_WAY:
                continue
            change = float(slope @ at.shared[some])
            after = math.sqrt(max(float(slope @ at.shared_covariance[some, some] @ slope), 0.0))
            room, change = (MOST_LEFT, -change) if setup.compensated else (1.0 - LEAST_WEIGHT, change)
            total += _log_normal_cdf((room + change) / math.hypot(after, WEIGHT_DOUBT))
            total -= _log_normal_cdf(room / math.hypot(before, WEIGHT_DOUBT))
        return total


class _Setup:
    """The linear model of one reading."""

    def __init__(self, made: SignalColumns, gram: Gram, reading: Reading, belief: MassBelief, spread: Array) -> None:
        robot = made.robot
        self.gram = gram
        self.joints = made.alive
        self.factor, channel = np.array(reading.effort_factor), np.array(reading.effort_from)
        self.effort = gram.first_effort + np.searchsorted(made.alive, channel[made.alive])
        self.scale: Array = np.abs(self.factor) * spread[channel]
        self.compensated = reading.compensated
        loads = [column for body in sorted(reading.loaded) for column in gram.payload(body)]
        self.columns = [*range(gram.shared), *loads]
        self.held = None if belief == ANY else made.held(belief)
        self.common = len(self.columns)
        rotor = np.where(robot.rotor_inertia > 0.0, ROTOR * robot.rotor_inertia, UNKNOWN_ROTOR * made.inertia)
        sprung = np.isin(np.arange(robot.n), list(reading.sprung))
        shifted = sprung | np.isin(np.arange(robot.n), list(reading.offset))
        offset = np.where(shifted, FREE_OFFSET, OFFSET) * self.scale
        friction = FRICTION * self.scale
        weight = np.zeros(robot.n)
        weight[made.alive] = np.sqrt(gram.products[:, gram.weight, gram.weight])
        spring = np.where(sprung, SPRING * np.hypot(self.scale, weight), LEAST_SPRING * self.scale)
        self.own_prior = np.column_stack(
            [rotor, friction, friction, offset, friction, friction, *[spring] * len(SHAPES)]
        )

    def solve(
        self,
        worth: float,
        guess: Array,
        more: list[int] | None = None,
        more_prior: Array | None = None,
        weighed: bool = True,
    ) -> Posterior:
        """Return the posterior.

        Args:
            worth: How many independent points the points are worth.
            guess: Unexplained part of each joint's effort to begin with, shape (n,).
            more: Further shared columns.
            more_prior: Their prior standard deviations.
            weighed: Gravity's torque is taken off beforehand (unless the efforts leave it out).
        """
        gram, joints = self.gram, self.joints
        columns = [*self.columns, *(more or [])]
        shared = len(columns)
        stretch = np.ones(shared)
        if more_prior is not None:
            stretch[-len(more_prior) :] = more_prior
        columns += gram.own
        products = gram.products
        target = np.zeros((len(joints), products.shape[1]))
        target[np.arange(len(joints)), self.effort] = self.factor[joints]
        target[:, gram.moving] = -1.0
        target[:, gram.weight] = -1.0 if weighed and not self.compensated else 0.0
        against = (products @ target[:, :, None])[:, :, 0]
        scaling = np.concatenate([np.tile(stretch, (len(joints), 1)), self.own_prior[joints]], axis=1)
        block = products[:, columns][:, :, columns] * scaling[:, None, :] * scaling[:, :, None]
        pull = against[:, columns] * scaling
        if self.held is not None:
            part = slice(0, gram.shared)
            block[:, part] = self.held.T @ block[:, part]
            block[:, :, part] = block[:, :, part] @ self.held
            pull[:, part] = pull[:, part] @ self.held
        observations = Observations(
            block=block,
            pull=pull,
            power=np.maximum(np.sum(target * against, axis=1), 0.0),
            shared=shared,
        )
        scale = self.scale[joints]
        return posterior(observations, worth, np.maximum(RESIDUE * scale, 1e-12), guess[joints] * scale)


def _log_normal_cdf(z: float) -> float:
    if z < -30.0:
        return -0.5 * z * z - math.log(-z) - 0.5 * math.log(2.0 * math.pi)
    return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))
