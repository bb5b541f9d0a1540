"""From the wrench on the plate to the reading: everything a signal suffers on its way."""

from __future__ import annotations

import math

import numpy as np

from ..description.frozen import Array
from .noise import BLOCK, Counter, NormalRows
from .plate_config import Plate


class PlateSensor:
    """The signal chain of a plate, sampled once per control tick.

    reading = sat( round( ± C w + bias + drift t + walk + noise ) ), where w is what the plate exerts on the robot,
    already low-passed at the physics rate, in the sensor's axes at its origin. A filter and a constant matrix commute.

    Args:
        plate: The plate.
        dt: Time between two samples [s].
        random: Source of its noise.
    """

    def __init__(self, plate: Plate, dt: float, random: np.random.Generator) -> None:
        """Prepare the chain."""
        sign = 1.0 if plate.reads == "on_robot" else -1.0
        self._mixing = sign * np.asarray(plate.crosstalk)
        self._bias, self._drift = np.array(plate.bias, dtype=np.float64), np.asarray(plate.drift) * dt
        self._counter, self._range = Counter(np.asarray(plate.resolution)), np.asarray(plate.range)
        self._per_range = 1.0 / self._range  # 0 where there is no end of the range
        noise, walk = random.spawn(2)
        self._noise = NormalRows(noise, np.asarray(plate.noise))
        self._walk = NormalRows(walk, np.asarray(plate.walk) * math.sqrt(dt))
        self._added, self._next = np.zeros((0, 6)), 0

    def read(self, wrench: Array) -> tuple[Array, bool]:
        """Return the reading, shape (6,), in a new array, and whether a channel is at the end of its range.

        Args:
            wrench: What the plate exerts on the robot, sensor axes and origin, force first [N, N m], shape (6,).
        """
        if self._next == len(self._added):
            self._added, self._next = self._block(), 0
        reading: Array = self._mixing @ wrench
        reading += self._added[self._next]
        self._next += 1
        if self._counter.counts:
            reading = self._counter.counted(reading)
        full = reading * self._per_range
        # No entry of a vector shorter than 1 reaches 1: the usual case, told by one product.
        if full.dot(full) < 1.0 or not (np.abs(full) >= 1.0).any():
            return reading, False
        return np.clip(reading, -self._range, self._range), True

    def _block(self) -> Array:
        """Return bias, drift, walk and noise together for the next ticks, shape (BLOCK, 6); the bias moves on."""
        wandered = np.tile(self._drift, (BLOCK, 1))
        if self._walk.any:
            wandered += self._walk.block()
        biases = self._bias + np.vstack([np.zeros(6), np.cumsum(wandered, axis=0)])
        self._bias = biases[-1]
        return np.asarray(biases[:-1] + self._noise.block() if self._noise.any else biases[:-1])
