"""Joint stops: where a stop carries part of the load, the drives' efforts do not."""

from __future__ import annotations

import numpy as np

from ..dynamics.robot import Robot
from ..logs.log import Log
from .finding import Consequence, Finding, LogFault
from .prepared import Prepared
from .wording import listed, percent, short

MARGIN = 0.01
"""Distance from a limit that counts as being at the stop [rad or m]: 0.6°."""
BEYOND = 0.1
"""Distance beyond a limit from which it is not the stop that was reached, but limits or positions that are wrong."""
STANDING_SPEED = 0.01
"""Speed below which a joint rests at its stop [rad/s or m/s]."""
LEAST_TIME = 0.3
"""Shortest stay at a stop that counts [s]; a motion that only touches its limit turns round faster."""


def check_stops(robot: Robot, log: Log, smooth: Prepared) -> list[Finding]:
    """Name joints that rest at a position limit.

    Found: a joint that stands within MARGIN of a limit of the model, or up to BEYOND behind it, for LEAST_TIME in all.
    Not found: stops that the model does not know, and stops that are not where the model puts them.

    Args:
        robot: The model, with its limits.
        log: The recording, joints as in ``robot``.
        smooth: The recording made ready.
    """
    held = log.declared.held
    q, standing = smooth.q[smooth.good], np.abs(smooth.dq[smooth.good]) < STANDING_SPEED
    names, evidence = [], {}
    for joint, name in enumerate(robot.joint_names):
        if name in held or robot.upper[joint] - robot.lower[joint] < 4.0 * MARGIN:
            continue
        above, below = q[:, joint] - robot.upper[joint], robot.lower[joint] - q[:, joint]
        outside = np.maximum(above, below)
        if len(outside) == 0 or float(outside.max()) > BEYOND:
            continue
        stays = (outside > -MARGIN) & standing[:, joint]
        time = float(stays.sum() * smooth.dt)
        if time >= LEAST_TIME:
            names.append(name)
            limit = robot.upper[joint] if above[stays].mean() > below[stays].mean() else robot.lower[joint]
            closest = float(-outside.max())
            evidence[name] = {"limit": float(limit), "time_s": time, "share": float(stays.mean()), "closest": closest}
    if not names:
        return []
    worst = max(names, key=lambda name: evidence[name]["time_s"])
    return [
        Finding(
            LogFault.JOINT_STOPS,
            Consequence.LIMITS,
            tuple(names),
            f"{listed(names)} {'rests' if len(names) == 1 else 'rest'} at a limit: {worst} within {short(MARGIN)} of "
            f"{short(evidence[worst]['limit'])} for {short(evidence[worst]['time_s'])} s "
            f"({percent(evidence[worst]['share'])} of the recording). A stop may carry part of the load there.",
            "Leave these poses out of a fit, or record poses that keep some degrees away from the limits.",
            {"joints": evidence, "margin": MARGIN},
        )
    ]
