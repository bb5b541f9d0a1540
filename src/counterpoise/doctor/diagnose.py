"""What is wrong with a recording: the model's findings first, then those of the recording so understood."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.filters import increasing
from ..logs.log import Log
from ..logs.read import remapped
from .channels import check_dead
from .diagnosis import Diagnosis, merged_fix
from .finding import Finding, LogFault
from .model_check import check_model
from .pose_table import is_pose_table, table_prepared
from .prepared import Prepared, prepare, without_infinities
from .rates import check_rate
from .recording_check import check_recording, check_table
from .unweighed import check_unweighed

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
        The findings with their evidence, what to do, and the change of the mapping that mends what a mapping can.

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
    log = without_infinities(log)
    weighed = bool(robot.tree.mass.any())
    if is_pose_table(log):
        if not weighed:
            return Diagnosis(tuple(_ordered(check_unweighed(robot, table_prepared(log)))), facts)
        return Diagnosis(tuple(_ordered(check_model(robot, log) + check_table(robot, log))), facts)
    clock = [finding for finding in check_rate(robot, log) if finding.fix]
    if clock:  # all that follows rests on velocities and accelerations
        log = remapped(log, merged_fix(clock), robot)
    prepared = prepare(log)
    if not weighed:
        alone = check_unweighed(robot, prepared) + check_recording(None, log, prepared)
        return Diagnosis(tuple(sorted(alone, key=lambda finding: -finding.consequence)), facts)
    dead = [] if prepared is None else check_dead(robot, log, prepared)
    silent = {name for finding in dead if finding.evidence.get("channel") == "effort" for name in finding.subjects}
    lost = {name for finding in dead if finding.evidence.get("channel") == "position" for name in finding.subjects}
    found = [] if lost else check_model(robot, log, silent)
    if log.declared.rate_is_guessed:
        found = _without_rate(found)
    recorded = _of_recording(robot, log, prepared, found)
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


def _of_recording(robot: Robot, log: Log, prepared: Prepared | None, found: list[Finding]) -> list[Finding]:
    """Return the findings of the recording by itself, understood as the model's findings say."""
    if any(finding.fault is LogFault.MOTOR_SIDE for finding in found):
        return [finding for finding in check_recording(robot, log, prepared) if finding.fault in ANY_UNIT]
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
    return check_recording(standing, corrected, prepared if corrected is log else None)


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
