"""The recursive estimator: base gravity parameters, offsets and friction from held poses, with a standard deviation.

At a held pose the torques of the joints are

    τ_i = Y_i(q) β + offset_i + side_i friction_i + e_i

with side_i the side from which joint i came. While the arm stands, e_i does not change: it is what friction really
holds, not noise. A thousand samples of one pose are therefore **one** measurement, of standard deviation
√(hold_i² + scatter_i²/N), and the estimator counts holds, not samples:

- when the arm rests (recording/rest.py), its torques are averaged over WINDOW and folded into a copy of what was known
  before (square_root.py), one joint per tick or so, so that no tick is long;
- then the hold has told all it can. Where friction holds, the torque of an arm that stands says nothing more: it
  follows whatever a controller adds, and friction makes up for it. Only where friction is declared absent is a longer
  hold looked at again, every LONGEST;
- a joint that stuck while its torque changed, or has not slid since the hold before, counts with the friction's whole
  error (hold.py);
- an arm that stands again without any joint having slid is held by the same friction as before: nothing new;
- whether there is friction at all is not known beforehand. Two beliefs are kept (``Belief``), with friction and
  without; each hold gives how probable it was under either, and the estimate is their mean, weighed by their
  probabilities. So a robot without friction needs no more poses than one of which it is known, and one with friction
  loses nothing;
- a pass in which every joint's torque was known beforehand to a third of the measurement's own error teaches nothing
  and is thrown away: without excitation the estimator stands still (γ² of square_root.py), unless it is surprised;
- a hold that contradicts what is known by five standard deviations is doubted: somebody may lean on the arm, its brakes
  may hold it while its drives are off. It is learned from only if the next hold, ELSEWHERE, contradicts as well. A hold
  at which no drive carries anything although there is weight is never learned from;
- old data are forgotten by 1 % per learned hold, and faster, but never below FLOOR, when a contradiction is learned: a
  load was attached, a cable added. The prior is not forgotten, so that the covariance stays bounded by twice the
  prior's;
- the error of a torque constant is the same at all poses, no number of holds makes it smaller, and none distinguishes
  it from weight: it is not estimated, but what it does to the estimate is kept account of and is in the standard
  deviation;
- hold_i is learned from the innovations, each weighed by how much of it was foreseen.

The values that :meth:`gravity` uses follow the estimate over BLEND, so that a controller that adds them sees no step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, as_rows
from ..errors import InputError
from ..foundation import Array
from ..recording import BAND, Means, RestGatherer, RestPhase
from .gravity_prior import PriorChoice, States, states_of
from .hold import Sliding, Told, bears_weight, first_noise, summarise
from .kernel import fold, fold_torques, head, judge, relearn, solve, tail_variances
from .square_root import covariance_of, factor_of, sensitivities, standard_deviations


class Belief:
    """Knowledge of the unknowns, or of all but the friction torques, as a triangle [R z …] (square_root.py).

    It is what is known under one assumption about the arm: before the hold at hand, with it, and one being made.

    Attributes:
        size: Number of unknowns, p.
        prior: The triangle before any data, shape (p, p + 1), or (p, p + 1 + n) with the torque constants' errors.
        committed: The triangle before the hold at hand.
        x: The latest estimate, shape (p,).
        left: Of each joint's torque the innovation ρ and γ, shape (2, n).
    """

    def __init__(
        self, states: States, columns: npt.NDArray[np.int64], joints: int, *, friction: bool, gains: bool
    ) -> None:
        """Start from what is known beforehand.

        Args:
            states: The unknowns.
            columns: Columns of the gravity regressor that belong to β.
            joints: Number of joints, n.
            friction: Whether friction may hold a joint; if not, the n friction torques at the end are left out.
            gains: Whether to keep account of what errors of the torque constants do.
        """
        self.size = len(states.names) if friction or states.friction_at < 0 else states.friction_at
        known = factor_of(states.mean[: self.size], states.covariance[: self.size, : self.size])
        self.prior = np.ascontiguousarray(np.hstack([known, np.zeros((self.size, joints * gains))]))
        self.committed, self._current, self._work = (self.prior.copy() for _ in range(3))
        self.x = np.array(states.mean[: self.size])
        self.left = np.vstack([np.zeros(joints), np.ones(joints)])
        self._row = np.zeros(self.prior.shape[1])
        self._columns = columns
        self._places = (states.offset_at, states.friction_at if friction else -1)
        self._sigma = Told.SIGMA if friction else Told.SIGMA_FREE
        self._learned = False

    @property
    def latest(self) -> Array:
        """The triangle with all that was learned, shaped as the prior's."""
        return self._current if self._learned else self.committed

    def begin(self, kept: float) -> None:
        """Begin to fold a hold into what was known before it, of which a share is kept."""
        np.multiply(self.committed, math.sqrt(kept), out=self._work)

    def fold(self, told: Array, regressor: Array, first: int, last: int) -> None:
        """Fold the torques of the joints from ``first`` to before ``last`` in."""
        torque, side, sigma = told[Told.TORQUE], told[Told.SIDE], told[self._sigma]
        row, places = self._row, self._places
        fold_torques(self._work, row, regressor, self._columns, torque, side, sigma, first, last, *places, self.left)

    def judged(self, told: Array) -> tuple[float, float, float]:
        """Return the largest |ρ|, the least γ and the logarithm of how probable the hold was (:func:`.judge`)."""
        return judge(self.left, told[Told.SIDE], told[self._sigma])

    def use(self) -> None:
        """Use what was folded."""
        self._current, self._work = self._work, self._current
        self._learned = True
        solve(self._current, self.x)

    def keep(self) -> None:
        """Keep what is used for good."""
        if self._learned:
            self.committed, self._current = self._current, self.committed
        self._learned = False

    def remember(self, row: int, share: float) -> None:
        """Fold one row of the prior, of which so large a share was forgotten, in again."""
        if row < self.size:
            np.multiply(self.prior[row], math.sqrt(share), out=self._row)
            fold(self.committed, self._row)

    def solve(self) -> None:
        """Bring the estimate up to date with what is committed."""
        solve(self.committed, self.x)

    def covariance(self, gain_std: float) -> Array:
        """Return the covariance, shape (p, p), with the torque constants' errors of so large a standard deviation."""
        shift = gain_std * sensitivities(self.latest)
        return covariance_of(self.latest) + shift @ shift.T

    def variances(self, regressor: Array, gain_std: float) -> Array:
        """Return the variances of Y β, shape (…, n), for Y of shape (…, n, b)."""
        shift = regressor @ (gain_std * sensitivities(self.latest)[: regressor.shape[-1]])
        return np.asarray(self.std(self.latest, regressor) ** 2 + np.sum(shift**2, axis=-1))

    def std(self, factor: Array, regressor: Array) -> Array:
        """Return the standard deviation of Y β by a triangle, were the torque constants exact, shape (…, n)."""
        rows = np.zeros((*regressor.shape[:-1], self.size))
        rows[..., : regressor.shape[-1]] = regressor
        return standard_deviations(factor, rows)


WINDOW = 0.2
"""Time over which torques are averaged [s]."""
PASS_TIME = 0.05
"""What folding in all joints is spread over [s]; at high rates each tick folds one."""
REFRESH_TIME = 0.4
"""What folding in the prior again is spread over [s]: less than the arm takes to come to rest and WINDOW, so that it is
done before the next pass begins."""
LONGEST = 2.0
"""Without friction a hold is looked at again after this time [s]; it is learned from only if it surprises."""
GAIN_STD = 0.015
"""Standard deviation of a torque constant's relative error: drives are sold with 1 to 2 %."""
HOLD_SHARE = 0.002
"""First value of hold_i, as a share of the joint's effort limit ..."""
HOLD_RANGE = (0.5, 10.0)
"""... and within which multiples of it is learned."""
HOLD_RATE = 0.1
"""How fast hold_i is learned, per hold."""
EXCITATION = 0.1
"""A pass is thrown away where 1 − γ² stays below this for every joint."""
LIMP_WEIGHT = 10.0
"""Drives count as switched off where all torques are below HOLD_SHARE of their limit, and the weight is this many times
more at some joint."""
SURPRISE = 5.0
"""Innovation, in standard deviations, that makes the estimator doubt a hold, and forget faster if it is no error."""
ELSEWHERE = 0.1
"""A joint must have moved this far for another surprise to bear out the first [rad or m]."""
MEMORY = 0.99
"""What remains of the information of old data after one more learned hold ..."""
FLOOR = 0.5
"""... and at least after a surprise."""
LEAST_PRIOR = 0.5
"""No less than this share of the prior is ever left ..."""
REFRESH = 0.75
"""... and when less than this is, the rest is folded in again, at the end of the hold."""
BLEND = 0.2
"""Time over which the values in use follow the estimate [s]."""
FREE_ODDS = math.log(0.1 / 0.9)
"""Logarithm of the odds that an arm has no friction, beforehand ..."""
MOST_ODDS = 12.0
"""... and the largest there ever are, either way: friction may come and go."""
LEAST_WEIGHT = 1e-4
"""A belief of less probability is left out."""


class RecursiveGravity:
    """Learns gravity from held poses.

    Attributes:
        robot: The arm: its kinematics and mounting.
        states: The unknowns and what was known of them beforehand.
        learning: Whether new holds are learned from; may be set.
        holds: Number of holds that were learned from.
        frozen_holds: Number of holds that had nothing to teach.
        doubted_holds: Number of holds that contradicted what is known and were not learned from.
        rests: What gathers the rests that it learns from.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        prior: PriorChoice = "cad",
        offset: bool = True,
        friction: bool = True,
        gain_std: float = GAIN_STD,
        hold_noise: npt.ArrayLike | None = None,
        memory: float = MEMORY,
        band: float = BAND,
        rests: RestGatherer | None = None,
    ) -> None:
        """Start from a prior.

        Args:
            robot: The arm.
            dt: Time between two updates [s].
            prior: "cad" for the description's masses, "none", a calibration (Fit) or a Gaussian over β.
            offset: Estimate a constant torque per joint.
            friction: Estimate the dry friction that helps to hold each joint.
            gain_std: Standard deviation of the torque constants' relative errors; 0 where they are exact.
            hold_noise: First value of hold_i [N m or N], shape (n,) or one; None for HOLD_SHARE of the effort limits.
            memory: Share of the old data's information that one more hold leaves, FLOOR to 1.
            band: Change of position over 0.2 s up to which a joint stands [rad or m].
            rests: A gatherer that another estimator feeds, to be followed by :meth:`follow`; ``band`` is then its own.

        Raises:
            InputError: A value makes no sense, or the prior does not fit the robot.
        """
        if not FLOOR <= memory <= 1.0:
            raise InputError(f"memory is {memory!r}; expected a share from {FLOOR} to 1")
        if not 1e-6 <= band <= 0.1:
            raise InputError(f"band is {band!r}; expected a distance from 1e-6 to 0.1 [rad or m]")
        if not 0.0 <= gain_std <= 1.0:
            raise InputError(f"gain_std is {gain_std!r}; expected a share from 0 to 1")
        self.robot = robot
        self.states = states_of(robot, prior, offset=offset, friction=friction)
        self.learning = True
        self.holds = self.frozen_holds = self.doubted_holds = 0
        n = robot.n
        self._columns = np.array(robot.base_parameters.columns, dtype=np.int64)
        self._hold_start = first_noise(hold_noise, HOLD_SHARE * self.states.effort)
        self._hold = self._hold_start.copy()
        self._gain_std = float(gain_std)
        assumed = {"friction": friction, "gains": gain_std > 0.0}
        self._full = Belief(self.states, self._columns, n, **assumed)
        self._free = Belief(self.states, self._columns, n, **assumed | {"friction": False}) if friction else self._full
        self._beliefs = (self._full, self._free) if friction else (self._full,)
        self._odds = self._pass_odds = self._used_odds = FREE_ODDS
        self._friction_square = np.zeros(n)
        self._weigh_friction()
        self._prior_share, self._pass_prior_share = 1.0, 1.0
        self._refreshed, self._lost = self._full.size, 0.0
        self._told_rows, self._hold_left = np.zeros((len(Told), n)), np.zeros((2, n))
        self._step: Callable[[], None] | None = None
        self._joint = 0
        self._regressor = np.zeros((n, len(robot.gravity_parameters)))
        self.rests = RestGatherer(n, dt, band=band) if rests is None else rests
        self._means = Means(2 * n)
        self._sliding = Sliding(self.rests.follower, self.rests.reversal)
        self._forget = memory
        self._longest_slots = math.ceil(LONGEST / self.rests.period)
        self._window_slots = max(2, math.ceil(WINDOW / self.rests.period - 1e-9))
        self._rows_per_tick = max(1, math.ceil(n * dt / PASS_TIME))
        self._refresh_per_tick = max(1, math.ceil(self._full.size * dt / REFRESH_TIME))
        self._blend_ticks = max(1, math.ceil(BLEND / dt))
        self._values = np.zeros(len(robot.gravity_parameters))
        self._values[self._columns] = self.states.mean[: self.states.base]
        self._from, self._way, self._blend = self._values.copy(), np.zeros_like(self._values), 0
        self._fresh = True
        self._doubted_at: Array | None = None
        self._begin_segment()

    @property
    def standing(self) -> bool:
        """Whether the arm rests and its torques are being collected."""
        return self._means.count > 0

    @property
    def refused(self) -> int:
        """Number of samples that were flagged, missing or absurd."""
        return self.rests.refused

    @property
    def parameters(self) -> Array:
        """The latest estimate, in the order of ``states.names``, shape (p,)."""
        mean = np.zeros(self._full.size)
        for weight, belief in self._weighed():
            mean[: belief.size] += weight * belief.x
        return mean

    @property
    def covariance(self) -> Array:
        """Its covariance, shape (p, p)."""
        size, mean = self._full.size, self.parameters
        total = np.zeros((size, size))
        for weight, belief in self._weighed():
            apart = -mean
            apart[: belief.size] += belief.x
            total += weight * np.outer(apart, apart)
            total[: belief.size, : belief.size] += weight * belief.covariance(self._gain_std)
        return total

    @property
    def frictionless(self) -> float:
        """Probability that no friction holds the arm; 1 where it was declared so."""
        return 1.0 if self.states.friction_at < 0 else 1.0 / (1.0 + math.exp(-self._used_odds))

    @property
    def hold_noise(self) -> Array:
        """Standard deviation hold_i of what a held pose leaves unexplained, as learned [N m or N], shape (n,)."""
        return self._hold.copy()

    def update(self, q: npt.ArrayLike, dq: npt.ArrayLike, tau: npt.ArrayLike, flags: int = 0) -> None:
        """Take in one sample. It never raises for what was measured; what cannot be used is counted in ``refused``.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            tau: Torques of the actuators, link side [N m or N], shape (n,).
            flags: What the source knows to be wrong (SampleFlag).

        Raises:
            InputError: An array has the wrong shape or is missing.
        """
        self.rests.add(q, dq, tau, None, flags)
        self.follow()

    def follow(self) -> None:
        """Take in what the gatherer made of one more sample."""
        if self._refreshed < self._full.size:
            self._refresh(self._refresh_per_tick)
        self._blend_in()
        step = self._step
        if self.rests.slot_done:
            self._take_slot()
        if step is not None and step is self._step:  # it was not begun just now, and the hold has not ended
            self._step = None
            step()

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return the estimated gravity torques ĝ(q) [N m or N], shape (n,) or (k, n)."""
        return np.asarray(self.robot.gravity_regressor(q) @ self._values)

    def std(self, q: npt.ArrayLike) -> Array:
        """Return the standard deviation of ĝ(q) [N m or N], shape (n,) or (k, n)."""
        Y = self.robot.base_gravity_regressor(as_rows(q, "q", self.robot.joint_names))
        mean = self.parameters[: self.states.base]
        total = np.zeros(Y.shape[:-1])
        for weight, belief in self._weighed():
            apart = Y @ (belief.x[: self.states.base] - mean)
            total += weight * (belief.variances(Y, self._gain_std) + apart**2)
        return np.sqrt(total)

    def novelty(self, q: npt.ArrayLike) -> float | Array:
        """Return how far a pose is from what was learned: 0 near the data, 1 where nothing was.

        It is the largest share, over the joints, of the prior's standard deviation that is still there; a number, or
        shape (k,). Errors of the torque constants, which no data make smaller, do not count.
        """
        Y = self.robot.base_gravity_regressor(as_rows(q, "q", self.robot.joint_names))
        belief = max(self._weighed(), key=lambda pair: pair[0])[1]
        before, now = self._full.std(self._full.prior, Y), belief.std(belief.latest, Y)
        felt = before > 1e-9 * self.states.effort
        share = np.where(felt, now / np.where(felt, before, 1.0), 0.0).max(axis=-1)
        return float(share) if share.ndim == 0 else np.asarray(share)

    def _weighed(self) -> list[tuple[float, Belief]]:
        """Return the beliefs that count, with their probabilities."""
        free = self.frictionless
        pairs = [(1.0 - free, self._full), (free, self._free)] if len(self._beliefs) > 1 else [(1.0, self._full)]
        pairs = [(weight, belief) for weight, belief in pairs if weight > LEAST_WEIGHT]
        total = sum(weight for weight, _ in pairs)
        return [(weight / total, belief) for weight, belief in pairs]

    def _take_slot(self) -> None:
        """Collect the slot that the gatherer has judged, if the arm rests."""
        rests, means = self.rests, self._means
        if rests.phase != RestPhase.UNKNOWN:  # also while nothing is learned: the sides must be known afterwards
            self._sliding.note(rests.tau)
        if rests.phase != RestPhase.RESTS or not self.learning:
            if means.count:
                self._end_segment()
                self._fresh = True
            return
        means.add(rests.slot)
        if not self._told:
            if means.count >= self._window_slots:
                self._take_means()
        elif self._step is None and self.states.friction_at < 0 and means.count >= self._longest_slots:
            self._end_segment()
            self._fresh = False

    def _begin_segment(self) -> None:
        """Forget the means; keep what is known."""
        self._means.clear()
        self._step = None
        self._learned = self._told = self._same = self._doubted = False

    def _end_segment(self) -> None:
        """Keep what the hold taught, and be ready for the next one."""
        if self._learned:
            for belief in self._beliefs:
                belief.keep()
            self._prior_share, self._odds = self._pass_prior_share, self._pass_odds
            self.holds += 1
            if self._prior_share < REFRESH:
                self._refreshed, self._lost, self._prior_share = 0, 1.0 - self._prior_share, 1.0
            # A surprise is rather a change of the arm than a sign of noise, but if surprises do not end they are noise.
            most = 2.0 if self._surprised else 9.0
            relearn(self._hold, self._hold_start, self._hold_left, HOLD_RATE, most, *HOLD_RANGE)
            self._weigh_friction()
        elif self._doubted:
            self.doubted_holds += 1
        elif self._told and self._step is None:
            self.frozen_holds += 1
        self._begin_segment()

    def _weigh_friction(self) -> None:
        """Take the mean square of what friction may hold from what is known of it."""
        if self.states.friction_at >= 0:
            tail_variances(self._full.committed, self._friction_square)
            self._friction_square += self._full.x[self.states.friction_at :] ** 2

    def _refresh(self, rows: int) -> None:
        """Fold some rows of the prior that were forgotten in again; publish when all are in."""
        last = min(self._refreshed + rows, self._full.size)
        for row in range(self._refreshed, last):
            for belief in self._beliefs:
                belief.remember(row, self._lost)
        self._refreshed = last
        if last == self._full.size:
            for belief in self._beliefs:
                belief.solve()
            self._publish()

    def _take_means(self) -> None:
        """Take the means of the hold and their errors; begin anew where the drives do not carry the arm alone."""
        told, slid = self._told_rows, self._sliding.since_hold()
        side = np.where(slid, self.rests.follower.direction, 0.0)
        summarise(told, self._means, side, self._sliding.torque, self._friction_square, self._hold)
        if not bears_weight(self.robot, told[Told.POSE], told[Told.TORQUE]).all():
            self._means.clear()
            return
        self._told = self._first = True
        self._same = self.states.friction_at >= 0 and not slid.any()
        if self._same:
            return
        self._sliding.hold()
        self.robot.gravity_regressor(told[Told.POSE], self._regressor)
        self._doubted = self._limp()
        if not self._doubted:
            self._step = self._begin_first

    def _limp(self) -> bool:
        """Say whether drives carry nothing although there is weight: brakes, or somebody, hold the arm."""
        nothing = HOLD_SHARE * self.states.effort
        switched_off = np.all(np.abs(self._told_rows[Told.TORQUE]) < nothing)
        return bool(switched_off and np.any(np.abs(self._regressor @ self._values) > LIMP_WEIGHT * nothing))

    def _begin_first(self) -> None:
        self._begin_pass(self._forget)

    def _begin_pass(self, forget: float) -> None:
        """Begin to fold the means into what was known before the hold, of which a share is kept."""
        if self._refreshed < self._full.size:
            self._refresh(self._full.size)
        kept = max(forget, LEAST_PRIOR / self._prior_share)
        for belief in self._beliefs:
            belief.begin(kept)
        self._pass_prior_share = kept * self._prior_share
        self._joint = 0
        self._step = self._fold

    def _fold(self) -> None:
        """Fold some joints' torques in."""
        first, last = self._joint, min(self._joint + self._rows_per_tick, self.robot.n)
        for belief in self._beliefs:
            belief.fold(self._told_rows, self._regressor, first, last)
        self._joint = last
        if last < self.robot.n:
            self._step = self._fold
        else:
            self._step = self._judge if self._first else self._use

    def _judge(self) -> None:
        """Use the pass if it teaches anything."""
        told = self._told_rows
        largest, least_kept, evidence = self._full.judged(told)
        surprised = self._surprised = largest > SURPRISE
        if surprised:
            pose = told[Told.POSE]
            self._doubted = self._doubted_at is None or bool(np.abs(pose - self._doubted_at).max() < ELSEWHERE)
            if self._doubted_at is None:
                self._doubted_at = pose.copy()
            elif not self._doubted:
                self._doubted_at = np.full(self.robot.n, np.inf)  # borne out: no pose is near, all may be learned
        else:
            self._doubted_at = None
        excited = 1.0 - least_kept**2 > EXCITATION
        if self._doubted or not (surprised or (excited and self._fresh)):
            return
        self._pass_odds = self._odds
        if not surprised and len(self._beliefs) > 1:  # a contradiction is a change of the arm, no sign of friction
            odds = self._forget * self._odds + self._free.judged(told)[2] - evidence
            self._pass_odds = min(max(odds, -MOST_ODDS), MOST_ODDS)
        self._hold_left[:] = (self._free if self._pass_odds > 0.0 else self._full).left
        self._first = False
        if surprised and self.holds > 0:
            self._begin_pass(FLOOR)  # once more, with less belief in the old data
        else:
            self._use()

    def _use(self) -> None:
        """Use the pass."""
        for belief in self._beliefs:
            belief.use()
        self._used_odds = self._pass_odds
        self._learned = True
        self._publish()

    def _blend_in(self) -> None:
        """Let the values in use follow the estimate by one tick."""
        if self._blend:
            self._blend -= 1
            np.multiply(self._way, 1.0 - self._blend / self._blend_ticks, out=self._values)
            np.add(self._values, self._from, out=self._values)

    def _publish(self) -> None:
        """Let the values in use follow the estimate."""
        self._from[:] = self._values
        head(self._values, self._way, self._columns, self._full.x, self._free.x, self.frictionless)
        self._blend = self._blend_ticks
