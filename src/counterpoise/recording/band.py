"""How fast a recorded motion is, and where to cut noise off: chosen from the recording itself.

Rule. Let f_m be the frequency below which BAND_SHARE of the velocity's power lies, up to MOST_MOTION, for the joint
that moves fastest in this sense, among those that really move (MOVING): an idle wrist that trembles does not decide.
Rigid-body torques hold products of velocities and sines of angles, and friction that changes sign makes a square wave:
its third and fifth harmonics still matter. So the cutoff is HARMONICS · f_m, between LEAST and MOST, and never above
MOST_OF_RATE of the sampling rate.

Measured positions carry noise that differentiation raises with the frequency. Its level is read from the upper half of
the band, where no arm moves, and its share is taken off the velocity's spectrum before f_m is looked for.

A measured velocity is one differentiation nearer to the acceleration. It is used for a joint when the acceleration that
comes of it has the lower noise, and only when it agrees with the positions: a drive's velocity may be delayed, filtered
or of another sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..foundation import Array, frozen
from .filters import bridged, even_grid, interpolated, smoothed
from .log import Log

LEAST_ROWS = 32
BAND_SHARE = 0.99
HARMONICS = 5.0
MOST_OF_RATE = 0.2
MOST_MOTION = 10.0
"""Highest frequency at which an arm moves [Hz]; what is faster is noise, whatever its colour."""
LEAST, MOST = 1.0, 12.0
"""Lowest and highest cutoff that is chosen [Hz]: below, a slow path's reversals are smeared; above, accelerations are
noise and elasticity more than motion."""
MOVING = 0.1
"""A joint whose velocity is at least this share of the fastest one's (root mean square) decides about the cutoff."""
STANDING = 1e-3
"""A joint whose velocity is below this share of the fastest one's (root mean square) does not move."""
AGREES_WITHIN = 0.05
"""A measured velocity may differ from that of the positions by this share of its root mean square, and by noise."""


@dataclass(frozen=True, slots=True, eq=False)
class MotionBand:
    """What the spectrum of a recording says.

    Attributes:
        frequency: f_m of each joint [Hz], shape (n,); NaN for a joint that does not move.
        velocity_noise: Standard deviation that noise leaves in the filtered velocity [rad/s or m/s], shape (n,).
        velocity_measured: Whether the measured velocity is the better one, shape (n,).
        rate: Samples per second [Hz].
        cutoff: The chosen cutoff [Hz].
    """

    frequency: Array
    velocity_noise: Array
    velocity_measured: npt.NDArray[np.bool_]
    rate: float
    cutoff: float


def motion_band(log: Log, cutoff: float | None = None) -> MotionBand:
    """Choose the cutoff of a recording, and which velocities to use.

    Args:
        log: The recording, positions and efforts as they came.
        cutoff: The cutoff [Hz], when it is given; None to choose it.

    Raises:
        InputError: Too short to see a spectrum, nothing moves, or a cutoff that does not fit the rate.
    """
    log = log.ordered()
    if len(log) < LEAST_ROWS:
        raise InputError(f"the recording has {len(log)} samples; expected at least {LEAST_ROWS} to see how fast it is")
    rate = log.rate
    grid = even_grid(log.time, rate)
    frequencies, power = _spectrum(interpolated(grid, log.time, bridged(log.time, log.q)), rate)
    noise = _noise_density(frequencies, power, rate)
    velocity = np.maximum(power - noise, 0.0) * (2.0 * np.pi * frequencies)[:, None] ** 2
    # Noise scatters, and the counts of an encoder come in lumps: below their highest peak nothing is surely motion.
    velocity[power <= power[_without_motion(frequencies, rate)].max(axis=0)] = 0.0
    total = velocity.sum(axis=0)
    if not total.max(initial=0.0) > 0.0:
        raise InputError("no joint moves in this recording; expected motion. Poses at rest are fitted as static poses")
    velocity[frequencies > MOST_MOTION] = 0.0
    total = np.where(velocity.sum(axis=0) > 0.0, velocity.sum(axis=0), total)
    moving = np.sqrt(total) > STANDING * np.sqrt(total.max())
    reached = np.cumsum(velocity, axis=0) >= BAND_SHARE * total
    frequency = np.where(moving, frequencies[np.argmax(reached, axis=0)], np.nan)
    deciding = np.where(np.sqrt(total) >= MOVING * np.sqrt(total.max()), frequency, np.nan)
    wanted = float(np.clip(HARMONICS * np.nanmax(deciding), LEAST, MOST))
    chosen = min(wanted, MOST_OF_RATE * rate) if cutoff is None else cutoff
    if not 0.0 < chosen <= 0.5 * rate:
        raise InputError(f"cutoff is {chosen!r} Hz; expected more than 0 and at most half the rate of {rate:g} Hz")
    from_position = 2.0 * np.pi * np.sqrt(noise * chosen**3 / 3.0)
    measured, own_noise = _measured_velocity(log, grid, rate, chosen, noise)
    return MotionBand(
        frequency=frozen(frequency),
        velocity_noise=frozen(np.where(measured, own_noise, from_position)),
        velocity_measured=measured,
        rate=rate,
        cutoff=chosen,
    )


def _measured_velocity(
    log: Log, grid: Array, rate: float, cutoff: float, position_noise: Array
) -> tuple[npt.NDArray[np.bool_], Array]:
    """Say for which joints the measured velocity serves better, and its noise after the filter, shapes (n,).

    With noise densities S_q and S_v, the acceleration's variance is ∫ (2πf)⁴ S_q df from positions and ∫ (2πf)² S_v df
    from velocities.
    """
    n = len(log.joint_names)
    if log.declared.velocity_from == "position" or not np.isfinite(log.dq).any():
        return np.zeros(n, dtype=bool), np.zeros(n)
    frequencies, power = _spectrum(interpolated(grid, log.time, bridged(log.time, log.dq)), rate)
    noise = _noise_density(frequencies, power, rate)
    quieter = noise / 3.0 < (2.0 * np.pi * cutoff) ** 2 * position_noise / 5.0
    mine = smoothed(log.time, log.q, cutoff, derivative=1)
    theirs = smoothed(log.time, log.dq, cutoff)
    apart, size = (np.sqrt(np.nanmean(values**2, axis=0)) for values in (theirs - mine, mine))
    expected = np.sqrt(noise * cutoff + (2.0 * np.pi) ** 2 * position_noise * cutoff**3 / 3.0)
    return quieter & (apart <= AGREES_WITHIN * size + 3.0 * expected) & (size > 0.0), np.sqrt(noise * cutoff)


def _noise_density(frequencies: Array, power: Array, rate: float) -> Array:
    """Return the density of white noise [unit²/Hz], shape (n,): the upper half of the band, where no arm moves."""
    found: Array = np.median(power[_without_motion(frequencies, rate)], axis=0) / math.log(2.0)  # mean from median
    return found


def _without_motion(frequencies: Array, rate: float) -> npt.NDArray[np.bool_]:
    """Say which frequencies are in the upper half of the band, where no arm moves, shape (m,)."""
    return frequencies > 0.25 * rate


def _spectrum(channels: Array, rate: float) -> tuple[Array, Array]:
    """Return frequencies [Hz], shape (m,), and one-sided power densities [unit²/Hz] under a Hann window, (m, n).

    The straight line between the ends is set aside first: it would look like fast motion.
    """
    k = len(channels)
    line = channels[0] + np.linspace(0.0, 1.0, k)[:, None] * (channels[-1] - channels[0])
    window = np.hanning(k)[:, None]
    wave = np.fft.rfft((channels - line) * window, axis=0)
    power: Array = 2.0 * np.abs(wave) ** 2 / (rate * float(np.sum(window**2)))
    return np.asarray(np.fft.rfftfreq(k, 1.0 / rate), dtype=np.float64), power
