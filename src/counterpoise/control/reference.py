"""Reference signals: where the joints should be, and how fast they should move, as a function of time.

Time counts from the moment the law that follows the signal was reset. A centre or a pose left open is the one the arm
has then, so that a law can take over without a jump.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, frozen

SPEED_PEAK = 1.875
"""Largest speed of a minimum-jerk move over its mean: 15/8."""
ACCELERATION_PEAK = 10.0 / math.sqrt(3.0)
"""Largest acceleration of a minimum-jerk move, times its duration squared, over its length."""


class Desired(NamedTuple):
    """What a law should bring about.

    Attributes:
        q: Positions [rad or m], shape (n,).
        dq: Velocities [rad/s or m/s], shape (n,).
    """

    q: Array
    dq: Array


@runtime_checkable
class Reference(Protocol):
    """A reference signal."""

    def reset(self, q: Array) -> None:
        """Begin at time 0 with the arm at q [rad or m], shape (n,)."""
        ...

    def at(self, time: float) -> Desired:
        """Return what is desired ``time`` seconds after the reset."""
        ...


class Hold:
    """Stay at a pose."""

    def __init__(self, q: npt.ArrayLike | None = None) -> None:
        """Stay at ``q`` [rad or m], shape (n,); None for where the arm is when the law starts."""
        self._fixed = None if q is None else _vector(q, "q")
        self._desired = None if self._fixed is None else Desired(self._fixed, frozen(np.zeros(len(self._fixed))))

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,)."""
        if self._fixed is None:
            self._desired = Desired(frozen(q), frozen(np.zeros(len(q))))
        else:
            _same_length(self._fixed, q, "q")

    def at(self, time: float) -> Desired:
        """Return the pose, at rest."""
        if self._desired is None:
            raise not_begun()
        return self._desired


class _Periodic:
    """Moves about a centre; what is common to triangle and sine."""

    def __init__(self, amplitude: npt.ArrayLike, period: float, centre: npt.ArrayLike | None = None) -> None:
        """Swing about ``centre``.

        Args:
            amplitude: How far to either side [rad or m], shape (n,); 0 for joints that stay.
            period: Time of one swing there and back [s].
            centre: Pose in the middle [rad or m], shape (n,); None for where the arm is when the law starts.
        """
        self._amplitude = _vector(amplitude, "amplitude")
        if not 1e-3 <= period <= 1e6:
            raise InputError(f"period is {period!r}; expected 1e-3 to 1e6 s")
        self._period = float(period)
        self._fixed = None if centre is None else _vector(centre, "centre")
        if self._fixed is not None:
            _same_length(self._amplitude, self._fixed, "centre")
        self._centre = self._fixed

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,)."""
        _same_length(self._amplitude, q, "amplitude")
        self._centre = frozen(q) if self._fixed is None else self._fixed

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset."""
        if self._centre is None:
            raise not_begun()
        shape, slope = self._wave(time / self._period)
        return Desired(self._centre + shape * self._amplitude, (slope / self._period) * self._amplitude)

    def _wave(self, cycles: float) -> tuple[float, float]:
        raise NotImplementedError


class Triangle(_Periodic):
    """Swing at constant speed about a centre: 4 amplitude / period, reversed at the ends; begins upwards."""

    def _wave(self, cycles: float) -> tuple[float, float]:
        part = cycles % 1.0
        if part < 0.25:
            return 4.0 * part, 4.0
        if part < 0.75:
            return 2.0 - 4.0 * part, -4.0
        return 4.0 * part - 4.0, 4.0


class Sine(_Periodic):
    """Swing as a sine about a centre; begins upwards, at full speed."""

    def _wave(self, cycles: float) -> tuple[float, float]:
        angle = 2.0 * np.pi * cycles
        return float(np.sin(angle)), float(2.0 * np.pi * np.cos(angle))


def minimum_jerk(part: float) -> tuple[float, float]:
    """Return how much of a move with minimum jerk is done after a share of its time, and the slope over that share.

    s(σ) = 10 σ³ − 15 σ⁴ + 6 σ⁵, from rest to rest; the velocity is the way times s'(σ) by the time of the move.

    Args:
        part: The share σ of the time, 0 to 1.
    """
    return part**3 * (10.0 - 15.0 * part + 6.0 * part * part), 30.0 * part**2 * (1.0 - part) ** 2


def move_time(distance: Array, speed: Array, acceleration: Array | None = None) -> float:
    """Return the time of a minimum-jerk move within speeds and accelerations [s].

    Args:
        distance: How far each joint goes [rad or m], shape (n,).
        speed: Largest speeds [rad/s or m/s], shape (n,).
        acceleration: Largest accelerations [rad/s² or m/s²], shape (n,); None for any.
    """
    time = SPEED_PEAK * float(np.max(np.abs(distance) / speed, initial=0.0))
    if acceleration is None:
        return time
    return max(time, math.sqrt(ACCELERATION_PEAK * float(np.max(np.abs(distance) / acceleration, initial=0.0))))


def smooth_step(part: float) -> float:
    """Return σ²(3 − 2σ) of a share σ from 0 to 1: from 0 to 1, level at both ends."""
    return part * part * (3.0 - 2.0 * part)


def not_begun() -> InputError:
    """Return the error of a reference, or a path, that is asked before its reset."""
    return InputError("the reference was not reset; the law that follows it has not started")


class Eased:
    """Another reference, faded in: s(t) of the way from the start to it, s rising from 0 to 1 with minimum jerk.

    A sine begins at full speed; eased, it begins at rest.
    """

    def __init__(self, reference: Reference, over: float) -> None:
        """Fade ``reference`` in over a time [s]."""
        if not 1e-3 <= over <= 1e6:
            raise InputError(f"over is {over!r}; expected a time from 1e-3 to 1e6 s")
        self.reference = reference
        self._over = float(over)
        self._start: Array | None = None

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,)."""
        self.reference.reset(q)
        self._start = frozen(q)

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset."""
        wanted = self.reference.at(time)
        if time >= self._over or self._start is None:
            return wanted
        part = max(time, 0.0) / self._over
        fraction, slope = minimum_jerk(part)
        distance = wanted.q - self._start
        return Desired(self._start + fraction * distance, fraction * wanted.dq + slope / self._over * distance)


class PoseList:
    """Go through poses, each move with minimum jerk, at rest at both ends."""

    def __init__(self, poses: Sequence[npt.ArrayLike], *, speed: npt.ArrayLike, dwell: float = 0.0) -> None:
        """Go from where the arm is to the first pose, then to the next, and stay at the last.

        Args:
            poses: Poses [rad or m], each of shape (n,).
            speed: Largest speed of each joint [rad/s or m/s], one or n; the slowest joint sets the time of a move.
            dwell: Time to stay at each pose [s].
        """
        if len(poses) == 0:
            raise InputError("there are no poses; give at least one")
        self._poses = [_vector(pose, f"poses[{index}]") for index, pose in enumerate(poses)]
        for index, pose in enumerate(self._poses):
            _same_length(self._poses[0], pose, f"poses[{index}]")
        self._speed = np.broadcast_to(np.asarray(speed, dtype=np.float64), self._poses[0].shape)
        if not np.all((self._speed > 0.0) & np.isfinite(self._speed)):
            raise InputError(f"speed is {self._speed.tolist()}; expected positive numbers [rad/s or m/s]")
        if not 0.0 <= dwell <= 1e6:
            raise InputError(f"dwell is {dwell!r}; expected a time from 0 [s]")
        self._dwell = float(dwell)
        self._begins: list[float] = []

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,)."""
        _same_length(self._poses[0], q, "poses[0]")
        self._path = [frozen(q), *self._poses]
        moves = zip(self._path[:-1], self._path[1:], strict=True)
        self._times = [move_time(b - a, self._speed) for a, b in moves]
        self._begins = [0.0]
        for time in self._times:
            self._begins.append(self._begins[-1] + time + self._dwell)
        self._rest = frozen(np.zeros(len(q)))

    @property
    def duration(self) -> float:
        """Time until the last pose has been held for the dwell time [s]; known after the reset."""
        if not self._begins:
            raise not_begun()
        return self._begins[-1]

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset."""
        if time >= self.duration:
            return Desired(self._path[-1], self._rest)
        move = int(np.searchsorted(self._begins, max(time, 0.0), side="right")) - 1
        begin, end, needed = self._path[move], self._path[move + 1], self._times[move]
        part = (time - self._begins[move]) / needed if needed > 0.0 else 1.0
        if part >= 1.0:
            return Desired(end, self._rest)
        part = max(part, 0.0)
        done, slope = minimum_jerk(part)
        return Desired(begin + done * (end - begin), slope / needed * (end - begin))


def _vector(value: npt.ArrayLike, name: str) -> Array:
    try:
        vector = frozen(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not a list of numbers: {error}") from error
    if vector.ndim != 1 or not np.all(np.isfinite(vector)):
        raise InputError(f"{name} has shape {vector.shape}; expected finite numbers, one per joint")
    return vector


def _same_length(first: Array, second: Array, name: str) -> None:
    if len(first) != len(second):
        raise InputError(f"{name}: {len(first)} joints here and {len(second)} there; they must be the same")
