"""What drives a plant at the moment, as whoever has to end it from outside sees it."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress

from ..description.frozen import Array
from ..errors import PlantError
from .plant import Plant

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
