"""From a joint's true position to what its encoder and the controller's differentiation make of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..description.frozen import Array
from ..friction.parameters import for_joints
from .config import Encoder
from .noise import Counter, NormalRows


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
