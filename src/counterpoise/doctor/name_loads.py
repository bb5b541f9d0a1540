"""Naming what pulls at the arm otherwise than the model says: mounting, gravity compensated by the robot, payload."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .case import Case, confidence, rounded, shrinks
from .changes import Change
from .cost import COMPENSATED, MOUNT, PAYLOAD, SPRUNG
from .finding import Consequence, Finding, LogFault
from .gram import OWN, SHAPES
from .moves import regressed, tilt_found
from .wording import percent, short

POOR = 0.7
"""Unexplained part of a joint's effort, standard deviation over standard deviation, that is much ..."""
CARRIED = 0.5
"""... where the weight that the model expects varies by at least this part of it ..."""
MATTERS = 0.05
"""... and the effort is at least this part of the largest joint's."""
FOLLOWS = 0.5
"""An effort that rises by less than this with the model's torque, two standard deviations included, does not follow it.
Large friction alone leaves most of an effort unexplained, too, but the rest of it follows the model."""
SIMPLEST = 0.9
"""Share of a torque along the position from which a simple term is taken for it."""
_SHAPES_OF = {
    LogFault.SPRING: ("straight",),
    LogFault.COUNTERBALANCE: ("sine", "cosine"),
    LogFault.CABLE: ("straight", "cubic"),
}
_SPRINGS = {
    LogFault.SPRING: "a spring",
    LogFault.COUNTERBALANCE: "a counterbalance",
    LogFault.CABLE: "a cable or hose",
}
_TERMS = {
    LogFault.SPRING: "Fit it: give calibrate the term spring for {name}.",
    LogFault.COUNTERBALANCE: "Fit it: give calibrate the term counterbalance for {name}.",
    LogFault.CABLE: "Fit the nearest term, spring, for {name}, and trust the result near the recorded poses only.",
}


def name_compensated(case: Case) -> list[Finding]:
    """Name efforts that lack gravity though nothing says so, or contain it against what is declared."""
    found = case.changes(LogFault.GRAVITY_COMPENSATED)
    if not found:
        return []
    gain, other = case.worth(found[0].without)
    numbers = case.numbers(gain, other, case.alive)
    lacking = case.reading.compensated
    remedy = (
        "The robot compensates gravity by itself: state adds_gravity = true, and do not compensate again."
        if lacking
        else "The recording declares adds_gravity, but gravity is in the efforts: state adds_gravity = false."
    )
    finding = Finding(
        fault=LogFault.GRAVITY_COMPENSATED,
        consequence=Consequence.DANGER,
        subjects=(),
        sentence=(
            f"The efforts {'lack' if lacking else 'contain'} the torque that holds the arm's weight: so read, "
            f"{shrinks(numbers)}."
        ),
        remedy=remedy,
        evidence=numbers | {"effect": case.effect(found[0])},
        confidence=confidence(gain, COMPENSATED),
        fix={"robot": {"adds_gravity": lacking}},
    )
    return [case.settled(finding, found[0])]


def name_mount(case: Case) -> list[Finding]:
    """Name another mounting, with its uncertainty."""
    found = case.changes(LogFault.MOUNT)
    if not found:
        return []
    gain, other = case.worth(found[0].without)
    vector = np.array(case.reading.gravity_base)
    comparison, belief = case.search.comparison, case.fit.belief
    angle, doubt = map(math.degrees, tilt_found(comparison, case.reading, case.begin, belief))
    numbers = case.numbers(gain, other, case.alive)
    numbers |= {"gravity_base": [rounded(value) for value in vector.tolist()]}
    numbers |= {"angle_deg": round(angle, 2), "angle_std_deg": round(doubt, 2), "effect": case.effect(found[0])}
    told = ", ".join(f"{value:.2f}" for value in vector.tolist())
    finding = Finding(
        fault=LogFault.MOUNT,
        consequence=Consequence.DANGER,
        subjects=(),
        sentence=(
            f"Gravity points {angle:.1f}° ± {doubt:.1f}° away from where the model has it: the arm is mounted "
            f"differently ({shrinks(numbers)})."
        ),
        remedy=f"Mount the model as the arm stands: gravity_base = [{told}], or robot.mounted().",
        evidence=numbers,
        confidence=confidence(gain, MOUNT),
        fix={"robot": {"gravity_base": vector.tolist()}},
    )
    return [case.settled(finding, found[0])]


def name_payload(case: Case) -> list[Finding]:
    """Name payloads that the model lacks. A mapping cannot mend that; the remedy says what to add."""
    robot, tree = case.search.comparison.robot, case.search.comparison.robot.tree
    findings = []
    for body, (value, doubt) in sorted(case.fit.payload.items()):
        change = Change(LogFault.PAYLOAD, (), replace(case.reading, loaded=case.reading.loaded - {body}))
        gain, other = case.worth(change.without)
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
        finding = Finding(
            fault=LogFault.PAYLOAD,
            consequence=Consequence.DANGER,
            subjects=(link,),
            sentence=(
                f"The arm {weight} {short(abs(mass))} ± {short(float(doubt[0]))} kg at {link} that the model "
                f"{'lacks' if mass > 0.0 else 'has'} ({shrinks(numbers)})."
            ),
            remedy=f"Add the load: {call}." if mass > 0.0 else f"Take the tool off the model's {link}.",
            evidence=numbers | {"effect": case.effect(change)},
            confidence=confidence(gain, PAYLOAD),
        )
        findings.append(case.settled(finding, change))
    return findings


def name_springs(case: Case) -> list[Finding]:
    """Name torques along a joint's own position, by the term that describes them."""
    findings = []
    for change in case.changes(LogFault.SPRING):
        (joint,) = change.joints
        gain, other = case.worth(change.without)
        term, share = spring_term(case, joint)
        effect = case.effect(change)
        name, unit = case.names[joint], case.unit(joint)
        numbers = case.numbers(gain, other, [joint]) | {"term": term.value, "explained": round(share, 3)}
        finding = Finding(
            fault=term,
            consequence=Consequence.LIMITS,
            subjects=(name,),
            sentence=(
                f"A torque of {short(effect.get(name, 0.0))} {unit} (root mean square) on {name} follows its own "
                f"position as {_SPRINGS[term]} does; the links' weight does not explain it ({shrinks(numbers)})."
            ),
            remedy=_TERMS[term].format(name=name),
            evidence=numbers | {"effect": effect},
            confidence=confidence(gain, SPRUNG),
        )
        findings.append(case.settled(finding, change))
    return findings


def spring_term(case: Case, joint: int) -> tuple[LogFault, float]:
    """Return the simplest term for the torque found along a joint's position, and the share of it that it explains."""
    comparison = case.search.comparison
    gram, first = comparison.gram(case.reading), OWN.index(SHAPES[0])
    columns = list(gram.own)[first:]
    products = gram.products[int(np.searchsorted(comparison.columns.alive, joint))][np.ix_(columns, columns)]
    size = case.fit.own[joint, first:]
    whole, against = float(size @ products @ size), products @ size
    shares = {}
    for term, names in _SHAPES_OF.items():
        chosen = [SHAPES.index(name) for name in names]
        inner = np.linalg.pinv(products[np.ix_(chosen, chosen)], rcond=1e-9)
        shares[term] = float(against[chosen] @ inner @ against[chosen]) / max(whole, 1e-300)
    term = next((term for term, share in shares.items() if share > SIMPLEST), LogFault.CABLE)
    return term, shares[term]


def name_poor_model(case: Case) -> list[Finding]:
    """Say so where model, friction and all faults that are looked for explain little of most joints that carry weight.

    One joint alone has friction, a cable or a hand on it; a description of another arm fails on most.
    """
    fit = case.fit
    comparison = case.search.comparison
    weight = comparison.weight(case.reading)
    largest = max(float(fit.scale[joint]) for joint in case.alive)
    carrying = [
        joint for joint in case.alive if weight[joint] > CARRIED * fit.scale[joint] > CARRIED * MATTERS * largest
    ]
    shares = {
        case.names[joint]: float(fit.residue[joint] / fit.scale[joint])
        for joint in carrying
        if fit.residue[joint] > POOR * fit.scale[joint] and _strays(case, joint)
    }
    if 2 * len(shares) <= len(carrying):
        return []
    worst = max(shares, key=lambda name: shares[name])
    return [
        Finding(
            fault=LogFault.MODEL_POOR,
            consequence=Consequence.SPOILS,
            subjects=tuple(shares),
            sentence=(
                "Is this the right robot? Model, friction and every fault that is looked for leave "
                f"{percent(min(shares[worst] ** 2, 1.0))} of the variance of {worst} unexplained."
            ),
            remedy="Check that the description belongs to this arm, and the zero positions of its joints.",
            evidence={"unexplained_share": {name: round(share, 3) for name, share in shares.items()}},
            confidence=0.9,
        )
    ]


def _strays(case: Case, joint: int) -> bool:
    """Return whether a joint's effort, as read, does not follow the model's torque."""
    row, effort = case.alive.index(joint), case.alive.index(case.reading.effort_from[joint])
    slope, doubt, _ = regressed(case.search.comparison, case.reading, row, effort)
    return bool(
        case.reading.effort_factor[joint] * slope + 2.0 * abs(case.reading.effort_factor[joint]) * doubt < FOLLOWS
    )
