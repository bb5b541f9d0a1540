"""What the arm exerts at its tip, by a wrist sensor: zero and tool removed, base axes, at a link's origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt

from ...dynamics import WRENCH_COMPONENTS, Robot
from ...errors import InputError
from ...foundation import Array
from ...sensing import WristCalibration
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
        lost: Whether there was nothing to go by at the last reading.
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
        self._loads: dict[str, Array] = {}  # link: [m, m c] of what it carries beyond the tool, link frame
        self._largest = joint_array(largest, "largest", WRENCH_COMPONENTS)
        self._last: Array | None = None
        self.bad, self.lost = 0, False
        self._news: list[tuple[str, str]] = []

    def refuse_other_arm(self, robot: Robot) -> None:
        """Refuse an arm, or a mounting of it, that the sensor was not calibrated on: its tool would weigh another way.

        Raises:
            InputError: Other joints, or another direction of gravity.
        """
        own = self.calibration.robot
        if own.joint_names != robot.joint_names:
            raise InputError(f"the wrist sensor is on {own!r}, with joints {list(own.joint_names)}; not on {robot!r}")
        if not np.allclose(own.gravity_base, robot.gravity_base, rtol=0.0, atol=1e-6):
            raise InputError(
                f"the wrist sensor was calibrated under gravity {own.gravity_base.tolist()} in the base frame, and the "
                f"arm is mounted under {robot.gravity_base.tolist()}: its tool would be taken off the wrong way. Give "
                "both the same mounting"
            )

    def carrying(self, before: Robot, after: Robot) -> Self:
        """Return the feedback for a load that was grasped or let go: its weight is no force on the surroundings.

        Without it the sensor would take the load's weight for a hand that pulls, or for a force that is missing.

        Args:
            before: The arm as the calibration, or the last call, knew it: its payloads are part of the tool.
            after: The arm with its new payloads. Those beyond the sensor count, on its link or on one that follows.
        """
        other = type(self)(self.calibration, self._read, hold_ticks=self.hold_ticks, largest=self._largest)
        other._last, other.bad, other.lost, other._loads = self._last, self.bad, self.lost, dict(self._loads)
        felt = _beyond(after, self.calibration.link)
        for sign, robot in ((1.0, after), (-1.0, before)):
            for link, load in ((load.link, load.inertia) for load in robot.payloads if load.link in felt):
                moments = sign * load.mass * np.array([1.0, *load.com])
                other._loads[link] = other._loads.get(link, np.zeros(4)) + moments
        other._loads = {link: moments for link, moments in other._loads.items() if moments.any()}
        return other

    def reset(self) -> None:
        """Forget the last reading."""
        self._last, self.bad, self.lost = None, 0, False
        self._news.clear()

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call, as kinds and messages of events, and forget it."""
        told, self._news = self._news, []
        return told

    def exerted(self, q: Array, at: str) -> Array | None:
        """Take one reading; return what the arm exerts on its surroundings [N, N m], shape (6,), or None.

        Args:
            q: Positions [rad or m], shape (n,).
            at: Link at whose origin the moment is stated; along the base's axes.
        """
        new = self._good(self._read())
        self.bad, self._last = (self.bad + 1, self._last) if new is None else (0, new)
        reading = None if self.bad > self.hold_ticks else self._last
        self._tell(lost=reading is None)
        if reading is None:
            return None
        known = self.calibration
        robot = known.robot
        on_robot = known.contact_wrench(q, reading)
        T_base_sensor = robot.forward_kinematics(q, at=known.link) @ known.T_link_sensor
        origin = robot.forward_kinematics(q, at=at)[:3, 3]
        rotation, arm = T_base_sensor[:3, :3], T_base_sensor[:3, 3] - origin
        force = -(rotation @ on_robot[:3])
        exerted = np.concatenate([force, np.cross(arm, force) - rotation @ on_robot[3:]])
        for link, moments in self._loads.items():  # what holds a load up is exerted on the load, not beyond it
            T_base_link = robot.forward_kinematics(q, at=link)
            lever = moments[0] * (T_base_link[:3, 3] - origin) + T_base_link[:3, :3] @ moments[1:]
            exerted[:3] += moments[0] * robot.gravity_base
            exerted[3:] += np.cross(lever, robot.gravity_base)
        return exerted

    def _tell(self, *, lost: bool) -> None:
        if lost == self.lost:
            return
        self.lost = lost
        self._news.append(
            ("wrist_lost", "the readings of the wrist sensor cannot be used; force control goes on without them")
            if lost
            else ("wrist_back", "the wrist sensor gives readings again")
        )

    def _good(self, given: npt.ArrayLike | None) -> Array | None:
        if given is None:
            return None
        try:
            reading = np.array(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        fits = reading.shape == (6,) and bool(np.all(np.abs(reading) <= self._largest)) and np.isfinite(reading).all()
        return reading if fits else None


def _beyond(robot: Robot, link: str) -> set[str]:
    """Return the names of a link and of all that it carries."""
    found, before = {link}, 0
    while len(found) > before:
        before = len(found)
        found |= {joint.child for joint in robot.description.joints if joint.parent in found}
    return found
