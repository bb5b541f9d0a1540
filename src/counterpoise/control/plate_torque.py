"""Joint torques from the plate at control rate, with a quick look at whether they may be used.

``BaseSensor.estimate`` also gives standard deviations and looks for contacts, in some hundred microseconds. A loop that
only feeds the torque back needs the torque, and to know at once when it is none.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Self

import numpy as np

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array
from ..recording import Sample, SampleFlag
from ..sensing import FORMS, BaseSensor, EstimateFlag

_WRENCH_INVALID, _Q_INVALID = int(SampleFlag.WRENCH_INVALID), int(SampleFlag.Q_INVALID)
_SATURATED = int(SampleFlag.WRENCH_SATURATED)

Refusal = tuple[EstimateFlag, str]
"""Why a reading may not be used: as a flag, and in words."""

_USABLE: Refusal = (EstimateFlag.NONE, "")


class PlateTorque:
    """Reads the torques τ_d of a base sensor, sample by sample ([Morel2000], eqs. 21 and 23; B and C dropped, eq. 22).

    A reading is refused when it is missing, marked, not finite, at the end of its range, repeated although it should
    have changed (``FrozenWatch`` in sensing/plate/torque_estimate.py), or taken further from the pose of the tare than
    the form is valid.
    With ``thorough=True`` the sensor's own estimate judges instead, contacts included, with the accelerations of its
    filter: for arms with time to spare.

    Attributes:
        sensor: The base sensor.
        value: The torques of the last good reading, without gravity [N m or N], shape (n,); always the same array.
        flags: Why the last reading was refused, with ``thorough`` also what the estimate left out; NONE where it was
            not refused.
        reason: The same in words; "" where it was not refused.
    """

    def __init__(self, sensor: BaseSensor, form: str = "auto", *, thorough: bool = False) -> None:
        """Read ``sensor``.

        Args:
            sensor: The base sensor; tared before the first reading where the form needs it.
            form: "auto", "full", "tared" or "tared+model", as in BaseSensor.joint_torques.
            thorough: Judge by BaseSensor.estimate.

        Raises:
            InputError: ``sensor`` is no base sensor, or the form is unknown.
        """
        if not isinstance(sensor, BaseSensor):
            raise InputError(f"{sensor!r} is no base sensor; make one with cp.BaseSensor(robot, T_base_sensor, reads)")
        if form not in (*FORMS, "auto"):
            raise InputError(f"form is {form!r}; expected 'auto', {', '.join(map(repr, FORMS))}")
        self.sensor = sensor
        self.value = np.zeros(sensor.robot.n)
        self.flags, self.reason = _USABLE
        self._form, self._thorough = form, thorough
        self._frozen = sensor.frozen_watch()
        self._bounded = bool(np.isfinite(sensor.range).any())
        self._away, self._reading = np.zeros(sensor.robot.n), np.zeros(6)
        self.reset()

    def reset(self) -> None:
        """Forget the past readings, and look at the sensor's tare anew.

        Raises:
            ModelError: The form needs masses, of a robot without any.
        """
        self._frozen.reset()
        if self._thorough:
            self.sensor.reset()
        self._used = self._form
        self._centre = self._reach = None
        tare = self.sensor.tare_state
        if tare is None:
            return
        self._used = self.sensor.resolved_form(self._form)
        if self._used != "full":
            self._centre = tare.q
            self._reach = tare.range if self._used == "tared" else tare.model_range

    def with_robot(self, robot: Robot) -> Self:
        """Return the reader for the arm with another payload, going on where this one is.

        Raises:
            InputError: The sensor cannot follow (see BaseSensor.with_robot).
        """
        other = type(self)(self.sensor.with_robot(robot), self._form, thorough=self._thorough)
        other.value[:] = self.value
        other.flags, other.reason = self.flags, self.reason
        other._frozen = copy(self._frozen)
        return other

    def ready(self) -> bool:
        """Say whether the form can be computed: the tare it needs has been taken.

        "auto" needs one here, although the sensor could do without: an offset of the plate, or 5 % of the model's
        weight, would become a constant error of the torque. Who wants that must ask for "full".
        """
        if self._form == "auto":
            return self.sensor.tare_state is not None
        return self._form in self.sensor.forms()

    def read(self, sample: Sample) -> bool:
        """Compute the torques of a sample into ``value``; False, with ``flags`` and ``reason``, where it is refused."""
        if self._thorough:
            return self._read_thoroughly(sample)
        reading = sample.wrench
        if reading is None:
            self.flags, self.reason = EstimateFlag.NO_WRENCH, "the sample has no plate reading"
            return False
        self.flags, self.reason = self._refusal(reading, sample)
        if self.reason:
            return False
        self.sensor.joint_torques(sample.q, reading, None, None, self._used, self.value)
        return True

    def _refusal(self, reading: Array, sample: Sample) -> Refusal:
        """Return why a sample's reading may not be used."""
        flags = int(sample.flags)
        if flags & _WRENCH_INVALID:
            return EstimateFlag.WRENCH_INVALID, "the plant marks the plate's reading as invalid"
        if flags & _Q_INVALID:
            return EstimateFlag.POSITION_INVALID, "the plant marks the joint positions as invalid"
        if not math.isfinite(reading.dot(reading)):
            return EstimateFlag.WRENCH_INVALID, "the plate's reading is not finite"
        if flags & _SATURATED or (self._bounded and (np.abs(reading, out=self._reading) >= self.sensor.range).any()):
            return EstimateFlag.SATURATED, "the plate is at the end of its range"
        if self._frozen.frozen(reading, sample.q):
            ticks = self._frozen.ticks
            return (
                EstimateFlag.FROZEN,
                f"the plate's reading has not changed for {ticks} ticks although it should have",
            )
        return self._too_far(sample.q)

    def _too_far(self, q: Array) -> Refusal:
        """Return which joint is too far from the pose of the tare, where one is."""
        if self._centre is None or self._reach is None:
            return _USABLE
        away = np.subtract(q, self._centre, out=self._away)
        if not (np.abs(away, out=away) > self._reach).any():
            return _USABLE
        joint = int(np.argmax(away / self._reach))
        return (
            EstimateFlag.OUT_OF_TARE_RANGE,
            f"joint '{self.sensor.robot.joint_names[joint]}' is {away[joint]:.3g} from the pose of the tare; the form "
            f"'{self._used}' is valid within {self._reach[joint]:.3g}",
        )

    def _read_thoroughly(self, sample: Sample) -> bool:
        estimate = self.sensor.estimate(sample, form=self._form)
        if not estimate.valid:
            self.flags = estimate.flags
            self.reason = f"the estimate is invalid: {', '.join(estimate.reasons).lower()}"
            return False
        self.value[:] = estimate.value
        self.flags, self.reason = _USABLE
        return True
