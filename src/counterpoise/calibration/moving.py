"""From a recording of a moving arm to samples for a fit.

Positions and efforts go through the same zero-phase low-pass (logs/filters.py). Velocities and accelerations are the
derivatives of the filtered positions, or the measured velocity and its derivative where that is the better source
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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.inputs import refuse_other_joints
from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.filters import GAP_PERIODS, settling_rows, smoothed
from ..logs.log import Log, joined
from .cutoff import motion_band
from .friction_speed import likeliest_speeds
from .mount import refuse_other_mount
from .samples import Samples, scaled_coupling

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
