r"""A plate calibration from a recording: mounting, sign, gain, cross-talk, zero, drift, lag, each with its spread.

The plate's raw reading r and the wrench w that it exerts on the robot (base axes, base origin) belong together by

.. math:: r(t) = \pm G\, X(R, p)\, w(t - \mathrm{lag}) + b + d\,(t - t_0),

with X the change to the sensor's axes R and origin p, and G a gain near the identity. Only the product M = G X can be
seen. It is split so that G lies nearest the identity (wrench_frame.py): what all channels turn alike is rotation, what
is left is gain and cross-talk.

The fit (sensor_fit.py) starts from the sign, the rough axes and the lag that the doctor's comparison finds
(``find_start``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...doctor import (
    AMBIGUOUS,
    BELIEVED,
    UNRELATED,
    LogFault,
    MassBelief,
    PlateClass,
    PlateFit,
    PlateModel,
    PlateTurn,
    axes_of,
    check_plate,
    fit_plate,
    parameter_spread,
)
from ...dynamics import WRENCH_COMPONENTS, Robot
from ...errors import InputError
from ...fitting import inertial_root
from ...foundation import (
    Array,
    PublishedData,
    Verdict,
    frozen,
    refuse_beyond,
    refuse_shape,
    transform,
    write_document,
)
from ...identification import Identity, data_fingerprint, identity_of, read_for_robot
from ...recording import GRID_CUTOFF, Log, Motion, SampleFlag, filtered, increasing, interpolated
from .readings import plate_readings
from .sensor import BaseSensor
from .sensor_fit import (
    BIAS,
    DRIFT,
    LAG,
    MASSES,
    MOUNT,
    PARTS,
    PlateComparison,
    PlateData,
    SensorFit,
    SensorPrior,
    Start,
    fit_sensor,
    outlier_share,
    plate_data,
)
from .sensor_words import Spreads, determined, explained, sentences, shown_gains, sign_certain
from .variance import Uncertainty
from .wrench_frame import Mounting, WrenchFrame, canonical_covariance

SCHEMA = "counterpoise-sensor"
VERSION = 2

SPREADS = {
    **dict.fromkeys(("noise", "frame_error", "zero_error", "bias_std", "drift_std", "signal"), (6,)),
    **dict.fromkeys(("residual_before", "residual_after", "heldout"), (6,)),
    **dict.fromkeys(("rotation_std", "origin_std"), (3,)),
    "gain_std": (6, 6),
}
"""Fields that are deviations, and their shapes."""
MOST_ORIGIN = 100.0
"""Farthest that a plate can lie from the base's origin [m]."""
MOST_GAIN = 10.0
"""A channel's own gain lies between this and its inverse; a fraction of a foreign component, per metre, within it."""
MOST_READING = 1e6
"""Zeros, noise and errors of a reading [N, N m]."""
MOST_LAG = 10.0
"""[s]."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundStart:
    """A start and how sure it is.

    Attributes:
        start: The start.
        declared: The plate as declared, gain 1 and no lag.
        sign_shown: Whether the recording tells the sign apart from a half turn and the like.
    """

    start: Start
    declared: Start
    sign_shown: bool


def find_start(robot: Robot, log: Log, data: PlateData, parts: Collection[str]) -> FoundStart:
    """Return where to start.

    Args:
        robot: The robot.
        log: The recording; what it declares of the plate is what the start is measured against.
        data: The recording, prepared.
        parts: What is to be fitted; rotation and lag stay as declared where they are not.

    Raises:
        InputError: The readings have nothing to do with the model, or come from left-handed axes or mixed signs.
    """
    declared = log.declared
    sign = -1.0 if declared.sensor_reads == "on_sensor" else 1.0
    pose = np.eye(4) if declared.T_base_sensor is None else np.asarray(declared.T_base_sensor)
    rotation, origin = np.array(pose[:3, :3]), np.array(pose[:3, 3])
    as_declared = Start(sign, Mounting(rotation, origin, np.eye(6)), 0.0)
    fit = fit_plate(PlateModel(robot, _slow(data), pose, sign))
    if fit.mismatch > UNRELATED:
        raise InputError(
            f"what the plate reads has no relation to the robot's model: {fit.mismatch:.0%} of mx and my are left over "
            "whatever axes, sign and lag are tried. Check that robot, joint order, units and the plate's columns are "
            "right (counterpoise doctor), and that nothing touches the arm"
        )
    kind, angles, lag = fit.kind, np.array([fit.yaw, *fit.tilt]), fit.lag
    axes = axes_of(kind, angles, rotation)
    if axes is None:
        kind, axes = _other_class(robot, log, fit, rotation)
    flipped = kind.force < 0.0 and not kind.mirrored
    if "rotation" not in parts:
        flipped = flipped and abs(fit.yaw) < 0.5 * math.pi
        axes = rotation
    start = Start(-sign if flipped else sign, Mounting(axes, origin, np.eye(6)), lag if "lag" in parts else 0.0)
    return FoundStart(start, as_declared, fit.margin > AMBIGUOUS)


def _slow(data: PlateData) -> Motion:
    """Return the recording as the doctor looks at it: accelerations of coarse encoders would drown the rest."""
    smooth, cutoff = data.smooth, min(data.cutoff, GRID_CUTOFF)
    q, dq, ddq = (filtered(smooth.q, smooth.dt, cutoff, derivative=order) for order in range(3))
    reading = filtered(data.reading, smooth.dt, cutoff)
    return replace(smooth, q=q, dq=dq, ddq=ddq, wrench=reading, usable=data.usable, cutoff=cutoff)


def _other_class(robot: Robot, log: Log, fit: PlateFit, declared: Array) -> tuple[PlateClass, Array]:
    """Return the runner-up and its axes where the best class is no turned plate and not sure either; refuse else."""
    runner_up, yaw = fit.runner_up
    unsure = fit.gain < BELIEVED or fit.margin < AMBIGUOUS
    axes = axes_of(runner_up, np.array([yaw, 0.0, 0.0]), declared)
    if unsure and axes is not None:
        return runner_up, axes
    blamed = (LogFault.PLATE_HANDEDNESS, LogFault.PLATE_SIGN)
    findings = [one for one in check_plate(robot, log, Motion.on_grid(log)) if one.fault in blamed]
    told = " ".join(f"{one.sentence} {one.remedy}" for one in findings[:1]) or (
        "The plate's axes are left-handed, or forces and moments have opposite signs."
    )
    raise InputError(f"the plate cannot be calibrated as it is mapped. {told}")


HELD_OUT = 0.25
"""Share of the recording, its end, that is predicted from the rest."""
EXACT = MassBelief(mass=0.005, centre=0.0005, inertia=0.01, least=0.0005)
"""What "exact" masses may still be off by: gears that yield and motion that a low-pass rounds off look like as much."""
LAG_FLOOR = 0.1
"""A lag is not known better than this share of a sample's period: nobody knows when in it a channel was sampled."""
ORIGIN_FLOOR = 1e-3
"""Nor is an origin known better than this [m]: filters and encoders round off as much of the forces' moments."""
Masses = Literal["exact", "cad"] | float


@dataclass(frozen=True, eq=False)
class SensorCalibration(PublishedData):
    """A plate as a recording shows it. What the recording does not show is left at its prior and said to be.

    Attributes:
        frame: Pose, sign, gain and bias; the bias is that at ``reference``.
        lag: How late the readings are [s]; negative for early.
        drift: How the bias moves [N, N m], per second or per kelvin, shape (6,).
        drift_per: "s" or "K".
        reference: Time by the recording's clock [s], or temperature, at which the bias holds.
        noise: Standard deviation of what is left of each channel [N, N m], shape (6,), low-passed at ``cutoff``.
        frame_error: What the uncertainty of frame, drift and lag makes of the change of a typical reading about the
            recording's mean, per channel [N, N m], shape (6,); a tare does not take it away.
        zero_error: The same of the recording's mean reading, shape (6,), which a tare takes away. It holds the bias and
            what a wrong gain or axis makes of the mean wrench; they were fitted together and partly cancel, so that
            ``bias_std`` must not be added to it.
        rotation_std: Standard deviations of the axes, about the sensor's x, y and z [rad], shape (3,).
        origin_std: ... of the sensor's origin, base axes [m], shape (3,).
        bias_std: ... of the bias [N, N m], shape (6,).
        gain_std: ... of the gain, shape (6, 6).
        lag_std: ... of the lag [s].
        drift_std: ... of the drift, shape (6,).
        determined: What was looked for, in words ("yaw", "tilt about x", "gain of mx", …), and whether the recording
            shows it.
        gain_determined: The same for each entry of the gain, shape (6, 6), bool.
        signal: Standard deviation of each channel of the reading [N, N m], shape (6,).
        residual_before: Root mean square of reading less prediction for the plate as declared, a constant left out
            [N, N m], shape (6,).
        residual_after: The same for the calibrated plate, shape (6,).
        heldout: The same on the last part of the recording, predicted by a fit of the part before, shape (6,).
        masses: How well the robot's masses are known: "exact", "cad", or a factor on the spread of "cad".
        prior: What was assumed beforehand.
        cutoff: Of the low-pass [Hz].
        samples: Rows that were fitted.
        outliers: Share of the readings that were weighted down.
        sentences: All of this in words.
        identity: The robot it belongs to.
        data_sha256: Fingerprint of the recording.
        created: When it was made, ISO 8601.
        package: Version of the package that made it.
    """

    frame: WrenchFrame
    lag: float
    drift: Array
    drift_per: Literal["s", "K"]
    reference: float
    noise: Array
    frame_error: Array
    zero_error: Array
    rotation_std: Array
    origin_std: Array
    bias_std: Array
    gain_std: Array
    lag_std: float
    drift_std: Array
    determined: Mapping[str, bool]
    gain_determined: npt.NDArray[np.bool_]
    signal: Array
    residual_before: Array
    residual_after: Array
    heldout: Array
    masses: str
    prior: SensorPrior
    cutoff: float
    samples: int
    outliers: float
    sentences: tuple[str, ...]
    identity: Identity
    data_sha256: str
    created: str
    package: str

    @property
    def undetermined(self) -> tuple[str, ...]:
        """What the recording does not show, in words; these numbers are the prior's."""
        return tuple(name for name, shown in self.determined.items() if not shown)

    @property
    def verdict(self) -> Verdict:
        """Whether these numbers may be relied on: what the model leaves unexplained, and the sign."""
        return Verdict([explained(self.signal, self.residual_after), sign_certain(shown=self.determined["sign"])])

    @property
    def residuals(self) -> tuple[tuple[str, float, float, float], ...]:
        """The residual table: channel, its own deviation, what was left before and what is left after [N, N m]."""
        rows = zip(WRENCH_COMPONENTS, self.signal, self.residual_before, self.residual_after, strict=True)
        return tuple((name, float(own), float(before), float(after)) for name, own, before, after in rows)

    def sensor(self, robot: Robot, *, of: Literal["raw", "corrected"] = "raw", **options: Any) -> BaseSensor:
        """Return the plate under a robot, its uncertainty filled in.

        The spread of the frame counts as noise of a reading; so does the noise that was left. The zero counts in the
        form "full" alone. There it was found for masses that the calibration corrected along, while the sensor adds
        the spread of the masses as if they were independent: bands of "full" are on the wide side. Over a recording
        :func:`~counterpoise.sensing.plate.recording_torques.recording_torques` takes the zero against the masses as
        described instead, and judges the rest by the part that was held out; it brings its own uncertainty.

        Args:
            robot: The robot.
            of: "raw" for a sensor that takes raw readings, "corrected" for one that takes those of :meth:`corrected`.
            **options: Further arguments of BaseSensor, such as range or terms.

        Raises:
            InputError: An unknown ``of``, or an argument of BaseSensor that cannot be.
        """
        if of not in ("raw", "corrected"):
            raise InputError(f"of is {of!r}; expected 'raw' or 'corrected'")
        noise = np.hypot(self.noise, self.frame_error)
        zero = self.zero_error
        if of == "corrected":
            to_base = self.frame.to_base**2
            noise, zero = np.sqrt(to_base @ noise**2), np.sqrt(to_base @ zero**2)
        given: dict[str, Any] = {"uncertainty": Uncertainty.checked(robot, noise=noise, zero=zero)}
        if of == "raw":
            frame = self.frame
            given |= {"T_base_sensor": frame.T_base_sensor, "reads": frame.reads, "point": frame.point}
            given |= {"gain": frame.gain, "bias": frame.bias}
        return BaseSensor(robot, **(given | options))

    def corrected(self, log: Log, *, temperature: npt.ArrayLike | None = None) -> Log:
        """Return a recording with the wrench on the robot, base axes, base origin, and without lag or drift.

        A drift in time is taken off only of the recording it was found in: another has another clock.

        Args:
            log: A recording of the same plate, raw readings.
            temperature: Of the plate at each sample, shape (k,), where the drift is per kelvin.

        Returns:
            The recording, declared as read "on_robot" with the plate at the base's origin. Where a reading would lie
            beyond the end, the wrench is NaN and flagged.

        Raises:
            InputError: The log has no plate readings, or the temperature does not fit.
        """
        straight = plate_readings(log) - self.drift * self._away(log, temperature)[:, None]
        rows = increasing(log.time)
        if len(rows) == 0:
            raise InputError("no sample of the log has a time; the lag cannot be removed")
        time = log.time[rows]
        wanted = log.time + self.lag
        wanted = np.where((wanted < time[0]) | (wanted > time[-1]), np.nan, wanted)
        wrench = self.frame.wrench(interpolated(wanted, time, straight[rows]))
        lost = np.isnan(wrench).any(axis=1)
        flags = log.flags.copy() if len(log.flags) else np.zeros(len(log), dtype=np.int64)
        flags[lost] |= int(SampleFlag.WRENCH_INVALID)
        declared = replace(log.declared, sensor_reads="on_robot", T_base_sensor=np.eye(4))
        return replace(log, wrench=wrench, flags=flags, declared=declared)

    def _away(self, log: Log, temperature: npt.ArrayLike | None) -> Array:
        """Return how far each sample is from the reference, in the drift's unit, shape (k,); zeros where unknown."""
        if self.drift_per == "K" and temperature is not None:
            given = np.asarray(temperature, dtype=np.float64)
            if given.shape != (len(log),):
                raise InputError(f"temperature has shape {given.shape}; expected ({len(log)},), one per sample")
            return np.where(np.isfinite(given), given - self.reference, 0.0)
        if self.drift_per == "s" and data_fingerprint(log) == self.data_sha256:
            return log.time - self.reference
        return np.zeros(len(log))

    def save(self, path: str | Path) -> Path:
        """Write the calibration file, all or nothing.

        Returns:
            The file that was written.

        Raises:
            DataFileError: It cannot be written.
        """
        return write_document(path, SCHEMA, VERSION, self)

    @property
    def turn(self) -> PlateTurn:
        """How the sensor's axes are turned against the base's."""
        return PlateTurn.between(self.frame.T_base_sensor[:3, :3], np.eye(3))


def calibrate_sensor(
    robot: Robot,
    log: Log,
    *,
    fit: Collection[str] = PARTS,
    prior: SensorPrior | None = None,
    masses: Masses = "cad",
    cutoff: float | None = None,
    temperature: npt.ArrayLike | None = None,
) -> SensorCalibration:
    """Calibrate a plate from a recording of the robot on it, moving or standing in many poses, touching nothing.

    The sign, the rough axes and the lag are found by comparing all of them (doctor/plate_fit.py); what is declared of
    the plate's pose is only where the search starts.

    Args:
        robot: The robot, mounted as it stood, with masses.
        log: The recording, with the plate's raw readings.
        fit: What is fitted, of "bias", "rotation", "origin", "gain", "lag" and "drift"; the rest stays as declared.
        prior: What is assumed beforehand; None for the defaults of SensorPrior.
        masses: "exact" where the robot's masses are known, "cad" where they are the description's
            (fitting/prior.py), or a factor on that.
        cutoff: Of the low-pass [Hz]; None to choose it from the motion.
        temperature: Of the plate at each sample, shape (len(log),); then the drift is per kelvin.

    Raises:
        InputError: The recording cannot be used, or an argument cannot be.
        ModelError: The robot has no masses.
    """
    parts = _parts(fit)
    spread = parameter_root(robot, masses)
    known = SensorPrior() if prior is None else prior
    data = plate_data(robot, log, cutoff=cutoff, temperature=temperature)
    found = find_start(robot, log, data, parts)
    comparison = PlateComparison(robot, data, spread)
    best = fit_sensor(comparison, found.start, known, parts)
    mounting = best.mounting.canonical()
    spreads = _spreads(comparison, best)
    shown = determined(spreads, parts, data.rate, sign_shown=found.sign_shown)
    residual = _declared_residual(comparison, found), best.residual.std(axis=0)
    changing, constant = _reading_errors(comparison, best)
    reads = "on_robot" if found.start.sign > 0.0 else "on_sensor"
    unit: Literal["s", "K"] = "s" if temperature is None else "K"
    signal = comparison.reading(best.lag).std(axis=0)
    told = sentences(
        mounting=mounting,
        declared=found.declared.mounting,
        reads=reads,
        turned_over=found.start.sign != found.declared.sign,
        lag=best.lag,
        spreads=spreads,
        shown=shown,
        signal=signal,
        residual=residual,
        drift=(best.drift, comparison.span, unit),
        outliers=outlier_share(best),
        masses=str(masses),
    )
    from ... import __version__

    return SensorCalibration(
        frame=WrenchFrame.checked(
            transform(mounting.rotation, mounting.origin), reads, gain=mounting.gain, bias=best.bias
        ),
        lag=best.lag,
        drift=frozen(best.drift),
        drift_per=unit,
        reference=data.reference,
        noise=frozen(best.noise),
        frame_error=frozen(changing),
        zero_error=frozen(constant),
        rotation_std=frozen(spreads.rotation),
        origin_std=frozen(spreads.origin),
        bias_std=frozen(spreads.bias),
        gain_std=frozen(spreads.gain),
        lag_std=spreads.lag,
        drift_std=frozen(spreads.drift),
        determined=shown,
        gain_determined=shown_gains(spreads),
        signal=frozen(signal),
        residual_before=frozen(residual[0]),
        residual_after=frozen(residual[1]),
        heldout=frozen(_heldout(comparison, found, known, parts)),
        masses=str(masses),
        prior=known,
        cutoff=data.cutoff,
        samples=len(data.rows),
        outliers=outlier_share(best),
        sentences=told,
        identity=identity_of(robot),
        data_sha256=data_fingerprint(log),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        package=__version__,
    )


def _parts(fit: Collection[str]) -> tuple[str, ...]:
    unknown = [name for name in fit if name not in PARTS]
    if isinstance(fit, str) or unknown or not fit:
        raise InputError(f"fit is {fit!r}; expected names out of {', '.join(PARTS)}")
    return tuple(name for name in PARTS if name in fit)


def parameter_root(robot: Robot, masses: Masses) -> Array:
    """Return L, with L Lᵀ the covariance of the bodies' ten inertial parameters, shape (10 b, 10 b)."""
    if masses == "exact":
        return parameter_spread(robot, EXACT)
    factor = {"cad": 1.0}.get(masses) if isinstance(masses, str) else float(masses)
    if factor is None or not 0.0 <= factor < 100.0:
        raise InputError(f"masses is {masses!r}; expected 'exact', 'cad' or a factor on the spread of 'cad'")
    return factor * inertial_root(robot)


def _spreads(comparison: PlateComparison, fit: SensorFit) -> Spreads:
    """Return the standard deviations of the canonical split."""
    after = np.sqrt(np.diag(canonical_covariance(fit.mounting, fit.covariance[:MOUNT, :MOUNT])))
    before = np.sqrt(np.diag(canonical_covariance(fit.start.mounting, np.diag(fit.prior_std[:MOUNT] ** 2))))
    std = np.sqrt(np.diag(fit.covariance))
    return Spreads(
        rotation=after[:3],
        origin=np.hypot(after[3:6], ORIGIN_FLOOR) if after[3:6].any() else after[3:6],
        gain=after[6:].reshape(6, 6),
        gain_before=before[6:].reshape(6, 6),
        bias=std[BIAS],
        drift=std[DRIFT],
        drift_before=fit.prior_std[DRIFT],
        lag=math.hypot(float(std[LAG]), LAG_FLOOR / comparison.data.rate) if std[LAG] > 0.0 else 0.0,
        unit=comparison.unit,
    )


def _reading_errors(comparison: PlateComparison, fit: SensorFit) -> tuple[Array, Array]:
    """Return what the spread of frame, zero, drift and lag makes of readings, about their mean and of it, each (6,).

    The mean square over the recording is the sum of the two squares.
    """
    columns = comparison.columns(fit.start, fit.mounting, fit.masses)[:, :, :MASSES]
    covariance = fit.covariance[:MASSES, :MASSES]
    mean = columns.mean(axis=0)
    away = columns - mean
    changing = np.einsum("kci,ij,kcj->c", away, covariance, away, optimize=True) / len(columns)
    constant = np.einsum("ci,ij,cj->c", mean, covariance, mean)
    return np.sqrt(np.maximum(changing, 0.0)), np.sqrt(np.maximum(constant, 0.0))


def _declared_residual(comparison: PlateComparison, found: FoundStart) -> Array:
    """Return what the plate as declared leaves, a constant aside, shape (6,)."""
    declared = found.declared
    left = comparison.reading(0.0) - declared.sign * comparison.wrench @ declared.mounting.matrix.T
    std: Array = left.std(axis=0)
    return std


def _heldout(comparison: PlateComparison, found: FoundStart, prior: SensorPrior, parts: Collection[str]) -> Array:
    """Return what is left of the end of the recording when it is predicted from the rest, a constant aside, (6,)."""
    data: PlateData = comparison.data
    first = round((1.0 - HELD_OUT) * len(data.rows))
    trained = fit_sensor(comparison, found.start, prior, parts, slice(0, first))
    left = (comparison.reading(trained.lag) - comparison.predicted(trained))[first:]
    std: Array = left.std(axis=0)
    return std


def load_sensor_calibration(path: str | Path, robot: Robot) -> SensorCalibration:
    """Read a calibrated plate for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter.

    Raises:
        DataFileError: The file cannot be read, is of another kind, is damaged, was written by another version, or
            belongs to another robot or mounting; the message says which.
    """
    kind = "calibrated plate"
    return read_for_robot(path, robot, SensorCalibration, _checked, schema=SCHEMA, version=VERSION, kind=kind)


def _checked(found: SensorCalibration) -> SensorCalibration:
    """Return the calibration of a file; refuse numbers that no plate has.

    Raises:
        InputError: A shape does not fit, or a number lies beyond its bound; the message names its field.
    """
    frame = found.frame
    WrenchFrame.checked(frame.T_base_sensor, frame.reads, point=frame.point, gain=frame.gain, bias=frame.bias)
    own = np.diag(frame.gain)
    refuse_beyond("frame.T_base_sensor", frame.T_base_sensor, -MOST_ORIGIN, MOST_ORIGIN)
    refuse_beyond("frame.point", frame.point, -MOST_ORIGIN, MOST_ORIGIN)
    refuse_beyond("frame.gain", own, 1.0 / MOST_GAIN, MOST_GAIN)
    refuse_beyond("frame.gain", frame.gain - np.diag(own), -MOST_GAIN, MOST_GAIN)
    refuse_beyond("frame.bias", frame.bias, -MOST_READING, MOST_READING)
    for name, shape in SPREADS.items():
        refuse_shape(name, getattr(found, name), shape)
        refuse_beyond(name, getattr(found, name), 0.0, MOST_READING)
    refuse_shape("drift", found.drift, (6,))
    refuse_shape("gain_determined", found.gain_determined, (6, 6))
    refuse_beyond("drift", found.drift, -MOST_READING, MOST_READING)
    refuse_beyond("lag", found.lag, -MOST_LAG, MOST_LAG)
    refuse_beyond("lag_std", found.lag_std, 0.0, np.inf)
    refuse_beyond("reference", found.reference, -1e15, 1e15)
    refuse_beyond("cutoff", found.cutoff, 0.0, MOST_READING)
    refuse_beyond("samples", found.samples, 0.0, 1e15)
    refuse_beyond("outliers", found.outliers, 0.0, 1.0)
    return found
