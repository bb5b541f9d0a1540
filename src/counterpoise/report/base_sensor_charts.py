"""Charts of a plate's torques: joints with bands beside the motor's effort, the plate beside the model, friction."""

from __future__ import annotations

import numpy as np

from ..base_sensor.plate_friction import PlateFriction
from ..base_sensor.recording_torques import RecordingTorques
from ..base_sensor.wrench_check import WrenchCheck
from ..description.frozen import Array
from ..dynamics.joint_units import WRENCH_UNITS, effort_units, position_units
from ..dynamics.reference import WRENCH_COMPONENTS
from ..dynamics.robot import Robot
from .charts import BLUE, GREEN, GREY, ORANGE, Chart, Series, time_chart
from .point_charts import Cloud, PointPanel, point_chart

PLATE, MOTOR, MODEL = BLUE, ORANGE, GREEN
BAND = 2.0
"""Standard deviations on either side of a line that are shaded."""


def torque_chart(found: RecordingTorques) -> Chart:
    """Return τ_d + g by the plate with its band, beside the motor's effort and the model, one panel per joint."""
    plate, band = _told(found, found.torque.value), _told(found, found.torque.std)
    series = [Series("plate, band of two deviations", plate, PLATE, band=BAND * band)]
    if found.check is not None:
        series.append(Series("model", found.check.torque, MODEL, "dash"))
    if not found.effort_note:
        series.insert(0, Series("motor effort", found.effort, MOTOR))
    remarks = [
        f"± {joint.band:.2g} {joint.unit}" if joint.informative else "no information from the plate"
        for joint in found.joints
    ]
    titles = [joint.name for joint in found.joints]
    return time_chart(_seconds(found), series, titles, effort_units(found.robot), remarks=remarks)


def dynamic_chart(found: RecordingTorques) -> Chart:
    """Return τ_d by the plate with its band beside the model, of the joints that the plate tells something of."""
    kept = [place for place, joint in enumerate(found.joints) if joint.informative]
    value, std = found.dynamic.value[:, kept], found.dynamic.std[:, kept]
    hidden = ~found.dynamic.valid[:, None] | ~np.isfinite(std)
    series = [
        Series(
            "plate, band of two deviations",
            np.where(hidden, np.nan, value),
            PLATE,
            band=np.where(hidden, np.nan, BAND * std),
        )
    ]
    if found.check is not None:
        motion = (found.check.torque - found.robot.gravity(_finite(found.log.q)))[:, kept]
        series.append(Series("model", motion, MODEL, "dash"))
    units = effort_units(found.robot)
    titles = [found.joints[place].name for place in kept]
    remarks = [f"± {found.joints[place].dynamic_band:.2g} {units[place]}" for place in kept]
    return time_chart(_seconds(found), series, titles, [units[place] for place in kept], remarks=remarks)


def wrench_chart(found: RecordingTorques, check: WrenchCheck) -> Chart:
    """Return the base wrench by plate and model, one panel per channel."""
    remarks = [
        f"left over {left:.2g} of {signal:.2g} {unit}"
        for left, signal, unit in zip(check.left_over, check.signal, WRENCH_UNITS, strict=True)
    ]
    measured = check.measured - np.nanmean(check.measured, axis=0)
    predicted = check.predicted - check.predicted.mean(axis=0)
    series = [Series("plate", measured, PLATE), Series("model", predicted, MODEL, "dash")]
    caption = "Means are taken away: a zero that is off would hide everything else."
    return time_chart(_seconds(found), series, WRENCH_COMPONENTS, WRENCH_UNITS, remarks=remarks, caption=caption)


def residual_chart(found: RecordingTorques, check: WrenchCheck) -> Chart:
    """Return plate less model, one panel per channel."""
    remarks = [f"mean {mean:+.2g} {unit}" for mean, unit in zip(check.offset, WRENCH_UNITS, strict=True)]
    return time_chart(
        _seconds(found),
        [Series("plate − model", check.measured - check.predicted, GREY)],
        WRENCH_COMPONENTS,
        WRENCH_UNITS,
        remarks=remarks,
    )


def friction_chart(robot: Robot, friction: PlateFriction) -> Chart | None:
    """Return friction over velocity with its band, a panel for every joint whose friction is known; None for none."""
    panels = []
    units, positions = effort_units(robot), position_units(robot)
    for joint, unit, position in zip(friction.joints, units, positions, strict=True):
        curve = joint.curve
        if not joint.determined or curve is None:
            continue
        sides = [curve.velocity < 0.0, curve.velocity > 0.0]
        clouds = tuple(
            Cloud(
                "friction, band of two deviations",
                curve.velocity[side],
                curve.friction[side],
                PLATE,
                "lines",
                band=BAND * curve.std[side],
            )
            for side in sides
            if side.any()
        )
        gain = (
            f"torque gain {joint.gain:.3f} ± {joint.gain_std:.3f}" if joint.gain_determined else "torque gain not told"
        )
        panels.append(PointPanel(joint.name, gain, f"velocity [{position}/s]", f"friction [{unit}]", clouds))
    if not panels:
        return None
    return point_chart(panels, caption="The gap about zero was not fitted: there a joint does not slide yet.")


def _told(found: RecordingTorques, values: Array) -> Array:
    """Return values with NaN for samples that are not valid and joints that the plate tells nothing of."""
    shown = np.array([joint.informative for joint in found.joints])
    kept = found.torque.valid[:, None] & shown & np.isfinite(values)
    return np.where(kept, values, np.nan)


def _seconds(found: RecordingTorques) -> Array:
    """Return times from the first sample [s]."""
    times: Array = found.log.time - found.log.time[0]
    return times


def _finite(q: Array) -> Array:
    filled: Array = np.where(np.isfinite(q), q, 0.0)
    return filled
