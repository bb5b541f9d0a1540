"""Watching a plate at control rate: acceleration by a stated filter, and readings that may not be used.

The acceleration is the derivative of the measured velocity through a second-order Butterworth low-pass,

    ẋ₁ = x₂,   ẋ₂ = ω² (q̇ − x₁) − √2 ω x₂,   q̈ ≈ x₂,   ω = 2π · cutoff,

stepped by implicit Euler, so that uneven sampling and gaps cannot make it unstable. It lags by √2/ω; what that costs,
lag · |ẋ₂|, is added to the acceleration's standard deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from ..description.frozen import Array
from ..errors import InputError
from ..logs.sample import Sample, SampleFlag
from .torque_estimate import EstimateFlag


@dataclass(frozen=True, slots=True)
class OnlineSettings:
    """Numbers of the on-line estimate.

    Attributes:
        acceleration_cutoff: −3 dB frequency of the velocity filter whose derivative is the acceleration [Hz].
        max_gap: Time between two samples after which the filter starts anew [s].
        frozen_ticks: Identical readings in a row before a plate can count as frozen.
        frozen_travel: ... and how far a joint must have moved meanwhile [rad or m]; not asked for where the plate's
            noise is known: then identical readings are impossible.
        contact_sigma: How many standard deviations the base wrench may miss the model by.
        contact_force: Force [N] that is never called a contact; added to the standard deviation.
        contact_moment: Moment [N m] that is never called a contact.
        contact_ticks: Ticks in a row before a contact is reported.
    """

    acceleration_cutoff: float = 20.0
    max_gap: float = 0.1
    frozen_ticks: int = 20
    frozen_travel: float = 2e-3
    contact_sigma: float = 5.0
    contact_force: float = 1.0
    contact_moment: float = 0.3
    contact_ticks: int = 3

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for field in fields(self):
            value = getattr(self, field.name)
            whole = isinstance(field.default, int)
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or not 0 < value < 1e9:
                raise InputError(f"{field.name} is {value!r}; expected a positive {'whole ' if whole else ''}number")


class AccelerationFilter:
    """Acceleration out of velocities, as they come.

    Args:
        n: Number of joints.
        cutoff: −3 dB frequency [Hz].

    Attributes:
        ready: Whether the filter has settled since its start, three times its lag.
    """

    def __init__(self, n: int, cutoff: float) -> None:
        """Start without a past."""
        self._omega = 2.0 * math.pi * cutoff
        self.lag = math.sqrt(2.0) / self._omega
        self._velocity, self._acceleration, self._jerk = np.zeros(n), np.zeros(n), np.zeros(n)
        self._age = -1.0

    @property
    def ready(self) -> bool:
        """Whether it has settled."""
        return self._age >= 3.0 * self.lag

    @property
    def acceleration(self) -> Array:
        """Acceleration as it was one lag ago [rad/s² or m/s²], shape (n,), a new array."""
        return self._acceleration.copy()

    @property
    def lag_error(self) -> Array:
        """What the lag may cost: lag · |jerk|, shape (n,)."""
        error: Array = self.lag * np.abs(self._jerk)
        return error

    def restart(self, dq: Array) -> None:
        """Forget the past: velocities have been dq for ever."""
        self._velocity[:] = dq
        self._acceleration[:] = self._jerk[:] = 0.0
        self._age = 0.0

    def step(self, dq: Array, dt: float) -> None:
        """Take velocities [rad/s or m/s], shape (n,), measured dt [s] after the last ones."""
        if self._age < 0.0:
            self.restart(dq)
            return
        w, before = self._omega, self._acceleration.copy()
        gain = 1.0 + dt * w * (math.sqrt(2.0) + dt * w)
        self._acceleration += dt * w * w * (dq - self._velocity)
        self._acceleration /= gain
        self._velocity += dt * self._acceleration
        self._jerk = (self._acceleration - before) / dt
        self._age += dt


class FrozenWatch:
    """Notices a plate that repeats its last reading.

    Identical readings alone prove nothing: a coarse and quiet plate gives them while the arm rests. They are a fault
    when a joint has moved meanwhile, or where the plate is known to have noise.

    Attributes:
        ticks: How many times in a row the plate has given its last reading.
    """

    def __init__(self, settings: OnlineSettings, noisy: bool) -> None:
        """Start without a past; ``noisy`` says that the plate is known to have noise."""
        self._settings, self._noisy = settings, noisy
        self.reset()

    def reset(self) -> None:
        """Forget every reading."""
        self.ticks = 0
        self._reading = b""
        self._q: Array | None = None

    def frozen(self, reading: Array, q: Array) -> bool:
        """Take the next reading; return whether the plate is frozen by now.

        Args:
            reading: The plate's reading, finite, shape (6,).
            q: Positions then [rad or m], shape (n,).
        """
        bits = reading.tobytes()
        if self._q is None or bits != self._reading:
            self._reading, self._q, self.ticks = bits, np.array(q), 1
            return False
        self.ticks += 1
        if self.ticks < self._settings.frozen_ticks:
            return False
        return self._noisy or float(np.abs(q - self._q).max(initial=0.0)) > self._settings.frozen_travel


class PlateWatch:
    """Tells of each sample what of it may be used, and keeps the acceleration.

    Args:
        n: Number of joints.
        settings: The numbers.
        range: Largest reading per channel [N, N m], shape (6,); inf where unknown.
        frozen: Notices readings that are repeated.
    """

    def __init__(self, n: int, settings: OnlineSettings, range: Array, frozen: FrozenWatch) -> None:
        """Start without a past."""
        self._settings, self._range, self._frozen = settings, range, frozen
        self.filter = AccelerationFilter(n, settings.acceleration_cutoff)
        self.reset()

    def reset(self) -> None:
        """Forget every sample."""
        self._time = -math.inf
        self._frozen.reset()
        self._contact_ticks = 0
        self.filter = AccelerationFilter(len(self.filter.acceleration), self._settings.acceleration_cutoff)

    def see(self, sample: Sample) -> EstimateFlag:
        """Return what is wrong with a sample, and move the acceleration on."""
        flags = EstimateFlag.NONE
        given = sample.flags
        if given & SampleFlag.Q_INVALID or not np.isfinite(sample.q).all():
            flags |= EstimateFlag.POSITION_INVALID
        if given & SampleFlag.STALE or not sample.time > self._time:
            return flags | EstimateFlag.STALE | self._wrench_flags(sample, new=False)
        dt, self._time = sample.time - self._time, sample.time
        moving = not given & SampleFlag.DQ_INVALID and bool(np.isfinite(sample.dq).all())
        if not moving:
            flags |= EstimateFlag.NO_VELOCITY | EstimateFlag.NO_ACCELERATION
            self.filter = AccelerationFilter(len(sample.q), self._settings.acceleration_cutoff)
        elif not dt <= self._settings.max_gap:
            flags |= EstimateFlag.DROPOUT if math.isfinite(dt) else EstimateFlag.NONE
            self.filter.restart(sample.dq)
        else:
            self.filter.step(sample.dq, dt)
        if moving and not self.filter.ready:
            flags |= EstimateFlag.NO_ACCELERATION
        return flags | self._wrench_flags(sample, new=True)

    def contact(self, unexplained: Array, std: Array) -> bool:
        """Say whether the base wrench that no model explains is a contact by now.

        Args:
            unexplained: [N, N m], shape (6,).
            std: Its standard deviation, shape (6,).
        """
        settings = self._settings
        floor = np.array([settings.contact_force] * 3 + [settings.contact_moment] * 3)
        beyond = bool((np.abs(unexplained) > floor + settings.contact_sigma * std).any())
        self._contact_ticks = self._contact_ticks + 1 if beyond else 0
        return self._contact_ticks >= settings.contact_ticks

    def _wrench_flags(self, sample: Sample, *, new: bool) -> EstimateFlag:
        reading = sample.wrench
        if reading is None:
            return EstimateFlag.NO_WRENCH
        if sample.flags & SampleFlag.WRENCH_INVALID or reading.shape != (6,) or not np.isfinite(reading).all():
            return EstimateFlag.WRENCH_INVALID
        flags = EstimateFlag.NONE
        if sample.flags & SampleFlag.WRENCH_SATURATED or (np.abs(reading) >= self._range).any():
            flags |= EstimateFlag.SATURATED
        if new and self._frozen.frozen(reading, sample.q):
            flags |= EstimateFlag.FROZEN
        return flags
