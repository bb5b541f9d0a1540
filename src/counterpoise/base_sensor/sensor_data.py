"""From a recording to what a plate's calibration compares: readings and the model's wrenches, smoothed alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..calibration.cutoff import motion_band
from ..calibration.mount import refuse_other_mount
from ..description.frozen import Array
from ..doctor.prepared import Prepared, prepare, without_infinities
from ..dynamics.inputs import refuse_other_joints
from ..dynamics.reference import WRENCH_COMPONENTS
from ..dynamics.robot import Robot
from ..errors import InputError, ModelError
from ..logs.filters import filtered, true_stretches
from ..logs.log import Log
from ..logs.sample import SampleFlag
from .log_estimate import frozen_rows
from .plate_readings import near_times, plate_readings, short_gaps

Mask = npt.NDArray[np.bool_]

CUTOFFS = (2.0, 8.0)
"""Least and greatest cutoff of the low-pass [Hz]: arms are driven below, structures ring above."""
WIDER = 3.0
"""How much wider the low-pass of the positions is than that of the wrenches."""
MOST_ROWS = 2500
"""Rows that are compared at most."""
ROWS_PER_PERIOD = 4.0
"""Rows per period of the cutoff; more would repeat themselves."""
LEAST_TIME = 5.0
"""Shortest usable recording [s]."""
LEAST_TRAVEL = 0.05
"""A joint that moved less does not move [rad or m]."""
LEAST_POSES = 4
"""Poses, POSE_DISTANCE apart in some joint, that a recording must have at least."""
POSE_DISTANCE = 0.1
MOST_LOST = 0.5
"""Share of unusable readings from which a recording is refused."""
CLIPPED_RUN = 10
"""So many readings in a row at a channel's extreme are saturated."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateData:
    """Readings and what the model needs to predict them, at k instants on an even grid of K times.

    Attributes:
        smooth: The whole recording on the grid, low-passed at WIDER times the cutoff.
        rows: The k instants, as indices of the grid.
        time: Their times [s], shape (k,).
        drift_variable: What the drift goes with at these instants: time [s] or temperature, less ``reference``, (k,).
        reference: Mean of that.
        wrench: The model's wrench on the robot, base axes and origin [N, N m], on the whole grid, shape (K, 6).
        reading: The plate's reading, low-passed like the wrench, on the whole grid [N, N m], shape (K, 6).
        cutoff: Of the low-pass of wrench and reading [Hz].
        rate: Of the recording [Hz].
        usable: Which grid times may be compared, shape (K,).
    """

    smooth: Prepared
    rows: npt.NDArray[np.intp]
    time: Array
    drift_variable: Array
    reference: float
    wrench: Array
    reading: Array
    cutoff: float
    rate: float
    usable: Mask


def plate_data(
    robot: Robot, log: Log, *, cutoff: float | None = None, temperature: npt.ArrayLike | None = None
) -> PlateData:
    """Prepare a recording.

    Args:
        robot: The robot, mounted as it stood.
        log: The recording, with raw readings.
        cutoff: Of the low-pass [Hz]; None to choose it from the motion.
        temperature: Of the plate at each sample, shape (len(log),); None for a drift in time.

    Raises:
        InputError: There are no readings, they are frozen, saturated or no numbers, the recording is too short, the arm
            does not move enough, or it is another robot's.
        ModelError: The robot has no masses.
    """
    refuse_unusable(robot, log)
    if not np.any(robot.inertial_parameters[10::10] > 0.0):
        raise ModelError(
            f"robot '{robot.name}' has no masses, so nothing is known of the wrench on its plate; give a description "
            "with masses"
        )
    log = without_infinities(log)
    missing, spoiled = missing_readings(log), spoiled_readings(log)
    lost = missing | spoiled
    if lost.mean() > MOST_LOST:
        raise InputError(
            f"{lost.mean():.0%} of the plate's readings are no numbers, flagged, saturated or frozen; expected at most "
            f"{MOST_LOST:.0%}. Check the plate's range and connection, and record again"
        )
    _refuse_standing(log.q[np.isfinite(log.q).all(axis=1)])
    band = min(max(motion_band(log).cutoff, CUTOFFS[0]), CUTOFFS[1]) if cutoff is None else cutoff
    log, lost = with_gaps(log, missing, spoiled, band)
    # The wrench is no linear function of the positions, so a low-pass of them is not one of it. They are smoothed
    # lightly, and then the reading and the model's wrench alike.
    smooth = prepare(log, WIDER * band)
    if smooth is None or smooth.wrench is None:
        raise InputError(f"the recording has {len(log)} samples, too few to calibrate a plate; record a minute")
    band = min(band, smooth.cutoff)
    edge = min(1.0 / band, 0.1 * float(smooth.time[-1] - smooth.time[0]))
    inside = (smooth.time >= smooth.time[0] + edge) & (smooth.time <= smooth.time[-1] - edge)
    usable = smooth.good & inside & ~near_times(smooth.time, log.time[lost], 1.0 / band)
    seconds = float(usable.sum()) * smooth.dt
    if seconds < LEAST_TIME:
        raise InputError(
            f"the recording has {seconds:.1f} s that can be used; expected at least {LEAST_TIME:g} s of motion, better "
            "a minute"
        )
    _refuse_standing(smooth.q[usable])
    given = np.flatnonzero(usable)
    count = min(MOST_ROWS, max(20, int(ROWS_PER_PERIOD * band * seconds)))
    rows = given[np.unique(np.linspace(0, len(given) - 1, count).astype(np.int64))]
    drift_variable = smooth.time[rows] if temperature is None else _temperature(log, temperature, smooth.time[rows])
    reference = float(drift_variable.mean())
    return PlateData(
        smooth=smooth,
        rows=rows,
        time=smooth.time[rows],
        drift_variable=drift_variable - reference,
        reference=reference,
        wrench=filtered(robot.base_wrench(smooth.q, smooth.dq, smooth.ddq), smooth.dt, band),
        reading=filtered(smooth.wrench, smooth.dt, band),
        cutoff=band,
        rate=log.rate,
        usable=usable,
    )


def refuse_unusable(robot: Robot, log: Log) -> None:
    """Refuse a recording of another robot or mounting, or one without six live channels of a sensor.

    Raises:
        InputError: It is one; the message says why.
    """
    refuse_other_joints(log.joint_names, robot, "log")
    readings = plate_readings(log)
    if log.declared.position_side == "motor":
        raise InputError("the log's positions are on the motor's side; give its mapping the gears (motor_per_link)")
    if log.declared.gravity_base is not None:
        refuse_other_mount(robot, log.declared.gravity_base)
    for name, column in zip(WRENCH_COMPONENTS, readings.T, strict=True):
        known = column[np.isfinite(column)]
        if known.size == 0:
            raise InputError(f"channel {name} of the sensor holds no numbers; check the mapping's columns")
        if np.ptp(known) == 0.0:
            raise InputError(
                f"channel {name} of the sensor reads {known[0]:g} throughout: it is frozen or not connected. Six live "
                "channels are needed"
            )


def missing_readings(log: Log) -> Mask:
    """Say which readings are no numbers, or marked by the plant as bad, shape (k,)."""
    missing = ~np.isfinite(plate_readings(log)).all(axis=1)
    if len(log.flags):
        missing |= (log.flags & int(SampleFlag.WRENCH_INVALID)) != 0
    return np.asarray(missing)


def spoiled_readings(log: Log) -> Mask:
    """Say which readings are numbers and wrong: frozen, or at the end of a channel's range; or without a pose, (k,)."""
    reading = plate_readings(log)
    spoiled = frozen_rows(reading, log.q)
    if len(log.flags):
        spoiled |= (log.flags & int(SampleFlag.WRENCH_SATURATED | SampleFlag.Q_INVALID)) != 0
    for column in reading.T:
        spoiled |= _clipped(column)
    return spoiled


def with_gaps(log: Log, missing: Mask, spoiled: Mask, cutoff: float) -> tuple[Log, Mask]:
    """Return the log with NaN for missing readings, which are bridged by straight lines, and those to keep away from.

    Args:
        log: The recording, with readings.
        missing: See missing_readings, shape (k,).
        spoiled: See spoiled_readings, shape (k,).
        cutoff: Of the low-pass [Hz].
    """
    lost = spoiled | (missing & ~short_gaps(log.time, missing, cutoff))
    return replace(log, wrench=np.where(missing[:, None], np.nan, plate_readings(log))), lost


def _clipped(column: Array) -> Mask:
    """Say where a channel rests at its own extreme for CLIPPED_RUN samples, unless it rests elsewhere as well."""
    clipped = np.zeros(len(column), dtype=bool)
    same = np.concatenate([[False], column[1:] == column[:-1]])
    for extreme in (np.nanmax(column), np.nanmin(column)):
        at = column == extreme
        for first, last in true_stretches(at):
            if last - first >= CLIPPED_RUN:
                clipped[first:last] = True
    # A coarse converter, or a reading that is repeated between two measurements, rests everywhere.
    elsewhere = ~clipped
    if elsewhere.any() and same[elsewhere].mean() > 0.5:
        clipped[:] = False
    return clipped


def _refuse_standing(q: Array) -> None:
    travel = np.ptp(q, axis=0) if len(q) else np.zeros(1)
    if not np.any(travel > LEAST_TRAVEL):
        raise InputError(
            f"no joint moves by more than {LEAST_TRAVEL:g} rad or m in this recording (the most is "
            f"{float(travel.max(initial=0.0)):.3g}); a sensor shows its axes and gain only while the wrench changes. "
            "Move the arm over a good part of its range"
        )
    poses: list[Array] = []
    for pose in q[:: max(1, len(q) // 500)]:
        if all(np.abs(pose - other).max() > POSE_DISTANCE for other in poses):
            poses.append(pose)
        if len(poses) == LEAST_POSES:
            return
    raise InputError(
        f"the recording has {len(poses)} poses that differ by more than {POSE_DISTANCE:g} rad or m; expected at least "
        f"{LEAST_POSES}, better a dozen all over the range"
    )


def _temperature(log: Log, temperature: npt.ArrayLike, at: Array) -> Array:
    given = np.asarray(temperature, dtype=np.float64)
    if given.shape != (len(log),):
        raise InputError(f"temperature has shape {given.shape}; expected ({len(log)},), one per sample")
    known = np.isfinite(given) & np.isfinite(log.time)
    if known.sum() < 2:
        raise InputError("temperature holds no numbers; leave it out for a drift in time")
    order = np.argsort(log.time[known], kind="stable")
    return np.asarray(np.interp(at, log.time[known][order], given[known][order]), dtype=np.float64)
