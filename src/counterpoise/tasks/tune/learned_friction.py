"""Learning a joint's friction from the plate: what is sent beyond what the links feel, along a slow move to and fro."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...control import SignalSafe, Triangle, plate_of, soft_reach
from ...dynamics import Dahl
from ...errors import InputError
from ...foundation import Array
from .gains import WITH_PLATE, LawGains, TuningRule
from .probe import MakeRig, refuse_lost_plate, tared_loop

AMPLITUDE = math.radians(0.5)
"""Of the move [rad or m]: wide enough that friction saturates between two reversals."""
PERIOD = 8.0
"""Of the move [s]: slow enough that friction does not depend on the speed."""
CYCLES = 1.5
"""Number of swings; the first quarter, before the first reversal, is not looked at."""
LEAST_PRESLIDING, MOST_PRESLIDING, CANDIDATES = 2e-5, 1e-2, 28
"""Presliding displacements that are tried, and how many."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnedFriction:
    """Friction of one joint as the plate showed it.

    Attributes:
        law: What was learned.
        position: Positions of the move [rad or m], shape (k,).
        friction: Friction measured there [N m or N], shape (k,).
        residual: Rms of what the law leaves unexplained [N m or N].
    """

    law: Dahl
    position: Array
    friction: Array
    residual: float


def learned_friction(make_rig: MakeRig, gains: LawGains, joint: int = 0) -> LearnedFriction:
    """Move a joint slowly to and fro under base sensor control, and learn its friction.

    Friction is what is sent beyond gravity and beyond what the plate feels of it; the rotor's inertia plays no part at
    constant speed.

    Args:
        make_rig: Returns the rig, its plant not yet entered.
        gains: Tuned gains of a law with the plate.
        joint: Index of the joint; the others hold.

    Raises:
        InputError: The law has no plate, or the joint did not move.
        SafetyError: The plant failed, or its plate was lost for a tenth of the move.
    """
    if gains.kind not in WITH_PLATE:
        raise InputError(f"friction is learned from the plate, and '{gains.kind}' uses none; tune 'bsc' first")
    rig = make_rig()
    plant, robot = rig.plant, rig.robot
    swings = np.zeros(robot.n)
    swings[joint] = AMPLITUDE
    with SignalSafe(plant):
        sensor = plate_of(plant, robot)
        loop = tared_loop(rig, sensor, TuningRule())
        reach = soft_reach(robot, gains.kp, gains.kd)
        loop.switch(gains.laws(rig, Triangle(swings, PERIOD), sensor=sensor, reach=reach))
        report = loop.run(CYCLES * PERIOD, log=True)
    refuse_lost_plate(report)
    log = report.log
    if log is None or log.wrench is None or log.sent is None:
        raise InputError("the move left no recording of the plate")
    driven = np.arange(round(0.25 * PERIOD / plant.dt), min(len(log), round(CYCLES * PERIOD / plant.dt)))
    driven = driven[np.isfinite(log.wrench[driven]).all(axis=1)]  # a gap of the plate is a longer step of the path
    q = log.q[driven]
    gravity = robot.gravity(q)[:, joint] if not plant.adds_gravity else 0.0
    friction = log.sent[driven, joint] - gravity - sensor.joint_torques(q, log.wrench[driven])[:, joint]
    law, residual = fit_dahl(q[:, joint], friction)
    return LearnedFriction(law, q[:, joint], friction, residual)


def fit_dahl(path: Array, friction: Array) -> tuple[Dahl, float]:
    """Return the Dahl law that explains friction along a path best, and the rms of what it does not explain.

    For a given x_0 the friction is linear in both levels and in the friction at the start; x_0 is searched for.

    Args:
        path: Positions in their order [rad or m], shape (k,).
        friction: Friction there [N m or N], shape (k,).

    Raises:
        InputError: The path does not turn, so that one level or the displacement cannot be told.
    """
    steps = np.diff(path)
    if not (steps > 0.0).any() or not (steps < 0.0).any():
        raise InputError("the joint did not move to and fro; its friction is not identifiable")
    best: tuple[float, float, Array] | None = None
    for presliding in np.geomspace(LEAST_PRESLIDING, MOST_PRESLIDING, CANDIDATES).tolist():
        rows = _responses(steps, presliding)
        solution, *_ = np.linalg.lstsq(rows, friction, rcond=None)
        residual = float(np.sqrt(np.mean((rows @ solution - friction) ** 2)))
        if best is None or residual < best[0]:
            best = residual, float(presliding), np.asarray(solution, dtype=np.float64)
    if best is None or best[2][0] + best[2][1] <= 0.0:
        raise InputError("what is sent beyond the plate's torque does not oppose the motion: it is no friction")
    residual, presliding, (forward, backward, _) = best
    return Dahl(max(0.0, float(forward)), max(0.0, float(backward)), presliding), residual


def _responses(steps: Array, presliding: float) -> Array:
    """Return friction along a path for unit levels forwards, backwards and unit friction at the start, shape (k, 3)."""
    kept = np.exp(-np.abs(steps) / presliding)
    fresh = 1.0 - kept
    up, down = np.where(steps > 0.0, fresh, 0.0), np.where(steps < 0.0, -fresh, 0.0)
    rows = np.empty((len(steps) + 1, 3))
    state = np.array([0.0, 0.0, 1.0])
    rows[0] = state
    a, b, c = state.tolist()
    for place, (keep, more, less) in enumerate(zip(kept.tolist(), up.tolist(), down.tolist(), strict=True), start=1):
        a, b, c = keep * a + more, keep * b + less, keep * c
        rows[place] = a, b, c
    return rows
