"""A watch for swings that grow: a loop that is about to run away shows it for some periods before it is fast.

A half-swing is the time between two changes of sign of a joint's speed beside what was asked for. Where seven of them
follow one another, three whole periods, and each has a higher peak than the one before, the loop feeds energy in. Small
swings do not count: friction, encoders and the planned motion itself make them, and they stay as they are.
"""

from __future__ import annotations

import math

import numpy as np

from ..dynamics import Robot, position_units, rotary
from ..foundation import Array

HALF_SWINGS = 7
"""Half-swings in a row that must grow: from the first to the last peak are three periods."""
EACH, ALL = 1.02, 1.5
"""Least growth from one half-swing to the next, and from the first to the last."""
LEAST_ROTARY, LEAST_LINEAR = 0.1, 0.025
"""Least peak of the last one [rad/s, m/s]."""
MOTION_TIME = 1.0
"""... and at least the fastest planned speed, which is remembered for about this time [s]: as stiction breaks and
inertias couple, fast travel shakes a sound arm for some periods. No joint is then faster than twice what was planned.
"""
NOISE = 0.05
"""Speeds below this share of the least peak have no sign."""
LEAST_TICKS, LEAST_TIME = 2.5, 0.004
"""Shortest half-swing that counts, in ticks and [s]: noise changes its sign as often as there are samples."""
EVEN = 2.5
"""Longest by shortest of the half-swings: a swing keeps its time."""
SLOWEST = 0.75
"""Longest half-swing that counts [s]: what takes longer is a motion, not a swing."""


class SwingWatch:
    """Watches the joints of an arm for swings that grow.

    Attributes:
        joint: Index of the joint that swings; None while none does.
        reason: Which joint swings and how, in one sentence; "" while none does.
    """

    def __init__(self, robot: Robot, *, slowest: float = SLOWEST) -> None:
        """Begin without a sample.

        Args:
            robot: The arm's model.
            slowest: Longest half-swing that counts [s].
        """
        self._names, self._units = robot.joint_names, position_units(robot)
        self._least = np.where(rotary(robot), LEAST_ROTARY, LEAST_LINEAR)
        self._slowest = slowest
        n = robot.n
        self._tick, self._last = np.inf, -np.inf
        self._sign, self._peak, self._since = np.zeros(n), np.zeros(n), np.zeros(n)
        self._peaks: list[list[float]] = [[] for _ in range(n)]
        self._lengths: list[list[float]] = [[] for _ in range(n)]
        self._planned = 0.0
        self.joint: int | None = None
        self.reason = ""

    def grows(self, time: float, speed: Array, planned: Array | None = None) -> bool:
        """Take the next sample and say whether a swing grows; once it does, it goes on saying so.

        Args:
            time: When it was taken [s].
            speed: Speeds beside what was asked for [rad/s or m/s], shape (n,).
            planned: Speeds that were asked for [rad/s or m/s], shape (n,); None for an arm that is to stand.
        """
        if self.reason:
            return True
        faded = math.exp(-max(time - self._last, 0.0) / MOTION_TIME)
        self._planned = max(faded * self._planned, 0.0 if planned is None else float(np.abs(planned).max(initial=0.0)))
        least = np.maximum(self._least, self._planned)
        if self._last < time:
            self._tick, self._last = min(self._tick, time - self._last), time
        size = np.abs(speed)
        sign = np.where(size > NOISE * self._least, np.sign(speed), 0.0)
        for joint in np.flatnonzero((sign != 0.0) & (sign != self._sign)):
            self._turned(int(joint), time, float(sign[joint]))
        self._peak = np.maximum(self._peak, size)
        return any(self._grown(int(joint), time) for joint in np.flatnonzero(self._peak >= least))

    def _turned(self, joint: int, time: float, sign: float) -> None:
        """Close a half-swing and begin the next."""
        lasted = time - float(self._since[joint])
        peaks, lengths = self._peaks[joint], self._lengths[joint]
        if self._sign[joint] == 0.0 or not max(LEAST_TIME, LEAST_TICKS * self._tick) <= lasted <= self._slowest:
            peaks.clear()
            lengths.clear()
        else:
            peaks.append(float(self._peak[joint]))
            lengths.append(lasted)
            del peaks[: -(HALF_SWINGS - 1)], lengths[: -(HALF_SWINGS - 1)]
        self._sign[joint], self._peak[joint], self._since[joint] = sign, 0.0, time

    def _grown(self, joint: int, time: float) -> bool:
        peaks = self._peaks[joint]
        if len(peaks) < HALF_SWINGS - 1 or time - self._since[joint] > self._slowest:
            return False
        lengths = self._lengths[joint]
        if max(lengths) > EVEN * min(lengths):
            return False
        seen = np.array([*peaks, float(self._peak[joint])])
        if not (np.all(seen[1:] >= EACH * seen[:-1]) and seen[-1] >= ALL * seen[0]):
            return False
        frequency = 0.5 * len(peaks) / sum(lengths)
        self.joint = joint
        self.reason = (
            f"joint '{self._names[joint]}' swings at {frequency:.2g} Hz, and the swing grows: from {seen[0]:.2g} to "
            f"{seen[-1]:.2g} {self._units[joint]}/s over three periods. Lower its gains, or state its rotor inertia"
        )
        return True
