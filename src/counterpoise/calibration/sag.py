"""What a torque error means at the tip: how far the arm sags under it.

A joint held by a stiffness K_i gives way by e_i/K_i under a torque error e_i, and the tip follows by its Jacobian. How
stiff an arm is held is the controller's choice. Where nothing is given, each joint is taken to be held as a spring of
natural frequency BANDWIDTH would hold it, K_i = J_i ω², with J_i the inertia that it moves by the description, rotor
included (fitted or described): a soft, safe position control. Give the real stiffness to get the real sag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..dynamics.inertia import driven_inertias
from ..dynamics.kinematics import ancestors
from ..dynamics.robot import Robot
from ..errors import InputError
from .workspace import workspace_poses

BANDWIDTH = 25.0
"""ω of the stiffness that is assumed [rad/s]: 4 Hz."""
INERTIA_POSES = 32
"""Poses over which the inertias are averaged."""
MOST_POSES = 400
"""Poses at which sag is evaluated."""
MOST_TIPS = 6
"""Tips that are looked at: the farthest ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Sag:
    """Displacement of the tip [m], root mean square.

    Attributes:
        per_joint: By the error of each joint alone, shape (n,); NaN where no error is known.
        total: By all errors at once.
        largest: Largest one at any pose looked at.
    """

    per_joint: Array
    total: float
    largest: float

    @classmethod
    def unknown(cls, n: int) -> Self:
        """Return the sag of n joints whose efforts are no torques: NaN throughout."""
        return cls(frozen(np.full(n, np.nan)), float("nan"), float("nan"))


def assumed_stiffness(robot: Robot, rotors: Array) -> Array:
    """Return K = J ω² of every joint [N m/rad or N/m], shape (n,), with J averaged over the workspace.

    Args:
        robot: The arm as described.
        rotors: Fitted rotor inertias [kg m² or kg], shape (n,), 0 where unknown; the description's count where larger.
    """
    inertia = driven_inertias(robot, workspace_poses(robot, INERTIA_POSES)).mean(axis=0)
    return np.asarray((np.maximum(inertia, 0.0) + np.maximum(robot.rotor_inertia, rotors)) * BANDWIDTH**2)


def given_stiffness(robot: Robot, stiffness: npt.ArrayLike) -> Array:
    """Return a given stiffness, one number or one per joint [N m/rad or N/m], shape (n,).

    Raises:
        InputError: It is not positive, or of another length.
    """
    try:
        values = np.array(np.broadcast_to(np.asarray(stiffness, dtype=np.float64), (robot.n,)))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"stiffness is {stiffness!r}; expected one number or {robot.n} [N m/rad or N/m]") from error
    if not np.all(np.isfinite(values) & (values > 0.0)):
        raise InputError(f"stiffness is {values.tolist()}; expected positive numbers [N m/rad or N/m]")
    return values


def tip_sag(robot: Robot, q: Array, error: Array, stiffness: Array) -> Sag:
    """Return how far torque errors displace the tip; of several tips, the one that is displaced most.

    Args:
        robot: The arm.
        q: Poses [rad or m], shape (k, n).
        error: Torque errors there [N m or N], shape (k, n); NaN where unknown, which counts as none.
        stiffness: K of each joint [N m/rad or N/m], shape (n,); a joint without any is left out.
    """
    step = max(1, -(-len(q) // MOST_POSES))
    q, error = q[::step], error[::step]
    known = np.isfinite(error).any(axis=0)
    soft = np.where(stiffness > 0.0, stiffness, np.inf)
    give = np.nan_to_num(error) / soft
    per_joint, totals, largest = np.zeros(robot.n), [0.0], [0.0]
    for tip in tips(robot):
        slope = np.atleast_3d(robot.jacobian(q, at=tip))[:, :3]
        alone = np.linalg.norm(slope * give[:, None, :], axis=1)
        per_joint = np.maximum(per_joint, np.sqrt(np.mean(alone**2, axis=0)))
        together = np.linalg.norm(np.einsum("kij,kj->ki", slope, give), axis=1)
        totals.append(float(np.sqrt(np.mean(together**2))))
        largest.append(float(together.max(initial=0.0)))
    return Sag(frozen(np.where(known, per_joint, np.nan)), max(totals), max(largest))


def most_sag(robot: Robot, q: Array, bound: Array, stiffness: Array) -> float:
    """Return how far torque errors within bounds can displace a tip at any of some poses [m].

    Args:
        robot: The arm.
        q: Poses [rad or m], shape (k, n).
        bound: How large the errors may be there [N m or N], shape (k, n).
        stiffness: K of each joint [N m/rad or N/m], shape (n,); a joint without any is left out.
    """
    give = bound / np.where(stiffness > 0.0, stiffness, np.inf)
    slopes = (np.atleast_3d(robot.jacobian(q, at=tip))[:, :3] for tip in tips(robot))
    # Errors of different joints may all push one way.
    sags = [np.sum(np.linalg.norm(slope * give[:, None, :], axis=1), axis=1) for slope in slopes]
    return float(np.max(sags, initial=0.0))


def tips(robot: Robot) -> list[str]:
    """Return the end frames at the end of the longest chains, at most MOST_TIPS."""
    tree = robot.tree
    lengths = np.linalg.norm(tree.origin, axis=1)
    reach = {}
    for tip in tree.leaves:
        at = tree.link_names.index(tip)
        body = int(tree.link_body[at])
        if body >= 0:
            chain = float(sum(lengths[i] for i in ancestors(tree, body)))
            reach[tip] = chain + float(np.linalg.norm(tree.link_origin[at]))
    return sorted(reach, key=lambda tip: (-reach[tip], tip))[:MOST_TIPS]
