"""Naming efforts that are off by a factor or a constant, or are no torques at all."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..description.frozen import Array
from .case import Case, confidence, rounded, shrinks
from .cost import AMBIGUOUS, GAIN, OFFSET, UNIT
from .finding import Consequence, Finding, LogFault
from .gram import OWN
from .moves import with_gain_found, with_gravity_found
from .wording import percent, short

OFTEN = 1.8
"""Factor that most efforts must be off by to be called a unit of their own."""
SURE = 0.5
"""Standard deviation of a log factor up to which it counts as identified."""
MASS_SCALE = "mass-scale"
"""Alternative of a gain: all links beyond the joint are as much heavier or lighter."""
_STEP = 0.2
_FLAT = 5.0


def name_gains(case: Case) -> list[Finding]:
    """Name wrong gains, or efforts in a unit of their own."""
    factor = np.abs(np.array(case.reading.effort_factor) / np.array(case.begin.effort_factor))
    if not case.reading.free_gain:
        return [_gain(case, joint, float(factor[joint])) for joint in case.alive if abs(math.log(factor[joint])) > 1e-6]
    doubt = {joint: _log_gain_std(case, joint) for joint in case.alive}
    sure = [joint for joint in case.alive if doubt[joint] < SURE]
    sizes = [abs(math.log(factor[joint])) for joint in sure]
    if case.begin.free_gain or (sizes and float(np.median(sizes)) > math.log(OFTEN)):
        return [_current(case, sure, factor, doubt)]
    return [
        _gain(case, joint, float(factor[joint]))
        for joint in sure
        if abs(math.log(factor[joint])) > max(3.0 * doubt[joint], math.log(1.2))
    ]


def _log_gain_std(case: Case, joint: int) -> float:
    """Return the standard deviation of a joint's log gain, from the evidence's curvature; large where it is flat."""
    comparison, reading, trust = case.search.comparison, case.reading, case.fit.trust
    beside = 0.0
    for side in (-_STEP, _STEP):
        changed = reading.with_effort_factors({joint: reading.effort_factor[joint] * math.exp(side)})
        beside += comparison.fit(changed, trust).evidence
    bend = (2.0 * comparison.fit(reading, trust).evidence - beside) / _STEP**2
    return 1.0 / math.sqrt(bend) if bend > _FLAT**-2 else _FLAT


def _current(case: Case, sure: list[int], factor: Array, doubt: dict[int, float]) -> Finding:
    signed = {
        joint: math.copysign(case.begin.effort_factor[joint], case.reading.effort_factor[joint]) for joint in case.alive
    }
    gain, other = case.worth(replace(case.reading.with_effort_factors(signed), free_gain=False))
    numbers = case.numbers(gain, other, case.alive)
    numbers["torque_per_unit"] = {case.names[joint]: rounded(factor[joint]) for joint in sure}
    numbers["relative_std"] = {case.names[joint]: round(doubt[joint], 2) for joint in sure}
    numbers["not_identified"] = [case.names[joint] for joint in case.alive if joint not in sure]
    told = ", ".join(f"{case.names[joint]} {short(float(factor[joint]))}" for joint in sure) or "no certain factor"
    said = "as the log declares" if case.begin.free_gain else "though nothing says so"
    return Finding(
        fault=LogFault.EFFORT_IS_CURRENT,
        consequence=Consequence.DANGER,
        subjects=case.named(case.alive),
        sentence=(
            f"The efforts are no torques at the links, {said}: for each unit the model needs {told} (N m, or N "
            "for a linear joint). They are currents, or torques in front of the gears."
        ),
        remedy=(
            "State the torque constants and gear ratios of the maker (torque_constant, [motor] ratio); until then the "
            "factors found here stand in for them as effort_gain."
        ),
        evidence=numbers,
        confidence=confidence(gain, UNIT),
        alternatives=(LogFault.MOTOR_SIDE.value,),
        fix={
            "effort": {"kind": "current"},
            "joints": {case.names[joint]: {"effort_gain": float(factor[joint])} for joint in case.alive},
        },
    )


def _gain(case: Case, joint: int, factor: float) -> Finding:
    plain = math.copysign(case.begin.effort_factor[joint], case.reading.effort_factor[joint])
    without = case.reading.with_effort_factors({joint: plain})
    gain, other = case.worth(without)
    heavier = case.fit.evidence - case.search.comparison.wide(without).evidence < AMBIGUOUS
    shifted = case.worth(replace(without, offset=without.offset | {joint}))[0] < AMBIGUOUS
    doubt = _log_gain_std(case, joint)
    name = case.names[joint]
    numbers = case.numbers(gain, other, [joint])
    numbers |= {"recorded_over_true": rounded(1.0 / factor), "relative_std": round(doubt, 3)}
    size = f"{short(1.0 / factor)} times the torque (± {percent(doubt)})"
    told = f"The effort of {name} is {size}: so read, {shrinks(numbers)}."
    if heavier:
        told += " Links that are as much heavier or lighter than the model's would look the same."
    if shifted:
        told += " A constant offset would explain as much."
    return Finding(
        fault=LogFault.GAIN,
        consequence=Consequence.SPOILS,
        subjects=(name,),
        sentence=told,
        remedy=f"Check the torque constant and gear of {name}, or correct it: effort_gain = {short(factor)}.",
        evidence=numbers,
        confidence=confidence(gain, GAIN, heavier + shifted),
        alternatives=(MASS_SCALE,) * heavier + (LogFault.OFFSET.value,) * shifted,
        fix={"joints": {name: {"effort_gain": factor}}},
    )


def name_offsets(case: Case) -> list[Finding]:
    """Name constant offsets."""
    findings = []
    column = OWN.index("offset")
    for joint in sorted(case.reading.offset):
        gain, other = case.worth(replace(case.reading, offset=case.reading.offset - {joint}))
        offset, doubt = float(case.fit.own[joint, column]), float(case.fit.own_std[joint, column])
        name, unit = case.names[joint], case.unit(joint)
        numbers = case.numbers(gain, other, [joint]) | {"offset": rounded(offset), "offset_std": rounded(doubt)}
        share = abs(offset) / float(case.fit.scale[joint])
        mounting, scaled = _mounting_instead(case, joint), _gain_instead(case, joint)
        findings.append(
            Finding(
                fault=LogFault.OFFSET,
                consequence=Consequence.SPOILS,
                subjects=(name,),
                sentence=(
                    f"The effort of {name} has a constant offset of {short(offset)} ± {short(doubt)} {unit}, "
                    f"{percent(share)} of what it varies by."
                    + (" Another mounting of the arm would explain as much." if mounting else "")
                    + (" A wrong gain would explain as much." if scaled else "")
                ),
                remedy=f"Tare the sensor of {name}, or take the offset off: effort_offset = {short(-offset)}.",
                evidence=numbers,
                confidence=confidence(gain, OFFSET, mounting + scaled),
                alternatives=(LogFault.MOUNT.value,) * mounting + (LogFault.GAIN.value,) * scaled,
                fix={"joints": {name: {"effort_offset": -offset}}},
            )
        )
    return findings


def _mounting_instead(case: Case, joint: int) -> bool:
    """Return whether another direction of gravity explains as much as a joint's offset."""
    without = replace(case.reading, offset=case.reading.offset - {joint})
    turned = with_gravity_found(case.search.comparison, without, case.begin, case.fit.trust)
    return turned is not None and case.worth(turned)[0] < AMBIGUOUS


def _gain_instead(case: Case, joint: int) -> bool:
    """Return whether a gain of that joint explains as much as its offset."""
    without = replace(case.reading, offset=case.reading.offset - {joint})
    scaled = with_gain_found(case.search.comparison, case.search.cost, without, joint, case.fit.trust)
    return scaled is not None and case.worth(scaled)[0] < AMBIGUOUS
