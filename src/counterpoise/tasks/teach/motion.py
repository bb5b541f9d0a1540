"""A motion along a curve: the curve has its own time s, and a time law s(t) says how fast it is gone through.

The law begins and ends at rest: ds/dt rises from 0 to ``speed`` as speed · σ²(3 − 2σ), σ = t/ramp, and falls likewise
at the end. So q̇ = q'(s) ṡ is 0 at both ends even where the curve itself is not at rest there, and
q̈ = q''(s) ṡ² + q'(s) s̈ has no jumps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...control import move_time
from ...errors import InputError
from ...foundation import Array

RAMP = 0.3
"""Time in which the speed along a curve rises to its value [s]."""
SAME = 1e-9
"""Poses nearer than this are one [rad or m]."""


class MotionStates(NamedTuple):
    """A motion at some instants.

    Attributes:
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n).
        ddq: Accelerations [rad/s² or m/s²], shape (k, n).
    """

    q: Array
    dq: Array
    ddq: Array


class Curve:
    """Piecewise polynomials of all joints over the curve's own time.

    Attributes:
        duration: Its length in its own time [s].
    """

    def __init__(self, polynomials: Any) -> None:
        """Wrap a scipy PPoly over times from 0, with values of shape (n,)."""
        self._parts = (polynomials, polynomials.derivative(1), polynomials.derivative(2))
        self.duration = float(polynomials.x[-1])

    @classmethod
    def smooth(cls, time: Array, q: Array) -> Curve:
        """Return the curve with continuous second derivatives through rows of a path.

        Args:
            time: Increasing times from 0 [s], shape (k,).
            q: Positions [rad or m], shape (k, n).
        """
        from scipy.interpolate import CubicSpline  # type: ignore[import-untyped]

        return cls(CubicSpline(time, q, bc_type="natural" if len(time) < 4 else "not-a-knot"))

    @classmethod
    def stopping(cls, poses: Array, speed: Array, acceleration: Array, dwell: float = 0.0) -> Curve:
        """Return straight moves from pose to pose with minimum jerk, at rest at each.

        Args:
            poses: Poses, no two neighbours the same [rad or m], shape (k, n).
            speed: Largest speeds [rad/s or m/s], shape (n,).
            acceleration: Largest accelerations [rad/s² or m/s²], shape (n,).
            dwell: Time at each pose between two moves [s].
        """
        from scipy.interpolate import PPoly

        coefficients, breaks = [], [0.0]
        for index, (begin, end) in enumerate(pairwise(poses)):
            if index and dwell > 0.0:
                coefficients.append(_constant(begin))
                breaks.append(breaks[-1] + dwell)
            way = end - begin
            needed = move_time(way, speed, acceleration)
            powers = (6.0 / needed**5, -15.0 / needed**4, 10.0 / needed**3)
            coefficients.append(np.array([*(power * way for power in powers), 0.0 * way, 0.0 * way, begin]))
            breaks.append(breaks[-1] + needed)
        return cls(PPoly(np.stack(coefficients, axis=1), np.array(breaks)))

    @classmethod
    def passing(cls, poses: Array, speed: Array, acceleration: Array) -> Curve:
        """Return a spline through poses without a stop, at rest at its ends, within speeds and accelerations.

        Args:
            poses: Poses, no two neighbours the same [rad or m], shape (k, n).
            speed: Largest speeds [rad/s or m/s], shape (n,).
            acceleration: Largest accelerations [rad/s² or m/s²], shape (n,).
        """
        from scipy.interpolate import CubicSpline

        # Times of moves from rest to rest, which do not vanish for short ones, then all scaled alike.
        moves = [move_time(end - begin, speed, acceleration) for begin, end in pairwise(poses)]
        times = np.concatenate([[0.0], np.cumsum(moves)])
        first = CubicSpline(times, poses, bc_type="clamped")
        by_speed = float(np.max(_peak_speeds(first) / speed))
        # Between its knots the acceleration of a cubic spline is straight: its peaks are at knots.
        by_acceleration = math.sqrt(float(np.max(np.abs(first(times, 2)) / acceleration)))
        return cls(CubicSpline(times * max(by_speed, by_acceleration), poses, bc_type="clamped"))

    def at(self, s: npt.ArrayLike) -> MotionStates:
        """Return position and its first two derivatives by s; beyond the ends, those at the ends."""
        place = np.clip(np.asarray(s, dtype=np.float64), 0.0, self.duration)
        position, slope, bend = (part(place) for part in self._parts)
        return MotionStates(position, slope, bend)


@dataclass(frozen=True, slots=True, eq=False)
class CurveMotion:
    """A curve gone through at a speed.

    Attributes:
        curve: The curve.
        speed: Its own seconds per second, > 0.
        ramp: Time in which the speed is reached, and left [s].
    """

    curve: Curve
    speed: float = 1.0
    ramp: float = RAMP

    def __post_init__(self) -> None:
        """Refuse what is no speed; shorten the ramps of a short motion."""
        if not (math.isfinite(self.speed) and self.speed > 0.0):
            raise InputError(f"speed is {self.speed!r}; expected a number above 0")
        object.__setattr__(self, "ramp", min(self.ramp, self.curve.duration / self.speed))

    @property
    def duration(self) -> float:
        """Time that it takes [s]."""
        return self.curve.duration / self.speed + self.ramp

    def at(self, time: npt.ArrayLike) -> MotionStates:
        """Return positions, velocities and accelerations at times after its beginning [s], shape () or (k,)."""
        moments = np.asarray(time, dtype=np.float64)
        place, rate, change = self._law(moments)
        on_curve = self.curve.at(place)
        rate, change = rate[..., None], change[..., None]
        return MotionStates(on_curve.q, on_curve.dq * rate, on_curve.ddq * rate**2 + on_curve.dq * change)

    def _law(self, time: Array) -> tuple[Array, Array, Array]:
        """Return s, ds/dt and d²s/dt² at times [s]."""
        ramp, speed, total = self.ramp, self.speed, self.duration
        up, down = np.clip(time / ramp, 0.0, 1.0), np.clip((total - time) / ramp, 0.0, 1.0)
        middle = np.clip(time, ramp, max(total - ramp, ramp)) - ramp
        done, left = up**3 - 0.5 * up**4, down**3 - 0.5 * down**4
        place = speed * (ramp * done + middle + ramp * (0.5 - left))
        rate = speed * np.minimum(up**2 * (3.0 - 2.0 * up), down**2 * (3.0 - 2.0 * down))
        change = speed * 6.0 * (up * (1.0 - up) - down * (1.0 - down)) / ramp
        return place, rate, change


def _peak_speeds(spline: Any) -> Array:
    """Return the largest speeds of a cubic spline, shape (n,): at its knots, or where its acceleration is zero."""
    a, b, c = spline.c[:3]
    turn = np.divide(-b, 3.0 * a, out=np.zeros_like(a), where=a != 0.0)
    inside = np.clip(turn, 0.0, np.diff(spline.x)[:, None])
    within = np.abs((3.0 * a * inside + 2.0 * b) * inside + c)
    return np.asarray(np.max(np.concatenate([within, np.abs(spline(spline.x, 1))]), axis=0))


def _constant(pose: Array) -> Array:
    return np.array([*(np.zeros_like(pose) for _ in range(5)), pose])
