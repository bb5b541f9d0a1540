"""Findings of a load that the model does not have, by what explains it: mounting, payload, springs, another robot.

A difference may act on the arm (it is mounted otherwise, the robot compensates its gravity itself, it carries a
payload, a spring pulls at a joint), or be between recording and description as a whole: another robot, or masses that
differ.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .case import INSTEAD, Case, confidence, rounded, shrinks
from .evidence import ReadingFit
from .finding import Consequence, Finding, LogFault, listed, percent, short
from .gram import OWN, SHAPES
from .moves import regressed, tilt_found
from .priors import COMPENSATED, MOUNT, PAYLOAD, SPRUNG
from .reading import Change, changes
from .search import Search
from .weighing import effect_of, margin_of, share_of

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
    """Name payloads that the model lacks. A mapping cannot fix that; the remedy says what to add."""
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
            consequence=Consequence.INVALIDATES,
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


MOST_KINDS = 2
"""Kinds of dangerous faults up to which they are listed; with more of them the description is another robot's."""
DANGERS = frozenset(
    {
        *(LogFault.EFFORT_SIGN, LogFault.POSITION_SIGN, LogFault.JOINT_ORDER, LogFault.DEGREES, LogFault.MOUNT),
        *(LogFault.GRAVITY_COMPENSATED, LogFault.EFFORT_IS_CURRENT, LogFault.GAIN),
    }
)
HINTED = 2.0
"""Log evidence, costs included, that a good description must bring for a fault to be mentioned."""
MASS_SCALE = "mass-scale"
"""What wrong masses are called among the alternatives."""
TELLING = 4.0
"""Standard deviations that a joint's factor must be away from zero to be stated."""


def needs_other_robot(case: Case) -> bool:
    """Return whether more kinds of fault are needed at once than one recording has."""
    signs = (LogFault.EFFORT_SIGN, LogFault.POSITION_SIGN)
    kinds = {"sign" if change.fault in signs else change.fault.value for change in _dangers(case)}
    return len(kinds) > MOST_KINDS


def _dangers(case: Case) -> list[Change]:
    return case.changes(*DANGERS)


def wrong_robot(case: Case) -> Finding:
    """Return the question whether the description belongs to this arm, in place of many dangers."""
    faults = list(dict.fromkeys(change.fault for change in _dangers(case)))
    joints = dict.fromkeys(joint for change in _dangers(case) for joint in change.joints)
    return Finding(
        fault=LogFault.MODEL_POOR,
        consequence=Consequence.DANGER,
        subjects=case.named(joints),
        sentence=(
            "Is this the right robot? The description explains the recording only with several faults at once: "
            f"{listed([INSTEAD[fault] for fault in faults])}."
        ),
        remedy="Check that the description belongs to this arm, and the zero positions of its joints, before all else.",
        evidence={"needed": [fault.value for fault in faults]},
        confidence=0.9,
    )


def name_difference(case: Case, hinted: Search) -> list[Finding]:
    """Name what only a good description would tell: one finding, because wrong masses explain it as well.

    Args:
        case: What the recording tells by itself.
        hinted: The same search with a description that is believed to be good, begun there.
    """
    there = {(change.fault, change.joints) for change in changes(case.reading, case.begin, case.alive)}
    fit = hinted.found
    added = [
        change
        for change in changes(fit.reading, case.begin, case.alive)
        if (change.fault, change.joints) not in there
        and share_of(hinted, fit, change) > 1.0
        and margin_of(hinted, fit, change) > HINTED
    ]
    if not added:
        return []
    joints = dict.fromkeys(joint for change in added for joint in change.joints)
    faults = list(dict.fromkeys(change.fault for change in added))
    effect = {
        case.names[joint]: max(float(effect_of(hinted, fit, change)[joint]) for change in added) for joint in case.alive
    }
    told = [_in_words(case, fit, added, fault) for fault in faults]
    factors = _factors(case)
    scale = ", ".join(f"{name} {short(value)}" for name, value in factors.items())
    return [
        Finding(
            fault=LogFault.MODEL_DIFFERS,
            consequence=Consequence.LIMITS,
            subjects=case.named(joints),
            sentence=(
                "Recording and description differ"
                + (f": efforts over the described torque are {scale}" if scale else "")
                + f". Masses that are off explain it; with good masses it would be {' and '.join(told)}."
            ),
            remedy=(
                "Compare with what is known: the payload, the maker's torque constants, how the arm stands. If all of "
                "that is right, the masses of the description are wrong, and a calibration finds them."
            ),
            evidence={
                "effort_over_described": factors,
                "effect": {name: float(f"{value:.4g}") for name, value in effect.items()},
                "would_be": [fault.value for fault in faults],
            },
            alternatives=(MASS_SCALE, *(fault.value for fault in faults)),
        )
    ]


def _in_words(case: Case, fit: ReadingFit, added: list[Change], fault: LogFault) -> str:
    if fault is LogFault.PAYLOAD:
        masses = [float(value[0]) for value, _ in fit.payload.values()]
        return f"a payload of {' and '.join(short(mass) for mass in masses)} kg"
    joints = list(dict.fromkeys(joint for change in added if change.fault is fault for joint in change.joints))
    whole = not joints or len(joints) == len(case.alive)
    return INSTEAD[fault] + ("" if whole else f" of {listed(case.named(joints))}")


def _factors(case: Case) -> dict[str, float]:
    """Return the recorded effort over the described torque of the joints that carry weight, by regression."""
    comparison, alive = case.search.comparison, case.alive
    weight, found = comparison.weight(case.reading), {}
    for row, joint in enumerate(alive):
        slope, doubt, _ = regressed(comparison, case.reading, row, alive.index(case.reading.effort_from[joint]))
        slope *= math.copysign(1.0, case.reading.effort_factor[joint])
        if abs(slope) > TELLING * doubt and weight[joint] > 0.0:
            found[case.names[joint]] = float(f"{slope:.3g}")
    return found
