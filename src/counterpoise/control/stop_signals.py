"""Whatever ends the program, the arm is stopped first: SIGINT (Ctrl-C), SIGTERM, SIGHUP and the interpreter's end.

An exception that a signal raises between two instructions can come between a write and its bookkeeping, or inside the
very stop. So the handler raises nothing while something is driven: it asks every drive of the process to end in its
safe stop, and what the signal means to Python (KeyboardInterrupt, or StoppedFromOutside) is raised in the main thread
when all of them are over. A thread of its own watches over that. It takes the signal from the file descriptor to which
the interpreter writes it, so that a main thread that hangs in a driver is no obstacle, and stops the plant of a drive
that does not end in time.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from ..errors import SafetyError
from .plant import Plant
from .plant_use import INTERRUPTIONS, PlantUse, StoppedFromOutside
from .process_signals import PROCESS, PROTECTED, Deferral, in_main_thread

__all__ = ["INTERRUPTIONS", "Deferral", "SignalSafe", "StoppedFromOutside"]

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
