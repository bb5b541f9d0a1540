"""What a search found in a log, ready to be named: what each change of the reading is worth, in numbers and words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dynamics import effort_units
from ..recording import Log
from .evidence import ReadingFit
from .finding import Consequence, Finding, LogFault, listed, short
from .reading import Change, Reading, changes
from .search import Search
from .weighing import effect_of, rivals_of

CONSEQUENCES = {
    **dict.fromkeys((LogFault.EFFORT_SIGN, LogFault.POSITION_SIGN, LogFault.JOINT_ORDER), Consequence.DANGER),
    **dict.fromkeys((LogFault.DEGREES, LogFault.EFFORT_IS_CURRENT, LogFault.MOTOR_SIDE), Consequence.DANGER),
    **dict.fromkeys((LogFault.MOUNT, LogFault.GRAVITY_COMPENSATED, LogFault.PAYLOAD), Consequence.DANGER),
    LogFault.GAIN: Consequence.INVALIDATES,
    **dict.fromkeys((LogFault.SPRING, LogFault.COUNTERBALANCE, LogFault.CABLE), Consequence.LIMITS),
    **dict.fromkeys((LogFault.OFFSET, LogFault.MODEL_DIFFERS), Consequence.LIMITS),
}
"""What follows from a fault. A fit frees offsets and can free springs, so they only limit it."""
INSTEAD = {
    LogFault.EFFORT_SIGN: "a reversed effort",
    LogFault.POSITION_SIGN: "a reversed position",
    LogFault.JOINT_ORDER: "another order of the joints",
    LogFault.DEGREES: "positions in degrees",
    LogFault.EFFORT_IS_CURRENT: "efforts in a unit of their own",
    LogFault.GAIN: "a wrong gain",
    LogFault.OFFSET: "a constant offset",
    LogFault.SPRING: "a spring, counterbalance or cable",
    LogFault.PAYLOAD: "a payload",
    LogFault.GRAVITY_COMPENSATED: "efforts without gravity",
    LogFault.MOUNT: "another mounting",
}
"""Faults in words, where one could be there instead of another."""
LEAST_MOVING = 2
"""Joints that must move for these faults to be written to a fix: the friction, the spring or the cable of a single one
looks like any of them."""
_OF_SEVERAL_JOINTS = frozenset(
    {
        *(LogFault.JOINT_ORDER, LogFault.POSITION_SIGN, LogFault.GAIN, LogFault.EFFORT_IS_CURRENT, LogFault.MOUNT),
        LogFault.GRAVITY_COMPENSATED,
    }
)
LEAST_SHRUNK = {
    **dict.fromkeys((LogFault.JOINT_ORDER, LogFault.POSITION_SIGN, LogFault.MOUNT), 2.0),
    LogFault.GAIN: 1.5,
}
"""Factor by which these faults must lower the unexplained effort of some joint to be written to a fix. A fault that
only makes the masses likelier may be wrong masses, and one that explains a little more may be a drift, or friction."""
LARGE_GAIN, LARGE_GAIN_SHRUNK = 1.5, 1.05
"""Factor from which a gain is larger than drifts are, and what it must lower the unexplained effort by."""
_COLUMNS = {"position": "q", "velocity": "dq", "effort": "tau"}


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A search and the log it explains.

    Attributes:
        search: What was compared.
        log: The recording.
    """

    search: Search
    log: Log

    @property
    def fit(self) -> ReadingFit:
        """The best explanation."""
        return self.search.found

    @property
    def reading(self) -> Reading:
        """Its reading."""
        return self.search.found.reading

    @property
    def begin(self) -> Reading:
        """The reading that believes the log."""
        return self.search.start.reading

    @property
    def alive(self) -> tuple[int, ...]:
        """Joints with a live effort."""
        return self.search.cost.alive

    @property
    def names(self) -> tuple[str, ...]:
        """The joints' names."""
        return self.search.comparison.robot.joint_names

    def named(self, joints: Iterable[int]) -> tuple[str, ...]:
        """Return the names of joints."""
        return tuple(self.names[joint] for joint in joints)

    def unit(self, joint: int) -> str:
        """Return the unit of a joint's torque."""
        return effort_units(self.search.comparison.robot)[joint]

    def changes(self, *faults: LogFault) -> list[Change]:
        """Return what the best explanation changes, of these faults."""
        every = changes(self.reading, self.begin, self.alive)
        return [change for change in every if change.fault in faults]

    def effect(self, change: Change) -> dict[str, float]:
        """Return what a change makes of the torques that feel it, root mean square [N m or N], by joint."""
        effect = effect_of(self.search, self.fit, change)
        return {self.names[joint]: rounded(effect[joint]) for joint in self.alive if effect[joint] > 0.0}

    def settled(self, finding: Finding, change: Change) -> Finding:
        """Return a finding with what else would explain the data as well: then it is one of a set, and fixes nothing.

        Args:
            finding: The finding as if nothing else would do.
            change: What it names.
        """
        rivals = rivals_of(self.search, change)
        return among(finding, rivals, self.names) if rivals else self.written(finding, change)

    def written(self, finding: Finding, *found: Change) -> Finding:
        """Return a finding without its fix where the recording shows too little to change a mapping by it.

        Args:
            finding: The finding.
            found: What it names.
        """
        if not finding.fix:
            return finding
        moving = np.flatnonzero(self.search.comparison.points.moving).tolist()
        why = ""
        if finding.fault in _OF_SEVERAL_JOINTS and len(moving) < min(LEAST_MOVING, len(self.names)):
            why = f"only {listed(self.named(moving))} moves" if moving else "no joint moves"
        elif finding.fault in LEAST_SHRUNK and not all(map(self._shrinks, found)):
            why = "it explains too little more of the effort, and wrong masses, friction or a drift may do the same"
        if not why:
            return finding
        return replace(finding, fix={}, remedy=f"{finding.remedy} This is not written to a fix: {why}.")

    def _shrinks(self, change: Change) -> bool:
        """Return whether a change lowers the unexplained effort of some joint enough.

        A gain may not do so at the cost of its own joint.
        """
        numbers = self.numbers(*self.worth(change.without), self.alive)
        after, before = numbers["unexplained"], numbers["unexplained_as_recorded"]
        own = self.named(change.joints) if change.fault is LogFault.GAIN else ()
        least = LEAST_SHRUNK[change.fault]
        if change.fault is LogFault.GAIN:
            joint = change.joints[0]
            factor = abs(self.reading.effort_factor[joint] / change.without.effort_factor[joint])
            least = LARGE_GAIN_SHRUNK if max(factor, 1.0 / factor) > LARGE_GAIN else least
        return any(before[name] >= least * after[name] for name in after) and all(
            before[name] >= after[name] for name in own
        )

    def worth(self, without: Reading) -> tuple[float, ReadingFit]:
        """Return the log evidence that a reading without a change lacks, and its fit."""
        other = self.search.comparison.best(without)
        return self.fit.evidence - other.evidence, other

    def numbers(self, gain: float, other: ReadingFit, joints: Iterable[int]) -> dict[str, Any]:
        """Return the numbers of a change: what it is worth, and what remains unexplained with and without it."""
        members = {self.names[joint]: joint for joint in joints if self.fit.alive[joint]}
        units = effort_units(self.search.comparison.robot)
        factors = np.array(self.reading.effort_factor) / np.array(other.reading.effort_factor)
        return {
            "log_evidence": round(gain, 1),
            "unexplained": {name: rounded(self.fit.residue[joint]) for name, joint in members.items()},
            # In the same unit as above: a factor on the effort is taken along.
            "unexplained_as_recorded": {
                name: rounded(other.residue[joint] * abs(factors[joint])) for name, joint in members.items()
            },
            "unit": {name: units[joint] for name, joint in members.items()},
        }

    def column(self, joint: int, part: str) -> str | None:
        """Return the column of a joint's position, velocity or effort; None for one that was not recorded."""
        joints = self.log.declared.mapping.get("joints")
        if not joints:
            return f"{_COLUMNS[part]}.{self.names[joint]}"
        column = joints.get(self.names[joint], {}).get(part)
        return None if column is None else str(column)


def among(finding: Finding, rivals: Mapping[LogFault, tuple[int, ...]], names: tuple[str, ...]) -> Finding:
    """Return a finding as one of a set that the data cannot distinguish.

    Args:
        finding: The finding by itself.
        rivals: What else it could be, with joints (indices).
        names: The joints' names.
    """
    told = [
        INSTEAD[fault] + (f" of {listed([names[joint] for joint in joints])}" if joints else "")
        for fault, joints in rivals.items()
    ]
    words = [fault.value for fault in rivals]
    return replace(
        finding,
        consequence=min(finding.consequence, *(CONSEQUENCES[fault] for fault in rivals)),
        sentence=f"{finding.sentence} These data cannot distinguish it from {' or '.join(told)}.",
        remedy=f"{finding.remedy} First find out which it is.",
        subjects=tuple(dict.fromkeys((*finding.subjects, *(names[j] for joints in rivals.values() for j in joints)))),
        alternatives=(*finding.alternatives, *(word for word in words if word not in finding.alternatives)),
        fix={},
    )


def shrinks(numbers: dict[str, Any]) -> str:
    """Return in words on which joint a change explains most."""
    before, after = numbers["unexplained_as_recorded"], numbers["unexplained"]
    joint = max(after, key=lambda name: before[name] / max(after[name], 1e-12))
    if before[joint] < 1.1 * after[joint]:  # the priors pay for it: masses or friction that nobody would expect
        return f"the recording is e^{numbers['log_evidence']:.0f} times as likely"
    return (
        f"{short(after[joint])} {numbers['unit'][joint]} of {joint} stay unexplained instead of {short(before[joint])}"
    )


def confidence(gain: float, cost: float) -> float:
    """Return the posterior probability of a change whose prior odds are e^−cost."""
    return round(1.0 / (1.0 + math.exp(-min(max(gain - cost, -50.0), 50.0))), 4)


def rounded(value: float) -> float:
    """Return a number with four digits."""
    return float(f"{value:.4g}")
