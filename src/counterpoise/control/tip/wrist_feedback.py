"""What the arm exerts at its tip, by a wrist sensor: zero and tool removed, base axes, at a link's origin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...base_sensor.wrist_sensor import WristCalibration
from ...description.frozen import Array
from ...errors import InputError
from ..limits import joint_array

HOLD_TICKS = 5
"""Bad readings in a row for which the last good one stands in."""


class WristFeedback:
    """Reads a wrist sensor and says what the arm exerts on its surroundings.

    A reading is bad when there is none, when it is not six finite numbers or when a channel is beyond its range. The
    last good one then stands in for ``hold_ticks`` readings; after that there is none.

    Attributes:
        calibration: The sensor's zero, its tool and where it sits.
        hold_ticks: Bad readings in a row that are bridged.
        bad: Bad readings in a row.
    """

    def __init__(
        self,
        calibration: WristCalibration,
        read: Callable[[], npt.ArrayLike | None],
        *,
        hold_ticks: int = HOLD_TICKS,
        largest: npt.ArrayLike = np.inf,
    ) -> None:
        """Take readings from ``read``.

        Args:
            calibration: From :func:`calibrate_wrist_sensor`.
            read: Returns the newest raw reading, force first [N, N m], shape (6,), or None where there is none.
            hold_ticks: Bad readings in a row that are bridged.
            largest: Largest reading per channel [N, N m], one or six.
        """
        if not isinstance(calibration, WristCalibration):
            raise InputError(f"calibration is {calibration!r}; expected what calibrate_wrist_sensor returns")
        if not callable(read):
            raise InputError(f"read is {read!r}; expected a function that returns the newest reading, or None")
        if isinstance(hold_ticks, bool) or not isinstance(hold_ticks, int) or hold_ticks < 0:
            raise InputError(f"hold_ticks is {hold_ticks!r}; expected a whole number from 0")
        self.calibration = calibration
        self._read, self.hold_ticks = read, hold_ticks
        self._largest = joint_array(largest, "largest", ("fx", "fy", "fz", "mx", "my", "mz"))
        self._last: Array | None = None
        self.bad = 0

    def reset(self) -> None:
        """Forget the last reading."""
        self._last, self.bad = None, 0

    def exerted(self, q: Array, at: str) -> Array | None:
        """Take one reading; return what the arm exerts on its surroundings [N, N m], shape (6,), or None.

        Args:
            q: Positions [rad or m], shape (n,).
            at: Link at whose origin the moment is stated; along the base's axes.
        """
        reading = self._good(self._read())
        if reading is None:
            self.bad += 1
            if self._last is None or self.bad > self.hold_ticks:
                return None
            reading = self._last
        else:
            self.bad, self._last = 0, reading
        known = self.calibration
        robot = known.robot
        on_robot = known.contact_wrench(q, reading)
        T_base_sensor = robot.forward_kinematics(q, at=known.link) @ known.T_link_sensor
        rotation, arm = T_base_sensor[:3, :3], T_base_sensor[:3, 3] - robot.forward_kinematics(q, at=at)[:3, 3]
        force = -(rotation @ on_robot[:3])
        return np.concatenate([force, np.cross(arm, force) - rotation @ on_robot[3:]])

    def _good(self, given: npt.ArrayLike | None) -> Array | None:
        if given is None:
            return None
        try:
            reading = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        fits = reading.shape == (6,) and bool(np.all(np.abs(reading) <= self._largest)) and np.isfinite(reading).all()
        return reading if fits else None
