"""A recording behind the plant protocol: a controller sees what the arm saw, and what it would have sent is kept."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Literal, Self

import numpy as np

from ..control import PlateInfo
from ..dynamics import Robot
from ..errors import EndOfLogError, InputError, PlantError
from ..foundation import Array, frozen
from ..recording import Log, Sample


class ReplayPlant:
    """Plays a log back, one sample per write; nothing moves.

    Limits are the robot's where one is given. ``effort_kind``, ``adds_gravity`` and the plate's convention are what the
    log declares.

    Attributes:
        log: What is played.
        joint_names: Names of the n joints.
        dt: Time between two ticks [s].
        lower: Lower position limits [rad or m], shape (n,).
        upper: Upper position limits [rad or m], shape (n,).
        velocity_limit: Largest speeds [rad/s or m/s], shape (n,).
        effort_limit: Largest torques [N m or N], shape (n,).
        adds_gravity: Whether the recorded arm's controller added gravity.
        effort_kind: What the log's efforts are.
        watchdog: ``dt``: no torque outlives its tick, as none is applied.
        stop: "brake": what is played back stays where it is.
        plate: The plate under the base, if wrenches were recorded.
    """

    stop: Literal["zero", "brake"] = "brake"

    def __init__(
        self, log: Log, robot: Robot | None = None, *, dt: float | None = None, plate: PlateInfo | None = None
    ) -> None:
        """Prepare to play a log.

        Args:
            log: The recording.
            robot: The arm, for its limits; its joints must be the log's.
            dt: Time between two ticks [s]; None for the median of the log.
            plate: The plate; None takes the convention the log declares, at the base's origin unless it says where.

        Raises:
            InputError: The robot has other joints, the efforts are the motors' own, or ``dt`` cannot be had.
        """
        n = len(log.joint_names)
        if robot is not None and robot.joint_names != log.joint_names:
            raise InputError(
                f"the log's joints {list(log.joint_names)} are not the robot's {list(robot.joint_names)}; names and "
                "order must be the same"
            )
        if log.declared.effort_side == "motor":
            raise InputError(
                "the log's efforts are on the motor side, a plant's on the link side; read the recording with a "
                "mapping that gives its gear ([motor] ratio or motor_per_link)"
            )
        self.log = log
        self.joint_names = log.joint_names
        self.dt = _time_step(log, dt)
        unlimited = np.full(n, np.inf)
        self.lower = frozen(-unlimited if robot is None else robot.lower)
        self.upper = frozen(unlimited if robot is None else robot.upper)
        self.velocity_limit = frozen(unlimited if robot is None else robot.velocity_limit)
        self.effort_limit = frozen(unlimited if robot is None else robot.effort_limit)
        self.adds_gravity = bool(log.declared.adds_gravity)
        self.effort_kind: Literal["torque", "current"] = log.declared.effort_kind or "torque"
        self.watchdog: float | None = self.dt
        self.plate = plate if plate is not None or log.wrench is None else _plate(log)
        self._index = 0
        self._entered = False
        self._stopped = False
        self._written = np.full((len(log), n), np.nan)

    @property
    def exhausted(self) -> bool:
        """Whether every sample has been played."""
        return self._index >= len(self.log)

    @property
    def written(self) -> Array:
        """What was written after each sample so far [N m or N], shape (k, n)."""
        return frozen(self._written[: self._index])

    def __enter__(self) -> Self:
        """Start from the first sample."""
        self._index = 0
        self._entered = True
        self._stopped = False
        self._written[:] = np.nan
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop playing; what was written can still be had."""
        self.emergency_stop()
        self._entered = False

    def read(self) -> Sample:
        """Return the present sample.

        Raises:
            EndOfLogError: All have been played.
            PlantError: The plant is not switched on.
        """
        self._require_sample()
        return self.log.sample(self._index)

    def write(self, tau: Array) -> Array:
        """Keep ``tau`` [N m or N], shape (n,), beside the present sample, go to the next, and return it.

        Raises:
            EndOfLogError: All samples have been played.
            InputError: tau is not n numbers.
            PlantError: The plant is not switched on.
        """
        self._require_sample()
        given = np.asarray(tau)
        if given.shape != (len(self.joint_names),) or given.dtype.kind not in "fiu":
            raise InputError(f"tau is {given.dtype} of shape {given.shape}; expected {len(self.joint_names)} torques")
        row = self._written[self._index]
        row[:] = 0.0 if self._stopped else given
        self._index += 1
        return frozen(row)

    def emergency_stop(self) -> None:
        """Send nothing from here on."""
        self._stopped = True

    def _require_sample(self) -> None:
        if not self._entered:
            raise PlantError("the plant is not switched on; use it inside 'with plant:'")
        if self.exhausted:
            raise EndOfLogError(f"the log ends after {len(self.log)} samples, at {self.log.time[-1]:g} s")


def _time_step(log: Log, given: float | None) -> float:
    if given is None:
        steps = np.diff(log.time)
        steps = steps[np.isfinite(steps) & (steps > 0.0)]
        given = float(np.median(steps)) if steps.size else math.nan
    if not 1e-6 <= given <= 10.0:
        raise InputError(f"the time between samples is {given!r} s; expected 1e-6 to 10: give dt=")
    return float(given)


def _plate(log: Log) -> PlateInfo | None:
    declared = log.declared
    if declared.sensor_reads is None:
        return None
    pose = np.eye(4) if declared.T_base_sensor is None else declared.T_base_sensor
    return PlateInfo(reads=declared.sensor_reads, T_base_sensor=pose, range=np.full(6, np.inf))
