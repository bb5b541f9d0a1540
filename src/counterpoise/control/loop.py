"""The control loop: read, check, laws, limit, write; and when that no longer works, a safe stop, never a silent one.

The states, and which fault ends in which of them, are specified in docs/safety-filter.md. The functions state what must
be true before a plant may be driven; the ticks themselves are in run.py.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, refuse_command_units
from ..errors import InputError, PlantError, SafetyError
from ..recording import Declared, LogBuilder, Sample
from .fault import error_of
from .law import Law
from .limits import joint_array
from .plant import Clock, Plant
from .report import EndState, RunReport
from .run import LastTorque, Run, Switch, as_laws
from .safe_stop import nominal_time
from .safety import SafetyFilter
from .start import held_by_brakes
from .stop_signals import Deferral, Driving, PlantUse, keep, longest_stop, refuse_left_plant

ESTOP_WORDS = "I have an emergency stop within reach"
"""What must be stated to drive a plant that does not stop by itself when commands stay away."""


_DECLARED = {"stop": ("zero", "brake"), "effort_kind": ("torque", "current"), "adds_gravity": (True, False)}


def refuse_unclear_plant(plant: Plant) -> None:
    """Refuse a plant whose declarations have no meaning: a misspelt "brake" would let the arm down.

    Raises:
        InputError: One of them is not as the protocol says.
    """
    for name, choices in _DECLARED.items():
        value = getattr(plant, name)
        if value not in choices:
            raise InputError(f"the plant's {name} is {value!r}; expected {' or '.join(map(repr, choices))}")
    held_by_brakes(plant)


def refuse_wrong_filter(safety: SafetyFilter, robot: Robot, plant: Plant) -> None:
    """Refuse a filter made for another arm, another dt or a stronger plant.

    Raises:
        InputError: The three do not belong together.
    """
    if not safety.limits.joint_names == robot.joint_names == tuple(plant.joint_names):
        raise InputError(
            f"filter {list(safety.limits.joint_names)}, robot {list(robot.joint_names)} and plant "
            f"{list(plant.joint_names)} must have the same joints in the same order"
        )
    if safety.dt != plant.dt:
        raise InputError(f"the filter's dt is {safety.dt:g} s and the plant's {plant.dt:g} s")
    wider = safety.limits.first_wider(plant.effort_limit, plant.velocity_limit, plant.lower, plant.upper)
    if wider is not None:
        raise InputError(
            f"joint '{wider.joint}': the filter's {wider.limit} exceeds the plant's; make the filter with plant=..."
        )
    plate = plant.plate
    if plate is not None and not np.all(safety.plate_range <= plate.range):
        raise InputError("the filter does not know the range of the plant's plate; make the filter with plant=...")


def checked_filter(
    plant: Plant, robot: Robot, safety: SafetyFilter | None, clock: Clock | None, words: str | None
) -> SafetyFilter:
    """Return the filter of a plant that may be driven, whatever the law: the one that is given, or a new one.

    Args:
        plant: What is to be driven.
        robot: Its model.
        safety: The filter; None makes one with the tighter of the robot's and the plant's limits.
        clock: What is to keep the period; None where the plant does.
        words: What was said about the emergency stop.

    Raises:
        InputError: Plant, robot and filter do not belong together, or a limit is missing.
        SafetyError: Nothing stops the arm when this program dies.
    """
    if not isinstance(plant, Plant):
        raise InputError(f"{plant!r} is no plant; see counterpoise.control.plant for what it must offer")
    refuse_unclear_plant(plant)
    chosen = SafetyFilter(robot, plant=plant) if safety is None else safety
    refuse_wrong_filter(chosen, robot, plant)
    refuse_command_units(robot)
    refuse_without_watchdog(plant, words)
    if not (clock is None or isinstance(clock, Clock)):
        raise InputError(f"clock is {clock!r}; expected one with now() and wait_until(), e.g. WallClock(), or None")
    return chosen


def refuse_no_torques(robot: Robot, laws: Sequence[Law]) -> None:
    """Refuse a model whose gravity is no torque, the loop's own or a law's.

    Raises:
        InputError: It is that of a calibration in command units.
    """
    refuse_command_units(robot)
    for law in laws:
        model = getattr(law, "robot", None)
        if isinstance(model, Robot):
            refuse_command_units(model)


def refuse_gravity_twice(plant: Plant, laws: Sequence[Law]) -> None:
    """Refuse laws that add gravity to a plant that does so itself.

    Raises:
        SafetyError: They do.
    """
    twice = [type(law).__name__ for law in laws if law.adds_gravity]
    if plant.adds_gravity and twice:
        raise SafetyError(
            f"the plant adds gravity itself and so does {twice[0]}: compensated twice, the arm is thrown up. Use a law "
            "without gravity, or switch the plant's own compensation off and declare adds_gravity=False"
        )


def refuse_without_watchdog(plant: Plant, words: str | None) -> None:
    """Refuse a plant that goes on with its last torque when this program dies, unless told so in words.

    Raises:
        SafetyError: It has no watchdog, and the words were not said; or one too short to be fed.
    """
    if plant.watchdog is None or plant.watchdog == math.inf:  # one that never acts is none
        if words != ESTOP_WORDS:
            raise SafetyError(
                "the plant has no watchdog: if this program dies, the last torque stays on. Use hardware that stops "
                f"when commands stay away, or say i_have_an_estop={ESTOP_WORDS!r}"
            )
    elif not plant.watchdog >= plant.dt:
        raise SafetyError(
            f"the plant's watchdog of {plant.watchdog:g} s is shorter than its period of {plant.dt:g} s; it would "
            "act between any two commands"
        )


TOLD_EVERY = 0.1
"""Time between two calls of what is told the progress of a run [s]."""


class ControlLoop:
    """Drives a plant with a law, through the safety filter.

    ::

        with SignalSafe(plant):  # control.stop_signals
            report = ControlLoop(plant, law, robot).run(5.0)

    A bad sample, or a torque that is none, is bridged for some ticks by holding the torque; then the arm is stopped
    safely and the matching SafetyError is raised, with the last samples in ``history`` and the whole run in ``report``.
    A law that raises, a write that fails, brakes that do not open or close again, and an arm that falls end the run at
    once. SIGINT (Ctrl-C), SIGTERM and SIGHUP end it in the safe stop, too, and are raised after it
    (control.stop_signals).

    Attributes:
        safety: The filter.
        last_report: The report of the last run, also of one that ended in an exception; None before the first.
    """

    def __init__(
        self,
        plant: Plant,
        law: Law | Sequence[Law],
        robot: Robot,
        *,
        safety: SafetyFilter | None = None,
        clock: Clock | None = None,
        stop_damping: npt.ArrayLike | None = None,
        i_have_an_estop: str | None = None,
    ) -> None:
        """Prepare a loop; nothing is read or sent yet.

        Args:
            plant: What is driven. Enter it (``with SignalSafe(plant):``) around the runs.
            law: One law, or several whose torques are summed.
            robot: The arm's model, payload included: gravity of the safe stop, limits.
            safety: The filter; None makes one with the tighter of the robot's and the plant's limits.
            clock: What the loop waits for the next tick by, usually WallClock(); None where reading or writing takes as
                long as it should (simulations run as fast as they can).
            stop_damping: Damping of the safe stop [N m s/rad or N s/m], one or n; None derives it from the limits and
                the inertia at the start.
            i_have_an_estop: Exactly "I have an emergency stop within reach", to drive a plant without a watchdog.

        Raises:
            InputError: Plant, robot, filter and laws do not belong together, or a limit is missing.
            SafetyError: Gravity would be compensated twice, or nothing stops the arm when this program dies.
        """
        self.safety = checked_filter(plant, robot, safety, clock, i_have_an_estop)
        self._laws = as_laws(law)
        refuse_no_torques(robot, self._laws)
        refuse_gravity_twice(plant, self._laws)
        self._plant, self._robot, self._clock = plant, robot, clock
        self._damping = None if stop_damping is None else joint_array(stop_damping, "stop_damping", robot.joint_names)
        if self._damping is not None and not np.all((self._damping >= 0.0) & np.isfinite(self._damping)):
            raise InputError(f"stop_damping is {self._damping.tolist()}; expected finite numbers from 0")
        self._run: Run | None = None
        self._previous: LastTorque | None = None
        self._previous_drive: PlantUse | None = None
        self.last_report: RunReport | None = None

    def switch(
        self,
        law: Law | Sequence[Law] | None = None,
        *,
        robot: Robot | None = None,
        over: float | None = None,
        fresh: bool = True,
    ) -> None:
        """Pass to another law or another payload without a bump, from the next good sample on; from any thread.

        Args:
            law: The law, or laws, to pass to; None keeps the present ones. Those that are in force already just go on.
            robot: The arm with its new payload, for the safe stop; None for no change. Laws that use a model must be
                given it too: pass e.g. ``law.with_robot(robot)`` with ``fresh=False``.
            over: Time that the blend takes [s]; None for the settings' blend_time.
            fresh: Whether the new laws are reset; False for one that goes on where the present one is.

        Raises:
            InputError: No law, a robot with other joints or of a calibration in command units, or a bad time.
            SafetyError: Gravity would be compensated twice.
        """
        laws = self._laws if law is None else as_laws(law)
        refuse_gravity_twice(self._plant, laws)
        refuse_no_torques(self._robot if robot is None else robot, laws)
        if robot is not None and robot.joint_names != self._robot.joint_names:
            raise InputError(f"the robot's joints {list(robot.joint_names)} are not {list(self._robot.joint_names)}")
        time = self.safety.settings.blend_time if over is None else over
        if not (math.isfinite(time) and 0.0 <= time <= 1e6):
            raise InputError(f"over is {time!r}; expected a time from 0 [s]")
        self._laws = laws
        self._robot = robot or self._robot
        if (run := self._run) is not None:  # read once: the run may end meanwhile, in its own thread
            ticks = math.ceil(time / self.safety.dt)
            run.switches.append(Switch(None if law is None else laws, robot, ticks, fresh))

    def request_stop(self) -> None:
        """End the run after the present tick, as if its time were over; from any thread."""
        if (run := self._run) is not None:  # read once: the run may end meanwhile, in its own thread
            run.ending = True

    def run(
        self,
        duration: float | None = None,
        *,
        until: Callable[[Sample], bool] | None = None,
        progress: Callable[[float, float], None] | None = None,
        log: bool = False,
        then: Literal["stop", "keep"] = "stop",
    ) -> RunReport:
        """Run the loop; return the report of a run that ended as asked.

        Args:
            duration: How long [s]; None runs until something ends it.
            until: Called with every good sample; true ends the run.
            progress: Called ten times a second with the seconds done and in all; 0 in all where there is no end.
            log: Record all samples and what was sent.
            then: "stop" brings the arm to its safe stop in the end. "keep" returns at once with the last torque still
                applied: go on writing, or run again, before the watchdog acts.

        Raises:
            SafetyError: The run was refused, or ended by a fault; which one, by the class. PlantError also when the
                plant's own stop failed at the end of a good run.
            InputError: A bad argument.
            KeyboardInterrupt: SIGINT came; the arm was stopped first.
            StoppedFromOutside: SIGTERM or SIGHUP came, or the plant's block was left; the arm was stopped first.
        """
        if duration is not None and not (math.isfinite(duration) and duration >= 0.0):
            raise InputError(f"duration is {duration!r}; expected a time from 0 [s], or None")
        if then not in ("stop", "keep"):
            raise InputError(f"then is {then!r}; expected 'stop' or 'keep'")
        if self._run is not None:
            raise InputError("this loop is running already; end that run first (request_stop), or switch its law")
        ticks = math.inf if duration is None else round(duration / self.safety.dt)
        with Deferral(), Driving(self._taken_over()) as drive:
            if drive.asked is not None and self._previous is None:
                raise drive.error()  # a signal came before: nothing is applied, and nothing is sent
            refuse_left_plant(self._plant)
            return self._driven(drive, ticks, duration, until, progress, log, then)

    def _taken_over(self) -> PlantUse:
        """Return what keeps a torque applied, or something new."""
        drive, self._previous_drive = self._previous_drive, None
        if drive is None:
            nominal = nominal_time(self._plant, self.safety.settings, self.safety.limits)
            return PlantUse(self._plant, longest_stop(nominal))
        drive.thread = threading.get_ident()
        return drive

    def _driven(
        self,
        drive: PlantUse,
        ticks: float,
        duration: float | None,
        until: Callable[[Sample], bool] | None,
        progress: Callable[[float, float], None] | None,
        log: bool,
        then: Literal["stop", "keep"],
    ) -> RunReport:
        run = Run(
            drive,
            self._laws,
            self._robot,
            self.safety,
            clock=self._clock,
            damping=self._damping,
            builder=self._log_builder(ticks) if log else None,
            previous=self._previous,
        )
        self._run, self._previous = run, None
        try:
            halt = run.go(ticks, until if progress is None else self._telling(progress, duration, until))
            report = self.last_report = run.finish(halt, then)
            if report.stop is None and report.end is not EndState.END_OF_LOG and drive.asked is not None:
                report = self.last_report = run.finish(halt, "stop")  # a signal came while it was being kept
        except BaseException as error:  # above all KeyboardInterrupt: the arm is stopped before anything else happens
            self.last_report = run.interrupt()
            if run.stop_failure is not None:
                error.add_note(_stop_failed(run.stop_failure))
            raise
        finally:
            self._run = None
        failed = "" if run.stop_failure is None else _stop_failed(run.stop_failure)
        if halt.fault:
            message = (
                f"{halt.message}. The arm was stopped at {run.stopped_at:g} s: {report.end.value}, then '{report.stop}'"
            )
            message = f"{message}; {failed}" if failed else message
            raise error_of(halt.fault)(message, history=run.recorder.history(), report=report) from halt.cause
        if drive.asked is not None:
            interrupted = drive.error()
            if failed:
                interrupted.add_note(failed)
            raise interrupted
        if failed:
            raise PlantError(failed, history=run.recorder.history(), report=report) from run.stop_failure
        if report.end is EndState.COMPLETED and report.stop is None:
            self._previous, self._previous_drive = run.applied, drive
            keep(drive)
        return report

    def _telling(
        self,
        progress: Callable[[float, float], None],
        duration: float | None,
        until: Callable[[Sample], bool] | None,
    ) -> Callable[[Sample], bool]:
        """Return ``until`` that tells the progress as well."""
        dt, ticks = self.safety.dt, 0
        every = max(1, round(TOLD_EVERY / dt))

        def watch(sample: Sample) -> bool:
            nonlocal ticks
            ticks += 1
            if ticks % every == 0:
                progress(ticks * dt, duration or 0.0)
            return until is not None and until(sample)

        return watch

    def _log_builder(self, ticks: float) -> LogBuilder:
        plant = self._plant
        plate = plant.plate
        declared = Declared(
            effort_kind=plant.effort_kind,
            effort_side="link" if plant.effort_kind == "torque" else "motor",
            position_side="link",
            adds_gravity=plant.adds_gravity,
            sensor_reads=None if plate is None else plate.reads,
            T_base_sensor=None if plate is None else plate.T_base_sensor,
            velocity_from="measured",
            time_from="stamp",
        )
        capacity = 4096 if math.isinf(ticks) else min(int(ticks) + 1, 1_000_000)
        return LogBuilder(plant.joint_names, declared=declared, capacity=capacity)


def _stop_failed(error: Exception) -> str:
    return (
        f"the plant's own stop raised {type(error).__name__}: {error}; it may still be driven: use the emergency stop"
    )
