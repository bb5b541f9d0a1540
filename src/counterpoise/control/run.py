"""One run of the control loop: its ticks, and its stop when they are over or can no longer go on.

In the order of a control period a tick reads a sample, checks it, lets the laws compute a torque, limits the torque and
writes it. ``Run._choose_torque`` does the middle part, ``Run._exchange`` writes and then reads and checks the sample of
the next tick. ``Laws`` sums the laws and passes from one set of laws to the next without a bump; ``Switch``, ``Halt``
and ``LastTorque`` are what a run is asked for, why it ends and what it leaves applied.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..dynamics import Robot
from ..errors import CounterpoiseError, EndOfLogError, InputError, LawError, PlantError
from ..foundation import Array, frozen
from ..recording import LogBuilder, Sample, SampleFlag
from .fault import REFUSED, Fault, FilterFlag, error_of
from .law import Law, LimitAware, Reporting
from .plant import BrakedPlant, Clock
from .reference import smooth_step
from .report import EndState, Recorder, RunReport
from .safe_stop import SafeStop, stop_damping
from .safety import Budget, SafetyFilter
from .start import BrakedStart, FallWatch, held_by_brakes
from .stop_signals import PlantUse

_REFUSED = int(REFUSED)
_AT_ONCE = (Fault.WRITE_FAILED, Fault.BRAKES_NOT_OPENED, Fault.BRAKES_CLOSED_AGAIN)
"""Faults after which nothing more is sent: the plant's own stop is all that helps."""
_READ_FAILED, _LAW_OUTPUT = int(Fault.READ_FAILED), int(Fault.LAW_OUTPUT)


class Run:
    """A run under way.

    Attributes:
        switches: The passages to make at the next good sample, in order; other threads append to it.
        ending: Whether to end after the present tick.
        stopped_at: When the safe stop began [s].
        stop_failure: What the plant's own stop raised; None where it did not.
    """

    def __init__(
        self,
        drive: PlantUse,
        laws: Sequence[Law],
        robot: Robot,
        safety: SafetyFilter,
        *,
        clock: Clock | None,
        damping: Array | None,
        builder: LogBuilder | None,
        previous: LastTorque | None = None,
    ) -> None:
        """Read the first sample and prepare everything that a tick needs; nothing is sent yet.

        Args:
            drive: What is driven, and whether it has to end.
            laws: Laws to be summed.
            robot: The arm's model.
            safety: The filter.
            clock: What to wait for; None leaves the pace to the plant.
            damping: Damping of the safe stop [N m s/rad or N s/m], shape (n,); None for the default.
            builder: Takes the log; None for no log.
            previous: What the run before this one left applied; None for nothing.

        Raises:
            SafetyError: The first sample cannot be had or is bad, or a law cannot start.
        """
        plant = drive.plant
        self._drive, self._plant, self._safety, self._clock = drive, plant, safety, clock
        self.switches: deque[Switch] = deque()
        self.ending = False
        self.stop_failure: Exception | None = None
        self.stopped_at = 0.0
        self._origin = self._deadline = 0.0 if clock is None else clock.now()
        safety.reset()
        safety.uses_wrench = any(law.uses_wrench for law in laws)
        first = self._first_sample()
        self._sample: Sample | None = first
        self._fault = 0
        self._first_time = float(first.time)
        self._braked = held_by_brakes(plant)
        tau, source = self._first_torque(first, previous)
        safety.start_from(tau)
        self.recorder = Recorder(safety, builder)
        settings, dt = safety.settings, safety.dt
        self._late = Budget(settings.max_overruns, settings.good_ticks_per_bad)
        self._fault_before = 0
        self._asked: list[Array] = []
        self._read_error: BaseException | None = None
        if damping is None:
            damping = stop_damping(robot, first.q, safety.limits, settings.stop_damping, dt)
        self._safe_stop = SafeStop(plant, robot, safety, damping)
        self._first_laws = tuple(laws)
        self._begin(laws, first)
        self.recorder.event("started", f"from {source}")

    @property
    def applied(self) -> LastTorque:
        """What stays applied when the run is over and the arm is not stopped."""
        watchdog = math.inf if self._plant.watchdog is None else self._plant.watchdog
        ended = self._first_time + self.recorder.tick * self._safety.dt
        return LastTorque(self._safety.last.copy(), ended + watchdog)

    def _first_sample(self) -> Sample:
        try:
            first = self._plant.read()
            fault = self._safety.check(first, 0.0)
        except CounterpoiseError:
            raise
        except Exception as error:  # a driver's code: nothing has been sent yet
            message = f"the run was not started: the plant could not be read: {type(error).__name__}: {error}"
            raise PlantError(message) from error
        if fault:
            raise error_of(Fault(fault))(f"the run was not started: {self._safety.reason(fault)}")
        return first

    def _begin(self, laws: Sequence[Law], first: Sample) -> None:
        """Let the laws fade in, from the torque sent last."""
        safety = self._safety
        ticks = math.ceil(safety.settings.blend_time / safety.dt)
        self._laws = Laws((ConstantTorque(safety.last),), safety)
        self._laws.blend_to(laws, ticks)
        self._reset_laws(laws, first)
        self._fall: FallWatch | None = None
        if not self._plant.adds_gravity:  # whose own controller holds the arm
            watch = FallWatch(self._safe_stop.robot, first, safety.last, ticks, safety.dt)
            self._fall = None if watch.over else watch

    def _first_torque(self, first: Sample, previous: LastTorque | None) -> tuple[Array, str]:
        """Return the torque that is being applied [N m or N], as far as it is known, and where it comes from.

        What an arm that adds gravity itself measures is not what it was commanded: sent as a command, its weight would
        be carried twice. What is measured behind closed brakes is what they carry.
        """
        plant = self._plant
        if self._braked is not None:
            return np.zeros(self._safety.n), "zero torque, on closed brakes"
        measured = plant.effort_kind == "torque" and not first.flags & SampleFlag.TAU_INVALID
        if measured and not plant.adds_gravity:
            return first.tau, "the measured torque"
        if previous is not None and first.time <= previous.until:
            return previous.tau, "the torque of the run before"
        return np.zeros(self._safety.n), "zero torque"

    @staticmethod
    def _reset_laws(laws: Sequence[Law], first: Sample) -> None:
        try:
            for law in laws:
                law.reset(first)
        except CounterpoiseError:
            raise
        except Exception as error:  # a user's code: nothing has been sent yet
            message = f"the run was not started: a law's reset raised {type(error).__name__}: {error}"
            raise LawError(message) from error

    def go(self, ticks: float, until: Callable[[Sample], bool] | None) -> Halt:
        """Run ticks until the end, a fault that is not bridged, or a signal."""
        if self._braked is not None and ticks > 0 and (halt := self._open_brakes(self._braked)) is not None:
            return halt
        recorder, drive = self.recorder, self._drive
        while recorder.tick < ticks and drive.asked is None:
            if (halt := self._choose_torque(until)) is not None or (halt := self._exchange()) is not None:
                return halt
        return Halt()

    def _open_brakes(self, plant: BrakedPlant) -> Halt | None:
        """Bring the arm from its brakes to a torque that holds it; return why to halt where that cannot be.

        Its ticks are not the run's: time, log and laws begin when the arm is held.
        """
        safety, of_run = self._safety, self.recorder
        self.recorder = Recorder(safety, None)
        self.recorder.event("started", "on closed brakes")
        start = BrakedStart(plant, self._safe_stop.robot, safety)
        while True:
            if self.ending or self._drive.asked is not None:
                return Halt()
            if self._fault == Fault.FROZEN and start.closed and self._sample is not None:
                safety.forget()  # nothing can move, whatever the torque: sameness is no fault here
                self._fault = safety.check(self._sample, self._now())
            halt, sample = None, self._sample
            self._asked = []
            if self._fault or sample is None:
                halt = self._bridge_sample()
            else:
                self._flags = safety.limit(start.torque(sample))
                safety.budget.good()
                if start.fault:
                    self.recorder.event(start.fault.name.lower(), start.message, start.joint)
                    return Halt(start.fault, start.message)
                if start.done:
                    break
            if halt is not None or (halt := self._exchange()) is not None:
                return halt
        took = self.recorder.tick * safety.dt
        self.recorder = of_run
        safety.reset(safety.last)
        self._fault = safety.check(sample, self._now())
        self._first_time = float(sample.time)
        self._begin(self._first_laws, sample)
        of_run.event("brakes_opened", f"after {took:.3g} s; the model's gravity holds the arm")
        return None

    def _choose_torque(self, until: Callable[[Sample], bool] | None) -> Halt | None:
        """Put what is to be sent into the filter: the laws' torque, or the last one after a bad sample."""
        sample, safety = self._sample, self._safety
        self._asked = []
        if self._fault or sample is None:
            return self._bridge_sample()
        try:
            if self.switches:
                self._make_switches(sample)
            ended = until is not None and until(sample)
            asked = self._asked = self._laws.torques(sample, self.recorder.tick * safety.dt)
            if self._laws.reporting:
                for kind, message in self._laws.news():
                    self.recorder.event(kind, message)
        except Exception as error:  # a user's code: whatever it raises, the arm is stopped first
            return self._law_raised(error)
        if ended or self.ending:
            return Halt()
        self._flags = safety.limit(*asked)
        if self._flags & _REFUSED:
            halt = self._bridge(_LAW_OUTPUT)
            self._asked = []  # nothing of it was used: the laws are not told of a cut
            return halt
        if self._fall is not None and (halt := self._watch_fall(self._fall, sample)) is not None:
            return halt
        safety.budget.good()
        if self._fault_before:
            self.recorder.event("recovered", f"{Fault(self._fault_before).name.lower()} is over")
            self._fault_before = 0
        return None

    def _watch_fall(self, watch: FallWatch, sample: Sample) -> Halt | None:
        """Look whether a joint falls while the laws fade in; return why to halt where one does."""
        if watch.fell(sample, self._asked):
            self.recorder.event(Fault.FELL.name.lower(), watch.message, watch.joint)
            return Halt(Fault.FELL, watch.message)
        if watch.over:
            self._fall = None
        return None

    def _exchange(self) -> Halt | None:
        """Send what is in the filter, wait for the next tick, and read the next sample."""
        plant, safety = self._plant, self._safety
        try:
            sent = self._drive.write(safety.out)
        except Exception as error:  # a driver's code: whatever it raises, nothing more can be sent
            message = f"the plant could not be written: {type(error).__name__}: {error}"
            self.recorder.event("write_failed", message)
            return Halt(Fault.WRITE_FAILED, message, error)
        flags = self._flags | safety.sent(sent)
        halt = self._tell_laws() if self._laws.listening and self._asked else None
        self.recorder.record(self._sample, self._fault, flags)
        late = None if self._clock is None else self._wait(self._clock)
        try:
            sample = plant.read()
            fault = safety.check(sample, self._now())
        except EndOfLogError:
            return Halt(end_of_log=True)
        except Exception as error:  # a driver's code: a read that fails is a sample that is missing
            self._read_error = error
            self._sample, self._fault = None, _READ_FAILED
        else:  # both at once: an interrupt must never find a sample without its verdict
            self._sample, self._fault = sample, fault
        return halt or late

    def _tell_laws(self) -> Halt | None:
        """Tell the laws what became of their torques."""
        try:
            self._laws.tell(cut_of(self._safety.last, self._asked))
        except Exception as error:  # a user's code
            return self._law_raised(error)
        return None

    def _law_raised(self, error: Exception) -> Halt:
        message = f"a law raised {type(error).__name__}: {error}"
        self.recorder.event("law_raised", message)
        return Halt(Fault.LAW_RAISED, message, error)

    def _now(self) -> float:
        return self.recorder.tick * self._safety.dt if self._clock is None else self._clock.now() - self._origin

    def _make_switches(self, sample: Sample) -> None:
        while self.switches:
            laws = self.switches[0].laws or ()
            if any(law.uses_wrench for law in laws) and not self._safety.uses_wrench:
                self._safety.uses_wrench = True  # nobody has looked at this sample's plate: wait for the next one
                return
            self._pass_over(self.switches.popleft(), sample)

    def _pass_over(self, switch: Switch, sample: Sample) -> None:
        to = "another payload"
        if switch.laws is not None:
            for law in switch.laws:
                if switch.fresh and not self._laws.in_force(law):
                    law.reset(sample)
            self._laws.blend_to(switch.laws, switch.ticks)
            self._fall = None  # it knows the blend from the torque found only
            names = ", ".join(type(law).__name__ for law in switch.laws)
            to = f"{names} over {switch.ticks * self._safety.dt:g} s"
        if switch.robot is not None:
            self._safe_stop.robot = switch.robot
        self.recorder.event("switched", f"to {to}")

    def _bridge_sample(self) -> Halt | None:
        """Hold the torque for want of a good sample; return why to halt when there were too many bad ones."""
        halt = self._bridge(self._fault)
        if halt is None:
            self._flags = self._safety.hold()
        return halt

    def _bridge(self, fault: int) -> Halt | None:
        """Take note of a tick whose own torque cannot be had; return why to halt when there were too many.

        The tick that is one too many holds nothing: the first torque of the stop is sent on it.
        """
        message = self._note(fault)
        if self._safety.budget.bad():
            return Halt(Fault(fault), message, self._read_error if fault == _READ_FAILED else None)
        self.recorder.held_ticks += 1
        return None

    def _note(self, fault: int) -> str:
        """Record the beginning of a fault and return it in words."""
        kind, safety = Fault(fault), self._safety
        joint: str | None = None
        if kind is Fault.READ_FAILED:
            message = f"the plant could not be read: {type(self._read_error).__name__}: {self._read_error}"
        elif kind is Fault.LAW_OUTPUT:
            wrong = np.flatnonzero(safety.joint_flags & _REFUSED)
            joint = safety.limits.joint_names[int(wrong[0])] if safety.flags & FilterFlag.NON_FINITE else None
            where = f"on joint '{joint}'" if joint else f"({', '.join(map(shown, self._asked))})"
            message = f"the laws' torque {where} is no finite float64 array of shape ({safety.n},); it was not sent"
        else:
            message = safety.reason(fault)
            joint = safety.faulty_joint(fault)
        if fault != self._fault_before:
            self.recorder.event(kind.name.lower(), message, joint)
            self._fault_before = fault
        return message

    def _wait(self, clock: Clock) -> Halt | None:
        """Wait for the next tick, or count an overrun; return why to halt when there were too many."""
        dt = self._safety.dt
        self._deadline += dt
        late = clock.now() - self._deadline
        if late <= 0.0:
            self._late.good()
            clock.wait_until(self._deadline)
            return None
        self._deadline += late  # missed ticks are not made up: a burst of them would break the rate limit in real time
        self.recorder.overruns += 1
        message = f"a tick took {late * 1e3:.3g} ms longer than the period of {dt * 1e3:.3g} ms"
        self.recorder.event("overrun", message)
        return Halt(Fault.OVERRUN, message) if self._late.bad() else None

    def finish(self, halt: Halt, then: str) -> RunReport:
        """Bring the run to its end state and return the report; one that was interrupted keeps nothing applied."""
        stop: Literal["zero", "brake"] | None = self._plant.stop
        interrupted = self._drive.asked is not None
        if halt.end_of_log:
            end, stop = EndState.END_OF_LOG, None
        elif not halt.fault and then == "keep" and not interrupted:
            end, stop = EndState.COMPLETED, None
        elif halt.fault in _AT_ONCE or (halt.fault is Fault.FELL and stop == "brake"):  # brakes catch it sooner
            end = EndState.PLANT_STOP
            self.stopped_at = self.recorder.tick * self._safety.dt
            self._declared_stop(end)
        else:
            end = self._stop(halt.message or (self._drive.why if interrupted else "the run is over"))
            if not halt.fault and not interrupted and end is EndState.GRAVITY_STOP:
                end = EndState.COMPLETED
        return self.recorder.report(end, halt.fault, stop)

    def interrupt(self) -> RunReport:
        """Stop because of an exception that is no fault, such as a KeyboardInterrupt; a second one stops at once.

        Signals do not come this way (control.stop_signals): what does is raised by code that the loop calls.
        """
        end = EndState.PLANT_STOP
        try:
            if not self._drive.abandoned:  # else it hung: the plant was stopped, and nothing is sent any more
                end = self._stop("interrupted", unsure=True)
        finally:
            if end is EndState.PLANT_STOP:
                self._declared_stop(end)
        return self.recorder.report(end, Fault.NONE, self._plant.stop)

    def _stop(self, why: str, *, unsure: bool = False) -> EndState:
        """Do the safe stop, tick by tick, to the plant's declared stop; return how it went.

        Args:
            why: What ended the ticks.
            unsure: The torque in the filter may or may not have been sent. It is sent first, again or for the first
                time: either way no step is beyond the rate limit.
        """
        safety, stop = self._safety, self._safe_stop
        self.stopped_at = self.recorder.tick * safety.dt
        self.recorder.event("stopping", why)
        self._asked = []
        end: EndState | None = None
        while end is None:
            if self._fault:
                self._note(self._fault)
            tau = stop.torque(self._sample, self._fault)
            if stop.done:
                end = stop.end
                break
            self._flags = safety.hold() if tau is None or unsure else safety.limit(tau)
            unsure = False
            self.recorder.stop_ticks += 1
            halt = self._exchange()
            if halt is not None and halt.fault is Fault.WRITE_FAILED:
                end = EndState.PLANT_STOP
            elif halt is not None and halt.end_of_log:
                end = stop.end
        self._declared_stop(end)
        return end

    def _declared_stop(self, end: EndState) -> None:
        try:
            self._plant.emergency_stop()
        except Exception as error:  # a driver's code: leaving the plant's context is what remains
            self.stop_failure = error
            self.recorder.event("stop_failed", f"the plant's own stop raised {type(error).__name__}: {error}")
        self.recorder.event("stopped", f"{end.value}, then '{self._plant.stop}'")


class Halt(NamedTuple):
    """Why the ticks ended; with Fault.NONE, as asked."""

    fault: Fault = Fault.NONE
    message: str = ""
    cause: BaseException | None = None
    end_of_log: bool = False


class Switch(NamedTuple):
    """A passage to other laws, or to another payload, that was asked for; None for what stays as it is."""

    laws: tuple[Law, ...] | None
    robot: Robot | None
    ticks: int
    fresh: bool


class LastTorque(NamedTuple):
    """What a run leaves applied that ends without a stop.

    Attributes:
        tau: The torque sent last [N m or N], shape (n,).
        until: When the plant's watchdog takes it away, by the plant's clock [s]; inf without a watchdog.
    """

    tau: Array
    until: float


def cut_of(last: Array, asked: Sequence[Array]) -> Array:
    """Return what was sent minus what was asked for: exactly 0 where nothing was cut."""
    total = np.zeros_like(last)
    for torque in asked:  # in the filter's own order: rounding must not look like a cut, or integrals rest on it
        total += torque
    return np.asarray(last - total)


def shown(value: object) -> str:
    """Say what a law returned that is no torque."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} array of shape {value.shape}"
    return f"a {type(value).__name__}"


class ConstantTorque:
    """A law that asks for the same torque always: what a run finds when it starts."""

    adds_gravity = False
    uses_wrench = False

    def __init__(self, tau: Array) -> None:
        """Ask for ``tau`` [N m or N], shape (n,)."""
        self._tau = frozen(tau)

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torque [N m or N], shape (n,)."""
        return self._tau

    def reset(self, sample: Sample) -> None:
        """Do nothing: there is no state."""


class Laws:
    """Laws whose torques are summed, fading in over those that came before.

    Over the blend time T both run, τ = (1 − s) τ_before + s τ_now with s = σ²(3 − 2σ), σ = t / T: continuous, never
    beyond the two, and with feedback throughout. A law that is in both sets keeps its whole weight, and is asked once.
    """

    def __init__(self, laws: Sequence[Law], safety: SafetyFilter) -> None:
        """Sum ``laws``; ``safety`` is told whether one of them reads the plate."""
        self._laws = tuple(laws)
        self._before: tuple[Law, ...] = ()
        self._stays: tuple[bool, ...] = ()
        self._blending = False
        self._tick = self._ticks = 0
        self._safety = safety
        self._changed()

    @property
    def reporting(self) -> bool:
        """Whether a law may have something to tell."""
        return bool(self._reporters)

    @property
    def listening(self) -> bool:
        """Whether a law wants to know what became of its torque."""
        return bool(self._listeners)

    def blend_to(self, laws: Sequence[Law], ticks: int) -> None:
        """Pass to other laws over ``ticks`` ticks; where a blend is under way, from the torque sent last."""
        before = (ConstantTorque(self._safety.last),) if self._blending else self._laws
        self._laws = tuple(laws)
        self._before = tuple(law for law in before if not _among(law, self._laws))
        self._stays = tuple(_among(law, before) for law in self._laws)
        self._blending = bool(self._before) or not all(self._stays)
        self._tick, self._ticks = 0, ticks
        self._changed()

    def torques(self, sample: Sample, time: float) -> list[Array]:
        """Return what to sum: one array per law, as the laws return them where no blend is under way."""
        asked = [law.torque(sample, time) for law in self._laws]
        if not self._blending:
            return asked
        if self._tick >= self._ticks:
            self._before, self._blending = (), False
            self._changed()
            return asked
        fraction = smooth_step(self._tick / self._ticks)
        self._tick += 1
        before = [_scaled(law.torque(sample, time), 1.0 - fraction) for law in self._before]
        now = [torque if stays else _scaled(torque, fraction) for torque, stays in zip(asked, self._stays, strict=True)]
        return [*before, *now]

    def tell(self, cut: Array) -> None:
        """Tell the laws that want to know by how much what was sent differs from what was asked for."""
        for law in self._listeners:
            law.limited(cut)

    def news(self) -> list[tuple[str, str]]:
        """Return what the laws have to tell, as kinds and messages of events."""
        return [event for law in self._reporters for event in law.news()]

    def in_force(self, law: Law) -> bool:
        """Tell whether ``law``, the very object, is one of those in force."""
        return _among(law, self._laws)

    def _changed(self) -> None:
        self._listeners = tuple(law for law in self._laws if isinstance(law, LimitAware))
        self._reporters = tuple(law for law in self._laws if isinstance(law, Reporting))
        self._safety.uses_wrench = any(law.uses_wrench for law in (*self._laws, *self._before))


def as_laws(law: Law | Sequence[Law]) -> tuple[Law, ...]:
    """Return one law or several as a tuple.

    Raises:
        InputError: There is none, one of them is no law, or two of them add gravity.
    """
    laws = tuple(law) if isinstance(law, Sequence) else (law,)
    if not laws:
        raise InputError("there is no law; give one, or several to be summed")
    for candidate in laws:
        if not isinstance(candidate, Law):
            raise InputError(f"{candidate!r} is no law: it lacks torque, reset, adds_gravity or uses_wrench")
    twice = [type(candidate).__name__ for candidate in laws if candidate.adds_gravity]
    if len(twice) > 1:
        raise InputError(f"{' and '.join(twice)} both add gravity; compensating twice throws the arm up. Keep one")
    return laws


def _among(law: Law, laws: Sequence[Law]) -> bool:
    """Tell whether ``law`` is one of ``laws``: the very object, as laws with arrays cannot be compared."""
    return any(law is other for other in laws)


def _scaled(torque: Array, fraction: float) -> Array:
    """Scale what is a torque; leave anything else for the filter to refuse."""
    return fraction * torque if isinstance(torque, np.ndarray) and torque.dtype == np.float64 else torque
