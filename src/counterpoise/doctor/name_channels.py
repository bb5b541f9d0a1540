"""Naming channels that are taken for others: signs, order, degrees."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..description.frozen import Array
from .case import Case, confidence, rounded, shrinks
from .cost import ALL_SIGNS, AMBIGUOUS, ORDER, SIGN, UNIT
from .finding import Consequence, Finding, LogFault
from .moves import DEGREE
from .reading import Reading
from .velocities import velocity_slopes
from .wording import listed, short


def name_signs(case: Case) -> list[Finding]:
    """Name efforts and positions of the opposite sign."""
    now, before = case.reading, case.begin
    effort = [j for j in case.alive if now.effort_factor[j] * before.effort_factor[j] < 0.0]
    position = [j for j in range(now.n) if now.position_factor[j] * before.position_factor[j] < 0.0]
    if effort and len(effort) == len(case.alive) > 1:
        return [_all_efforts(case), *_grouped(case, position, LogFault.POSITION_SIGN)]
    return _grouped(case, effort, LogFault.EFFORT_SIGN) + _grouped(case, position, LogFault.POSITION_SIGN)


def _all_efforts(case: Case) -> Finding:
    joints = case.alive
    reversed_back = case.reading.with_effort_flipped(*joints)
    gain, other = case.worth(reversed_back)
    x, y, z = (-component for component in case.reading.gravity_base)
    upside_down = case.worth(replace(reversed_back, gravity_base=(x, y, z)))[0] < AMBIGUOUS
    names = case.named(joints)
    numbers = case.numbers(gain, other, joints) | {"joints": {case.names[j]: _signs_of(case, j) for j in joints}}
    clearest = max(joints, key=lambda joint: abs(_signs_of(case, joint)["correlation_with_model"]))
    return Finding(
        fault=LogFault.EFFORT_SIGN,
        consequence=Consequence.DANGER,
        subjects=names,
        sentence=f"All efforts have the opposite sign of the robot's ({_against(case, clearest)}).",
        remedy="Reverse the sign of all efforts: effort_sign = -1.",
        evidence=numbers,
        confidence=confidence(gain, ALL_SIGNS, int(upside_down)),
        alternatives=(LogFault.MOUNT.value,) if upside_down else (),
        fix={"joints": {name: {"effort_sign": -1} for name in names}},
    )


def _grouped(case: Case, joints: list[int], fault: LogFault) -> list[Finding]:
    """Return one finding for the joints whose sign is sure and one for those that could be the other channel's."""
    effort = fault is LogFault.EFFORT_SIGN
    groups: dict[bool, list[tuple[int, float, dict[str, Any]]]] = {}
    for joint in joints:
        without = _flipped(case.reading, joint, effort=effort)
        gain, other = case.worth(without)
        instead = _flipped(without, joint, effort=not effort)
        unsure = joint in case.alive and case.worth(instead)[0] < AMBIGUOUS
        numbers = case.numbers(gain, other, [joint] if effort else case.alive)
        if joint in case.alive:
            numbers |= _signs_of(case, joint)
        groups.setdefault(unsure, []).append((joint, gain, numbers))
    part = "effort" if effort else "position"
    other_fault = LogFault.POSITION_SIGN if effort else LogFault.EFFORT_SIGN
    findings = []
    for unsure, members in sorted(groups.items()):
        names = case.named(joint for joint, _, _ in members)
        told = "; ".join(_against(case, joint) if effort else shrinks(numbers) for joint, _, numbers in members)
        sentence = f"The {part} of {listed(names)} has the opposite sign of the robot's ({told})."
        if unsure:
            sentence += " The data do not tell whether it is the effort or the position."
        findings.append(
            Finding(
                fault=fault,
                consequence=Consequence.DANGER,
                subjects=names,
                sentence=sentence,
                remedy=f"Reverse it: {part}_sign = -1 for {listed(names)}.",
                evidence={"joints": {case.names[joint]: numbers for joint, _, numbers in members}},
                confidence=confidence(min(gain for _, gain, _ in members), SIGN, int(unsure)),
                alternatives=(other_fault.value,) if unsure else (),
                fix={"joints": {case.names[joint]: _sign_change(case, joint, part) for joint, _, _ in members}},
            )
        )
    return findings


def _sign_change(case: Case, joint: int, part: str) -> dict[str, int]:
    """Return the mapping's change; a velocity that already has the other sign than its position keeps it."""
    change = {f"{part}_sign": -1}
    if part == "position" and _slopes(case)[joint] < 0.0:
        change["velocity_sign"] = 1
    return change


def _slopes(case: Case) -> Array:
    return velocity_slopes(case.log, case.search.comparison.motion)


def _flipped(reading: Reading, joint: int, *, effort: bool) -> Reading:
    return reading.with_effort_flipped(joint) if effort else reading.with_position_flipped(joint)


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
    if abs(signs["correlation_with_model"]) > 0.7:
        return told
    return f"friction of {name} would drive it, {abs(signs['friction_over_std']):.0f} standard deviations below zero"


def name_order(case: Case) -> list[Finding]:
    """Name channels in another order than the robot's joints."""
    now, before = case.reading, case.begin
    position, effort = now.position_from, now.effort_from
    # Velocities that have nothing to do with the positions of their channel were not exchanged with them.
    exchanged = [joint for joint, channel in enumerate(position) if joint != channel]
    with_positions = ("position",) if np.any(_slopes(case)[exchanged] == 0.0) else ("position", "velocity")
    if position == effort != before.effort_from:
        without = replace(now, position_from=before.position_from, effort_from=before.effort_from)
        return [_reordered(case, "joint", position, without, (*with_positions, "effort"))]
    findings = []
    if position != before.position_from:
        without = replace(now, position_from=before.position_from)
        findings.append(_reordered(case, "position", position, without, with_positions))
    if effort != before.effort_from:
        without = replace(now, effort_from=before.effort_from)
        findings.append(_reordered(case, "effort", effort, without, ("effort",)))
    return findings


def _reordered(case: Case, what: str, order: tuple[int, ...], without: Reading, parts: tuple[str, ...]) -> Finding:
    moved = [joint for joint, channel in enumerate(order) if joint != channel]
    gain, other = case.worth(without)
    takes = {case.names[joint]: case.names[order[joint]] for joint in moved}
    numbers = case.numbers(gain, other, case.alive) | {"what": what, "recorded_as": takes}
    subject = {"joint": "Whole joints are", "position": "Positions are", "effort": "Efforts are"}[what]
    told = ", ".join(f"{joint} was recorded as {channel}" for joint, channel in takes.items())
    columns = {
        case.names[joint]: {part: column for part in parts if (column := case.column(order[joint], part)) is not None}
        for joint in moved
    }
    return Finding(
        fault=LogFault.JOINT_ORDER,
        consequence=Consequence.DANGER,
        subjects=tuple(takes),
        sentence=f"{subject} in another order than the robot's joints: {told} ({shrinks(numbers)}).",
        remedy="Exchange the columns of these joints in the mapping.",
        evidence=numbers,
        confidence=confidence(gain, ORDER),
        fix={"joints": columns},
    )


def name_degrees(case: Case) -> list[Finding]:
    """Name positions in degrees."""
    ratio = np.abs(np.array(case.reading.position_factor) / np.array(case.begin.position_factor))
    joints = np.flatnonzero(ratio < 0.5).tolist()
    if not joints:
        return []
    gain, other = case.worth(replace(case.reading, position_factor=case.begin.position_factor))
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
            evidence=numbers,
            confidence=confidence(gain, UNIT),
            fix={"position": {"unit": "deg"}, "velocity": {"unit": "rad/s" if in_radians else "deg/s"}},
        )
    ]
