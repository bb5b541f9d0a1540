"""What to think of a recording's torques, in a line and a few sentences: for the terminal and for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...doctor import LEVER, Consequence
from ...dynamics import WRENCH_COMPONENTS, WRENCH_UNITS
from ...foundation import Check, Verdict
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
        headline: One sentence.
        checks: What usable torques need; "bad" means: do not use them.
        notes: Further sentences.
    """

    headline: str
    checks: Verdict
    notes: tuple[str, ...]

    @property
    def level(self) -> Literal["good", "doubtful", "bad"]:
        """The verdict in a word; "bad" means: do not use them."""
        return self.checks.level

    @property
    def sentences(self) -> tuple[str, ...]:
        """What failed, and further sentences, the most important first."""
        return (*self.checks.reasons, *self.notes)


def judged(found: RecordingTorques) -> RecordingVerdict:
    """Judge the torques of a recording."""
    against = [*_model(found), *_findings(found)]
    notes = [CALIBRATE] if against and found.calibration is None else []
    valid, count, known = float(np.mean(found.torque.valid)), len(found.joints), len(found.informative)
    share = f"{valid:.0%}" if valid in (0.0, 1.0) else f"{valid:.1%}"
    checks = Verdict(
        (
            *against,
            *_zero(found),
            Check(
                "samples", valid >= FEW_VALID, f"{share} of the samples are valid.", valid, FEW_VALID, decides=not valid
            ),
            Check(
                "joints",
                known > 0,
                f"Torques of {known} of {count} joints stand out from their bands.",
                float(known),
                1.0,
            ),
        )
    )
    notes += _joints(found) + _samples(found)
    if found.effort_note:
        notes.append(f"Nothing to compare with: {found.effort_note}.")
    which = f"all {count} joints" if known == count else f"{known} of {count} joints"
    if any(check.decides for check in against):
        headline = "DO NOT USE: the plate does not read what the model expects"
    elif valid == 0.0:
        headline = "DO NOT USE: no sample is valid"
    elif known == 0:
        headline = "NO INFORMATION: no joint's torque stands out from its band"
    else:
        headline = f"{'USABLE' if checks.trusted else 'USABLE WITH CARE'}: torques of {which}"
    return RecordingVerdict(headline, checks, tuple(notes))


def _model(found: RecordingTorques) -> list[Check]:
    """Return a failed check where the model explains too little of the moments."""
    check = found.check
    if check is None or not (check.explained[3:5] < POOR).all() or not _moves(check):
        return []
    explained = [max(float(part), 0.0) for part in check.explained[3:5]]
    told = " and ".join(f"{part:.0%}" for part in explained)
    return [Check("model", False, f"The model explains only {told} of the changes of mx and my.", max(explained), POOR)]


def _findings(found: RecordingTorques) -> list[Check]:
    """Return a failed check for each finding of the doctor that matters."""
    return [
        Check("plate", False, one.sentence, float(one.consequence), decides=one.consequence > Consequence.LIMITS)
        for one in found.findings
        if one.consequence > Consequence.NOTE
    ]


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


def _zero(found: RecordingTorques) -> list[Check]:
    """Return a failed check where the plate's zero is off by the untared form, beyond what the masses explain."""
    check = found.check
    if check is None or check.tared:
        return []
    rows = np.isfinite(check.torque_difference).all(axis=1)
    q = found.log.q[rows][:: max(1, int(rows.sum()) // 50)]
    variance = found.sensor.variance
    reading = variance.reading_variance(False, None, 0.0)
    std = variance.wrench_std(q, reading, q_tare=None, gravity=True, acceleration=None).mean(axis=0)
    weight = found.robot.total_mass * float(np.linalg.norm(found.robot.gravity_base))
    least = SMALL_OFF * weight * np.repeat([1.0, LEVER], 3)
    allowed = np.maximum(OFF * std + check.left_over, least)
    off = np.flatnonzero(np.abs(check.offset) > allowed).tolist()
    if not off:
        return []
    listed = ", ".join(f"{WRENCH_COMPONENTS[i]} {check.offset[i]:+.3g} {WRENCH_UNITS[i]}" for i in off)
    sentence = f"The plate's zero is off against the model: {listed}. {_tare_hint(found)}"
    worst = max(off, key=lambda i: abs(check.offset[i]) / allowed[i])
    numbers = abs(float(check.offset[worst])), float(allowed[worst])
    return [Check("zero", False, sentence, *numbers, WRENCH_UNITS[worst], decides=False)]


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
    EstimateFlag.WRENCH_INVALID: "the plate's reading is NaN, or marked as bad",
    EstimateFlag.SATURATED: "the plate is at the end of its range",
    EstimateFlag.FROZEN: "the plate's reading is frozen while joints move",
    EstimateFlag.STALE: "a repeated sample",
    EstimateFlag.DROPOUT: "samples are missing before",
    EstimateFlag.POSITION_INVALID: "a joint position is NaN",
    EstimateFlag.OUT_OF_TARE_RANGE: "a joint has left the pose of the tare by more than the form's range",
    EstimateFlag.CONTACT: "something touches the robot",
    EstimateFlag.OUTSIDE_TABLE: "a joint is outside the gravity table",
    EstimateFlag.NO_VELOCITY: "velocities are missing, and the share of the motion is left out",
    EstimateFlag.NO_ACCELERATION: "accelerations are missing, and their share is left out",
}
"""What a flag means."""
