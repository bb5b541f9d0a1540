"""A rigid, frictionless, noiseless arm behind the plant protocol: (M + J_m) q̈ = τ − C q̇ − g, semi-implicit Euler."""

from __future__ import annotations

from types import TracebackType
from typing import Literal, Self

import numpy as np

import counterpoise as cp
from counterpoise.control import PlateInfo
from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag

SPEEDS = {"wam7": 2.0}
"""Speed limits [rad/s] of bundled arms whose model has none."""


def middle_pose(robot: cp.Robot) -> Array:
    """Return a pose well inside the limits, off the symmetric one."""
    return robot.lower + 0.45 * (robot.upper - robot.lower)


class IdealArm:
    """The arm starts at rest at ``q``, held: its first effort reading is g(q)."""

    adds_gravity = False
    effort_kind: Literal["torque", "current"] = "torque"
    watchdog: float | None = 0.1

    def __init__(
        self,
        robot: cp.Robot,
        *,
        dt: float = 1e-3,
        q: Array | None = None,
        stop: Literal["zero", "brake"] = "zero",
        plate: PlateInfo | None = None,
        payload: cp.Robot | None = None,
    ) -> None:
        self.robot = robot
        self.truth = payload or robot
        self.joint_names = robot.joint_names
        self.dt = dt
        self.lower, self.upper, self.effort_limit = robot.lower, robot.upper, robot.effort_limit
        self.velocity_limit = np.minimum(robot.velocity_limit, SPEEDS.get(robot.name, np.inf))
        self.stop = stop
        self.plate = plate
        self.q = np.array(middle_pose(robot) if q is None else q, dtype=np.float64)
        self.start = self.q.copy()
        self.dq = np.zeros(robot.n)
        self.tau = self.truth.gravity(self.q)
        self.time = 0.0
        self.ticks = 0
        self.entered = self.stopped = False
        self.sent: list[Array] = []
        n = robot.n
        self._ddq = np.vstack([np.eye(n), np.zeros((1, n))])
        self._dq = np.zeros((n + 1, n))

    def __enter__(self) -> Self:
        self.entered, self.stopped = True, False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.emergency_stop()
        self.entered = False

    def read(self) -> Sample:
        wrench = None if self.plate is None else np.array(self.robot.base_wrench(self.q))
        return Sample(self.time, self.q.copy(), self.dq.copy(), self.tau.copy(), wrench, SampleFlag.NONE)

    def write(self, tau: Array) -> Array:
        self.tau = np.zeros_like(tau) if self.stopped else np.array(tau)
        self.sent.append(self.tau)
        self._step()
        self.ticks += 1
        self.time = self.ticks * self.dt
        return self.tau

    def _step(self) -> None:
        if self.stopped and self.stop == "brake":
            self.dq = np.zeros_like(self.dq)
            return
        n = self.robot.n
        gravity = self.truth.gravity(self.q)
        self._dq[n] = self.dq
        rows = self.truth.inverse_dynamics(np.repeat(self.q[None], n + 1, axis=0), self._dq, self._ddq)
        mass = rows[:n] - gravity
        bias = rows[n]
        mass[np.diag_indices(n)] += self.robot.rotor_inertia
        self.dq = self.dq + self.dt * np.linalg.solve(mass, self.tau - bias)
        self.q = self.q + self.dt * self.dq

    def emergency_stop(self) -> None:
        self.stopped = True
