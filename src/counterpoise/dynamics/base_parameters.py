"""Base gravity parameters: the combinations of masses and first moments that joint torques can reveal.

The basis follows from the structure alone, never from pivoting on numbers, so a calibration file means the same on
every machine. Let u_i = R_iᵀ g be gravity seen from body i. The potential energy of body i is
−(m_i g · o_i + u_i · m_i c_i), and

- revolute joint: the axis component of u_i equals one of the parent's, and o_i is fixed in the parent, so the moment
  along the axis and the mass regroup into the parent ([Khalil2002], minimum inertial parameters). Two moments stay,
  unless the axis is parallel to gravity in every pose;
- prismatic joint: u_i is the parent's, so all moments regroup; the mass stays if gravity ever has a component along the
  axis, else it regroups too.

Where no structure is known, ``independent_columns`` takes columns of a matrix in a given order, never by size: the
basis is the same on every machine, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..foundation import Array, frozen
from .regressors import GRAVITY_PARAMETERS, gravity_regressors
from .tree import BASE, REVOLUTE, Tree


def independent_columns(rows: Array, order: Iterable[int], tolerance: float) -> tuple[list[int], Array]:
    """Return the columns that do not depend on those before them, and the shares of every column in them.

    Gram–Schmidt in the given order, each column cleaned twice: rows[:, chosen] = basis · triangle.

    Args:
        rows: The matrix, shape (k, p).
        order: In which its columns are taken; all p of them.
        tolerance: Length of a cleaned column, relative to the longest column, up to which it is dependent.

    Returns:
        The chosen columns in ascending order, b of them, and S with rows = rows[:, chosen] @ S, shape (b, p).
    """
    longest = float(np.max(np.linalg.norm(rows, axis=0), initial=0.0))
    chosen: list[int] = []
    basis = np.zeros((len(rows), 0))
    triangle = np.zeros((0, 0))
    relations = np.zeros((rows.shape[1], rows.shape[1]))
    for column in order:
        rest, shares = rows[:, column].copy(), np.zeros(len(chosen))
        for _ in range(2):
            again = basis.T @ rest
            rest -= basis @ again
            shares += again
        size = float(np.linalg.norm(rest))
        if size > tolerance * longest:
            chosen.append(column)
            basis = np.column_stack([basis, rest / size])
            triangle = np.block([[triangle, shares[:, None]], [np.zeros((1, len(shares))), np.array([[size]])]])
            relations[column, column] = 1.0
        elif chosen:
            relations[chosen, column] = np.linalg.solve(triangle, shares)
    kept = sorted(chosen)
    return kept, relations[kept]


PARALLEL_TOLERANCE = 1e-9
"""Sine of the angle below which a direction counts as parallel; files print about ten digits."""
DEPENDENCE_TOLERANCE = 1e-8
"""Relative residual below which a column of coupled (mimic) joints counts as dependent on the kept ones."""


@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """A basis of the gravity parameters.

    Attributes:
        columns: Columns of the gravity regressor that are kept, shape (b,).
        regrouping: G with base values = G @ gravity_parameters and Y = Y[:, columns] @ G, shape (b, p).
        names: One readable name per base parameter, e.g. "elbow.mx".
    """

    columns: tuple[int, ...]
    regrouping: Array
    names: tuple[str, ...]


def base_parameters(tree: Tree) -> BaseParameters:
    """Find the structural basis of a robot's gravity parameters."""
    kept, regrouping = _structural(tree)
    if tree.bodies != tree.n:
        kept, regrouping = _without_coupled(tree, kept, regrouping)
    names = tuple(f"{tree.body_names[column // 4]}.{GRAVITY_PARAMETERS[column % 4]}" for column in kept)
    return BaseParameters(tuple(kept), frozen(regrouping), names)


def _structural(tree: Tree) -> tuple[list[int], Array]:
    """Apply the rules body by body, from the tips to the base."""
    seen = _directions_of_gravity(tree)
    total = 4 * tree.bodies
    regrouped = np.eye(total)
    kept: list[int] = []
    for body in reversed(range(tree.bodies)):
        parent = int(tree.parent[body])
        mass, moment = 4 * body, slice(4 * body + 1, 4 * body + 4)
        R_body_joint = tree.joint_rotation[body]
        axis = R_body_joint[2]  # the joint axis in its own joint frame
        # R_parentjoint_joint at q = 0, and the origin r in the parent's joint frame; the base frame has no turn.
        R_parent_joint = tree.rotation[body] @ R_body_joint
        origin = tree.origin[body]
        if parent != BASE:
            to_joint = tree.joint_rotation[parent].T
            R_parent_joint, origin = to_joint @ R_parent_joint, to_joint @ origin
        rotary = tree.kind[body] == REVOLUTE
        across = seen[parent] @ (np.eye(3) - np.outer(tree.rotation[body][:, 2], tree.rotation[body][:, 2]))
        along = seen[parent] @ tree.rotation[body][:, 2]
        felt = np.linalg.norm(across if rotary else along) > PARALLEL_TOLERANCE
        mass_stays = not rotary and felt
        moving = regrouped[moment].copy()
        if rotary and felt:
            drop = _most_aligned(axis)
            ratio = moving[drop] / axis[drop]  # e_drop = (axis − Σ others)/axis_drop
            for index in range(3):
                if index != drop:
                    kept.append(4 * body + 1 + index)
                    regrouped[4 * body + 1 + index] -= axis[index] * ratio
            moving = np.outer(axis, ratio)
        if parent != BASE:
            regrouped[4 * parent + 1 : 4 * parent + 4] += R_parent_joint @ moving
            if not mass_stays:
                regrouped[4 * parent] += regrouped[mass]
                regrouped[4 * parent + 1 : 4 * parent + 4] += np.outer(origin, regrouped[mass])
        if mass_stays:
            kept.append(mass)
    kept.sort()
    return kept, regrouped[kept]


def _directions_of_gravity(tree: Tree) -> dict[int, Array]:
    """Return, per body and for the base, a basis of the span of u = Rᵀ g over all poses: rows of shape (d, 3)."""
    strength = float(np.linalg.norm(tree.gravity_base))
    seen = {BASE: (tree.gravity_base / strength)[None] if strength > 0.0 else np.zeros((0, 3))}
    for body, parent in enumerate(tree.parent):
        local = seen[int(parent)] @ tree.rotation[body]
        if tree.kind[body] == REVOLUTE and len(local) and np.linalg.norm(local[:, :2]) > PARALLEL_TOLERANCE:
            # Turning about z sweeps the whole xy plane and leaves the z component as it is.
            has_z = np.linalg.norm(local[:, 2]) > PARALLEL_TOLERANCE
            local = np.eye(3) if has_z else np.eye(3)[:2]
        seen[body] = local
    return seen


def _most_aligned(axis: Array) -> int:
    """Return the coordinate to regroup: the one closest to the axis, the last of equals (z before y before x)."""
    sizes = np.round(np.abs(axis), 6)
    return int(np.flatnonzero(sizes == sizes.max())[-1])


def _without_coupled(tree: Tree, kept: list[int], regrouping: Array) -> tuple[list[int], Array]:
    """Drop columns that mimic joints make dependent: ordered elimination over a fixed set of poses."""
    poses = _fixed_poses(tree, 4 * len(kept) + 8)
    stacked = gravity_regressors(tree, poses)[:, :, kept].reshape(-1, len(kept))
    chosen, shares = independent_columns(stacked, range(len(kept)), DEPENDENCE_TOLERANCE)
    return [kept[index] for index in chosen], shares @ regrouping


def _fixed_poses(tree: Tree, count: int) -> Array:
    """Return well-spread poses that are the same on every machine: multiples of square roots of primes, modulo 1."""
    primes = [
        number for number in range(2, 20 * tree.n + 20) if all(number % d for d in range(2, int(number**0.5) + 1))
    ]
    fractions = np.outer(np.arange(1, count + 1), np.sqrt(np.array(primes[: tree.n], dtype=np.float64))) % 1.0
    poses: Array = 2.0 * np.pi * fractions - np.pi
    return poses
