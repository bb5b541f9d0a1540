"""Careful fits by hand to the eight real recordings, and their test samples: filters and splits of their README.

Every recording has a filter, a division into what is fitted and what is tested, and published errors. The README's
standard deviations are those of the tested samples; they tell how its words "30–50 samples cut" are to be read. The
fits are made again here: least squares on rigid bodies, rotors and friction Fc·tanh(dq/v0) + Fv·dq + offset, held to
the description by a ridge (certificate_real.py). The README does not give the ridge of each fit, so figures differ from
the published ones; both are kept. Joint order is that of the description's robot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from certificate_arms import Array
from certificate_dynamics import Dynamics
from certificate_paths import Motion
from certificate_real import drive_columns, ridge_sizes, ridged
from certificate_recordings import MAPPINGS, Recording, model_file, read_recording, shared_file
from scipy.signal import butter, medfilt, sosfiltfilt

import counterpoise as cp
from counterpoise.fitting import Samples, Terms, scaled_coupling
from counterpoise.identification import Fit, effort_of, moving_samples, prepare
from counterpoise.recording import Declared, VelocityFrom

BoolArray = npt.NDArray[np.bool_]

FITTED_ROWS = 3000
"""Samples that a fit by hand takes, evenly chosen."""
TESTED_ROWS = 1500
"""Samples by which its errors are found again, evenly chosen: the filters leave far fewer independent ones."""
SHARE = 0.6
"""Share of a path that is fitted, where one recording is divided."""


@dataclass(frozen=True, slots=True)
class HandFilter:
    """A filter of the README: zero-phase Butterworth, central differences.

    Attributes:
        cutoff: Of positions, velocities and efforts [Hz].
        cut: Samples, of the filtered rate, that are cut off at each end.
        every: One in so many samples is tested.
        order: Of the filter.
        rate: The recording is resampled to this first [Hz]; None for not.
        median: Samples of a median filter that comes first; 0 for none.
        speed: Order and cutoff [Hz] for velocities and accelerations, where they have their own.
    """

    cutoff: float
    cut: int
    every: int = 1
    order: int = 4
    rate: float | None = None
    median: int = 0
    speed: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class HandFit:
    """A recording, or several of one arm, and what a careful fit by hand reaches on samples that it has not seen.

    Attributes:
        arm: What it is.
        fitted: Recordings that are fitted, as certificate_recordings.py calls them.
        tested: The one that is tested: another one, or the rest of the one that is fitted.
        part: "first" or "last" 60 % of the distinct path are fitted; "all" where another recording is tested.
        filter: The filter.
        published: Held-out root mean square errors of the README [N m].
        signal: Standard deviations of the tested efforts [N m], where our efforts have another unit.
        gravity_only: Whether the fit by hand has no inertias.
        left_out: Joints of which the recording tells nothing, by place among the measured ones.
    """

    arm: str
    fitted: tuple[str, ...]
    tested: str
    part: str
    filter: HandFilter
    published: tuple[float, ...]
    signal: tuple[float, ...] = ()
    gravity_only: bool = False
    left_out: tuple[int, ...] = ()


_KR300 = HandFilter(8.0, 30, every=3)
_LWR4 = HandFilter(8.0, 100, every=4, median=11, speed=(5, 6.0))
_PANDA_1KHZ = HandFilter(8.0, 100, rate=500.0)
HAND_FITS = {
    "panda, first part": HandFit(
        *("Panda", ("panda",), "panda", "first", HandFilter(3.0, 30)), (0.21, 0.87, 0.13, 0.15, 0.11, 0.10, 0.06)
    ),
    "panda, last part": HandFit(
        *("Panda", ("panda",), "panda", "last", HandFilter(3.0, 30)), (0.21, 0.40, 0.10, 0.20, 0.10, 0.05, 0.07)
    ),
    "ur10, first part": HandFit(
        *("UR10", ("ur10",), "ur10", "first", HandFilter(5.0, 30)), (2.5, 7.3, 2.2, 1.0, 0.48, 2.6)
    ),
    "ur10, last part": HandFit(
        *("UR10", ("ur10",), "ur10", "last", HandFilter(5.0, 30)), (2.6, 3.1, 2.7, 1.3, 0.36, 1.2)
    ),
    "lbr med 7": HandFit(
        *("LBR Med 7", ("lbrmed7",), "lbrmed7", "first", HandFilter(2.5, 40)), (0.66, 2.0, 0.34, 0.45, 0.26, 0.20, 0.32)
    ),
    "tiago": HandFit(
        *("TIAGo arm 1–4", ("tiago",), "tiago", "first", HandFilter(5.0, 40)),
        (0.64, 1.5, 0.65, 0.67),
        (3.3, 6.7, 3.8, 4.3),
        gravity_only=True,
    ),
    "tx40": HandFit(
        *("TX40", ("tx40",), "tx40", "first", HandFilter(20.0, 50, every=5)), (2.0, 4.0, 1.1, 0.57, 1.05, 1.09)
    ),
    "panda 1 kHz, first part": HandFit(
        *("Panda 1 kHz", ("panda_1khz",), "panda_1khz", "first", _PANDA_1KHZ),
        (0.18, 0.16, 0.18, 0.18, 0.10, 0.06, 0.05),
    ),
    "panda 1 kHz, last part": HandFit(
        *("Panda 1 kHz", ("panda_1khz",), "panda_1khz", "last", _PANDA_1KHZ), (0.20, 0.22, 0.19, 0.17, 0.13, 0.04, 0.04)
    ),
    "kr300": HandFit(
        *("KR300", ("kr300 A", "kr300 B"), "kr300 C", "all", _KR300), (242.0, 644.0, 400.0, 63.0, 118.0, 49.0)
    ),
    "lwr4": HandFit(
        *("LWR4", ("lwr4 1", "lwr4 2"), "lwr4 3", "all", _LWR4),
        (0.74, 0.48, 0.47, 0.65, 0.36, 0.22, 0.41),
        left_out=(6,),
    ),
}
_MODELS = {
    "panda": ("panda.urdf", "panda", ("ur10_panda/panda_exciting_trajectory.db3",)),
    "ur10": ("ur10_robot.urdf", "ur10", ("ur10_panda/ur10_exciting_trajectory.db3",)),
    "lbrmed7": ("data/lbrmed7/med7dock.urdf", "lbr_med7", ("lbrmed7/measurements.csv",)),
    "tiago": (
        *("data/tiago/tiago_48_schunk.urdf", "tiago"),
        tuple(f"tiago/tiago_{kind}.csv" for kind in ("position", "velocity", "effort")),
    ),
    "tx40": ("data/tx40/tx40_mdh_modified.urdf", "tx40", ("tx40/pos_read_data.csv", "tx40/curr_data.csv")),
    "panda_1khz": ("panda.urdf", "", ()),
    "kr300": ("data/kr300/kr300.toml", "", ()),
    "lwr4": ("data/lwr4/kuka_lwr4.urdf", "", ()),
}
"""Model, mapping and files of each arm; without a mapping the study's own reader makes the log."""


def model_of(name: str) -> Path:
    """Return the file of a recording's model.

    Raises:
        FileNotFoundError: It is not there.
    """
    return model_file(_MODELS[name.partition(" ")[0]][0])


def read_log(name: str, robot: cp.Robot) -> cp.Log:
    """Read a recording as a user would: through its mapping, or with columns that need none."""
    _, mapping, files = _MODELS[name.partition(" ")[0]]
    if mapping:
        return cp.read_log([shared_file(f"data/{file}") for file in files], robot, MAPPINGS / f"{mapping}.toml")
    recording = read_recording(name)
    order = [robot.joint_names.index(joint) for joint in recording.arm.joint_names]
    q, dq = np.zeros((2, len(recording.time), robot.n))
    tau = np.full(q.shape, np.nan)
    q[:, order] = recording.q
    dq[:, order] = np.gradient(recording.q, recording.time, axis=0) if recording.dq is None else recording.dq
    tau[:, order] = recording.effort  # of joints that tell nothing, too: that is for the product to find
    source: VelocityFrom = "position" if recording.dq is None else "measured"
    declared = Declared(velocity_from=source, effort_kind="torque", effort_side="link")
    return cp.Log(robot.joint_names, recording.time, q, dq, tau, declared=declared)


def calibrated(hand: HandFit, robot: cp.Robot, logs: Mapping[str, cp.Log]) -> Fit:
    """Calibrate with default settings on what the hand fit was fitted to.

    A recording that is divided is filtered as a whole and then divided, as the hand fit does it; how it is filtered is
    chosen from the rows that are fitted. The doctor is not asked: it has no part in the fit.

    Args:
        hand: The hand fit.
        robot: The robot as described.
        logs: The logs by recording.
    """
    first, *others = (logs[name] for name in hand.fitted)
    if hand.part == "all":
        return cp.calibrate(robot, first, also=others, findings=())
    rows = _fitted(hand, first.time - first.time[0])
    samples = moving_samples(robot, first, preparation=prepare(robot, first[rows]))
    chosen = samples[_fitted(hand, samples.time - first.time[0])]
    # Samples do not say that their efforts are currents. Terms that are given switch off the look for springs.
    terms = Terms.moving(first.declared) if first.declared.effort_is_command else None
    return cp.calibrate(robot, chosen, terms=terms, findings=())


def _fitted(hand: HandFit, time: Array) -> BoolArray:
    """Say whether what was recorded so long after the begin [s] is fitted, shape (k,)."""
    if hand.part == "all":
        return np.ones(len(time), dtype=bool)
    recording = read_recording(hand.tested)
    ends = hand.filter.cut / (hand.filter.rate or (len(recording.time) - 1) / float(np.ptp(recording.time)))
    kept = recording.along[(recording.time >= ends) & (recording.time <= recording.time[-1] - ends)]
    along = recording.along[np.clip(np.searchsorted(recording.time, time), 0, len(recording.time) - 1)]
    # The path is divided after its ends are cut off: only so do the tested signals have the README's deviations.
    share = (along - kept.min()) / float(np.ptp(kept))
    return np.asarray(share < SHARE if hand.part == "first" else share > 1.0 - SHARE)


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """A log after a hand fit's filter, robot's order. k samples.

    Attributes:
        time: Instants [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        dq: Velocities, shape (k, n).
        ddq: Accelerations, shape (k, n).
        effort: Efforts at the links, shape (k, n); NaN where there is none.
        filter: The filter.
        rate: Samples per second [Hz].
    """

    time: Array
    q: Array
    dq: Array
    ddq: Array
    effort: Array
    filter: HandFilter
    rate: float

    def smooth(self, values: Array) -> Array:
        """Put other values at these samples through the filter of the efforts, shape (k, …)."""
        return _low_passed(values, self.rate, self.filter.order, self.filter.cutoff)

    @property
    def whole(self) -> BoolArray:
        """Which samples are left at the ends, thinned, shape (k,)."""
        at = np.arange(len(self.time))
        inside = (at >= self.filter.cut) & (at < len(at) - self.filter.cut)
        return np.asarray(inside & (at % self.filter.every == 0))


def filtered(robot: cp.Robot, log: cp.Log, chosen: HandFilter) -> Filtered:
    """Put a log through a hand fit's filter."""
    rate = chosen.rate or (len(log.time) - 1) / float(np.ptp(log.time))
    grid = np.arange(log.time[0], log.time[-1] + 0.5 / rate, 1.0 / rate)
    channels = [log.q, effort_of(robot, log)]
    measured = log.declared.velocity_from == "measured" and np.isfinite(log.dq).all()
    channels += [log.dq] if measured else []
    even = [np.column_stack([np.interp(grid, log.time, column) for column in values.T]) for values in channels]
    if chosen.median:
        even = [np.column_stack([medfilt(column, chosen.median) for column in values.T]) for values in even]
    order, cutoff = chosen.speed or (chosen.order, chosen.cutoff)
    q, effort = (_low_passed(values, rate, chosen.order, chosen.cutoff) for values in even[:2])
    dq = _low_passed(even[2], rate, order, cutoff) if measured else np.gradient(q, 1.0 / rate, axis=0)
    ddq = np.gradient(dq, 1.0 / rate, axis=0)
    if chosen.speed:
        ddq = _low_passed(ddq, rate, order, cutoff)
    return Filtered(grid, q, dq, ddq, effort, chosen, rate)


def _low_passed(values: Array, rate: float, order: int, cutoff: float) -> Array:
    """Low-pass columns without phase; a column that is not a number throughout stays so."""
    known = np.isfinite(values).all(axis=0)
    found = np.full(values.shape, np.nan)
    low = butter(order, min(cutoff / (0.5 * rate), 0.99), output="sos")
    found[:, known] = sosfiltfilt(low, values[:, known], axis=0)
    return found


def tested_rows(hand: HandFit, samples: Filtered) -> BoolArray:
    """Return which samples of the tested recording are tested, shape (k,)."""
    if hand.part == "all":
        return samples.whole
    return samples.whole & ~_fitted(hand, samples.time - samples.time[0])


def our_errors(fit: Fit, log: cp.Log, samples: Filtered, rows: BoolArray) -> Array:
    """Return a calibration's error on samples of a hand fit, root mean square, of the measured joints, shape (a,).

    Args:
        fit: The calibration.
        log: The log that the samples are of.
        samples: The log after the filter.
        rows: Which samples.
    """
    matrix, v0 = log.declared.motor_per_link, fit.data.v0
    coupling = np.eye(fit.robot.n) if matrix is None else scaled_coupling(matrix)
    # Friction is a square wave: the efforts that it causes went through the filter, so it does, too.
    direction = samples.smooth(np.tanh(samples.dq @ coupling.T / v0))
    coupled = matrix is not None and bool(np.any(matrix - np.diag(np.diag(matrix))))
    chosen = Samples(
        fit.robot.joint_names,
        samples.time[rows],
        samples.q[rows],
        samples.dq[rows],
        samples.ddq[rows],
        samples.effort[rows],
        v0,
        direction=direction[rows],
        motor_per_link=matrix if coupled else None,
    )
    missed = (samples.effort[rows] - fit.predict(chosen))[:, fit.model.active]
    return np.asarray(np.sqrt(np.mean(missed**2, axis=0)))


def hand_errors(hand: HandFit, robot: cp.Robot, logs: Mapping[str, cp.Log], active: BoolArray) -> Array:
    """Fit by hand again and return its error on its test samples, root mean square, of the active joints, shape (a,).

    Args:
        hand: The hand fit.
        robot: The robot as described.
        logs: The logs by recording.
        active: Which joints have an effort, robot's order, shape (n,).
    """
    recording = read_recording(hand.tested)
    order = np.array([robot.joint_names.index(joint) for joint in recording.arm.joint_names])
    used = active[order]
    dynamics = Dynamics(recording.arm)
    # Efforts in another unit than the description's torques are made as large as these, and errors turned back.
    scale = _scale(recording, robot, logs[hand.tested], used, order)
    rows, efforts = [], []
    for name in hand.fitted:
        samples = filtered(robot, logs[name], hand.filter)
        at = np.flatnonzero(samples.whole & _fitted(hand, samples.time - samples.time[0]))
        at = at[:: max(1, len(at) * len(hand.fitted) // FITTED_ROWS)]
        rows.append(_rows(hand, recording, dynamics, samples, order, at)[:, used])
        efforts.append((samples.effort[:, order] * scale)[at][:, used])
    A, y = np.concatenate(rows), np.concatenate(efforts)
    described = dynamics.parameters
    start = np.concatenate([described, np.zeros(A.shape[2] - len(described))])
    size = np.concatenate([ridge_sizes(described), np.full(len(start) - len(described), 10.0 * np.abs(y).max())])
    x = ridged(A, y, start, size)
    samples = filtered(robot, logs[hand.tested], hand.filter)
    at = np.flatnonzero(tested_rows(hand, samples))
    at = at[:: max(1, len(at) // TESTED_ROWS)]
    predicted = _rows(hand, recording, dynamics, samples, order, at) @ x / scale
    missed = np.full(robot.n, np.nan)
    missed[order] = np.sqrt(np.mean((samples.effort[at][:, order] - predicted) ** 2, axis=0))
    return missed[active]


def _scale(recording: Recording, robot: cp.Robot, log: cp.Log, used: BoolArray, order: npt.NDArray[np.int64]) -> Array:
    """Return the study's torques over the log's efforts, shape (n,)."""
    ours = effort_of(robot, log)[:, order]
    found = np.ones(len(order))
    found[used] = np.std(recording.effort[:, used], axis=0) / np.nanstd(ours[:, used], axis=0)
    return np.where(np.abs(found - 1.0) < 0.01, 1.0, found)


def _rows(
    hand: HandFit,
    recording: Recording,
    dynamics: Dynamics,
    samples: Filtered,
    order: npt.NDArray[np.int64],
    at: npt.NDArray[np.int64],
) -> Array:
    motion = Motion(samples.time, samples.q[:, order], samples.dq[:, order], samples.ddq[:, order])
    found = drive_columns(recording, dynamics, motion, at)
    if hand.gravity_only:
        bodies = len(dynamics.parameters)
        found[:, :, :bodies] = dynamics.rows(motion.q[at])
    return found
