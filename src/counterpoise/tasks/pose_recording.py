"""Recording the poses of a plan on an arm, each from both sides, for a calibration.

**The reference** (``BidirectionalApproach``) takes every pose of the plan from above and from below, at rest in
between. For each pose and each side: travel to the pose ± its approach, settle, creep to the pose, settle, dwell. Every
move is of minimum jerk in joint space, all joints together; the last one leads back to where the arm stood, so that an
arm without brakes is let down where its user had put it. Time counts from the reset.

**The law** is PD with gravity. Its lag while creeping is what friction asks for, so it comes to rest short of the pose
with its friction still fully on: the same on both sides, and gone in their mean. An integral that goes on at rest would
wind up until the joint breaks loose, and leave friction of either sign. But a joint that is light for its friction
follows PD not at all. Such joints get an integral that works on the way and rests from the end of the creep on. Which
ones is guessed from the effort limits (``integral="auto"``), and the recording itself shows whether it was right
(``arrivals`` in identification/still_poses.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..control import (
    PID,
    Desired,
    Gains,
    Law,
    RunReport,
    SwingWatch,
    minimum_jerk,
    move_time,
    not_begun,
    softest_gains,
)
from ..dynamics import Robot, rotary
from ..errors import InputError, SafetyError
from ..foundation import Array, frozen
from ..identification import PosePlan, approach_within
from ..recording import Declared, Log, Sample
from .rig import Rig
from .rotors.measurement import InertiaMeasurement, measured_on, unknown_rotors

RISE_TIME = 0.5
"""Travel accelerates no faster than to the travel speed in this time [s]: short hops stay gentle."""
GENTLE_RISE_TIME = 2.0
"""... and this where rotors are not known for sure: with soft gains, or gains by a band, joints lag and overtake."""


@dataclass(frozen=True, slots=True)
class Window:
    """When the arm is to be measured at rest.

    Attributes:
        pose: Index of the pose.
        side: "above" when it was approached from pose + approach, moving down; "below" for the opposite.
        creep: When the creep to the pose begins [s after the reset].
        begin: When the measurement begins [s after the reset].
        end: When it ends [s after the reset].
    """

    pose: int
    side: Literal["above", "below"]
    creep: float
    begin: float
    end: float

    def as_data(self) -> dict[str, Any]:
        """Return the window as JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    begin: float
    duration: float
    start: Array
    end: Array


class BidirectionalApproach:
    """Goes through a plan; a Reference for the laws.

    Attributes:
        plan: The poses.
        offsets: How far beyond each pose its approaches begin [rad or m], shape (k, n).
        wait: How long the arm is left where it is before the first move [s].
        rise_time: Time in which travel reaches the travel speed at the soonest [s].
    """

    def __init__(
        self, plan: PosePlan, offsets: Array | None = None, *, wait: float = 0.0, rise_time: float = RISE_TIME
    ) -> None:
        """Prepare to go through ``plan``.

        Args:
            plan: The poses.
            offsets: How far beyond each pose its approaches begin [rad or m], shape (k, n), as approach_within()
                returns them; None for the plan's own.
            wait: How long the arm is left where it is before the first move [s].
            rise_time: Time in which travel reaches the travel speed at the soonest [s].
        """
        self.plan, self.wait, self.rise_time = plan, wait, rise_time
        self.offsets = np.broadcast_to(plan.approach, plan.poses.shape) if offsets is None else np.asarray(offsets)
        if self.offsets.shape != plan.poses.shape:
            raise InputError(f"offsets has shape {self.offsets.shape}; expected {plan.poses.shape}")
        self._moves: list[_Move] = []
        self._begins: list[float] = []
        self._creep_ends: list[float] = []
        self._window_begins: list[float] = []
        self._windows: list[Window] = []
        self._rest = frozen(np.zeros(len(plan.joint_names)))

    def reset(self, q: Array) -> None:
        """Begin with the arm at q [rad or m], shape (n,)."""
        plan = self.plan
        if q.shape != (len(plan.joint_names),):
            raise InputError(f"q has shape {q.shape}; the plan has {len(plan.joint_names)} joints")
        self._moves, self._windows = [], []
        here, time = frozen(q), self.wait
        for index, pose in enumerate(plan.poses):
            for side, sign in (("above", 1.0), ("below", -1.0)):
                beyond = frozen(pose + sign * self.offsets[index])
                time = self._add(time, here, beyond, self._travel_time(here, beyond)) + plan.settle
                creep = time
                time = self._add(time, beyond, pose, self._creep_time(beyond, pose)) + plan.settle
                self._windows.append(Window(index, side, creep, time, time + plan.dwell))  # type: ignore[arg-type]
                time += plan.dwell
                here = pose
        self._duration = self._add(time, here, frozen(q), self._travel_time(here, q))
        self._begins = [move.begin for move in self._moves]
        self._window_begins = [window.begin for window in self._windows]
        self._creep_ends = [window.begin - plan.settle for window in self._windows]

    @property
    def duration(self) -> float:
        """Time until the arm is back where it began [s]; known after the reset."""
        self._require_begun()
        return self._duration

    @property
    def windows(self) -> tuple[Window, ...]:
        """When to measure, two windows a pose; known after the reset."""
        self._require_begun()
        return tuple(self._windows)

    def resting(self, time: float) -> bool:
        """Say whether the arm is to be left at rest at a pose: from the end of a creep to the end of its window."""
        self._require_begun()
        index = bisect_right(self._creep_ends, time) - 1
        return index >= 0 and time < self._windows[index].end

    def measuring(self, time: float) -> bool:
        """Say whether the arm is measured at this time: it has had its time to settle."""
        self._require_begun()
        index = bisect_right(self._window_begins, time) - 1
        return index >= 0 and time < self._windows[index].end

    def at(self, time: float) -> Desired:
        """Return position and velocity ``time`` seconds after the reset."""
        self._require_begun()
        move = self._moves[max(bisect_right(self._begins, time) - 1, 0)]
        part = (time - move.begin) / move.duration if move.duration > 0.0 else 1.0
        if part >= 1.0:
            return Desired(move.end, self._rest)
        part = max(part, 0.0)
        way = move.end - move.start
        done, slope = minimum_jerk(part)
        return Desired(move.start + done * way, slope / move.duration * way)

    def _add(self, begin: float, start: Array, end: Array, duration: float) -> float:
        self._moves.append(_Move(begin, duration, start, end))
        return begin + duration

    def _travel_time(self, start: Array, end: Array) -> float:
        speed = self.plan.travel_speed
        return move_time(end - start, speed, speed / self.rise_time)

    def _creep_time(self, start: Array, end: Array) -> float:
        return move_time(end - start, self.plan.creep_speed)

    def _require_begun(self) -> None:
        if not self._moves:
            raise not_begun()


MARGIN_ROTARY, MARGIN_LINEAR = 0.02, 0.005
"""Distance kept from the joint limits [rad, m]."""
GUESSED_FRICTION = 0.03
"""Friction of an unknown joint as a share of its effort limit, to choose the joints that need an integral."""
MOST_EFFORT = 0.9
"""Largest share of the effort limits that holding a pose may take."""
INTEGRAL_EFFORT = 0.2
"""Largest share of the effort limits that the integral may use."""


STILL_DAMPING = 0.25
"""Share of the damping that acts while an arm whose rotors are not known for sure stands to be measured: friction holds
it, and a count of an encoder to and fro is only a knock on its gears."""


class Recording:
    """A plan fitted to an arm, and the law that follows it. Nothing moves before :meth:`run`.

    Attributes:
        plan: The plan.
        offsets: How far beyond each pose its approaches begin [rad or m], shape (k, n).
        notes: What was changed to keep clear of the joint limits, one sentence each.
        gains: The gains; K_i is 0 for the joints without integral. Soft for unknown rotors until they are measured.
        measures: Names of the joints that :meth:`run` pulses first, because the model does not know their rotors.
        measurement: What came of that; None before, or where there was nothing to measure.
        reference: The motion.
        log: What has been recorded, also by a run that was interrupted; None before.
        loop: The loop that drives the arm.
    """

    def __init__(
        self,
        rig: Rig,
        plan: PosePlan,
        *,
        integral: Literal["auto", "none", "all"] = "auto",
        gains: Gains | None = None,
        margin: npt.ArrayLike | None = None,
        pulsed: Sequence[str] | None = None,
    ) -> None:
        """Fit a plan to an arm; refuse what would leave its limits.

        Args:
            rig: The arm.
            plan: The poses.
            integral: Which joints get integral action.
            gains: Gains; None derives default ones (control.default_gains).
            margin: Distance kept from the joint limits [rad or m], one or n; None for 0.02 rad and 5 mm.
            pulsed: Names of the joints to which torque pulses are restricted, where the rig asks for them, the model
                does not know the rotor and no gains are given; None for all. The others keep soft gains.

        Raises:
            InputError: A pose is beyond the limits or cannot be held, or the plan is another arm's.
        """
        robot, limits = rig.robot, rig.safety.limits
        if plan.joint_names != robot.joint_names:
            raise InputError(f"the plan's joints {list(plan.joint_names)} are not {list(robot.joint_names)}")
        if integral not in ("auto", "none", "all"):
            raise InputError(f"integral is {integral!r}; expected 'auto', 'none' or 'all'")
        self.plan = plan
        self.log: Log | None = None
        if margin is None:
            margin = np.where(rotary(robot), MARGIN_ROTARY, MARGIN_LINEAR)
        self._margin = margin
        self.offsets, self.notes = approach_within(plan, limits.lower, limits.upper, margin)
        _refuse_too_fast(plan, limits.velocity)
        _refuse_too_heavy(robot, plan, limits.effort)
        self._rig, self._integral = rig, integral
        self.measurement: InertiaMeasurement | None = None
        chosen = robot.joint_names if pulsed is None else pulsed
        measures = rig.measure_rotors and gains is None
        self.measures = tuple(name for name in unknown_rotors(robot) if measures and name in chosen)
        soft = softest_gains(robot, plan.poses, limits.effort, rig.plant.dt) if gains is None else gains
        self.gains = self._with_integral_chosen(soft, limits.effort)
        self._wait = rig.safety.settings.blend_time
        self._gentle = gains is None and not robot.rotor_inertia_known.all()
        self.reference = self._planned()
        self.loop = rig.loop(self._laws(limits.effort))

    @property
    def with_integral(self) -> tuple[str, ...]:
        """Names of the joints with integral action."""
        return tuple(name for name, ki in zip(self.plan.joint_names, self.gains.ki, strict=True) if ki > 0.0)

    def duration_from(self, q: Array) -> float:
        """Return the time of the whole recording when the arm stands at q [rad or m], shape (n,) [s]."""
        planned = self._planned()
        planned.reset(frozen(q))
        return planned.duration

    def run(self, progress: Callable[[float, float], None] | None = None) -> Log:
        """Drive the arm through the plan, and back to where it stood; the plant must have been entered.

        Where ``measures`` names joints, they are pulsed first, and the gains follow what was found.

        Args:
            progress: Called now and then with the seconds done and in all.

        Raises:
            SafetyError: A fault or a growing swing stopped the arm; ``log`` has what was recorded before.
        """
        self.measure(progress)
        try:
            self.drive(self.duration_from(self._rig.plant.read().q), progress=progress, log=True)
        finally:
            report = self.loop.last_report
            if report is not None and report.log is not None:
                self.log = replace(report.log, declared=self._declared(report.log.declared, report))
        if self.log is None:
            raise InputError("nothing was recorded")
        return self.log

    def measure(
        self,
        progress: Callable[[float, float], None] | None = None,
        *,
        until: Callable[[Sample], bool] | None = None,
    ) -> bool:
        """Measure the inertias that are unknown, and take gains by them; the arm is left held for what comes next.

        Args:
            progress: Called now and then with the share of the joints that are done, and 1.
            until: Called with every good sample; true ends the measurement.

        Returns:
            False where ``until`` ended it.

        Raises:
            SafetyError: A fault or a growing swing stopped the arm.
        """
        if not self.measures or self.measurement is not None:
            return True
        limits = self._rig.safety.limits
        try:
            found = measured_on(self.loop, self._rig, self.measures, progress=progress, until=until)
            if found is not None:
                self.measurement = found
                gains = found.gains(self.plan.poses, limits.effort, self._rig.plant.dt)
                self.gains = self._with_integral_chosen(gains, limits.effort)
        finally:
            self.loop.switch(self._laws(limits.effort))
        return found is not None

    def follow(self, plan: PosePlan) -> None:
        """Go on with another plan, with the gains as they are; the arm stays held by what was sent last.

        Args:
            plan: The poses; its joints are those of the plan before.

        Raises:
            InputError: The plan would leave the arm's limits.
        """
        limits = self._rig.safety.limits
        offsets, notes = approach_within(plan, limits.lower, limits.upper, self._margin)
        _refuse_too_fast(plan, limits.velocity)
        self.plan, self.offsets, self.notes = plan, offsets, notes
        self.reference = self._planned()
        self.loop.switch(self._laws(limits.effort))

    def drive(
        self,
        seconds: float,
        *,
        until: Callable[[Sample], bool] | None = None,
        progress: Callable[[float, float], None] | None = None,
        log: bool = False,
        then: Literal["stop", "keep"] = "stop",
    ) -> RunReport:
        """Follow the plan with the gains as they are, for ``seconds``; the rest as of ControlLoop.run.

        Raises:
            SafetyError: A fault stopped the arm, or a swing that grew.
        """
        swing, reference, began = SwingWatch(self._rig.robot), self.reference, None

        def watch(sample: Sample) -> bool:
            nonlocal began
            began = float(sample.time) if began is None else began
            planned = reference.at(float(sample.time) - began).dq
            grows = swing.grows(float(sample.time), sample.dq - planned, planned)
            return grows or (until is not None and until(sample))

        report = self.loop.run(seconds, until=watch, progress=progress, log=log, then=then)
        if swing.reason:
            if then == "keep":
                self.loop.run(0.0)  # nobody goes on from here: bring the arm to its safe stop
            raise SafetyError(f"the run was ended: {swing.reason}", report=report)
        return report

    def _planned(self) -> BidirectionalApproach:
        """Return the motion; while the loop fades the law in, nothing moves: a law that lags would make up for it."""
        rise_time = GENTLE_RISE_TIME if self._gentle else RISE_TIME
        return BidirectionalApproach(self.plan, self.offsets, wait=self._wait, rise_time=rise_time)

    def _with_integral_chosen(self, gains: Gains, effort_limit: Array) -> Gains:
        """Return gains with K_i for the joints that need it."""
        n = len(gains.kp)
        needed = {"all": np.ones(n, dtype=bool), "none": np.zeros(n, dtype=bool)}.get(self._integral)
        if needed is None:
            # Turning friction around takes 2 F / K_p of the approach; the rest is for creeping.
            needed = 2.0 * GUESSED_FRICTION * effort_limit / gains.kp > 0.5 * np.min(self.offsets, axis=0)
        return replace(gains, ki=frozen(np.where(needed, gains.ki, 0.0)))

    def _laws(self, effort_limit: Array) -> Sequence[Law]:
        pid = PID(
            self.gains.kp,
            self.gains.ki,
            self.gains.kd,
            integral_limit=INTEGRAL_EFFORT * effort_limit,
            dt=self._rig.plant.dt,
            reference=self.reference,
            rests=self.reference.resting,
            reach=self.gains.reach,
            damping_share=self._damping_share if self._gentle else None,
        )
        return self._rig.with_gravity(pid)

    def _damping_share(self, time: float) -> float:
        """Return the share of K_d that acts, by the reference's time [s]."""
        return STILL_DAMPING if self.reference.measuring(time) else 1.0

    def _declared(self, by_plant: Declared, report: RunReport) -> Declared:
        """Return what the plant declares, with the arm, the plan and those of its windows that were completed."""
        # Then the safe stop moves the arm. The ticks are a whole number, so the last window may end half a tick later.
        driven = (report.ticks - report.stop_ticks + 0.5) * self._rig.plant.dt
        windows = [window.as_data() for window in self.reference.windows if window.end <= driven]
        plan = self.plan.as_data() | {"offsets": self.offsets.tolist(), "windows": windows}
        measured = {} if self.measurement is None else {"inertias": self.measurement.as_data()}
        return replace(
            by_plant,
            gravity_base=self._rig.robot.gravity_base,
            notes={**by_plant.notes, "robot": self._rig.robot.name, "plan": plan, **measured},
        )


def record(rig: Rig, plan: PosePlan, *, progress: Callable[[float, float], None] | None = None, **settings: Any) -> Log:
    """Record the poses of a plan, each from both sides.

    ::

        with SignalSafe(plant):  # control.stop_signals
            log = record(Rig(plant, robot), PosePlan.of(robot, poses))

    ``log.declared.notes["plan"]`` holds the plan and the windows in which the arm is at rest.

    Args:
        rig: The arm; its plant entered.
        plan: The poses.
        progress: Called now and then with the seconds done and in all.
        settings: See :class:`Recording`.

    Raises:
        InputError: The plan does not suit the arm; nothing has moved.
        SafetyError: The arm was stopped by a fault.
    """
    return Recording(rig, plan, **settings).run(progress)


def _refuse_too_fast(plan: PosePlan, velocity_limit: Array) -> None:
    fastest = np.maximum(plan.travel_speed, plan.creep_speed)
    if (over := np.flatnonzero(fastest > velocity_limit)).size:
        joint = int(over[0])
        raise InputError(
            f"joint '{plan.joint_names[joint]}': the plan's speed {fastest[joint]:g} exceeds the limit "
            f"{velocity_limit[joint]:g}; lower travel_speed or creep_speed"
        )


def _refuse_too_heavy(robot: Robot, plan: PosePlan, effort_limit: Array) -> None:
    share = np.abs(robot.gravity(plan.poses)) / effort_limit
    if (over := np.argwhere(share > MOST_EFFORT)).size:
        pose, joint = over[0].tolist()
        raise InputError(
            f"pose {pose + 1}: holding it takes {share[pose, joint]:.0%} of the effort limit of joint "
            f"'{robot.joint_names[joint]}'; at most {MOST_EFFORT:.0%} is accepted. Choose another pose"
        )
