"""Replaying a plan on an arm, with PD and gravity, through the control loop and its safety filter.

The reference is the plan in its own time, which can be made to stand still (``Playback``). The report says how far the
arm was from its path, joint by joint and at the tips.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...control import (
    PD,
    Desired,
    Gains,
    Law,
    PDGravity,
    RunReport,
    SafetyFilter,
    SwingWatch,
    joint_array,
    smooth_step,
    softest_gains,
    standing_sample,
)
from ...dynamics import Robot, position_units, rotary
from ...errors import InputError, SafetyError
from ...foundation import Array, frozen
from ...identification import identity_of
from ...recording import Sample
from ..rig import Rig
from .plan import LEAD, ReplayPlan


class Playback:
    """Goes through a plan; a Reference for the laws.

    The plan's time runs at a rate f: 1, or 0 while paused, and passes from one to the other as σ²(3 − 2σ) within the
    plan's pause time. So the arm slows down along its path, holds, and goes on from there. ``paused`` may be set from
    another thread.

    Attributes:
        plan: The plan.
        paused: Whether the plan's time should stand still.
        plan_time: How far it has come [s of the plan's time].
        desired: What was asked for last; None before.
        held: Time for which the plan's time did not run at full rate [s].
    """

    def __init__(self, plan: ReplayPlan, tolerance: Array) -> None:
        """Prepare to go through ``plan``.

        Args:
            plan: The plan.
            tolerance: How far from the plan's start a joint may be [rad or m], shape (n,).
        """
        self.plan = plan
        self.paused = False
        self.plan_time = 0.0
        self.desired: Desired | None = None
        self.held = 0.0
        self._tolerance = tolerance
        self._share = 1.0
        self._last: float | None = None

    @property
    def standing(self) -> bool:
        """Whether the plan's time stands still, by a pause or because it is over."""
        return self._share == 0.0 or self.over

    @property
    def over(self) -> bool:
        """Whether the plan is over."""
        return self.plan_time >= self.plan.duration

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,).

        Raises:
            SafetyError: That is not where the plan begins: the arm is not moved.
        """
        refuse_other_pose(self.plan, q, self._tolerance)
        self.plan_time, self.held, self._share, self._last = 0.0, 0.0, 0.0 if self.paused else 1.0, None

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset; to be asked with times that increase."""
        step = 0.0 if self._last is None else max(time - self._last, 0.0)
        self._last = time
        change = step / self.plan.pause_time
        self._share = max(self._share - change, 0.0) if self.paused else min(self._share + change, 1.0)
        rate = smooth_step(self._share)
        self.plan_time += rate * step
        self.held += (1.0 - rate) * step
        wanted = self.plan.at(self.plan_time)
        self.desired = Desired(wanted.q, rate * wanted.dq)
        return self.desired


def refuse_other_pose(plan: ReplayPlan, q: Array, tolerance: Array) -> None:
    """Refuse to replay from a pose that is not the plan's start.

    Raises:
        SafetyError: A joint is further from it than its tolerance; all such joints are named.
    """
    away = np.abs(q - plan.start)
    if not np.all(away <= tolerance):  # true for NaN too
        names = plan.robot.joint_names
        joints = [
            f"joint '{names[joint]}' is at {q[joint]:.4g}, not at {plan.start[joint]:.4g} ± {tolerance[joint]:.2g}"
            for joint in np.flatnonzero(~(away <= tolerance)).tolist()
        ]
        raise SafetyError(
            f"the arm is not where the replay of '{plan.path.name}' was planned from: {'; '.join(joints)} rad or m. "
            "Nothing was moved: plan again from where it stands"
        )


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
        approach_largest: Largest error of a joint on the move to the start [rad or m]; NaN without a way.
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


BOUND_ROTARY, BOUND_LINEAR = 0.2, 0.04
"""Tracking error at which a replay is broken off [rad, m]."""
TOLERANCE_ROTARY, TOLERANCE_LINEAR = 0.02, 0.005
"""How far from the plan's start the arm may stand [rad, m]."""
GAIN_POSES = 15
"""Poses along the path at which inertias are looked at for the gains."""


class Replay:
    """A plan, the arm that is to follow it, and the law; for one run. Nothing moves before :meth:`run`.

    ::

        with SignalSafe(plant):  # control.stop_signals
            plan = plan_replay(robot, read_path("wipe.path.csv"), 0.5, start=plant.read().q, plant=plant)
            report = Replay(Rig(plant, robot), plan).run()

    ``pause``, ``resume`` and ``stop`` may be called from another thread, also before it runs: paused, it holds the arm
    where it stands; stopped, it does not begin.

    Attributes:
        plan: The plan.
        gains: The gains of the law.
        law_name: "pd-gravity", or "pd" where the plant adds gravity itself or none is asked for.
        report: What came of the last run, also of one that ended in an exception; None before.
    """

    def __init__(
        self,
        rig: Rig,
        plan: ReplayPlan,
        *,
        law: Literal["pd-gravity", "pd"] = "pd-gravity",
        gains: Gains | None = None,
        bound: npt.ArrayLike | None = None,
        tolerance: npt.ArrayLike | None = None,
    ) -> None:
        """Prepare a replay; refuse what does not belong together.

        Args:
            rig: The arm, with the model that was planned for.
            plan: The plan.
            law: "pd-gravity"; "pd" leaves gravity out, to compare.
            gains: Gains; None derives default ones along the path (control.default_gains).
            bound: Tracking error at which it is broken off [rad or m], one or n; None for 0.2 rad and 40 mm.
            tolerance: How far from the plan's start the arm may stand [rad or m], one or n; None for 0.02 rad, 5 mm.

        Raises:
            InputError: The plan is another arm's, or was checked against wider limits than hold here.
        """
        robot, plant, safety = rig.robot, rig.plant, rig.safety
        if law not in ("pd-gravity", "pd"):
            raise InputError(f"law is {law!r}; expected 'pd-gravity' or 'pd'")
        if identity_of(robot) != identity_of(plan.robot):
            raise InputError(
                f"the replay was planned for '{plan.robot.name}' with another geometry, payload or mounting than "
                f"'{robot.name}' has now; plan it again"
            )
        self.plan = plan
        self.report: ReplayReport | None = None
        turns = np.array(rotary(robot), dtype=bool)
        usual_bound = np.where(turns, BOUND_ROTARY, BOUND_LINEAR)
        usual_tolerance = np.where(turns, TOLERANCE_ROTARY, TOLERANCE_LINEAR)
        self._bound = _positive(usual_bound if bound is None else bound, "bound", robot)
        self._tolerance = _positive(usual_tolerance if tolerance is None else tolerance, "tolerance", robot)
        _refuse_wider_limits(plan, safety)
        if safety.settings.blend_time > LEAD:
            raise InputError(
                f"the filter's blend_time is {safety.settings.blend_time:g} s; the arm moves after {LEAD:g} s, and "
                "the law must be faded in by then. Take a shorter blend_time"
            )
        rows = np.unique(np.linspace(0, len(plan.asked.q) - 1, GAIN_POSES).astype(np.int64))
        poses = (plan.start, *plan.asked.q[rows])
        self.gains = softest_gains(robot, poses, safety.limits.effort, plant.dt) if gains is None else gains
        self.law_name = "pd" if plant.adds_gravity else law
        self._playback = Playback(plan, self._tolerance)
        kp, kd = self.gains.kp, self.gains.kd
        chosen: Law = PD(kp, kd, self._playback, reach=self.gains.reach)
        if self.law_name == "pd-gravity":
            chosen = PDGravity(robot, kp, kd, self._playback, reach=self.gains.reach)
        self._rig, self._loop = rig, rig.loop(chosen)
        self._stopping = self._at_once = self._ran = False

    @property
    def paused(self) -> bool:
        """Whether the plan's time stands still, or is about to."""
        return self._playback.paused or self._stopping

    @property
    def progress(self) -> float:
        """How much of the plan is done, 0 to 1."""
        return min(self._playback.plan_time / self.plan.duration, 1.0)

    def pause(self) -> None:
        """Slow down along the path and hold there; the plan's time stands still."""
        self._playback.paused = True

    def resume(self) -> None:
        """Go on from where it was paused; what is being stopped stays so."""
        if not self._stopping:
            self._playback.paused = False

    def stop(self, *, at_once: bool = False) -> None:
        """End the replay in the safe stop.

        Args:
            at_once: Do not slow down along the path first.
        """
        self._at_once = self._at_once or at_once
        self._stopping = True  # the next sample does the rest

    def run(
        self,
        progress: Callable[[float, float], None] | None = None,
        *,
        watch: Callable[[Sample], None] | None = None,
        log: bool = False,
    ) -> ReplayReport:
        """Go to the start, follow the path, and stop; the plant must have been entered.

        Args:
            progress: Called now and then with the seconds done and in all, by the plan's time.
            watch: Called with every good sample.
            log: Record all samples; ``report.run.log`` has them.

        Raises:
            SafetyError: The arm does not stand where the plan begins: nothing was moved. Or a fault stopped it:
                ``report`` has what was recorded before.
            InputError: It has run already, or was stopped before it began.
        """
        playback, plan = self._playback, self.plan
        if self._ran:
            raise InputError("this replay has run; make another one, planned from where the arm stands now")
        self._ran = True
        if self._stopping:
            raise InputError("the replay was stopped before it began")
        refuse_other_pose(plan, standing_sample(self._rig.plant).q, self._tolerance)
        clock: list[float] = []
        plan_time: list[float] = []
        positions: list[Array] = []
        every, reason = max(1, round(0.1 / self._rig.plant.dt)), ""
        before: Sample | None = None
        swing = SwingWatch(self._rig.robot)

        def each(sample: Sample) -> bool:
            """Judge the tick before: its sample and what was then desired are both known now."""
            nonlocal before, reason
            if watch is not None:
                watch(sample)
            if self._stopping:  # set here, in every tick: a resume() at the same moment must not undo a stop
                playback.paused = True
                if self._at_once:
                    return True
            last, before = before, sample
            if last is None or playback.desired is None:
                return False
            clock.append(float(last.time))
            plan_time.append(playback.plan_time)
            positions.append(last.q)
            reason = self._strayed(playback.desired.q - last.q)
            planned = playback.desired.dq
            if not reason and swing.grows(float(last.time), last.dq - planned, planned):
                reason = swing.reason
            if progress is not None and len(clock) % every == 0:
                progress(playback.plan_time, plan.duration)
            return bool(reason) or playback.over or (self._stopping and playback.standing)

        try:
            self._loop.run(until=each, log=log)
        finally:
            ran = self._loop.last_report
            if ran is not None:
                self.report = self._reported(ran, trace_of(plan, clock, plan_time, positions), reason)
        if self.report is None:
            raise InputError("the replay ended without a report")
        return self.report

    def _strayed(self, error: Array) -> str:
        """Return why to break off; "" for no reason."""
        over = np.abs(error) > self._bound
        if not over.any():
            return ""
        joint = int(np.argmax(np.abs(error) / self._bound))
        when = self._playback.plan_time - self.plan.path_begin
        where = f"at {when:.2f} s of the path" if when >= 0.0 else "on the move to the start"
        return (
            f"joint '{self._rig.robot.joint_names[joint]}' was {abs(error[joint]):.3g} rad or m from its path {where}; "
            f"{self._bound[joint]:.3g} is the bound"
        )

    def _reported(self, ran: RunReport, recorded: tuple[Trace, float], reason: str) -> ReplayReport:
        trace, approach = recorded
        joints, tips = tracking_errors(self._rig.robot, trace)
        if ran.fault:
            reason = f"stopped by a fault after {self.progress:.0%} of the plan: {ran.fault.name}"
        outcome: Outcome = "aborted" if reason else "completed" if self._playback.over else "stopped"
        if outcome == "stopped":
            reason = f"stopped after {self.progress:.0%} of the plan"
        return ReplayReport(
            outcome=outcome,
            reason=reason,
            law=self.law_name,
            plan=self.plan,
            joints=joints,
            tips=tips,
            approach_largest=approach,
            held=self._playback.held,
            trace=trace,
            run=ran,
        )


def _positive(value: npt.ArrayLike, name: str, robot: Robot) -> Array:
    array = joint_array(value, name, robot.joint_names)
    if not np.all(array > 0.0):
        raise InputError(f"{name} is {array.tolist()}; expected positive numbers [rad or m]")
    return frozen(array)


def _refuse_wider_limits(plan: ReplayPlan, safety: SafetyFilter) -> None:
    held = safety.limits
    if (wider := plan.limits.first_wider(held.effort, held.velocity, held.lower, held.upper)) is not None:
        raise InputError(
            f"joint '{wider.joint}': the plan's {wider.limit} exceeds what holds for this plant; plan again with "
            "plant=..."
        )
