"""What came of a replay: how far the arm was from its path, joint by joint and at the tips."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ...description.frozen import Array, frozen
from ...dynamics.joint_units import position_units
from ...dynamics.robot import Robot
from ..report import RunReport
from .plan import LEAD, ReplayPlan

Outcome = Literal["completed", "stopped", "aborted"]


@dataclass(frozen=True, slots=True)
class TrackingError:
    """How far one joint, or one tip, was from where it should have been.

    Attributes:
        name: The joint, or the tip's link.
        unit: Unit of the errors.
        rms: Root mean square; NaN where nothing was recorded.
        largest: Largest.
        at: When that was [s of the path's time].
    """

    name: str
    unit: str
    rms: float
    largest: float
    at: float


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The samples of a replay that belong to the path; k of them.

    Attributes:
        time: Time of the path [s], shape (k,); it stands still during a pause.
        clock: The plant's time [s], shape (k,).
        wanted: Where the joints should have been [rad or m], shape (k, n).
        measured: Where they were [rad or m], shape (k, n).
    """

    time: Array
    clock: Array
    wanted: Array
    measured: Array


@dataclass(frozen=True, slots=True, eq=False)
class ReplayReport:
    """A replay that is over.

    Attributes:
        outcome: "completed", "stopped" when asked to, "aborted" when the arm strayed or a fault ended it.
        reason: Why it ended before its end; "" where it did not.
        law: "pd-gravity" or "pd".
        plan: The plan.
        joints: Tracking errors along the path, per joint.
        tips: ... and of the origins of the last links, in m.
        approach_largest: Largest error of a joint on the way to the start [rad or m]; NaN without a way.
        held: Time for which it was paused [s].
        trace: The samples along the path.
        run: What the control loop reports; None for a replay that was made up.
    """

    outcome: Outcome
    reason: str
    law: str
    plan: ReplayPlan
    joints: tuple[TrackingError, ...]
    tips: tuple[TrackingError, ...]
    approach_largest: float
    held: float
    trace: Trace
    run: RunReport | None

    def as_data(self) -> dict[str, Any]:
        """Return the report as JSON has it, without the samples."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "law": self.law,
            "plan": self.plan.as_data(),
            "joints": [asdict(one) for one in self.joints],
            "tips": [asdict(one) for one in self.tips],
            "approach_largest": self.approach_largest,
            "held": self.held,
            "samples": len(self.trace.time),
            "end": None if self.run is None else self.run.end.value,
            "events": []
            if self.run is None
            else [{"time": one.time, "kind": one.kind, "message": one.message} for one in self.run.events],
        }


def tip_positions(robot: Robot, q: Array) -> dict[str, Array]:
    """Return the origins of the last links in base axes [m], shape (k, 3), by link."""
    if not len(q):
        return {link: np.zeros((0, 3)) for link in robot.tree.leaves}
    return {link: robot.forward_kinematics(q, at=link)[:, :3, 3] for link in robot.tree.leaves}


def tracking_errors(robot: Robot, trace: Trace) -> tuple[tuple[TrackingError, ...], tuple[TrackingError, ...]]:
    """Return the errors of the joints and of the tips.

    Args:
        robot: The arm.
        trace: Where it should have been, and was.
    """
    error = np.abs(trace.wanted - trace.measured)
    units = position_units(robot)
    joints = tuple(
        _error(name, units[joint], trace.time, error[:, joint]) for joint, name in enumerate(robot.joint_names)
    )
    wanted, measured = tip_positions(robot, trace.wanted), tip_positions(robot, trace.measured)
    tips = tuple(
        _error(link, "m", trace.time, np.linalg.norm(wanted[link] - measured[link], axis=1)) for link in wanted
    )
    return joints, tips


def trace_of(plan: ReplayPlan, clock: list[float], plan_time: list[float], q: list[Array]) -> tuple[Trace, float]:
    """Return the samples along the path, and the largest error before it [rad or m].

    Args:
        plan: The plan.
        clock: Times of all samples [s].
        plan_time: The plan's time at each of them [s].
        q: Positions [rad or m], each of shape (n,).
    """
    times = np.array(plan_time, dtype=np.float64)
    measured = np.array(q, dtype=np.float64).reshape(len(times), plan.robot.n)
    on_path = (times >= plan.path_begin) & (times <= plan.path_end)
    wanted = plan.motion.at(times[on_path] - plan.path_begin).q
    before = times < plan.path_begin
    largest = math.nan
    if plan.approach is not None and before.any():
        way = plan.approach.at(np.clip(times[before] - LEAD, 0.0, plan.approach.duration)).q
        largest = float(np.max(np.abs(way - measured[before])))
    trace = Trace(
        frozen(times[on_path] - plan.path_begin),
        frozen(np.array(clock, dtype=np.float64)[on_path]),
        frozen(wanted),
        frozen(measured[on_path]),
    )
    return trace, largest


def _error(name: str, unit: str, time: Array, error: Array) -> TrackingError:
    if not len(error):
        return TrackingError(name, unit, math.nan, math.nan, math.nan)
    worst = int(np.argmax(error))
    return TrackingError(name, unit, float(np.sqrt(np.mean(error**2))), float(error[worst]), float(time[worst]))
