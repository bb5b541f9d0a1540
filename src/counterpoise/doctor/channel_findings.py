"""Findings of channels that are taken for others: signs, order, degrees, gains, offsets, efforts that are no torques.

Whether recorded velocities go with the recorded positions is measured first (``velocity_slopes``): only then is a
change of the positions one of the velocities, too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..foundation import Array
from ..recording import Log, increasing
from .case import Case, among, confidence, rounded, shrinks
from .finding import Consequence, Finding, LogFault, listed, percent, short
from .gram import OWN
from .moves import DEGREE
from .points import MotionPoints
from .priors import ALL_SIGNS, AMBIGUOUS, EFFORT_OFFSET, GAIN, ORDER, SIGN, UNIT
from .reading import Change, plain_factors
from .weighing import rivals_of

ALIKE = 0.5
"""Correlation from which a velocity is its position's, up to a factor."""


def velocity_slopes(log: Log, points: MotionPoints) -> Array:
    """Return recorded velocity over the rate at which the recorded position changes, shape (n,).

    1 where both are in one unit and of one sign, −1 where their signs differ, 0 where they have nothing to do with each
    other, NaN where the velocity was not measured or the joint stands.

    Args:
        log: The recording.
        points: Its points.
    """
    slopes = np.full(len(log.joint_names), np.nan)
    if log.declared.velocity_from == "position":
        return slopes
    rows = increasing(log.time)
    for joint in range(len(slopes)):
        known = rows[np.isfinite(log.dq[rows, joint])]
        change = points.dq[:, joint]
        power = float(change @ change)
        if len(known) < 2 or power == 0.0:
            continue
        recorded = np.interp(points.time, log.time[known], log.dq[known, joint])
        size = math.sqrt(power * float(recorded @ recorded))
        both = float(change @ recorded)
        slopes[joint] = both / power if size > 0.0 and abs(both) > ALIKE * size else 0.0
    return slopes


CORRELATED = 0.7
"""Correlation of an effort with the model's torque, the wrong way round, that shows its sign ..."""
CLEAR_FRICTION = 5.0
"""... as friction does that is negative by so many standard deviations. A sign that neither shows is not written to a
fix."""


def name_signs(case: Case) -> list[Finding]:
    """Name efforts and positions of the opposite sign."""
    return _of_efforts(case) + _grouped(case, case.changes(LogFault.POSITION_SIGN))


def _of_efforts(case: Case) -> list[Finding]:
    found = case.changes(LogFault.EFFORT_SIGN)
    if len(found) == 1 and len(found[0].joints) > 1:
        return [_all_efforts(case, found[0])]
    return _grouped(case, found)


def _all_efforts(case: Case, change: Change) -> Finding:
    joints = change.joints
    gain, other = case.worth(change.without)
    x, y, z = (-component for component in case.reading.gravity_base)
    upside_down = case.worth(replace(change.without, gravity_base=(x, y, z)))[0] < AMBIGUOUS
    names = case.named(joints)
    numbers = case.numbers(gain, other, joints) | {"joints": {case.names[j]: _signs_of(case, j) for j in joints}}
    clearest = max(joints, key=lambda joint: abs(_signs_of(case, joint)["correlation_with_model"]))
    finding = Finding(
        fault=LogFault.EFFORT_SIGN,
        consequence=Consequence.DANGER,
        subjects=names,
        sentence=f"All efforts have the opposite sign of the robot's ({_against(case, clearest)}).",
        remedy="Reverse the sign of all efforts: effort_sign = -1.",
        evidence=numbers | {"effect": case.effect(change)},
        confidence=confidence(gain, ALL_SIGNS),
        fix={"joints": {name: {"effort_sign": -1} for name in names}},
    )
    return among(finding, {LogFault.MOUNT: ()}, case.names) if upside_down else finding


def _grouped(case: Case, found: list[Change]) -> list[Finding]:
    """Return one finding for the joints whose sign is sure, and one for each that could be something else."""
    if not found:
        return []
    fault = found[0].fault
    part = "effort" if fault is LogFault.EFFORT_SIGN else "position"
    sure, findings = [], []
    for change in found:
        rivals = rivals_of(case.search, change)
        if rivals:
            findings.append(among(_reversed(case, [change], part), rivals, case.names))
        else:
            sure.append(change)
    return ([case.written(_reversed(case, sure, part), *sure)] if sure else []) + findings


def _reversed(case: Case, found: list[Change], part: str) -> Finding:
    """Return the finding that efforts or positions of some joints have the opposite sign."""
    members: list[tuple[int, float, dict[str, Any]]] = []
    for change in found:
        (joint,) = change.joints
        gain, other = case.worth(change.without)
        numbers = case.numbers(gain, other, [joint] if part == "effort" else case.alive)
        if joint in case.alive:
            numbers |= _signs_of(case, joint)
        members.append((joint, gain, numbers | {"effect": case.effect(change)}))
    names = case.named(joint for joint, _, _ in members)
    told = "; ".join(_against(case, joint) if part == "effort" else shrinks(numbers) for joint, _, numbers in members)
    along = case.named(change.joints[0] for change in found if _with_effort(case, change))
    whole = f" So has the effort of {listed(along)}." if along else ""
    shown = [change for change in found if part == "position" or _shows(case, change.joints[0])]
    silent = case.named(change.joints[0] for change in found if change not in shown)
    written = {case.names[change.joints[0]]: _sign_change(case, change, part) for change in shown}
    remedy = f"Reverse it: {part}_sign = -1 for {listed(names)}."
    if silent:
        remedy += f" Not written to a fix: {listed(silent)}, whose own weight and friction do not show the sign."
    return Finding(
        fault=found[0].fault,
        consequence=Consequence.DANGER,
        subjects=names,
        sentence=f"The {part} of {listed(names)} has the opposite sign of the robot's ({told}).{whole}",
        remedy=remedy,
        evidence={"joints": {case.names[joint]: numbers for joint, _, numbers in members}},
        confidence=confidence(min(gain for _, gain, _ in members), SIGN),
        fix={"joints": written} if written else {},
    )


def _shows(case: Case, joint: int) -> bool:
    """Return whether a joint's own effort says that it has the opposite sign."""
    signs = _signs_of(case, joint)
    return signs["correlation_with_model"] < -CORRELATED or signs["friction_over_std"] < -CLEAR_FRICTION


def _sign_change(case: Case, change_of: Change, part: str) -> dict[str, int]:
    """Return the mapping's change; a velocity that already has the other sign than its position keeps it."""
    (joint,) = change_of.joints
    change = {f"{part}_sign": -1}
    if _with_effort(case, change_of):
        change["effort_sign"] = -1
    if part == "position" and _slopes(case)[joint] < 0.0:
        change["velocity_sign"] = 1
    return change


def _with_effort(case: Case, change: Change) -> bool:
    """Return whether the effort of a reversed position is reversed with it: its axis points the other way."""
    (joint,) = change.joints
    effort = case.reading.effort_factor[joint] * change.without.effort_factor[joint] < 0.0
    return change.fault is LogFault.POSITION_SIGN and effort


def _slopes(case: Case) -> Array:
    return velocity_slopes(case.log, case.search.comparison.points)


def _signs_of(case: Case, joint: int) -> dict[str, float]:
    """Return what speaks for a sign, as recorded: correlation with the model's torque, and friction in its spreads."""
    sign = case.reading.effort_factor[joint] * case.begin.effort_factor[joint]
    recorded = np.sign(sign)
    return {
        "correlation_with_model": round(float(recorded * case.search.comparison.correlation(case.reading)[joint]), 3),
        "friction_over_std": round(float(recorded * case.fit.friction_sign[joint]), 1),
    }


def _against(case: Case, joint: int) -> str:
    """Return in words what shows the sign of a joint's effort."""
    signs, name = _signs_of(case, joint), case.names[joint]
    told = f"the effort of {name} runs against the model's torque, correlation {signs['correlation_with_model']:.2f}"
    if abs(signs["correlation_with_model"]) > CORRELATED:
        return told
    return f"friction of {name} would drive it, {abs(signs['friction_over_std']):.0f} standard deviations below zero"


def name_order(case: Case) -> list[Finding]:
    """Name channels in another order than the robot's joints."""
    findings = []
    for change in case.changes(LogFault.JOINT_ORDER):
        now, without = case.reading, change.without
        positions, efforts = now.position_from != without.position_from, now.effort_from != without.effort_from
        # Velocities that have nothing to do with the positions of their channel were not exchanged with them.
        apart = bool(np.any(_slopes(case)[list(change.joints)] == 0.0))
        parts = (("position",) if apart else ("position", "velocity")) if positions else ()
        order = now.position_from if positions else now.effort_from
        what = "joint" if positions and efforts else "position" if positions else "effort"
        findings.append(_reordered(case, change, what, order, (*parts, *(("effort",) if efforts else ()))))
    return findings


def _reordered(case: Case, change: Change, what: str, order: tuple[int, ...], parts: tuple[str, ...]) -> Finding:
    gain, other = case.worth(change.without)
    takes = {case.names[joint]: case.names[order[joint]] for joint in change.joints}
    numbers = case.numbers(gain, other, case.alive) | {"what": what, "recorded_as": takes}
    subject = {"joint": "Whole joints are", "position": "Positions are", "effort": "Efforts are"}[what]
    told = ", ".join(f"{joint} was recorded as {channel}" for joint, channel in takes.items())
    columns = {
        case.names[joint]: {part: column for part in parts if (column := case.column(order[joint], part)) is not None}
        for joint in change.joints
    }
    return case.settled(
        Finding(
            fault=LogFault.JOINT_ORDER,
            consequence=Consequence.DANGER,
            subjects=tuple(takes),
            sentence=f"{subject} in another order than the robot's joints: {told} ({shrinks(numbers)}).",
            remedy="Exchange the columns of these joints in the mapping.",
            evidence=numbers | {"effect": case.effect(change)},
            confidence=confidence(gain, ORDER),
            fix={"joints": columns},
        ),
        change,
    )


def name_degrees(case: Case) -> list[Finding]:
    """Name positions in degrees."""
    found = case.changes(LogFault.DEGREES)
    if not found:
        return []
    joints = list(found[0].joints)
    gain, other = case.worth(found[0].without)
    travel = np.ptp(case.search.comparison.points.q, axis=0)
    numbers = case.numbers(gain, other, case.alive)
    numbers["travel_as_recorded"] = {case.names[joint]: rounded(travel[joint]) for joint in joints}
    slopes = np.abs(_slopes(case)[joints])
    # Velocities a hundredth of what degrees change by are radians already.
    in_radians = bool(np.nanmedian(slopes) < math.sqrt(DEGREE)) if np.isfinite(slopes).any() else False
    return [
        Finding(
            fault=LogFault.DEGREES,
            consequence=Consequence.DANGER,
            subjects=case.named(joints),
            sentence=(
                f"The positions are degrees, not radians: they travel up to {short(float(travel[joints].max()))}, and "
                f"taken for degrees {shrinks(numbers)}."
            ),
            remedy=(
                'State unit = "deg" for positions, and '
                + ('"rad/s" for velocities, which they are.' if in_radians else '"deg/s" for their velocities.')
            ),
            evidence=numbers | {"effect": case.effect(found[0])},
            confidence=confidence(gain, UNIT),
            fix={"position": {"unit": "deg"}, "velocity": {"unit": "rad/s" if in_radians else "deg/s"}},
        )
    ]


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
            consequence=Consequence.INVALIDATES,
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
