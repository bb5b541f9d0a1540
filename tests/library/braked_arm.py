"""A small arm on brakes, written for the tests alone: a pendulum and a vertical slide, side by side on one base.

The two do not act on each other: J θ̈ = τ − m g l cos θ and m z̈ = f − m g. It shares nothing with counterpoise.plants.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

import counterpoise as cp
from counterpoise.control import EndState, Fault
from counterpoise.description import parse_urdf
from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag

MASS, LENGTH, INERTIA, SLIDE, G = 4.0, 0.5, 1.2, 3.0, 9.81
NEEDED = np.array([MASS * G * LENGTH, SLIDE * G])
"""What holds the arm at q = 0 [N m, N]: the pendulum lies level along +x, and turns about −y."""

URDF = f"""<robot name="side_by_side">
  <link name="base"/>
  <link name="pendulum"><inertial><origin xyz="{LENGTH} 0 0"/><mass value="{MASS}"/>
    <inertia ixx="0.05" iyy="{INERTIA - MASS * LENGTH**2}" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="carriage"><inertial><mass value="{SLIDE}"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="pendulum"/><axis xyz="0 -1 0"/>
    <limit lower="-1.5" upper="1.5" velocity="5" effort="60"/></joint>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="0 0 1"/>
    <limit lower="-0.5" upper="0.5" velocity="2" effort="80"/></joint>
</robot>"""

ENDS_AT_START = {
    Fault.BRAKES_NOT_OPENED: EndState.PLANT_STOP,
    Fault.BRAKES_CLOSED_AGAIN: EndState.PLANT_STOP,
    Fault.FELL: EndState.GRAVITY_STOP,
}
"""How a run ends whose start fails; tests/control/test_braked_start.py and test_fall_watch.py try each."""


def side_by_side() -> cp.Robot:
    """Return the arm's model."""
    return cp.Robot(parse_urdf(URDF.encode()))


class BareArm:
    """The arm without brakes, at q = 0 with no torque; effort reads what was written last."""

    adds_gravity = False
    effort_kind: Literal["torque", "current"] = "torque"
    watchdog = 0.1
    stop: Literal["zero", "brake"] = "zero"
    plate = None
    dt = 1e-3

    def __init__(self, robot: cp.Robot, *, heavier: float = 1.0, friction: float = 0.0) -> None:
        self.joint_names = robot.joint_names
        self.lower, self.upper = robot.lower, robot.upper
        self.velocity_limit, self.effort_limit = robot.velocity_limit, robot.effort_limit
        self.heavier, self.friction = heavier, friction
        self.q, self.dq, self.tau, self.push = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
        self.ticks = 0
        self.stopped = True
        self.calls: list[str] = []
        self.sent: list[Array] = []
        self.trace: list[Array] = []

    def __enter__(self) -> Self:
        self.stopped = False
        return self

    def __exit__(self, *_: object) -> None:
        self.emergency_stop()

    @property
    def locked(self) -> bool:
        return False

    def read(self) -> Sample:
        return Sample(self.ticks * self.dt, self.q.copy(), self.dq.copy(), self.tau.copy(), None, SampleFlag.NONE)

    def write(self, tau: Array) -> Array:
        self.tau = np.zeros(2) if self.stopped else np.array(tau)
        self.sent.append(self.tau)
        self.calls.append("write")
        self._move()
        self.trace.append(self.q.copy())
        self.ticks += 1
        return self.tau.copy()

    def emergency_stop(self) -> None:
        self.stopped = True
        self.calls.append("stop")

    def _move(self) -> None:
        if self.locked:
            self.dq[:] = 0.0
            return
        weight = self.heavier * NEEDED * np.array([math.cos(self.q[0]), 1.0])
        inertia = self.heavier * np.array([INERTIA, SLIDE])
        force = self.tau + self.push - weight
        sliding = self.dq + self.dt * force / inertia
        # Dry friction takes speed away, never more than there is.
        lost = self.dt * self.friction * NEEDED / inertia
        self.dq = np.sign(sliding) * np.maximum(np.abs(sliding) - lost, 0.0)
        self.q = self.q + self.dt * self.dq


class BrakedArm(BareArm):
    """The same on brakes, which it declares; they take ``opening`` [s] to open. Closed, it reads ``effort``."""

    stop: Literal["zero", "brake"] = "brake"

    def __init__(self, robot: cp.Robot, *, opening: float = 0.0, effort: Array | None = None, **more: Any) -> None:
        super().__init__(robot, **more)
        self.opening, self.effort = opening, effort
        self.opens_at = math.inf
        self.closed = True

    @property
    def held(self) -> Literal["brakes"] | None:
        return "brakes" if self.locked else None

    @property
    def locked(self) -> bool:
        return self.closed or self.ticks * self.dt < self.opens_at

    def read(self) -> Sample:
        sample = super().read()
        return replace(sample, tau=self.effort.copy()) if self.closed and self.effort is not None else sample

    def release(self) -> None:
        self.calls.append("release")
        self.closed, self.opens_at = False, self.ticks * self.dt + self.opening

    def emergency_stop(self) -> None:
        super().emergency_stop()
        self.closed = True
