"""Telling a signal that swings by itself from noise, and a step's answer that rings from one that settles."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...description.frozen import Array

PURE = 0.7
"""Share of a swing's power that lies within three lines of the strongest one: above it, a tone; below it, noise."""
LASTING = 0.7
"""How much of its size from one window to the next a swing keeps that does not decay."""
SHOWN = 0.25
"""Size, as a share of a step, below which the rest of its answer is friction's."""

LEAST_CROSSINGS = 4
"""Times that an answer to a step passes its mean in two thirds of the time, at least, to count as ringing."""


class Swing(NamedTuple):
    """The strongest tone of a signal.

    Attributes:
        amplitude: √2 times the signal's rms without its slow part, in the signal's unit.
        frequency: Of the strongest line [Hz].
        purity: Share of the power within three lines of it, 0 to 1.
    """

    amplitude: float
    frequency: float
    purity: float


NO_SWING = Swing(0.0, 0.0, 0.0)


def swing(signal: Array, dt: float, slowest: float = 0.0) -> Swing:
    """Return the strongest tone of a signal, with a parabola taken off it.

    Args:
        signal: Samples, shape (k,).
        dt: Time between two of them [s].
        slowest: Frequency below which nothing is looked at [Hz].
    """
    k = len(signal)
    if k < 16:
        return NO_SWING
    place = np.linspace(-1.0, 1.0, k)
    rest = signal - np.polynomial.polynomial.polyval(place, np.polynomial.polynomial.polyfit(place, signal, 2))
    power = np.abs(np.fft.rfft(rest * np.hanning(k))) ** 2
    frequency = np.fft.rfftfreq(k, dt)
    power[frequency < max(slowest, frequency[1])] = 0.0
    total = float(power.sum())
    if total <= 0.0:
        return NO_SWING
    # Of white power the window keeps 3/8; the spectrum is one-sided.
    amplitude = float(np.sqrt(4.0 * total / (0.375 * k * k)))
    line = int(np.argmax(power))
    near = float(power[max(0, line - 3) : line + 4].sum())
    return Swing(amplitude, float(frequency[line]), near / total)


def sustained(windows: list[Swing], least: float) -> Swing:
    """Return the swing of consecutive windows if it is a tone of at least this amplitude that does not decay.

    Args:
        windows: Swings of windows that follow each other.
        least: Smallest amplitude that counts, in the signal's unit.

    Returns:
        The last window's swing, or NO_SWING.
    """
    if not windows or any(each.amplitude < least or each.purity < PURE for each in windows):
        return NO_SWING
    decays = any(b.amplitude < LASTING * a.amplitude for a, b in pairwise(windows))
    return NO_SWING if decays else windows[-1]


def rings(error: Array, step: float, dt: float) -> Swing:
    """Return how the answer to a step rings if it does not settle, else NO_SWING.

    The time after the step is cut in three. The last third's peak-to-peak is compared with that of the middle one.

    Args:
        error: Reference minus position after the step [rad or m], shape (k,).
        step: Its height [rad or m].
        dt: Time between two samples [s].
    """
    third = len(error) // 3
    if third < 8:
        return NO_SWING
    middle, last = error[third : 2 * third], error[2 * third :]
    size = float(np.ptp(last))
    if size < SHOWN * abs(step) or size < LASTING * float(np.ptp(middle)):
        return NO_SWING
    # Ringing of a position loop is slow: its crossings of the mean are counted over both windows.
    both = error[third:]
    above = both > both.mean()
    crossings = int(np.count_nonzero(above[1:] != above[:-1]))
    if crossings < LEAST_CROSSINGS:  # an integral that is slow to break friction creeps; it does not ring
        return NO_SWING
    return Swing(0.5 * size, 0.5 * crossings / (len(both) * dt), 1.0)
