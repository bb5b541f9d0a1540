"""Replaying a plan on an arm, with PD and gravity, through the control loop and its safety filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...calibration.identity import identity_of
from ...description.frozen import Array, frozen
from ...dynamics.joint_units import rotary
from ...dynamics.robot import Robot
from ...errors import InputError
from ...logs.sample import Sample
from ..careful_gains import Gains, softest_gains
from ..clock import Clock
from ..gravity import PDGravity
from ..law import Law
from ..limits import joint_array
from ..loop import ControlLoop
from ..pd import PD
from ..plant import Plant, standing_sample
from ..report import RunReport
from ..safety import SafetyFilter
from ..swing import SwingWatch
from .plan import LEAD, ReplayPlan
from .playback import Playback, refuse_other_pose
from .replay_report import Outcome, ReplayReport, Trace, trace_of, tracking_errors

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
            report = Replay(plant, robot, plan).run()

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
        plant: Plant,
        robot: Robot,
        plan: ReplayPlan,
        *,
        law: Literal["pd-gravity", "pd"] = "pd-gravity",
        gains: Gains | None = None,
        bound: npt.ArrayLike | None = None,
        tolerance: npt.ArrayLike | None = None,
        safety: SafetyFilter | None = None,
        pace: Literal["plant", "clock"] = "plant",
        clock: Clock | None = None,
        i_have_an_estop: str | None = None,
    ) -> None:
        """Prepare a replay; refuse what does not belong together.

        Args:
            plant: What is driven.
            robot: The arm's model, payload included: the one that was planned for.
            plan: The plan.
            law: "pd-gravity"; "pd" leaves gravity out, to compare.
            gains: Gains; None derives careful ones along the path (control.careful_gains).
            bound: Tracking error at which it is broken off [rad or m], one or n; None for 0.2 rad and 40 mm.
            tolerance: How far from the plan's start the arm may stand [rad or m], one or n; None for 0.02 rad, 5 mm.
            safety: The filter; None makes one.
            pace: See ControlLoop.
            clock: See ControlLoop.
            i_have_an_estop: See ControlLoop.

        Raises:
            InputError: The plan is another arm's, or was checked against wider limits than hold here.
            SafetyError: Nothing stops the arm when this program dies.
        """
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
        filter_ = SafetyFilter(robot, plant=plant) if safety is None else safety
        _refuse_wider_limits(plan, filter_)
        if filter_.settings.blend_time > LEAD:
            raise InputError(
                f"the filter's blend_time is {filter_.settings.blend_time:g} s; the arm moves after {LEAD:g} s, when "
                "the law must be whole. Take a shorter blend_time"
            )
        rows = np.unique(np.linspace(0, len(plan.asked.q) - 1, GAIN_POSES).astype(np.int64))
        poses = (plan.start, *plan.asked.q[rows])
        self.gains = softest_gains(robot, poses, filter_.limits.effort, plant.dt) if gains is None else gains
        self.law_name = "pd" if plant.adds_gravity else law
        self._playback = Playback(plan, self._tolerance)
        kp, kd = self.gains.kp, self.gains.kd
        chosen: Law = PD(kp, kd, self._playback, reach=self.gains.reach)
        if self.law_name == "pd-gravity":
            chosen = PDGravity(robot, kp, kd, self._playback, reach=self.gains.reach)
        self._plant, self._robot = plant, robot
        self._loop = ControlLoop(
            plant, chosen, robot, safety=filter_, pace=pace, clock=clock, i_have_an_estop=i_have_an_estop
        )
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
        refuse_other_pose(plan, standing_sample(self._plant).q, self._tolerance)
        clock: list[float] = []
        plan_time: list[float] = []
        positions: list[Array] = []
        every, reason = max(1, round(0.1 / self._plant.dt)), ""
        before: Sample | None = None
        swing = SwingWatch(self._robot)

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
        where = f"at {when:.2f} s of the path" if when >= 0.0 else "on the way to the start"
        return (
            f"joint '{self._robot.joint_names[joint]}' was {abs(error[joint]):.3g} rad or m from its path {where}; "
            f"{self._bound[joint]:.3g} is the bound"
        )

    def _reported(self, ran: RunReport, recorded: tuple[Trace, float], reason: str) -> ReplayReport:
        trace, approach = recorded
        joints, tips = tracking_errors(self._robot, trace)
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
