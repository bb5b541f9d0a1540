"""Gravity and payload estimated side by side over a run, and how both evolved.

The estimator of gravity learns the empty arm: it rests while a payload is carried, whose share of the torque is added,
and while it is not yet decided whether one is. Otherwise it would take the load for the arm and be wrong, and sure of
it, once the load is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..dynamics import MAX_INPUT, Robot
from ..foundation import Array, PublishedData
from ..recording import SampleFlag
from .online_gravity import OnlineGravity
from .payload_change import ChangeEvent
from .payload_estimate import PayloadEstimate
from .payload_estimator import PayloadEstimator

if TYPE_CHECKING:
    from ..identification import Fit


NOTED_EVERY = 0.2
"""Time between two instants of the history [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Track(PublishedData):
    """What was estimated during a run, at m instants.

    Attributes:
        robot: The arm as it is when empty.
        time: Seconds since the start, shape (m,).
        q: Positions [rad or m], shape (m, n).
        tau: Measured torques [N m or N], shape (m, n).
        gravity: Estimated holding torques ĝ(q), the payload's share included [N m or N], shape (m, n).
        gravity_std: Their standard deviations, shape (m, n). A load that goes unnoticed is not in them.
        model: The model's g(q), shape (m, n).
        mass: Payload [kg], shape (m,); NaN where its mass is not known or none was found.
        mass_std: Its standard deviation [kg], shape (m,); NaN where none was found.
        unnoticed: Heaviest load at the tip that could go unnoticed, by 95 % [kg], shape (m,); inf where it may be any,
            NaN where one was found.
        links: Links on which a payload may sit.
        shares: Probability of each, 0 where there is no payload, shape (m, l).
        poses: Held poses behind the payload's estimate, shape (m,).
        events: When payloads came and went [s].
        payload: The last estimate.
        friction_band: Torque that friction may hold at rest [N m or N], shape (n,).
        samples: Number of samples.
    """

    robot: Robot
    time: Array
    q: Array
    tau: Array
    gravity: Array
    gravity_std: Array
    model: Array
    mass: Array
    mass_std: Array
    unnoticed: Array
    links: tuple[str, ...]
    shares: Array
    poses: Array
    events: tuple[tuple[float, ChangeEvent], ...]
    payload: PayloadEstimate
    friction_band: Array
    samples: int


class Tracker:
    """Feeds samples to both estimators and takes notes.

    Attributes:
        gravity: The estimator of the holding torques.
        payload: The estimator of the payload.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        fit: Fit | None = None,
        friction_band: npt.ArrayLike | None = None,
        max_mass: float | None = None,
    ) -> None:
        """Begin with an empty arm.

        Args:
            robot: The arm, mounted as it stands, without the payload.
            dt: Time between samples [s].
            fit: Its calibration; None for a description alone.
            friction_band: Torque that friction may hold at rest [N m or N], shape (n,); None as PayloadEstimator does.
            max_mass: Heaviest load [kg]; None for half of the arm's moving mass.
        """
        self.payload = PayloadEstimator(robot, dt, fit=fit, friction_band=friction_band, max_mass=max_mass)
        self.gravity = OnlineGravity(robot, dt, prior="cad" if fit is None else fit, rests=self.payload.rests)
        self._every = max(1, round(NOTED_EVERY / dt))
        self._dt = dt
        self._count = 0
        self._rows: list[tuple[Array, ...]] = []

    def update(
        self, q: Array, dq: Array, tau: Array, wrench: Array | None = None, flags: SampleFlag = SampleFlag.NONE
    ) -> None:
        """Take one sample in; ``wrench`` is what the plate exerts on the robot, base axes, base origin.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            tau: Torques of the actuators, link side [N m or N], shape (n,).
            wrench: The plate's wrench [N, N m], shape (6,); None where there is none.
            flags: What the source knows to be wrong.
        """
        self.payload.update(q, dq, tau, wrench, flags)
        found = self.payload.estimate
        self.gravity.learning = not (found.detected or found.undecided)
        self.gravity.follow()
        if self._count % self._every == 0 and np.all(np.abs(q) <= MAX_INPUT):  # false for NaN too
            self._note(q, tau)
        self._count += 1

    def finished(self) -> Track:
        """Return the history."""
        robot, payload = self.payload.robot, self.payload
        n, links = robot.n, payload.places.links
        columns = [np.array(column) for column in zip(*self._rows, strict=True)] or [np.zeros(0)] * 10
        sizes = ((), (n,), (n,), (n,), (n,), (), (), (), (len(links),), ())
        time, q, tau, gravity, std, mass, mass_std, unnoticed, shares, poses = (
            column.reshape(-1, *size) for column, size in zip(columns, sizes, strict=True)
        )
        model = robot.gravity(q) if len(q) else np.zeros((0, n))
        return Track(
            *(robot, time, q, tau, gravity, std, model, mass, mass_std, unnoticed, links, shares, poses),
            *(tuple(payload.events), payload.estimate, payload.friction_band, self._count),
        )

    def _note(self, q: Array, tau: Array) -> None:
        found = self.payload.estimate
        gravity, std = self.gravity.gravity(q), self.gravity.std(q)
        if found.detected:
            change, change_std = found.gravity_change(self.payload.robot, q)
            gravity, std = gravity + change, np.hypot(std, change_std)
        mass = found.mass if found.mass_known else np.nan
        shares = np.array([found.links.get(link, 0.0) for link in self.payload.places.links])
        self._rows.append(
            (
                *(np.asarray(self._count * self._dt), np.array(q), np.array(tau)),
                *(gravity, std),
                *(np.asarray(mass), np.asarray(found.mass_std), np.asarray(found.unnoticed_mass), shares),
                np.asarray(float(self.payload.poses)),
            )
        )
