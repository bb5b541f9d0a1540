"""A planar arm of two links behind the plant protocol, written down by hand: no code of counterpoise.plants is in it.

Equations of motion in closed form; dry friction as impulses that stop a joint or slide at their bound, solved joint by
joint; torque through one tick of delay; positions in counts, velocities from counts through a low-pass filter.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

import counterpoise as cp
from counterpoise.foundation import Array
from counterpoise.recording import Sample, SampleFlag

MASS, LENGTH, CENTRE, TURN = (4.0, 2.5), (0.5, 0.4), (0.25, 0.18), (0.09, 0.04)
"""Of both links: mass [kg], length, distance of the centre of mass from the joint [m], inertia about it [kg m²]."""
EFFORT, SPEED = (80.0, 30.0), (3.0, 3.0)
GRAVITY = 9.81

URDF = """<robot name="two_links">
  <link name="base"/>
  {links}
</robot>
"""
LINK = """<link name="link{i}"><inertial><origin xyz="{c} 0 0"/><mass value="{m}"/>
    <inertia ixx="{t}" ixy="0" ixz="0" iyy="{t}" iyz="0" izz="{t}"/></inertial></link>
  <joint name="joint{i}" type="revolute"><parent link="{parent}"/><child link="link{i}"/><origin xyz="{x} 0 0"/>
    <axis xyz="0 -1 0"/><limit lower="-3" upper="3" effort="{e}" velocity="{v}"/></joint>"""


def two_links(folder: Path) -> cp.Robot:
    """Return the arm's model, read from a URDF file, which states no rotors."""
    links = "\n  ".join(
        LINK.format(
            i=i + 1,
            c=CENTRE[i],
            m=MASS[i],
            t=TURN[i],
            parent="link1" if i else "base",
            x=LENGTH[0] if i else 0.0,
            e=EFFORT[i],
            v=SPEED[i],
        )
        for i in range(2)
    )
    path = folder / "two_links.urdf"
    path.write_text(URDF.format(links=links))
    return cp.load(path)


class TwoLinkArm:
    """The arm; it stands at ``q``, held."""

    adds_gravity = False
    effort_kind: Literal["torque", "current"] = "torque"
    watchdog: float | None = 0.1
    stop: Literal["zero", "brake"] = "brake"
    plate = None
    joint_names = ("joint1", "joint2")
    lower, upper = np.full(2, -3.0), np.full(2, 3.0)
    effort_limit, velocity_limit = np.array(EFFORT), np.array(SPEED)

    def __init__(
        self, rotor: Any, friction: Any, *, q: Any = (0.6, 0.5), dt: float = 2e-3, count: float = 1e-4
    ) -> None:
        self.rotor, self.friction = tuple(map(float, rotor)), tuple(map(float, friction))
        self.dt, self.count = dt, count
        self.q, self.dq = np.array(q, dtype=np.float64), np.zeros(2)
        self.top = np.zeros(2)
        self.furthest = np.zeros(2)
        self.time = 0.0
        self.ended = False
        self._start = self.q.copy()
        self._acts = self._gravity(self.q)
        self._sent = np.array(self._acts)
        self._seen = self._counts()
        self._speed = np.zeros(2)

    def mass(self, q: Array) -> Array:
        """Return the inertia of links and rotors [kg m²], shape (2, 2)."""
        (m1, m2), (l1, _), (c1, c2), (t1, t2) = MASS, LENGTH, CENTRE, TURN
        cosine = math.cos(q[1])
        own = t2 + m2 * c2**2
        both = own + m2 * l1 * c2 * cosine
        first = t1 + m1 * c1**2 + own + m2 * l1**2 + 2.0 * m2 * l1 * c2 * cosine
        return np.array([[first + self.rotor[0], both], [both, own + self.rotor[1]]])

    def _gravity(self, q: Array) -> Array:
        (m1, m2), (l1, _), (c1, c2) = MASS, LENGTH, CENTRE
        tip = m2 * GRAVITY * c2 * math.cos(q[0] + q[1])
        return np.array([(m1 * c1 + m2 * l1) * GRAVITY * math.cos(q[0]) + tip, tip])

    def _step(self, h: float) -> None:
        q1, q2 = self.q.tolist()
        v1, v2 = self.dq.tolist()
        (m1, m2), (l1, _), (c1, c2), (t1, t2) = MASS, LENGTH, CENTRE, TURN
        cosine, own = math.cos(q2), t2 + m2 * c2**2
        b = own + m2 * l1 * c2 * cosine
        a = t1 + m1 * c1**2 + own + m2 * l1**2 + 2.0 * m2 * l1 * c2 * cosine + self.rotor[0]
        d = own + self.rotor[1]
        whole = a * d - b * b
        w11, w12, w22 = d / whole, -b / whole, a / whole
        swirl = m2 * l1 * c2 * math.sin(q2)
        tip = m2 * GRAVITY * c2 * math.cos(q1 + q2)
        f1 = self._acts[0] + swirl * (2.0 * v1 * v2 + v2 * v2) - (m1 * c1 + m2 * l1) * GRAVITY * math.cos(q1) - tip
        f2 = self._acts[1] - swirl * v1 * v1 - tip
        v1 += h * (w11 * f1 + w12 * f2)
        v2 += h * (w12 * f1 + w22 * f2)
        most1, most2 = self.friction[0] * h, self.friction[1] * h
        i1 = i2 = 0.0
        for _ in range(5):  # each joint is stopped, or slowed by all the friction that it has
            i1 = min(max(-(v1 + w12 * i2) / w11, -most1), most1)
            i2 = min(max(-(v2 + w12 * i1) / w22, -most2), most2)
        v1 += w11 * i1 + w12 * i2
        v2 += w12 * i1 + w22 * i2
        self.dq = np.array([v1, v2])
        self.q = np.array([q1 + h * v1, q2 + h * v2])

    def _counts(self) -> Array:
        return np.round(self.q / self.count) * self.count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.emergency_stop()

    def emergency_stop(self) -> None:
        self.ended = True

    def read(self) -> Sample:
        arrays = [np.array(value) for value in (self._seen, self._speed, self._sent)]
        for array in arrays:
            array.setflags(write=False)
        return Sample(self.time, *arrays, None, SampleFlag(0))

    def write(self, tau: Array) -> Array:
        if self.ended:
            return np.zeros(2)
        coming, self._sent = self._sent, np.array(tau)
        self._acts = coming.tolist()
        for _ in range(4):
            self._step(0.25 * self.dt)
        self.top = np.maximum(self.top, np.abs(self.dq))
        self.furthest = np.maximum(self.furthest, np.abs(self.q - self._start))
        before, self._seen = self._seen, self._counts()
        self._speed = self._speed + 0.4 * ((self._seen - before) / self.dt - self._speed)
        self.time += self.dt
        return np.array(tau)
