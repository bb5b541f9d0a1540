"""Recordings of arms whose description has no masses: what can be said of them without comparing efforts.

Kinematics are known, weights are not: any sign of the efforts fits some weights, those of a heavy arm or of one that
falls upwards. Friction tells: it brakes. The efforts of a joint are explained by the gravity regressor with free
weights, accelerations, and friction in the direction of motion; friction that drives is an effort of the wrong sign.
"""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from .expectation import INDEPENDENT_RATE
from .finding import Consequence, Finding, LogFault
from .prepared import Prepared
from .wording import listed

SURE = 4.0
"""Standard deviations from 0 from which the sign of a joint's friction counts as told."""
LEAST_SHARE = 0.02
"""... and least size of it, as a share of the effort's own spread: less may be the error of a straight regression."""
POINTS = 3000
"""Points of the recording that stand for it."""


def check_unweighed(robot: Robot, smooth: Prepared | None) -> list[Finding]:
    """Say that efforts were not compared, and which joints' efforts brake where they should drive.

    Args:
        robot: The model, without masses.
        smooth: The recording made ready, of a table of poses its rows at rest; None where it is too short.
    """
    signs = {} if smooth is None else friction_signs(robot, smooth)
    wrong = tuple(name for name, sign in signs.items() if sign < 0)
    measured = robot.joint_names if smooth is None else _known(robot, smooth)
    untold = tuple(name for name in measured if name not in signs)
    found = [] if not wrong else [_reversed(wrong)]
    return [*found, _no_masses(robot, untold, told=bool(signs))]


def friction_signs(robot: Robot, smooth: Prepared) -> dict[str, int]:
    """Return +1 where the friction of a joint brakes, −1 where it drives, nothing where it is not told.

    Args:
        robot: The model; its masses do not matter.
        smooth: The recording made ready.
    """
    rows = np.flatnonzero(smooth.good)
    if len(rows) < 20:
        return {}
    picked = rows[np.unique(np.linspace(0, len(rows) - 1, POINTS).astype(np.int64))]
    independent = max(INDEPENDENT_RATE * len(rows) * smooth.dt, 1.0)
    regressor = robot.base_gravity_regressor(smooth.q[picked])
    found: dict[str, int] = {}
    for name in _known(robot, smooth):
        joint = robot.joint_names.index(name)
        tau, side = smooth.tau[picked, joint], smooth.direction[picked, joint]
        beside = [regressor[:, joint], np.ones((len(picked), 1)), smooth.dq[picked, joint, None], smooth.ddq[picked]]
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


def _known(robot: Robot, smooth: Prepared) -> tuple[str, ...]:
    return tuple(name for name, known in zip(robot.joint_names, smooth.effort_known, strict=True) if known)


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
        sentence += f" The sign of the efforts of {listed(untold)} is not told."
        consequence = Consequence.LIMITS if told else Consequence.SPOILS
    remedy = (
        "Calibrate: the weights come from the data alone, which needs more poses. Or take a description with masses."
        if consequence < Consequence.SPOILS
        else "Record a motion that shows friction, state from which side poses were reached ([poses] side), or take a "
        "description with masses: nothing here tells an effort that holds the arm from one with the opposite sign."
    )
    return Finding(LogFault.NO_MASSES, consequence, untold, sentence, remedy)
