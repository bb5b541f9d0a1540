"""What tuning tells: the gains, what limited each of them, and what to expect."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .gains import LawGains
from .rule import TuningRule

EXPECTED_RATIOS: tuple[tuple[float, float], ...] = ((23.4, 1.52), (39.4, 3.05), (74.1, 7.46), (105.2, 2.6))
"""Structural frequency [Hz], and the median ratio of PID's rms error to base sensor control's there, slowest first."""
COVERED = (15.0, 110.0)
"""Frequencies that the study behind them covers [Hz]."""


def expected_ratio(frequency: float) -> float | None:
    """Return how many times smaller than PID's the rms error of base sensor control is to be expected.

    Args:
        frequency: Structural frequency [Hz].

    Returns:
        The ratio, interpolated over the logarithm of the frequency; None where no study covers it.
    """
    if not COVERED[0] <= frequency <= COVERED[1]:
        return None
    known = np.array(EXPECTED_RATIOS)
    return float(np.interp(np.log(frequency), np.log(known[:, 0]), known[:, 1]))


@dataclass(frozen=True, slots=True)
class GainLimit:
    """How one gain was found.

    Attributes:
        gain: Its name: "bandwidth", "kp", "ki" or "k_int".
        chosen: The value that was chosen, in the gain's unit (Hz for the bandwidth).
        limit: Smallest value that oscillates; inf where none did.
        frequency: Of the oscillation there [Hz]; 0 where none was seen.
        reason: What happened there, in words.
    """

    gain: str
    chosen: float
    limit: float
    frequency: float
    reason: str


@dataclass(frozen=True, slots=True)
class JointTuning:
    """How the gains of one joint were found.

    Attributes:
        joint: Its name.
        inertia: What its torque moves with the other joints locked, rotor included [kg m² or kg].
        limits: Its gains, in the order in which they were found.
        structural_frequency: Dominant frequency at the limit of stability [Hz]; None where none was met.
        probes: Experiments made.
        notes: What else there is to know, one sentence each.
    """

    joint: str
    inertia: float
    limits: tuple[GainLimit, ...]
    structural_frequency: float | None
    probes: int
    notes: tuple[str, ...]

    @property
    def expected_ratio(self) -> float | None:
        """How many times larger PID's error is to be expected; None unless a torque loop's limit was met."""
        met = [limit.frequency for limit in self.limits if limit.gain == "k_int" and limit.frequency > 0.0]
        return expected_ratio(met[0]) if met else None


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """The gains that were found, and how.

    Attributes:
        gains: The gains.
        rule: The rule.
        joints: One entry per tuned joint.
        seconds: Time of all experiments by the plant's clock [s].
    """

    gains: LawGains
    rule: TuningRule
    joints: tuple[JointTuning, ...]
    seconds: float

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "gains": self.gains.as_data(),
            "rule": asdict(self.rule),
            "joints": [asdict(joint) | {"expected_ratio": joint.expected_ratio} for joint in self.joints],
            "seconds": self.seconds,
        }
