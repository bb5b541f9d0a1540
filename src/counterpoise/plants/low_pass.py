"""A second-order Butterworth low-pass for several channels, as a plate's signal conditioner has one."""

from __future__ import annotations

import math

import numpy as np

from ..description.frozen import Array
from ..errors import InputError


def butterworth(cutoff: float, dt: float) -> Array:
    """Return (b0, b1, b2, a1, a2) of the bilinear transform with the cut-off kept in place; (1, 0, 0, 0, 0) for none.

    Args:
        cutoff: −3 dB frequency [Hz]; inf for no filter.
        dt: Time between two inputs [s].

    Raises:
        InputError: The cut-off is not below half the input rate.
    """
    if math.isinf(cutoff):
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    if not 0.0 < cutoff < 0.5 / dt:
        raise InputError(f"cutoff is {cutoff} Hz; expected less than half of the physics rate, {0.5 / dt:g} Hz")
    k = math.tan(math.pi * cutoff * dt)
    norm = 1.0 / (1.0 + math.sqrt(2.0) * k + k * k)
    b0 = k * k * norm
    return np.array([b0, 2.0 * b0, b0, 2.0 * (k * k - 1.0) * norm, (1.0 - math.sqrt(2.0) * k + k * k) * norm])


def settled_state(coefficients: Array, value: Array) -> Array:
    """Return the filter's memory, shape (2, m), after ``value``, shape (m,), has been its input for ever."""
    b0, b1, b2, a1, a2 = coefficients
    gain = (b0 + b1 + b2) / (1.0 + a1 + a2)
    second = (b2 - a2 * gain) * value
    return np.array([(b1 - a1 * gain) * value + second, second])


class ReferenceLowPass:
    """The filter, direct form II transposed, on arrays that the maker shares.

    Args:
        coefficients: (b0, b1, b2, a1, a2).
        input: Present input, shape (m,).
        output: Receives the output, shape (m,).
        state: Memory, shape (2, m); changed in place.
    """

    def __init__(self, coefficients: Array, input: Array, output: Array, state: Array) -> None:
        """Take the shared arrays."""
        self._b0, self._b1, self._b2, self._a1, self._a2 = coefficients.tolist()
        self._input, self._output, self._state = input, output, state

    def step(self) -> None:
        """Filter the present input into the output."""
        self._output[:] = self._b0 * self._input + self._state[0]
        self._state[0] = self._b1 * self._input - self._a1 * self._output + self._state[1]
        self._state[1] = self._b2 * self._input - self._a2 * self._output
