"""What to think of a recording's torques, in a line and a few sentences: for the terminal and for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...doctor import LEVER, Consequence
from ...dynamics import WRENCH_COMPONENTS, WRENCH_UNITS
from ...recording import find_rests
from .recording_torques import RecordingTorques
from .torque_estimate import UNUSABLE, EstimateFlag
from .wrench_check import JointSummary, WrenchCheck

POOR = 0.5
"""Share of the moments mx and my that the model must explain at least; below, the two do not belong together."""
FEW_VALID = 0.9
"""Share of valid samples below which the verdict is doubtful."""
OFF = 3.0
"""Standard deviations of the model's own weight from which a constant difference is called a wrong zero ..."""
SMALL_OFF = 0.002
"""... where it is also more than this share of the weight; of moments, over LEVER."""
CALIBRATE = "Run again with --calibrate-sensor, which finds sign, turn, lag, zero and gain from this recording."


@dataclass(frozen=True, slots=True)
class RecordingVerdict:
    """What to think of the torques.

    Attributes:
        level: "good", "doubtful" or "bad"; bad means: do not use them.
        headline: One sentence.
        sentences: Further sentences, the most important first.
    """

    level: Literal["good", "doubtful", "bad"]
    headline: str
    sentences: tuple[str, ...]


def judged(found: RecordingTorques) -> RecordingVerdict:
    """Judge the torques of a recording."""
    worst = max((finding.consequence for finding in found.findings), default=Consequence.NOTE)
    told = [finding.sentence for finding in found.findings if finding.consequence > Consequence.NOTE]
    unrelated = found.check is not None and bool((found.check.explained[3:5] < POOR).all()) and _moves(found.check)
    if unrelated:
        shares = " and ".join(f"{max(share, 0.0):.0%}" for share in found.check.explained[3:5]) if found.check else ""
        told.insert(0, f"The model explains only {shares} of the changes of mx and my.")
    if (told or unrelated) and found.calibration is None:
        told.append(CALIBRATE)
    zero = _zero(found)
    told += [zero] if zero else []
    told += _joints(found) + _samples(found)
    if found.effort_note:
        told.append(f"Nothing to compare with: {found.effort_note}.")
    valid = float(np.mean(found.torque.valid))
    count, known = len(found.joints), len(found.informative)
    if worst > Consequence.LIMITS or unrelated:
        return RecordingVerdict("bad", "DO NOT USE: the plate does not read what the model expects", tuple(told))
    if valid == 0.0:
        return RecordingVerdict("bad", "DO NOT USE: no sample is valid", tuple(told))
    if known == 0:
        return RecordingVerdict("bad", "NO INFORMATION: no joint's torque stands out from its band", tuple(told))
    which = f"all {count} joints" if known == count else f"{known} of {count} joints"
    if worst == Consequence.LIMITS or zero or valid < FEW_VALID:
        return RecordingVerdict("doubtful", f"USABLE WITH CARE: torques of {which}", tuple(told))
    return RecordingVerdict("good", f"USABLE: torques of {which}", tuple(told))


def used_plate(found: RecordingTorques) -> str:
    """Return in a sentence which plate was used, and in which form."""
    declared = found.log.declared
    zero = "as given"
    if found.calibration is not None:
        plate, zero = "The plate is taken as calibrated", "as found against the model"
    elif declared.T_base_sensor is None and declared.sensor_reads is None:
        plate = (
            "Nothing is declared of the plate: it is taken to lie in the base frame and to read what acts on the robot"
        )
    else:
        plate = f"The plate is taken as the recording declares it, {found.sensor.frame.reads.replace('_', ' ')}"
    words = {
        "full": f"form 'full': the whole weight by the model, the plate's zero {zero}",
        "tared": "form 'tared': kinematics only, against the tare",
        "tared+model": "form 'tared+model': changes since the tare, less the model's change of gravity",
    }
    return f"{plate}; {words[found.form]}; all channels below {found.cutoff:g} Hz."


def _moves(check: WrenchCheck) -> bool:
    """Say whether the model expects moments that change by more than noise."""
    return bool((check.signal[3:5] > 0.1 * np.maximum(check.left_over[3:5], 1e-9)).any())


def _zero(found: RecordingTorques) -> str:
    """Return that the plate's zero is off, where the untared form says so beyond what the masses explain."""
    check = found.check
    if check is None or check.tared:
        return ""
    rows = np.isfinite(check.torque_difference).all(axis=1)
    q = found.log.q[rows][:: max(1, int(rows.sum()) // 50)]
    variance = found.sensor.variance
    reading = variance.reading_variance(False, None, 0.0)
    std = variance.wrench_std(q, reading, q_tare=None, gravity=True, acceleration=None).mean(axis=0)
    weight = found.robot.total_mass * float(np.linalg.norm(found.robot.gravity_base))
    least = SMALL_OFF * weight * np.repeat([1.0, LEVER], 3)
    off = [i for i in range(6) if abs(check.offset[i]) > max(OFF * std[i] + check.left_over[i], least[i])]
    if not off:
        return ""
    listed = ", ".join(f"{WRENCH_COMPONENTS[i]} {check.offset[i]:+.3g} {WRENCH_UNITS[i]}" for i in off)
    return f"The plate's zero is off against the model: {listed}. {_tare_hint(found)}"


def _tare_hint(found: RecordingTorques) -> str:
    """Return what to do about a zero that is off, with the first rest of the recording where there is one."""
    time = found.log.time
    rests = find_rests(found.log)
    again = "calibrate the plate on this recording (--calibrate-sensor)"
    if not rests:
        return f"The arm never stands here, so that it cannot be tared: {again}."
    begin, end = (time[row] - time[0] for row in (rests[0].start, rests[0].end - 1))
    return f"Tare it where the arm stands, e.g. --tare {begin:.2f}:{end:.2f}, or {again}."


def _joints(found: RecordingTorques) -> list[str]:
    silent = [joint for joint in found.joints if not joint.informative]
    if not silent or not found.torque.valid.any():
        return []
    names = ", ".join(joint.name for joint in silent)
    return [f"No information on {names}: {_widths(silent)}"]


def _widths(silent: list[JointSummary]) -> str:
    one = f"{silent[0].why}."
    if len(silent) == 1:
        return one
    bands = ", ".join(f"{joint.band:.3g} {joint.unit}" for joint in silent)
    return f"what they show does not stand out from their bands ({bands})."


def _samples(found: RecordingTorques) -> list[str]:
    flags, count = found.torque.flags, len(found.log)
    told = []
    for flag in EstimateFlag:
        marked = int(((flags & int(flag)) != 0).sum())
        if not marked:
            continue
        share = f"{marked / count:.1%} of the" if marked / count >= 1e-3 else f"{marked} of {count}"
        if flag & UNUSABLE:
            told.append(f"{share} samples are not valid: {_WORDS[flag]}.")
        else:
            told.append(f"In {share} samples {_WORDS[flag]}.")
    return told


_WORDS = {
    EstimateFlag.NO_WRENCH: "no plate reading",
    EstimateFlag.WRENCH_INVALID: "the plate's reading is no number, or marked as bad",
    EstimateFlag.SATURATED: "the plate is at the end of its range",
    EstimateFlag.FROZEN: "the plate's reading is frozen while joints move",
    EstimateFlag.STALE: "a repeated sample",
    EstimateFlag.DROPOUT: "samples are missing before",
    EstimateFlag.POSITION_INVALID: "a joint position is no number",
    EstimateFlag.OUT_OF_TARE_RANGE: "a joint has left the pose of the tare by more than the form's range",
    EstimateFlag.CONTACT: "something touches the robot",
    EstimateFlag.OUTSIDE_TABLE: "a joint is outside the gravity table",
    EstimateFlag.NO_VELOCITY: "velocities are missing, and the share of the motion is left out",
    EstimateFlag.NO_ACCELERATION: "accelerations are missing, and their share is left out",
}
"""What a flag means."""
