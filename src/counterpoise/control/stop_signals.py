"""Signals and the interpreter's end: whatever ends the program, the arm is stopped first (SIGINT, SIGTERM, SIGHUP).

An exception that a signal raises between two instructions can come between a write and its bookkeeping, or inside the
very stop. So the handler raises nothing while something is driven: it asks every drive of the process to end in its
safe stop, and what the signal means to Python (KeyboardInterrupt, or StoppedFromOutside) is raised in the main thread
when all of them are over. A thread of its own watches over that. It takes the signal from the file descriptor to which
the interpreter writes it, so that a main thread that hangs in a driver is no obstacle, and stops the plant of a drive
that does not end in time.

``PlantUse`` is what drives a plant at the moment, as whoever has to end it from outside sees it. ``ProcessSignals`` is
the state of the process: who handles the signals, what they ask to end, and when they are raised.
"""

from __future__ import annotations

import atexit
import itertools
import os
import select
import signal
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader
from types import CodeType, FrameType, TracebackType
from typing import Any, Self
from weakref import WeakSet, ref

from ..errors import PlantError, SafetyError
from ..foundation import Array
from .plant import Plant

__all__ = ["INTERRUPTIONS", "Deferral", "SignalSafe", "StoppedFromOutside"]


NO_SIGNAL = 0
"""In place of a signal's number: asked to end because the program ends, or because the plant's block is left."""
STOPPING = "counterpoise emergency stop"
"""Name of the thread that stops the plant of a drive that did not end in time."""


class StoppedFromOutside(SystemExit):
    """The program was told to end by SIGTERM or SIGHUP, or ended by itself, while an arm was driven.

    It is raised when the arm has been stopped. As any SystemExit it ends the program where nobody catches it.

    Attributes:
        signal: The signal; None where there was none.
        code: The exit status: 128 + the signal's number, as shells have it (143, 129); 1 without a signal.
    """

    def __init__(self, number: int) -> None:
        """Take the number of the signal, or NO_SIGNAL."""
        super().__init__(128 + number if number else 1)
        self.signal: signal.Signals | None = signal.Signals(number) if number else None


INTERRUPTIONS: tuple[type[BaseException], ...] = (KeyboardInterrupt, StoppedFromOutside)
"""What a run raises that was ended from outside: KeyboardInterrupt for SIGINT (Ctrl-C), else StoppedFromOutside."""


def interruption(number: int) -> BaseException:
    """Return what is raised for a signal once every arm is stopped."""
    return KeyboardInterrupt() if number == signal.SIGINT else StoppedFromOutside(number)


class PlantUse:
    """One use of a plant: a run of the loop, a job of several runs, or entering and leaving it.

    Whoever drives looks at ``asked`` on every tick. Nothing here takes a lock that a signal handler could meet.

    Attributes:
        plant: What is driven.
        thread: Identity of the thread that drives.
        longest: How long its end may take once it was asked for [s].
        asked: The signal for which it has to end, or NO_SIGNAL; None while it may go on.
        asked_at: When that was, by the monotonic clock [s].
        steps: Torques sent so far: it gets on while this grows.
        sends: Whether it sends torques by itself; a job leaves that to its runs, and entering or leaving has none.
        abandoned: It did not end in time: the plant was stopped by others, and nothing is sent any more.
    """

    def __init__(self, plant: Plant, longest: float, *, sends: bool = True) -> None:
        """Begin in the present thread.

        Args:
            plant: What is driven.
            longest: How long its end may take once it was asked for [s].
            sends: Whether it sends torques by itself.
        """
        self.plant, self.longest, self.sends = plant, longest, sends
        self.thread = threading.get_ident()
        self.asked: int | None = None
        self.asked_at = 0.0
        self.steps = 0
        self.abandoned = False
        self._gate = threading.Lock()

    def ask(self, number: int) -> None:
        """Ask it to end in the safe stop; the first reason stays. From any thread, and from a signal handler."""
        if self.asked is None:
            self.asked_at = time.monotonic()
            self.asked = number

    @property
    def why(self) -> str:
        """What it was asked to end for, in words."""
        return f"interrupted by {signal.Signals(self.asked).name}" if self.asked else "the program or the block ends"

    def error(self) -> BaseException:
        """Return what to raise when it was asked to end, and has."""
        return interruption(self.asked or NO_SIGNAL)

    def write(self, tau: Array) -> Array:
        """Send torques [N m or N], shape (n,), and return what was really sent.

        Raises:
            PlantError: It was abandoned: nothing is sent.
        """
        with self._gate:  # never between the look at the flag and the write
            if self.abandoned:
                raise PlantError("the stop took too long: the plant was stopped from outside, nothing is sent any more")
            sent = self.plant.write(tau)
        self.steps += 1
        return sent

    def shut(self, patience: float) -> None:
        """Send nothing any more; from a thread that does not drive.

        A write that hangs cannot be taken back.

        Args:
            patience: How long to wait for a write under way [s].
        """
        self.abandoned = True
        if self._gate.acquire(timeout=patience):  # whoever comes after this sees the flag
            self._gate.release()

    def abandon(self, patience: float) -> None:
        """Stop the plant at once, from a thread that does not drive; nothing is sent after that.

        Beside a write that hangs the plant is stopped all the same.

        Args:
            patience: How long to wait for a write under way, and for the plant's own stop [s].
        """
        self.shut(patience)
        stopping = threading.Thread(target=self._stop_plant, daemon=True, name=STOPPING)
        try:
            stopping.start()
        except RuntimeError:  # the interpreter ends: no more threads
            self._stop_plant()
        else:
            stopping.join(patience)

    def _stop_plant(self) -> None:
        with suppress(Exception):  # a driver's code: nothing is left to do from here but to send no more
            self.plant.emergency_stop()


STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a program in good order."""
STALLED = 1.0
"""A drive that was asked to end and sends nothing for this long hangs [s]; its plant is stopped from outside."""
KEPT_WAIT = 0.2
"""How long a torque that was kept (``then="keep"``) may wait for the run that takes it over when a signal comes [s].
As STALLED, in looks of the watching thread: on a machine that lets nobody run it is longer."""
PATIENCE = 0.5
"""How long a hanging write, and the plant's own stop, are waited for [s]."""
POLL = 0.01
"""How often the watching thread looks [s]."""
_WEAKREFS = (__file__, weakref.__file__, WeakSet.add.__code__.co_filename)
"""Files with callbacks of weakrefs, whose exceptions Python prints and forgets."""
_MODULE_LOCK = "_get_module_lock.<locals>.cb"
"""Name of such a callback in Python's own imports."""
_EXTENSIONS = (ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__)
"""Functions that import compiled modules, whose first code may drop any exception without a word."""
LATE = 0.1
"""A handler that has not run by then [s] is not waited for: the main thread is busy, or hangs in a driver."""


class ProcessSignals:
    """The state of this process; one object.

    Attributes:
        drives: What is driven now.
        pending: Signal that has come and has not been raised; 0 for none.
        depth: How many scopes of the main thread defer signals.
        blocks: How many SignalSafe blocks the main thread is in.
        entered: Plants that SignalSafe has entered and not left.
        left: Plants that it has left, or is leaving, and the thread that did, by identity.
    """

    def __init__(self) -> None:
        """Begin with nothing driven."""
        self.edge = threading.RLock()
        self.reset()
        atexit.register(self._at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def reset(self) -> None:
        """Forget everything."""
        self.drives: dict[int, PlantUse] = {}
        self._waiting: dict[int, ref[PlantUse]] = {}
        self.entered: list[Plant] = []
        self.left: dict[int, tuple[Callable[[], Plant | None], int]] = {}
        self.pending = self.depth = self.blocks = 0
        self._previous: dict[int, Any] = {}
        self._resent = self._stuck = False
        self._handled_at = -1.0
        self._pipe: tuple[int, int] | None = None

    # --------------------------------------------------------------------------------------------------- the handlers

    def install(self) -> None:
        """Handle the signals that nobody else handles; in the main thread only. Ignored ones stay ignored."""
        if self._previous:
            return
        found = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        own = {number: was for number, was in found.items() if was in (signal.SIG_DFL, signal.default_int_handler)}
        if not own:
            return
        _, writing = self.watched()
        self._resent = False
        self._previous = own
        for number in own:  # SIGINT first: from then on nothing is raised in between
            signal.signal(number, self._handle)
        other = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        if other != -1:  # an event loop's; the handler itself wakes the watching thread then
            signal.set_wakeup_fd(other)

    @property
    def installed(self) -> bool:
        """Whether signals are handled here."""
        return bool(self._previous)

    def restore(self) -> None:
        """Give the signals back when nothing is driven any more; in the main thread only."""
        with self.edge:  # the watching thread must not send a signal that nobody would handle
            os.getppid()  # a system call: what was sent to this thread before has arrived when it returns
            if not self._previous or self.depth or self.blocks or self.drives or self.waiting() or self.pending:
                return
            previous, self._previous = self._previous, {}
            other = signal.set_wakeup_fd(-1)
            if self._pipe is None or other != self._pipe[1]:
                signal.set_wakeup_fd(other)
            for number in reversed(previous):
                if signal.getsignal(number) == self._handle:
                    signal.signal(number, previous[number])

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._handled_at = time.monotonic()
        resent, self._resent = self._resent, False
        if resent and not self.pending:
            return  # it was raised meanwhile
        if not resent:
            self.note(number)
            self.wake()
        if self._stuck:  # the main thread's own drive hangs, and its plant was stopped: this is the way out
            self._stuck = False
            if not _inside(frame, SCOPES):  # it came out by itself, and is about to raise it
                raise self.take()
        if self.depth or self.drives or self.waiting() or _inside(frame, PROTECTED) or _swallows(frame):
            return  # the watching thread sends it again
        error = self.take()
        self.restore()
        raise error

    def note(self, number: int) -> None:
        """Ask everything that is driven to end."""
        self.pending = self.pending or number
        for drive in (*tuple(self.drives.values()), *self.waiting()):
            drive.ask(number)

    def take(self) -> BaseException:
        """Return what to raise for the signal that has come; it has then been raised."""
        with self.edge:  # never while the watching thread sends it again: it would come after it was raised
            number, self.pending = self.pending, 0
        return interruption(number)

    # ------------------------------------------------------------------------------------------------ what is driven

    def begin(self, drive: PlantUse) -> None:
        """Note what drives; while a signal is to be raised, or a job of the same thread has to end, so has this."""
        self.watched()
        self.drives[id(drive)] = drive  # before the look at the signal: the handler first sets it, then asks
        self._waiting.pop(id(drive), None)
        asked = [each.asked for each in self._here() if each.asked is not None]
        if self.pending or asked:
            drive.ask(self.pending or asked[0])
        if drive.asked is not None:  # also one that takes over a torque, and was asked to end before
            self.wake()

    def end(self, drive: PlantUse) -> None:
        """Note that it is over."""
        self.drives.pop(id(drive), None)

    def keep(self, drive: PlantUse) -> None:
        """Note that it is over with its last torque kept."""
        key = id(drive)
        self._waiting[key] = ref(drive, lambda _: self._waiting.pop(key, None))

    def waiting(self) -> list[PlantUse]:
        """Return the drives whose last torque is kept, for a run that takes it over."""
        return [drive for each in tuple(self._waiting.values()) if (drive := each()) is not None]

    def leave(self, plant: Plant) -> None:
        """Note that a plant is being left by this thread: whoever begins to drive it elsewhere comes too late."""
        key = id(plant)
        held: Callable[[], Plant | None]
        try:
            held = ref(plant, lambda _: self.left.pop(key, None))
        except TypeError:  # a class without weakrefs

            def held() -> Plant | None:
                return plant

        self.left[key] = (held, threading.get_ident())

    def left_elsewhere(self, plant: Plant) -> bool:
        """Return whether another thread has left a plant, or is leaving it, since SignalSafe entered it."""
        found = self.left.get(id(plant))
        return found is not None and found[0]() is plant and found[1] != threading.get_ident()

    def wait_for_others(self) -> None:
        """Wait until no other thread drives; the watching thread abandons drives that hang."""
        while self._elsewhere(None):
            time.sleep(POLL)

    def _here(self) -> list[PlantUse]:
        here = threading.get_ident()
        return [each for each in tuple(self.drives.values()) if each.thread == here]

    def _elsewhere(self, plant: Plant | None) -> list[PlantUse]:
        here = threading.get_ident()
        drives = tuple(self.drives.values())
        return [each for each in drives if each.thread != here and (plant is None or each.plant is plant)]

    def end_all(self, plant: Plant | None = None) -> None:
        """Ask what other threads drive, or do with a plant, to end, and wait for it."""
        while asked := self._elsewhere(plant):
            for drive in asked:
                drive.ask(NO_SIGNAL)
            self.wake()  # after that: the watching thread goes back to sleep where it finds nothing to watch
            time.sleep(POLL)

    # ------------------------------------------------------------------------------------------- the watching thread

    def watched(self) -> tuple[int, int]:
        """Start the watching thread where there is none; return the ends of its pipe."""
        if self._pipe is None:
            with self.edge:
                if self._pipe is None:
                    reading, writing = os.pipe()
                    if hasattr(os, "set_blocking"):
                        os.set_blocking(writing, False)
                    threading.Thread(
                        target=self._watch, args=(reading,), daemon=True, name="counterpoise stop signals"
                    ).start()
                    self._pipe = (reading, writing)
        return self._pipe

    def wake(self) -> None:
        """Make the watching thread look."""
        with suppress(BlockingIOError):  # full: it is awake
            os.write(self.watched()[1], b"\0")

    def _watch(self, reading: int) -> None:
        while True:
            numbers = [number for number in os.read(reading, 64) if number in self._previous]
            if numbers:
                read_at = time.monotonic()
                until = read_at + LATE
                while self._handled_at < read_at - LATE and time.monotonic() < until:
                    time.sleep(POLL)
                if self._handled_at < read_at - LATE:
                    self.note(numbers[0])
            self._see_to_the_end(reading)

    def _see_to_the_end(self, reading: int) -> None:
        seen: dict[int, tuple[int, int]] = {}
        waits: dict[int, int] = {}
        sent_at = -1.0
        while True:
            with suppress(
                OSError, ValueError
            ):  # further signals change nothing, and must not be read when this is over
                while select.select([reading], [], [], 0.0)[0]:
                    os.read(reading, 64)
            asked = [drive for drive in tuple(self.drives.values()) if drive.asked is not None]
            for drive in asked:
                steps, idle = seen.get(id(drive), (-1, 0))
                # Looks are counted, not seconds: a machine that lets nobody run is no reason to give up the stop.
                idle = 0 if drive.steps != steps or not drive.sends else idle + 1
                seen[id(drive)] = (drive.steps, idle)
                over = time.monotonic() - drive.asked_at - drive.longest
                if idle * POLL > STALLED or over > 0.0:
                    self._abandon(drive)
            for drive in self.waiting():
                if drive.asked is not None:
                    waits[id(drive)] = waits.get(id(drive), 0) + 1
                    if waits[id(drive)] * POLL > KEPT_WAIT:
                        self._waiting.pop(id(drive), None)
            if not asked and all(drive.asked is None for drive in self.waiting()):
                if not self.pending:
                    return
                if time.monotonic() - sent_at > LATE:
                    sent_at = time.monotonic()
                    self._send_again(only_outside=True)
            time.sleep(POLL)

    def _abandon(self, drive: PlantUse) -> None:
        if not drive.sends:  # a job: a run of it that began later may still have time, and must not go on writing
            for run in tuple(self.drives.values()):
                if run.plant is drive.plant and run.sends:
                    run.shut(PATIENCE)
        drive.abandon(PATIENCE)
        self.end(drive)
        if drive.thread == threading.main_thread().ident and self.pending:
            self._stuck = True
            self._send_again(only_outside=False)

    def _send_again(self, *, only_outside: bool) -> None:
        """Send the signal that has come to the main thread once more, for the handler to raise it."""
        with self.edge:
            if not self.pending or not self._previous or (only_outside and self.depth):
                if not self._previous:
                    self.pending = 0  # nobody is there to raise it
                return
            self._resent = True
            main = threading.main_thread().ident
            if main is not None and hasattr(signal, "pthread_kill"):
                signal.pthread_kill(main, self.pending)  # ends the wait of a system call as well
            else:
                signal.raise_signal(self.pending)

    # ------------------------------------------------------------------------------------------------------- the ends

    def _at_exit(self) -> None:
        self.pending = 0  # nothing is left that it could end
        with Deferral(deliver=False):
            self.end_all()
            for plant in tuple(self.entered):
                with suppress(Exception):
                    plant.emergency_stop()
                with suppress(Exception):
                    plant.__exit__(None, None, None)

    def _after_fork(self) -> None:
        """Forget it all in a child process: the arm is its parent's."""
        previous = self._previous
        self.edge = threading.RLock()
        if previous:
            with suppress(ValueError):
                signal.set_wakeup_fd(-1)  # the parent's thread listens at the other end
                for number, was in previous.items():
                    signal.signal(number, was)
        self.reset()


PROCESS = ProcessSignals()


def _inside(frame: FrameType | None, codes: set[CodeType]) -> bool:
    """Return whether the main thread is in one of some functions, or in what they call."""
    for _ in range(8):
        if frame is None:
            return False
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


def _swallows(frame: FrameType | None) -> bool:
    """Return whether an exception raised here may be lost: in a finaliser, a callback of a weakref, or an import."""
    for place in itertools.count():
        if frame is None:
            return False
        code = frame.f_code
        callback = code.co_name == "__del__" or code.co_filename in _WEAKREFS or code.co_qualname == _MODULE_LOCK
        if code in _EXTENSIONS or (callback and place < 8):
            return True
        frame = frame.f_back
    return False


def in_main_thread() -> bool:
    """Return whether this is the thread in which Python handles signals."""
    return threading.get_ident() == threading.main_thread().ident


class Deferral:
    """A scope in which no signal raises anything in the main thread; at its end the signal is raised.

    In other threads it does nothing.
    """

    def __init__(self, *, deliver: bool = True) -> None:
        """Prepare.

        Args:
            deliver: Raise the signal at the end of the scope. False leaves it to who asks for it (:meth:`claim`), or
                to the code that follows.
        """
        self._deliver = deliver
        self._counts = False

    def __enter__(self) -> Self:
        """Defer."""
        if not in_main_thread():
            return self
        PROCESS.depth += 1
        self._counts = True
        try:
            PROCESS.install()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise what has come meanwhile, once nothing is driven any more."""
        if not self._counts:
            return
        number = 0
        if PROCESS.depth == 1 and self._deliver and (number := PROCESS.pending):
            PROCESS.wait_for_others()  # raised earlier, it would leave blocks of plants that are still driven
            PROCESS.take()
        self._leave()
        if PROCESS.pending and not PROCESS.installed:  # it came in between, and no handler is left to raise it
            number = PROCESS.pending
            PROCESS.take()
        if number and not isinstance(error, INTERRUPTIONS):
            raised = interruption(number)
            if error is not None:
                raised.add_note(str(error))
            raise raised

    def _leave(self) -> None:
        self._counts = False
        PROCESS.depth = max(0, PROCESS.depth - 1)
        PROCESS.restore()

    @property
    def arrived(self) -> signal.Signals | None:
        """The signal that has come; None for none."""
        return signal.Signals(PROCESS.pending) if PROCESS.pending else None

    def claim(self) -> signal.Signals | None:
        """Return the signal that has come, and let nobody raise it; None for none."""
        found = self.arrived
        PROCESS.take()
        return found


SCOPES = {Deferral.__enter__.__code__, Deferral.__exit__.__code__}
"""Functions in which signals begin, or cease, to be deferred."""
PROTECTED = set(SCOPES)
"""These, and others that must not be interrupted before they defer, or after: stop_signals adds its own."""


EXTRA_TIME, EXTRA_SHARE = 2.0, 3.0
"""A safe stop may take EXTRA_SHARE times its nominal length and EXTRA_TIME [s] more; then the same."""
SWITCHING = 5.0
"""How long a plant may take to be entered, or left, once a signal has come [s]: drives are switched on and off."""


def longest_stop(nominal: float) -> float:
    """Return how long a safe stop of a nominal length may take [s]."""
    return EXTRA_SHARE * nominal + EXTRA_TIME


class Driving:
    """A scope in which something is driven: while it lasts, signals ask it to end, and nothing else."""

    def __init__(self, drive: PlantUse) -> None:
        """Take what drives."""
        self._drive = drive

    def __enter__(self) -> PlantUse:
        """Begin."""
        PROCESS.begin(self._drive)
        return self._drive

    def __exit__(self, *_: object) -> None:
        """End."""
        PROCESS.end(self._drive)


def drive_begins(drive: PlantUse) -> None:
    """Note that something drives from now on, where that does not end with a scope."""
    PROCESS.begin(drive)


def drive_ends(drive: PlantUse) -> None:
    """Note that it is over."""
    PROCESS.end(drive)


def refuse_left_plant(plant: Plant) -> None:
    """Refuse to drive a plant that its SignalSafe block in another thread has left.

    Raises:
        SafetyError: It has: that thread ended the block before this one began to drive.
    """
    if PROCESS.left_elsewhere(plant):
        raise SafetyError(
            "the block of SignalSafe in another thread has left this plant: nothing is sent. Wait for threads before "
            "the block ends, or enter the plant again with SignalSafe"
        )


def keep(drive: PlantUse) -> None:
    """Note that a drive is over with its last torque kept: a signal gives its successor time to take it over."""
    PROCESS.keep(drive)


class SignalSafe:
    """A plant that is entered and left whole, whatever ends the program.

    ::

        with SignalSafe(plant):
            report = ControlLoop(plant, law, robot).run(5.0)

    As ``with plant:``, and besides: SIGINT (Ctrl-C), SIGTERM and SIGHUP end what drives the plant in its safe stop, in
    whichever thread it runs; the plant is left after that, and only then KeyboardInterrupt (SIGINT) or
    StoppedFromOutside (a SystemExit with status 128 + signal) is raised. So does an exception in the block. The block
    is never left while something drives its plant; a drive that hangs is given up after a bound, the plant is stopped
    by ``emergency_stop()`` from another thread, and nothing more is sent. Further signals change nothing. A signal that
    comes while the plant is being entered or left waits until that is done; after SWITCHING it is interrupted, and a
    plant that was being entered is left all the same.

    Signals that are ignored stay so (``nohup``). Those for which the program has a handler of its own are left to it.
    Handlers can only be installed in the main thread: in another one the block does the rest.
    """

    def __init__(self, plant: Plant) -> None:
        """Take the plant; nothing happens to it yet."""
        self._plant = plant
        self._counts = False

    def __enter__(self) -> Plant:
        """Enter the plant; a signal that comes meanwhile waits until that is done, or hangs."""
        if PROCESS.pending:
            with Deferral():
                pass  # raises it
        with Deferral(deliver=False):
            with Driving(self._switching()) as use:
                try:
                    self._plant.__enter__()
                except INTERRUPTIONS as error:
                    if use.abandoned:  # nobody else would leave it: its block never begins
                        with suppress(Exception):
                            self._left(type(error), error, error.__traceback__)
                    raise
            PROCESS.left.pop(id(self._plant), None)
            PROCESS.entered.append(self._plant)
            self._counts = in_main_thread()
            PROCESS.blocks += self._counts
        return self._plant

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """End what drives the plant, leave the plant, then raise what has come meanwhile."""
        with Deferral():
            try:
                PROCESS.leave(self._plant)  # before the look at what drives: whoever begins then sees it
                PROCESS.end_all(self._plant)
                return self._left(kind, error, trace)
            finally:
                PROCESS.entered[:] = [plant for plant in PROCESS.entered if plant is not self._plant]
                PROCESS.blocks -= self._counts
                self._counts = False

    def _left(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        with Driving(self._switching()):
            return self._plant.__exit__(kind, error, trace)

    def _switching(self) -> PlantUse:
        return PlantUse(self._plant, SWITCHING, sends=False)


PROTECTED.update((SignalSafe.__enter__.__code__, SignalSafe.__exit__.__code__))
