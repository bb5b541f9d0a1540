"""The numbers of the safety filter and of the safe stop: one frozen object, every entry with its unit."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..errors import InputError

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
