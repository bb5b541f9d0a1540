"""The safety filter: every sample is checked and every torque made fit to be sent, whatever a law returns.

The order of a tick: read → check the sample → laws → limit (sum, saturate, limit the rate, check) → write. Specified in
docs/safety-filter.md. The numbers of the filter and of the safe stop are one frozen object, ``SafetySettings``, every
entry with its unit; the arithmetic is in filter_core.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array
from ..recording import Sample
from .fault import REFUSED, Fault, FilterFlag, describe
from .filter_core import FilterCore
from .law import checked_dt
from .limits import joint_array, resolve_limits
from .plant import Plant

_MAY_BE_ZERO = ("hold_ticks", "blend_time", "settle_time", "ramp_time", "blind_time", "position_margin", "max_overruns")


@dataclass(frozen=True, slots=True)
class SafetySettings:
    """When a sample is bad, how long that is bridged, and how the arm is then stopped.

    Attributes:
        hold_ticks: Bad ticks in a row that are bridged by holding the torque; one more stops the arm.
        good_ticks_per_bad: Good ticks that make up for one bad tick. With 4, the loop stops when more than one tick in
            five stays bad.
        position_margin: How far q may lie beyond its limits [rad or m]; never more than 5 % of the joint's range.
        jump_slack: How much further than its top speed allows q may move between two samples [rad or m]: noise and
            the encoder's resolution.
        max_lag_ticks: How many periods later than at the start samples may arrive.
        frozen_ticks: Bit-identical samples in a row before a sensor can count as frozen.
        frozen_travel: ... and how far the joint must have moved meanwhile by its own velocity reading [rad or m];
            keep it above two counts of the encoder.
        frozen_torque: ... or by what share of the effort limit the torque must have changed without any effort reading
            following it.
        blend_time: Time from the torque found at the start to the law's, and from one law to the next [s].
        settle_time: Safe stop: gravity hold with damping [s].
        ramp_time: Safe stop of an arm without brakes: then gravity fades to zero, with damping [s].
        blind_time: Safe stop with q unknown: how long the last torque is held [s].
        stop_damping: Share of the effort limit that the damping of a safe stop may use at most, and uses at top speed.
        max_overruns: Late ticks in a row that are bridged; good_ticks_per_bad holds here as well.
        history: Ticks kept for the error report.
        max_events: Events kept in the report; further ones are counted.
    """

    hold_ticks: int = 5
    good_ticks_per_bad: int = 4
    position_margin: float = 0.1
    jump_slack: float = 0.01
    max_lag_ticks: int = 10
    frozen_ticks: int = 20
    frozen_travel: float = 2e-3
    frozen_torque: float = 0.02
    blend_time: float = 0.5
    settle_time: float = 0.3
    ramp_time: float = 1.0
    blind_time: float = 0.05
    stop_damping: float = 0.3
    max_overruns: int = 5
    history: int = 200
    max_events: int = 1000

    def __post_init__(self) -> None:
        """Refuse numbers that no run can use."""
        for field in fields(self):
            value = getattr(self, field.name)
            whole = isinstance(field.default, int)
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise InputError(f"{field.name} is {value!r}; expected a {'whole number' if whole else 'number'}")
            least = 0 if field.name in _MAY_BE_ZERO else "above 0"
            if not (math.isfinite(value) and value <= 1e6 and (value >= 0 if least == 0 else value > 0)):
                raise InputError(f"{field.name} is {value!r}; expected a number {least} to 1e6")
        if self.stop_damping > 1.0:
            raise InputError(f"stop_damping is {self.stop_damping!r}; it is a share of the effort limit, at most 1")


_REFUSED = int(REFUSED)
_GAP_SLACK = 1.5  # periods beyond the bridged ticks, for jitter


class Budget:
    """Counts bad ticks against a number that is bridged; good ticks make up for bad ones."""

    __slots__ = ("_debt", "_good_per_bad", "_most")

    def __init__(self, ticks: int, good_per_bad: int) -> None:
        """Bridge ``ticks`` bad ticks in a row; ``good_per_bad`` good ones make up for one."""
        self._good_per_bad = good_per_bad
        self._most = ticks * good_per_bad
        self._debt = 0

    @property
    def spent(self) -> bool:
        """Whether there were more bad ticks than are bridged."""
        return self._debt > self._most

    def bad(self) -> bool:
        """Count a bad tick; return whether it was one too many."""
        self._debt += self._good_per_bad
        return self._debt > self._most

    def good(self) -> None:
        """Count a good tick."""
        if self._debt:
            self._debt -= 1

    def clear(self) -> None:
        """Forget the past."""
        self._debt = 0


class SafetyFilter(FilterCore):
    """Checks samples and limits torques of one arm, tick by tick.

    Whatever goes in, ``out`` is finite, within ±effort_limit, and no further from the torque sent before than
    rate_limit times the nominal period. Where both cannot hold, because an effort limit has shrunk, magnitude wins.
    :meth:`step` does a whole tick for a loop of your own::

        tau = safety.step(sample, law.torque(sample, t))
        safety.sent(plant.write(tau))
        if safety.must_stop: ...

    ControlLoop does this and the stopping too. Shapes are (n,).

    Attributes:
        limits: What samples and torques are held against.
        settings: The numbers behind the checks.
        dt: Nominal time between two ticks [s].
        plate_range: Readings at which the plate saturates [N, N m], shape (6,); inf where unknown.
        out: The torque that may be sent [N m or N]: one read-only array, rewritten on every tick.
        last: The torque that was sent last [N m or N].
        joint_flags: FilterFlag bits of the last torque, int32.
        counts: How often each flag was raised, int64, shape (flags, n).
        fault: What was wrong with the last sample given to :meth:`step`.
        uses_wrench: Whether a missing, invalid or saturated plate makes a bad sample: set it when a law needs it.
        fault_joint: Index of the joint (or plate channel) at fault in the last bad sample; −1 where none is.
        fault_value: The offending number.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        dt: float | None = None,
        plant: Plant | None = None,
        effort_limit: npt.ArrayLike | None = None,
        velocity_limit: npt.ArrayLike | None = None,
        rate_limit: npt.ArrayLike | None = None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        settings: SafetySettings | None = None,
    ) -> None:
        """Make a filter for a robot, or for a plant that is one.

        Args:
            robot: The arm; its limits hold where none are given.
            dt: Nominal time between two ticks [s]; the plant's where one is given.
            plant: What will be driven: its own limits are never exceeded, its plate's range is known.
            effort_limit: Largest torques [N m or N], one or n; required where the model's are unknown or 0.
            velocity_limit: Largest speeds [rad/s or m/s]; required likewise, infinity switches the check off.
            rate_limit: Fastest change of torque [N m/s or N/s]; by default the effort limit in 0.1 s.
            lower: Lower position limits [rad or m].
            upper: Upper position limits [rad or m].
            settings: The numbers behind the checks; None for the defaults.

        Raises:
            InputError: A limit is missing, has the wrong shape or makes no sense.
        """
        self.settings = settings or SafetySettings()
        self.limits = resolve_limits(
            robot,
            plant,
            effort_limit=effort_limit,
            velocity_limit=velocity_limit,
            rate_limit=rate_limit,
            lower=lower,
            upper=upper,
        )
        self.dt = _tick_time(dt, plant)
        low, high = self.limits.widened(self.settings.position_margin)
        self._low, self._high = low, high
        plate = None if plant is None else plant.plate
        self.plate_range = np.full(6, np.inf) if plate is None else np.array(plate.range)
        super().__init__(
            dt=self.dt,
            lower=low,
            upper=high,
            velocity_limit=self.limits.velocity,
            effort_limit=self.limits.effort,
            rate_limit=self.limits.rate,
            wrench_range=self.plate_range,
            jump_slack=self.settings.jump_slack,
            max_gap=(self.settings.hold_ticks + _GAP_SLACK) * self.dt,
            max_lag=self.settings.max_lag_ticks * self.dt,
            frozen_ticks=self.settings.frozen_ticks,
            frozen_travel=self.settings.frozen_travel,
            frozen_torque=self.settings.frozen_torque,
        )
        self.budget = Budget(self.settings.hold_ticks, self.settings.good_ticks_per_bad)
        self.fault = Fault.NONE
        self._ticks = 0

    @property
    def flags(self) -> FilterFlag:
        """What was done to the last torque, on any joint."""
        return FilterFlag(int(np.bitwise_or.reduce(self.joint_flags, initial=0)))

    @property
    def must_stop(self) -> bool:
        """Whether more ticks were bad than may be bridged: the arm must now be brought to a stop."""
        return self.budget.spent

    def reset(self, tau: npt.ArrayLike | None = None) -> None:
        """Forget all samples, and take ``tau`` [N m or N] (None for zero) as what is being applied now.

        Raises:
            InputError: It is not n finite numbers.
        """
        start = np.zeros(self.n) if tau is None else joint_array(tau, "tau", self.limits.joint_names)
        if not np.all(np.isfinite(start)):
            raise InputError(f"tau is {start.tolist()}; expected finite torques")
        self.forget()
        self.start_from(start)
        self.budget.clear()
        self.fault = Fault.NONE
        self._ticks = 0

    def step(self, sample: Sample, *torques: Array, now: float | None = None) -> Array:
        """Do one tick and return what may be sent [N m or N]: ``out``.

        After a bad sample, or a torque that is none, what was sent before is sent again; ``must_stop`` says when that
        has happened too often.

        Args:
            sample: The newest sample.
            torques: What the laws ask for [N m or N]; they are summed.
            now: The controller's clock [s], to see samples that come late; None counts periods.
        """
        self.fault = Fault(self.check(sample, self._ticks * self.dt if now is None else now))
        self._ticks += 1
        if self.fault:
            self.hold()
            self.budget.bad()
        elif self.limit(*torques) & _REFUSED:
            self.budget.bad()
        else:
            self.budget.good()
        return self.out

    def lower_effort_limit(self, effort_limit: npt.ArrayLike) -> None:
        """Tighten the effort limits [N m or N], one or n; those the filter was made with are never exceeded.

        A torque beyond the new limit is cut at the next tick, in one step: magnitude wins over rate.

        Raises:
            InputError: Wrong shape, NaN or negative.
        """
        wanted = joint_array(effort_limit, "effort_limit", self.limits.joint_names)
        if np.any(wanted < 0.0):
            raise InputError(f"effort_limit is {wanted.tolist()}; expected numbers from 0")
        self.set_effort_limit(wanted)

    def reason(self, fault: int) -> str:
        """Say in one sentence what is wrong with the sample that was checked last, given its fault."""
        joint, index = self.faulty_joint(fault), self.fault_joint
        return describe(
            Fault(fault),
            joint=joint or "",
            index=index,
            value=self.fault_value,
            lower=float(self._low[index]) if joint else math.nan,
            upper=float(self._high[index]) if joint else math.nan,
            velocity_limit=float(self.limits.velocity[index]) if joint else math.nan,
        )

    def faulty_joint(self, fault: int) -> str | None:
        """Return the joint at fault in the sample that was checked last, given its fault; None where none is."""
        of_plate = fault in (Fault.WRENCH_INVALID, Fault.WRENCH_SATURATED)
        return None if of_plate or self.fault_joint < 0 else self.limits.joint_names[self.fault_joint]


def _tick_time(dt: float | None, plant: Plant | None) -> float:
    if plant is not None and dt is not None and dt != plant.dt:
        raise InputError(f"dt is {dt!r} s but the plant's is {plant.dt!r} s; leave it out")
    return checked_dt(dt if plant is None else plant.dt)
