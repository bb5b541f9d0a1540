r"""The recursive estimator: base gravity parameters, offsets and friction from held poses, with a standard deviation.

At a held pose the torques of the joints are

    τ_i = Y_i(q) β + offset_i + side_i friction_i + e_i

with side_i the side from which joint i came. While the arm stands, e_i does not change: it is what friction really
holds, not noise. A thousand samples of one pose are therefore **one** measurement, of standard deviation
√(hold_i² + scatter_i²/N), and the estimator counts holds, not samples:

- after SETTLE the torques of a hold are averaged over WINDOW and folded into a copy of what was known before
  (square_root.py), one joint per tick or so, so that no tick is long. What is known is replaced when all joints are in;
- then the hold has told all it can. Where friction holds, the torque of an arm that stands says nothing more: it
  follows whatever a controller adds, the learned ĝ first of all, and friction makes up for it. Only where friction is
  declared absent is a longer hold looked at again, every LONGEST;
- a joint that stuck while its torque changed is not held by its whole friction any more: by how much the torque differs
  from that of its last sliding is an error of the measurement. Where that is much, or the joint has not slid at all
  since the hold before, any part of its friction may hold it, on either side, and its torque counts with that error;
- a pass in which every joint's torque was known beforehand to a third of the measurement's own error teaches nothing
  and is thrown away: without excitation the estimator stands still (γ² of square_root.py), unless it is surprised;
- a hold that contradicts what is known by five standard deviations is doubted: somebody may lean on the arm, its brakes
  may hold it while its drives are off. It is learned from only if the next hold, ELSEWHERE, contradicts as well. A hold
  at which no drive carries anything although there is weight is never learned from;
- old data are forgotten by 1 % per learned hold, and faster, but never below FLOOR, when a contradiction is learned: a
  load was attached, a cable added. The prior is not forgotten, so that the covariance stays bounded by twice the
  prior's;
- hold_i is learned from the innovations, each weighed by how much of it was foreseen.

The values that :meth:`gravity` uses follow the estimate over BLEND, so that a controller that adds them sees no step.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.inputs import as_rows
from ..dynamics.robot import Robot
from ..errors import InputError
from .gate import BAND, UNUSABLE, Row, Seen, fresh_memory, thresholds
from .gravity_prior import PriorChoice, states_of
from .kernel import fold, fold_torque, solve, watch
from .square_root import covariance_of, factor_of, standard_deviations

SETTLE = 0.3
"""Time cut off at the beginning of a hold [s]: drives and gears come to rest after the joint does."""
WINDOW = 0.2
"""Time over which torques are averaged [s]."""
PASS_TIME = 0.02
"""What folding in all joints is spread over [s]."""
LONGEST = 2.0
"""Without friction a hold is looked at again after this time [s]; it is learned from only if it surprises."""
HOLD_SHARE = 0.002
"""First value of hold_i, as a share of the joint's effort limit ..."""
HOLD_RANGE = (0.5, 10.0)
"""... and within which multiples of it is learned."""
HOLD_RATE = 0.1
"""How fast hold_i is learned, per hold."""
LET_GO = 0.5
"""A joint whose torque has changed by this share of its friction since it slid may be held from either side."""
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


class RecursiveGravity:
    """Learns gravity from held poses.

    Attributes:
        robot: The arm: its kinematics and mounting.
        states: The unknowns and what was known of them beforehand.
        learning: Whether new holds are learned from; may be set.
        holds: Number of holds that were learned from.
        frozen_holds: Number of holds that had nothing to teach.
        doubted_holds: Number of holds that contradicted what is known and were not learned from.
        refused: Number of samples that were flagged, missing or absurd.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        prior: PriorChoice = "cad",
        offset: bool = True,
        friction: bool = True,
        hold_noise: npt.ArrayLike | None = None,
        memory: float = MEMORY,
        band: float = BAND,
    ) -> None:
        """Start from a prior.

        Args:
            robot: The arm.
            dt: Time between two updates [s].
            prior: "cad" for the description's masses, "none", a calibration (Fit) or a Gaussian over β.
            offset: Estimate a constant torque per joint.
            friction: Estimate the dry friction that helps to hold each joint.
            hold_noise: First value of hold_i [N m or N], shape (n,) or one; None for HOLD_SHARE of the effort limits.
            memory: Share of the old data's information that one more hold leaves, FLOOR to 1.
            band: How far a standing joint may wander [rad or m].

        Raises:
            InputError: A value makes no sense, or the prior does not fit the robot.
        """
        if not FLOOR <= memory <= 1.0:
            raise InputError(f"memory is {memory!r}; expected a share from {FLOOR} to 1")
        if not 1e-6 <= band <= 0.1:
            raise InputError(f"band is {band!r}; expected a distance from 1e-6 to 0.1 [rad or m]")
        self.robot = robot
        self.states = states_of(robot, prior, offset=offset, friction=friction)
        self.learning = True
        self.holds = self.frozen_holds = self.doubted_holds = self.refused = 0
        n, p = robot.n, len(self.states.names)
        self._columns = np.array(robot.base_parameters.columns, dtype=np.int64)
        self._hold_start = _noise(hold_noise, HOLD_SHARE * self.states.effort)
        self._hold = self._hold_start.copy()
        # Friction torques come last, so the last diagonal block is theirs.
        self._unknown_side = np.diag(self.states.covariance)[-n:] if self.states.friction_at >= 0 else np.zeros(n)
        self._prior = factor_of(self.states.mean, self.states.covariance)
        self._committed, self._current, self._work = (self._prior.copy() for _ in range(3))
        self._prior_share, self._pass_prior_share = 1.0, 1.0
        self._row, self._x = np.zeros(p + 1), np.array(self.states.mean)
        self._regressor = np.zeros((n, len(robot.gravity_parameters)))
        self._innovation, self._kept = np.zeros(n), np.ones(n)
        self._memory, self._limits = fresh_memory(robot), thresholds(band=band)
        self._forget = memory
        self._settle_ticks, self._longest_ticks = math.ceil(SETTLE / dt), math.ceil(LONGEST / dt)
        self._window_ticks = max(2, math.ceil(WINDOW / dt))
        self._rows_per_tick = max(1, math.ceil(n * dt / PASS_TIME))
        self._blend_ticks = max(1, math.ceil(BLEND / dt))
        self._values = np.zeros(len(robot.gravity_parameters))
        self._values[self._columns] = self._x[: self.states.base]
        self._from, self._way, self._blend = self._values.copy(), np.zeros_like(self._values), 0
        self._standing = 0
        self._fresh = True
        self._slid_from = np.full(n, np.nan)
        self._doubted_at: Array | None = None
        self._hold_at = np.zeros(n)
        self._begin_segment()

    @property
    def standing(self) -> bool:
        """Whether the arm stands and its torques are being collected."""
        return self._standing > self._settle_ticks

    @property
    def parameters(self) -> Array:
        """The latest estimate, in the order of ``states.names``, shape (p,)."""
        return self._x.copy()

    @property
    def covariance(self) -> Array:
        """Its covariance, shape (p, p)."""
        return covariance_of(self._latest)

    @property
    def hold_noise(self) -> Array:
        """Standard deviation hold_i of what a held pose leaves unexplained, as learned [N m or N], shape (n,)."""
        return self._hold.copy()

    def update(self, q: Array, dq: Array, tau: Array, flags: int = 0) -> None:
        """Take in one sample. It never raises for what was measured; what cannot be used is counted in ``refused``.

        Args:
            q: Positions [rad or m], shape (n,), float64.
            dq: Velocities [rad/s or m/s], shape (n,), float64.
            tau: Torques of the actuators, link side [N m or N], shape (n,), float64.
            flags: What the source knows to be wrong (logs.sample.SampleFlag).
        """
        if flags & UNUSABLE:
            self._follow()
            self.refused += 1
            return
        # Watched even while nothing is learned: the side from which a joint comes must be known afterwards. It may
        # refuse the arrays, so nothing is changed before.
        collect = self.learning and self._standing >= self._settle_ticks
        seen = watch(self._memory, q, dq, tau, self._limits, collect)
        self._follow()
        if not self.learning:
            if self._standing:
                self._end_segment()
                self._standing, self._fresh = 0, True
        elif seen == Seen.STILL:
            self._standing += 1
            if self._standing > self._settle_ticks:
                self._collected += 1
                self._advance()
        elif seen == Seen.MOVED:
            self._end_segment()
            self._standing, self._fresh = 0, True
        elif seen == Seen.INVALID:
            self.refused += 1

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return the estimated gravity torques ĝ(q) [N m or N], shape (n,) or (k, n)."""
        return np.asarray(self.robot.gravity_regressor(q) @ self._values)

    def std(self, q: npt.ArrayLike) -> Array:
        """Return the standard deviation of ĝ(q) [N m or N], shape (n,) or (k, n)."""
        return self._std(self._latest, q)

    def novelty(self, q: npt.ArrayLike) -> float | Array:
        """Return how far a pose is from what was learned: 0 near the data, 1 where nothing was.

        It is the largest share, over the joints, of the prior's standard deviation that is still there; a number, or
        shape (k,).
        """
        before, now = self._std(self._prior, q), self.std(q)
        felt = before > 1e-9 * self.states.effort
        share = np.where(felt, now / np.where(felt, before, 1.0), 0.0).max(axis=-1)
        return float(share) if share.ndim == 0 else np.asarray(share)

    @property
    def _latest(self) -> Array:
        return self._current if self._learned else self._committed

    def _std(self, factor: Array, q: npt.ArrayLike) -> Array:
        poses = as_rows(q, "q", self.robot.joint_names)
        Y = self.robot.base_gravity_regressor(poses)
        rows = np.zeros((*Y.shape[:-1], len(factor)))
        rows[..., : self.states.base] = Y
        return standard_deviations(factor, rows)

    def _begin_segment(self) -> None:
        """Forget the sums; keep what is known."""
        self._memory[Row.SUM_Q : Row.SUM_SQUARE + 1] = 0.0
        self._collected = 0
        self._joint = -1
        self._learned = self._told = self._doubted = False

    def _end_segment(self) -> None:
        """Keep what the hold taught, and be ready for the next one."""
        if self._learned:
            self._committed, self._current = self._current, self._committed
            self._prior_share = self._pass_prior_share
            self.holds += 1
            if self._prior_share < REFRESH:
                for row in self._prior * math.sqrt(1.0 - self._prior_share):
                    fold(self._committed, row)
                self._prior_share = 1.0
                self._publish(self._committed)
            # E ρ² is 1 if hold_i is right; only the share γ² of it that was foreseen tells. A surprise is rather a
            # change of the arm than a sign of noise, but if surprises do not end they are noise.
            most = 2.0 if self._surprised else 9.0
            ratio = np.minimum(self._hold_innovation**2, most) - 1.0
            change = np.sqrt(1.0 + HOLD_RATE * self._hold_kept**2 * ratio)
            low, high = HOLD_RANGE
            self._hold = np.clip(self._hold * change, low * self._hold_start, high * self._hold_start)
            if self.states.friction_at >= 0:
                at = self.states.friction_at
                root = np.linalg.inv(self._committed[at:, at:-1])
                self._unknown_side = self._x[at:] ** 2 + np.sum(root**2, axis=1)
        elif self._doubted:
            self.doubted_holds += 1
        elif self._told and self._joint < 0:
            self.frozen_holds += 1
        if self._told:
            self._slid_from[:] = self._memory[Row.FOLLOWER]
        self._begin_segment()

    def _advance(self) -> None:
        """Do one tick's share of a hold."""
        if self._joint >= 0:
            for _ in range(self._rows_per_tick):
                if not self._fold_next():
                    return
        elif not self._told:
            if self._collected >= self._window_ticks:
                self._take_means()
                if not self._doubted:
                    self._begin_pass(self._forget)
        elif self.states.friction_at < 0 and self._collected >= self._longest_ticks:
            self._end_segment()
            self._fresh = False

    def _take_means(self) -> None:
        """Take the means of the hold and their errors."""
        memory, count = self._memory, self._collected
        mean = memory[Row.SUM_TAU] / count
        scatter = np.maximum(memory[Row.SUM_SQUARE] / count - mean * mean, 0.0) / count
        slid = ~(np.abs(memory[Row.FOLLOWER] - self._slid_from) <= self._limits[-1])
        changed = (mean - memory[Row.SLIDING]) ** 2
        side = np.where(slid & (changed < LET_GO**2 * self._unknown_side), memory[Row.DIRECTION], 0.0)
        variance = self._hold**2 + scatter + np.where(side == 0.0, self._unknown_side, changed)
        self._hold_at = memory[Row.ANCHOR] + memory[Row.SUM_Q] / count
        self.robot.gravity_regressor(self._hold_at, self._regressor)
        self._torque, self._side, self._sigma = mean.tolist(), side.tolist(), np.sqrt(variance).tolist()
        self._told = self._first = True
        # Drives that carry nothing although there is weight: the arm is held by its brakes, or by somebody.
        nothing = HOLD_SHARE * self.states.effort
        weight = np.abs(self._regressor @ self._values)
        self._doubted = bool(np.all(np.abs(mean) < nothing) and np.any(weight > LIMP_WEIGHT * nothing))

    def _begin_pass(self, forget: float) -> None:
        """Begin to fold the means into what was known before the hold, of which a share is kept."""
        kept = max(forget, LEAST_PRIOR / self._prior_share)
        np.multiply(self._committed, math.sqrt(kept), out=self._work)
        self._pass_prior_share = kept * self._prior_share
        self._joint = 0

    def _fold_next(self) -> bool:
        """Fold one row; say whether the pass goes on."""
        joint, states = self._joint, self.states
        self._innovation[joint], self._kept[joint] = fold_torque(
            self._work,
            self._row,
            self._regressor,
            self._columns,
            joint,
            self.robot.n,
            self._side[joint],
            self._torque[joint],
            self._sigma[joint],
            states.offset_at,
            states.friction_at,
        )
        self._joint += 1
        if self._joint < self.robot.n:
            return True
        self._joint = -1
        self._finish_pass()
        return False

    def _finish_pass(self) -> None:
        """Use the pass if it teaches anything."""
        if self._first:
            surprised = self._surprised = bool(np.abs(self._innovation).max() > SURPRISE)
            excited = bool(1.0 - np.square(self._kept).min() > EXCITATION)
            if surprised:
                self._doubted = self._doubted_at is None or bool(
                    np.abs(self._hold_at - self._doubted_at).max() < ELSEWHERE
                )
                if self._doubted_at is None:
                    self._doubted_at = self._hold_at
                elif not self._doubted:
                    self._doubted_at = np.full(self.robot.n, np.inf)  # borne out: no pose is near, all may be learned
            else:
                self._doubted_at = None
            if self._doubted or not (surprised or (excited and self._fresh)):
                return
            self._hold_innovation, self._hold_kept = self._innovation.copy(), self._kept.copy()
            self._first = False
            if surprised and self.holds > 0:
                self._begin_pass(FLOOR)  # once more, with less belief in the old data
                return
        self._current, self._work = self._work, self._current
        self._learned = True
        self._publish(self._current)

    def _follow(self) -> None:
        """Let the values in use follow the estimate by one tick."""
        if self._blend:
            self._blend -= 1
            np.multiply(self._way, 1.0 - self._blend / self._blend_ticks, out=self._values)
            np.add(self._values, self._from, out=self._values)

    def _publish(self, factor: Array) -> None:
        """Solve a triangle and let the values in use follow it."""
        solve(factor, self._x)
        self._from[:] = self._values
        self._way[self._columns] = self._x[: self.states.base]
        self._way -= self._from
        self._blend = self._blend_ticks


def _noise(given: npt.ArrayLike | None, usual: Array) -> Array:
    if given is None:
        return np.array(usual)
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), usual.shape) or not np.all(np.isfinite(values) & (values > 0.0)):
        raise InputError(f"hold_noise has shape {values.shape}; expected positive numbers, one or {len(usual)}")
    return np.broadcast_to(values, usual.shape).copy()
