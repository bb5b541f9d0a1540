"""Recordings with a first fit to them: what the search for the posterior goes over (posterior_search.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..fitting import EffortModel, Samples, Scales
from ..foundation import Array
from .runs import RepeatedRun

REVERSES = 0.05
"""Share of the samples that must move to either side for a joint's friction to be told from an offset."""
POSES = 300
"""Recorded poses that stand for the calibrated range."""
HARMONICS = (2, 3)
"""Orders of the harmonics of a joint's angle that a spring may have besides."""

Weigh = Callable[[Samples, Array, bool], Array]
"""Weighs the rows of samples by their residuals, shapes (k, a); the last says whether they are poses at rest."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some samples of a recording.

    Attributes:
        number: Number of the recording.
        poses: Whether they are poses at rest beside a motion.
        samples: The samples.
        A: Their rows, shape (k, a, p).
        y: Their efforts, shifted as the rows ask for, shape (k, a).
    """

    number: int
    poses: bool
    samples: Samples
    A: Array
    y: Array


@dataclass(frozen=True, eq=False)
class FittedRecordings:
    """Recordings, and a first fit to them; a joints have a measured effort.

    Attributes:
        model: The model.
        runs: The recordings.
        known: What weighed loads add to the body parameters, by run.
        start: Where the unknowns start, shape (p,).
        x: The first estimate, shape (p,): rows are linearised there.
        sigma: Noise of one sample by the first fit, shape (c,): of the motion, then of poses at rest.
        scales: Sizes of what was measured.
        correlated: Whether samples are successive instants of a filtered recording.
        weigh: Weighs rows by outliers and by reversals.
        own_offsets: Whether every recording has an offset of its own.
    """

    model: EffortModel
    runs: Sequence[RepeatedRun]
    known: Sequence[Array | None]
    start: Array
    x: Array
    sigma: Array
    scales: Scales
    correlated: bool
    weigh: Weigh
    own_offsets: bool = False

    @property
    def sources(self) -> int:
        """2 where poses at rest are fitted beside a motion, else 1."""
        return 2 if any(run.poses for run in self.runs) else 1

    def numbered(self) -> Iterator[tuple[int, RepeatedRun, Array | None]]:
        """Yield the runs and their known loads; poses at rest have the number of their motion."""
        number = -1
        for run, load in zip(self.runs, self.known, strict=True):
            number += not run.poses
            yield number, run, load

    def chunks(self) -> Iterator[Chunk]:
        """Yield samples and rows, piece by piece."""
        for number, run, load in self.numbered():
            for chunk in run.chunks():
                yield Chunk(number, run.poses, chunk, *self.model.rows(chunk, self.x, load))


@dataclass(frozen=True, eq=False)
class Extent:
    """What was recorded of n joints, and how large it is.

    Attributes:
        lower: Lowest positions [rad or m], shape (n,).
        upper: Highest ones [rad or m], shape (n,).
        speed: Root mean square of the velocities [rad/s or m/s], shape (n,).
        effort: Root mean square of the efforts, shape (n,); 0 where none was measured.
        variation: Standard deviation of the efforts, shape (n,); 0 where none was measured.
        weight: Root mean square of the described gravity efforts, shape (n,).
        load: Mean of their size over their root mean square, shape (n,).
        centre: Means of q, cos q and sin q and of their HARMONICS, shape (3 + 2 h, n).
        reverses: Which joints move to both sides for long enough that friction shows, shape (n,).
        times: Begin and end of every run [s].
    """

    lower: Array
    upper: Array
    speed: Array
    effort: Array
    variation: Array
    weight: Array
    load: Array
    centre: Array
    reverses: npt.NDArray[np.bool_]
    times: tuple[tuple[float, float], ...]


def survey_recordings(recorded: FittedRecordings) -> tuple[Array, Extent, tuple[int, int]]:
    """Return poses that stand for the recordings, what was recorded, and the numbers of samples and of poses."""
    model = recorded.model
    robot, n = model.robot, model.robot.n
    poses: list[Array] = []
    kept, rows, step, rests = 0, 0, 1, 0
    lower, upper = np.full(n, np.inf), np.full(n, -np.inf)
    speed, effort, mean, counts = np.zeros((4, n))
    centre, sides = np.zeros((1 + 2 * (1 + len(HARMONICS)), n)), np.zeros((2, n))
    times: dict[int, tuple[float, float]] = {}
    for number, run, _ in recorded.numbered():
        for chunk in run.chunks():
            lower, upper = np.minimum(lower, chunk.q.min(axis=0)), np.maximum(upper, chunk.q.max(axis=0))
            if run.poses:  # sizes are those of the motion: poses that are all wrong must not change them
                rests += len(chunk)
                continue
            speed += np.sum(chunk.dq**2, axis=0)
            centre += [values.sum(axis=0) for values in (chunk.q, *waves(chunk.q))]
            sides += [(side * chunk.dq > chunk.v0).sum(axis=0) for side in (1.0, -1.0)]
            effort += np.nansum(chunk.tau**2, axis=0)
            mean += np.nansum(chunk.tau, axis=0)
            counts += np.isfinite(chunk.tau).sum(axis=0)
            times[number] = (times.get(number, (float(chunk.time[0]), 0.0))[0], float(chunk.time[-1]))
            first = (-rows) % step
            poses.append(chunk.q[first::step])
            kept, rows = kept + len(poses[-1]), rows + len(chunk)
            while kept > 2 * POSES:
                thin = np.concatenate(poses)[::2]
                poses, kept, step = [thin], len(thin), 2 * step
    found = np.concatenate(poses)
    found = found[np.unique(np.linspace(0, len(found) - 1, min(len(found), POSES)).round().astype(np.int64))]
    weight = np.abs(robot.gravity(found) * model.gains(recorded.x))
    size = np.sqrt(np.mean(weight**2, axis=0))
    return (
        found,
        Extent(
            lower=lower,
            upper=upper,
            speed=np.sqrt(speed / max(rows, 1)),
            effort=np.sqrt(effort / np.maximum(counts, 1.0)),
            variation=np.sqrt(np.maximum(effort * counts - mean**2, 0.0)) / np.maximum(counts, 1.0),
            weight=size,
            load=np.mean(weight, axis=0) / np.maximum(size, 1e-9),
            centre=centre / max(rows, 1),
            reverses=sides.min(axis=0) >= REVERSES * rows,
            times=tuple(times[number] for number in sorted(times)),
        ),
        (rows, rests),
    )


def waves(q: Array) -> list[Array]:
    """Return cosine and sine of angles and of their HARMONICS, each of shape (k, n)."""
    return [turn(order * q) for order in (1, *HARMONICS) for turn in (np.cos, np.sin)]
