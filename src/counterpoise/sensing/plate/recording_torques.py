"""Joint torques from a recording with a plate: which plate, which form, how wide the bands, which joints to believe.

The plate is taken as the recording declares it, or as a calibration says. Readings are smoothed like the velocities
that accelerations come from, so that both show the same motion.

Bands are one standard deviation. What sensor noise, gravity model and acceleration make is propagated (variance.py).
Where plate and model then still differ by more, what is left over is added: with r the base wrench that the model
leaves unexplained, A(q) r is the difference of the plate's torque and the model's, and its variance beyond the
propagated one counts as an error. A load that the model lacks therefore widens the bands.

Estimated torques are written as a table for other programs, CSV or Parquet, one row per sample. Columns: ``time [s]``;
for every joint ``torque.NAME [N m]`` (τ_d + g), ``torque_std.NAME [N m]``, ``dynamic_torque.NAME [N m]`` (τ_d) and
``dynamic_torque_std.NAME [N m]``, N for linear joints; ``valid``, 1 where the row may be relied on; ``flags``,
EstimateFlag bits. A joint that the plate tells nothing of has NaN in its columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from ...doctor import Finding, check_plate
from ...dynamics import Robot, refuse_other_joints
from ...errors import DataFileError, InputError
from ...fitting import robust_std
from ...foundation import Array, frozen, write_atomically
from ...recording import (
    Log,
    Motion,
    csv_blocks,
    effort_guesses,
    find_rests,
    interpolated,
    parquet_library,
)
from .log_estimate import CUTOFF, LogEstimate, estimate_motion, measured_motion, raw_flags
from .readings import plate_readings
from .sensor import BaseSensor
from .tare import Tare
from .torque_estimate import UNUSABLE
from .variance import Uncertainty
from .wrench_check import JointSummary, WrenchCheck, compared, summaries

if TYPE_CHECKING:
    from .sensor_calibration import SensorCalibration


Masses = Literal["cad", "exact"]
STD_ROWS = 4000
"""Samples at which deviations are propagated; between them they change slowly and are interpolated."""
MEAN_ROWS = 300
"""Poses that a mean over a recording is taken of."""
LEAST_SAMPLES = 20
ONE_SIGMA = 0.6827
"""Share of a normal distribution within one standard deviation. A quantile, so that a short contact counts little."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordingTorques:
    """Torques of a recording and what they are worth.

    Attributes:
        robot: The model, as it stands.
        log: The recording in order of time; of a calibrated plate with wrenches on the robot, base axes and origin,
            lag and drift taken out.
        sensor: The plate.
        calibration: The plate's calibration; None where it was taken as declared.
        form: The form that was computed.
        tare: The tare, or None.
        cutoff: Cutoff of velocities and readings [Hz].
        torque: τ_d + g, the torque at the joint, deviations included.
        dynamic: τ_d, without gravity.
        effort: Measured efforts, smoothed likewise [N m or N], shape (k, n); NaN where none is a torque at the link.
        effort_note: Why there are no efforts to compare with; empty where there are.
        check: The plate against the model; None for a robot without masses.
        joints: What each joint's torques are worth.
        findings: What the doctor says of the plate, as it is used here.
    """

    robot: Robot
    log: Log
    sensor: BaseSensor
    calibration: SensorCalibration | None
    form: str
    tare: Tare | None
    cutoff: float
    torque: LogEstimate
    dynamic: LogEstimate
    effort: Array
    effort_note: str
    check: WrenchCheck | None
    joints: tuple[JointSummary, ...]
    findings: tuple[Finding, ...]

    @property
    def informative(self) -> tuple[str, ...]:
        """Names of the joints that the plate tells something of."""
        return tuple(joint.name for joint in self.joints if joint.informative)


def recording_torques(
    robot: Robot,
    log: Log,
    *,
    calibration: SensorCalibration | None = None,
    form: str = "auto",
    tare: tuple[float, float] | None = None,
    cutoff: float = CUTOFF,
    masses: Masses = "cad",
    progress: Callable[[float, float], None] | None = None,
) -> RecordingTorques:
    """Estimate the joint torques of a recording with a plate.

    Args:
        robot: The model, mounted and loaded as the robot stood.
        log: The recording, joints as in ``robot``, with the plate's raw readings.
        calibration: The plate's calibration; None to take it as the recording declares it.
        form: "auto", "full", "tared" or "tared+model".
        tare: Begin and end of the tare [s], counted from the first sample; the arm stands still meanwhile.
        cutoff: Cutoff of velocities and readings [Hz].
        masses: How well the robot's masses are known: "cad" as in fitting/prior.py, "exact" for no error of
            their own.
        progress: Told how much of how much is done.

    Raises:
        InputError: No plate in the recording, other joints, a tare in which the arm moves, a form that is not ready.
        ModelError: A form that needs masses, of a robot without any.
    """
    log = log.without_infinities()
    refuse_without_plate(robot, log)
    report = progress or (lambda _done, _total: None)
    raw = log.ordered()
    gravity = np.zeros((size := 4 * (robot.tree.bodies + 1), size)) if masses == "exact" else None
    if calibration is None:
        used = raw
        motion = measured_motion(used, cutoff)
        sensor = declared_sensor(robot, motion, gravity)
    else:
        used = calibration.corrected(raw)
        motion = measured_motion(used, cutoff)
        known = _after_calibration(robot, calibration, motion, gravity)
        sensor = calibration.sensor(robot, of="corrected", uncertainty=known)
    taken = None if tare is None else _tared(sensor, used, *tare)
    chosen = sensor.resolved_form(form)
    if calibration is not None and chosen == "full":
        zero = _zero_against_model(sensor, motion, raw)
        sensor = calibration.sensor(robot, of="corrected", uncertainty=known, bias=zero)
    dynamic = estimate_motion(sensor, motion, plate_readings(motion), form=chosen, with_std=False)
    if calibration is not None:
        dynamic = _with_flags(dynamic, raw_flags(sensor, raw))
    report(1.0, 4.0)
    check = compared(sensor, motion, chosen, dynamic.flags)
    report(2.0, 4.0)
    torque = replace(dynamic, value=dynamic.value + _gravity(robot, used.q), includes_gravity=True)
    differenced = _compared_poses(used) if calibration is not None and chosen == "full" else None
    torque, dynamic = (_with_bands(sensor, used, found, check, differenced) for found in (torque, dynamic))
    report(3.0, 4.0)
    effort, note = _effort(motion)
    return RecordingTorques(
        robot=robot,
        log=used,
        sensor=sensor,
        calibration=calibration,
        form=chosen,
        tare=taken,
        cutoff=cutoff,
        torque=torque,
        dynamic=dynamic,
        effort=effort,
        effort_note=note,
        check=check,
        joints=summaries(robot, torque, dynamic, effort, check),
        findings=tuple(check_plate(robot, used, Motion.on_grid(used))) if check is not None else (),
    )


def refuse_without_plate(robot: Robot, log: Log) -> None:
    """Refuse a recording that no torque can be estimated from.

    Raises:
        InputError: Other joints, no plate, a plate without a single number, or too few samples.
    """
    refuse_other_joints(log.joint_names, robot, "recording")
    if int(np.isfinite(plate_readings(log)).all(axis=1).sum()) < LEAST_SAMPLES:
        raise InputError(f"fewer than {LEAST_SAMPLES} samples have a plate reading in all six channels")
    if len(log.ordered()) < LEAST_SAMPLES:
        raise InputError(f"the recording has {len(log)} samples; expected at least {LEAST_SAMPLES} of increasing time")


def declared_sensor(robot: Robot, motion: Motion, gravity: Array | None = None) -> BaseSensor:
    """Return the plate as a recording declares it, with the noise that its readings show.

    Args:
        robot: The model.
        motion: Motion at the recording's samples, with a wrench.
        gravity: Covariance of the gravity parameters, as in Uncertainty; None for what is assumed of a CAD model.
    """
    known = motion.log.declared
    return BaseSensor(
        robot,
        known.T_base_sensor,
        known.sensor_reads or "on_robot",
        uncertainty=Uncertainty.checked(robot, noise=reading_noise(motion), gravity=gravity),
    )


def reading_noise(motion: Motion) -> Array:
    """Return the noise that smoothing leaves in the readings [N, N m], shape (6,).

    What is above the cutoff is measured; as much per Hz is taken to lie below it, as of white noise. The half rate is
    shared by both.
    """
    fast = plate_readings(motion.log) - plate_readings(motion)
    nyquist = 0.5 * motion.rate
    above = max(nyquist - motion.cutoff, 0.05 * nyquist)
    # Median, not rms: impacts and steps are no noise.
    return frozen(robust_std(fast) * np.sqrt(min(motion.cutoff, nyquist) / above))


def _with_flags(found: LogEstimate, flags: npt.NDArray[np.int64]) -> LogEstimate:
    """Return an estimate with further flags."""
    together = found.flags | flags
    return replace(found, flags=together, valid=(together & int(UNUSABLE)) == 0)


def _gravity(robot: Robot, q: Array) -> Array:
    """Return gravity(q), shape (k, n), zero where a position is no number: there the estimate is none either."""
    whole = np.isfinite(q).all(axis=1, keepdims=True)
    return robot.gravity(np.where(whole, q, 0.0))


def _tared(sensor: BaseSensor, log: Log, begin: float, end: float) -> Tare:
    """Tare the sensor by a stretch of the recording, counted from its first sample [s].

    Raises:
        InputError: The stretch is outside the recording, has no reading, or the arm moves in it.
    """
    start = float(log.time[0])
    shown = f"the tare from {begin:g} s to {end:g} s"
    part = (log.time >= start + begin) & (log.time < start + end)
    if not part.any():
        length = float(log.time[-1] - start)
        raise InputError(f"{shown} holds no sample; the recording runs from 0 s to {length:.6g} s")
    reading = plate_readings(log)
    whole = part & np.isfinite(reading).all(axis=1) & np.isfinite(log.q).all(axis=1)
    if not whole.any():
        raise InputError(f"{shown} holds no plate reading")
    try:
        return sensor.tare(log.q[whole], reading[whole], time=float(log.time[whole].mean()))
    except InputError as error:
        stands = [
            f"{log.time[segment.start] - start:.3g}:{log.time[segment.end - 1] - start:.3g}"
            for segment in find_rests(log)[:3]
        ]
        hint = f"the arm stands in {', '.join(stands)} s" if stands else "the arm never stands in this recording"
        raise InputError(f"{shown}: {error}; {hint}") from error


def _after_calibration(
    robot: Robot, calibration: SensorCalibration, motion: Motion, gravity: Array | None
) -> Uncertainty:
    """Return the errors of a calibrated plate whose readings are wrenches in the base frame.

    Errors of axes, gain and lag show in what is left of data that were not fitted, and count as noise of that size. The
    zero is a tare's, or found against the model; then it errs together with the masses, not beside them: see
    _compared_poses.
    """
    to_base = calibration.frame.to_base**2
    left = np.maximum(calibration.noise, calibration.heldout)
    noise = np.maximum(np.sqrt(to_base @ left**2), reading_noise(motion))
    return Uncertainty.checked(robot, noise=noise, gravity=gravity)


def _zero_against_model(sensor: BaseSensor, motion: Motion, raw: Log) -> Array:
    """Return the zero of a calibrated plate for which it agrees with the model over the recording, shape (6,).

    A calibration cannot tell the zero of fz from the robot's weight, and finds it for masses that it corrects itself;
    with the masses as described, newtons of it would act on the wrist over a metre.
    """
    check = compared(sensor, motion, "full", raw_flags(sensor, raw))
    return np.zeros(6) if check is None else np.nanmedian(check.measured - check.predicted, axis=0)


def _compared_poses(log: Log) -> Array:
    """Return poses over which a calibrated plate's zero agrees with the model, shape (j, n).

    The mean of the model's weight over them, wrong masses included, is in the zero. What an error of the masses does to
    a torque is then the difference to that mean, as it is the difference to the tare's pose after a tare.
    """
    known = log.q[np.isfinite(log.q).all(axis=1)]
    return known[:: max(1, len(known) // MEAN_ROWS)]


def _with_bands(
    sensor: BaseSensor, log: Log, found: LogEstimate, check: WrenchCheck | None, differenced: Array | None
) -> LogEstimate:
    """Return an estimate with deviations: the propagated ones, and what plate and model differ by beyond them."""
    able = np.flatnonzero(np.isfinite(found.value).all(axis=1))
    std = np.full(found.value.shape, np.inf)
    if len(able):
        std[able] = _propagated(sensor, log.q, able, found, differenced)
    if check is not None and len(able):
        plain = replace(found, includes_gravity=False)
        expected = np.mean(_propagated(sensor, log.q, able, plain, differenced) ** 2, axis=0)
        left = np.nanquantile(np.abs(check.torque_difference[able]), ONE_SIGMA, axis=0)
        std[able] = np.sqrt(std[able] ** 2 + np.maximum(left**2 - expected, 0.0))
    return replace(found, std=std)


def _propagated(
    sensor: BaseSensor, q: Array, able: npt.NDArray[np.intp], found: LogEstimate, differenced: Array | None
) -> Array:
    """Return propagated deviations at the rows ``able``, shape (len(able), n)."""
    some = np.unique(np.linspace(0, len(able) - 1, min(STD_ROWS, len(able))).astype(np.intp))
    poses = q[able[some]]
    acceleration = sensor.variance.uncertainty.acceleration if found.form != "tared" else None
    if differenced is None:
        std = sensor.std(poses, found.form, acceleration=acceleration, includes_gravity=found.includes_gravity)
    else:
        std = sensor.variance.std(
            poses,
            zero_known=True,
            q_tare=differenced,
            gravity=True,
            acceleration=acceleration,
            includes_gravity=found.includes_gravity,
        )
    return interpolated(np.arange(len(able), dtype=np.float64), some.astype(np.float64), std)


def _effort(motion: Motion) -> tuple[Array, str]:
    """Return the measured torques at the links, smoothed, and why there are none."""
    declared = motion.log.declared
    nothing = np.full(motion.tau.shape, np.nan)
    if not np.isfinite(motion.tau).any():
        return nothing, "the recording has no efforts"
    if declared.effort_kind == "current":
        return nothing, "the efforts are currents; give torque constants in the mapping to compare with them"
    if declared.effort_side == "motor":
        return nothing, "the efforts are on the motor's side; give the gears in the mapping to compare with them"
    if guessed := effort_guesses(declared.guessed):
        return nothing, f"{guessed}: nothing shows that efforts are torques"
    return motion.tau, ""


ENDINGS = (".csv", ".parquet")
PARQUET_KEY = b"counterpoise-torques"
"""Key of the description in the metadata of a Parquet file."""


def write_recording_torques(found: RecordingTorques, path: str | Path) -> None:
    """Write the torques of a recording, all or nothing.

    Args:
        found: The torques.
        path: A file that ends in .csv or .parquet; replaced if it exists.

    Raises:
        DataFileError: Another ending, or the file cannot be written.
        MissingExtraError: pyarrow is needed for .parquet and not installed.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise DataFileError(f"ends in '{ending}'; torques are written as {' or '.join(ENDINGS)}", path=path)
    if ending == ".csv":
        write_atomically(path, lambda stream: _write_csv(found, stream))
    else:
        parquet_library()
        write_atomically(path, lambda stream: _write_parquet(found, stream))


def torque_columns(found: RecordingTorques) -> tuple[tuple[str, ...], Array]:
    """Return the names and numbers of all columns but ``valid`` and ``flags``, shape (k, 1 + 4 n)."""
    names, columns = ["time [s]"], [found.log.time]
    for place, joint in enumerate(found.joints):
        for word, estimate in (("torque", found.torque), ("dynamic_torque", found.dynamic)):
            names += [f"{word}.{joint.name} [{joint.unit}]", f"{word}_std.{joint.name} [{joint.unit}]"]
            for values in (estimate.value, estimate.std):
                kept = values[:, place] if joint.informative else np.full(len(values), np.nan)
                columns.append(np.where(np.isfinite(kept), kept, np.nan))
    return tuple(names), np.column_stack(columns)


def _write_csv(found: RecordingTorques, stream: BinaryIO) -> None:
    names, numbers = torque_columns(found)
    marks = np.column_stack([found.torque.valid.astype(np.int64), found.torque.flags])
    for text in csv_blocks((*names, "valid", "flags"), [numbers, marks]):
        stream.write(text.encode())


def _write_parquet(found: RecordingTorques, stream: BinaryIO) -> None:
    arrow = parquet_library()
    names, numbers = torque_columns(found)
    about = {
        "robot": found.robot.name,
        "form": found.form,
        "cutoff_hz": found.cutoff,
        "informative": list(found.informative),
    }
    schema = arrow.schema(
        [(name, arrow.float64()) for name in names] + [("valid", arrow.bool_()), ("flags", arrow.int64())],
        metadata={PARQUET_KEY: json.dumps(about).encode()},
    )
    arrays = [arrow.array(column) for column in numbers.T]
    arrays += [arrow.array(found.torque.valid), arrow.array(found.torque.flags)]
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), stream)
