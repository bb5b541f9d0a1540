"""Excitation: whether a recording can tell more about gravity than the model already knows.

The unknowns are the base gravity parameters. The model knows them with the spread of doctor/expectation.py; the
recording knows them through its regressor, with an offset and friction of every joint left open. What counts is what
both say about the gravity torque at poses all over the joints' ranges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..dynamics.joint_units import effort_units
from ..dynamics.robot import Robot
from ..logs.log import Log
from .expectation import INDEPENDENT_RATE, parameter_spread
from .finding import Consequence, Finding, LogFault
from .inertial import inertial_signals
from .prepared import Prepared
from .wording import listed, percent, short

LEAST_ROWS = 6
"""Fewest rows that are judged."""
POSES = 200
"""Random poses over the joints' ranges at which gravity is asked for."""
POINTS = 600
"""Points of the recording that stand for it."""
NOT_LEARNT = 0.83
"""Share of the model's own uncertainty left after the recording from which the recording taught too little."""
MATTERS = 0.02
"""Uncertainty of a joint's gravity torque, as a share of the largest torque of that joint over its range, from which it
is asked for at all."""
CONSTANT = 0.05
"""Range of a joint's gravity torque, as a share of its largest, below which it is constant by construction (a vertical
lift): an offset says all of it, and no motion could say more."""
HARDLY_MOVED = 0.1
"""Range of a joint that is named as hardly moved [rad or m]."""
NOISE = 0.03
"""Noise of an effort, as a share of the joint's largest gravity torque over its range: of a fair drive. The recording's
own noise is not used, so that this finding is about the motion and not about the sensor or friction."""


@dataclass(frozen=True, slots=True, eq=False)
class Excitation:
    """What a recording teaches about gravity.

    Attributes:
        before: Standard deviation of each joint's gravity torque over its range by the model alone [N m or N], (n,).
        after: The same with the recording [N m or N], shape (n,).
        largest: Largest gravity torque of each joint over its range [N m or N], shape (n,).
        swing: Range of each joint's gravity torque over its range [N m or N], shape (n,).
        condition: Condition number of the recording's regressor, columns scaled by the model's spread.
        weakest: Names of the base parameters that weigh most in the combination that the recording teaches least about.
    """

    before: Array
    after: Array
    largest: Array
    swing: Array
    condition: float
    weakest: tuple[str, ...]


def excitation(robot: Robot, smooth: Prepared) -> Excitation | None:
    """Return what a recording teaches about gravity; None where no joint feels gravity or no effort was measured.

    Args:
        robot: The model.
        smooth: The recording made ready.
    """
    joints = np.flatnonzero(smooth.effort_known)
    rows = np.flatnonzero(smooth.good)
    basis = robot.base_parameters
    if len(rows) < LEAST_ROWS or len(joints) == 0 or not basis.names:
        return None
    picked = rows[np.unique(np.linspace(0, len(rows) - 1, POINTS).astype(np.int64))]
    spread = basis.regrouping @ _gravity_spread(robot)
    left, sizes, _ = np.linalg.svd(spread, full_matrices=False)
    root = left * sizes  # root rootᵀ: covariance of the base parameters by the model
    regressor = robot.base_gravity_regressor(smooth.q[picked])
    inertial = inertial_signals(robot, smooth.q[picked], smooth.dq[picked], smooth.ddq[picked])
    poses = _poses(robot)
    asked = robot.base_gravity_regressor(poses)
    largest = np.abs(robot.gravity(poses)).max(axis=0)
    information = np.zeros((root.shape[1], root.shape[1]))
    weight = min(1.0, INDEPENDENT_RATE * len(rows) * smooth.dt / len(picked))
    for joint in joints:
        side, dq = smooth.direction[picked, joint], smooth.dq[picked, joint]
        nuisance = np.column_stack([np.ones(len(picked)), side, dq, inertial[:, joint]])
        noise = NOISE * max(float(largest[joint]), 1e-3 * float(largest.max()))
        open_columns = _span(nuisance)
        columns = regressor[:, joint] @ root
        columns = columns - open_columns @ (open_columns.T @ columns)
        information += weight * columns.T @ columns / noise**2
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, 0.0)
    before = np.sqrt(np.mean(np.sum((asked @ root) ** 2, axis=2), axis=0))
    after = np.sqrt(np.mean(np.sum((asked @ (root @ vectors / np.sqrt(1.0 + values))) ** 2, axis=2), axis=0))
    # Of all combinations, the one that leaves most uncertainty in the torques that are asked for.
    left_over = np.mean(np.sum((asked @ (root @ vectors / np.sqrt(1.0 + values))) ** 2, axis=1), axis=0)
    direction = np.abs(vectors[:, int(left_over.argmax())] @ root.T / np.linalg.norm(root, axis=1))
    order = np.argsort(direction)[::-1]
    weakest = tuple(basis.names[index] for index in order[:4] if direction[index] > 0.3)
    condition = math.sqrt(float(values[-1] / values[0])) if values[0] > 0.0 else math.inf
    swing = np.ptp(robot.gravity(poses), axis=0)
    return Excitation(before, after, largest, swing, condition, weakest)


def check_excitation(robot: Robot, log: Log, smooth: Prepared) -> list[Finding]:
    """Name joints about whose gravity the recording says less than the model does.

    Found: joints whose gravity torque over their range is, with the recording, still more than NOT_LEARNT as uncertain
    as by a model good to 10 % in mass and 10 mm in centre of mass. What is asked is gravity everywhere; for a few poses
    near the recorded ones less will do.

    Args:
        robot: The model.
        log: The recording, joints as in ``robot``.
        smooth: The recording made ready.
    """
    found = excitation(robot, smooth)
    if found is None:
        return []
    held = log.declared.held
    asked = found.before > MATTERS * np.maximum(found.largest, 1e-9)
    asked &= found.before > MATTERS * float(found.before.max(initial=0.0))
    asked &= np.array([name not in held for name in robot.joint_names])
    asked &= found.swing > CONSTANT * np.maximum(found.largest, 1e-9)
    left = np.divide(found.after, found.before, out=np.zeros(robot.n), where=found.before > 0.0)
    joints = np.flatnonzero(asked & (left > NOT_LEARNT))
    if len(joints) == 0:
        return []
    names = tuple(robot.joint_names[joint] for joint in joints)
    still = [
        name for joint, name in enumerate(robot.joint_names) if smooth.moved[joint] < HARDLY_MOVED and name not in held
    ]
    worst = int(joints[left[joints].argmax()])
    hardly = f" {listed(still)} hardly moved." if still else ""
    combination = f" Least is told about {listed(found.weakest)}." if found.weakest else ""
    return [
        Finding(
            LogFault.EXCITATION,
            Consequence.LIMITS,
            names,
            f"The recording says too little about the gravity of {listed(names)}: over its range the torque of "
            f"{robot.joint_names[worst]} stays uncertain by {short(float(found.after[worst]))} "
            f"{effort_units(robot)[worst]}, {percent(float(left[worst]))} of what the model alone leaves."
            f"{hardly}{combination}",
            "Record more poses, spread over the joints' ranges and with every joint moved; until then keep the model's "
            "values where the data are silent.",
            {
                "uncertainty_before": dict(zip(robot.joint_names, found.before.tolist(), strict=True)),
                "uncertainty_after": dict(zip(robot.joint_names, found.after.tolist(), strict=True)),
                "left": dict(zip(names, left[joints].tolist(), strict=True)),
                "condition": found.condition if math.isfinite(found.condition) else None,
                "weakest_combination": list(found.weakest),
                "hardly_moved": still,
            },
        )
    ]


def _span(columns: Array) -> Array:
    """Return orthonormal columns with the same span; columns of zeros, as poses at rest have, add nothing."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, sizes > 1e-9 * sizes[0]])


def _gravity_spread(robot: Robot) -> Array:
    """Return S, shape (4 b, m), with S Sᵀ the covariance of the gravity parameters by the model."""
    spread = parameter_spread(robot)
    bodies = len(spread) // 10
    return spread.reshape(bodies, 10, -1)[:, :4].reshape(4 * bodies, -1)


def _poses(robot: Robot) -> Array:
    """Return random poses over the joints' ranges [rad or m], shape (POSES, n); half a turn to either side at most."""
    lower = np.maximum(np.where(np.isfinite(robot.lower), robot.lower, -np.pi), -np.pi)
    upper = np.minimum(np.where(np.isfinite(robot.upper), robot.upper, np.pi), np.pi)
    poses: Array = np.random.default_rng(0).uniform(lower, np.maximum(upper, lower), (POSES, robot.n))
    return poses
