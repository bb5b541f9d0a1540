"""What ``estimate`` prints: the torques of every joint, the plate, friction; as text and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..dynamics.reference import WRENCH_COMPONENTS
from .calibration_output import number
from .output import console, printable, table

if TYPE_CHECKING:
    from ..base_sensor.friction_curve import JointFriction
    from ..base_sensor.joint_summary import JointSummary
    from ..base_sensor.plate_friction import PlateFriction
    from ..base_sensor.recording_torques import RecordingTorques
    from ..base_sensor.recording_verdict import RecordingVerdict
    from ..base_sensor.sensor_calibration import SensorCalibration
    from ..dynamics.robot import Robot

STYLE = {"good": "bold green", "doubtful": "bold yellow", "bad": "bold red"}


def print_torques(found: RecordingTorques, verdict: RecordingVerdict) -> None:
    """Print the verdict and a table of the joints."""
    from ..base_sensor.recording_verdict import used_plate

    screen = console()
    screen.print(printable(verdict.headline), style=STYLE[verdict.level])
    for sentence in verdict.sentences:
        screen.print(f"  - {printable(sentence)}")
    screen.print(printable(used_plate(found)))
    rows = table(
        *("joint", "torque", "band ±", "without gravity", "band ±", "valid", "motor effort", "motor − plate"),
        title=f"Joint torques by the plate, root mean square over {len(found.log)} samples; bands are one deviation",
        left=("joint",),
    )
    rows.columns[0].no_wrap = True
    for joint in found.joints:
        rows.add_row(*_row(joint))
    screen.print(rows)
    if not found.effort_note:
        screen.print("Motor − plate is friction, rotor inertia, an error of the motor's torque constant, and the band.")


def _row(joint: JointSummary) -> tuple[str, ...]:
    name = f"{printable(joint.name)} [{joint.unit}]"
    share = f"{joint.valid:.0%}"
    if not joint.informative:
        return (name, "silent", number(joint.band), "–", "–", share, number(joint.effort), "–")
    moving = number(joint.dynamic) if joint.dynamic_informative else "in its band"
    bands = (number(joint.band), number(joint.dynamic_band))
    compared = (number(joint.effort), number(joint.effort_difference))
    return (name, number(joint.torque), bands[0], moving, bands[1], share, *compared)


def print_sensor(calibration: SensorCalibration) -> None:
    """Print what was found of the plate, and what was not."""
    screen = console()
    screen.print("\nThe plate, as this recording shows it:", style="bold")
    for sentence in calibration.sentences:
        screen.print(f"  - {printable(sentence)}")


def print_friction(robot: Robot, friction: PlateFriction) -> None:
    """Print a table of the joints' friction."""
    from ..dynamics.joint_units import effort_units

    screen = console()
    rows = table(
        *("joint", "Coulomb", "±", "visc. +", "visc. −", "break", "load", "rotor", "gain", "±"),
        title="Friction per joint and torque gain: motor effort less rotor inertia less plate torque",
        left=("joint",),
    )
    rows.columns[0].no_wrap = True
    for joint, unit in zip(friction.joints, effort_units(robot), strict=True):
        rows.add_row(*_friction_row(joint, unit))
    screen.print()
    screen.print(rows)
    for joint in friction.joints:
        if not joint.determined:
            screen.print(f"  - {printable(joint.name)}: no information; {printable(joint.reason)}")


def _friction_row(joint: JointFriction, unit: str) -> tuple[str, ...]:
    name = f"{printable(joint.name)} [{unit}]"
    if not joint.determined:
        return (name, "silent", *["–"] * 8)
    gain = (f"{joint.gain:.3f}", f"{joint.gain_std:.3f}") if joint.gain_determined else ("1?", "–")
    load = "–" if math.isnan(joint.load) else f"{joint.load:.1%}"
    values = (
        *(joint.coulomb, joint.coulomb_std, joint.viscous_positive, joint.viscous_negative, joint.breakaway),
        joint.rotor_inertia,
    )
    cells = [number(value) for value in values]
    if math.isfinite(joint.coulomb_std):
        cells[1] = f"{joint.coulomb_std:.1g}"
    return (name, *cells[:5], load, cells[5], *gain)


def document(found: RecordingTorques, verdict: RecordingVerdict, friction: PlateFriction | None) -> dict[str, Any]:
    """Return everything as plain values for JSON; what a joint does not tell is null."""
    tare = found.tare
    start = float(found.log.time[0])
    return {
        "verdict": verdict.level,
        "headline": verdict.headline,
        "sentences": list(verdict.sentences),
        "robot": found.robot.name,
        "form": found.form,
        "cutoff_hz": found.cutoff,
        "samples": len(found.log),
        "valid": float(found.torque.valid.mean()),
        "tare": None
        if tare is None
        else {"time_s": None if tare.time is None else tare.time - start, "q": tare.q, "reading": tare.reading},
        "joints": [_joint(joint) for joint in found.joints],
        "plate": _plate(found),
        "findings": [
            {"fault": one.fault.value, "consequence": one.consequence.name.lower(), "sentence": one.sentence}
            for one in found.findings
        ],
        "sensor": None if found.calibration is None else _sensor(found.calibration),
        "friction": None if friction is None else [_joint_friction(joint) for joint in friction.joints],
    }


def _joint(joint: JointSummary) -> dict[str, Any]:
    known = joint.informative
    return {
        "name": joint.name,
        "unit": joint.unit,
        "informative": known,
        "why": joint.why or None,
        "torque_rms": joint.torque if known else None,
        "band": joint.band,
        "dynamic_rms": joint.dynamic if joint.dynamic_informative else None,
        "dynamic_band": joint.dynamic_band,
        "valid": joint.valid,
        "effort_rms": joint.effort,
        "effort_difference_rms": joint.effort_difference if known else None,
        "effort_difference_mean": joint.effort_offset if known else None,
    }


def _plate(found: RecordingTorques) -> dict[str, Any] | None:
    check = found.check
    if check is None:
        return None
    return {
        name: {
            "unit": "N" if channel < 3 else "N m",
            "signal": check.signal[channel],
            "offset": check.offset[channel],
            "left_over": check.left_over[channel],
            "explained": check.explained[channel],
        }
        for channel, name in enumerate(WRENCH_COMPONENTS)
    }


def _sensor(calibration: SensorCalibration) -> dict[str, Any]:
    frame, turn = calibration.frame, calibration.turn
    return {
        "T_base_sensor": frame.T_base_sensor,
        "reads": frame.reads,
        "gain": frame.gain,
        "bias": frame.bias,
        "lag_s": calibration.lag,
        "yaw_deg": math.degrees(turn.yaw),
        "tilt_deg": [math.degrees(turn.tilt_x), math.degrees(turn.tilt_y)],
        "upside_down": turn.upside_down,
        "determined": dict(calibration.determined),
        "sentences": list(calibration.sentences),
    }


def _joint_friction(joint: JointFriction) -> dict[str, Any]:
    names = (
        *("gain", "gain_std", "rotor_inertia", "rotor_inertia_std", "coulomb", "coulomb_std", "offset", "offset_std"),
        *("viscous_positive", "viscous_positive_std", "viscous_negative", "viscous_negative_std"),
        *("breakaway", "breakaway_std", "stribeck_velocity", "load", "load_std", "residual_rms"),
    )
    return {
        "name": joint.name,
        "determined": joint.determined,
        "reason": joint.reason or None,
        "terms": list(joint.terms),
        "gain_determined": joint.gain_determined,
        **{name: getattr(joint, name) for name in names},
    }
