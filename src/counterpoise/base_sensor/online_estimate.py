"""The estimate at control rate: a sample's torques, their standard deviations, and what may be wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.sample import Sample
from .linear_table import LinearTable
from .online import OnlineSettings, PlateWatch
from .torque_estimate import UNUSABLE, EstimateFlag, TorqueEstimate

if TYPE_CHECKING:
    from .sensor import BaseSensor


class OnlineEstimate:
    """The on-line side of a base sensor: it keeps the past of the samples.

    Args:
        sensor: The base sensor.
        settings: The numbers.
    """

    def __init__(self, sensor: BaseSensor, settings: OnlineSettings) -> None:
        """Start without a past."""
        self.sensor = sensor
        self.watch = PlateWatch(sensor.robot.n, settings, sensor.range, sensor.frozen_watch())
        self._alone = _carries_everything(sensor.robot)

    def reset(self) -> None:
        """Forget the samples."""
        self.watch.reset()

    def estimate(self, sample: Sample, ddq: npt.ArrayLike | None, form: str, includes_gravity: bool) -> TorqueEstimate:
        """Estimate the torques of the next sample; see BaseSensor.estimate."""
        sensor = self.sensor
        used = sensor.resolved_form(form)
        flags = self.watch.see(sample)
        moves = used != "tared" and not flags & EstimateFlag.NO_VELOCITY
        reading, tare = sample.wrench, sensor.tare_state
        if reading is None or flags & (EstimateFlag.WRENCH_INVALID | EstimateFlag.POSITION_INVALID):
            return self._nothing(sample, flags, used, includes_gravity)
        acceleration, error = self._acceleration(ddq, moves, flags)
        if acceleration is not None:
            flags &= ~EstimateFlag.NO_ACCELERATION
        velocity = sample.dq if moves else None
        try:
            value = sensor.joint_torques(sample.q, reading, velocity, acceleration, used)
        except InputError:
            if not isinstance(sensor.compensator.generator, LinearTable):
                raise
            return self._nothing(sample, flags | EstimateFlag.OUTSIDE_TABLE, used, includes_gravity)
        since = 0.0 if tare is None or tare.time is None else sample.time - tare.time
        std = sensor.std_of(sample.q, used, error, since, includes_gravity)
        if includes_gravity:
            value = value + sensor.robot.gravity(sample.q)
        if tare is not None and used != "full" and bool(tare.left(sample.q, model=used == "tared+model")):
            flags |= EstimateFlag.OUT_OF_TARE_RANGE
        good = not flags & UNUSABLE
        joints = np.full(sensor.robot.n, good)
        known = not flags & (EstimateFlag.NO_ACCELERATION | EstimateFlag.NO_VELOCITY)
        if used != "tared" and good and known and self._touched(sample, velocity, acceleration, error, used, since):
            flags |= EstimateFlag.CONTACT
            joints &= self._alone
        return TorqueEstimate(value, std, bool(joints.all()), joints, flags, includes_gravity, used, float(sample.time))

    def _acceleration(
        self, given: npt.ArrayLike | None, moves: bool, flags: EstimateFlag
    ) -> tuple[Array | None, Array | None]:
        """Return the acceleration to use and its standard deviation, both None where there is none."""
        if not moves:
            return None, None
        known = self.sensor.variance.uncertainty.acceleration
        if given is not None:
            return np.asarray(given, dtype=np.float64), known
        if flags & EstimateFlag.NO_ACCELERATION:
            return None, None
        return self.watch.filter.acceleration, np.hypot(known, self.watch.filter.lag_error)

    def _touched(
        self,
        sample: Sample,
        velocity: Array | None,
        acceleration: Array | None,
        error: Array | None,
        form: str,
        since: float,
    ) -> bool:
        """Say whether the base wrench shows more than the model explains."""
        sensor = self.sensor
        if sample.wrench is None or sensor.robot.tree.refusal or not sensor.robot.tree.mass.any():
            return False
        q, tare = sample.q, sensor.tare_state if form != "full" else None
        measured = sensor.frame.to_base @ sample.wrench - sensor.offset(form)
        dynamic = sensor.compensator.dynamic_wrench(q, measured)
        if velocity is not None or acceleration is not None:
            dynamic = dynamic - (sensor.robot.base_wrench(q, velocity, acceleration) - sensor.robot.base_wrench(q))
        reading = sensor.variance.reading_variance(
            tare is not None, None if tare is None else tare.reading_variance, since
        )
        start = None if tare is None else tare.q
        return self.watch.contact(
            dynamic, sensor.variance.wrench_std(q, reading, q_tare=start, gravity=True, acceleration=error)
        )

    def _nothing(self, sample: Sample, flags: EstimateFlag, form: str, includes_gravity: bool) -> TorqueEstimate:
        n = self.sensor.robot.n
        missing, unknown = np.full(n, np.nan), np.full(n, np.inf)
        none = np.zeros(n, dtype=bool)
        return TorqueEstimate(missing, unknown, False, none, flags, includes_gravity, form, float(sample.time))


def _carries_everything(robot: Robot) -> npt.NDArray[np.bool_]:
    """Say of each joint whether every moving link is distal to it, shape (n,): no contact can corrupt its estimate."""
    tree = robot.tree
    first = [int(tree.q_index[body]) for body in range(tree.bodies) if tree.parent[body] < 0]
    return np.array([len(first) == 1 and joint == first[0] for joint in range(robot.n)])
