"""The page of a plate's torques: may they be used, what each joint shows, do plate and model agree, what is unknown.

Its charts show joints with bands beside the motor's effort, the plate beside the model, and friction.
"""

from __future__ import annotations

import math

import numpy as np

from ..dynamics import WRENCH_COMPONENTS, WRENCH_UNITS, Robot, effort_units, position_units
from ..foundation import Array
from ..sensing import PlateFriction, RecordingTorques, RecordingVerdict, SensorCalibration, WrenchCheck, used_plate
from .charts import BLUE, GREEN, GREY, ORANGE, Chart, Cloud, PointPanel, Series, point_chart, time_chart
from .page import Page, PageSection, PageTable, Paragraph, Part, VerdictBox, check_table, quantity

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
            f"torque gain {joint.gain:.3f} ± {joint.gain_std:.3f}"
            if joint.gain_determined
            else "torque gain not identifiable"
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


CHECKS = {
    "model": "Does the model explain the plate?",
    "plate": "Is the plate mounted as declared?",
    "zero": "Is the plate's zero right?",
    "samples": "Are the samples valid?",
    "joints": "Does the plate have information on a joint?",
}
"""What each check asks."""
MANY = 12
"""Rows from which a table is folded."""


def base_sensor_page(
    title: str, found: RecordingTorques, verdict: RecordingVerdict, friction: PlateFriction | None = None
) -> Page:
    """Return the page of a recording's torques.

    Args:
        title: Name of the recording.
        found: The torques.
        verdict: What to think of them.
        friction: Friction of the joints, where it was fitted.
    """
    sections = [PageSection("Why", (check_table(verdict.checks, CHECKS),)), _joints_section(found)]
    if found.torque.valid.any():
        sections.append(PageSection("Torque at the joints", _torque_parts(found)))
        if found.informative:
            text = Paragraph("What moves the links: the torque at the joint less gravity, τ_d.")
            sections.append(PageSection("The same without gravity", (text, dynamic_chart(found))))
    if friction is not None:
        sections.append(_friction_section(found, friction))
    if found.check is not None:
        sections.append(_check_section(found, found.check))
    if found.calibration is not None:
        sections.append(_sensor_section(found.calibration))
    sections += [_unknown_section(found, friction), _about_section(found)]
    rate = found.log.rate
    length = float(found.log.time[-1] - found.log.time[0])
    subtitle = f"{found.robot.name}, {found.robot.n} joints; {len(found.log)} samples, {length:.4g} s"
    subtitle += f", {rate:.4g} Hz" if math.isfinite(rate) else ""
    headline = VerdictBox(verdict.level, verdict.headline, verdict.sentences)
    return Page(f"Torques from the plate: {title}", subtitle, headline, tuple(sections))


def _joints_section(found: RecordingTorques) -> PageSection:
    columns = (
        *("joint", "torque", "band", "without gravity", "its band", "valid samples"),
        *("motor effort", "motor − plate", "of it constant"),
    )
    rows = []
    for joint in found.joints:
        unit = joint.unit
        effort = quantity(joint.effort, unit)
        if joint.informative:
            cells = (
                quantity(joint.torque, unit),
                _band(joint.band, unit),
                quantity(joint.dynamic, unit) if joint.dynamic_informative else "in its band",
                _band(joint.dynamic_band, unit),
                f"{joint.valid:.0%}",
                effort,
                quantity(joint.effort_difference, unit),
                quantity(joint.effort_offset, unit),
            )
        else:
            cells = ("no information", _band(joint.band, unit), "–", "–", f"{joint.valid:.0%}", effort, "–", "–")
        rows.append((joint.name, *cells))
    caption = (
        "Root mean squares over the valid samples; bands are one standard deviation. Motor − plate is friction, rotor "
        "inertia and an error of the motor's torque constant, as far as it exceeds the band."
    )
    return PageSection(
        "Joint by joint", (Paragraph(used_plate(found)), PageTable(columns, tuple(rows), ("joint",), caption))
    )


def _torque_parts(found: RecordingTorques) -> tuple[Part, ...]:
    text = (
        "Torque that the joint exerts on its link, gravity included, τ_d + g. The plate feels no friction: where the "
        "motor's effort lies beside the plate, friction or the rotor takes the rest."
    )
    return Paragraph(text), torque_chart(found)


def _check_section(found: RecordingTorques, check: WrenchCheck) -> PageSection:
    rows = tuple(
        (
            name,
            quantity(check.signal[i], unit),
            quantity(check.left_over[i], unit),
            f"{max(check.explained[i], 0.0):.1%}",
            f"{check.offset[i]:+.3g} {unit}",
        )
        for i, (name, unit) in enumerate(zip(WRENCH_COMPONENTS, WRENCH_UNITS, strict=True))
    )
    columns = ("channel", "changes of the model", "left over", "explained", "mean of plate − model")
    zero = "a mean is an error of the zero or of masses"
    if check.tared:
        zero = "the tare takes constant differences away"
    elif found.calibration is not None:
        zero = "the zero is the one for which means agree"
    caption = f"Base axes, at the base origin, what the plate exerts on the robot. Deviations over time; {zero}."
    table = PageTable(columns, rows, left=("channel",), caption=caption)
    parts = (table, wrench_chart(found, check), residual_chart(found, check))
    findings = tuple(Paragraph(f"{finding.sentence} {finding.remedy}") for finding in found.findings)
    return PageSection("Plate against model", (*findings, *parts))


def _sensor_section(calibration: SensorCalibration) -> PageSection:
    shown = tuple(
        (name, "yes" if known else "no", "from this recording's data" if known else "left as assumed beforehand")
        for name, known in calibration.determined.items()
    )
    told = PageTable(
        ("what", "shown", ""),
        shown,
        left=("what", "shown", ""),
        folded=len(shown) > MANY,
        summary=f"What the data show of the plate: {sum(calibration.determined.values())} of {len(shown)}",
    )
    residuals = PageTable(
        ("channel", "reading changes by", "left over as declared", "left over as calibrated", "on data not fitted"),
        tuple(
            (name, *(quantity(value, WRENCH_UNITS[i]) for value in (*row, calibration.heldout[i])))
            for i, (name, *row) in enumerate(calibration.residuals)
        ),
        left=("channel",),
    )
    text = tuple(Paragraph(sentence) for sentence in calibration.sentences)
    return PageSection("The plate", (*text, _numbers_table(calibration), told, residuals, _gain_table(calibration)))


def _numbers_table(calibration: SensorCalibration) -> PageTable:
    frame = calibration.frame
    place, spread = frame.T_base_sensor[:3, 3], calibration.origin_std
    turn, turned = calibration.turn, np.degrees(calibration.rotation_std)
    rows = [
        ("reads", "what it exerts on the robot" if frame.reads == "on_robot" else "what the robot exerts on it", ""),
        *((("lies", "upside down; from half a turn about x on:", ""),) if turn.upside_down else ()),
        ("turned about the base's z", f"{math.degrees(turn.yaw):.2f}°", f"± {turned[2]:.2g}°"),
        ("tilted about its x", f"{math.degrees(turn.tilt_x):.2f}°", f"± {turned[0]:.2g}°"),
        ("tilted about its y", f"{math.degrees(turn.tilt_y):.2f}°", f"± {turned[1]:.2g}°"),
        *(
            (f"origin {axis}", f"{1e3 * place[i]:.1f} mm", f"± {1e3 * spread[i]:.2g} mm")
            for i, axis in enumerate("xyz")
        ),
        ("lag", f"{1e3 * calibration.lag:.2f} ms", f"± {1e3 * calibration.lag_std:.2g} ms"),
        *(
            (f"zero of {name}", quantity(frame.bias[i], unit), _band(calibration.bias_std[i], unit))
            for i, (name, unit) in enumerate(zip(WRENCH_COMPONENTS, WRENCH_UNITS, strict=True))
        ),
    ]
    return PageTable(("what", "value", "standard deviation"), tuple(rows), left=("what",))


def _gain_table(calibration: SensorCalibration) -> PageTable:
    gain, known = calibration.frame.gain, calibration.gain_determined
    rows = tuple(
        (name, *(f"{gain[i, j]:.4f}" if known[i, j] else f"({gain[i, j]:.4f})" for j in range(6)))
        for i, name in enumerate(WRENCH_COMPONENTS)
    )
    return PageTable(
        ("channel", *WRENCH_COMPONENTS),
        rows,
        left=("channel",),
        caption="What a channel takes of each component. In brackets: not shown by the data, left as assumed.",
        folded=True,
        summary="Gain and cross-talk",
    )


def _friction_section(found: RecordingTorques, friction: PlateFriction) -> PageSection:
    parts: list[Part] = []
    chart = friction_chart(found.robot, friction)
    if chart is not None:
        parts.append(chart)
    columns = (
        *("joint", "Coulomb", "viscous upwards", "viscous downwards", "breakaway", "with load"),
        *("constant", "rotor inertia", "torque gain"),
    )
    rows = []
    for joint in friction.joints:
        if not joint.determined:
            rows.append((joint.name, "no information", *["–"] * 7))
            continue
        rows.append(
            (
                joint.name,
                _spread(joint.coulomb, joint.coulomb_std),
                _spread(joint.viscous_positive, joint.viscous_positive_std),
                _spread(joint.viscous_negative, joint.viscous_negative_std),
                _spread(joint.breakaway, joint.breakaway_std),
                "–" if math.isnan(joint.load) else f"{joint.load:.1%} ± {joint.load_std:.1%}",
                _spread(joint.offset, joint.offset_std),
                _spread(joint.rotor_inertia, joint.rotor_inertia_std),
                f"{joint.gain:.3f} ± {joint.gain_std:.3f}" if joint.gain_determined else "not identifiable, taken as 1",
            )
        )
    caption = (
        "Motor effort less rotor inertia less the plate's torque; N m, N m s/rad and kg m², of linear joints N, N s/m "
        "and kg. A dash: the data do not ask for the term."
    )
    parts.append(PageTable(columns, tuple(rows), ("joint",), caption))
    parts += [Paragraph(f"{joint.name}: no information; {joint.reason}") for joint in friction.joints if joint.reason]
    return PageSection("Friction", tuple(parts))


def _unknown_section(found: RecordingTorques, friction: PlateFriction | None) -> PageSection:
    told = [f"{joint.name}: {joint.why}." for joint in found.joints if not joint.informative]
    if found.calibration is not None and found.calibration.undetermined:
        told.append(f"Of the plate, not shown by the data: {', '.join(found.calibration.undetermined)}.")
    told += [
        "A force on a link before a joint, from a cable or a hand, looks like a torque of the joints behind it.",
        "A load that the model lacks widens the bands of the joints that carry it: it may as well be an error.",
        f"Nothing above {found.cutoff:g} Hz: vibrations of arm and plate are filtered off on both sides.",
    ]
    if friction is None and not found.effort_note:
        told.append("Motor − plate is not friction alone; --friction separates rotor inertia and the torque constant.")
    if found.form == "full":
        told.append(
            "The untared form rests on the masses and on the plate's zero; a tare takes both away near its pose."
        )
    return PageSection("What this cannot determine", tuple(Paragraph(sentence) for sentence in told))


def _about_section(found: RecordingTorques) -> PageSection:
    frame, tare = found.sensor.frame, found.tare
    rows = [
        ("robot", f"{found.robot.name}, {found.robot.total_mass:.4g} kg"),
        ("gravity in base axes", " ".join(f"{value:.4g}" for value in found.robot.gravity_base) + " m/s²"),
        ("plate", used_plate(found)),
        ("plate's origin in the base frame", " ".join(f"{value:.4g}" for value in frame.T_base_sensor[:3, 3]) + " m"),
    ]
    if tare is not None:
        reach = tare.model_range if found.form == "tared+model" else tare.range
        rows.append(("tare", f"mean of {tare.count} samples at " + " ".join(f"{value:.4g}" for value in tare.q)))
        rows.append(("valid within", " ".join(f"{value:.3g}" for value in reach) + " rad or m of it"))
    if found.calibration is not None:
        made = found.calibration
        rows.append(
            ("calibration", f"{made.created} by counterpoise {made.package}, recording sha256 {made.data_sha256}")
        )
    return PageSection("About", (PageTable(("", "value"), tuple(rows), left=("", "value")),))


def _spread(value: float, std: float) -> str:
    return f"{value:.3g} ± {std:.2g}" if np.isfinite(value) else "–"


def _band(value: float, unit: str) -> str:
    return f"± {value:.2g} {unit}" if np.isfinite(value) else "–"
