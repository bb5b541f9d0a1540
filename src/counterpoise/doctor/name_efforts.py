"""Naming efforts that are off by a factor or a constant, or are no torques at all."""

from __future__ import annotations

import math

import numpy as np

from ..description.frozen import Array
from .case import Case, confidence, rounded, shrinks
from .changes import Change, plain_factors
from .cost import GAIN, EFFORT_OFFSET, UNIT
from .finding import Consequence, Finding, LogFault
from .gram import OWN
from .wording import percent, short

SURE = 0.5
"""Standard deviation of a log factor up to which it counts as identified ..."""
EXACT = 0.09
"""... and up to which it is written to a mapping: a quarter is then two and a half of them."""
_STEP = 0.2
_FLAT = 5.0


def name_gains(case: Case) -> list[Finding]:
    """Name wrong gains, or efforts in a unit of their own."""
    factor = np.abs(np.array(case.reading.effort_factor) / np.array(case.begin.effort_factor))
    if not case.reading.free_gain:
        return [_gain(case, change, float(factor[change.joints[0]])) for change in case.changes(LogFault.GAIN)]
    doubt = {joint: _log_gain_std(case, joint) for joint in case.alive}
    sure = [joint for joint in case.alive if doubt[joint] < SURE]
    return [_current(case, sure, factor, doubt)]


def _log_gain_std(case: Case, joint: int) -> float:
    """Return the standard deviation of a joint's log gain, from the evidence's curvature; large where it is flat."""
    comparison, reading, belief = case.search.comparison, case.reading, case.fit.belief
    beside = 0.0
    for side in (-_STEP, _STEP):
        changed = reading.with_effort_factors({joint: reading.effort_factor[joint] * math.exp(side)})
        beside += comparison.fit(changed, belief).evidence
    bend = (2.0 * comparison.fit(reading, belief).evidence - beside) / _STEP**2
    return 1.0 / math.sqrt(bend) if bend > _FLAT**-2 else _FLAT


def _current(case: Case, sure: list[int], factor: Array, doubt: dict[int, float]) -> Finding:
    without = plain_factors(case.reading, case.begin, case.alive)
    found = case.changes(LogFault.EFFORT_IS_CURRENT)
    gain, other = case.worth(found[0].without if found else without)
    numbers = case.numbers(gain, other, case.alive)
    numbers["torque_per_unit"] = {case.names[joint]: rounded(factor[joint]) for joint in sure}
    numbers["relative_std"] = {case.names[joint]: round(doubt[joint], 2) for joint in sure}
    numbers["not_identified"] = [case.names[joint] for joint in case.alive if joint not in sure]
    told = ", ".join(f"{case.names[joint]} {short(float(factor[joint]))}" for joint in sure) or "no certain factor"
    said = "as the log declares" if case.begin.free_gain else "though nothing says so"
    finding = Finding(
        fault=LogFault.EFFORT_IS_CURRENT,
        consequence=Consequence.LIMITS if case.begin.free_gain else Consequence.DANGER,
        subjects=case.named(case.alive),
        sentence=(
            f"The efforts are no torques at the links, {said}: for each unit the description asks for {told} (N m, or "
            "N for a linear joint). They are currents, or torques in front of the gears."
        ),
        remedy=(
            "State the torque constants and gear ratios of the maker (torque_constant, [motor] ratio); without them a "
            "fit stays in the recording's own unit. The factors found here are guesses by the description's masses."
        ),
        evidence=numbers,
        confidence=confidence(gain, UNIT),
        alternatives=(LogFault.MOTOR_SIDE.value,),
        fix={} if case.begin.free_gain else {"effort": {"kind": "current"}},
    )
    return case.settled(finding, found[0]) if found else finding


def _gain(case: Case, change: Change, factor: float) -> Finding:
    (joint,) = change.joints
    gain, other = case.worth(change.without)
    doubt = _log_gain_std(case, joint)
    name = case.names[joint]
    numbers = case.numbers(gain, other, [joint])
    numbers |= {"recorded_over_true": rounded(1.0 / factor), "relative_std": round(doubt, 3)}
    numbers["effect"] = case.effect(change)
    size = f"{short(1.0 / factor)} times the torque (± {percent(doubt)})"
    return case.settled(
        Finding(
            fault=LogFault.GAIN,
            consequence=Consequence.SPOILS,
            subjects=(name,),
            sentence=f"The effort of {name} is {size}: so read, {shrinks(numbers)}.",
            remedy=f"Check the torque constant and gear of {name}, or correct it: effort_gain = {short(factor)}.",
            evidence=numbers,
            confidence=confidence(gain, GAIN),
            fix={"joints": {name: {"effort_gain": factor}}} if doubt < EXACT else {},
        ),
        change,
    )


def name_offsets(case: Case) -> list[Finding]:
    """Name constant offsets."""
    findings = []
    column = OWN.index("offset")
    for change in case.changes(LogFault.OFFSET):
        (joint,) = change.joints
        gain, other = case.worth(change.without)
        offset, doubt = float(case.fit.own[joint, column]), float(case.fit.own_std[joint, column])
        name, unit = case.names[joint], case.unit(joint)
        numbers = case.numbers(gain, other, [joint]) | {"offset": rounded(offset), "offset_std": rounded(doubt)}
        share = abs(offset) / float(case.fit.scale[joint])
        finding = Finding(
            fault=LogFault.OFFSET,
            consequence=Consequence.LIMITS,
            subjects=(name,),
            sentence=(
                f"The effort of {name} has a constant offset of {short(offset)} ± {short(doubt)} {unit}, "
                f"{percent(share)} of what it varies by."
            ),
            remedy=(
                f"A calibration finds it by itself. For all else tare the sensor of {name}, or take it off: "
                f"effort_offset = {short(-offset)}."
            ),
            evidence=numbers | {"effect": case.effect(change)},
            confidence=confidence(gain, EFFORT_OFFSET),
        )
        findings.append(case.settled(finding, change))
    return findings
