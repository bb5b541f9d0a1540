"""A hand that guides a simulated arm: a soft spring from a link to a point that moves along a path.

F = k (p_d(t) − p) − d v on the link's origin, at most ``strongest``. It feels the arm only through the samples that a
controller sees, and moves as slowly as people do.
"""

from __future__ import annotations

import math

import numpy as np

from ..control import minimum_jerk
from ..dynamics import link_name
from ..errors import InputError
from ..foundation import Array, frozen
from ..recording import Sample
from .events import Push
from .quantities import number
from .simulated import SimulatedArm

GRIP = 0.02
"""Time for which a force is kept before it is chosen anew [s]."""


class GuidingHand:
    """Guides the origin of a link along a path; call it with every sample of a run.

    Attributes:
        path: Points to go through in base axes [m], shape (k, 3), in equal times.
        seconds: Time for the path [s].
        peak_force: Largest force used so far [N].
    """

    def __init__(
        self,
        arm: SimulatedArm,
        path: Array,
        seconds: float,
        *,
        link: str | None = None,
        stiffness: float = 1500.0,
        damping: float = 60.0,
        strongest: float = 80.0,
    ) -> None:
        """Prepare to guide ``arm``.

        Args:
            arm: The arm.
            path: Points relative to where the link is at the first sample, in base axes [m], shape (k, 3).
            seconds: Time for the path; minimum jerk from rest to rest along it [s].
            link: The link; None for the tip of an arm that is not branched.
            stiffness: Of the hand's spring [N/m].
            damping: Of the hand [N s/m].
            strongest: Largest force [N].

        Raises:
            InputError: A path of another shape, no such link, or a number outside what a hand can do.
        """
        points = np.asarray(path, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2 or not np.all(np.isfinite(points)):
            raise InputError(f"path has shape {points.shape}; expected at least two points of three numbers [m]")
        self.path = frozen(points)
        self.seconds = number(seconds, "seconds", least=0.1, most=3600.0)
        self.peak_force = 0.0
        self._arm, self._robot = arm, arm.robot
        self._link = link_name(arm.robot, link, "link=")
        self._gains = (
            number(stiffness, "stiffness", least=0.0, most=1e6),
            number(damping, "damping", least=0.0, most=1e6),
            number(strongest, "strongest", least=0.0, most=1e6),
        )
        self._begin = self._next = math.inf
        self._origin = np.zeros(3)

    def __call__(self, sample: Sample) -> None:
        """Feel the arm and push it for the next moment."""
        time = float(sample.time)
        if math.isinf(self._begin):
            self._begin = self._next = time
            self._origin = self._place(sample.q)
        done = (time - self._begin) / self.seconds
        if done > 1.0 or time < self._next - 1e-9:  # let go at the end of the path
            return
        self._next = time + GRIP
        stiffness, damping, strongest = self._gains
        velocity = self._robot.jacobian(sample.q, at=self._link)[:3] @ sample.dq
        force = stiffness * (self._target(done) - self._place(sample.q)) - damping * velocity
        size = float(np.linalg.norm(force))
        force *= min(1.0, strongest / max(size, 1e-9))
        self.peak_force = max(self.peak_force, min(size, strongest))
        self._arm.push(Push(self._link, (*force.tolist(), 0.0, 0.0, 0.0), start=time, end=time + GRIP))

    def _place(self, q: Array) -> Array:
        return np.asarray(self._robot.forward_kinematics(q, at=self._link)[:3, 3])

    def _target(self, done: float) -> Array:
        eased, _ = minimum_jerk(done)
        places = np.linspace(0.0, 1.0, len(self.path))
        ahead = np.array([np.interp(eased, places, self.path[:, axis]) for axis in range(3)])
        return np.asarray(self._origin + ahead)


def closed_path(size: float = 0.1, points: int = 60) -> Array:
    """Return a round upright closed path across the arm and back to its start, in base axes [m], shape (points, 3)."""
    angle = np.linspace(0.0, 2.0 * np.pi, points)
    return np.column_stack([0.5 * size * np.sin(angle), size * np.sin(angle), size * (1.0 - np.cos(angle))])
