"""All checks of a recording by itself: channels, time, friction, coverage, path and plate."""

from __future__ import annotations

from ..dynamics.robot import Robot
from ..logs.log import Log
from .channels import check_dead, check_frozen
from .converters import check_quantised, check_saturated
from .delays import check_delays
from .excitation import check_excitation
from .finding import Finding, LogFault
from .friction_band import check_friction, check_one_sided, friction_finding
from .path import check_path
from .plate import check_plate
from .prepared import Prepared, prepare, without_infinities
from .rates import check_rate
from .stops import check_stops
from .timing import check_timing


def check_recording(robot: Robot | None, log: Log, prepared: Prepared | None = None) -> list[Finding]:
    """Return what is wrong with a recording by itself, worst first.

    A channel that is dead is not also called frozen, saturated, coarse or late.

    Args:
        robot: The model; None judges the numbers alone.
        log: The recording, joints as in ``robot``.
        prepared: The recording made ready, where that was done before.
    """
    log = without_infinities(log)
    smooth = prepare(log) if prepared is None else prepared
    findings = check_timing(log) + check_rate(robot, log) + check_one_sided(log)
    if smooth is not None:
        findings += check_dead(robot, log, smooth)
        findings += check_frozen(log)
        findings += check_saturated(log, smooth)
        findings += check_quantised(log, smooth)
        findings += check_delays(robot, log, smooth)
        findings += check_path(smooth)
        if robot is not None:
            findings += check_stops(robot, log, smooth)
            findings += check_friction(robot, log, smooth)
            findings += check_excitation(robot, log, smooth)
            findings += check_plate(robot, log, smooth)
    return sorted(_without_shadows(findings), key=lambda finding: -finding.consequence)


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
