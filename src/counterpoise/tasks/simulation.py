"""A run of a simulated arm under a law: a reference that suits the arm, gains by a rule, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..control import (
    INTERRUPTIONS,
    PD,
    PID,
    ControlLoop,
    Eased,
    Hold,
    Law,
    PDGravity,
    PoseList,
    Reference,
    RunReport,
    SignalSafe,
    Sine,
    Triangle,
    default_gains,
    plate_of,
)
from ..dynamics import Robot, joint_index, position_units, rotary
from ..errors import InputError, SafetyError
from ..foundation import Array
from ..identification import PosePlan
from ..plants import FlowValve, SimulatedArm
from ..recording import Sample
from .rig import Rig
from .tune.gains import LawGains, TuningRule
from .tune.probe import tared_loop

AMPLITUDE_ROTARY, AMPLITUDE_LINEAR = 0.2, 0.05
"""Amplitudes unless given [rad, m]; less where a limit is near."""
MARGIN = 0.02
"""Distance that a reference keeps from the joint limits [rad or m]."""
EASE = 1.0
"""Time over which a swing is faded in [s]."""
POSE_DWELL = 0.5
"""Time at each pose of a list [s]."""
DURATION = 8.0
"""Length of a run that follows no list of poses, unless given [s]."""
SETTLING = 1.0
"""Time for which an arm is held before its plate is tared [s]."""
HIDDEN_INSTANTS = 1500
"""Instants at which friction is looked at, at most."""


def misjudged(robot: Robot, model_error: float) -> Robot:
    """Return the robot as a controller believes it to be whose masses are too large by ``model_error`` [%]."""
    # Gravity torques are linear in the masses: all of them off by a factor is gravity off by that factor.
    return robot.mounted(gravity=(1.0 + model_error / 100.0) * robot.gravity_world) if model_error else robot


@dataclass(frozen=True, slots=True, eq=False)
class SimulationSettings:
    """What a simulated arm follows, and under which law.

    Attributes:
        law: The law; None for "pd-gravity", or "pd" where the arm bears its own weight (a flow valve).
        gains: Law and gains that tuning found, instead; None for gains by a rule.
        stiffness: Factor on the gains by the rule.
        reference: What to follow: hold the first pose, swing about it, or go through poses.
        joints: Names of the joints that swing; () for all.
        amplitude: Of the swing [rad or m]; None for 0.2 rad and 5 cm, less where a limit is near.
        period: Of the swing [s].
        poses: The poses of reference="poses".
        duration: Length of the run [s]; None for 8 s, or what the poses take.
    """

    law: Literal["pd-gravity", "pd", "pid"] | None = None
    gains: LawGains | None = None
    stiffness: float = 1.0
    reference: Literal["hold", "sine", "triangle", "poses"] = "sine"
    joints: tuple[str, ...] = ()
    amplitude: float | None = None
    period: float = 4.0
    poses: PosePlan | None = None
    duration: float | None = None

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if (self.reference == "poses") != (self.poses is not None):
            raise InputError(f"reference is {self.reference!r}; poses= goes with reference='poses', and only with it")


@dataclass(frozen=True, slots=True, eq=False)
class HiddenFriction:
    """Friction that only the simulation knows, at some of its instants.

    Attributes:
        time: Seconds since the start, shape (m,).
        friction: Friction of each drive [N m or N], shape (m, n).
    """

    time: Array
    friction: Array


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """A simulated run that is over, however it ended.

    Attributes:
        report: What the loop reports.
        desired: What was desired at the first k samples [rad or m], shape (k, n).
        hidden: What only the simulation knows; None where it was not watched.
        seconds: Time the simulation took on the wall [s].
        interruption: What was raised for the signal that ended it; None where none did.
        error: The fault that ended it; None where none did.
    """

    report: RunReport
    desired: Array
    hidden: HiddenFriction | None
    seconds: float
    interruption: BaseException | None
    error: SafetyError | None


class Simulation:
    """A simulated run, ready to go; nothing has moved yet.

    Attributes:
        arm: The simulated arm.
        settings: What it follows, and under which law.
        reference: The reference.
        law_name: What closes the loop: "pd-gravity", "pd", "pid", or as the gains name it.
        duration: How long it will take [s].
    """

    def __init__(self, rig: Rig, settings: SimulationSettings = SimulationSettings()) -> None:
        """Choose reference and gains.

        Args:
            rig: The simulated arm, not entered, and the model that its controller believes in.
            settings: What it follows, and under which law.

        Raises:
            InputError: The plant is no simulated arm, a joint does not exist, or the reference leaves the limits.
            MissingExtraError: MuJoCo is not installed.
        """
        if not isinstance(rig.plant, SimulatedArm):
            raise InputError(f"{type(rig.plant).__name__} is no simulated arm")
        arm = self.arm = rig.plant
        with arm:
            start = arm.read().q
        arm.reset()
        self._rig, self.settings = rig, settings
        self.reference = _reference(settings, arm.robot, start, arm.velocity_limit)
        self.reference.reset(start)
        natural = self.reference.duration + POSE_DWELL if isinstance(self.reference, PoseList) else DURATION
        self.duration = natural if settings.duration is None else settings.duration
        self._gains = default_gains(rig.robot, start, arm.effort_limit, arm.dt, stiffness=settings.stiffness)
        by_rule = settings.law or ("pd" if arm.adds_gravity else "pd-gravity")
        self.law_name: str = by_rule if settings.gains is None else settings.gains.kind

    @property
    def gains(self) -> dict[str, Array]:
        """The gains in force, by name: kp, ki, kd, and k_int where they are tuned ones."""
        tuned = self.settings.gains
        if tuned is not None:
            return {name: getattr(tuned, name) for name in ("kp", "ki", "kd", "k_int")}
        return {name: np.asarray(getattr(self._gains, name)) for name in ("kp", "ki", "kd")}

    @property
    def notes(self) -> list[str]:
        """What the user may want to know before, one sentence each."""
        if self.settings.gains is not None:
            return []
        notes: list[str] = []
        if isinstance(self.arm.config.drive.actuator, FlowValve):
            notes.append(
                "a flow valve takes the command as an opening and bears the weight itself: gains have another meaning "
                "there"
            )
        if self.law_name == "pid" and not self.arm.adds_gravity:
            notes.append("PID has no gravity model: the arm sags at the start, until the integral holds its weight")
        if self.law_name == "pd" and not self.arm.adds_gravity:
            notes.append("PD has no gravity model: the arm sags by its weight over its stiffness")
        return notes

    def run(
        self, progress: Callable[[float, float], None] | None = None, *, watch_friction: bool = False
    ) -> SimulationResult:
        """Run it; faults and Ctrl-C end in the safe stop and in a result like any other.

        Args:
            progress: Called now and then with the seconds done and in all.
            watch_friction: Look at the true friction on the way.
        """
        arm, dt = self.arm, self.arm.dt
        every = max(1, round(self.duration / dt / HIDDEN_INSTANTS))
        instants: list[float] = []
        friction: list[Array] = []
        ticks = 0

        def watch(sample: Sample) -> bool:
            nonlocal ticks
            if ticks % every == 0:
                if progress is not None:
                    progress(ticks * dt, self.duration)
                if watch_friction:
                    instants.append(ticks * dt)
                    friction.append(arm.truth().friction_torque)
            ticks += 1
            return False

        interruption: BaseException | None = None
        error: SafetyError | None = None
        begun = time.perf_counter()
        with SignalSafe(arm):
            loop = self._loop()
            try:
                loop.run(self.duration, until=watch, log=True)
            except INTERRUPTIONS as ended:
                interruption = ended
            except SafetyError as caught:
                if caught.report is None:
                    raise
                error = caught
        seconds = time.perf_counter() - begun
        report = loop.last_report
        if report is None or report.log is None:
            raise InputError("the run ended before anything was recorded")
        samples = min(report.ticks - report.stop_ticks, len(report.log))
        desired = np.array([self.reference.at(tick * dt).q for tick in range(samples)]).reshape(samples, arm.n)
        hidden = HiddenFriction(np.array(instants), np.array(friction)) if friction else None
        return SimulationResult(report, desired, hidden, seconds, interruption, error)

    def _loop(self) -> ControlLoop:
        """Return the loop with its law; for tuned gains the arm is held first, and its plate tared."""
        rig, tuned = self._rig, self.settings.gains
        if tuned is None:
            return rig.loop(self._law())
        sensor = None if rig.plant.plate is None else plate_of(rig.plant, rig.robot)
        laws = partial(tuned.laws, rig, self.reference, sensor=sensor)
        if sensor is None:
            return rig.loop(laws())
        rule = TuningRule(step=max(TuningRule().step, self._reach()))
        loop = tared_loop(rig, sensor, rule, settle=SETTLING)
        loop.switch(laws())
        return loop

    def _law(self) -> Law:
        gains, arm = self._gains, self.arm
        if self.law_name == "pd":
            return PD(gains.kp, gains.kd, self.reference, reach=gains.reach)
        if self.law_name == "pid":
            return PID(
                gains.kp,
                gains.ki,
                gains.kd,
                integral_limit=arm.effort_limit,
                dt=arm.dt,
                reference=self.reference,
                reach=gains.reach,
            )
        return PDGravity(self._rig.robot, gains.kp, gains.kd, self.reference, reach=gains.reach)

    def _reach(self) -> float:
        """Return how far the reference leads a joint from its start [rad or m]."""
        path = np.array([self.reference.at(time).q for time in np.linspace(0.0, self.duration, 200).tolist()])
        return float(np.abs(path - path[0]).max(initial=0.0))


def _reference(settings: SimulationSettings, robot: Robot, start: Array, velocity_limit: Array) -> Reference:
    if settings.reference == "hold":
        return Hold()
    plan = settings.poses
    if plan is not None:
        return PoseList(list(plan.poses), speed=np.minimum(plan.travel_speed, velocity_limit), dwell=POSE_DWELL)
    moving = np.zeros(robot.n, dtype=bool)
    moving[[joint_index(robot, name) for name in settings.joints] if settings.joints else slice(None)] = True
    amplitude = _amplitude(settings, robot, start, moving)
    triangle = settings.reference == "triangle"
    top = (4.0 if triangle else 2.0 * np.pi) * amplitude / settings.period
    if (over := np.flatnonzero(top > velocity_limit)).size:
        joint = int(over[0])
        raise InputError(
            f"joint '{robot.joint_names[joint]}': the {settings.reference} needs a speed of {top[joint]:.3g}, its "
            f"limit is {velocity_limit[joint]:g}; take a longer period (--period) or a smaller amplitude (--amplitude)"
        )
    return Eased(Triangle(amplitude, settings.period) if triangle else Sine(amplitude, settings.period), EASE)


def _amplitude(settings: SimulationSettings, robot: Robot, start: Array, moving: npt.NDArray[np.bool_]) -> Array:
    """Return amplitudes [rad or m], shape (n,), that keep clear of the limits."""
    room = np.maximum(np.minimum(start - robot.lower, robot.upper - start) - MARGIN, 0.0)
    if settings.amplitude is None:
        usual = np.where(rotary(robot), AMPLITUDE_ROTARY, AMPLITUDE_LINEAR)
        return np.asarray(np.where(moving, np.minimum(usual, room), 0.0))
    if (over := np.flatnonzero(moving & (settings.amplitude > room))).size:
        joint = int(over[0])
        raise InputError(
            f"joint '{robot.joint_names[joint]}': an amplitude of {settings.amplitude:g} about {start[joint]:.4g} "
            f"leaves its limits {robot.lower[joint]:.4g} … {robot.upper[joint]:.4g} {position_units(robot)[joint]}; at "
            f"most {room[joint]:.3g} is possible"
        )
    return np.where(moving, settings.amplitude, 0.0)
