"""Readings of a plate with the motion that belongs to them, ready for a fit: moving samples, or means of poses at rest.

Positions, velocities, accelerations, readings and motor torques go through the same zero-phase low-pass
(calibration/moving.py), so that what belongs together stays together. Short gaps are bridged (plate_readings.py); other
readings that cannot be used (missing, saturated, frozen) are left out with all samples that the filter mixes them into.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..calibration.cutoff import MOST_OF_RATE, motion_band
from ..calibration.moving import EDGE_PERIODS, Preparation, moving_samples, prepare
from ..calibration.samples import Samples
from ..description.frozen import Array
from ..dynamics.inputs import refuse_other_joints
from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.filters import bridged, interpolated, smoothed
from ..logs.log import Log
from ..logs.stillness import still_segments
from .log_estimate import raw_flags
from .plate_readings import near_times, plate_readings, short_gaps
from .sensor import BaseSensor
from .torque_estimate import UNUSABLE, EstimateFlag

CUTOFFS = (6.0, 10.0)
"""Least and greatest cutoff [Hz]. Sines of wide swings have harmonics far above the motion's own frequency, and a
wrench of smoothed positions is not the smoothed wrench; what a reversal does must be over before the next one."""
SETTLE = 0.3
"""Time cut off at the beginning of each standing [s]: gears and plate come to rest after the joints do."""
LEAST_SHARE = 0.5
"""Share of the readings that must be usable."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateSamples:
    """k instants of an arm on a plate.

    Attributes:
        samples: Positions, velocities, accelerations and efforts.
        wrench: What the plate exerts on the robot, base axes, at the base origin [N, N m], shape (k, 6).
        rate: Its change with time [N/s, N m/s], shape (k, 6); zero at rest.
        moving: Whether the arm moves; False for means of poses at rest.
    """

    samples: Samples
    wrench: Array
    rate: Array
    moving: bool

    def __len__(self) -> int:
        """Return the number of instants."""
        return len(self.samples)

    def __getitem__(self, rows: npt.NDArray[np.bool_]) -> PlateSamples:
        """Return the instants of a mask."""
        return PlateSamples(self.samples[rows], self.wrench[rows], self.rate[rows], self.moving)


def checked_log(robot: Robot, log: Log, sensor: BaseSensor) -> npt.NDArray[np.bool_]:
    """Return which readings can be used, shape (k,).

    Raises:
        InputError: Log, sensor and robot are of different arms, there is no plate, or most of its readings are useless.
    """
    refuse_other_joints(log.joint_names, robot, "log")
    refuse_other_joints(sensor.robot.joint_names, robot, "sensor's robot")
    usable = (raw_flags(sensor, log) & int(UNUSABLE)) == 0
    if np.mean(usable) < LEAST_SHARE:
        raise InputError(
            f"only {np.mean(usable):.0%} of the plate's readings can be used: the others are missing, saturated or "
            "frozen; run the doctor on the recording"
        )
    return np.asarray(usable)


def without_efforts(log: Log) -> Log:
    """Return the log with zero efforts: what the plate tells does not depend on them."""
    declared = replace(log.declared, adds_gravity=None, effort_kind=None, effort_side=None, torque_constant=None)
    return replace(log, tau=np.zeros(log.tau.shape), declared=declared)


def moving_plate_samples(
    robot: Robot, log: Log, sensor: BaseSensor, *, cutoff: float | None = None, efforts: bool = False
) -> tuple[PlateSamples, Preparation]:
    """Return the samples of a motion, and how they were filtered.

    Args:
        robot: The robot it is of.
        log: The recording, with the plate's raw readings.
        sensor: How readings become wrenches.
        cutoff: Of the low-pass [Hz]; None to choose it from the motion.
        efforts: Whether motor torques are needed.

    Raises:
        InputError: The recording cannot be used, or the arm does not move.
    """
    checked_log(robot, log, sensor)
    given = log if efforts else without_efforts(log)
    chosen = plate_cutoff(log) if cutoff is None else cutoff
    preparation = prepare(robot, given, cutoff=chosen, likeliest=False)
    samples = moving_samples(robot, given, preparation=preparation)
    ordered = log.ordered()
    flags = raw_flags(sensor, ordered)
    gaps = np.asarray((flags & int(UNUSABLE)) != 0)
    wrench = sensor.frame.wrench(np.where(gaps[:, None], np.nan, plate_readings(ordered)))
    # a plate is saturated at peaks: a line across them would lower every one
    short = short_gaps(ordered.time, gaps, preparation.cutoff) & ((flags & int(EstimateFlag.SATURATED)) == 0)
    wrench = np.where(short[:, None], bridged(ordered.time, wrench), wrench)
    gaps &= ~short
    at, rate = (
        interpolated(samples.time, ordered.time, smoothed(ordered.time, wrench, preparation.cutoff, derivative))
        for derivative in (0, 1)
    )
    near = near_times(ordered.time, ordered.time[gaps], 0.5 * EDGE_PERIODS / preparation.cutoff)
    clean = np.isfinite(at).all(axis=1) & ~np.asarray(np.interp(samples.time, ordered.time, near.astype(float)) > 0.0)
    if not clean.any():
        raise InputError("no stretch between useless plate readings is long enough for the filter; record again")
    return PlateSamples(samples[clean], at[clean], rate[clean], True), preparation


def plate_cutoff(log: Log) -> float:
    """Return the cutoff that the motion asks for [Hz], within CUTOFFS: vibrations are no motion."""
    band = motion_band(log)
    return float(min(np.clip(band.cutoff, *CUTOFFS), MOST_OF_RATE * band.rate))


def static_plate_samples(robot: Robot, log: Log, sensor: BaseSensor) -> PlateSamples:
    """Return the means of the poses at rest; none at all where the arm stands nowhere.

    Args:
        robot: The robot it is of.
        log: The recording, with the plate's raw readings.
        sensor: How readings become wrenches.

    Raises:
        InputError: The recording cannot be used.
    """
    usable = checked_log(robot, log, sensor)
    reading = plate_readings(log)
    times, poses, wrenches = [], [], []
    for segment in still_segments(log, settle=SETTLE):
        rows = np.arange(segment.start, segment.end)
        rows = rows[usable[rows]]
        if len(rows):
            times.append(float(log.time[rows].mean()))
            poses.append(log.q[rows].mean(axis=0))
            wrenches.append(sensor.frame.wrench(reading[rows]).mean(axis=0))
    q = np.array(poses).reshape(-1, robot.n)
    still = np.zeros_like(q)
    samples = Samples(
        joint_names=robot.joint_names,
        time=np.array(times),
        q=q,
        dq=still,
        ddq=still,
        tau=still,
        v0=np.ones(robot.n),
        direction=still,
    )
    found = np.array(wrenches).reshape(-1, 6)
    return PlateSamples(samples, found, np.zeros_like(found), False)
