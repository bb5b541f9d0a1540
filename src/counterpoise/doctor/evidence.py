r"""How well a reading explains a recording: the log evidence of a linear model with stated priors.

For joint i, with t_i the recorded effort as the reading understands it,

    t_i = Y_i (φ_0 + δ) + J_i q̈_i + F_i tanh(q̇_i/v_0) + B_i q̇_i + K_i s_i + o_i + ε_i,      ε_i ~ N(0, σ_i²)

with the model's parameters φ_0 and their error δ shared by all joints, and rotor inertia, dry and viscous friction,
friction kept at rest (s_i: the way it moved last) and offset of its own. Priors are those of
:mod:`counterpoise.doctor.expectation`, the evidence that of :mod:`counterpoise.doctor.bayes`, for the recorded numbers:
a factor a on an effort counts w log |a|. Friction takes energy and never gives it: the evidence is multiplied by the
posterior probability of that over the prior one, joint by joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from .bayes import Observations, Posterior, posterior
from .expectation import FREE_OFFSET, FRICTION, OFFSET, RESIDUE, ROTOR, TRUST, TRUST_COST, UNKNOWN_ROTOR
from .gram import OWN, Gram, SignalColumns
from .reading import Reading

FRICTION_DOUBT = 0.03
"""Added standard deviation of friction in the test of its sign, relative to the joint's effort: what a joint that has
none may show because the model is wrong."""
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
        trust: Factor on the model's expected error.
        alive: Joints with an effort, shape (n,).
        residue: What remains unexplained of each joint's torque, standard deviation [N m or N], shape (n,).
        scale: Standard deviation of each joint's torque as read [N m or N], shape (n,).
        own: Estimates of each joint's own columns (see gram.OWN), shape (n, 5).
        own_std: Their standard deviations, shape (n, 5).
        friction_sign: Friction at the usual speed over its standard deviation, shape (n,); negative: it gives energy.
        payload: Estimates of [m, mx, my, mz] in the joint frame [kg, kg m] and their standard deviations, by body.
    """

    reading: Reading
    evidence: float
    trust: float
    alive: npt.NDArray[np.bool_]
    residue: Array
    scale: Array
    own: Array
    own_std: Array
    friction_sign: Array
    payload: dict[int, tuple[Array, Array]]


class ReadingComparison:
    """Compares readings of one recording with a model.

    Attributes:
        robot: The model.
        motion: The recording's points.
        spread: Standard deviation of each recorded effort, shape (n,).
        guess: Unexplained part of each joint's effort with which fits begin, shape (n,). A good guess saves rounds.
    """

    def __init__(self, columns: SignalColumns, every: int = 1) -> None:
        """Prepare to compare.

        Args:
            columns: The signals of model and recording.
            every: Take every so many points: coarser and faster.
        """
        self.robot = columns.robot
        motion = self.motion = columns.motion
        self._columns = columns
        self._every = every
        self.guess = np.full(columns.robot.n, FIRST_GUESS)
        self._grams: dict[tuple[object, ...], Gram] = {}
        self._fits: dict[tuple[Reading, float], ReadingFit] = {}
        level = np.nan_to_num(motion.effort)
        self.spread: Array = np.where(motion.alive, level.std(axis=0) + 0.02 * np.abs(level.mean(axis=0)), 0.0)

    def gram(self, reading: Reading) -> Gram:
        """Return the scalar products of a reading's kinematics, computed once."""
        key = reading.kinematics
        if key not in self._grams:
            self._grams[key] = self._columns.gram(reading, self._every)
        return self._grams[key]

    def best(self, reading: Reading) -> ReadingFit:
        """Return the fit with the trust in the model that the data support."""
        return max((self.fit(reading, trust) for trust in TRUST), key=lambda fit: fit.evidence)

    def begin_from(self, fit: ReadingFit) -> None:
        """Let later fits begin with what a fit leaves unexplained."""
        self.guess = np.where(fit.alive, fit.residue / np.where(fit.alive, fit.scale, 1.0), FIRST_GUESS)

    def fit(self, reading: Reading, trust: float) -> ReadingFit:
        """Return how a reading explains the recording; its evidence includes the cost of little trust."""
        key = (reading, trust)
        if key not in self._fits:
            self._fits[key] = self._fitted(reading, trust)
        return self._fits[key]

    def wide(self, reading: Reading) -> ReadingFit:
        """Return the fit with the least trust in the model, at no cost: what a bad enough model could explain."""
        fit = self.fit(reading, TRUST[-1])
        return replace(fit, evidence=fit.evidence + TRUST_COST[-1])

    def expected(self, reading: Reading) -> Array:
        """Return the standard deviation of the torque that the model expects of each joint [N m or N], shape (n,)."""
        gram = self.gram(reading)
        parts = [gram.moving] if reading.compensated else [gram.moving, gram.weight]
        ones = gram.shared + OWN.index("offset")
        power = gram.products[:, parts][:, :, parts].sum(axis=(1, 2))
        mean = gram.products[:, parts, ones].sum(axis=1)
        result = np.zeros(self.robot.n)
        result[self._columns.alive] = np.sqrt(np.maximum(power - mean**2, 0.0))
        return result

    def correlation(self, reading: Reading) -> Array:
        """Return the correlation of each joint's effort, as read, with the model's torque, shape (n,)."""
        gram, result = self.gram(reading), np.zeros(self.robot.n)
        parts = [gram.moving] if reading.compensated else [gram.moving, gram.weight]
        ones = gram.shared + OWN.index("offset")
        for row, joint in enumerate(self._columns.alive):
            products = gram.products[row]
            effort = gram.first_effort + int(np.searchsorted(self._columns.alive, reading.effort_from[joint]))
            model, level = products[parts, ones].sum(), products[effort, ones]
            both = products[parts, effort].sum() - model * level
            power = products[np.ix_(parts, parts)].sum() - model**2
            size = math.sqrt(max(power, 0.0) * max(products[effort, effort] - level**2, 0.0))
            result[joint] = math.copysign(1.0, reading.effort_factor[joint]) * both / size if size > 0.0 else 0.0
        return result

    def gravity(self, reading: Reading, trust: float) -> tuple[Array, Array]:
        """Return the gravity vector in the base frame that the efforts show, and its covariance [m/s²]."""
        gram, setup = self.gram(reading), self._setup(reading, trust)
        columns = list(gram.unit_gravity)
        at = setup.solve(self.motion.effective, self.guess, columns, np.full(3, GRAVITY_SPREAD), weighed=False)
        where = slice(setup.common, setup.common + 3)
        return at.shared[where] * GRAVITY_SPREAD, at.shared_covariance[where, where] * GRAVITY_SPREAD**2

    def _setup(self, reading: Reading, trust: float) -> _Setup:
        return _Setup(self._columns, self.gram(reading), reading, trust, self.spread)

    def _fitted(self, reading: Reading, trust: float) -> ReadingFit:
        robot, gram, worth = self.robot, self.gram(reading), self.motion.effective
        setup = self._setup(reading, trust)
        at = setup.solve(worth, self.guess)
        n, alive, scale = robot.n, setup.joints, setup.scale
        evidence = at.evidence + worth * float(np.log(np.abs(np.array(reading.effort_factor)[alive])).sum())
        evidence -= TRUST_COST[TRUST.index(trust)]
        own, own_std, friction_sign = np.zeros((n, len(OWN))), np.zeros((n, len(OWN))), np.zeros(n)
        residue = np.full(n, np.nan)
        residue[alive] = at.residue
        for index, joint in enumerate(alive):
            prior = setup.own_prior[joint]
            own[joint] = at.own[index] * prior
            covariance = at.own_covariance[index] * prior * prior[:, None]
            own_std[joint] = np.sqrt(np.diag(covariance))
            if gram.moves[joint]:
                spread = math.sqrt(covariance[1:3, 1:3].sum())
                doubt = math.hypot(spread, FRICTION_DOUBT * scale[joint])
                friction_sign[joint] = (own[joint, 1] + own[joint, 2]) / doubt
                evidence += math.log(2.0) + _log_normal_cdf(friction_sign[joint])
        payload = {}
        for body, first in zip(sorted(reading.loaded), range(gram.shared, setup.common, 4), strict=True):
            part = slice(first, first + 4)
            load = self._columns.payload_spread[body]
            covariance = load @ at.shared_covariance[part, part] @ load.T
            payload[body] = (load @ at.shared[part], np.sqrt(np.diag(covariance)))
        living = np.isin(np.arange(n), alive)
        return ReadingFit(reading, evidence, trust, living, residue, scale, own, own_std, friction_sign, payload)


class _Setup:
    """The linear model of one reading."""

    def __init__(self, made: SignalColumns, gram: Gram, reading: Reading, trust: float, spread: Array) -> None:
        robot = made.robot
        self.gram = gram
        self.joints = made.alive
        self.factor, channel = np.array(reading.effort_factor), np.array(reading.effort_from)
        self.effort = gram.first_effort + np.searchsorted(made.alive, channel[made.alive])
        self.scale: Array = np.abs(self.factor) * spread[channel]
        self.compensated = reading.compensated
        loads = [column for body in sorted(reading.loaded) for column in gram.payload(body)]
        self.columns = [*range(gram.shared), *loads]
        self.stretch = np.concatenate([np.full(gram.shared, trust), np.ones(len(loads))])
        self.common = len(self.columns)
        rotor = np.where(robot.rotor_inertia > 0.0, ROTOR * robot.rotor_inertia, UNKNOWN_ROTOR * made.inertia)
        offset = np.where(np.isin(np.arange(robot.n), list(reading.offset)), FREE_OFFSET, OFFSET)
        friction = FRICTION * self.scale
        self.own_prior = np.column_stack([rotor, friction, friction, offset * self.scale, friction])

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
        stretch = self.stretch if more_prior is None else np.concatenate([self.stretch, more_prior])
        shared = len(columns)
        columns += gram.own
        products = gram.products
        target = np.zeros((len(joints), products.shape[1]))
        target[np.arange(len(joints)), self.effort] = self.factor[joints]
        target[:, gram.moving] = -1.0
        target[:, gram.weight] = -1.0 if weighed and not self.compensated else 0.0
        against = (products @ target[:, :, None])[:, :, 0]
        scaling = np.concatenate([np.tile(stretch, (len(joints), 1)), self.own_prior[joints]], axis=1)
        observations = Observations(
            block=products[:, columns][:, :, columns] * scaling[:, None, :] * scaling[:, :, None],
            pull=against[:, columns] * scaling,
            power=np.maximum(np.sum(target * against, axis=1), 0.0),
            shared=shared,
        )
        scale = self.scale[joints]
        return posterior(observations, worth, np.maximum(RESIDUE * scale, 1e-12), guess[joints] * scale)


def _log_normal_cdf(z: float) -> float:
    if z < -30.0:
        return -0.5 * z * z - math.log(-z) - 0.5 * math.log(2.0 * math.pi)
    return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))
