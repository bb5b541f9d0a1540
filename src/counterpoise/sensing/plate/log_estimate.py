"""Torques of a whole recording: the same estimate as on line, with accelerations without delay."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...dynamics import refuse_other_joints
from ...foundation import Array, PublishedData
from ...recording import Log, Motion, SampleFlag, smoothed
from .gravity_table import LinearTable
from .readings import plate_readings
from .sensor import BaseSensor
from .torque_estimate import UNUSABLE, EstimateFlag, OnlineSettings

CUTOFF = 10.0
"""Default cutoff of the velocities that accelerations are differentiated from [Hz]."""
ONLINE = OnlineSettings()
"""frozen_ticks identical readings in a row mean a frozen plate, where a joint moved by frozen_travel meanwhile ..."""
SLOW_RUNS = 3.0
"""... and so many times the usual run, of a plate that is slower than the recording."""


@dataclass(frozen=True, slots=True, eq=False)
class LogEstimate(PublishedData):
    """Torques of the n joints at the k samples of a log.

    Attributes:
        joint_names: Names of the joints.
        time: When [s], shape (k,).
        value: Torques [N m or N], shape (k, n); NaN where a sample cannot be used.
        std: Standard deviations, shape (k, n); infinite there.
        valid: Whether a row may be relied on, shape (k,), bool.
        flags: EstimateFlag bits, shape (k,).
        includes_gravity: False for τ_d; True for τ_d + g.
        form: The form that was computed.
    """

    joint_names: tuple[str, ...]
    time: Array
    value: Array
    std: Array
    valid: npt.NDArray[np.bool_]
    flags: npt.NDArray[np.int64]
    includes_gravity: bool
    form: str


def estimate_log(
    sensor: BaseSensor,
    log: Log,
    *,
    form: str = "auto",
    cutoff: float | None = CUTOFF,
    reading_cutoff: float | None = None,
    includes_gravity: bool = False,
    with_std: bool = True,
) -> LogEstimate:
    """Estimate the torques of a recording.

    Velocities are smoothed and differentiated without delay (recording/motion.py); readings are taken as they are,
    unless a cutoff is given for them. Samples are taken in the order of their times (Log.ordered).

    Args:
        sensor: The plate, tared where the form needs it.
        log: A recording of the sensor's robot, joints in its order, with the plate's raw readings.
        form: The form, as in joint_torques.
        cutoff: Cutoff of the velocities [Hz]; None for none.
        reading_cutoff: Cutoff of the plate's readings [Hz]; None for none. Flags are always those of the raw readings.
        includes_gravity: Add gravity(q): the torque at the joint instead of τ_d.
        with_std: Propagate standard deviations, some microseconds a sample; else they are NaN.

    Raises:
        InputError: The log has other joints or no plate, or the form is not ready.
        ModelError: A form that needs masses, of a robot without any.
    """
    refuse_other_joints(log.joint_names, sensor.robot, "log")
    motion = measured_motion(log, cutoff)
    readings = plate_readings(motion.log)
    if reading_cutoff is not None:
        readings = smoothed(motion.time, readings, reading_cutoff)
    return estimate_motion(sensor, motion, readings, form=form, includes_gravity=includes_gravity, with_std=with_std)


def measured_motion(log: Log, cutoff: float | None) -> Motion:
    """Return the motion of a log by its measured velocities.

    Args:
        log: The recording.
        cutoff: Cutoff of all channels [Hz]; None for none.
    """
    everywhere = np.ones(len(log.joint_names), dtype=bool)
    return Motion.at_samples(log, math.inf if cutoff is None else cutoff, velocity_measured=everywhere)


def estimate_motion(
    sensor: BaseSensor, motion: Motion, readings: Array, *, form: str, includes_gravity: bool = False, with_std: bool
) -> LogEstimate:
    """Estimate the torques along a motion.

    Args:
        sensor: The plate, tared where the form needs it.
        motion: Motion of the sensor's robot at the samples of a log with the plate's raw readings.
        readings: The readings to use [N, N m], shape (k, 6).
        form: The form, as in joint_torques.
        includes_gravity: Add gravity(q): the torque at the joint instead of τ_d.
        with_std: Propagate standard deviations; else they are NaN.
    """
    robot, log = sensor.robot, motion.log
    used = sensor.resolved_form(form)
    flags = raw_flags(sensor, log)
    able = (flags & int(EstimateFlag.WRENCH_INVALID | EstimateFlag.POSITION_INVALID)) == 0
    moves = used != "tared"
    still = np.asarray(~(np.isfinite(motion.dq) & np.isfinite(motion.ddq)).all(axis=1))
    dq, ddq = (np.where(still[:, None], 0.0, rate) for rate in (motion.dq, motion.ddq))
    if moves:
        flags[still] |= int(EstimateFlag.NO_VELOCITY | EstimateFlag.NO_ACCELERATION)
    generator = sensor.compensator.generator
    if isinstance(generator, LinearTable) and moves:
        outside = able & ~generator.covers(np.where(np.isfinite(log.q), log.q, np.inf))
        flags[outside] |= int(EstimateFlag.OUTSIDE_TABLE)
        able &= ~outside
    tare = sensor.tare_state
    if tare is not None and used != "full":
        flags[tare.left(log.q, model=used == "tared+model")] |= int(EstimateFlag.OUT_OF_TARE_RANGE)
    value, std = np.full(log.q.shape, np.nan), np.full(log.q.shape, np.inf)
    q, reading = log.q[able], readings[able]
    velocity, rate = (dq[able], ddq[able]) if moves else (None, None)
    value[able] = sensor.joint_torques(q, reading, velocity, rate, used)
    if includes_gravity:
        value[able] += robot.gravity(q)
    acceleration = sensor.variance.uncertainty.acceleration if moves else None
    if with_std:
        std[able] = sensor.std(q, used, acceleration=acceleration, includes_gravity=includes_gravity)
    else:
        std[able] = np.nan
    valid = (flags & int(UNUSABLE)) == 0
    return LogEstimate(robot.joint_names, log.time, value, std, valid, flags, includes_gravity, used)


def raw_flags(sensor: BaseSensor, log: Log) -> npt.NDArray[np.int64]:
    """Return what the samples themselves show, EstimateFlag bits, shape (k,).

    Args:
        sensor: The plate, for its range.
        log: The recording.
    """
    reading = plate_readings(log)
    flags = np.zeros(len(log), dtype=np.int64)
    given = log.flags
    bad_reading = ~np.isfinite(reading).all(axis=1) | ((given & int(SampleFlag.WRENCH_INVALID)) != 0)
    bad_position = ~np.isfinite(log.q).all(axis=1) | ((given & int(SampleFlag.Q_INVALID)) != 0)
    full = (np.abs(reading) >= sensor.range).any(axis=1) | ((given & int(SampleFlag.WRENCH_SATURATED)) != 0)
    stale = (given & int(SampleFlag.STALE)) != 0
    for rows, flag in (
        (bad_reading, EstimateFlag.WRENCH_INVALID),
        (bad_position, EstimateFlag.POSITION_INVALID),
        (full & ~bad_reading, EstimateFlag.SATURATED),
        (stale, EstimateFlag.STALE),
        (frozen_rows(reading, log.q), EstimateFlag.FROZEN),
    ):
        flags[rows] |= int(flag)
    return flags


def frozen_rows(reading: Array, q: Array) -> npt.NDArray[np.bool_]:
    """Say which rows belong to a long run of identical readings during which a joint moved, shape (k,)."""
    found = np.zeros(len(reading), dtype=bool)
    edges = np.flatnonzero((reading[1:] != reading[:-1]).any(axis=1)) + 1
    # A plate that is slower than the recording repeats every reading: its usual run is no frozen one.
    usual = float(np.median(np.diff(edges))) if len(edges) > ONLINE.frozen_ticks else 1.0
    least = max(ONLINE.frozen_ticks, math.ceil(SLOW_RUNS * usual))
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(reading)], strict=True):
        if last - first < least:
            continue
        travel = np.ptp(q[first:last], axis=0)
        if travel.size and bool(np.nanmax(travel, initial=0.0) > ONLINE.frozen_travel):
            found[first + least - 1 : last] = True
    return found
