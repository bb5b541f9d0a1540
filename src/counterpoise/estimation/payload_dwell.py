"""Held poses out of a stream of samples: when the arm stands, its mean position, torque and plate reading.

Samples are averaged over slots of SLOT seconds, so that most ticks only copy numbers. A slot with a bad or flagged
sample in it is thrown away and ends the pose. Friction gives every held pose one unknown torque per joint, however
long the arm stands there; so a pose is one measurement. A joint that has not moved since it was last counted still
holds the same unknown torque and is not counted again, unless its torque has changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..errors import InputError
from ..logs.path import REVERSAL
from ..logs.stillness import STILL_SPEED

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
        side: Side from which each joint came, +1 moving upwards, −1 downwards, 0 where it never moved, shape (n,).
        fresh: Joints whose friction is another than when they were last counted, shape (n,).
    """

    q: Array
    tau: Array
    tau_std: Array
    wrench: Array | None
    side: Array
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
        self._slot = 0
        self._step = STEP_SHARE * band
        self._side = np.zeros(n)
        self._turn = np.full(n, np.nan)
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
        self._came_from = np.zeros(n)

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
        except (ValueError, TypeError) as error:
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
        return HeldPose(
            q.copy(),
            tau.copy(),
            np.sqrt(spread / count),
            wrench.copy() if np.isfinite(wrench).all() else None,
            self._came_from,
            moved | (np.abs(tau - self._counted_tau) > self._step),
        )

    def _take_slot(self) -> None:
        self.finished = None
        n, rows = self._n, self._buffer
        mean = rows.mean(axis=0)
        motion = mean[: 3 * n]
        if not (np.abs(rows[:, 3 * n :]).max() < LARGEST):
            mean[3 * n :] = np.nan
        if not (np.abs(rows[:, : 3 * n]).max() < LARGEST):  # false for NaN too
            self._recent[:] = np.nan
            self._close()
            return
        self._follow(motion[:n])
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
            self._came_from = self._side.copy()  # the next motion will have begun when this pose is closed
        elif self.count >= LEAST_SLOTS and self._stepped(values):
            self._close()
            return
        self._sum += values
        self._squares += (values[n : 2 * n] - self._anchor) ** 2
        self.count += 1

    def _follow(self, q: Array) -> None:
        """Note which way each joint goes: it turns where it comes back by more than REVERSAL."""
        self._turn = np.where(np.isnan(self._turn), q, self._turn)
        away = q - self._turn
        self._side = np.where(np.abs(away) > REVERSAL, np.sign(away), self._side)
        # The point to turn back from follows the motion: the farthest position on the present side.
        self._turn = np.where(away * self._side > 0.0, q, self._turn)

    def _stepped(self, values: Array) -> bool:
        """Tell whether position or torque have left the pose's mean for several slots in a row."""
        mean = self._sum / self.count
        n = self._n
        away = np.any(np.abs(values[:n] - mean[:n]) > CREEP)
        away = away or np.any(np.abs(values[n : 2 * n] - mean[n : 2 * n]) > self._step)
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
        for array in (self._sum, self._squares, self._anchor):
            array[:] = 0.0
