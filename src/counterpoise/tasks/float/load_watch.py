"""Notices a load that nobody told of by the way it pulls a floating arm.

What moves an arm beside its own law is told by its momentum ([DeLuca2003]; sensing/momentum_observer.py):

    e = dp/dt − Cᵀq̇ − (τ − ĝ) + f(q̇),   p = M q̇ + J_m q̇

A load fixed to a link pulls with e = −m u(q), one number m for all joints and all times; a hand's force varies in size
and direction as it starts, steers and slows the arm. So the watch waits until a joint has gone one way by a stated
length, and asks whether one load explains all of this motion:

- at that joint, −m u(q) − b q̇ follows e within EVEN of its size; b ≥ 0 stands for viscous friction that the friction
  law may not know. Falling loads are followed within 1 to 5 %, hands seldom within 10 %,
- the joint does not slow down on the way: a weight keeps pulling (not asked of slow drifts, which may fade out),
- at the other joints it does not contradict what they do: those that move are pulled as the load would pull them, and
  those that rest can bear it by their friction.

Nothing tells a hand that pulls a link straight down with an even force from a weight that hangs there. What follows is
gentle: the arm is held where it is, until it is pushed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...dynamics import FrictionLaw
from ...errors import ModelError
from ...foundation import Array, frozen
from ...sensing import momentum_of
from .hidden import LEAST_PULL, LoadPlaces, UnseenLoads

BLOCK = 0.04
"""Time over which the torque from outside is averaged [s]."""
BLOCKS = 80
"""How many such times are remembered."""
LEAST_BLOCKS = PARTS = 8
"""Fewest of them in which a load is recognised, and the parts of a way that are compared."""
EVEN = 0.07
"""Largest rms of what the load does not explain at the joint, over that of the torque from outside."""
DRIFT_EVEN = 0.2
"""... and for a slow drift: friction is less sure there."""
SLOWING = 0.85
"""Least speed at the end of the way, over the largest on it."""
STEADY = 0.25
"""Least speed in each block, over their mean, for a motion one way."""
VISCOUS_COST = 0.1
"""Misfit that viscous friction of the joint's dry friction at 1 rad/s counts as."""
FRICTION_SHARE = 0.3
"""What of the friction stays unknown while a joint moves."""
OTHERS = 0.4
"""Largest misfit at another joint that moves, over the larger of what the load and what it feels, beside friction."""
LEAST_KNOWN = 0.2
"""What of the friction of another joint that goes on moving may be missing."""
RESTING = 1.5
"""How many times its friction found a joint at rest may bear."""
AGAIN = 0.3
"""Share of the way after which a load is looked for that may have been held just before."""
MASS_MARGIN = 1.5
"""How many times heavier than the load that could hide one may seem: friction is not known exactly."""
LARGEST = 1e3
"""Positions [rad or m] and speeds [rad/s or m/s] beyond this are no motion of an arm."""


@dataclass(frozen=True, slots=True, eq=False)
class PullingLoad:
    """A load that explains a motion.

    Attributes:
        joint: Index of the joint that it moves.
        speed: Its mean speed on the way [rad/s or m/s].
        travel: The way [rad or m].
        place: Index of the load's place.
        mass: Its mass [kg].
        misfit: What it does not explain at that joint, as a share.
        holding: Torques that would hold it where the arm now is [N m or N], shape (n,).
    """

    joint: int
    speed: float
    travel: float
    place: int
    mass: float
    misfit: float
    holding: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    q: Array
    travel: Array
    seconds: float
    external: Array
    ignored: npt.NDArray[np.bool_]


class LoadWatch:
    """Watches n joints."""

    def __init__(
        self,
        places: LoadPlaces,
        rotor: Array,
        free: npt.NDArray[np.bool_],
        far: Array,
        least: Array,
        slow: Array,
        friction: FrictionLaw | None,
        unseen: UnseenLoads | None = None,
        near: Array | None = None,
    ) -> None:
        """Begin without a sample.

        Args:
            places: Where loads may be.
            rotor: Rotor inertias, as declared or measured [kg m² or kg], link side, shape (n,).
            free: Joints that float, shape (n,), bool.
            far: How far each joint goes one way before a load is looked for [rad or m], shape (n,).
            least: Slowest mean speed of such a motion [rad/s or m/s], shape (n,); slower ones are drifts.
            slow: Speeds below which a joint counts as resting [rad/s or m/s], shape (n,).
            friction: Their friction, link side; None where it is unknown.
            unseen: Loads that the check may have let pass; None for none.
            near: How far each joint goes before one of these is looked for [rad or m], shape (n,).
        """
        self._places, self._free, self._law = places, free, friction
        self._far, self._least, self._slow = frozen(far), frozen(least), frozen(slow)
        dry = np.zeros(len(far)) if friction is None else np.abs(friction.torque(self._slow))
        self._friction = frozen(dry)
        self._heaviest = places.robot.total_mass
        self._unseen = unseen
        early = np.zeros(len(far), dtype=bool) if unseen is None else unseen.hides.any(axis=1)
        self._nearest = frozen(far if near is None else np.where(early, np.minimum(near, far), far))
        self._rotor = np.asarray(rotor)
        self._still = places.still
        self._blocks: deque[_Block] = deque(maxlen=BLOCKS)
        self._suspected: int | None = None
        self.clear()

    def __copy__(self) -> LoadWatch:
        """Return one that has seen the same, and goes its own way; also while another thread uses this one."""
        other = object.__new__(LoadWatch)
        other.__dict__.update(self.__dict__)
        other._blocks = self._blocks.copy()
        other._impulse, other._ignored = self._impulse.copy(), self._ignored.copy()
        return other

    def link(self, load: PullingLoad) -> str:
        """Return the link on which a load that was found may be."""
        return self._places.links[load.place]

    def clear(self) -> None:
        """Forget the past."""
        n = len(self._far)
        self._blocks.clear()
        self._begun: tuple[float, Array, Array, Array] | None = None
        self._impulse = np.zeros(n)
        self._ignored = np.zeros(n, dtype=bool)

    def pulled(
        self, time: float, q: Array, dq: Array, extra: Array, elapsed: float, ignored: npt.NDArray[np.bool_]
    ) -> PullingLoad | None:
        """Take one more sample; return the load that explains the motion of a joint, None where none does.

        Args:
            time: Its time [s].
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            extra: Torques beside gravity that the law asked for since the sample before [N m or N], shape (n,).
            elapsed: Time since the sample before [s].
            ignored: Joints that something moves on purpose, shape (n,), bool.
        """
        if not (np.all(np.abs(q) < LARGEST) and np.all(np.abs(dq) < LARGEST)):
            self.clear()
            return None
        self._impulse += elapsed * extra
        self._ignored |= ignored
        begun = self._begun
        if begun is not None and not 0.0 <= time - begun[0] <= 3.0 * BLOCK:
            self.clear()  # time went back, or samples stayed away: what was seen proves nothing
            begun = None
        if begun is not None and time - begun[0] < BLOCK:
            return None
        momentum, coupling = self._momentum(q, dq)
        if begun is not None:
            seconds = time - begun[0]
            external = (momentum - begun[2] - self._impulse) / seconds - 0.5 * (coupling + begun[3])
            external += self._rubbing((q - begun[1]) / seconds)
            self._blocks.append(_Block(0.5 * (q + begun[1]), q - begun[1], seconds, external, self._ignored))
        self._begun = (time, q.copy(), momentum, coupling)
        self._impulse, self._ignored = np.zeros(len(q)), np.zeros(len(q), dtype=bool)
        return self._judged() if len(self._blocks) >= LEAST_BLOCKS else None

    def _momentum(self, q: Array, dq: Array) -> tuple[Array, Array]:
        try:
            return momentum_of(self._still, self._rotor, q, dq)
        except ModelError:  # a model without usable inertias: what the rotors tell
            return self._rotor * dq, np.zeros(len(q))

    def _rubbing(self, dq: Array) -> Array:
        if self._law is None:
            return np.zeros(len(dq))
        return np.where(np.abs(dq) > self._slow, np.asarray(self._law.torque(dq)), 0.0)

    def explains(self, joint: int, seconds: float) -> bool:
        """Say whether a load may be what has moved a joint evenly and slowly, or one that is missing.

        Slower than ``slow`` friction may take any value: then it counts whether a load could pull the joint at all.

        Args:
            joint: The joint.
            seconds: For how long it has moved so [s].
        """
        blocks = list(self._blocks)[::-1]
        count = int(np.searchsorted(np.cumsum([block.seconds for block in blocks]), seconds - 2.0 * BLOCK)) + 1
        if count > len(blocks) or count < LEAST_BLOCKS:
            return True  # it was not seen from the beginning: nothing speaks against a load
        way = abs(sum(block.travel[joint] for block in blocks[:count]))
        if way <= self._slow[joint] * sum(block.seconds for block in blocks[:count]):
            return bool(np.any(np.abs(self._places.pull(blocks[0].q)[joint]) > LEAST_PULL))
        return self._explained(joint, blocks[:count], DRIFT_EVEN, drift=True) is not None

    def suspect(self, joint: int | None) -> None:
        """Look for a load after a shorter way at one joint, because it was held before; None for no longer."""
        self._suspected = joint

    def _ways(self, joint: int) -> list[float]:
        shorter = AGAIN if joint == self._suspected else 1.0
        return sorted({shorter * float(self._nearest[joint]), shorter * float(self._far[joint])})

    def _judged(self) -> PullingLoad | None:
        blocks = list(self._blocks)[::-1]
        travel = np.array([block.travel for block in blocks])
        seconds = np.cumsum([block.seconds for block in blocks])
        way = np.cumsum(travel, axis=0)
        for joint in np.flatnonzero(self._free & (np.abs(way).max(axis=0) >= AGAIN * self._nearest)):
            sign = np.sign(way[0, joint])
            one_way = (sign * travel[:, joint] > 0.0) & ~np.array([block.ignored[joint] for block in blocks])
            length = len(blocks) if one_way.all() else int(np.argmin(one_way))
            gone = np.abs(way[:length, joint])
            # A load that the check may have let pass is looked for early; another one after a longer way only.
            for far in (ways := self._ways(int(joint))):
                if length < LEAST_BLOCKS or gone[-1] < far:
                    break
                count = max(int(np.argmax(gone >= far)) + 1, LEAST_BLOCKS)
                if gone[count - 1] < self._least[joint] * seconds[count - 1]:
                    continue
                found = self._explained(int(joint), blocks[:count], EVEN, early=far < ways[-1])
                if found is not None:
                    return found
        return None

    def _explained(
        self, joint: int, blocks: list[_Block], even: float, early: bool = False, drift: bool = False
    ) -> PullingLoad | None:
        """Return the load that explains some blocks, the last one first; None where there is none."""
        # Means over parts of the way: what ripples within them is the drive's or the sensor's, not the load's.
        parts = [blocks[k : k + len(blocks) // PARTS] for k in _begins(len(blocks))]
        speed = np.array([sum(b.travel for b in part) / sum(b.seconds for b in part) for part in parts])
        v = speed[:, joint]
        size = np.abs(v)
        if size.min() < STEADY * size.mean() or (not drift and size[:2].mean() < SLOWING * size.max()):
            return None
        external = np.array([np.mean([block.external for block in part], axis=0) for part in parts])
        pull = self._places.pull(np.array([np.mean([block.q for block in part], axis=0) for part in parts]))
        e, u = external[:, joint], -pull[:, joint]
        uu, uv, ue = np.sum(u * u, axis=0), v @ u, e @ u
        felt = float(np.sqrt(np.mean(e * e)))
        scale = max(float(self._friction[joint]), 1e-9)
        vv = float(v @ v) + len(v) * (VISCOUS_COST * felt / scale) ** 2
        ve = float(v @ e)
        with np.errstate(all="ignore"):
            determinant = uu * vv - uv * uv
            mass = (ue * vv - uv * ve) / determinant
            viscous = -(uu * ve - uv * ue) / determinant
            alone = ue / uu
        mass = np.where((viscous > 0.0) & (determinant > 0.0), mass, alone)
        viscous = np.where((viscous > 0.0) & (determinant > 0.0), viscous, 0.0)
        left = e[:, None] - mass * u + viscous * v[:, None]
        misfit = np.sqrt(np.mean(left * left, axis=0)) / max(felt, 1e-12)
        fits = (
            (np.abs(u).max(axis=0) > LEAST_PULL)
            & ((mass > 0.0) | drift)
            & (np.abs(mass) <= self._heaviest)
            & (misfit <= even)
        )
        way = float(sum(block.travel[joint] for block in blocks))
        if early and self._unseen is not None:
            fits &= self._unseen.hides[joint] & (mass <= MASS_MARGIN * self._unseen.mass)
        fits &= self._borne(joint, mass, pull, external, speed)
        if not fits.any():
            return None
        k = int(np.argmin(np.where(fits, misfit, np.inf)))
        holding = frozen(mass[k] * pull[0, :, k])
        return PullingLoad(joint, float(v.mean()), way, k, float(mass[k]), float(misfit[k]), holding)

    def _borne(self, joint: int, mass: Array, pull: Array, external: Array, speed: Array) -> npt.NDArray[np.bool_]:
        """Say of the load at each place whether the other joints do not contradict it, shape (k,), bool."""
        mean_speed = np.abs(speed.mean(axis=0))
        other = self._free.copy()
        other[joint] = False
        moving = other & (mean_speed > self._slow)
        resting = other & ~moving
        expected = -mass * pull.mean(axis=0)  # (n, k)
        felt = external.mean(axis=0)[:, None]
        friction = self._friction[:, None]
        off = np.abs(expected - felt) - FRICTION_SHARE * friction
        contradicted = moving[:, None] & (off > OTHERS * np.maximum(np.abs(expected), np.abs(felt)))
        # Motion that goes on needs a pull: friction would have ended it. Viscous friction only adds to that.
        sign = np.sign(speed.mean(axis=0))[:, None]
        missing = sign * felt - LEAST_KNOWN * friction - (1.0 + OTHERS) * sign * expected
        contradicted |= moving[:, None] & (missing > 0.0)
        contradicted |= resting[:, None] & (np.abs(expected) > RESTING * friction)
        return np.asarray(~contradicted.any(axis=0))


def _begins(count: int) -> range:
    """Return where the parts of ``count`` blocks begin, equally long each; a few of the oldest may be left over."""
    return range(0, count // PARTS * PARTS, count // PARTS)
