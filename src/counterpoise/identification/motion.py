r"""From a recording of a moving arm to samples for a fit: the cutoff, the filtered motion, friction's speed.

How fast a recorded motion is, and where to cut noise off: chosen from the recording itself.

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

The speed v₀ over which friction changes its sign, chosen from the data.

The effort of a joint is compared with

.. math:: e = s\,Y\phi + o + F_c\,d_{v_0} + F_v \dot q + J \ddot q

for several v₀, where d is tanh(u/v₀) after the low-pass of the efforts and φ may be off the description as far as
descriptions are (prior.py). All of them have the same number of unknowns, so the log likelihood decides:
−(N/2) log(residual sum of squares), N the number of independent samples. A joint keeps the smallest v₀ unless another
one is TOLD better: friction builds up over a distance in real gears, and tanh is the nearest that a fit has for that.

From a recording of a moving arm to samples for a fit.

Positions and efforts go through the same zero-phase low-pass (recording/filters.py). Velocities and accelerations are
the derivatives of the filtered positions, or the measured velocity and its derivative where that is the better source
(cutoff.py). What lies within EDGE_PERIODS of a begin, an end or a gap is cut off, and of what remains so many samples
are kept as the cutoff needs; more would repeat themselves.

Friction changes sign over v₀. The least v₀ is the larger of NOISE_SPEEDS times the noise of the filtered velocity and
SLOW_SHARE of the speed that a joint exceeds in 5 % of the samples: below the first the sign is noise, below the second
a drive is in its presliding and Stribeck range, where no two-parameter friction law holds. Where one of SPEED_FACTORS
times that explains the efforts better, it is taken instead (friction_speed.py). tanh(u/v₀) is a square wave, wider in
band than the cutoff, so it goes through the same low-pass as the efforts do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, refuse_other_joints
from ..errors import InputError
from ..fitting import COMMON, WIDE, Samples, covariance_root, parameter_covariance, scaled_coupling
from ..foundation import Array, frozen
from ..recording import GAP_PERIODS, Log, bridged, even_grid, interpolated, joined, settling_rows, smoothed
from .identity import refuse_other_mount

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


TOLD = 5.0
"""Log likelihood by which a larger v₀ must be better, odds of 150 to 1."""
MOST_ROWS = 1500
"""Samples that it is judged by, at most."""
LEAST_SAMPLES = 50
ROUNDS = 4
"""Rounds in which noise and unknowns are found."""


def likeliest_speeds(
    robot: Robot, samples: Samples, directions: Sequence[Array], *, together: float, torques: bool
) -> npt.NDArray[np.int64]:
    """Return which of several v₀ suits each actuator's friction best, shape (n,).

    Args:
        robot: The robot as described; one without masses keeps the first v₀.
        samples: Of a motion, k of them.
        directions: For every v₀, smallest first, the low-passed sign of friction at the samples, shape (k, n).
        together: Samples that count as one.
        torques: Whether efforts are torques; otherwise they are scaled to the description's.
    """
    chosen = np.zeros(robot.n, dtype=np.int64)
    if len(samples) < LEAST_SAMPLES or not robot.tree.mass.any():
        return chosen
    rows = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), MOST_ROWS)).round().astype(np.int64))
    picked = samples[rows]
    described = robot.inertial_parameters[10:]
    root = covariance_root(parameter_covariance(robot, 10) + COMMON**2 * np.outer(described, described))
    matrix = samples.motor_per_link
    coupling = np.eye(robot.n) if matrix is None else scaled_coupling(matrix)
    speed, change = picked.dq @ coupling.T, picked.ddq @ coupling.T
    count = len(samples) / together
    regressor = robot.inertial_regressor(picked.q, picked.dq, picked.ddq)
    for joint in np.flatnonzero(samples.active).tolist():
        effort = picked.tau[:, joint]
        known = np.isfinite(effort)
        if known.sum() < LEAST_SAMPLES or not np.std(effort[known]) > 0.0:
            continue
        y, model = effort[known], regressor[known, joint] @ described
        scale = 1.0 if torques or not np.std(model) > 0.0 else float(np.std(y) / np.std(model))
        bodies = np.column_stack([scale * (regressor[known, joint] @ root), _wide(model[:, None], y)])
        drives = [at for at in range(robot.n) if coupling[at, joint] != 0.0]
        fixed = [np.ones((len(y), 1)), speed[known][:, drives], change[known][:, drives]]
        first = directions[0][rows][known]
        residuals = []
        for one in directions:
            direction = first[:, drives].copy()
            if joint in drives:
                direction[:, drives.index(joint)] = one[rows][known, joint]
            own = _wide(np.column_stack([*fixed, direction]), y)
            residuals.append(_residual(np.column_stack([bodies, own]), y, len(y) / count))
        gained = 0.5 * count * np.log(residuals[0] / np.array(residuals))
        best = int(np.argmax(gained))
        chosen[joint] = best if gained[best] > TOLD else 0
    return chosen


def _wide(columns: Array, y: Array) -> Array:
    """Return columns so scaled that an unknown of size 1 makes up WIDE times the effort."""
    size = np.max(np.abs(columns), axis=0)
    return np.asarray(columns * (WIDE * np.max(np.abs(y)) / np.where(size > 0.0, size, np.inf)))


def _residual(columns: Array, y: Array, together: float) -> float:
    """Return the mean square that unknowns of standard deviation 1 leave of y."""
    normal, pull, power = columns.T @ columns, columns.T @ y, float(y @ y)
    together = max(together, 1.0)
    square = float(np.var(y))
    # By eigenvalues: of exact data the weight is so large that columns that depend on each other would leave nothing.
    values, vectors = np.linalg.eigh(normal)
    values, turned = np.maximum(values, 0.0), vectors.T @ pull
    for _ in range(ROUNDS):
        weight = 1.0 / (together * max(square, 1e-12 * power / len(y)))
        x = vectors @ (weight * turned / (weight * values + 1.0))
        square = max((power - 2.0 * float(x @ pull) + float(x @ normal @ x)) / len(y), 1e-12 * power / len(y))
    return square


EDGE_PERIODS = 2.0
"""Periods of the cutoff that are cut off at both ends, where the filter sees a continuation that was never measured; of
that it has forgotten 99 % after two periods (its slowest poles decay with 0.38 · 2π f_c)."""
KEPT_PER_PERIOD = 8.0
"""Samples kept per period of the cutoff."""
LEAST_INFLATION = 0.5 * KEPT_PER_PERIOD
"""Least number of them that count as one: a low-passed channel has no more than two independent values per period."""
NOISE_SPEEDS = 3.0
SLOW_SHARE = 0.03
LEAST_SPEED = 1e-6
"""Smallest v₀ [rad/s or m/s], for a joint that never moves in a recording without noise."""
SPEED_FACTORS = (1.0, 1.6, 2.5, 4.0)
"""Multiples of the least v₀ that are compared."""
LONGEST = 200_000
"""Rows, from the begin of a recording on, by which they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """How a recording is filtered: found from the whole of it, or from its beginning when it is streamed.

    Attributes:
        cutoff: Of the low-pass [Hz].
        v0: Speed over which friction changes its sign, per actuator [rad/s or m/s], shape (n,).
        keep_every: One in so many samples is kept.
        rate: Samples per second [Hz].
        velocity_measured: Whether the measured velocity is used, per joint, shape (n,).
    """

    cutoff: float
    v0: Array
    keep_every: int
    rate: float
    velocity_measured: npt.NDArray[np.bool_]


def prepare(robot: Robot, log: Log, *, cutoff: float | None = None, likeliest: bool = True) -> Preparation:
    """Choose cutoff, v₀ and thinning from a recording.

    Args:
        robot: The robot it is of.
        log: The recording, or a typical part of one.
        cutoff: Of the low-pass [Hz]; None to choose it (cutoff.py).
        likeliest: Whether v₀ is the one that explains the efforts best; otherwise it is the least one.

    Raises:
        InputError: The log is another robot's, or cannot be used for a fit.
    """
    effort = effort_of(robot, log)
    band = motion_band(log, cutoff)
    log = replace(log, tau=effort)
    log = log.ordered()
    coupling = _coupling(log)
    speed = np.abs(_velocity(log, band.cutoff, band.velocity_measured) @ coupling.T)
    noise = np.sqrt(coupling**2 @ band.velocity_noise**2)
    fast = np.nanpercentile(speed, 95.0, axis=0)
    v0 = np.maximum(np.maximum(NOISE_SPEEDS * noise, SLOW_SHARE * fast), LEAST_SPEED)
    keep_every = max(1, math.floor(band.rate / (KEPT_PER_PERIOD * band.cutoff)))
    least = Preparation(band.cutoff, v0, keep_every, band.rate, band.velocity_measured)
    return replace(least, v0=_likeliest(robot, log[:LONGEST], least)) if likeliest else least


def _likeliest(robot: Robot, log: Log, least: Preparation) -> Array:
    """Return the v₀ that explain the efforts of a recording best, shape (n,)."""
    samples = _filtered(log, least, *_inside(log.time, least.cutoff))
    kept = np.searchsorted(log.time, samples.time)
    speed = _velocity(log, least.cutoff, least.velocity_measured) @ _coupling(log).T
    directions = [_direction(log, speed, factor * least.v0, least.cutoff)[kept] for factor in SPEED_FACTORS]
    torques = not log.declared.effort_is_command
    chosen = likeliest_speeds(robot, samples, directions, together=LEAST_INFLATION, torques=torques)
    return np.asarray(least.v0 * np.array(SPEED_FACTORS)[chosen])


def moving_samples(
    robot: Robot,
    log: Log,
    *,
    cutoff: float | None = None,
    preparation: Preparation | None = None,
) -> Samples:
    """Return the samples of a recording.

    Args:
        robot: The robot it is of.
        log: The recording in the robot's joint order.
        cutoff: Of the low-pass [Hz]; None to choose it.
        preparation: How to filter, when that was settled before.

    Raises:
        InputError: The log is another robot's, cannot be used for a fit, or is shorter than the filter's edges.
    """
    chosen = preparation if preparation is not None else prepare(robot, log, cutoff=cutoff)
    tau = effort_of(robot, log)
    log = replace(log, tau=tau).ordered()
    samples = _filtered(log, chosen, *_inside(log.time, chosen.cutoff))
    if len(samples) == 0:
        raise InputError(
            f"nothing is left of the recording of {log.time[-1] - log.time[0]:.3g} s once {EDGE_PERIODS:g} periods of "
            f"the {chosen.cutoff:.3g} Hz low-pass are cut off both ends; record longer, or give a higher cutoff"
        )
    return samples


def stream_samples(robot: Robot, logs: Iterable[Log], *, preparation: Preparation | None = None) -> Iterator[Samples]:
    """Yield the samples of a recording that comes in consecutive pieces, in constant memory.

    Neighbouring pieces overlap for the filter, so the samples are those of the whole recording to the filter's 1e-6.

    Args:
        robot: The robot it is of.
        logs: The pieces in order, as stream_log gives them.
        preparation: How to filter; None to choose from the first piece.

    Raises:
        InputError: A piece cannot be used.
    """
    held: Log | None = None
    chosen = preparation
    used = -math.inf
    started = False
    for piece in logs:
        chosen = prepare(robot, piece) if chosen is None else chosen
        ready = replace(piece, tau=effort_of(robot, piece))
        held = ready if held is None else joined([held, ready])
        overlap = settling_rows(chosen.rate, chosen.cutoff)
        if len(held) <= 3 * overlap:
            continue
        first, last = _inside(held.time, chosen.cutoff, begins=not started, ends=False)
        last = last & (np.arange(len(held)) < len(held) - overlap)
        samples = _filtered(held, chosen, first & (held.time > used), last)
        if len(samples):
            started = True
            used = float(held.time[len(held) - overlap - 1])
            yield samples
        held = held[len(held) - 2 * overlap :]
    if held is not None and chosen is not None:
        first, last = _inside(held.time, chosen.cutoff, begins=not started, ends=True)
        samples = _filtered(held, chosen, first & (held.time > used), last)
        if len(samples):
            yield samples


def effort_of(robot: Robot, log: Log) -> Array:
    """Return the log's efforts at the link side, as torques where its constants are declared, shape (k, n).

    Raises:
        InputError: The joints are another robot's, motor-side values lack their gears, the arm's own controller kept
            the weight out of the recorded effort, or the log was made under another mounting.
    """
    declared = log.declared
    refuse_other_joints(log.joint_names, robot, "log")
    if declared.position_side == "motor":
        raise InputError("the log's positions are on the motor's side; give its mapping the gears (motor_per_link)")
    if declared.adds_gravity:
        raise InputError(
            "the log's controller added gravity itself (adds_gravity), so its efforts lack the weight that is to be "
            "calibrated; record the total torque"
        )
    if declared.gravity_base is not None:
        refuse_other_mount(robot, declared.gravity_base)
    tau = np.array(log.tau)
    if declared.effort_kind == "current" and declared.torque_constant is not None:
        tau = tau * declared.torque_constant
    if declared.effort_side == "motor":
        if declared.motor_per_link is None:
            raise InputError("the log's efforts are on the motor's side; give its mapping the gears (motor_per_link)")
        tau = tau @ declared.motor_per_link
    if not np.isfinite(tau).any():
        raise InputError("the log has no measured effort; there is nothing to fit")
    return tau


def _coupling(log: Log) -> Array:
    matrix = log.declared.motor_per_link
    return np.eye(len(log.joint_names)) if matrix is None else scaled_coupling(matrix)


def _is_coupled(matrix: Array | None) -> bool:
    return matrix is not None and bool(np.any(matrix - np.diag(np.diag(matrix))))


def _inside(
    time: Array, cutoff: float, *, begins: bool = True, ends: bool = True
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Say which samples lie far enough after the last begin or gap, and before the next gap or end, shapes (k,)."""
    steps = np.diff(time)
    period = float(np.median(steps)) if len(steps) else math.inf
    gaps = np.flatnonzero(steps > GAP_PERIODS * period)
    starts = np.concatenate([[time[0] if begins else -math.inf], time[gaps + 1]])
    stops = np.concatenate([time[gaps], [time[-1] if ends else math.inf]])
    segment = np.searchsorted(time[gaps], time, side="left")
    edge = EDGE_PERIODS / cutoff
    return time - starts[segment] >= edge, stops[segment] - time >= edge


def _filtered(log: Log, chosen: Preparation, after: npt.NDArray[np.bool_], before: npt.NDArray[np.bool_]) -> Samples:
    """Filter, differentiate, cut the edges and thin."""
    q = smoothed(log.time, log.q, chosen.cutoff)
    dq, ddq = (_velocity(log, chosen.cutoff, chosen.velocity_measured, derivative) for derivative in (0, 1))
    tau = smoothed(log.time, log.tau, chosen.cutoff)
    direction = _direction(log, dq @ _coupling(log).T, chosen.v0, chosen.cutoff)
    # Thinned on the clock, not by counting: pieces of a stream then keep the samples that the whole would.
    tick = np.floor(log.time * chosen.rate / chosen.keep_every + 1e-6)
    fresh = np.concatenate([[True], np.diff(tick) > 0.0])
    finite = np.isfinite(q).all(axis=1) & np.isfinite(dq).all(axis=1) & np.isfinite(ddq).all(axis=1)
    kept = after & before & finite & fresh & np.isfinite(tau).any(axis=1)
    matrix = log.declared.motor_per_link
    return Samples(
        joint_names=log.joint_names,
        time=log.time[kept],
        q=q[kept],
        dq=dq[kept],
        ddq=ddq[kept],
        tau=tau[kept],
        v0=chosen.v0,
        direction=direction[kept],
        motor_per_link=matrix if _is_coupled(matrix) else None,
        rate=chosen.rate,
        cutoff=chosen.cutoff,
    )


def _direction(log: Log, speed: Array, v0: Array, cutoff: float) -> Array:
    """Return the low-passed sign of every actuator's friction, shape (k, n)."""
    return smoothed(log.time, np.tanh(speed / v0), cutoff)


def _velocity(log: Log, cutoff: float, measured: npt.NDArray[np.bool_], derivative: int = 0) -> Array:
    """Return the filtered velocity or its derivative, from the better source of each joint, shape (k, n)."""
    values = smoothed(log.time, log.q, cutoff, derivative=derivative + 1)
    if measured.any():
        values[:, measured] = smoothed(log.time, log.dq[:, measured], cutoff, derivative=derivative)
    return values
