"""What holding an arm takes, measured while it goes to a pose from both sides.

Every window is worked out as soon as it is over, with the arm still held. When the last one ends, hardly anything is
left to compute for which the arm would have to wait.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...control import SafetyFilter
from ...dynamics import Robot
from ...foundation import Array
from ...identification import arrival_of
from ...recording import Sample, SampleFlag
from ..pose_recording import BidirectionalApproach, Window

BLOCKS = 5
"""Parts of a measurement whose scatter tells its noise: neighbouring samples are not independent."""
CREEP_PART = (0.4, 0.75)
"""Part of a creep during which a joint surely slides."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldWindow:
    """What one window showed, shape (n,) each; torques [N m or N] are those beyond the model's gravity.

    Attributes:
        below: Whether the joints came from below.
        rest: Mean torque at rest.
        noise: Standard deviation of that mean.
        creep: Mean torque while creeping.
        gravity: The model's gravity at rest [N m or N].
        crept: Whether each joint came to rest from that side, bool.
    """

    below: bool
    rest: Array
    noise: Array
    creep: Array
    gravity: Array
    crept: npt.NDArray[np.bool_]


class HoldingTorques:
    """Takes the samples of a run that follows a :class:`BidirectionalApproach`; says what holding took in each window.

    Only good samples are to be given, as ``until`` of ControlLoop.run gets them.

    Attributes:
        failure: Why the measurement is of no use; "" while it is.
    """

    def __init__(
        self,
        robot: Robot,
        reference: BidirectionalApproach,
        safety: SafetyFilter,
        *,
        by_command: bool,
        adds_gravity: bool,
    ) -> None:
        """Begin without a sample.

        Args:
            robot: The arm's model.
            reference: The motion that the run's law follows.
            safety: The run's filter; it knows what was sent.
            by_command: Whether the torques sent tell what holding takes, instead of the efforts measured.
            adds_gravity: Whether the plant adds gravity: the model's is then left out.
        """
        self.failure = ""
        self._robot, self._reference, self._safety = robot, reference, safety
        self._by_command, self._adds_gravity = by_command, adds_gravity
        self._begun: float | None = None
        self._windows: tuple[Window, ...] = ()
        self._found: list[HeldWindow] = []
        self._rows = 0
        self._elapsed = np.zeros(0)
        self._q = self._held = np.zeros((0, robot.n))
        self._told = np.zeros(0, dtype=bool)

    def take(self, sample: Sample) -> None:
        """Take the next good sample."""
        if self._begun is None:
            self._begun, self._windows = float(sample.time), self._reference.windows
            self._make_room()
        elapsed = float(sample.time) - self._begun
        self._note_command()
        if len(self._found) < len(self._windows) and elapsed >= self._windows[len(self._found)].end:
            self._close()
        if self.failure or len(self._found) == len(self._windows):
            return
        if elapsed < self._windows[len(self._found)].creep or self._rows == len(self._elapsed):
            return
        row, self._rows = self._rows, self._rows + 1
        self._elapsed[row], self._q[row], self._held[row] = elapsed, sample.q, sample.tau
        self._told[row] = self._by_command or not sample.flags & SampleFlag.TAU_INVALID

    def finish(self) -> tuple[HeldWindow, ...]:
        """Return what was found in each window; the run is over, and its last window with it."""
        self._note_command()
        if not self.failure and len(self._found) < len(self._windows):
            self._close()
        return tuple(self._found)

    def _make_room(self) -> None:
        """Make room for the samples of the longest window; half as many more than there should be."""
        longest = max(window.end - window.creep for window in self._windows)
        rows, n = math.ceil(1.5 * longest / self._safety.dt) + 2, self._robot.n
        self._elapsed, self._told = np.zeros(rows), np.zeros(rows, dtype=bool)
        self._q, self._held = np.zeros((rows, n)), np.zeros((rows, n))

    def _note_command(self) -> None:
        """Note what was sent after the sample before: only now is it known."""
        if self._by_command and self._rows:
            self._held[self._rows - 1] = self._safety.last

    def _close(self) -> None:
        """Work out the present window and go on to the next."""
        window, rows, self._rows = self._windows[len(self._found)], self._rows, 0
        elapsed, q, held = self._elapsed[:rows], self._q[:rows], self._held[:rows]
        usable = self._told[:rows] & np.isfinite(held).all(axis=1)
        gravity = np.zeros_like(q) if self._adds_gravity else self._robot.gravity(q)
        resting = elapsed >= window.begin
        length = window.begin - self._reference.plan.settle - window.creep
        begin, end = (window.creep + part * length for part in CREEP_PART)
        sliding = (elapsed >= begin) & (elapsed < end)
        for part, seconds in ((resting, window.end - window.begin), (sliding, end - begin)):
            self._refuse_too_few(int(np.count_nonzero(part & usable)), seconds)
        if self.failure:
            return
        residual = held - gravity
        rest = residual[resting & usable]
        blocks = np.array([block.mean(axis=0) for block in np.array_split(rest, min(BLOCKS, len(rest)))])
        approach = self._reference.offsets[window.pose]
        crept = np.ones(self._robot.n, dtype=bool)
        crept[arrival_of(q, window.pose, window.side, approach).failed] = False
        self._found.append(
            HeldWindow(
                below=window.side == "below",
                rest=rest.mean(axis=0),
                noise=blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks)),
                creep=residual[sliding & usable].mean(axis=0),
                gravity=gravity[resting].mean(axis=0),
                crept=crept,
            )
        )

    def _refuse_too_few(self, count: int, seconds: float) -> None:
        expected = round(seconds / self._safety.dt)
        if count < max(2, expected / 2):
            self.failure = (
                f"the check before floating has only {count} usable samples of {expected} in one of its measurements: "
                "positions or efforts are missing, or marked by the plant as no measurements"
            )
