"""The rule by which every law is tuned: one set of numbers, the same for each of them.

1. Position gains K_p, K_d give the closed position loop a bandwidth (−3 dB) and a damping ratio; where the plant
   oscillates near such gains, the bandwidth is ``oscillation_share`` of the one where that starts.
2. The integral gain K_i of a PID is ``integral_share`` of the smallest one that is unstable for a step.
3. The integral gain k_int of a torque loop is ``oscillation_share`` of the smallest one that makes the plant oscillate.
4. Laws without derivative (the hydraulic arm's): K_p, K_i and k_int are each ``oscillation_share`` of where it starts.

Rules 1 to 4 are those of [Morel2000], sections 3.2, 3.3 and 4, made precise where the paper is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

from ...errors import InputError

LawKind = Literal["pd", "pid", "pi", "bsc", "bsc-p"]
"""PD; PID; PI; base sensor control with PD outside; the same with P outside."""
KINDS: tuple[LawKind, ...] = ("pd", "pid", "pi", "bsc", "bsc-p")
WITH_PLATE: tuple[LawKind, ...] = ("bsc", "bsc-p")
WITHOUT_DERIVATIVE: tuple[LawKind, ...] = ("pi", "bsc-p")


@dataclass(frozen=True, slots=True)
class TuningRule:
    """The numbers of the rule, and of the experiments that it needs.

    Attributes:
        bandwidth: Of the closed position loop, −3 dB, reference to position, velocity of the reference included [Hz].
        damping: Damping ratio ζ of the position loop.
        oscillation_share: Share of the gain where oscillation starts.
        integral_share: Share of the smallest unstable K_i of a PID.
        step: Step, and length of the slow move, that a probe makes [rad or m].
        move_time: Time of the slow move there, and of that back [s].
        step_time: Time for which the answer to a step is looked at [s].
        rest_time: Time at rest after the slow move [s].
        tare_time: Time over which the plate is tared before a probe [s].
        structure: Frequency from which on a torque that swings does so with the structure [Hz].
        amplitude: Share of the effort limit from which a torque that swings counts as oscillation.
        resolution: Accuracy with which the gain at the limit is found, as a share.
        proof: How many times longer the gains found are tried in the end: a slow ring may hide from a short probe.
    """

    bandwidth: float = 5.0
    damping: float = 0.5
    oscillation_share: float = 0.75
    integral_share: float = 0.8
    step: float = math.radians(2.0)
    move_time: float = 1.0
    step_time: float = 3.0
    rest_time: float = 0.7
    tare_time: float = 0.3
    structure: float = 10.0
    amplitude: float = 0.01
    resolution: float = 0.05
    proof: float = 5.0

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e6:
                raise InputError(f"{field.name} is {value!r}; expected a number above 0")
        for name in ("oscillation_share", "integral_share", "amplitude", "resolution"):
            if getattr(self, name) >= 1.0:
                raise InputError(f"{name} is {getattr(self, name)!r}; expected a share, below 1")

    def stretched(self, factor: float) -> TuningRule:
        """Return the rule with steps, moves and rests that take so many times longer."""
        times = {name: factor * getattr(self, name) for name in ("step_time", "move_time", "rest_time")}
        return replace(self, **times)


def natural_frequency(bandwidth: float, damping: float) -> float:
    """Return ω_n [rad/s] of a position loop with this −3 dB bandwidth [Hz] and damping ratio.

    The loop is that of eq. (27), reference to position of an inertia J under K_p (q_d − q) + K_d (dq_d − dq),

        H = (2ζω_n s + ω_n²) / (s² + 2ζω_n s + ω_n²),   K_p = J ω_n²,   K_d = 2ζ J ω_n,

    whose gain is 1/√2 at u = ω/ω_n with u⁴ − (2 + 4ζ²) u² − 1 = 0: for ζ = ½ at 1.82 ω_n.
    """
    b = 1.0 + 2.0 * damping**2
    return 2.0 * math.pi * bandwidth / math.sqrt(b + math.sqrt(b * b + 1.0))
