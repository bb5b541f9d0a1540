"""A simulated run as a command line asks for it: arm, law, reference, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ..calibration.pose_plan import read_plan
from ..control.base_sensor_control import plate_of
from ..control.careful_gains import Gains, careful_gains
from ..control.gravity import PDGravity
from ..control.law import Law
from ..control.loop import ControlLoop
from ..control.pd import PD
from ..control.pid import PID
from ..control.reference import Eased, Hold, PoseList, Reference, Sine, Triangle
from ..control.report import RunReport
from ..control.stop_signals import INTERRUPTIONS, SignalSafe
from ..control.tune.gains import read_gains
from ..control.tune.probe import holding_loop, take_tare
from ..control.tune.rule import TuningRule
from ..description.frozen import Array
from ..dynamics.joint_units import position_units, rotary
from ..dynamics.robot import Robot
from ..errors import InputError, SafetyError
from ..logs.sample import Sample
from ..plants.drive_config import FlowValve
from ..plants.presets import Preset
from ..plants.simulated import SimulatedArm
from ..report.simulation_page import Hidden
from .payload import Carried, misjudged
from .plant import joint_index, named_preset
from .poses import outside_limits

AMPLITUDE_ROTARY, AMPLITUDE_LINEAR = 0.2, 0.05
"""Amplitudes unless given [rad, m]; less where a limit is near."""
MARGIN = 0.02
"""Distance that a reference keeps from the joint limits [rad or m]."""
EASE = 1.0
"""Time over which a swing is faded in [s]."""
POSE_DWELL = 0.5
"""Time at each pose of a list [s]."""
SETTLING = 1.0
"""Time for which an arm is held before its plate is tared [s]."""
HIDDEN_INSTANTS = 1500
"""Instants at which friction is looked at, at most."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line chose; see its options."""

    preset: str
    law: str | None
    gains: str | None
    reference: str
    joints: tuple[str, ...]
    amplitude: float | None
    period: float
    poses: str | None
    duration: float | None
    seed: int
    carried: Carried | None
    payload_known: bool
    model_error: float
    stiffness: float


@dataclass(frozen=True, slots=True, eq=False)
class EndedRun:
    """A run that is over, however it ended.

    Attributes:
        preset: The simulated arm's preset.
        robot: The arm as it was, payload included.
        effort_limit: Largest torques [N m or N], shape (n,).
        report: What the loop reports.
        desired: What was desired at the first k samples [rad or m], shape (k, n).
        hidden: What only the simulation knows; None where it was not watched.
        seconds: Time the simulation took on the wall [s].
        interruption: What was raised for the signal that ended it; None where none did.
        error: The fault that ended it; None where none did.
    """

    preset: Preset
    robot: Robot
    effort_limit: Array
    report: RunReport
    desired: Array
    hidden: Hidden | None
    seconds: float
    interruption: BaseException | None
    error: SafetyError | None

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return self.interruption is not None


class Simulation:
    """A simulated run, ready to go; nothing has moved yet.

    Attributes:
        law_name: What closes the loop: "pd-gravity", "pd", "pid", or as a file of gains names it.
        notes: What the user may want to know before.
        duration: How long it will take [s].
    """

    def __init__(self, choice: Choice) -> None:
        """Build arm, reference and law.

        Raises:
            InputError: Something that was chosen does not exist, or would leave the joint limits.
            MissingExtraError: MuJoCo is not installed.
        """
        self.choice = choice
        self.preset = named_preset(choice.preset)
        bare = self.preset.robot()
        robot = bare if choice.carried is None else choice.carried.on(bare)
        self.arm = SimulatedArm(robot, self.preset.config.replaced(seed=choice.seed))
        self.model = misjudged(robot if choice.payload_known else bare, choice.model_error)
        with self.arm:
            start = self.arm.read().q
        self.arm.reset()
        self.reference = _reference(choice, robot, start, self.arm.velocity_limit)
        self.reference.reset(start)
        self.duration = choice.duration if choice.duration is not None else _natural_duration(self.reference)
        limit, dt = self.arm.effort_limit, self.arm.dt
        self.gains = careful_gains(self.model, start, limit, dt, stiffness=choice.stiffness)
        self.law_name = choice.law or ("pd" if self.arm.adds_gravity else "pd-gravity")
        self.tuned = None if choice.gains is None else read_gains(choice.gains)
        if self.tuned is not None:
            self.law_name = self.tuned.kind
        self.notes = [] if self.tuned is not None else _notes(self.law_name, self.arm, self.preset)

    def run(self, *, watch_friction: bool, progress: Callable[[float, float], None]) -> EndedRun:
        """Run it; faults and Ctrl-C end in the safe stop and in an outcome like any other.

        Args:
            watch_friction: Look at the true friction on the way.
            progress: Called now and then with the seconds done and in all.
        """
        arm, dt = self.arm, self.arm.dt
        every = max(1, round(self.duration / dt / HIDDEN_INSTANTS))
        instants: list[float] = []
        friction: list[Array] = []
        ticks = 0

        def watch(sample: Sample) -> bool:
            nonlocal ticks
            if ticks % every == 0:
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
        hidden = Hidden(np.array(instants), np.array(friction)) if friction else None
        return EndedRun(self.preset, arm.robot, arm.effort_limit, report, desired, hidden, seconds, interruption, error)

    def _loop(self) -> ControlLoop:
        """Return the loop with its law; for tuned gains the arm is held first, and its plate tared."""
        arm, model = self.arm, self.model
        if self.tuned is None:
            return ControlLoop(arm, _law(self.law_name, arm, model, self.gains, self.reference), model)
        sensor = None if arm.plate is None else plate_of(arm, model)
        laws = partial(self.tuned.laws, arm, model, self.reference, sensor=sensor)
        if sensor is None:
            return ControlLoop(arm, laws(), model)
        loop = holding_loop(arm, model)
        loop.run(SETTLING, then="keep")
        take_tare(loop, sensor, TuningRule(step=max(TuningRule().step, self._reach())))
        loop.switch(laws())
        return loop

    def _reach(self) -> float:
        """Return how far the reference leads a joint from its start [rad or m]."""
        path = np.array([self.reference.at(time).q for time in np.linspace(0.0, self.duration, 200).tolist()])
        return float(np.abs(path - path[0]).max(initial=0.0))

    def gain_values(self) -> dict[str, Array]:
        """Return the gains in force, by name."""
        if self.tuned is not None:
            return {name: getattr(self.tuned, name) for name in ("kp", "ki", "kd", "k_int")}
        return {name: np.asarray(getattr(self.gains, name)) for name in ("kp", "ki", "kd")}

    def setup(self) -> dict[str, str]:
        """Return what was chosen, in words, for the page."""
        choice = self.choice
        moving = ", ".join(choice.joints) if choice.joints else "all"
        swing = f"{choice.reference} of {choice.period:g} s, joints {moving}"
        setup = {
            "arm": f"{self.preset.name}, variant {self.preset.variant}",
            "law": self.law_name,
            "reference": swing if choice.reference in ("sine", "triangle") else choice.reference,
            "seed": str(choice.seed),
            "control period": f"{1e3 * self.arm.dt:.4g} ms",
        }
        titles = {"kp": "stiffness K_p", "kd": "damping K_d", "ki": "integral gain K_i", "k_int": "torque loop k_int"}
        source = "by rule" if self.tuned is None else "tuned"
        for name, values in self.gain_values().items():
            if np.any(values) and (name != "ki" or self.law_name in ("pid", "pi")):
                setup[f"{titles[name]} ({source})"] = ", ".join(f"{value:.4g}" for value in values)
        if choice.carried is not None:
            knows = "known" if choice.payload_known else "unknown"
            setup["payload"] = f"{choice.carried.mass:g} kg, {knows} to the controller"
        if choice.model_error:
            setup["model error"] = f"the controller's masses are {choice.model_error:+.1f} % off"
        return setup


def _reference(choice: Choice, robot: Robot, start: Array, velocity_limit: Array) -> Reference:
    if choice.reference == "hold":
        return Hold()
    if choice.poses is not None:
        plan = read_plan(choice.poses, robot)
        if outside := outside_limits(robot, plan.poses):
            raise InputError(outside[0])
        return PoseList(list(plan.poses), speed=np.minimum(plan.travel_speed, velocity_limit), dwell=POSE_DWELL)
    moving = np.zeros(robot.n, dtype=bool)
    moving[[joint_index(robot, name) for name in choice.joints] if choice.joints else slice(None)] = True
    amplitude = _amplitude(choice, robot, start, moving)
    top = (4.0 if choice.reference == "triangle" else 2.0 * np.pi) * amplitude / choice.period
    if (over := np.flatnonzero(top > velocity_limit)).size:
        joint = int(over[0])
        raise InputError(
            f"joint '{robot.joint_names[joint]}': the {choice.reference} needs a speed of {top[joint]:.3g}, its limit "
            f"is {velocity_limit[joint]:g}; take a longer --period or a smaller --amplitude"
        )
    swing = Triangle(amplitude, choice.period) if choice.reference == "triangle" else Sine(amplitude, choice.period)
    return Eased(swing, EASE)


def _amplitude(choice: Choice, robot: Robot, start: Array, moving: npt.NDArray[np.bool_]) -> Array:
    """Return amplitudes [rad or m], shape (n,), that keep clear of the limits."""
    room = np.maximum(np.minimum(start - robot.lower, robot.upper - start) - MARGIN, 0.0)
    if choice.amplitude is None:
        wanted = np.where(rotary(robot), AMPLITUDE_ROTARY, AMPLITUDE_LINEAR)
        return np.asarray(np.where(moving, np.minimum(wanted, room), 0.0))
    if (over := np.flatnonzero(moving & (choice.amplitude > room))).size:
        joint = int(over[0])
        raise InputError(
            f"joint '{robot.joint_names[joint]}': an amplitude of {choice.amplitude:g} about {start[joint]:.4g} leaves "
            f"its limits {robot.lower[joint]:.4g} … {robot.upper[joint]:.4g} {position_units(robot)[joint]}; at most "
            f"{room[joint]:.3g} is possible"
        )
    return np.where(moving, choice.amplitude, 0.0)


def _natural_duration(reference: Reference) -> float:
    return reference.duration + POSE_DWELL if isinstance(reference, PoseList) else 8.0


def _law(name: str, arm: SimulatedArm, model: Robot, gains: Gains, reference: Reference) -> Law:
    if name == "pd":
        return PD(gains.kp, gains.kd, reference, reach=gains.reach)
    if name == "pid":
        limit = arm.effort_limit
        return PID(
            gains.kp, gains.ki, gains.kd, integral_limit=limit, dt=arm.dt, reference=reference, reach=gains.reach
        )
    return PDGravity(model, gains.kp, gains.kd, reference, reach=gains.reach)


def _notes(law: str, arm: SimulatedArm, chosen: Preset) -> list[str]:
    notes: list[str] = []
    if isinstance(chosen.config.drive.actuator, FlowValve):
        notes.append(
            "a flow valve takes the command as an opening and bears the weight itself: gains have another meaning there"
        )
    if law == "pid" and not arm.adds_gravity:
        notes.append("PID has no gravity model: the arm sags at the start, until the integral holds its weight")
    if law == "pd" and not arm.adds_gravity:
        notes.append("PD has no gravity model: the arm sags by its weight over its stiffness")
    return notes
