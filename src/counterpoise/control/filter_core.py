"""The safety filter's arithmetic in plain Python: the specification that the native filter repeats bit by bit.

Joints are walked one by one with Python floats, which compute exactly as C doubles do. See docs/safety-filter.md.

The native filter computes where it was built; which of the two runs is decided at the end of this file. In the
environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces this one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics import MAX_INPUT
from ..foundation import Array, native_part
from ..recording import Sample, SampleFlag
from .fault import FLAG_COUNT, Fault, FilterFlag

__all__ = ["FilterCore", "ReferenceFilterCore"]


RATE_MARGIN: Final = 1e-6
"""Share by which a step stays below rate · period: rounding can then never carry it beyond."""
JUMP_FACTOR: Final = 1.5
"""How much faster than its limit a joint may seem to move between two samples: their times jitter."""
LAG_LEAK: Final = 0.01
"""How fast the reference for lateness follows [s/s]: clocks drift, and a declared period is rounded."""

_Q_FLAG, _DQ_FLAG = int(SampleFlag.Q_INVALID), int(SampleFlag.DQ_INVALID)
_TAU_FLAG, _STALE_FLAG = int(SampleFlag.TAU_INVALID), int(SampleFlag.STALE)
_WRENCH_FLAG, _WRENCH_SATURATED_FLAG = int(SampleFlag.WRENCH_INVALID), int(SampleFlag.WRENCH_SATURATED)
_SATURATED, _RATE_LIMITED = int(FilterFlag.SATURATED), int(FilterFlag.RATE_LIMITED)
_SHRUNK, _NON_FINITE = int(FilterFlag.LIMIT_SHRUNK), int(FilterFlag.NON_FINITE)
_MALFORMED, _HELD, _CHANGED = int(FilterFlag.MALFORMED), int(FilterFlag.HELD), int(FilterFlag.CHANGED_BY_PLANT)


class _Readings(NamedTuple):
    """A sample as plain numbers."""

    time: float
    q: list[float]
    dq: list[float]
    tau: list[float]
    wrench: list[float] | None
    flags: int


class ReferenceFilterCore:
    """State and arithmetic of the safety filter for n joints; shapes are (n,) where nothing else is said.

    Attributes:
        n: Number of joints.
        out: The torque that may be sent [N m or N]; one read-only array, rewritten on every tick.
        last: The torque that was sent last [N m or N], read-only.
        effort_limit: Largest torques [N m or N], read-only.
        joint_flags: FilterFlag bits of the last torque per joint, int32, read-only.
        counts: How often each flag was raised, int64, shape (flags, n), read-only.
        fault_joint: Index of the joint (or wrench channel) at fault in the last bad sample; −1 where none is.
        fault_value: The offending number.
        uses_wrench: Whether a bad plate makes a bad sample.
    """

    def __init__(
        self,
        *,
        dt: float,
        lower: Array,
        upper: Array,
        velocity_limit: Array,
        effort_limit: Array,
        rate_limit: Array,
        wrench_range: Array,
        jump_slack: float,
        max_gap: float,
        max_lag: float,
        frozen_ticks: int,
        frozen_travel: float,
        frozen_torque: float,
    ) -> None:
        """Take checked numbers; see SafetyFilter, which checks them.

        Args:
            dt: Nominal time between two ticks [s].
            lower: Smallest positions accepted [rad or m].
            upper: Largest positions accepted [rad or m].
            velocity_limit: Largest speeds accepted [rad/s or m/s].
            effort_limit: Largest torques [N m or N].
            rate_limit: Fastest changes of torque [N m/s or N/s].
            wrench_range: Readings at which the plate saturates [N, N m], shape (6,).
            jump_slack: Change of q that is always accepted [rad or m].
            max_gap: Longest time between two good samples [s].
            max_lag: Latest arrival, compared with the start [s].
            frozen_ticks: Identical samples before a sensor can count as frozen.
            frozen_travel: Motion that a frozen joint must have missed [rad or m].
            frozen_torque: Share of the effort limit by which the torque must have changed meanwhile.
        """
        self.n = n = len(lower)
        self.uses_wrench = False
        self.fault_joint = -1
        self.fault_value = 0.0
        self._lower, self._upper, self._velocity_limit = lower.tolist(), upper.tolist(), velocity_limit.tolist()
        self._step = [rate * dt * (1.0 - RATE_MARGIN) for rate in rate_limit.tolist()]
        self._wrench_range = wrench_range.tolist()
        self._jump_slack, self._max_gap, self._max_lag = jump_slack, max_gap, max_lag
        self._frozen_ticks, self._frozen_travel, self._frozen_torque = frozen_ticks, frozen_travel, frozen_torque
        self._most = effort_limit.tolist()
        self._limit, self._out, self._last = np.array(effort_limit), np.zeros(n), np.zeros(n)
        self._joint_flags: npt.NDArray[np.int32] = np.zeros(n, dtype=np.int32)
        self._counts: npt.NDArray[np.int64] = np.zeros((FLAG_COUNT, n), dtype=np.int64)
        self.effort_limit, self.out, self.last = (_read_only(row) for row in (self._limit, self._out, self._last))
        self.joint_flags, self.counts = _read_only(self._joint_flags), _read_only(self._counts)
        self.forget()

    def forget(self) -> None:
        """Forget all samples: the next one is a first one."""
        n = self.n
        self._started = False
        self._time = self._offset = 0.0
        self._q = [0.0] * n
        self._seen = _Readings(0.0, [0.0] * n, [0.0] * n, [0.0] * n, None, 0)
        self._same = [0] * n
        self._same_since = [0.0] * n
        self._all_same = 0
        self._all_same_since = 0.0
        self._last_then: list[float] = [0.0] * n

    def set_effort_limit(self, effort_limit: Array) -> None:
        """Change the largest torques [N m or N], shape (n,), from the next torque on.

        Never beyond those the filter was made with; what is negative or NaN counts as 0.
        """
        for joint, value in enumerate(effort_limit.tolist()):
            self._limit[joint] = min(value, self._most[joint]) if value > 0.0 else 0.0

    def start_from(self, tau: Array) -> None:
        """Take ``tau``, shape (n,), as what is being applied now: beyond the limits clipped, 0 where not finite."""
        for joint, value in enumerate(tau.tolist()):
            limit = float(self._limit[joint])
            self._last[joint] = self._out[joint] = _clipped(value, limit) if math.isfinite(value) else 0.0

    def check(self, sample: Sample, now: float) -> int:
        """Return what is wrong with a sample, a Fault, 0 for nothing; ``fault_joint`` and ``fault_value`` say more.

        Args:
            sample: The newest sample.
            now: The controller's clock [s].
        """
        new = _readings(sample, self.n)
        if new is None:
            return self._bad(Fault.SAMPLE_MALFORMED)
        fault = self._check_position_and_time(new)
        if not fault and self._started:
            fault = self._check_jump(new) or self._check_frozen(new)
        if fault:
            return fault
        gap, lag = self._follow(new, now)
        return (
            self._check_velocity_and_lag(new, lag)
            or self._check_limits(new)
            or (self._check_wrench(new) if self.uses_wrench else 0)
            or (self._bad(Fault.TIME_GAP, value=gap) if gap > self._max_gap else 0)
        )

    def _check_position_and_time(self, new: _Readings) -> int:
        if new.flags & _Q_FLAG:
            return self._bad(Fault.Q_INVALID)
        for joint in range(self.n):
            if not abs(new.q[joint]) <= MAX_INPUT:
                return self._bad(Fault.Q_INVALID, joint, new.q[joint])
        if not math.isfinite(new.time):
            return self._bad(Fault.TIME_INVALID, value=new.time)
        if self._started:
            gap = new.time - self._time
            if gap == 0.0 or new.flags & _STALE_FLAG:
                return self._bad(Fault.TIME_REPEATED, value=gap)
            if gap < 0.0:
                return self._bad(Fault.TIME_BACKWARDS, value=gap)
        return 0

    def _check_jump(self, new: _Readings) -> int:
        gap = new.time - self._time
        for joint in range(self.n):
            moved = new.q[joint] - self._q[joint]
            if abs(moved) > JUMP_FACTOR * self._velocity_limit[joint] * gap + self._jump_slack:
                return self._bad(Fault.Q_JUMPED, joint, moved)
        return 0

    def _check_frozen(self, new: _Readings) -> int:
        """A joint that reports speed but the same position, or an arm whose torque changed unnoticed, is frozen."""
        fault = 0
        all_same = True
        for joint in range(self.n):
            same = new.q[joint] == self._seen.q[joint] and new.dq[joint] == self._seen.dq[joint]
            all_same = all_same and same and new.tau[joint] == self._seen.tau[joint]
            if not same:
                self._same[joint] = 0
                continue
            if self._same[joint] == 0:
                self._same_since[joint] = self._seen.time
            self._same[joint] += 1
            elapsed = new.time - self._same_since[joint]
            travelled = abs(new.dq[joint]) * elapsed > self._frozen_travel
            if not fault and travelled and self._same[joint] >= self._frozen_ticks:
                fault = self._bad(Fault.FROZEN, joint, elapsed)
        if not all_same:
            self._all_same = 0
        else:
            if self._all_same == 0:
                self._all_same_since = self._seen.time
                self._last_then = self._last.tolist()
            self._all_same += 1
            if not fault and self._all_same >= self._frozen_ticks and not new.flags & _TAU_FLAG:
                for joint in range(self.n):
                    change = abs(float(self._last[joint]) - self._last_then[joint])
                    if not fault and change > self._frozen_torque * float(self._limit[joint]):
                        fault = self._bad(Fault.FROZEN, joint, new.time - self._all_same_since)
        self._seen = new
        return fault

    def _follow(self, new: _Readings, now: float) -> tuple[float, float]:
        """Make the sample the one that the next is compared with, and return its gap and lag [s].

        A sample after too long a gap is not followed: a single wrong time stamp must not make all later ones late.
        """
        gap = lag = 0.0
        if not self._started:
            self._started = True
            self._offset = now - new.time
            self._seen = new
        else:
            gap = new.time - self._time
        if gap <= self._max_gap:
            self._offset = min(self._offset + LAG_LEAK * gap, now - new.time)
            lag = (now - new.time) - self._offset
            self._time = new.time
            self._q = new.q
        return gap, lag

    def _check_velocity_and_lag(self, new: _Readings, lag: float) -> int:
        if new.flags & _DQ_FLAG:
            return self._bad(Fault.DQ_INVALID)
        for joint in range(self.n):
            if not abs(new.dq[joint]) <= MAX_INPUT:
                return self._bad(Fault.DQ_INVALID, joint, new.dq[joint])
        return self._bad(Fault.LATE, value=lag) if lag > self._max_lag else 0

    def _check_limits(self, new: _Readings) -> int:
        for joint in range(self.n):
            if not self._lower[joint] <= new.q[joint] <= self._upper[joint]:
                return self._bad(Fault.OUTSIDE_LIMITS, joint, new.q[joint])
        for joint in range(self.n):
            if abs(new.dq[joint]) > self._velocity_limit[joint]:
                return self._bad(Fault.OVER_SPEED, joint, new.dq[joint])
        for joint in range(self.n):
            if not (new.flags & _TAU_FLAG or abs(new.tau[joint]) <= MAX_INPUT):
                return self._bad(Fault.TAU_INVALID, joint, new.tau[joint])
        return 0

    def _check_wrench(self, new: _Readings) -> int:
        if new.wrench is None or new.flags & _WRENCH_FLAG:
            return self._bad(Fault.WRENCH_INVALID)
        for channel in range(6):
            if not abs(new.wrench[channel]) <= MAX_INPUT:
                return self._bad(Fault.WRENCH_INVALID, channel, new.wrench[channel])
        for channel in range(6):
            if abs(new.wrench[channel]) >= self._wrench_range[channel]:
                return self._bad(Fault.WRENCH_SATURATED, channel, new.wrench[channel])
        return self._bad(Fault.WRENCH_SATURATED) if new.flags & _WRENCH_SATURATED_FLAG else 0

    def _bad(self, fault: Fault, joint: int = -1, value: float = 0.0) -> int:
        self.fault_joint, self.fault_value = joint, value
        return int(fault)

    def limit(self, *torques: Array) -> int:
        """Sum torques, make the sum fit to be sent, and return the FilterFlag bits raised on any joint.

        The result is in ``out``. Where a torque is no float64 array of shape (n,), or the sum is not finite on any
        joint, nothing of it is used: ``out`` repeats what was sent last.
        """
        if not all(_is_ready(torque, self.n) for torque in torques):
            return self._send([_MALFORMED | _HELD] * self.n, self._last.tolist())
        rows = [torque.tolist() for torque in torques]
        total = [0.0] * self.n
        for row in rows:
            total = [sum_ + value for sum_, value in zip(total, row, strict=True)]
        finite = [math.isfinite(value) for value in total]
        if not all(finite):
            return self._send([_HELD if good else _NON_FINITE | _HELD for good in finite], self._last.tolist())
        return self._send([0] * self.n, total)

    def hold(self) -> int:
        """Send the last torque again, within the limits; return the FilterFlag bits raised."""
        return self._send([_HELD] * self.n, self._last.tolist())

    def _send(self, flags: list[int], target: list[float]) -> int:
        """Saturate, limit the rate, saturate again (magnitude wins over rate), check."""
        raised = 0
        for joint in range(self.n):
            limit, step, last = float(self._limit[joint]), self._step[joint], float(self._last[joint])
            value = target[joint]
            if abs(value) > limit:
                value = math.copysign(limit, value)
                flags[joint] |= _SATURATED
            if abs(value - last) > step:
                up = value > last
                value = last + step if up else last - step
                if abs(value - last) > step:  # last + step was rounded away from last
                    value = math.nextafter(value, last)
                flags[joint] |= _RATE_LIMITED
            if abs(value) > limit:
                value = math.copysign(limit, value)
                flags[joint] |= _SHRUNK
            self._out[joint] = self._last[joint] = value if math.isfinite(value) else 0.0
            self._joint_flags[joint] = flags[joint]
            for bit in range(FLAG_COUNT):
                self._counts[bit, joint] += flags[joint] >> bit & 1
            raised |= flags[joint]
        return raised

    def sent(self, tau: Array) -> int:
        """Take note of what the plant says it sent: the next step starts from there. Return FilterFlag bits.

        What is no finite torque of shape (n,) is not believed, and what is beyond the limits counts as the limit.
        """
        if tau is self.out:
            return 0
        good = _is_ready(tau, self.n)
        values = tau.tolist() if good else [math.nan] * self.n
        raised = 0
        for joint, value in enumerate(values):
            if value == self._out[joint]:
                continue
            raised = _CHANGED
            self._joint_flags[joint] |= _CHANGED
            self._counts[FLAG_COUNT - 1, joint] += 1
            if math.isfinite(value):
                limit = float(self._limit[joint])
                self._last[joint] = _clipped(value, limit)
        return raised


def _readings(sample: Any, n: int) -> _Readings | None:
    """Return the numbers of a sample, or None for what is no sample of n joints."""
    try:
        time, flags, wrench = sample.time, sample.flags, sample.wrench
        arrays = sample.q, sample.dq, sample.tau
    except AttributeError:
        return None
    if not all(_is_ready(array, n) for array in arrays) or not (wrench is None or _is_ready(wrench, 6)):
        return None
    if not isinstance(time, float | int) or not isinstance(flags, int) or not 0 <= flags < 2**31:
        return None
    try:
        seconds = float(time)
    except OverflowError:
        seconds = math.inf
    q, dq, tau = (array.tolist() for array in arrays)
    return _Readings(seconds, q, dq, tau, None if wrench is None else wrench.tolist(), int(flags))


def _is_ready(array: object, n: int) -> bool:
    """Tell whether something is a native float64 array of shape (n,).

    Subclasses are none: the numbers below a mask or a unit do not mean what they seem to.
    """
    return (
        type(array) is np.ndarray
        and array.dtype == np.float64
        and array.dtype.isnative
        and array.shape == (n,)
        and bool(array.flags.aligned)
    )


def _clipped(value: float, limit: float) -> float:
    return math.copysign(limit, value) if abs(value) > limit else value


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.setflags(write=False)
    return view


_PART = native_part("control")

if TYPE_CHECKING:
    FilterCore = ReferenceFilterCore
else:
    FilterCore = ReferenceFilterCore if _PART is None else _PART.NativeFilterCore
