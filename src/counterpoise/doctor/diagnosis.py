"""A diagnosis: all findings of a recording, worst first, and the change of the mapping that corrects them.

First come the findings that need the model (signs, order, units, gains, offsets, mounting, gravity, payload), then the
checks of the recording so understood: channels, time, friction, coverage, path and plate.

An arm whose description has no masses is judged without comparing efforts (``check_unweighed``). Its kinematics are
known, its weights are not: any sign of the efforts fits some weights, those of a heavy arm or of one that falls
upwards. Friction tells: it brakes. The efforts of a joint are explained by the gravity regressor with free weights,
accelerations, and friction in the direction of motion; friction that drives is an effort of the wrong sign.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array
from ..recording import (
    REFERENCES,
    Log,
    Motion,
    dotted,
    flattened,
    increasing,
    overlaid,
    plain,
    remapped,
    scales_efforts,
)
from .case import Case
from .channel_findings import name_degrees, name_gains, name_offsets, name_order, name_signs
from .channels import check_dead, check_frozen, check_quantised, check_saturated
from .coverage import check_excitation, check_friction, check_one_sided, check_path, check_stops, friction_finding
from .evidence import ReadingComparison
from .finding import Consequence, Finding, LogFault, listed
from .gram import SignalColumns
from .load_findings import (
    name_compensated,
    name_difference,
    name_mount,
    name_payload,
    name_poor_model,
    name_springs,
    needs_other_robot,
    wrong_robot,
)
from .moves import excess_of, in_degrees, motor_side_finding, with_all_gains_found
from .plate import check_plate
from .points import points_of
from .pose_table import is_pose_table, table_motion, table_points
from .priors import ANY, BELIEFS, GOOD, INDEPENDENT_RATE, Cost
from .reading import Reading
from .search import search
from .timing import check_delays, check_rate, check_timing
from .weighing import is_unit, only_told


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What the doctor says of a recording.

    Attributes:
        findings: Findings, the worst consequence first, the surest first among equals.
        facts: What the recording is, as plain values: samples, duration_s, rate_hz, joints, declared.
    """

    findings: tuple[Finding, ...]
    facts: Mapping[str, Any]

    @property
    def worst(self) -> Consequence:
        """The worst consequence; NOTE where nothing was found."""
        return max((finding.consequence for finding in self.findings), default=Consequence.NOTE)

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings that are more than notes."""
        return tuple(finding for finding in self.findings if finding.consequence > Consequence.NOTE)

    @property
    def fix(self) -> dict[str, Any]:
        """The findings' changes of the mapping as one nested table, as in a mapping file, with its ``source``.

        They are relative to the mapping that the recording was read with.
        """
        return merged_fix(self.findings)

    def to_table(self) -> dict[str, Any]:
        """Return the diagnosis as plain values that JSON can hold; :attr:`fix` is called "fix_changes" there."""
        return {
            "facts": plain(self.facts),
            "worst": self.worst.name.lower(),
            "findings": [
                {
                    "fault": finding.fault.value,
                    "consequence": finding.consequence.name.lower(),
                    "subjects": list(finding.subjects),
                    "sentence": finding.sentence,
                    "remedy": finding.remedy,
                    "evidence": plain(finding.evidence),
                    "confidence": finding.confidence,
                    "alternatives": list(finding.alternatives),
                    "fix": plain(finding.fix),
                }
                for finding in self.findings
            ],
            "fix_changes": self.fix,
        }


def merged_fix(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the changes of several findings as one nested table that says where its numbers come from.

    Where a finding does not say it itself (``source`` in its fix), a number that decides the size of efforts is guessed
    from the description, and any other is measured by the recording.
    """
    result: dict[str, Any] = {}
    for finding in findings:
        change = plain(finding.fix)
        if change:
            change["source"] = _sources(change) | flattened(change.get("source", {}))
        result = overlaid(result, {key: value for key, value in change.items() if value})
    return result


def _sources(change: Mapping[str, Any]) -> dict[str, str]:
    numbers = (key for key in dotted(change) if key.rpartition(".")[2] not in REFERENCES)
    return {key: "guessed" if scales_efforts(key) else "measured" for key in numbers}


SURE = 4.0
"""Standard deviations from 0 from which the sign of a joint's friction counts as told."""
LEAST_SHARE = 0.02
"""... and least size of it, as a share of the effort's own spread: less may be the error of a straight regression."""
POINTS = 3000
"""Points of the recording that stand for it."""


def check_unweighed(robot: Robot, motion: Motion | None) -> list[Finding]:
    """Say that efforts were not compared, and which joints' efforts brake where they should drive.

    Args:
        robot: The model, without masses.
        motion: The recording's motion at even times, of a table of poses its rows at rest; None where it is too short.
    """
    signs = {} if motion is None else friction_signs(robot, motion)
    wrong = tuple(name for name, sign in signs.items() if sign < 0)
    measured = robot.joint_names if motion is None else _known(robot, motion)
    untold = tuple(name for name in measured if name not in signs)
    found = [] if not wrong else [_reversed(wrong)]
    return [*found, _no_masses(robot, untold, told=bool(signs))]


def friction_signs(robot: Robot, motion: Motion) -> dict[str, int]:
    """Return +1 where the friction of a joint brakes, −1 where it drives, nothing where it is not told.

    Args:
        robot: The model; its masses do not matter.
        motion: The recording's motion at even times.
    """
    rows = np.flatnonzero(motion.usable)
    if len(rows) < 20:
        return {}
    picked = rows[np.unique(np.linspace(0, len(rows) - 1, POINTS).astype(np.int64))]
    independent = max(INDEPENDENT_RATE * len(rows) * motion.dt, 1.0)
    regressor = robot.base_gravity_regressor(motion.q[picked])
    found: dict[str, int] = {}
    for name in _known(robot, motion):
        joint = robot.joint_names.index(name)
        tau, side = motion.tau[picked, joint], motion.direction[picked, joint]
        beside = [regressor[:, joint], np.ones((len(picked), 1)), motion.dq[picked, joint, None], motion.ddq[picked]]
        # What of the direction the others do not explain (Frisch–Waugh): its slope is the friction.
        own, left = _rest(side, np.hstack(beside)), _rest(tau, np.hstack(beside))
        power = float(own @ own)
        if power < 1e-6 * len(picked) or not np.ptp(tau) > 0.0:
            continue
        friction = float(own @ left) / power
        scatter = float(np.sqrt(np.mean((left - friction * own) ** 2)))
        deviation = scatter / np.sqrt(power * min(1.0, independent / len(picked)))
        if abs(friction) > max(SURE * deviation, LEAST_SHARE * float(np.std(tau))):
            found[name] = 1 if friction > 0.0 else -1
    return found


def _known(robot: Robot, motion: Motion) -> tuple[str, ...]:
    return tuple(name for name, known in zip(robot.joint_names, motion.effort_measured, strict=True) if known)


def _rest(values: Array, columns: Array) -> Array:
    """Return what columns do not explain of some values."""
    size = np.linalg.norm(columns, axis=0)
    scaled = columns[:, size > 0.0] / size[size > 0.0]
    left, values_of, _ = np.linalg.svd(scaled, full_matrices=False)
    basis = left[:, values_of > 1e-8 * values_of[0]]
    return np.asarray(values - basis @ (basis.T @ values))


def _reversed(names: tuple[str, ...]) -> Finding:
    return Finding(
        LogFault.EFFORT_SIGN,
        Consequence.DANGER,
        names,
        f"The efforts of {listed(names)} have the wrong sign: their friction drives the motion instead of braking it.",
        "Turn their sign over in the mapping: effort_sign = -1.",
        evidence={"joints": list(names)},
    )


def _no_masses(robot: Robot, untold: tuple[str, ...], *, told: bool) -> Finding:
    sentence = (
        f"The description of {robot.name} has no masses: efforts cannot be compared with it, so that order, units, "
        "gains, mount and payload were not judged, and signs by friction alone."
    )
    consequence = Consequence.NOTE
    if untold:
        sentence += f" The sign of the efforts of {listed(untold)} is not identifiable."
        consequence = Consequence.LIMITS if told else Consequence.INVALIDATES
    remedy = (
        "Calibrate: the weights come from the data alone, which needs more poses. Or take a description with masses."
        if consequence < Consequence.INVALIDATES
        else "Record a motion that shows friction, state from which side poses were reached ([poses] side), or take a "
        "description with masses: nothing here distinguishes an effort that holds the arm from one with the opposite "
        "sign."
    )
    return Finding(LogFault.NO_MASSES, consequence, untold, sentence, remedy)


EXPLAINED = 0.3
"""Unexplained part of the loaded joints' efforts up to which degrees count as an explanation."""
WEAK = 8.0
"""Expected over recorded torques, positions taken for degrees, from which the efforts are the motors': gears multiply
by more, while the weight that a robot holds by itself is rarely so many times its friction."""


def check_model(robot: Robot, log: Log, dead: Collection[str] = ()) -> list[Finding]:
    """Compare a recording with the model and name what does not belong together.

    Args:
        robot: The model.
        log: The recording; its joints are the robot's.
        dead: Joints whose efforts say nothing and are left out.

    Returns:
        Findings; none where the recording is too short to say anything.
    """
    points = table_points(log) if is_pose_table(log) else points_of(log)
    if points is None:
        return []
    living = points.alive & ~np.isin(np.array(log.joint_names), list(dead))
    points = replace(points, alive=living)
    if not living.any():
        return []
    begin = Reading.as_recorded(robot, log.declared)
    excess = excess_of(robot, points)
    declared_motor = log.declared.position_side == "motor" and log.declared.motor_per_link is None
    if declared_motor and excess.joints:
        return [motor_side_finding(robot, points, excess, degrees_possible=False)]
    columns = SignalColumns(robot, points)
    if not excess.everywhere:
        return _compared(columns, log, begin)
    degrees = in_degrees(robot, begin)
    if not begin.free_gain and _weakness(columns, degrees) < WEAK:
        return _compared(columns, log, begin, degrees)
    fits = excess_of(robot, replace(points, q=degrees.positions(points.q))).joints == ()
    return [motor_side_finding(robot, points, excess, degrees_possible=fits and _explained(columns, degrees))]


def _explained(columns: SignalColumns, reading: Reading) -> bool:
    """Return whether a reading explains most of the loaded joints' efforts if every factor is open."""
    comparison = ReadingComparison(columns)
    cost = Cost(reading, tuple(columns.alive.tolist()))
    fit = comparison.best(with_all_gains_found(comparison, cost, reading, GOOD))
    expected = comparison.expected(fit.reading)
    loaded = [joint for joint in cost.alive if expected[joint] > 0.5 * fit.scale[joint]] or list(cost.alive)
    return float(np.median([fit.residue[joint] / fit.scale[joint] for joint in loaded])) < EXPLAINED


def _compared(columns: SignalColumns, log: Log, begin: Reading, first: Reading | None = None) -> list[Finding]:
    """Return what the recording tells whatever the masses, and one finding of what only a good description tells."""
    found = search(columns, begin, (ANY,), first)
    if found.found.reading.free_gain and not begin.free_gain and not is_unit(found, found.found.reading):
        found = search(columns, begin, (ANY,), first, units=False)
    told = only_told(found)
    case = Case(told, log)
    if needs_other_robot(case):
        return [wrong_robot(case)]
    findings = [finding for name in _NAMERS for finding in name(case)]
    if any(finding.fault is LogFault.MODEL_POOR for finding in findings):
        return [replace(finding, fix={}) for finding in findings]  # perhaps another robot's description
    hinted = search(columns, begin, BELIEFS, told.found.reading, positions=False)
    return findings + name_difference(case, hinted)


def _weakness(columns: SignalColumns, reading: Reading) -> float:
    """Return how many times larger torques the model expects than were recorded, root mean square over the joints."""
    comparison = ReadingComparison(columns)
    expected = comparison.expected(reading)
    return float(np.linalg.norm(expected) / max(float(np.linalg.norm(comparison.spread)), 1e-12))


_NAMERS = (
    name_signs,
    name_order,
    name_degrees,
    name_gains,
    name_offsets,
    name_compensated,
    name_mount,
    name_payload,
    name_springs,
    name_poor_model,
)


def check_recording(robot: Robot | None, log: Log, motion: Motion | None = None) -> list[Finding]:
    """Return what is wrong with a recording by itself, worst first.

    A channel that is dead is not also called frozen, saturated, coarse or late.

    Args:
        robot: The model; None judges the numbers alone.
        log: The recording, joints as in ``robot``.
        motion: The recording's motion at even times, where it was computed before.
    """
    log = log.without_infinities()
    motion = Motion.on_grid(log) if motion is None else motion
    findings = check_timing(log) + check_rate(robot, log) + check_one_sided(log)
    if motion is not None:
        findings += check_dead(robot, log, motion)
        findings += check_frozen(log)
        findings += check_saturated(log, motion)
        findings += check_quantised(log, motion)
        findings += check_delays(robot, log, motion)
        findings += check_path(motion)
        if robot is not None:
            findings += check_stops(robot, log, motion)
            findings += check_friction(robot, log, motion)
            findings += check_excitation(robot, log, motion)
            findings += check_plate(robot, log, motion)
    return sorted(_without_shadows(findings), key=lambda finding: -finding.consequence)


def check_table(robot: Robot, log: Log) -> list[Finding]:
    """Return what is wrong with a table of poses at rest by itself: its rows have no times, speeds or delays.

    Args:
        robot: The model.
        log: The table, joints as in ``robot``.
    """
    motion = table_motion(log)
    return [] if motion is None else check_excitation(robot, log, motion)


_LESSER = {
    LogFault.FROZEN: (LogFault.DEAD, LogFault.SATURATED),
    LogFault.SATURATED: (LogFault.DEAD,),
    LogFault.QUANTISED: (LogFault.DEAD,),
}
"""Findings that say no more where one of the others names the same channel: a signal that is cut off also stands
still."""
_FROM_MOTION = (
    LogFault.PLATE_YAW,
    LogFault.PLATE_TILT,
    LogFault.PLATE_CROSS_TALK,
    LogFault.PLATE_LAG,
    LogFault.DELAY,
)
"""Findings that rest on every position: where one is dead or frozen, they are about that."""


def _without_shadows(findings: list[Finding]) -> list[Finding]:
    """Leave out findings that only repeat a worse one."""
    named = {
        (finding.fault, finding.evidence["channel"], name)
        for finding in findings
        if "channel" in finding.evidence
        for name in finding.subjects
    }
    no_motion = any(fault in (LogFault.DEAD, LogFault.FROZEN) and kind == "position" for fault, kind, _ in named)
    silent = {name for fault, kind, name in named if fault is LogFault.DEAD and kind == "effort"}
    kept = []
    for finding in findings:
        kind, worse = finding.evidence.get("channel"), _LESSER.get(finding.fault, ())
        if worse and all(any((fault, kind, name) in named for fault in worse) for name in finding.subjects):
            continue
        if no_motion and finding.fault in _FROM_MOTION:
            continue
        if finding.fault is LogFault.FRICTION and silent & set(finding.subjects):
            if set(finding.subjects) <= silent:
                continue
            kept.append(_without(finding, silent))
            continue
        kept.append(finding)
    return kept


def _without(finding: Finding, silent: set[str]) -> Finding:
    """Return a friction finding without joints whose effort is dead."""
    joints = {name: numbers for name, numbers in finding.evidence["joints"].items() if name not in silent}
    return friction_finding(joints, finding.evidence["unit"])


ANY_UNIT = frozenset(
    {
        *(LogFault.DEAD, LogFault.SATURATED, LogFault.REPEATED_PATH, LogFault.NO_TIME),
        *(LogFault.TIME_GAPS, LogFault.TIME_JITTER, LogFault.TIME_DUPLICATES, LogFault.RATE),
    }
)
"""Findings that hold whatever unit and side of the gears the numbers have."""
HANGS_ON_RATE = frozenset(
    {
        *(LogFault.EFFORT_IS_CURRENT, LogFault.MOTOR_SIDE, LogFault.GAIN, LogFault.GRAVITY_COMPENSATED),
        *(LogFault.MOUNT, LogFault.DELAY),
    }
)
"""Faults whose size hangs on accelerations. Where the rate is a guess they are named and not written to a fix."""


def diagnose(robot: Robot | None, log: Log) -> Diagnosis:
    """Name what is wrong with a recording.

    A rate that recorded velocities contradict is corrected first, then the recording is compared with the model. All
    else is judged on the recording as these findings correct it, so that one fault is not reported again in other
    words.

    Args:
        robot: The model: mounting and payload as they are believed to be; None judges channels and time alone.
        log: The recording; its joints are the robot's, as ``read_log(path, robot)`` gives them.

    Returns:
        The findings with their evidence, what to do, and the change of the mapping that fixes what a mapping can.

    Raises:
        InputError: The log has other joints than the robot.
    """
    if robot is None:
        return Diagnosis(tuple(check_recording(None, log)), _facts(log))
    if log.joint_names != robot.joint_names:
        raise InputError(
            f"the log's joints {list(log.joint_names)} are not the robot's {list(robot.joint_names)}; read the log "
            "with read_log(path, robot), which orders them"
        )
    facts = _facts(log)
    log = log.without_infinities()
    weighed = bool(robot.tree.mass.any())
    if is_pose_table(log):
        if not weighed:
            return Diagnosis(tuple(_ordered(check_unweighed(robot, table_motion(log)))), facts)
        return Diagnosis(tuple(_ordered(check_model(robot, log) + check_table(robot, log))), facts)
    clock = [finding for finding in check_rate(robot, log) if finding.fix]
    if clock:  # all that follows rests on velocities and accelerations
        log = remapped(log, merged_fix(clock), robot)
    motion = Motion.on_grid(log)
    if not weighed:
        alone = check_unweighed(robot, motion) + check_recording(None, log, motion)
        return Diagnosis(tuple(sorted(alone, key=lambda finding: -finding.consequence)), facts)
    dead = [] if motion is None else check_dead(robot, log, motion)
    silent = {name for finding in dead if finding.evidence.get("channel") == "effort" for name in finding.subjects}
    lost = {name for finding in dead if finding.evidence.get("channel") == "position" for name in finding.subjects}
    found = [] if lost else check_model(robot, log, silent)
    if log.declared.rate_is_guessed:
        found = _without_rate(found)
    recorded = _of_recording(robot, log, motion, found)
    found = clock + found + (_without_rate(recorded) if log.declared.rate_is_guessed else recorded)
    return Diagnosis(tuple(_ordered(found)), facts)


def _without_rate(found: list[Finding]) -> list[Finding]:
    """Return findings without the fixes that hang on the rate."""
    return [replace(finding, fix={}) if finding.fault in HANGS_ON_RATE else finding for finding in found]


def _ordered(findings: list[Finding]) -> list[Finding]:
    """Return findings worst first. Where the motion says too little, guesses by the description are left out."""
    silent = any(finding.fault is LogFault.EXCITATION for finding in findings)
    said = [finding for finding in findings if not (silent and finding.fault is LogFault.MODEL_DIFFERS)]
    return sorted(said, key=lambda finding: (-finding.consequence, -finding.confidence))


def _of_recording(robot: Robot, log: Log, motion: Motion | None, found: list[Finding]) -> list[Finding]:
    """Return the findings of the recording by itself, understood as the model's findings say."""
    if any(finding.fault is LogFault.MOTOR_SIDE for finding in found):
        return [finding for finding in check_recording(robot, log, motion) if finding.fault in ANY_UNIT]
    change = merged_fix(found)
    corrected = log
    if change:
        # Joints that the recording lacks stay as they are; a change only names recorded ones.
        corrected = remapped(log, change, robot)
    standing = robot
    if corrected.declared.gravity_base is not None:
        standing = robot.mounted(rotation=np.eye(3), gravity=corrected.declared.gravity_base)
    for finding in found:
        if finding.fault is LogFault.PAYLOAD and finding.evidence["mass_kg"] > 0.0:
            evidence = finding.evidence
            standing = standing.with_payload(evidence["mass_kg"], com=evidence["com_m"], link=evidence["link"])
    return check_recording(standing, corrected, motion if corrected is log else None)


def _facts(log: Log) -> dict[str, Any]:
    time = log.time[increasing(log.time)]
    duration = float(time[-1] - time[0]) if len(time) else 0.0
    return {
        "kind": "poses" if is_pose_table(log) else "motion",
        "samples": len(log),
        "duration_s": round(duration, 6),
        "rate_hz": round((len(time) - 1) / duration, 3) if duration > 0.0 else None,
        "rate_source": log.declared.rate_source,
        "guessed": list(log.declared.guessed),
        "joints": list(log.joint_names),
        "declared": {key: value for key, value in log.declared.to_table().items() if key != "mapping"},
    }
