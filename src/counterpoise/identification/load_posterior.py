"""What is known of the efforts that hold an arm: weight, springs and counterbalances, model error counted in.

How it is found: posterior_search.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..fitting import CERTAIN, Choice, EffortModel, at_rest, tilt_axes
from ..foundation import Array
from .nuisances import GAIN, OFFSET, SIZES, STAND_FOR, Nuisances

TAIL = 0.05
"""Probability that a gravity error is larger than stated."""
LEANS = 5.0
"""A stated error is at least the one by nearly the data alone over this. Where a recording leaves gravity and offsets
open, the description decides, and its errors have longer tails than any prior: with one wrong gain, the masses of a
joint's neighbours say nothing about it."""
UNEXPLAINED = 1.2
"""Unexplained part of a joint's efforts over their own variation, from which on they contradict the fit: a constant
would explain them better. Their joint's load then comes from the description and other joints, against its own data."""
TILT = "tilt"
"""Kind of the nuisance that all joints share: a tilt of the base."""


@dataclass(frozen=True, eq=False)
class LoadPosterior:
    """What the data and the description say about the efforts at rest; a joints have a measured effort.

    Attributes:
        nuisances: The model, its first estimate, and the columns beside it.
        start: Where the model's unknowns start, shape (p,).
        mean: Of [x − start, tilt, own unknowns of each joint], shape (p + 2 + a d,).
        covariance: Of the same.
        widened: Factor on every joint's standard deviation for few samples and for contradictions, shape (a,).
        elsewhere: The same where the arm was not, shape (a,): there it also counts how far the estimate hangs on single
            stretches of the recording, even where that was to be expected.
        shown: Nuisances that the data show: places among the active joints, and kinds; TILT has the place −1.
        weak: Those of them that do not show enough to become part of the model.
        weights: How likely each weight of the prior is after the data; empty without prior.
        earlier_speaks: Log evidence that an earlier calibration belongs to this arm; NaN without one.
        earlier_change: How far that calibration moves the efforts that hold the arm, root mean square, shape (a,); NaN
            without one.
        autocorrelation_time: Samples that count as one, shape (c,): of the motion of every joint, then of its poses at
            rest, where both were fitted.
        noise: Unexplained part of one sample's effort, shape (c,).
        freedom: Effective samples that are left over the fitted numbers, shape (c,).
        poses: Recorded poses that stand for the calibrated range [rad or m], shape (m, n).
        fitted: Mean without the nuisances that act at rest and that the model lacks: it takes them for weight, shape as
            ``mean``.
        carried: What the model's own friction, rotors, offsets and springs take over of the other nuisances that do not
            act at rest, and of the harmonics of springs, as they suit the recording best: changes of [x, tilt, own
            unknowns] by own unknowns, shape (p + 2 + a d, p + 2 + a d).
        apart: How far poses at rest and motion contradict each other at every joint's load, over what their
            uncertainties let expect, shape (a,); zero where only one of them was fitted.
        tilted: How far a tilt of the base that explains the data as well as none would move every joint's load, root
            mean square over the recorded poses, shape (a,); zeros where the data speak against one.
        free: Deviation of every joint's load by nearly the data alone: errors of the description ten times the
            likeliest, large offsets; root mean square over the recorded poses, shape (a,).
    """

    nuisances: Nuisances
    start: Array
    mean: Array
    covariance: Array
    widened: Array
    elsewhere: Array
    shown: Choice
    weak: Choice
    weights: Array
    earlier_speaks: float
    earlier_change: Array
    autocorrelation_time: Array
    noise: Array
    freedom: Array
    poses: Array
    fitted: Array
    carried: Array
    apart: Array
    tilted: Array
    free: Array

    @property
    def model(self) -> EffortModel:
        """The model."""
        return self.nuisances.model

    @property
    def springs(self) -> list[int]:
        """Places (among the active joints) whose springs or counterbalances the data show well."""
        return sorted(place for place, kind in self.shown - self.weak if kind == "position")

    @property
    def leans(self) -> bool:
        """Whether the data show a tilt of the base well enough for it to be part of the model."""
        return (-1, TILT) in self.shown - self.weak

    def load(self, q: Array, *, offsets: bool = False) -> tuple[Array, Array]:
        """Return the efforts that hold the arm, and their standard deviations, shapes (k, a).

        Where a spring or counterbalance was found, its constant part and an offset are one: the deviation there is that
        of both together.

        Args:
            q: Poses [rad or m], shape (k, n).
            offsets: Whether constant offsets are part of it.
        """
        rows, means = self.rows(q)
        deviations = np.empty(means.shape)
        for joint in range(means.shape[1]):
            wide = self.placed(rows, joint, offset=offsets)
            means[:, joint] += wide @ self.mean
            if joint in self.springs and not offsets:
                wide = self.placed(rows, joint, offset=True)
            variance = self.widened[joint] ** 2 * np.maximum(np.sum((wide @ self.covariance) * wide, axis=1), 0.0)
            drifting = self._drifting(rows, joint)
            deviations[:, joint] = np.sqrt(variance + np.sum(drifting**2, axis=1))
        return means, deviations

    def deviation_of(self, q: Array, efforts: Array, *, offsets: bool = False) -> Array:
        """Return how far given holding efforts may be off, one standard deviation, shape (k, a).

        Args:
            q: Poses [rad or m], shape (k, n).
            efforts: What holds the arm, shape (k, a).
            offsets: Whether constant offsets are part of it.
        """
        mean, deviation = self.load(q, offsets=offsets)
        away = efforts - mean
        if not offsets and self.springs:
            # The constant part of a spring is an offset as well: it is no error of the load.
            away[:, self.springs] -= away[:, self.springs].mean(axis=0)
        return np.asarray(np.hypot(deviation, away))

    def error_of(self, q: Array, efforts: Array) -> Array:
        """Return how far given holding efforts may be off (95 %), root mean square over poses, shape (a,).

        With d the distance of the efforts from the mean and C the covariance of the mean over m poses, the sum of
        squares of the error has the cumulants 2ᵏ⁻¹ (k − 1)! c_k with c_k = tr Cᵏ + k dᵀCᵏ⁻¹d. It is distributed nearly
        as c₁ + √(c₂/h) (χ² − h), χ² of h = c₂³/c₃² degrees of freedom, which has the same mean, variance and skewness
        (Pearson's approximation, [Imhof1961]): errors that differ from pose to pose average out, those that all poses
        share do not. What a tilt of the base could do, for which the data speak as well as against it, comes on top:
        it has no distribution. The description makes it at most LEANS times smaller than nearly the data alone do.
        Where a joint's own efforts contradict its load, it is what they leave unexplained.

        Args:
            q: Poses [rad or m], shape (m, n).
            efforts: What holds the arm there, offsets apart, shape (m, a).
        """
        from scipy.special import chdtri  # type: ignore[import-untyped]

        rows, means = self.rows(q)
        found = np.empty(means.shape[1])
        for joint in range(means.shape[1]):
            spring = joint in self.springs
            away = efforts[:, joint] - means[:, joint] - self.placed(rows, joint, offset=False) @ self.mean
            away -= np.mean(away) if spring else 0.0
            wide = self.placed(rows, joint, offset=spring)
            drifting = self._drifting(rows, joint)
            covariance = self.widened[joint] ** 2 * (wide @ self.covariance @ wide.T) + drifting @ drifting.T
            pulled = covariance @ away
            first = float(np.trace(covariance) + away @ away)
            second = float(np.sum(covariance**2) + 2.0 * away @ pulled)
            third = float(np.sum((covariance @ covariance) * covariance) + 3.0 * pulled @ pulled)
            bound = first
            if third > 0.0:
                freedom = second**3 / third**2
                bound += np.sqrt(second / freedom) * (chdtri(freedom, TAIL) - freedom)
            found[joint] = np.sqrt(max(bound, 0.0) / len(q)) + self.tilted[joint]
        unexplained, variation = self.noise[: len(found)], self.nuisances.extent.variation[self.model.active]
        contradicted = np.where(unexplained > UNEXPLAINED * variation, unexplained, 0.0)
        return np.maximum(np.maximum(found, CERTAIN * self.free / LEANS), contradicted)

    def exported(self, model: EffortModel) -> tuple[Array, Array]:
        """Return the estimate as numbers of a model, and their covariance, shapes (p',) and (p', p').

        Args:
            model: The model that was fitted, or that with the springs, counterbalances and the tilt that show.
        """
        turn = self._to_columns(model)
        start = model.start()
        start[[model.names.index(name) for name in self.model.names]] = self.start
        return start + turn @ self.fitted, turn @ self.covariance @ turn.T

    def _to_columns(self, model: EffortModel) -> Array:
        """Return T with x' = start + T mean, shape (p', ·)."""
        own, width = self.model, len(self.nuisances.kinds)
        turn = np.zeros((len(model.names), len(self.mean)))
        turn[[model.names.index(name) for name in own.names], np.arange(len(own.names))] = 1.0
        if self.leans:
            at_tilt = model.groups["tilt"]
            turn[at_tilt, len(own.names) : len(own.names) + 2] += np.eye(2)
        half, centre = self.nuisances.half_range, self.nuisances.extent.centre
        for place, joint in enumerate(np.flatnonzero(model.active).tolist()):
            first = len(own.names) + 2 + place * width
            name, weight = model.robot.joint_names[joint], self.nuisances.weight[joint]
            parts = [part for part in ("offset", *STAND_FOR) if f"{name}.{part}" in model.names]
            at = {part: model.names.index(f"{name}.{part}") for part in parts}
            constant = np.zeros(len(self.mean))
            constant[first + OFFSET] = self.nuisances.offset[joint]
            if place in self.springs:
                sizes = (weight / half[joint], weight, weight)
                for step, (part, size) in enumerate(zip(STAND_FOR, sizes, strict=True)):
                    if part in at:
                        turn[at[part], first + step] += size
                        constant[first + step] = -size * centre[step, joint]
            if "offset" in at:
                turn[at["offset"]] += constant
        return turn + turn @ self.carried

    def rows(self, q: Array) -> tuple[Array, Array]:
        """Return the loads' derivatives by [x, tilt, what acts at rest], (k, a, ·), and the start's loads."""
        model, x = self.model, self.nuisances.x
        rest = replace(at_rest(model.robot, q), tau=np.zeros(q.shape))
        rows, shift = model.rows(rest, x)
        bodies = rows[:, :, model.groups["bodies"]] @ x[model.groups["bodies"]]
        rows[:, :, model.groups["offset"]] = 0.0
        start = rows @ self.start - shift
        return np.concatenate([rows, tilt_columns(model, x, q), self.nuisances.at_rest(q, bodies)], axis=2), start

    def _drifting(self, rows: Array, joint: int) -> Array:
        """Return by how much a load drifts in the recording, root mean square, one column a kind of drift, (k, ·).

        A drift is zero in the middle of a recording and grows evenly to both ends: 1/√3 of its size there. What is
        expected of any recording does not count.
        """
        p, width = len(self.model.names) + 2, len(self.nuisances.kinds)
        at = [p + joint * width + place for place, kind in enumerate(self.nuisances.kinds) if kind == "drift"]
        if not at:
            return np.zeros((len(rows), 0))
        bodies = rows[:, joint, p + GAIN]
        weight = np.full(len(rows), self.nuisances.weight[self.model.active][joint])
        squares = self.mean[at] ** 2 + np.diag(self.covariance)[at] - SIZES["drift"].least ** 2
        size = np.sqrt(np.maximum(squares, 0.0) / 3.0)
        return np.stack([weight, bodies], axis=1) * size

    def placed(self, rows: Array, joint: int, *, offset: bool) -> Array:
        """Return a joint's rows among all unknowns, shape (k, ·)."""
        p, width = len(self.model.names) + 2, len(self.nuisances.kinds)
        wide = np.zeros((len(rows), len(self.mean)))
        wide[:, :p] = rows[:, joint, :p]
        count = OFFSET + offset
        first = p + joint * width
        wide[:, first : first + count] = rows[:, joint, p : p + count]
        return wide


def tilt_columns(model: EffortModel, x: Array, q: Array) -> Array:
    """Return the derivatives of the described gravity efforts by a tilt about two axes [per rad], shape (k, a, 2)."""
    robot = model.robot
    if not np.any(robot.gravity_base):
        return np.zeros((len(q), len(model.joint_names), 2))
    # Torques are linear in gravity: its change by a small turn takes its own place.
    slopes = [np.cross(robot.gravity_base, axis) for axis in tilt_axes(robot)]
    found = [robot.mounted(rotation=np.eye(3), gravity=slope).gravity(q) * model.gains(x) for slope in slopes]
    return np.stack(found, axis=2)[:, model.active]
