"""The drives' sensors of a simulated arm: encoders and reported torques, with their noise and rounding.

An encoder leads from a joint's true position to what the controller's differentiation makes of it, a torque sensor from
a drive's true current or pressure to the torque it reports. Noise and rounding are made cheap: they run on a handful of
numbers at every tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..dynamics import for_joints
from ..foundation import Array
from .config import EffortSensor, Encoder

BLOCK = 256
"""Ticks for which random numbers are drawn at once."""


class NormalRows:
    """An endless table of normal random numbers, read row by row and drawn in blocks.

    Args:
        random: Where the numbers come from; nobody else may draw from it.
        scale: Standard deviation of each column, shape (m,).
    """

    def __init__(self, random: np.random.Generator, scale: Array) -> None:
        """Draw nothing yet."""
        self.any = bool(scale.any())
        self._random, self._scale = random, scale
        self._block, self._next = np.zeros((0, scale.size)), 0

    def block(self) -> Array:
        """Return the next BLOCK rows, shape (BLOCK, m)."""
        return self._random.standard_normal((BLOCK, self._scale.size)) * self._scale

    def row(self) -> Array:
        """Return the next row, shape (m,); it is not to be changed."""
        if self._next == len(self._block):
            self._block, self._next = self.block(), 0
        row: Array = self._block[self._next]
        self._next += 1
        return row


class Counter:
    """Rounding to the nearest multiple of a step, entry by entry.

    Args:
        step: The steps ≥ 0, shape (n,); where one is 0 its entry is left as it is.
    """

    def __init__(self, step: Array) -> None:
        """Prepare the reciprocals."""
        self.counts = bool(step.any())
        self._step, self._none = step, step == 0.0
        self._rate = 1.0 / np.where(self._none, 1.0, step)
        self._all = not bool(self._none.any())

    def counted(self, value: Array) -> Array:
        """Return the rounded values, shape (n,), in a new array."""
        rounded: Array = np.rint(value * self._rate)
        rounded *= self._step
        return rounded if self._all else np.where(self._none, value, rounded)


class EncoderReader:
    """Encoders of n joints, sampled once per control tick.

    Args:
        encoder: What they are.
        names: The joints.
        dt: Time between two samples [s].
        random: Source of their noise.
    """

    def __init__(self, encoder: Encoder, names: Sequence[str], dt: float, random: np.random.Generator) -> None:
        """Prepare the chain; parts that do nothing are left out of it."""
        self._counter = Counter(for_joints(np.asarray(encoder.resolution), "encoder.resolution", names))
        self._noise = NormalRows(random, for_joints(np.asarray(encoder.noise), "encoder.noise", names))
        self._exact = encoder.velocity == "exact"
        self._keep = 0.0 if math.isinf(encoder.cutoff) else math.exp(-2.0 * math.pi * encoder.cutoff * dt)
        self._gain = (1.0 - self._keep) / dt
        self._before = self._velocity = np.zeros(len(names))

    def reset(self, position: Array, velocity: Array) -> tuple[Array, Array]:
        """Return the first reading of joints that have been moving at ``velocity`` all along."""
        self._before, self._velocity = self._read(position), velocity.copy()
        return self._before, self._velocity

    def read(self, position: Array, velocity: Array) -> tuple[Array, Array]:
        """Return measured positions [rad or m] and velocities [rad/s or m/s], shape (n,) each, in new arrays."""
        now = self._read(position)
        if self._exact:
            return now, velocity.copy()
        velocity = now - self._before
        velocity *= self._gain
        if self._keep != 0.0:
            velocity += self._keep * self._velocity
        self._before, self._velocity = now, velocity
        return now, velocity

    def _read(self, position: Array) -> Array:
        read = position + self._noise.row() if self._noise.any else position
        return self._counter.counted(read) if self._counter.counts else read.copy()


class EffortReader:
    """Torque sensing of n joints, sampled once per control tick.

    Args:
        effort: What it is.
        names: The joints.
        random: Source of its noise.
    """

    def __init__(self, effort: EffortSensor, names: Sequence[str], random: np.random.Generator) -> None:
        """Prepare the chain; parts that do nothing are left out of it."""
        self._noise = NormalRows(random, for_joints(np.asarray(effort.noise), "effort.noise", names))
        self._counter = Counter(for_joints(np.asarray(effort.resolution), "effort.resolution", names))

    def read(self, torque: Array) -> Array:
        """Return the reported torques [N m or N], shape (n,), in a new array."""
        read = torque + self._noise.row() if self._noise.any else torque
        return self._counter.counted(read) if self._counter.counts else read.copy()
