"""The plate against the model: what the base wrench should be, what it is, and what that makes of every joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..logs.filters import smoothed
from ..logs.log import Log
from .plate_readings import plate_readings
from .sensor import BaseSensor
from .torque_estimate import EstimateFlag

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


def compared(
    sensor: BaseSensor, log: Log, form: str, flags: npt.NDArray[np.int64], cutoff: float
) -> WrenchCheck | None:
    """Compare the plate with the model along a recording.

    Args:
        sensor: The plate.
        log: The recording in order of time, with a wrench.
        form: The form in use; the kinematics-only form is compared by the one with the model's gravity.
        flags: EstimateFlag bits of the samples, shape (k,).
        cutoff: Cutoff of velocities and readings [Hz].

    Returns:
        The comparison; None where the robot has no masses.
    """
    robot = sensor.robot
    if not robot.tree.mass.any() or robot.tree.refusal:
        return None
    based = form if form != "tared" else sensor.forms()[0]
    reading = smoothed(log.time, plate_readings(log), cutoff)
    reading[(flags & BAD) != 0] = np.nan
    # The tare leaves in what the model says of its pose, so that both sides are whole wrenches.
    measured = reading @ sensor.frame.to_base.T - sensor.offset(based)
    rates = [smoothed(log.time, log.dq, cutoff, derivative=order) for order in (0, 1)]
    dq, ddq = (np.where(np.isfinite(rate), rate, 0.0) for rate in rates)
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
