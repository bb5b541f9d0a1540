"""The plate under a simulated arm: its wrench out of the links' motion, low-passed, then its signal chain.

The chain is everything that a signal suffers on its way from the wrench on the plate to the reading.
"""

from __future__ import annotations

import math

import numpy as np

from ..control import PlateInfo
from ..foundation import Array, frozen, inverse_transform, wrench_transform
from .config import Plate
from .kernel import LowPass
from .links import Links
from .reference import butterworth, settled_state
from .sensors import BLOCK, Counter, NormalRows


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


class PlateReader:
    """A plate and its reading.

    A compliant plate is read as strain gauges do, stiffness times deflection; a rigid one by the reaction that MuJoCo
    computes between ground and base.

    Args:
        plate: The plate.
        links: What stands on it.
        physics_step: Time between two physics steps [s].

    Attributes:
        info: What a controller is told of it.
        filters: Whether :meth:`step` must be called after every physics step.
        needs_accelerations: Whether the links must compute accelerations before :meth:`read`.
    """

    def __init__(self, plate: Plate, links: Links, physics_step: float) -> None:
        """Share the links' arrays."""
        self._plate, self._links = plate, links
        self._stiffness = None if plate.stiffness is None else np.asarray(plate.stiffness)
        T_base_sensor = np.asarray(plate.T_base_sensor)
        self._to_base = wrench_transform(T_base_sensor)
        self._to_sensor = wrench_transform(inverse_transform(T_base_sensor))
        self.info = PlateInfo(plate.reads, frozen(T_base_sensor), frozen(plate.range))
        # The links state their reaction about a centre of mass that moves: it is filtered at the base's origin instead.
        self._at_base = np.zeros(6)
        self._raw = self._at_base if self._stiffness is None else links.deflection
        self._coefficients = butterworth(plate.cutoff, physics_step)
        self.filters = bool(self._coefficients[0] != 1.0)
        self.needs_accelerations = self._stiffness is None and not self.filters
        self._filtered, self._memory = np.zeros(6), np.zeros((2, 6))
        self._low_pass = LowPass(self._coefficients, self._raw, self._filtered, self._memory)
        self._sensor: PlateSensor
        self._tare = np.zeros(6)

    def begin(self, gravity_base: Array, dt: float, random: np.random.Generator) -> None:
        """Begin again with a settled filter: the links have been where they are for ever.

        Args:
            gravity_base: Gravity in the base frame [m/s²], shape (3,).
            dt: Time between two readings [s].
            random: Source of the noise.
        """
        self._sensor = PlateSensor(self._plate, dt, random)
        self._tare = self._weight_of_top(gravity_base)
        self._follow_reaction()
        self._memory[:] = settled_state(self._coefficients, self._raw)
        self._filtered[:] = self._raw

    def step(self) -> None:
        """Feed the filter after a physics step."""
        self._follow_reaction()
        self._low_pass.step()

    def true_wrench(self) -> Array:
        """Return what the plate exerts on the robot, force first, base axes, at the base origin, shape (6,).

        A rigid plate's belongs to the accelerations that the links computed last.
        """
        self._follow_reaction()
        return np.asarray(self._to_base @ self._on_sensor(self._raw))

    def read(self) -> tuple[Array, bool]:
        """Return the reading, shape (6,), and whether it is saturated; :meth:`begin` comes first.

        A rigid plate without a filter is read from the accelerations that the links computed last.
        """
        if self.needs_accelerations:
            self._follow_reaction()
        return self._sensor.read(self._on_sensor(self._filtered if self.filters else self._raw))

    def _follow_reaction(self) -> None:
        """Take over the wrench between ground and base; a compliant plate's deflection is shared already."""
        if self._stiffness is None:
            self._at_base[:] = self._links.base_wrench()

    def _on_sensor(self, raw: Array) -> Array:
        """Return the wrench on the robot at the sensor, from deflections or from the reaction at the base's origin."""
        if self._stiffness is None:
            return np.asarray(self._to_sensor @ raw)
        return np.asarray(-self._stiffness * raw - self._tare)

    def _weight_of_top(self, gravity_base: Array) -> Array:
        """Return what carries the plate's own upper half; a plate zeroed before the robot was bolted on hides it."""
        force = -self._plate.top_mass * np.asarray(self._plate.T_base_sensor)[:3, :3].T @ gravity_base
        return np.concatenate([force, np.cross(np.asarray(self._plate.top_com), force)])
