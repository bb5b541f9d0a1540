"""Held poses: the rests of a gatherer (recording/rest.py), and on what part of its friction each joint rests there.

Friction gives every held pose one unknown torque per joint, however long the arm stands there; so a pose is one
measurement. A joint that has not moved since it was last counted still holds the same unknown torque and is not counted
again, unless its torque has changed.

Friction yields before it slides: a joint that comes to rest and settles back by some tenths of a millirad, as it does
under a load that its controller does not know, unwinds its friction, or winds it up the other way. So its side is not
a sign but a fraction φ of the friction, −1 to +1, that follows the motion δq as a bristle does ([Dahl1968]):

    dφ = (1 − φ sgn δq) |δq| / give

Stiff gears unwind within a count of their encoder, unseen. But then the motor's torque changes: it cannot be that of
the last sliding any more, of which position and torque are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..foundation import Array, frozen
from ..recording import CREEP, Rest, RestGatherer, RestPhase

LEAST_TIME = 0.18
"""Shortest rest that counts [s], after settling: what friction holds is unknown by far more than noise makes of ten
slots, and arms at work do not stand for long."""
STEP_FRACTION = 0.3
"""A torque that changes by this fraction of the friction band while the arm stands: something was attached or touched
..."""
STEP_WRENCH = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
"""... and on the plate [N, N m]: a load near the base changes no joint's torque."""
GIVE = np.array([1e-5, 2e-4, 1e-3])[:, None]
"""Travel in which friction winds up [rad or m]: the middle one is taken, what the others say is its uncertainty. Gears
and bearings give some tenths of a millirad before they slide, stiff ones some hundredths."""
SLIDING = 2e-4
"""A joint slides where it goes farther than this from where it last did [rad or m]."""
TREMBLE = 2e-5
"""Motion back and forth within this is noise of the encoder [rad or m]."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldPose:
    """A pose that was held.

    Attributes:
        rest: Its means.
        friction_fraction: Fraction of its friction that each joint rests on, +1 where it came upwards and did not
            settle back, −1 downwards, shape (n,).
        fraction_std: Its uncertainty by the motion: 1 where the joint never moved, shape (n,).
        slid_q: Where each joint last slid [rad or m], shape (n,) ...
        slid_tau: ... and its torque then [N m or N], shape (n,).
        fresh: Joints whose friction is another than when they were last counted, shape (n,).
    """

    rest: Rest
    friction_fraction: Array
    fraction_std: Array
    slid_q: Array
    slid_tau: Array
    fresh: npt.NDArray[np.bool_]


class HeldPoses:
    """Makes held poses of the rests of a gatherer. Memory does not grow.

    Attributes:
        rests: The gatherer; it ends a rest where a torque or the plate's wrench steps.
        finished: The pose that ended with the last slot; None where none did.
    """

    def __init__(self, n: int, dt: float, band: Array) -> None:
        """Begin without a pose.

        Args:
            n: Number of joints.
            dt: Time between samples [s].
            band: Friction band of each joint [N m or N], shape (n,).
        """
        self._step = STEP_FRACTION * band
        self.rests = RestGatherer(n, dt, least_time=LEAST_TIME, torque_step=self._step, wrench_step=STEP_WRENCH)
        self._wound = np.outer([-1.0, 0.0, 1.0], np.ones(n))  # nothing is known of friction before the first motion
        self._wound_sum, self._count = np.zeros((3, n)), 0
        self._follower = np.full(n, np.nan)
        self._slid = self._slid_before = np.full(n, np.nan), np.zeros(n)
        self._counted_q, self._counted_tau = np.full((2, n), np.inf)
        self.finished: HeldPose | None = None

    def follow(self) -> None:
        """Take in the slot that the gatherer has completed."""
        rests = self.rests
        self.finished = None if rests.finished is None else self._held(rests.finished)
        if self.finished is not None:
            fresh = self.finished.fresh
            self._counted_q[fresh] = self.finished.rest.q[fresh]
            self._counted_tau[fresh] = self.finished.rest.tau[fresh]
        if rests.phase != RestPhase.UNKNOWN:
            self._wind(rests.q, rests.tau)
        if rests.phase != RestPhase.RESTS:
            self._count = 0
            return
        if self._count == 0:
            self._slid_before = self._slid  # a joint that slides on ends the pose, and is not of it
            self._wound_sum[:] = 0.0
        self._wound_sum += self._wound
        self._count += 1

    def present(self) -> HeldPose | None:
        """Return the pose that is being held now; None where there is none yet."""
        rest = self.rests.present()
        return None if rest is None else self._held(rest)

    def _held(self, rest: Rest) -> HeldPose:
        wound = self._wound_sum / self._count
        return HeldPose(
            rest,
            frozen(wound[1]),
            frozen(0.5 * np.ptp(wound, axis=0)),
            *self._slid_before,
            (np.abs(rest.q - self._counted_q) > CREEP) | (np.abs(rest.tau - self._counted_tau) > self._step),
        )

    def _wind(self, q: Array, tau: Array) -> None:
        """Wind up each joint's friction by its motion since the last slot; note the torque of the joints that slide."""
        slid_q, slid_tau = self._slid
        slides = ~(np.abs(q - slid_q) <= SLIDING)  # true for NaN too
        self._slid = np.where(slides, q, slid_q), np.where(slides, tau, slid_tau)
        before = np.where(np.isnan(self._follower), q, self._follower)
        self._follower = np.minimum(np.maximum(before, q - TREMBLE), q + TREMBLE)
        travel = self._follower - before
        toward = np.sign(travel)
        self._wound = toward + (self._wound - toward) * np.exp(-np.abs(travel) / GIVE)
