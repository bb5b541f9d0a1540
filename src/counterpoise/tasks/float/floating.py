"""Floating an arm from beginning to end: check it, let it go, watch it, stop it safely, and report on it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ...control import (
    INTERRUPTIONS,
    ControlLoop,
    Deferral,
    Driving,
    PlantUse,
    RunReport,
    drive_begins,
    drive_ends,
    longest_stop,
    nominal_time,
)
from ...dynamics import CoulombViscous, Robot
from ...errors import CounterpoiseError, InputError, SafetyError
from ...foundation import Array, PublishedData, frozen
from ...recording import Sample
from ..rig import Rig
from ..rotors.measurement import InertiaMeasurement
from .check import FloatCheck
from .hidden import CheckResult
from .law import FloatLaw
from .settings import FloatSettings

End = Literal["done", "stopped", "too fast", "drifting", "refused", "interrupted", "fault"]
"""How it ended: time over, asked to stop, by the law's own watch, by the check, by Ctrl-C, by a fault of the run."""


@dataclass(frozen=True, slots=True, eq=False)
class FloatReport(PublishedData):
    """A check, and where it was passed the floating that followed; arrays of shape (n,).

    Attributes:
        robot: The arm's name.
        joint_names: Its joints.
        locked: Those that were locked.
        friction_fraction: Fraction of the friction that was compensated.
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
    friction_fraction: Array
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
            "friction_fraction": self.friction_fraction.tolist(),
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


LEAVING = 1.0
"""How much longer than its last run the end of a job may take [s]."""

Progress = Callable[[float, float], None]
Phase = Literal["ready", "checking", "floating", "ended"]


class Floating:
    """An arm that is to float. Nothing moves before :meth:`run` (or :meth:`start`, in a thread of its own).

    ::

        with SignalSafe(plant):
            floating = Floating(Rig(plant, robot), FloatSettings(friction_fraction=0.5))
            floating.start()
            ...  # move it by hand
            floating.stop()
            report = floating.wait()

    SIGINT (Ctrl-C), SIGTERM and SIGHUP end it in the safe stop, and are raised in the main thread after that, with
    ``with plant:`` as well. SignalSafe (control.stop_signals) makes sure that its block is never left while the thread
    drives the arm, whatever is raised in it.

    Attributes:
        phase: "ready", "checking", "floating" or "ended".
        law: The law in force while it floats; None before.
        report: What came of it, also of a run that ended in an exception; None before.
    """

    def __init__(
        self,
        rig: Rig,
        settings: FloatSettings = FloatSettings(),  # noqa: B008  frozen
        *,
        began: Callable[[], None] | None = None,
        each: Callable[[Sample], None] | None = None,
    ) -> None:
        """Prepare; refuse at once what needs no measurement to be refused.

        Args:
            rig: The arm.
            settings: How it is to float.
            began: Called once, from the loop, when the arm is let go.
            each: Called with every good sample while it floats, from the loop: a tick must be enough for it.

        Raises:
            InputError: A fraction above 1, a joint that does not exist, or another value that makes no sense.
            SafetyError: A fraction of 1, or a plant that cannot be measured.
        """
        # Made once without moving anything, so that wrong settings are refused before the check.
        trial = settings if settings.friction is not None else replace(settings, friction=CoulombViscous(0.0))
        self._rig = rig
        self._fraction = self._law(rig.robot, trial).friction_fraction
        self._settings = settings if np.any(self._fraction) else replace(settings, friction=None)
        self._check = FloatCheck(rig, self._settings)
        self._began, self._each = began, each
        self._stopping = False  # no Event: a signal may find the main thread inside one
        self._job: PlantUse | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._ran: RunReport | None = None
        self._result: CheckResult | None = None
        self._lowest = self._highest = self._fastest = np.zeros(rig.robot.n)
        self.phase: Phase = "ready"
        self.law: FloatLaw | None = None
        self.report: FloatReport | None = None

    @property
    def check(self) -> CheckResult | None:
        """What the check found; None before it is complete."""
        return self._result

    @property
    def inertias(self) -> InertiaMeasurement | None:
        """What the joints' torques move, where that had to be measured; None before, or where all rotors are known."""
        return None if self._check.recording is None else self._check.recording.measurement

    def run(self, seconds: float | None = None, *, progress: Progress | None = None, log: bool = False) -> FloatReport:
        """Check the arm and let it float; the plant must have been entered.

        Where :meth:`stop` came before, nothing moves.

        Args:
            seconds: How long it floats; None until :meth:`stop`.
            progress: Called now and then with the seconds done and in all (0 where there is no end), first of the
                check, then of the floating.
            log: Record the floating.

        Raises:
            SafetyError: The check does not let it float (the report is in ``report``), or a fault stopped the arm.
            InputError: A joint is too near to a limit to be checked, or ``seconds`` is no time.
            KeyboardInterrupt: SIGINT came; the arm was stopped first.
            StoppedFromOutside: SIGTERM or SIGHUP came, or the plant's block was left; the arm was stopped first.
        """
        if self._job is not None:  # start() has begun it
            return self._run(self._job, seconds, progress, log)
        with Deferral(), Driving(self._new_job()) as job:
            return self._run(job, seconds, progress, log)

    def _new_job(self) -> PlantUse:
        """Return what is driven from the first look at the arm to its stop, also between the check and the floating."""
        nominal = nominal_time(self._rig.plant, self._rig.safety.settings, self._rig.safety.limits)
        return PlantUse(self._rig.plant, longest_stop(nominal) + LEAVING, sends=False)

    def _run(self, job: PlantUse, seconds: float | None, progress: Progress | None, log: bool) -> FloatReport:
        if self.phase != "ready":
            raise InputError(f"this object is {self.phase}; make another one to float again")
        _refuse_no_time(seconds)
        self.phase = "checking"
        end: End = "fault"
        reason = ""
        try:
            if job.asked is not None:
                raise job.error()
            end, reason = self._do(seconds, progress, log)
        except INTERRUPTIONS:
            end, reason = "interrupted", "interrupted" if job.asked is None else job.why
            raise
        except CounterpoiseError as error:
            reason = str(error)
            raise
        finally:
            self.phase = "ended"
            self.report = self._reported(end, reason)
        if end == "refused":
            raise SafetyError(reason, report=self.report)
        return self.report

    def start(self, seconds: float | None = None, *, log: bool = False) -> None:
        """Do :meth:`run` in a thread of its own; end it with :meth:`stop` and :meth:`wait` before leaving the plant.

        Called from the main thread, it takes care of signals until it is over. When the program ends, so does it, in
        the safe stop.
        """
        if self._thread is not None:
            raise InputError("it was started already")
        _refuse_no_time(seconds)
        with Deferral():
            self._job = self._new_job()
            # A daemon: the interpreter would wait for it at its end, for ever, instead of asking it to stop.
            self._thread = threading.Thread(
                target=self._run_and_keep, args=(self._job, seconds, log), name="floating", daemon=True
            )
            drive_begins(self._job)
            try:
                self._thread.start()
            except BaseException:
                drive_ends(self._job)
                raise

    def stop(self) -> None:
        """End it in the safe stop, after the present tick; from any thread, also during the check."""
        self._stopping = True

    def wait(self, timeout: float | None = None) -> FloatReport:
        """Wait until what :meth:`start` began is over; return its report, or raise what it raised.

        Args:
            timeout: How long to wait at most [s].

        Raises:
            InputError: It was not started, or is not over yet.
        """
        if self._thread is None:
            raise InputError("it was not started")
        until = math.inf if timeout is None else time.monotonic() + timeout
        with Deferral():
            while self._thread.is_alive() and not (self._job is None or self._job.abandoned):
                if (left := until - time.monotonic()) <= 0.0:
                    break
                self._thread.join(min(left, 0.1))
            return self._over()

    def _over(self) -> FloatReport:
        if self._thread is not None and self._thread.is_alive():
            raise InputError(f"it is still {self.phase}")
        if self._error is not None:
            raise self._error
        if self.report is None:
            raise InputError("it ended without a report")
        return self.report

    def _run_and_keep(self, job: PlantUse, seconds: float | None, log: bool) -> None:
        job.thread = threading.get_ident()
        try:
            self.run(seconds, log=log)
        except BaseException as error:  # handed to whoever waits
            self._error = error
        finally:
            drive_ends(job)

    def _do(self, seconds: float | None, progress: Progress | None, log: bool) -> tuple[End, str]:
        if self._stopping:
            return "stopped", ""
        result = self._check.run(progress, until=lambda _: self._stopping, then="keep")
        recording = self._check.recording
        if recording is None:
            raise InputError("the check ended before it made a control loop; the arm was not let go")
        loop, floats = recording.loop, False
        try:
            self._result = result
            if result is None or self._stopping:
                return "stopped", ""
            if not result.passed:
                return "refused", "the arm is not let go: " + ". ".join(result.reasons)
            law = self.law = self._made_law(result)
            loop.switch(law)
            floats = True
        finally:
            if not floats:
                loop.run(0.0)  # still held by the torque sent last: bring it to its safe stop
        self.phase = "floating"
        self._float(loop, law, seconds, progress, log)
        if law.stop_kind:
            return law.stop_kind, law.stop_reason
        return "stopped" if self._stopping else "done", ""

    def _float(
        self, loop: ControlLoop, law: FloatLaw, seconds: float | None, progress: Progress | None, log: bool
    ) -> None:
        checked = loop.last_report
        try:
            loop.run(seconds, until=self._watch(law), progress=progress, log=log)
        finally:
            if loop.last_report is not checked:
                self._ran = loop.last_report
            else:  # it did not begin, as on a bad first sample: the arm is still held, bring it to its safe stop
                self.law = None
                with suppress(SafetyError):  # the first error says what is wrong
                    loop.run(0.0)

    def _law(self, robot: Robot, settings: FloatSettings, **measured: Any) -> FloatLaw:
        plant, limits = self._rig.plant, self._rig.safety.limits
        return FloatLaw(robot, settings, limits=limits, dt=plant.dt, gravity=not plant.adds_gravity, **measured)

    def _made_law(self, result: CheckResult) -> FloatLaw:
        robot, settings, measured = self._rig.robot, self._settings, self.inertias
        if settings.friction is None:
            found = {joint.joint: joint.friction for joint in result.joints}
            dry = [found.get(name, 0.0) for name in robot.joint_names]
            settings = replace(settings, friction=CoulombViscous(dry))
        unseen = None if result.blindness is None else result.blindness.unseen(result.joints)
        if measured is None:
            return self._law(robot, settings, unseen=unseen)
        return self._law(measured.lightest, settings, unseen=unseen, softer=measured.softer)

    def _watch(self, law: FloatLaw) -> Callable[[Sample], bool]:
        let_go = False

        def watch(sample: Sample) -> bool:
            nonlocal let_go
            if not let_go:
                let_go = True
                self._lowest = self._highest = sample.q.copy()
                if self._began is not None:
                    self._began()
            self._lowest = np.minimum(self._lowest, sample.q)
            self._highest = np.maximum(self._highest, sample.q)
            self._fastest = np.maximum(self._fastest, np.abs(sample.dq))
            if self._each is not None:
                self._each(sample)
            return self._stopping or law.must_stop(sample)

        return watch

    def _reported(self, end: End, reason: str) -> FloatReport:
        law, ran = self.law, self._ran
        driven = 0 if ran is None else ran.ticks - ran.stop_ticks
        damping: Array | None = None if law is None else frozen(law.damping)
        return FloatReport(
            robot=self._rig.robot.name,
            joint_names=self._rig.robot.joint_names,
            locked=self._settings.locked,
            friction_fraction=self._fraction,
            damping=damping,
            hold_when_released=self._settings.hold_when_released,
            end=end,
            reason=reason,
            inertias=self.inertias,
            check=self._result,
            seconds=driven * self._rig.plant.dt,
            travel=frozen(self._highest - self._lowest),
            top_speed=frozen(self._fastest),
            drifts=0 if law is None else law.drifts,
            run=ran,
        )


def _refuse_no_time(seconds: float | None) -> None:
    if seconds is not None and not (math.isfinite(seconds) and seconds >= 0.0):
        raise InputError(f"seconds is {seconds!r}; expected a time from 0 [s], or None")


def float_arm(
    rig: Rig,
    seconds: float | None = None,
    *,
    began: Callable[[], None] | None = None,
    progress: Progress | None = None,
    log: bool = False,
    **settings: Any,
) -> FloatReport:
    """Check an arm, and let it float.

    ::

        with SignalSafe(plant):
            report = float_arm(Rig(plant, robot), 60.0, friction_fraction=0.5)

    Args:
        rig: The arm; its plant entered.
        seconds: How long it floats; None until interrupted.
        began: Called once, from the loop, when the arm is let go.
        progress: Called now and then with the seconds done and in all.
        log: Record the floating.
        settings: See :class:`FloatSettings`.

    Raises:
        SafetyError: The arm may not float, or was stopped by a fault.
        InputError: A setting makes no sense.
    """
    return Floating(rig, FloatSettings(**settings), began=began).run(seconds, progress=progress, log=log)
