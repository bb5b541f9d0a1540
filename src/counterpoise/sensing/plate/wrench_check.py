"""The plate against the model: what the base wrench should be, what it is, and what that makes of every joint.

``JointSummary`` says what a joint's estimated torques are worth over a whole recording, and whether they tell anything
at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, effort_units
from ...foundation import Array
from ...recording import Motion
from .log_estimate import LogEstimate
from .readings import plate_readings
from .sensor import BaseSensor
from .torque_estimate import EstimateFlag


@dataclass(frozen=True, slots=True)
class JointSummary:
    """One joint over the valid samples of a recording, root mean squares.

    Attributes:
        name: The joint.
        unit: Of its torques: N m, or N of a linear joint.
        torque: Of τ_d + g; NaN where no sample is valid.
        band: Of the standard deviation of τ_d + g.
        dynamic: Of τ_d.
        dynamic_band: Of the standard deviation of τ_d.
        signal: What the joint has to tell: the part of ``torque`` that is not band, at most what the model expects.
        valid: Share of the samples that may be relied on.
        effort: Of the measured effort; NaN where there is none.
        effort_difference: Of measured effort − (τ_d + g): friction, rotor inertia, gain and errors of both.
        effort_offset: Mean of the same.
        informative: Whether the band is narrower than the signal.
        why: Why not; empty where it is.
    """

    name: str
    unit: str
    torque: float
    band: float
    dynamic: float
    dynamic_band: float
    signal: float
    valid: float
    effort: float
    effort_difference: float
    effort_offset: float
    informative: bool
    why: str

    @property
    def dynamic_informative(self) -> bool:
        """Whether τ_d alone stands out from its band, in the same sense."""
        return self.informative and self.dynamic**2 > 2.0 * self.dynamic_band**2


def summaries(
    robot: Robot, torque: LogEstimate, dynamic: LogEstimate, effort: Array, check: WrenchCheck | None
) -> tuple[JointSummary, ...]:
    """Return what every joint's torques are worth.

    The estimate itself holds its errors, so that pure noise is as large as its band: the signal is what the mean square
    has beyond that of the band. Where there is a model, it is no more than the model's own torque, for a constant error
    of the masses is large beside its band once in twenty times.

    Args:
        robot: The robot.
        torque: Estimate of τ_d + g.
        dynamic: Estimate of τ_d.
        effort: Measured efforts, NaN where there is none, shape (k, n).
        check: The comparison with the model, or None.
    """
    return tuple(
        _summary(name, unit, joint, torque, dynamic, effort, check)
        for joint, (name, unit) in enumerate(zip(robot.joint_names, effort_units(robot), strict=True))
    )


def _summary(
    name: str,
    unit: str,
    joint: int,
    torque: LogEstimate,
    dynamic: LogEstimate,
    effort: Array,
    check: WrenchCheck | None,
) -> JointSummary:
    rows = torque.valid & np.isfinite(torque.value[:, joint])
    value, band = _rms(torque.value[rows, joint]), _rms(torque.std[rows, joint])
    signal = math.sqrt(max(value**2 - band**2, 0.0)) if rows.any() else 0.0
    if check is not None and rows.any():
        signal = min(signal, _rms(check.torque[rows, joint]))
    both = rows & np.isfinite(effort[:, joint])
    difference = effort[both, joint] - torque.value[both, joint]
    why = ""
    if not rows.any():
        why = "no sample is valid"
    elif not band < signal:
        shown = f"{value:.3g} {unit}"
        if check is not None:
            shown += f" (the model expects {_rms(check.torque[rows, joint]):.3g} {unit})"
        why = f"its torque of {shown} does not stand out from its band of {band:.3g} {unit}"
    return JointSummary(
        name=name,
        unit=unit,
        torque=value,
        band=band,
        dynamic=_rms(dynamic.value[rows, joint]),
        dynamic_band=_rms(dynamic.std[rows, joint]),
        signal=signal,
        valid=float(np.mean(rows)),
        effort=_rms(effort[both, joint]),
        effort_difference=_rms(difference),
        effort_offset=float(difference.mean()) if len(difference) else math.nan,
        informative=not why,
        why=why,
    )


def _rms(values: Array) -> float:
    """Return the root mean square; NaN of nothing."""
    return float(np.sqrt(np.mean(values**2))) if len(values) else math.nan


CHUNK_ROWS = 50_000
BAD = int(EstimateFlag.SATURATED | EstimateFlag.FROZEN | EstimateFlag.STALE)
"""Rows that a comparison leaves out."""


@dataclass(frozen=True, slots=True, eq=False)
class WrenchCheck:
    """Base wrenches on the robot, base axes, at the base origin, [fx, fy, fz, mx, my, mz] in N and N m.

    Attributes:
        measured: What the plate exerts on the robot by its reading, shape (k, 6); NaN where it cannot be used.
        predicted: The same by the model, shape (k, 6).
        torque: Torques at the joints by the model, no friction, no rotor inertia [N m or N], shape (k, n).
        torque_difference: A(q) (measured − predicted): the plate's torque less the model's, shape (k, n).
        tared: Whether constant differences were taken away by a tare.
        signal: Standard deviation of the predicted channels over the recording, shape (6,).
        offset: Mean of measured − predicted, shape (6,).
        left_over: Standard deviation of measured − predicted, shape (6,).
        explained: Share of each channel's variance that the model explains, at most 1, shape (6,).
    """

    measured: Array
    predicted: Array
    torque: Array
    torque_difference: Array
    tared: bool
    signal: Array
    offset: Array
    left_over: Array
    explained: Array


def compared(sensor: BaseSensor, motion: Motion, form: str, flags: npt.NDArray[np.int64]) -> WrenchCheck | None:
    """Compare the plate with the model along a recording.

    Args:
        sensor: The plate.
        motion: Motion at the recording's samples by its measured velocities, with a wrench.
        form: The form in use; the kinematics-only form is compared by the one with the model's gravity.
        flags: EstimateFlag bits of the samples, shape (k,).

    Returns:
        The comparison; None where the robot has no masses.
    """
    robot = sensor.robot
    if not robot.tree.mass.any() or robot.tree.refusal:
        return None
    based = form if form != "tared" else sensor.forms()[0]
    log = motion.log
    reading = np.where(((flags & BAD) != 0)[:, None], np.nan, plate_readings(motion))
    # The tare leaves in what the model says of its pose, so that both sides are whole wrenches.
    measured = reading @ sensor.frame.to_base.T - sensor.offset(based)
    dq, ddq = (np.where(np.isfinite(rate), rate, 0.0) for rate in (motion.dq, motion.ddq))
    q = np.where(np.isfinite(log.q), log.q, 0.0)
    predicted = robot.base_wrench(q, dq, ddq)
    missed = measured - predicted
    missed[~np.isfinite(log.q).all(axis=1)] = np.nan
    rows = np.isfinite(missed).all(axis=1)
    if not rows.any():
        return None
    spread, own = missed[rows].std(axis=0), measured[rows].std(axis=0)
    share = 1.0 - np.divide(spread, own, out=np.ones(6), where=own > 0.0) ** 2
    return WrenchCheck(
        measured=measured,
        predicted=predicted,
        torque=robot.inverse_dynamics(q, dq, ddq),
        torque_difference=_projected(sensor, q, missed),
        tared=based != "full",
        signal=predicted[rows].std(axis=0),
        offset=missed[rows].mean(axis=0),
        left_over=spread,
        explained=share,
    )


def _projected(sensor: BaseSensor, q: Array, wrench: Array) -> Array:
    """Return A(q) w, shape (k, n), in pieces: A of a long recording would fill the memory."""
    result = np.empty((len(q), sensor.robot.n))
    for first in range(0, len(q), CHUNK_ROWS):
        piece = slice(first, first + CHUNK_ROWS)
        result[piece] = np.einsum("kij,kj->ki", sensor.matrix(q[piece]), wrench[piece])
    return result
