"""What came of floating an arm, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ...description.frozen import Array, PublishedData
from ..report import RunReport
from ..rotors.measurement import InertiaMeasurement
from .check_result import CheckResult

End = Literal["done", "stopped", "too fast", "drifting", "refused", "interrupted", "fault"]
"""How it ended: time over, asked to stop, by the law's own watch, by the check, by Ctrl-C, by a fault of the run."""


@dataclass(frozen=True, slots=True, eq=False)
class FloatReport(PublishedData):
    """A check, and where it was passed the floating that followed; arrays of shape (n,).

    Attributes:
        robot: The arm's name.
        joint_names: Its joints.
        locked: Those that were locked.
        share: Share of the friction that was compensated.
        damping: Damping [N m s/rad or N s/m]; None where the arm did not float.
        hold_when_released: Whether the arm was to hold when released.
        end: How it ended.
        reason: The same in a sentence; "" where it ended as asked.
        inertias: What the joints' torques move, where their rotors were unknown and measured; None where not.
        check: What the check found; None where it was broken off.
        seconds: How long the arm floated.
        travel: How far each joint moved, from its lowest to its highest position [rad or m].
        top_speed: Largest speed of each joint [rad/s or m/s].
        drifts: How often a drift was found and held.
        run: The run in which it floated, with its log where one was asked for; None where it did not float.
    """

    robot: str
    joint_names: tuple[str, ...]
    locked: tuple[str, ...]
    share: Array
    damping: Array | None
    hold_when_released: bool
    end: End
    reason: str
    inertias: InertiaMeasurement | None
    check: CheckResult | None
    seconds: float
    travel: Array
    top_speed: Array
    drifts: int
    run: RunReport | None

    @property
    def floated(self) -> bool:
        """Whether the arm was let go at all."""
        return self.run is not None

    def as_data(self) -> dict[str, Any]:
        """Return the report as JSON has it, without the log."""
        run = self.run
        return {
            "robot": self.robot,
            "joints": list(self.joint_names),
            "locked": list(self.locked),
            "share": self.share.tolist(),
            "damping": None if self.damping is None else self.damping.tolist(),
            "hold_when_released": self.hold_when_released,
            "end": self.end,
            "reason": self.reason,
            "floated": self.floated,
            "seconds": self.seconds,
            "travel": self.travel.tolist(),
            "top_speed": self.top_speed.tolist(),
            "drifts": self.drifts,
            "inertias": None if self.inertias is None else self.inertias.as_data(),
            "check": None if self.check is None else self.check.as_data(),
            "safe_stop": None if run is None else {"end": run.end.value, "then": run.stop},
            "events": [] if run is None else [asdict(event) for event in run.events],
        }
