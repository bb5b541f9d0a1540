"""Naming what is between the recording and the description as a whole: another robot, or masses that differ."""

from __future__ import annotations

import math

from .case import INSTEAD, Case
from .changes import Change, changes
from .evidence import ReadingFit
from .finding import Consequence, Finding, LogFault
from .moves import regressed
from .search import Search
from .weigh import effect_of, margin_of, share_of
from .wording import listed, short

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
