"""Held poses out of a stream of samples: when the arm stands, its mean position, torque and plate reading.

Samples are averaged over slots of SLOT seconds, so that most ticks only copy numbers. A slot with a bad or flagged
sample in it is thrown away and ends the pose. Friction gives every held pose one unknown torque per joint, however
long the arm stands there; so a pose is one measurement. A joint that has not moved since it was last counted still
holds the same unknown torque and is not counted again, unless its torque has changed.

Friction yields before it slides: a joint that comes to rest and settles back by some tenths of a millirad, as it does
under a load that its controller does not know, unwinds its friction, or winds it up the other way. So its side is not
a sign but a share φ of the friction, −1 to +1, that follows the motion δq as a bristle does ([Dahl1968]):

    dφ = (1 − φ sgn δq) |δq| / give

Stiff gears unwind within a count of their encoder, unseen. But then the motor's torque changes: it cannot be that of
the last sliding any more, of which position and torque are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array
from ..recording import STILL_SPEED

SLOT = 0.02
"""Time over which samples are averaged [s]."""
SPEED_SLOTS = 10
"""Slots over which speed is judged: long beside an encoder's counts."""
SETTLE_SLOTS = 15
"""Slots at the beginning of a standing that are left out: drives and gears come to rest after the joint does."""
LEAST_SLOTS = 10
"""Fewer slots make no pose."""
CREEP = 0.01
"""A joint that moves farther than this is at another pose [rad or m]."""
STEP_SHARE = 0.3
"""A torque that changes by this share of the friction band while the arm stands: something was attached or touched."""
GIVE = np.array([1e-5, 2e-4, 1e-3])[:, None]
"""Travel in which friction winds up [rad or m]: the middle one is taken, what the others say is its uncertainty. Gears
and bearings give some tenths of a millirad before they slide, stiff ones some hundredths."""
SLIDING = 2e-4
"""A joint slides where it goes farther than this from where it last did [rad or m]."""
TREMBLE = 2e-5
"""Motion back and forth within this is noise of the encoder [rad or m]."""
STEP_WRENCH = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
"""... and on the plate [N, N m]: a load near the base changes no joint's torque."""
LARGEST = 1e6
"""Numbers beyond this are no measurements."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldPose:
    """A pose that was held.

    Attributes:
        q: Mean position [rad or m], shape (n,).
        tau: Mean torque [N m or N], shape (n,).
        tau_std: Standard error of that mean by the slots' scatter, shape (n,).
        wrench: Mean wrench of the plate on the robot, base axes, base origin, shape (6,); None where there is none.
        side: Share of its friction that each joint rests on, +1 where it came upwards and did not settle back, −1
            downwards, shape (n,).
        side_std: Its uncertainty by the motion: 1 where the joint never moved, shape (n,).
        slid_q: Where each joint last slid [rad or m], shape (n,) ...
        slid_tau: ... and its torque then [N m or N], shape (n,).
        time: When it was held, middle [s].
        fresh: Joints whose friction is another than when they were last counted, shape (n,).
    """

    q: Array
    tau: Array
    tau_std: Array
    wrench: Array | None
    side: Array
    side_std: Array
    slid_q: Array
    slid_tau: Array
    time: float
    fresh: npt.NDArray[np.bool_]


class DwellGatherer:
    """Turns samples into held poses. Memory does not grow.

    Attributes:
        finished: Poses that ended with the last sample; at most one.
        slot_done: Whether the last sample completed a slot.
        count: Slots of the present pose.
    """

    def __init__(self, n: int, dt: float, band: Array) -> None:
        """Begin without a pose.

        Args:
            n: Number of joints.
            dt: Time between samples [s].
            band: Friction band of each joint [N m or N], shape (n,).
        """
        self._n = n
        self._samples = max(1, round(SLOT / dt))
        self._buffer = np.zeros((self._samples, 3 * n + 6))
        self._filled = 0
        self._recent = np.full((SPEED_SLOTS, n), np.nan)
        self._slot = self._slots = 0
        self._step = STEP_SHARE * band
        self._wound = np.outer([-1.0, 0.0, 1.0], np.ones(n))  # nothing is known of friction before the first motion
        self._follower = np.full(n, np.nan)
        self._slid_q, self._slid_tau = np.full(n, np.nan), np.zeros(n)
        self._slid_before = (self._slid_q, self._slid_tau)
        self._counted_q = np.full(n, np.inf)
        self._counted_tau = np.full(n, np.inf)
        self.finished: HeldPose | None = None
        self.slot_done = False
        self.count = 0
        self._still = 0
        self._away = 0
        self._sum = np.zeros(2 * n + 6)
        self._squares = np.zeros(n)
        self._anchor = np.zeros(n)
        self._wound_sum = np.zeros((3, n))

    def add(self, q: npt.ArrayLike, dq: npt.ArrayLike, tau: npt.ArrayLike, wrench: npt.ArrayLike | None) -> None:
        """Take a sample in; NaN marks what is not a measurement.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            tau: Torques [N m or N], shape (n,).
            wrench: Wrench of the plate on the robot, base axes, base origin, shape (6,); None where there is none.

        Raises:
            InputError: A shape or a type does not fit.
        """
        row, n = self._buffer[self._filled], self._n
        try:
            fits = np.shape(q) == np.shape(dq) == np.shape(tau) == (n,) and (wrench is None or np.shape(wrench) == (6,))
            row[:n], row[n : 2 * n], row[2 * n : 3 * n] = q, dq, tau
            row[3 * n :] = np.nan if wrench is None else wrench
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"q, dq and tau need {n} numbers each, wrench six: {error}") from error
        if not fits:
            raise InputError(
                f"q, dq and tau need {n} numbers each, wrench six; got shapes {np.shape(q)}, "
                f"{np.shape(dq)}, {np.shape(tau)} and {None if wrench is None else np.shape(wrench)}"
            )
        self._filled += 1
        self.slot_done = self._filled == self._samples
        if self.slot_done:
            self._filled = 0
            self._take_slot()

    def present(self) -> HeldPose | None:
        """Return the pose that is being held now; None where there is none yet."""
        if self.count < LEAST_SLOTS:
            return None
        count = float(self.count)
        mean = self._sum / count
        tau = mean[self._n : 2 * self._n]
        spread = np.maximum(self._squares / count - (tau - self._anchor) ** 2, 0.0)
        wrench = mean[2 * self._n :]
        q = mean[: self._n]
        moved = np.abs(q - self._counted_q) > CREEP
        wound = self._wound_sum / count
        return HeldPose(
            q.copy(),
            tau.copy(),
            np.sqrt(spread / count),
            wrench.copy() if np.isfinite(wrench).all() else None,
            wound[1],
            0.5 * np.ptp(wound, axis=0),
            *self._slid_before,
            SLOT * (self._slots - 0.5 * count),
            moved | (np.abs(tau - self._counted_tau) > self._step),
        )

    def _take_slot(self) -> None:
        self.finished = None
        self._slots += 1
        n, rows = self._n, self._buffer
        mean = rows.mean(axis=0)
        motion = mean[: 3 * n]
        if not (np.abs(rows[:, 3 * n :]).max() < LARGEST):
            mean[3 * n :] = np.nan
        if not (np.abs(rows[:, : 3 * n]).max() < LARGEST):  # false for NaN too
            self._recent[:] = np.nan
            self._close()
            return
        self._follow(motion[:n], motion[2 * n :])
        place = self._slot % SPEED_SLOTS
        travelled = np.abs(motion[:n] - self._recent[place]).max()
        self._recent[place] = motion[:n]
        self._slot += 1
        if not travelled < STILL_SPEED * SPEED_SLOTS * SLOT:
            self._close()
            return
        self._still += 1
        if self._still <= SETTLE_SLOTS:
            return
        values = np.concatenate([motion[:n], motion[2 * n : 3 * n], mean[3 * n :]])
        if self.count == 0:
            self._anchor = values[n : 2 * n].copy()
            self._slid_before = (self._slid_q, self._slid_tau)  # a joint that slides on ends the pose, and is not of it
        elif self.count >= LEAST_SLOTS and self._stepped(values):
            self._close()
            return
        self._sum += values
        self._wound_sum += self._wound
        self._squares += (values[n : 2 * n] - self._anchor) ** 2
        self.count += 1

    def _follow(self, q: Array, tau: Array) -> None:
        """Wind up each joint's friction by its motion since the last slot; note the torque of the joints that slide."""
        slides = ~(np.abs(q - self._slid_q) <= SLIDING)  # true for NaN too
        self._slid_q, self._slid_tau = np.where(slides, q, self._slid_q), np.where(slides, tau, self._slid_tau)
        before = np.where(np.isnan(self._follower), q, self._follower)
        self._follower = np.minimum(np.maximum(before, q - TREMBLE), q + TREMBLE)
        travel = self._follower - before
        way = np.sign(travel)
        self._wound = way + (self._wound - way) * np.exp(-np.abs(travel) / GIVE)

    def _stepped(self, values: Array) -> bool:
        """Tell whether position, torque or wrench have left the pose's mean for several slots in a row."""
        mean = self._sum / self.count
        n = self._n
        away = np.any(np.abs(values[:n] - mean[:n]) > CREEP)
        away = away or np.any(np.abs(values[n : 2 * n] - mean[n : 2 * n]) > self._step)
        away = away or np.any(np.abs(values[2 * n :] - mean[2 * n :]) > STEP_WRENCH)  # false where there is no plate
        self._away = self._away + 1 if away else 0
        return self._away >= 3

    def _close(self) -> None:
        self.finished = self.present()
        if self.finished is not None:
            fresh = self.finished.fresh
            self._counted_q[fresh] = self.finished.q[fresh]
            self._counted_tau[fresh] = self.finished.tau[fresh]
        self._restart()

    def _restart(self) -> None:
        self._still = self._away = self.count = 0
        for array in (self._sum, self._squares, self._anchor, self._wound_sum):
            array[:] = 0.0
