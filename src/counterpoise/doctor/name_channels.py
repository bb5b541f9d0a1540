"""Naming channels that are taken for others: signs, order, degrees."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..description.frozen import Array
from .case import Case, among, confidence, rounded, shrinks
from .changes import Change
from .cost import ALL_SIGNS, AMBIGUOUS, ORDER, SIGN, UNIT
from .finding import Consequence, Finding, LogFault
from .moves import DEGREE
from .velocities import velocity_slopes
from .weigh import rivals_of
from .wording import listed, short

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
    return velocity_slopes(case.log, case.search.comparison.motion)


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
    travel = np.ptp(case.search.comparison.motion.q, axis=0)
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
