"""What an ideal estimator would know: which recordings determine gravity, and which faults differ from wrong masses.

The ideal estimator knows friction exactly and the noise's size and colour, and has no prior. Unknown to it are all
inertial parameters, an offset and a rotor inertia of every joint, and the size of springs where there are some. Its
covariance is that of linear Gaussian estimation. Where a gain drifts, the recorded load does, and the estimator's error
counts by how much (certificate_foreign.py).

A fault can be distinguished from wrong masses when the recording read as it stands fits worse, by MUCH in χ², than the
recording with the fault undone, where links may be wrong by LINKS and all of them by one factor of COMMON, offsets and
friction are free, and MODEL of every effort is explained by nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from certificate_arms import Array
from certificate_dynamics import Dynamics
from certificate_paths import Motion

MOST_ROWS = 250
"""Samples that stand for the recording."""
SURE = 1.96
"""Standard deviations of a 95 % interval."""
WIDE = 10.0
"""Unknowns are held this many times wider than the whole arm, so that what nothing determines has a variance."""
LINKS = 0.5
"""Relative standard deviation of a link's parameters for the question of faults."""
CENTRE = 0.05
"""Standard deviation of a link's centre of mass there [m]."""
COMMON = 0.5
"""Relative standard deviation of a common factor there."""
MODEL = 0.05
"""Share of an effort's root mean square that no model explains there."""
INDEPENDENT_RATE = 3.0
"""Of that, so many independent values per second [Hz]."""
MUCH = 50.0
"""Difference in χ² from which a fault is told."""


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """Noise of the efforts [N m or N], shapes (n,).

    Attributes:
        white: Standard deviation of what is new in every sample.
        slow: Standard deviation of what lasts for a while.
        time: How long that lasts, its correlation time [s].
    """

    white: Array
    slow: Array
    time: float


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A recording as somebody understands it: motion and efforts [N m or N], shape (k, n)."""

    motion: Motion
    effort: Array


def gravity_error(
    dynamics: Dynamics, motion: Motion, noise: Noise, springs: Sequence[tuple[int, Array]] = ()
) -> tuple[Array, Array]:
    """Return the ideal estimator's gravity error: 95 %, root mean square over the recorded poses, shape (n,).

    Args:
        dynamics: The true arm.
        motion: The recorded motion.
        noise: The efforts' noise.
        springs: Joint and shape (k,) of torques whose size is unknown. They count as part of the load.

    Returns:
        The error of the load without offsets, and with them.
    """
    kept, each = _thinned(motion)
    n = motion.q.shape[1]
    static, bodies = motion.side is not None, len(dynamics.parameters)
    rows = dynamics.rows(kept.q) if static else dynamics.rows(kept.q, kept.dq, kept.ddq)
    at_rest = dynamics.rows(kept.q)
    count = len(kept.q)
    extra = np.zeros((count, n, 2 * n + len(springs)))
    spacing = float(np.ptp(kept.time)) / max(count - 1, 1)
    for joint in range(n):
        extra[:, joint, joint] = 1.0
        extra[:, joint, n + joint] = kept.ddq[:, joint]
    for place, (joint, shape) in enumerate(springs):
        extra[:, joint, 2 * n + place] = shape[_kept_rows(len(motion.q))]
    whole = np.concatenate([rows, extra], axis=2)
    slow = 2.0 * noise.time / max(spacing, 1e-9) if not static else 1.0
    variance = noise.white**2 / (1.0 if static else each) + noise.slow**2 * max(slow, 1.0 / each)
    load = np.concatenate([at_rest, extra], axis=2)
    load[:, :, bodies + n : bodies + 2 * n] = 0.0
    gravity = load.copy()
    gravity[:, :, bodies : bodies + n] = 0.0
    size = np.concatenate([_wide(dynamics), np.full(whole.shape[2] - bodies, WIDE * _largest(dynamics))])
    root = _root_covariance(whole, variance, size)
    spread = [np.sqrt(np.mean(np.sum((part @ root) ** 2, axis=2), axis=0)) for part in (gravity, load)]
    return SURE * spread[0], SURE * spread[1]


def told(described: Dynamics, as_recorded: Reading, undone: Reading, right: Dynamics, noise: Noise) -> bool:
    """Say whether a fault can be distinguished from wrong masses.

    Args:
        described: The description.
        as_recorded: The recording as it stands, efforts in the size that they would have as torques.
        undone: The same with the fault undone.
        right: The description with what the fault changed about the arm itself: payload, mounting.
        noise: The efforts' noise.
    """
    sizes = [np.sqrt(np.mean(reading.effort**2, axis=0)) for reading in (as_recorded, undone)]
    # Efforts that are recorded larger have larger noise.
    louder = Noise(*(part * sizes[0] / np.maximum(sizes[1], 1e-12) for part in (noise.white, noise.slow)), noise.time)
    return _misfit(described, as_recorded, louder, sizes[0]) - _misfit(right, undone, noise, sizes[1]) > MUCH


def _misfit(dynamics: Dynamics, reading: Reading, noise: Noise, size: Array) -> float:
    """Return χ² of a reading at its best masses, friction and offsets; ``size`` is that of its efforts, shape (n,)."""
    kept, each = _thinned(reading.motion)
    static = reading.motion.side is not None
    at = _kept_rows(len(reading.motion.q))
    n, effort = kept.q.shape[1], reading.effort[at]
    rows = dynamics.rows(kept.q) if static else dynamics.rows(kept.q, kept.dq, kept.ddq)
    own = np.zeros((len(at), n, 4 * n))
    direction = kept.side if kept.side is not None else np.tanh(kept.dq / 0.02)
    for joint in range(n):
        for place, column in enumerate((np.ones(len(at)), direction[:, joint], kept.dq[:, joint], kept.ddq[:, joint])):
            own[:, joint, place * n + joint] = column
    parameters = dynamics.parameters
    common = (rows @ parameters)[:, :, None] * COMMON
    spread = np.concatenate([rows * _links(parameters), common, own * (WIDE * size.max())], axis=2)
    duration = float(np.ptp(kept.time))
    dependent = 1.0 if static else max(1.0, len(at) / max(INDEPENDENT_RATE * duration, 1.0))
    variance = noise.white**2 / (1.0 if static else each) + noise.slow**2 + dependent * (MODEL * size) ** 2
    scaled = (spread / np.sqrt(variance)[:, None]).reshape(-1, spread.shape[2])
    missed = ((effort - rows @ parameters) / np.sqrt(variance)).ravel()
    inner = np.eye(scaled.shape[1]) + scaled.T @ scaled
    pull = scaled.T @ missed
    return float(missed @ missed - pull @ np.linalg.solve(inner, pull))


def _links(parameters: Array) -> Array:
    """Return how far each inertial parameter may be off, shape (10 b,)."""
    bodies = parameters.reshape(-1, 10)
    found = LINKS * np.abs(bodies)
    mass = np.maximum(bodies[:, 0], 0.02 * bodies[:, 0].max())
    found[:, 0] = LINKS * mass
    found[:, 1:4] += (CENTRE * mass)[:, None]
    found[:, 4:] += (CENTRE**2 * mass + LINKS * np.abs(bodies[:, [4, 6, 9]]).max(axis=1))[:, None]
    return found.ravel()


def _wide(dynamics: Dynamics) -> Array:
    bodies = dynamics.parameters.reshape(-1, 10)
    mass, moment = bodies[:, 0].sum(), np.abs(bodies[:, 1:4]).max() + bodies[:, 0].sum()
    inertia = np.abs(bodies[:, 4:]).max() + bodies[:, 0].sum()
    return WIDE * np.tile([mass, *[moment] * 3, *[inertia] * 6], len(bodies))


def _largest(dynamics: Dynamics) -> float:
    return float(max(dynamics.arm.effort.max(), 1.0))


def _root_covariance(rows: Array, variance: Array, size: Array) -> Array:
    """Return R with R Rᵀ the covariance of the unknowns, each held by its size, shape (p, p)."""
    scaled = (rows * size / np.sqrt(np.maximum(variance, 1e-18))[:, None]).reshape(-1, rows.shape[2])
    values, vectors = np.linalg.eigh(np.eye(scaled.shape[1]) + scaled.T @ scaled)
    return np.asarray(size[:, None] * vectors / np.sqrt(np.maximum(values, 1.0)))


def _kept_rows(count: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, count - 1, min(count, MOST_ROWS)).round().astype(np.int64))


def _thinned(motion: Motion) -> tuple[Motion, float]:
    """Return fewer samples of a motion, and how many of the recorded ones each of them stands for."""
    at = _kept_rows(len(motion.q))
    side = None if motion.side is None else motion.side[at]
    thin = Motion(motion.time[at], motion.q[at], motion.dq[at], motion.ddq[at], side)
    return thin, len(motion.q) / len(at)
