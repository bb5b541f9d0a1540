"""Samples of a moving arm for a fit: the motion of a recording, thinned, with efforts at the links and friction's sign.

The motion is that of :meth:`.Motion.at_samples`: one zero-phase low-pass for positions and efforts, its cutoff and the
sources of the velocities chosen from the recording. Of what is usable so many samples are kept as the cutoff needs;
more would repeat themselves.

Friction changes sign over v₀. The least v₀ is the larger of NOISE_SPEEDS times the noise of the filtered velocity and
SLOW_SHARE of the speed that a joint exceeds in 5 % of the samples: below the first the sign is noise, below the second
a drive is in its presliding and Stribeck range, where no two-parameter friction law holds. Where one of SPEED_FACTORS
times that explains the efforts better, it is taken instead (friction_speed.py). tanh(u/v₀) is a square wave, wider in
band than the cutoff, so it goes through the same low-pass as the efforts do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, refuse_other_joints
from ..errors import InputError
from ..fitting import Samples, scaled_coupling
from ..foundation import Array
from ..recording import EDGE_PERIODS, Log, Motion, MotionBand, motion_band
from .friction_speed import likeliest_speeds
from .identity import refuse_other_mount

KEPT_PER_PERIOD = 8.0
"""Samples kept per period of the cutoff."""
LEAST_AUTOCORRELATION_TIME = 0.5 * KEPT_PER_PERIOD
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
    """How samples are made: found from the whole of a recording, or from its beginning when it is streamed.

    Attributes:
        band: Cutoff, rate and sources of the velocities.
        v0: Speed over which friction changes its sign, per actuator [rad/s or m/s], shape (n,).
    """

    band: MotionBand
    v0: Array


def prepare(robot: Robot, log: Log, *, cutoff: float | None = None, likeliest: bool = True) -> Preparation:
    """Choose cutoff, velocities and v₀ from a recording.

    Args:
        robot: The robot it is of.
        log: The recording, or a typical part of one.
        cutoff: Of the low-pass [Hz]; None to choose it (recording/band.py).
        likeliest: Whether v₀ is the one that explains the efforts best; otherwise it is the least one.

    Raises:
        InputError: The log is another robot's, or cannot be used for a fit.
    """
    log = _with_link_efforts(robot, log)
    band = motion_band(log, cutoff)
    motion = _motion(log, band)
    coupling = _coupling(log)
    noise = np.sqrt(coupling**2 @ band.velocity_noise**2)
    fast = np.nanpercentile(np.abs(motion.dq @ coupling.T), 95.0, axis=0)
    v0 = np.maximum(np.maximum(NOISE_SPEEDS * noise, SLOW_SHARE * fast), LEAST_SPEED)
    if likeliest:
        first = motion if len(motion) <= LONGEST else _motion(motion.log[:LONGEST], band)
        v0 = _likeliest(robot, first, v0)
    return Preparation(band, v0)


def _likeliest(robot: Robot, motion: Motion, least: Array) -> Array:
    """Return the v₀ that explain the efforts of a motion best, shape (n,)."""
    kept = _kept(motion)
    samples = _samples(motion, least, kept)
    directions = [_friction_direction(motion, factor * least)[kept] for factor in SPEED_FACTORS]
    torques = not motion.log.declared.effort_is_command
    chosen = likeliest_speeds(robot, samples, directions, together=LEAST_AUTOCORRELATION_TIME, torques=torques)
    return np.asarray(least * np.array(SPEED_FACTORS)[chosen])


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
        preparation: How to make them, when that was settled before.

    Raises:
        InputError: The log is another robot's, cannot be used for a fit, or is shorter than the filter's edges.
    """
    chosen = preparation if preparation is not None else prepare(robot, log, cutoff=cutoff)
    return samples_of(motion_of(robot, log, chosen), chosen.v0)


def motion_of(robot: Robot, log: Log, preparation: Preparation) -> Motion:
    """Return the motion that samples are taken from, with efforts at the links.

    Args:
        robot: The robot it is of.
        log: The recording in the robot's joint order.
        preparation: How to filter.

    Raises:
        InputError: The log is another robot's, or cannot be used for a fit.
    """
    return _motion(_with_link_efforts(robot, log), preparation.band)


def samples_of(motion: Motion, v0: Array) -> Samples:
    """Return the samples of a motion that are kept for a fit.

    Args:
        motion: The motion, with efforts at the links.
        v0: Speed over which friction changes its sign, per actuator [rad/s or m/s], shape (n,).

    Raises:
        InputError: There are none.
    """
    kept = _kept(motion)
    if not kept.any():
        raise InputError(
            f"nothing is left of the recording of {motion.time[-1] - motion.time[0]:.3g} s once {EDGE_PERIODS:g} "
            f"periods of the {motion.cutoff:.3g} Hz low-pass are cut off both ends; record longer, or give a higher "
            "cutoff"
        )
    return _samples(motion, v0, kept)


def stream_samples(robot: Robot, logs: Iterable[Log], *, preparation: Preparation | None = None) -> Iterator[Samples]:
    """Yield the samples of a recording that comes in consecutive pieces, in constant memory.

    Neighbouring pieces overlap for the filter, so the samples are those of the whole recording to the filter's 1e-6.

    Args:
        robot: The robot it is of.
        logs: The pieces in order, as stream_log gives them.
        preparation: How to make them; None to choose from the first piece.

    Raises:
        InputError: A piece cannot be used.
    """
    pieces = iter(logs)
    if preparation is None:
        first = next(pieces, None)
        if first is None:
            return
        preparation, pieces = prepare(robot, first), chain((first,), pieces)
    band = preparation.band
    with_efforts = (_with_link_efforts(robot, piece) for piece in pieces)
    motions = Motion.stream(with_efforts, band.cutoff, velocity_measured=band.velocity_measured, rate=band.rate)
    for motion in motions:
        kept = _kept(motion)
        if kept.any():
            yield _samples(motion, preparation.v0, kept)


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


def _with_link_efforts(robot: Robot, log: Log) -> Log:
    """Return a log with efforts at the links and without a plate's readings, which no such fit needs."""
    return replace(log, tau=effort_of(robot, log), wrench=None)


def _motion(log: Log, band: MotionBand) -> Motion:
    return Motion.at_samples(log, band.cutoff, velocity_measured=band.velocity_measured, rate=band.rate)


def _kept(motion: Motion) -> npt.NDArray[np.bool_]:
    """Return which samples are kept for a fit, shape (k,)."""
    return np.asarray(motion.usable & motion.thinned(KEPT_PER_PERIOD) & np.isfinite(motion.tau).any(axis=1))


def _samples(motion: Motion, v0: Array, kept: npt.NDArray[np.bool_]) -> Samples:
    matrix = motion.log.declared.motor_per_link
    return Samples(
        joint_names=motion.log.joint_names,
        time=motion.time[kept],
        q=motion.q[kept],
        dq=motion.dq[kept],
        ddq=motion.ddq[kept],
        tau=motion.tau[kept],
        v0=v0,
        direction=_friction_direction(motion, v0)[kept],
        motor_per_link=matrix if _is_coupled(matrix) else None,
        rate=motion.rate,
        cutoff=motion.cutoff,
    )


def _friction_direction(motion: Motion, v0: Array) -> Array:
    """Return the low-passed sign of every actuator's friction, shape (k, n)."""
    return motion.filtered(np.tanh(motion.dq @ _coupling(motion.log).T / v0))


def _coupling(log: Log) -> Array:
    matrix = log.declared.motor_per_link
    return np.eye(len(log.joint_names)) if matrix is None else scaled_coupling(matrix)


def _is_coupled(matrix: Array | None) -> bool:
    return matrix is not None and bool(np.any(matrix - np.diag(np.diag(matrix))))
