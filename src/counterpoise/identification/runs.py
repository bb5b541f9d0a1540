"""Recordings that are fitted together, and a first look at them: what moves, how much, how fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dynamics import Robot, driven_inertias, refuse_other_joints
from ..errors import InputError
from ..fitting import BoolArray, Samples, Scales
from ..foundation import Array

MOST_KEPT = 1024
"""Poses or residuals that stand for a recording where its extent or its scatter is looked at."""
EVERY = 8
"""One sample in so many is looked at for them."""

KEPT_BYTES = 64_000_000
"""Filtered and thinned samples that are kept between passes: three hours of a seven-joint arm that moves slowly."""

Stream = Callable[[], Iterable[Samples]]
"""Gives the samples of a run piece by piece, anew on every call."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedRun:
    """One recording.

    Attributes:
        samples: The samples, or a function that yields them piece by piece anew on every call, for long recordings.
        robot: The robot as it was, with the weighed load it carried; None for the robot that is fitted.
        poses: Whether the samples are poses at rest of the motion in the run before: means over a standing each, with
            noise and friction of their own.
    """

    samples: Samples | Stream
    robot: Robot | None = None
    poses: bool = False

    def chunks(self) -> Iterator[Samples]:
        """Yield the samples in pieces that fit into memory."""
        if isinstance(self.samples, Samples):
            yield from self.samples.chunks()
            return
        begin: float | None = None
        for piece in self.samples():  # each of them knows only its own time
            if begin is None and len(piece):
                begin = float(piece.time[0])
            yield from replace(piece, elapsed=piece.time - (begin or 0.0)).chunks()


class RepeatedRun:
    """A run that is gone over several times: its samples are kept as long as they are few, else streamed anew."""

    def __init__(self, run: FittedRun) -> None:
        """Take a run."""
        self.robot = run.robot
        self.poses = run.poses
        self._run = run
        self._kept: list[Samples] | None = None

    def chunks(self) -> Iterator[Samples]:
        """Yield the samples in pieces that fit into memory."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Samples] | None = []
        size = 0
        for chunk in self._run.chunks():
            size += 6 * chunk.q.nbytes  # time, q, dq, ddq, tau and direction
            if kept is not None:
                kept.append(chunk)
            if size > KEPT_BYTES:
                kept = None
            yield chunk
        self._kept = kept


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What a first look at the data says.

    Attributes:
        active: Which joints have a measured effort, shape (n,).
        coupling: Actuator speeds per joint speeds, gears taken out, shape (n, n).
        effort: Root mean square of the efforts, shape (n,); NaN where none was measured.
        speed: Root mean square of the actuators' speeds [rad/s or m/s], shape (n,).
        position: Spread of the positions about their mean [rad or m], shape (n,).
        poses: Poses that stand for all of the recordings [rad or m], shape (m, n).
        moves: Whether anything moves.
        filtered: Whether the samples are successive instants of a filtered recording.
    """

    active: BoolArray
    coupling: Array
    effort: Array
    speed: Array
    position: Array
    poses: Array
    moves: bool
    filtered: bool

    def scales(self, robot: Robot) -> Scales:
        """Return the sizes that wide priors are scaled by, with the inertias that the description gives."""
        poses = self.poses[:: max(1, len(self.poses) // 32)]
        inertia = np.median(np.abs(driven_inertias(robot, poses)), axis=0)
        return Scales(self.effort, self.speed, self.position, inertia)


def survey_runs(robot: Robot, runs: Sequence[RepeatedRun]) -> Survey:
    """Look over all samples once.

    Raises:
        InputError: Samples of another robot, of different couplings, or none with a measured effort.
    """
    n = robot.n
    squares, counts, speeds, total, sums, sums2 = (np.zeros(n) for _ in range(6))
    poses: list[Array] = []
    coupling: Array | None = None
    moves = filtered = False
    for run in runs:
        for chunk in run.chunks():
            refuse_other_joints(chunk.joint_names, robot, "samples")
            own = chunk.actuator_per_link
            if coupling is not None and not np.array_equal(own, coupling):
                raise InputError("the runs declare different couplings (motor_per_link); expected the same for all")
            coupling = own
            if run.poses:  # sizes are those of the motion
                continue
            measured = np.isfinite(chunk.tau)
            squares += (np.where(measured, chunk.tau, 0.0) ** 2).sum(axis=0)
            counts += measured.sum(axis=0)
            speeds += ((chunk.dq @ own.T) ** 2).sum(axis=0)
            sums += chunk.q.sum(axis=0)
            sums2 += (chunk.q**2).sum(axis=0)
            total += len(chunk)
            moves |= bool(np.any(chunk.dq))
            filtered |= bool(np.isfinite(chunk.cutoff))
            poses = thinned([*poses, *chunk.q[::EVERY]])
    if coupling is None or not counts.any():
        raise InputError("there are no samples with a measured effort; there is nothing to fit")
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(np.maximum(sums2 / total - (sums / total) ** 2, 0.0))
        effort = np.sqrt(np.where(counts > 0, squares / np.maximum(counts, 1), np.nan))
    return Survey(counts > 0, coupling, effort, np.sqrt(speeds / total), spread, np.array(poses), moves, filtered)


def thinned(poses: list[Array]) -> list[Array]:
    """Return every second pose when there are too many, so that a recording of any length is looked at throughout."""
    return poses[::2] if len(poses) > MOST_KEPT else poses
