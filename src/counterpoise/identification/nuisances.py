"""What a fitted model leaves out: torques that real drives have and that can be mistaken for weight.

They are columns of every joint by itself, in the unit of its effort, each of the size that is usual (hierarchical.py
finds the size that the data show):

- position: q, cos q, sin q: springs, counterbalances, cables. What of them is found holds the arm as gravity does;
- harmonic: higher harmonics of the joint's own angle: the shape of a spring or cable that is not quite one of these.
  Only where a spring shows;
- gain: the rigid-body torque itself: a drive whose torque is a few per cent off;
- offset: a constant, and where that is asked for another one for every further recording;
- hidden offset: a constant at a joint whose weight is one as well, so that no recording distinguishes them. The weight
  stands for both;
- friction: what Coulomb and viscous friction do not describe. It may grow with the load, change along the way, be
  larger at low speed (Stribeck), grow with the root of the speed, differ between the directions, change with time, or
  build up over a way of 10 or 30 mrad ([Dahl1968]);
- rest: friction that poses at rest show beside a motion: it may have relaxed, or be larger than that of the motion;
- unseen: the friction of a joint that moves one way only, or not at all: there it is a constant, as an offset is;
- drift: an offset or a gain that changes from the beginning of a recording to its end.

None of them is a law that is fitted for its own sake: they say how much of what looks like weight could be something
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..dynamics import rotary
from ..fitting import EffortModel, Samples, Size
from ..foundation import Array
from .fitted_recordings import HARMONICS, Extent, waves
from .workspace import separable_offsets

SIZES = {
    "position": Size(0.01, 0.5, free=False),
    "harmonic": Size(1e-5, 0.1, free=False),
    "gain": Size(0.02, 0.3, free=False),
    "offset": Size(1.0, 5.0, free=True, alike=True),
    "run offset": Size(1.0, 5.0, free=True),
    "hidden offset": Size(1.0, 1.0, free=False),
    "friction": Size(0.10, 0.5, free=True),
    "rest": Size(0.10, 0.5, free=True),
    "unseen": Size(1.5, 2.0, free=True),
    "drift": Size(0.02, 0.1, free=False),
}
"""Sizes of the kinds: of the joint's weight (position, gain, drift), of its usual offset, of its friction."""
STAND_FOR = ("spring", "cosine", "sine")
"""Quantities of the model that columns of kind "position" stand for: q, cos q and sin q about their means."""
POSITION = len(STAND_FOR)
"""Columns of kind "position"."""
HARMONIC = 2 * len(HARMONICS)
"""Columns of kind "harmonic": cosine and sine of each about their means. They follow those of kind "position"."""
GAIN = POSITION + HARMONIC
"""Place of a joint's gain among its columns ..."""
OFFSET = GAIN + 1
"""... and of its offset, the last one that acts at rest."""
OFFSET_OF_FRICTION = 0.3
"""Usual offset, as a share of friction (it differs between the directions) ..."""
OFFSET_OF_EFFORT = 0.03
"""... and of the effort."""
LEAST_WEIGHT = 0.3
"""Weight that a joint is taken to carry at least for these sizes, as a share of its effort."""
LEAST_RANGE = 0.05
"""Half of the range that a joint is taken to have at least [rad or m]: a spring does not show in less."""
UNSEEN_FRICTION = 0.1
"""Usual friction of a joint that does not reverse, as a share of its effort. Where that of other joints shows, it is
taken to be as large a share of the effort limit as theirs, if that is more."""
PRESLIDING = (0.01, 0.03)
"""Ways over which friction builds up [rad or m]."""
SLOW = 0.3
"""Speed over which Stribeck friction vanishes, as a share of the usual speed."""


@dataclass(frozen=True, eq=False)
class Nuisances:
    """The columns for one fit; a joints have a measured effort.

    Attributes:
        model: The model that is fitted.
        x: A first estimate of it, shape (p,).
        extent: What was recorded.
        friction: Usual friction of every joint in the unit of its effort, shape (n,); 0 where it has no direction.
        moving: Whether the samples are of a motion.
        own_offsets: Whether every run has an offset of its own.
        rests: Whether there are poses at rest beside the motion.
    """

    model: EffortModel
    x: Array
    extent: Extent
    friction: Array
    moving: bool
    own_offsets: bool = False
    rests: bool = False

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each of the d columns."""
        frictions = 6 + len(PRESLIDING) + 1 if self.moving else 3 if self.friction.any() else 0
        drifts = 2 if self.moving else 0
        rest = ("position",) * POSITION + ("harmonic",) * HARMONIC + ("gain", "offset")
        usual = rest + ("friction",) * frictions + ("drift",) * drifts
        unseen = ("unseen",) * bool(self.unseen.any())
        hidden = ("hidden offset",) * bool(self.hidden_offset.any())
        return usual + ("rest",) * self.rests + unseen + hidden + ("run offset",) * self._later_runs

    @property
    def _later_runs(self) -> int:
        return len(self.extent.times) - 1 if self.own_offsets else 0

    @cached_property
    def offset(self) -> Array:
        """Usual offset of every joint, shape (n,); 0 where none is fitted."""
        fitted = np.zeros(self.model.robot.n, dtype=bool)
        fitted[self.model.joints_of("offset")] = True
        return np.where(fitted, self._usual_offset, 0.0)

    @cached_property
    def hidden_offset(self) -> Array:
        """Usual offset of joints at which no recording distinguishes it from the weight, shape (n,); else 0."""
        return np.where(self.model.active & ~separable_offsets(self.model.robot), self._usual_offset, 0.0)

    @cached_property
    def _usual_offset(self) -> Array:
        return np.hypot(OFFSET_OF_FRICTION * self.sliding, OFFSET_OF_EFFORT * self.extent.effort)

    @cached_property
    def weight(self) -> Array:
        """Weight that every joint is taken to carry, shape (n,)."""
        return np.maximum(self.extent.weight, LEAST_WEIGHT * self.extent.effort)

    @cached_property
    def unseen(self) -> Array:
        """Usual friction of joints of a motion that do not reverse, in the unit of the effort, shape (n,); else 0."""
        hidden = self.model.active & ~self.extent.reverses & self.moving
        usual = UNSEEN_FRICTION * self.extent.effort
        limits = self.model.robot.effort_limit * np.abs(self.model.gains(self.x))
        like = self.model.active & self.extent.reverses & np.isfinite(limits) & (limits > 0.0)
        if like.any():
            share = float(np.median(self.friction[like] / limits[like]))
            usual = np.maximum(usual, share * np.where(np.isfinite(limits), limits, 0.0))
        return np.where(hidden, usual, 0.0)

    @cached_property
    def sliding(self) -> Array:
        """Friction by which its changes are scaled, shape (n,): where it does not show, the usual one."""
        return np.maximum(self.friction, self.unseen)

    @cached_property
    def half_range(self) -> Array:
        """Half of the recorded range [rad or m], shape (n,)."""
        return np.maximum(0.5 * (self.extent.upper - self.extent.lower), LEAST_RANGE)

    def at_rest(self, q: Array, bodies: Array) -> Array:
        """Return what acts at rest: position, harmonic, gain and offset, shape (k, a, OFFSET + 1).

        Args:
            q: Poses [rad or m], shape (k, n).
            bodies: Rigid-body efforts there by the first estimate, shape (k, a).
        """
        turns = np.array(rotary(self.model.robot), dtype=bool)
        centre, active = self.extent.centre, self.model.active
        shapes = [(q - centre[0]) / self.half_range]
        shapes += [np.where(turns, wave - mean, 0.0) for wave, mean in zip(waves(q), centre[1:], strict=True)]
        own = [(shape * self.weight)[:, active] for shape in shapes]
        return np.stack([*own, bodies, np.broadcast_to(self.offset[active], bodies.shape)], axis=2)

    def values(
        self, samples: Samples, bodies: Array, run: int, state: Array, *, poses: bool = False
    ) -> tuple[Array, Array]:
        """Return all columns at samples, shape (k, a, d), and the presliding at their end.

        Args:
            samples: Successive samples.
            bodies: Rigid-body efforts by the first estimate, shape (k, a).
            run: Number of the run that they are of.
            state: Presliding before the first of them, shape (len(PRESLIDING) + 1, n); its last row is the position.
            poses: Whether they are poses at rest beside a motion: of its friction they show only what hangs on the
                place.
        """
        found = [self.at_rest(samples.q, bodies)]
        active = self.model.active
        friction, side = self.sliding[active], self.model.actuator_direction(samples)[:, active]
        if self.friction.any():
            found.append(np.stack(self._by_place(samples, side * friction), axis=2))
        if self.moving:
            speed = np.abs(samples.dq[:, active]) / np.maximum(self.extent.speed[active], 1e-9)
            begin, end = self.extent.times[run]
            time = ((2.0 * samples.time - begin - end) / max(end - begin, 1e-9))[:, None]
            slow, roots = np.exp(-((speed / SLOW) ** 2)), np.sqrt(speed)
            drifts = [time * np.broadcast_to(self.weight[active], bodies.shape), time * bodies]
            if poses:
                nothing = np.zeros_like(bodies)
                moved = [nothing, nothing, nothing, time * side * friction]
                built_up = [nothing] * len(PRESLIDING)
            else:
                slid, state = presliding(samples.q, state)
                moved = [side * slow * friction, side * roots * friction, speed * friction, time * side * friction]
                built_up = [(one[:, active] - side) * friction for one in slid]
            found.append(np.stack([*moved, *built_up, *drifts], axis=2))
        if self.rests:
            found.append((side * friction * poses)[:, :, None])
        if self.unseen.any():
            found.append(np.broadcast_to(self.unseen[active], bodies.shape)[:, :, None])
        if self.hidden_offset.any():
            found.append(np.broadcast_to(self.hidden_offset[active], bodies.shape)[:, :, None])
        if self._later_runs:
            apart = np.zeros((*bodies.shape, self._later_runs))
            if run > 0:
                apart[:, :, run - 1] = self.offset[active]
            found.append(apart)
        return np.concatenate(found, axis=2), state

    def _by_place(self, samples: Samples, sliding: Array) -> Sequence[Array]:
        """Return friction that grows with the load and changes along the way."""
        active = self.model.active
        load = np.abs(self.model.robot.gravity(samples.q)) / np.maximum(self.extent.weight, 1e-9) - self.extent.load
        turns = np.array(rotary(self.model.robot), dtype=bool)[active]
        q = samples.q[:, active]
        along = (np.where(turns, np.cos(q), 0.0), np.where(turns, np.sin(q), 0.0))
        return sliding * np.clip(load[:, active], -3.0, 3.0), *(sliding * one for one in along)


def presliding(q: Array, state: Array) -> tuple[list[Array], Array]:
    """Return friction's share that has built up, −1 to 1, for every way of PRESLIDING, each of shape (k, n).

    Args:
        q: Successive positions [rad or m], shape (k, n).
        state: The shares before them and the position there, shape (len(PRESLIDING) + 1, n).

    Returns:
        The shares, and the state after the last position.
    """
    steps = np.diff(q, axis=0, prepend=state[-1:])
    towards = np.sign(steps)
    found = []
    for way, share in zip(PRESLIDING, state[:-1], strict=True):
        left = np.exp(-np.abs(steps) / way)
        shares = np.empty_like(steps)
        at = share
        for row in range(len(steps)):
            at = towards[row] + (at - towards[row]) * left[row]
            shares[row] = at
        found.append(shares)
    return found, np.array([*(shares[-1] for shares in found), q[-1]]) if len(q) else state
