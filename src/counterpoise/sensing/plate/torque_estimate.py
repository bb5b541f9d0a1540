"""The estimate of joint torques from the plate at control rate: torques, standard deviations, and what may be wrong.

``TorqueEstimate`` is one estimate, with whether it may be relied on, and why not; ``OnlineEstimate`` makes it of each
sample; ``PlateWatch`` finds readings that may not be used.

The acceleration is the derivative of the measured velocity through a second-order Butterworth low-pass,

    ẋ₁ = x₂,   ẋ₂ = ω² (q̇ − x₁) − √2 ω x₂,   q̈ ≈ x₂,   ω = 2π · cutoff,

stepped by implicit Euler, so that uneven sampling and gaps cannot make it unstable. It lags by √2/ω; what that costs,
lag · |ẋ₂|, is added to the acceleration's standard deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import IntFlag
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot
from ...errors import InputError
from ...foundation import Array, PublishedData
from ...recording import Sample, SampleFlag
from .gravity_table import LinearTable

if TYPE_CHECKING:
    from .sensor import BaseSensor


class EstimateFlag(IntFlag):
    """What is wrong with an estimate, or what it leaves out."""

    NONE = 0
    NO_WRENCH = 1
    """The sample has no plate reading."""
    WRENCH_INVALID = 2
    """The reading is not a number, or its source marked it so."""
    SATURATED = 4
    """A channel of the plate is at the end of its range."""
    FROZEN = 8
    """The reading has not changed for many ticks although it should have."""
    STALE = 16
    """The sample repeats an older one, or goes back in time."""
    DROPOUT = 32
    """Samples were missing before this one: the acceleration starts anew."""
    POSITION_INVALID = 64
    """The joint positions are not measurements."""
    OUT_OF_TARE_RANGE = 128
    """A joint has left the pose of the tare by more than the form's stated range."""
    CONTACT = 256
    """The plate feels more than the model explains: something touches the robot, or the model is wrong."""
    OUTSIDE_TABLE = 512
    """A joint is outside the gravity table."""
    NO_VELOCITY = 1024
    """There is no velocity: what the links' motion takes is left out. Not a fault of a robot at rest."""
    NO_ACCELERATION = 2048
    """There is no acceleration yet: what it takes is left out."""


UNUSABLE = (
    EstimateFlag.NO_WRENCH
    | EstimateFlag.WRENCH_INVALID
    | EstimateFlag.SATURATED
    | EstimateFlag.FROZEN
    | EstimateFlag.STALE
    | EstimateFlag.POSITION_INVALID
    | EstimateFlag.OUT_OF_TARE_RANGE
    | EstimateFlag.OUTSIDE_TABLE
)
"""Flags that make the estimates of all joints invalid."""


@dataclass(frozen=True, slots=True, eq=False)
class TorqueEstimate(PublishedData):
    """Torques of all joints at one instant.

    Attributes:
        value: Torques [N m, or N for linear joints], shape (n,); NaN where there is nothing to compute from.
        std: Standard deviations, shape (n,); infinite where the value is NaN.
        valid: Whether all joints' values may be relied on.
        valid_joints: Whether each joint's may, shape (n,), bool: a contact leaves those right that carry everything.
        flags: What is wrong or left out.
        includes_gravity: False for τ_d; True for τ_d + g, the torque at the joint.
        form: The form that was computed.
        time: When the sample was measured [s].
    """

    value: Array
    std: Array
    valid: bool
    valid_joints: npt.NDArray[np.bool_]
    flags: EstimateFlag
    includes_gravity: bool
    form: str
    time: float

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the flags that are set, e.g. ("SATURATED",)."""
        return tuple(flag.name for flag in EstimateFlag if flag in self.flags and flag.name is not None)


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


class OnlineEstimate:
    """The on-line side of a base sensor: it keeps the past of the samples.

    Args:
        sensor: The base sensor.
        settings: The numbers.
    """

    def __init__(self, sensor: BaseSensor, settings: OnlineSettings) -> None:
        """Start without a past."""
        self.sensor = sensor
        self.watch = PlateWatch(sensor.robot.n, settings, sensor.range, sensor.frozen_watch())
        self._alone = _carries_everything(sensor.robot)

    def reset(self) -> None:
        """Forget the samples."""
        self.watch.reset()

    def estimate(self, sample: Sample, ddq: npt.ArrayLike | None, form: str, includes_gravity: bool) -> TorqueEstimate:
        """Estimate the torques of the next sample; see BaseSensor.estimate."""
        sensor = self.sensor
        used = sensor.resolved_form(form)
        flags = self.watch.see(sample)
        moves = used != "tared" and not flags & EstimateFlag.NO_VELOCITY
        reading, tare = sample.wrench, sensor.tare_state
        if reading is None or flags & (EstimateFlag.WRENCH_INVALID | EstimateFlag.POSITION_INVALID):
            return self._nothing(sample, flags, used, includes_gravity)
        acceleration, error = self._acceleration(ddq, moves, flags)
        if acceleration is not None:
            flags &= ~EstimateFlag.NO_ACCELERATION
        velocity = sample.dq if moves else None
        try:
            value = sensor.joint_torques(sample.q, reading, velocity, acceleration, used)
        except InputError:
            if not isinstance(sensor.compensator.generator, LinearTable):
                raise
            return self._nothing(sample, flags | EstimateFlag.OUTSIDE_TABLE, used, includes_gravity)
        since = 0.0 if tare is None or tare.time is None else sample.time - tare.time
        std = sensor.std_of(sample.q, used, error, since, includes_gravity)
        if includes_gravity:
            value = value + sensor.robot.gravity(sample.q)
        if tare is not None and used != "full" and bool(tare.left(sample.q, model=used == "tared+model")):
            flags |= EstimateFlag.OUT_OF_TARE_RANGE
        good = not flags & UNUSABLE
        joints = np.full(sensor.robot.n, good)
        known = not flags & (EstimateFlag.NO_ACCELERATION | EstimateFlag.NO_VELOCITY)
        if used != "tared" and good and known and self._touched(sample, velocity, acceleration, error, used, since):
            flags |= EstimateFlag.CONTACT
            joints &= self._alone
        return TorqueEstimate(value, std, bool(joints.all()), joints, flags, includes_gravity, used, float(sample.time))

    def _acceleration(
        self, given: npt.ArrayLike | None, moves: bool, flags: EstimateFlag
    ) -> tuple[Array | None, Array | None]:
        """Return the acceleration to use and its standard deviation, both None where there is none."""
        if not moves:
            return None, None
        known = self.sensor.variance.uncertainty.acceleration
        if given is not None:
            return np.asarray(given, dtype=np.float64), known
        if flags & EstimateFlag.NO_ACCELERATION:
            return None, None
        return self.watch.filter.acceleration, np.hypot(known, self.watch.filter.lag_error)

    def _touched(
        self,
        sample: Sample,
        velocity: Array | None,
        acceleration: Array | None,
        error: Array | None,
        form: str,
        since: float,
    ) -> bool:
        """Say whether the base wrench shows more than the model explains."""
        sensor = self.sensor
        if sample.wrench is None or sensor.robot.tree.refusal or not sensor.robot.tree.mass.any():
            return False
        q, tare = sample.q, sensor.tare_state if form != "full" else None
        measured = sensor.frame.to_base @ sample.wrench - sensor.offset(form)
        dynamic = sensor.compensator.dynamic_wrench(q, measured)
        if velocity is not None or acceleration is not None:
            dynamic = dynamic - (sensor.robot.base_wrench(q, velocity, acceleration) - sensor.robot.base_wrench(q))
        reading = sensor.variance.reading_variance(
            tare is not None, None if tare is None else tare.reading_variance, since
        )
        start = None if tare is None else tare.q
        return self.watch.contact(
            dynamic, sensor.variance.wrench_std(q, reading, q_tare=start, gravity=True, acceleration=error)
        )

    def _nothing(self, sample: Sample, flags: EstimateFlag, form: str, includes_gravity: bool) -> TorqueEstimate:
        n = self.sensor.robot.n
        missing, unknown = np.full(n, np.nan), np.full(n, np.inf)
        none = np.zeros(n, dtype=bool)
        return TorqueEstimate(missing, unknown, False, none, flags, includes_gravity, form, float(sample.time))


def _carries_everything(robot: Robot) -> npt.NDArray[np.bool_]:
    """Say of each joint whether every moving link is distal to it, shape (n,): no contact can corrupt its estimate."""
    tree = robot.tree
    first = [int(tree.q_index[body]) for body in range(tree.bodies) if tree.parent[body] < 0]
    return np.array([len(first) == 1 and joint == first[0] for joint in range(robot.n)])
