"""Naming what pulls at the arm otherwise than the model says: mounting, gravity compensated by the robot, payload."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .case import Case, angle_between, confidence, rounded, shrinks
from .cost import AMBIGUOUS, COMPENSATED, MOUNT, PAYLOAD
from .finding import Consequence, Finding, LogFault
from .wording import listed, percent, short

POOR = 0.7
"""Unexplained part of a joint's effort, standard deviation over standard deviation, that is much ..."""
EXPECTED = 0.5
"""... where the model expects at least this part of it ..."""
MATTERS = 0.05
"""... and the effort is at least this part of the largest joint's."""


def name_compensated(case: Case) -> list[Finding]:
    """Name efforts that lack gravity though nothing says so, or contain it against what is declared."""
    if case.reading.compensated == case.begin.compensated:
        return []
    gain, other = case.worth(replace(case.reading, compensated=case.begin.compensated))
    numbers = case.numbers(gain, other, case.alive)
    lacking = case.reading.compensated
    remedy = (
        "The robot compensates gravity by itself: state adds_gravity = true, and do not compensate again."
        if lacking
        else "The recording declares adds_gravity, but gravity is in the efforts: state adds_gravity = false."
    )
    return [
        Finding(
            fault=LogFault.GRAVITY_COMPENSATED,
            consequence=Consequence.DANGER,
            subjects=(),
            sentence=(
                f"The efforts {'lack' if lacking else 'contain'} the torque that holds the arm's weight: so read, "
                f"{shrinks(numbers)}."
            ),
            remedy=remedy,
            evidence=numbers,
            confidence=confidence(gain, COMPENSATED),
            fix={"robot": {"adds_gravity": lacking}},
        )
    ]


def name_mount(case: Case) -> list[Finding]:
    """Name another mounting, with its uncertainty."""
    if case.reading.gravity_base == case.begin.gravity_base:
        return []
    gain, other = case.worth(replace(case.reading, gravity_base=case.begin.gravity_base))
    found, before = np.array(case.reading.gravity_base), np.array(case.begin.gravity_base)
    _, covariance = case.search.comparison.gravity(case.reading, case.fit.trust)
    size = float(np.linalg.norm(found))
    across = np.eye(3) - np.outer(found, found) / size**2
    doubt = math.degrees(math.sqrt(float(np.trace(across @ covariance @ across)) / 2.0) / size)
    angle = math.degrees(angle_between(found, before))
    without = replace(case.reading, gravity_base=case.begin.gravity_base)
    offsets = [
        joint
        for joint in case.alive
        if case.worth(replace(without, offset=case.reading.offset | {joint}))[0] < AMBIGUOUS
    ]
    signs = angle > 150.0 and case.worth(without.with_effort_flipped(*case.alive))[0] < AMBIGUOUS
    alternatives = [LogFault.EFFORT_SIGN.value] * signs + [LogFault.OFFSET.value] * bool(offsets)
    numbers = case.numbers(gain, other, case.alive)
    numbers |= {"gravity_base": [rounded(value) for value in found.tolist()]}
    numbers |= {"angle_deg": round(angle, 2), "angle_std_deg": round(doubt, 2)}
    vector = ", ".join(f"{value:.2f}" for value in found.tolist())
    return [
        Finding(
            fault=LogFault.MOUNT,
            consequence=Consequence.DANGER,
            subjects=case.named(offsets),
            sentence=(
                f"Gravity points {angle:.1f}° ± {doubt:.1f}° away from where the model has it: the arm is mounted "
                f"differently ({shrinks(numbers)})."
                + (
                    f" An offset of the effort of {listed(case.named(offsets))} would explain as much."
                    if offsets
                    else ""
                )
            ),
            remedy=f"Mount the model as the arm stands: gravity_base = [{vector}], or robot.mounted().",
            evidence=numbers,
            confidence=confidence(gain, MOUNT, len(alternatives)),
            alternatives=tuple(alternatives),
            fix={"robot": {"gravity_base": found.tolist()}},
        )
    ]


def name_payload(case: Case) -> list[Finding]:
    """Name payloads that the model lacks. A mapping cannot mend that; the remedy says what to add."""
    robot, tree = case.search.comparison.robot, case.search.comparison.robot.tree
    findings = []
    for body, (value, doubt) in sorted(case.fit.payload.items()):
        gain, other = case.worth(replace(case.reading, loaded=case.reading.loaded - {body}))
        links = [name for name in tree.leaves if tree.link_body[robot.link_names.index(name)] == body]
        link = links[0] if links else robot.link_names[int(np.flatnonzero(np.asarray(tree.link_body) == body)[-1])]
        index = robot.link_names.index(link)
        mass = float(value[0])
        in_body = tree.joint_rotation[body] @ value[1:] / mass if mass > 0.0 else np.zeros(3)
        com = tree.link_rotation[index].T @ (in_body - tree.link_origin[index])
        numbers = case.numbers(gain, other, case.alive)
        numbers |= {"mass_kg": rounded(mass), "mass_std_kg": rounded(doubt[0]), "link": link}
        numbers["com_m"] = [rounded(entry) for entry in com.tolist()]
        weight = "carries" if mass > 0.0 else "is lighter than the model by"
        call = f'robot.with_payload({short(mass)}, com=({", ".join(short(v) for v in com.tolist())}), link="{link}")'
        findings.append(
            Finding(
                fault=LogFault.PAYLOAD,
                consequence=Consequence.DANGER,
                subjects=(link,),
                sentence=(
                    f"The arm {weight} {short(abs(mass))} ± {short(float(doubt[0]))} kg at {link} that the model "
                    f"{'lacks' if mass > 0.0 else 'has'} ({shrinks(numbers)})."
                ),
                remedy=f"Add the load: {call}." if mass > 0.0 else f"Take the tool off the model's {link}.",
                evidence=numbers,
                confidence=confidence(gain, PAYLOAD),
            )
        )
    return findings


def name_poor_model(case: Case) -> list[Finding]:
    """Name joints of which model, friction and all faults that are looked for explain little."""
    fit = case.fit
    expected = case.search.comparison.expected(case.reading)
    largest = max(float(fit.scale[joint]) for joint in case.alive)
    shares = {
        case.names[joint]: float(fit.residue[joint] / fit.scale[joint])
        for joint in case.alive
        if fit.residue[joint] > POOR * fit.scale[joint]
        and expected[joint] > EXPECTED * fit.scale[joint] > EXPECTED * MATTERS * largest
    }
    if not shares:
        return []
    worst = max(shares, key=lambda name: shares[name])
    return [
        Finding(
            fault=LogFault.MODEL_POOR,
            consequence=Consequence.SPOILS,
            subjects=tuple(shares),
            sentence=(
                "Model, friction and every fault that is looked for leave "
                f"{percent(min(shares[worst] ** 2, 1.0))} of the variance of {worst} unexplained."
            ),
            remedy="Check that the description belongs to this arm, and the zero positions of its joints.",
            evidence={"unexplained_share": {name: round(share, 3) for name, share in shares.items()}},
            confidence=0.9,
        )
    ]
