"""From the best reading of a recording to findings: what it changes, what each change is worth, what else it could be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..description.frozen import Array
from ..dynamics.joint_units import effort_units
from ..logs.log import Log
from .cost import COMPENSATED, GAIN, MOUNT, ORDER, PAYLOAD, SIGN, UNIT
from .cost import OFFSET as OFFSET_COST
from .evidence import Fit
from .finding import Consequence, Fault, Finding
from .gram import OWN
from .reading import Reading
from .search import Search
from .wording import listed, percent, short

AMBIGUOUS = 5.0
"""Log evidence by which another explanation must be worse to be ruled out: odds of 150 to 1."""
POOR = 0.7
"""Unexplained part of a joint's effort, standard deviation over standard deviation, that is much ..."""
EXPECTED = 0.5
"""... where the model expects at least this part of it."""
OFTEN = 1.8
"""Factor that most efforts must be off by to be called a unit of their own."""
MASS_SCALE = "mass-scale"
"""Alternative of a gain: all links beyond the joint are as much heavier or lighter."""


class Naming:
    """Names what a search found.

    Attributes:
        search: What was compared.
        log: The recording.
    """

    def __init__(self, search: Search, log: Log) -> None:
        """Prepare to name what a search found in a log."""
        self.search = search
        self.log = log
        self._fit = search.found
        self._reading = search.found.reading
        self._begin = search.start.reading
        self._names = search.comparison.robot.joint_names
        self._units = effort_units(search.comparison.robot)

    def findings(self) -> list[Finding]:
        """Return all findings that the model gives."""
        found = [*self._signs(), *self._order(), *self._degrees(), *self._gains(), *self._offsets()]
        return [*found, *self._gravity(), *self._payload(), *self._poor()]

    # ------------------------------------------------------------------------------------------------ what it is worth

    def _worth(self, without: Reading) -> tuple[float, Fit]:
        """Return the log evidence that a reading without a change lacks, and its fit."""
        other = self.search.comparison.best(without)
        return self._fit.evidence - other.evidence, other

    def _evidence(self, gain: float, other: Fit, joints: Iterable[int]) -> dict[str, Any]:
        """Return the numbers of a change: what it is worth, and what remains unexplained with and without it."""
        named = {self._names[joint]: joint for joint in joints if self._fit.alive[joint]}
        return {
            "log_evidence": round(gain, 1),
            "unexplained": {name: _rounded(self._fit.residue[joint]) for name, joint in named.items()},
            "unexplained_as_recorded": {
                # In the same unit as above: a factor on the effort is taken along.
                name: _rounded(other.residue[joint] * abs(self._scale(joint, other))) for name, joint in named.items()
            },
            "unit": {name: self._units[joint] for name, joint in named.items()},
        }

    def _scale(self, joint: int, other: Fit) -> float:
        return self._reading.effort_factor[joint] / other.reading.effort_factor[joint]

    # ------------------------------------------------------------------------------------------------ signs

    def _signs(self) -> list[Finding]:
        effort = [j for j in self.search.alive if self._reading.effort_factor[j] * self._begin.effort_factor[j] < 0.0]
        position = [
            j for j in range(self._reading.n) if self._reading.position_factor[j] * self._begin.position_factor[j] < 0.0
        ]
        findings = []
        if effort and len(effort) == len(self.search.alive) > 1:
            findings.append(self._all_efforts(effort))
        else:
            findings += self._grouped(effort, Fault.EFFORT_SIGN)
        return findings + self._grouped(position, Fault.POSITION_SIGN)

    def _all_efforts(self, joints: list[int]) -> Finding:
        gain, other = self._worth(self._reading.with_effort_flipped(*joints))
        x, y, z = (-component for component in self._reading.gravity_base)
        hanging = replace(self._reading.with_effort_flipped(*joints), gravity_base=(x, y, z))
        upside_down = self._worth(hanging)[0] < AMBIGUOUS
        names = tuple(self._names[joint] for joint in joints)
        evidence = self._evidence(gain, other, joints)
        return Finding(
            fault=Fault.EFFORT_SIGN,
            consequence=Consequence.DANGER,
            subjects=names,
            sentence=f"All efforts have the opposite sign of the robot's: {self._shrinks(evidence)}.",
            remedy="Reverse the sign of all efforts: effort_sign = -1.",
            evidence=evidence,
            confidence=_confidence(gain, SIGN, int(upside_down)),
            alternatives=(Fault.MOUNT.value,) if upside_down else (),
            fix={"joints": {name: {"effort_sign": -1} for name in names}},
        )

    def _grouped(self, joints: list[int], fault: Fault) -> list[Finding]:
        """Return one finding for the joints whose sign is sure and one for those that could be the other channel's."""
        effort = fault is Fault.EFFORT_SIGN
        other_fault = Fault.POSITION_SIGN if effort else Fault.EFFORT_SIGN
        groups: dict[bool, list[tuple[int, float, Fit]]] = {}
        for joint in joints:
            flipped_back = self._flipped(joint, effort)
            gain, other = self._worth(flipped_back)
            instead = self._flipped(joint, not effort, flipped_back)
            unsure = joint in self.search.alive and self._worth(instead)[0] < AMBIGUOUS
            groups.setdefault(unsure, []).append((joint, gain, other))
        findings = []
        for unsure, members in sorted(groups.items()):
            names = tuple(self._names[joint] for joint, _, _ in members)
            part = "effort" if effort else "position"
            evidence: dict[str, Any] = {"joints": {}}
            told = []
            for joint, gain, other in members:
                numbers = self._evidence(gain, other, [joint] if effort else self.search.alive)
                evidence["joints"][self._names[joint]] = numbers
                told.append(f"{self._names[joint]}: {self._shrinks(numbers)}")
            least = min(gain for _, gain, _ in members)
            sentence = f"The {part} of {listed(names)} has the opposite sign of the robot's ({'; '.join(told)})."
            if unsure:
                sentence += " The data do not tell whether it is the effort or the position."
            findings.append(
                Finding(
                    fault=fault,
                    consequence=Consequence.DANGER,
                    subjects=names,
                    sentence=sentence,
                    remedy=f"Reverse it: {part}_sign = -1 for {listed(names)}.",
                    evidence=evidence,
                    confidence=_confidence(least, SIGN, int(unsure)),
                    alternatives=(other_fault.value,) if unsure else (),
                    fix={"joints": {name: {f"{part}_sign": -1} for name in names}},
                )
            )
        return findings

    def _flipped(self, joint: int, effort: bool, reading: Reading | None = None) -> Reading:
        base = self._reading if reading is None else reading
        return base.with_effort_flipped(joint) if effort else base.with_position_flipped(joint)

    def _shrinks(self, evidence: dict[str, Any]) -> str:
        """Return in words on which joint most is explained by a change."""
        before, after = evidence["unexplained_as_recorded"], evidence["unexplained"]
        joint = max(after, key=lambda name: before[name] / max(after[name], 1e-12))
        unit = evidence["unit"][joint]
        return f"{short(after[joint])} {unit} of {joint} stay unexplained instead of {short(before[joint])}"

    # ------------------------------------------------------------------------------------------------ order and units

    def _order(self) -> list[Finding]:
        findings = []
        position, effort = self._reading.position_from, self._reading.effort_from
        if position == effort and position != self._begin.position_from:
            without = replace(
                self._reading, position_from=self._begin.position_from, effort_from=self._begin.effort_from
            )
            return [self._reordered("joint", position, without, ("position", "velocity", "effort"))]
        if position != self._begin.position_from:
            without = replace(self._reading, position_from=self._begin.position_from)
            findings.append(self._reordered("position", position, without, ("position", "velocity")))
        if effort != self._begin.effort_from:
            without = replace(self._reading, effort_from=self._begin.effort_from)
            findings.append(self._reordered("effort", effort, without, ("effort",)))
        return findings

    def _reordered(self, what: str, order: tuple[int, ...], without: Reading, parts: tuple[str, ...]) -> Finding:
        moved = [joint for joint, channel in enumerate(order) if joint != channel]
        gain, other = self._worth(without)
        names = tuple(self._names[joint] for joint in moved)
        takes = {self._names[joint]: self._names[order[joint]] for joint in moved}
        evidence = self._evidence(gain, other, self.search.alive)
        evidence["what"] = what
        evidence["recorded_as"] = takes
        plural = {"joint": "Whole joints are", "position": "Positions are", "effort": "Efforts are"}[what]
        told = ", ".join(f"{joint} was recorded as {channel}" for joint, channel in takes.items())
        return Finding(
            fault=Fault.JOINT_ORDER,
            consequence=Consequence.DANGER,
            subjects=names,
            sentence=f"{plural} in another order than the robot's joints: {told} ({self._shrinks(evidence)}).",
            remedy="Exchange the columns of these joints in the mapping.",
            evidence=evidence,
            confidence=_confidence(gain, ORDER, 0),
            fix={
                "joints": {
                    self._names[joint]: {
                        part: column
                        for part in parts
                        if (column := self._column(order[joint], part)) is not None
                    }
                    for joint in moved
                }
            },
        )

    def _column(self, joint: int, part: str) -> str | None:
        """Return the column of a joint's position, velocity or effort; None for a velocity that was not recorded."""
        declared, name = self.log.declared, self._names[joint]
        if not declared.mapping.get("joints"):
            return f"{ {'position': 'q', 'velocity': 'dq', 'effort': 'tau'}[part]}.{name}"
        column = declared.mapping["joints"].get(name, {}).get(part)
        return None if column is None else str(column)

    def _degrees(self) -> list[Finding]:
        ratio = np.abs(np.array(self._reading.position_factor) / np.array(self._begin.position_factor))
        joints = np.flatnonzero(ratio < 0.5).tolist()
        if not joints:
            return []
        gain, other = self._worth(replace(self._reading, position_factor=self._begin.position_factor))
        evidence = self._evidence(gain, other, self.search.alive)
        travel = np.ptp(self.search.comparison.motion.q, axis=0)
        evidence["travel_as_recorded"] = {self._names[joint]: _rounded(travel[joint]) for joint in joints}
        return [
            Finding(
                fault=Fault.DEGREES,
                consequence=Consequence.DANGER,
                subjects=tuple(self._names[joint] for joint in joints),
                sentence=(
                    f"The positions are degrees, not radians: they travel up to {short(float(travel.max()))}, and taken "
                    f"for degrees {self._shrinks(evidence)}."
                ),
                remedy='State unit = "deg" for positions, and for velocities that were recorded with them.',
                evidence=evidence,
                confidence=_confidence(gain, UNIT, 0),
                fix={"position": {"unit": "deg"}, "velocity": {"unit": "deg/s"}},
            )
        ]

    # ------------------------------------------------------------------------------------------------ gains and offsets

    def _gains(self) -> list[Finding]:
        factor = np.abs(np.array(self._reading.effort_factor) / np.array(self._begin.effort_factor))
        off = [joint for joint in self.search.alive if abs(math.log(factor[joint])) > 1e-6]
        if not self._reading.free_gain:
            return [self._gain(joint, float(factor[joint])) for joint in off]
        spread = {joint: self._gain_doubt(joint) for joint in self.search.alive}
        sure = [joint for joint in self.search.alive if spread[joint] < 0.5]
        logs = [abs(math.log(factor[joint])) for joint in sure]
        if self._begin.free_gain or (logs and float(np.median(logs)) > math.log(OFTEN)):
            return [self._current(sure, factor, spread)]
        return [self._gain(joint, float(factor[joint])) for joint in sure if logs and abs(math.log(factor[joint])) > 0.3]

    def _gain_doubt(self, joint: int) -> float:
        """Return the standard deviation of a joint's log gain, from the evidence's curvature; large where it is flat."""
        step = 0.2
        here = self.search.comparison.fit(self._reading, self._fit.trust).evidence
        beside = 0.0
        for side in (-step, step):
            changed = self._reading.with_effort_factors({joint: self._reading.effort_factor[joint] * math.exp(side)})
            beside += self.search.comparison.fit(changed, self._fit.trust).evidence
        bend = (2.0 * here - beside) / step**2
        return 1.0 / math.sqrt(bend) if bend > 0.04 else 5.0

    def _current(self, sure: list[int], factor: Array, doubt: dict[int, float]) -> Finding:
        alive = self.search.alive
        plain = replace(
            self._reading.with_effort_factors(
                {j: math.copysign(self._begin.effort_factor[j], self._reading.effort_factor[j]) for j in alive}
            ),
            free_gain=False,
        )
        gain, other = self._worth(plain)
        evidence = self._evidence(gain, other, alive)
        evidence["torque_per_unit"] = {self._names[joint]: _rounded(factor[joint]) for joint in sure}
        evidence["relative_std"] = {self._names[joint]: round(doubt[joint], 2) for joint in sure}
        evidence["not_identified"] = [self._names[joint] for joint in alive if joint not in sure]
        told = ", ".join(f"{self._names[joint]} {short(float(factor[joint]))}" for joint in sure)
        said = "as the log declares" if self.log.declared.effort_kind == "current" else "though nothing says so"
        return Finding(
            fault=Fault.EFFORT_IS_CURRENT,
            consequence=Consequence.DANGER,
            subjects=tuple(self._names[joint] for joint in alive),
            sentence=(
                f"The efforts are no torques at the links, {said}: the model needs {told} N m for each unit. They are "
                "currents, or torques in front of the gears."
            ),
            remedy=(
                "State the torque constants and gear ratios of the maker (torque_constant, [motor] ratio); until then the "
                "factors found here stand in for them as effort_gain."
            ),
            evidence=evidence,
            confidence=_confidence(gain, UNIT, 0),
            alternatives=(Fault.MOTOR_SIDE.value,),
            fix={
                "effort": {"kind": "current", "unit": "A"},
                "joints": {self._names[joint]: {"effort_gain": float(factor[joint])} for joint in alive},
            },
        )

    def _gain(self, joint: int, factor: float) -> Finding:
        plain = math.copysign(self._begin.effort_factor[joint], self._reading.effort_factor[joint])
        gain, other = self._worth(self._reading.with_effort_factors({joint: plain}))
        doubt = self._gain_doubt(joint)
        widest = self.search.comparison.wide(self._reading.with_effort_factors({joint: plain}))
        heavier = self._fit.evidence - widest.evidence < AMBIGUOUS
        name = self._names[joint]
        evidence = self._evidence(gain, other, [joint])
        evidence["recorded_over_true"] = _rounded(1.0 / factor)
        evidence["relative_std"] = round(doubt, 3)
        return Finding(
            fault=Fault.GAIN,
            consequence=Consequence.SPOILS,
            subjects=(name,),
            sentence=(
                f"The effort of {name} is {short(1.0 / factor)} times the torque (± {percent(doubt)}): with that "
                f"{self._shrinks(evidence)}."
            ),
            remedy=f"Check the torque constant and gear of {name}, or correct it: effort_gain = {short(factor)}.",
            evidence=evidence,
            confidence=_confidence(gain, GAIN, int(heavier)),
            alternatives=(MASS_SCALE,) if heavier else (),
            fix={"joints": {name: {"effort_gain": factor}}},
        )

    def _offsets(self) -> list[Finding]:
        findings = []
        for joint in sorted(self._reading.offset):
            gain, other = self._worth(replace(self._reading, offset=self._reading.offset - {joint}))
            column = OWN.index("offset")
            offset, doubt = float(self._fit.own[joint, column]), float(self._fit.own_std[joint, column])
            name, unit = self._names[joint], self._units[joint]
            evidence = self._evidence(gain, other, [joint])
            evidence |= {"offset": _rounded(offset), "offset_std": _rounded(doubt)}
            share = abs(offset) / self._fit.scale[joint]
            findings.append(
                Finding(
                    fault=Fault.OFFSET,
                    consequence=Consequence.SPOILS,
                    subjects=(name,),
                    sentence=(
                        f"The effort of {name} has a constant offset of {short(offset)} ± {short(doubt)} {unit}, "
                        f"{percent(share)} of what it varies by."
                    ),
                    remedy=f"Tare the sensor of {name}, or take the offset off: effort_offset = {short(-offset)}.",
                    evidence=evidence,
                    confidence=_confidence(gain, OFFSET_COST, 0),
                    fix={"joints": {name: {"effort_offset": -offset}}},
                )
            )
        return findings

    # ------------------------------------------------------------------------------------------------ gravity and load

    def _gravity(self) -> list[Finding]:
        findings = []
        if self._reading.compensated != self._begin.compensated:
            findings.append(self._compensated())
        if self._reading.gravity_base != self._begin.gravity_base:
            findings.append(self._mount())
        return findings

    def _compensated(self) -> Finding:
        gain, other = self._worth(replace(self._reading, compensated=self._begin.compensated))
        evidence = self._evidence(gain, other, self.search.alive)
        said = "lack" if self._reading.compensated else "contain"
        return Finding(
            fault=Fault.GRAVITY_COMPENSATED,
            consequence=Consequence.DANGER,
            subjects=(),
            sentence=f"The efforts {said} the torque that holds the arm's weight: so read, {self._shrinks(evidence)}.",
            remedy=(
                "The robot compensates gravity by itself: state adds_gravity = true, and do not compensate again."
                if self._reading.compensated
                else "The recording declares adds_gravity, but gravity is in the efforts: state adds_gravity = false."
            ),
            evidence=evidence,
            confidence=_confidence(gain, COMPENSATED, 0),
            fix={"robot": {"adds_gravity": self._reading.compensated}},
        )

    def _mount(self) -> Finding:
        gain, other = self._worth(replace(self._reading, gravity_base=self._begin.gravity_base))
        found, before = np.array(self._reading.gravity_base), np.array(self._begin.gravity_base)
        _, covariance = self.search.comparison.gravity(self._reading, self._fit.trust)
        size = float(np.linalg.norm(found))
        across = np.eye(3) - np.outer(found, found) / size**2
        doubt = math.degrees(math.sqrt(float(np.trace(across @ covariance @ across)) / 2.0) / size)
        angle = math.degrees(angle_between(found, before))
        evidence = self._evidence(gain, other, self.search.alive)
        evidence |= {"gravity_base": [_rounded(value) for value in found], "angle_deg": round(angle, 2)}
        evidence["angle_std_deg"] = round(doubt, 2)
        flipped = self._worth(
            replace(self._reading.with_effort_flipped(*self.search.alive), gravity_base=self._begin.gravity_base)
        )[0]
        signs = angle > 150.0 and flipped < AMBIGUOUS
        return Finding(
            fault=Fault.MOUNT,
            consequence=Consequence.DANGER,
            subjects=(),
            sentence=(
                f"Gravity points {angle:.1f}° ± {doubt:.1f}° away from where the model has it: the arm is mounted "
                f"differently ({self._shrinks(evidence)})."
            ),
            remedy=(
                f"Mount the model as the arm stands: gravity_base = [{', '.join(f'{v:.2f}' for v in found)}], or "
                "robot.mounted()."
            ),
            evidence=evidence,
            confidence=_confidence(gain, MOUNT, int(signs)),
            alternatives=(Fault.EFFORT_SIGN.value,) if signs else (),
            fix={"robot": {"gravity_base": found.tolist()}},
        )

    def _payload(self) -> list[Finding]:
        findings = []
        robot = self.search.comparison.robot
        for body, (value, doubt) in sorted(self._fit.payload.items()):
            gain, other = self._worth(replace(self._reading, loaded=self._reading.loaded - {body}))
            link = next(name for name in robot.tree.leaves if robot.tree.link_body[robot.link_names.index(name)] == body)
            index = robot.link_names.index(link)
            mass = float(value[0])
            in_body = robot.tree.joint_rotation[body] @ value[1:] / mass if mass > 0.0 else np.zeros(3)
            com = robot.tree.link_rotation[index].T @ (in_body - robot.tree.link_origin[index])
            evidence = self._evidence(gain, other, self.search.alive)
            evidence |= {"mass_kg": _rounded(mass), "mass_std_kg": _rounded(doubt[0]), "link": link}
            evidence["com_m"] = [_rounded(entry) for entry in com]
            findings.append(
                Finding(
                    fault=Fault.PAYLOAD,
                    consequence=Consequence.DANGER,
                    subjects=(link,),
                    sentence=(
                        f"The arm carries {short(mass)} ± {short(float(doubt[0]))} kg at {link} that the model lacks "
                        f"({self._shrinks(evidence)})."
                    ),
                    remedy=(
                        f"Add the load: robot.with_payload({short(mass)}, com=({', '.join(short(v) for v in com)}), "
                        f'link="{link}").'
                    ),
                    evidence=evidence,
                    confidence=_confidence(gain, PAYLOAD, 0),
                    alternatives=(),
                )
            )
        return findings

    def _poor(self) -> list[Finding]:
        fit = self._fit
        expected = self.search.comparison.expected(self._reading)
        shares = {
            self._names[joint]: float(fit.residue[joint] / fit.scale[joint])
            for joint in self.search.alive
            if fit.residue[joint] > POOR * fit.scale[joint] and expected[joint] > EXPECTED * fit.scale[joint]
        }
        if not shares:
            return []
        worst = max(shares, key=lambda name: shares[name])
        return [
            Finding(
                fault=Fault.MODEL_POOR,
                consequence=Consequence.SPOILS,
                subjects=tuple(shares),
                sentence=(
                    f"Model, friction and every fault that is looked for leave {percent(shares[worst] ** 2)} of the "
                    f"variance of {worst} unexplained."
                ),
                remedy="Check that the description belongs to this arm, and the zero positions of its joints.",
                evidence={"unexplained_share": {name: round(share, 3) for name, share in shares.items()}},
                confidence=0.9,
            )
        ]


def angle_between(first: Array, second: Array) -> float:
    """Return the angle between two vectors [rad]."""
    return math.atan2(float(np.linalg.norm(np.cross(first, second))), float(first @ second))


def _confidence(gain: float, cost: float, alternatives: int) -> float:
    """Return the posterior probability of a change whose prior odds are e^−cost, shared with its alternatives."""
    sure = 1.0 / (1.0 + math.exp(-min(gain - cost, 50.0)))
    return round(sure / (1 + alternatives), 4)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
