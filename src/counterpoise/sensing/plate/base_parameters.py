"""What a base wrench can ever reveal of masses: the base parameters of the plate, and their names.

The wrench is linear in the parameters φ of the bodies, w = W(q, q̇, q̈) φ + z, with z the plate's zero and the base
link's weight, both constant. Columns of W that are constant, or combinations of others, carry nothing of their own.

At rest the moment shows the horizontal part of the first moment Σ m OG. So of a first joint with a vertical axis the
plate shows both moments across the axis, which no joint torque feels: 12 numbers on a PUMA, 10 from joint torques. In
motion it shows all that joint torques depend on: with I^c_j the inertia of all that joint j carries and s_j its axis
(spatial, base frame), the momentum is Σ_j I^c_j s_j q̇_j, and M_ij = s_iᵀ I^c_j s_j for i before j. Parameters that
change no momentum change no M. A wrench is felt whole, a torque only along the axis; the torque is the less.

The basis is chosen in a fixed order, from fixed motions: moments and inertias body by body from the base outwards, then
masses. So a body's mass and what lies along its axis are grouped into the bodies before it, as in dynamics/
base_parameters.py ([Khalil2002]).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...dynamics import GRAVITY_PARAMETERS, INERTIAL_PARAMETERS, Robot, independent_columns
from ...fitting import (
    BODY_UNITS,
    Identifiability,
    Language,
    arm_reach,
    identify,
    link_expansion,
    sum_text,
    workspace_yardstick,
)
from ...foundation import Array, frozen
from ...identification import workspace_poses

Kind = Literal["gravity", "inertial"]

POSES = 150
"""Motions that the basis is found from."""
DEPENDENT = 1e-7
"""Part of a column, relative to the largest one, that must be left beside those before it."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateBase:
    """A basis of the parameters that a base wrench reveals, constant wrenches aside.

    Attributes:
        robot: The robot.
        kind: "gravity" for 4 numbers per moving body, at rest; "inertial" for 10, in motion.
        columns: Which of the p parameters stand for the basis, shape (b,).
        regrouping: G with base values = G φ and W = W[:, columns] G + constant, shape (b, p).
        names: The base parameters in link words, e.g. "forearm.mx + 0.55·hand.m".
        units: Their units.
        never_felt: Parameters that no base wrench of this mounting reveals.
    """

    robot: Robot
    kind: Kind
    columns: tuple[int, ...]
    regrouping: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    never_felt: tuple[str, ...]


def wrench_columns(robot: Robot, kind: Kind, q: Array, dq: Array, ddq: Array) -> Array:
    """Return W of the moving bodies, shape (k, 6, 4 b) or (k, 6, 10 b).

    Args:
        robot: The robot.
        kind: Which parameters.
        q: Joint positions [rad or m], shape (k, n).
        dq: Velocities, same shape.
        ddq: Accelerations, same shape.
    """
    whole = robot.base_wrench_regressor(q, dq, ddq)[:, :, len(INERTIAL_PARAMETERS) :]
    if kind == "inertial":
        return whole
    by_body = whole.reshape(*whole.shape[:2], -1, len(INERTIAL_PARAMETERS))[..., : len(GRAVITY_PARAMETERS)]
    return np.ascontiguousarray(by_body.reshape(*whole.shape[:2], -1))


def plate_base(robot: Robot, kind: Kind) -> PlateBase:
    """Find the basis of a robot on its mounting.

    Args:
        robot: The robot.
        kind: "gravity" or "inertial".
    """
    rng = np.random.default_rng(0)
    q = workspace_poses(robot, POSES)
    moves = float(kind == "inertial")
    dq, ddq = (moves * rng.standard_normal(q.shape) for _ in range(2))
    W = wrench_columns(robot, kind, q, dq, ddq)
    labels = GRAVITY_PARAMETERS if kind == "gravity" else INERTIAL_PARAMETERS
    reach = arm_reach(robot) or 1.0
    powers = {"m": 0, "mx": 1, "my": 1, "mz": 1}
    sizes = np.tile([reach ** powers.get(label, 2) for label in labels], robot.tree.bodies)
    # Every column in newtons per kilogram: a first moment of 1 kg at arm's reach, and so on.
    scaled = np.concatenate([W[:, :3] / sizes, W[:, 3:] / sizes / reach], axis=1)
    varying = (scaled - scaled.mean(axis=0)).reshape(-1, scaled.shape[2])
    order = sorted(range(len(sizes)), key=lambda at: (labels[at % len(labels)] == "m", at))
    kept, shares = independent_columns(varying, order, DEPENDENT)
    regrouping = shares / sizes[kept][:, None] * sizes
    regrouping = np.where(np.abs(regrouping) > 1e-9, regrouping, 0.0)
    expansion, never_felt = link_expansion(robot, [str(at) for at in kept], regrouping)
    return PlateBase(
        robot=robot,
        kind=kind,
        columns=tuple(kept),
        regrouping=frozen(regrouping),
        names=tuple(sum_text(shares) for shares in expansion.values()),
        units=tuple(BODY_UNITS[labels[at % len(labels)]] for at in kept),
        never_felt=never_felt,
    )


def identified(
    base: PlateBase, values: Array, information: Array, sigma: Array, speed: Array, acceleration: Array
) -> Identifiability:
    """Say which combinations the data determine by themselves.

    Args:
        base: The basis.
        values: Estimates, shape (b,).
        information: The data's own about the base parameters, nuisances taken out, shape (b, b).
        sigma: Error of a predicted wrench that is good enough, per channel [N, N m], shape (6,).
        speed: Usual speeds of the joints [rad/s or m/s], shape (n,): what a prediction will be asked for.
        acceleration: Usual accelerations, shape (n,).
    """
    rng = np.random.default_rng(1)
    q = workspace_poses(base.robot, POSES)
    dq, ddq = (size * rng.standard_normal(q.shape) for size in (speed, acceleration))
    rows = wrench_columns(base.robot, base.kind, q, dq, ddq)[:, :, list(base.columns)]
    rows = rows - rows.mean(axis=0)
    language = Language(
        names=base.names,
        x=values,
        information=0.5 * (information + information.T),
        units=base.units,
        expansion=link_expansion(base.robot, base.names, base.regrouping)[0],
        never_felt=base.never_felt,
    )
    return identify(language, workspace_yardstick(rows, sigma))
