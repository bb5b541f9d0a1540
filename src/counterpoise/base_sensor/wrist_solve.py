"""The least-squares problem of a wrist sensor at rest: ten numbers always, a turn and a tilt where asked for.

Mass, first moment and zero enter linearly; a turn of the sensor and a tilt of gravity by Gauss–Newton steps. Forces and
moments each have one noise, estimated from what is left with the degrees of freedom that the fit took. Deviations are
widened as few poses ask for (Student's t), so that two of them hold 95 %. What no pose tells has an infinite deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from ..description.frozen import Array
from ..description.rotations import rotation_from_vector, skew
from .wrist_sensor import WristReads

Turn = Literal["none", "axis", "full"]
TURNS: tuple[Turn, ...] = get_args(Turn)
PASSES = 20
STARTS = 24
"""Turns about the sensor's axis from which the search begins."""
NORMAL = 1.959964
"""Deviations of a normal distribution that hold 95 %."""
HIDDEN = 1e-9
"""Eigenvalue of the normal equations, columns scaled to length 1, below which a combination is not told."""


@dataclass(frozen=True, slots=True, eq=False)
class WristSolution:
    """x = [± m, ± m c, bias], the sensor's axes in the link, gravity, covariance of x, turn and tilt, what is left."""

    x: Array
    axes: Array
    gravity: Array
    covariance: Array
    left: Array


@dataclass(frozen=True, slots=True)
class WristProblem:
    """What is fitted: ten numbers always, three of a turn, two of a tilt."""

    turn: Turn
    tilt: bool
    reads: WristReads | None

    @property
    def columns(self) -> list[int]:
        """Which of the fifteen unknowns are fitted."""
        turned = {"none": [], "axis": [12], "full": [10, 11, 12]}[self.turn]
        return [*range(10), *turned, *([13, 14] if self.tilt else [])]

    def solved(self, axes: Array, start: Array, gravity: Array, reading: Array) -> WristSolution:
        """Return the fit from the best of some starts; one that contradicts ``reads`` counts last."""
        angles = np.arange(STARTS) * 2.0 * math.pi / STARTS if self.turn == "axis" else np.zeros(1)
        turned = [start @ rotation_from_vector(np.array([0.0, 0.0, angle])) for angle in angles]
        costs = [self._quality(axes, one, gravity, reading) for one in turned]
        return self.descended(axes, turned[int(np.argmin(costs))], gravity, reading)

    def predicted(self, axes: Array, found: WristSolution) -> Array:
        """Return readings, shape (k, 6)."""
        return np.asarray(_columns(_felt(axes, found.axes, found.gravity), found.x)[:, :, :10] @ found.x)

    def _quality(self, axes: Array, turned: Array, gravity: Array, reading: Array) -> float:
        A = _columns(_felt(axes, turned, gravity), np.zeros(10))[:, :, :10]
        scale = np.maximum(reading.std(axis=0), 1e-9)
        flat, given = (A / scale[:, None]).reshape(-1, 10), (reading / scale).ravel()
        x = np.linalg.lstsq(flat, given, rcond=1e-10)[0]
        wrong = self.reads is not None and (x[0] >= 0.0) != (self.reads == "on_robot")
        return float(np.sum((given - flat @ x) ** 2)) + (1e12 if wrong else 0.0)

    def descended(self, axes: Array, turned: Array, gravity: Array, reading: Array) -> WristSolution:
        """Return the fit that is nearest to a start."""
        kept, count = self.columns, len(axes)
        noise = np.repeat([np.maximum(reading[:, :3].std(), 1e-9), np.maximum(reading[:, 3:].std(), 1e-9)], 3)
        x, covariance, left = np.zeros(10), np.zeros((15, 15)), reading
        for step in range(PASSES):
            used, before = kept if step > 0 else kept[:10], noise  # a turn has a slope once there is a mass
            A = _columns(_felt(axes, turned, gravity), x, axes @ turned, gravity)[:, :, used]
            flat = (A / noise[:, None]).reshape(-1, len(used))
            size = np.maximum(np.linalg.norm(flat, axis=0), 1e-300)
            values, vectors = np.linalg.eigh((flat / size).T @ (flat / size))
            told = values > HIDDEN * values[-1]
            inverse = (vectors[:, told] / values[told]) @ vectors[:, told].T
            found = np.zeros(15)
            found[used] = (inverse @ ((flat / size).T @ (reading / noise).ravel())) / size
            x = found[:10]
            turned = turned @ rotation_from_vector(found[10:13])
            gravity = rotation_from_vector(_level(gravity).T @ found[13:]) @ gravity
            left = reading - _columns(_felt(axes, turned, gravity), x)[:, :, :10] @ x
            taken = np.einsum("ki,ij,kj->k", flat / size, inverse, flat / size).reshape(count, 6)
            freedom = [max(3.0 * count - float(taken[:, part].sum()), 0.5) for part in (slice(0, 3), slice(3, 6))]
            squares = [float(np.sum(left[:, part] ** 2)) for part in (slice(0, 3), slice(3, 6))]
            noise = np.repeat([max(math.sqrt(s / f), 1e-9) for s, f in zip(squares, freedom, strict=True)], 3)
            spread = inverse / np.outer(size, size)
            lost = np.any(np.abs(vectors[:, ~told]) > 1e-6, axis=1)
            spread[lost, lost] = np.inf
            wider = float(stdtrit(max(6.0 * count - len(used), 1.0), 0.975)) / NORMAL
            covariance = np.zeros((15, 15))
            covariance[np.ix_(used, used)] = wider**2 * spread
            if step > 1 and np.abs(found[10:]).max() < 1e-10 and np.allclose(noise, before, rtol=1e-6):
                break
        return WristSolution(x, turned, gravity, covariance, left)


def _felt(axes: Array, turned: Array, gravity: Array) -> Array:
    """Return gravity along the sensor's axes at every pose [m/s²], shape (k, 3)."""
    return np.asarray(np.einsum("kji,j->ki", axes @ turned, gravity))


def _level(gravity: Array) -> Array:
    """Return two axes across gravity, base frame, shape (2, 3)."""
    down = gravity / np.linalg.norm(gravity)
    first = np.cross(np.eye(3)[int(np.argmin(np.abs(down)))], down)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(down, first)])


def _columns(felt: Array, x: Array, axes: Array | None = None, gravity: Array | None = None) -> Array:
    """Return the derivatives of the readings by [m, m c, bias, turn, tilt], shape (k, 6, 15)."""
    A = np.zeros((len(felt), 6, 15))
    cross = skew(felt)
    A[:, :3, 0] = felt
    A[:, 3:, 1:4] = -cross  # m c × g = −g × m c
    A[:, range(6), range(4, 10)] = 1.0
    if axes is not None and gravity is not None:
        tilted = np.einsum("kji,aj->kia", axes, np.cross(_level(gravity), gravity))
        for at, change in ((slice(10, 13), cross), (slice(13, 15), tilted)):
            A[:, :3, at] = x[0] * change
            A[:, 3:, at] = skew(x[1:4]) @ change
    return A
