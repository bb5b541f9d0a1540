"""The exact gravity table: structurally non-zero trigonometric coefficients ([Patent], claim 5, made exact).

The gravity moment is multilinear in (1, cos q, sin q) per rotary joint and (1, q) per linear one, so a few coefficients
reproduce it to rounding: 24 on a PUMA with six joints, where a table with linear interpolation is hopeless.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..dynamics.inputs import as_rows
from ..dynamics.joint_units import rotary
from ..dynamics.reference import WRENCH_COMPONENTS
from ..dynamics.robot import Robot
from ..errors import InputError, ModelError
from .gravity_wrench import constant_gravity_wrench
from .table_tag import TableTag, tag_of
from .trigonometric_form import (
    Monomial,
    Products,
    coefficients_of,
    generic_terms,
    gravity_moment_terms,
    term_name,
)

MAX_CONDITION = 1e6
"""Measured poses whose products have a worse condition number do not determine the coefficients."""
CANDIDATES = 4
"""Candidate poses per coefficient, from which measuring_poses chooses."""
FULL_TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class TrigonometricTable:
    """A gravity wrench generator from T coefficients.

    Attributes:
        tag: What the table belongs to: joints, geometry, mounting, payload.
        constant: What no joint position changes [N, N m], on the robot, base axes and origin, shape (6,). Of a measured
            table it contains the plate's bias.
        terms: The T products of cosines, sines and positions.
        coefficients: Their moments [N m], shape (T, 3).
        source: "model" or "measured".
        residual_rms: What measured poses leave unexplained, per component [N, N m], shape (6,); zeros from a model.
    """

    tag: TableTag
    constant: Array
    terms: tuple[Monomial, ...]
    coefficients: Array
    source: str = "model"
    residual_rms: Array = field(default_factory=lambda: frozen(np.zeros(6)))

    complete = True

    @cached_property
    def products(self) -> Products:
        """What evaluates the terms."""
        return Products(self.terms, self.tag.rotary)

    @property
    def entries(self) -> int:
        """Number of coefficients stored, the constant included."""
        return len(self.terms) + 1

    def wrench(self, q: Array) -> Array:
        """Return w_g [N, N m] on the robot, base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
        """
        rows = np.atleast_2d(q)
        result = np.tile(self.constant, (len(rows), 1))
        result[:, 3:] += self.products.combined(rows, self.coefficients)
        return result if q.ndim == 2 else result[0]

    @staticmethod
    def from_model(robot: Robot) -> TrigonometricTable:
        """Build the table from a robot's masses.

        Raises:
            ModelError: A joint mimics another, or there are no masses.
        """
        tree = robot.tree
        if not tree.mass.any():
            raise ModelError(f"robot '{robot.name}' has no masses to build a gravity table from; measure static poses")
        terms = gravity_moment_terms(tree, tree.mass, tree.first_moment)
        constant = constant_gravity_wrench(tree)
        return TrigonometricTable(tag_of(robot), constant, tuple(terms), frozen(coefficients_of(terms)))

    @staticmethod
    def from_static_poses(robot: Robot, q: npt.ArrayLike, wrench: npt.ArrayLike) -> TrigonometricTable:
        """Build the table from what the plate carries in static poses; masses need not be known.

        Which coefficients are fitted follows from the robot's masses, or where it has none from its geometry alone.

        Args:
            robot: The robot; of its model only the geometry and the mounting count, and which coefficients are zero.
            q: Static poses [rad or m], shape (k, n); :func:`measuring_poses` proposes some.
            wrench: The wrench on the robot in each, base axes and origin [N, N m], shape (k, 6).

        Raises:
            InputError: The poses do not determine the coefficients; the message names one that they do not.
            ModelError: A joint mimics another.
        """
        poses = np.atleast_2d(as_rows(q, "q", robot.joint_names))
        wrenches = np.atleast_2d(as_rows(wrench, "wrench", WRENCH_COMPONENTS))
        if len(poses) != len(wrenches):
            raise InputError(f"{len(poses)} poses and {len(wrenches)} wrenches were given; expected one for each pose")
        terms = table_terms(robot)
        products = Products(terms, tuple(rotary(robot)))
        columns = np.column_stack([np.ones(len(poses)), products.values(poses)])
        _refuse_undetermined(columns, ("the constant", *_names(robot, terms)))
        found, *_ = np.linalg.lstsq(columns, wrenches[:, 3:], rcond=None)
        force = wrenches[:, :3].mean(axis=0)
        rest = np.column_stack([wrenches[:, :3] - force, wrenches[:, 3:] - columns @ found])
        freedom = np.array([max(len(poses) - 1, 1)] * 3 + [max(len(poses) - len(terms) - 1, 1)] * 3)
        return TrigonometricTable(
            tag_of(robot),
            frozen(np.concatenate([force, found[0]])),
            terms,
            frozen(found[1:]),
            "measured",
            frozen(np.sqrt(np.sum(rest**2, axis=0) / freedom)),
        )


def table_terms(robot: Robot) -> tuple[Monomial, ...]:
    """Return the position-dependent terms of a table: those of the robot's masses; all possible ones without masses."""
    tree = robot.tree
    return tuple(gravity_moment_terms(tree, tree.mass, tree.first_moment)) if tree.mass.any() else generic_terms(tree)


def nodes(robot: Robot, joint: int) -> Array:
    """Return the node positions of a joint [rad or m]: three of a rotary one, two of a linear one, inside its limits.

    A third of a turn apart where the limits allow, else the ends and the middle of the range.
    """
    lower, upper = float(robot.lower[joint]), float(robot.upper[joint])
    if not rotary(robot)[joint]:
        low = lower if np.isfinite(lower) else min(0.0, upper - 1.0) if np.isfinite(upper) else 0.0
        high = upper if np.isfinite(upper) else low + 1.0
        return np.array([low, high])
    half = min(FULL_TURN / 3.0, 0.5 * (upper - lower))
    middle = 0.5 * (lower + upper) if np.isfinite(lower) and np.isfinite(upper) else 0.0
    middle = min(max(middle, lower + half), upper - half)
    return np.array([middle - half, middle, middle + half])


def measuring_poses(robot: Robot, count: int | None = None, seed: int = 0) -> Array:
    """Propose static poses that determine a table [rad or m], shape (count, n), all joints at their nodes.

    Args:
        robot: The robot.
        count: How many poses; None for one per coefficient, the fewest that can do. Some more average noise out.
        seed: Seed of the candidates.

    Raises:
        InputError: ``count`` is too small, or the limits are too narrow to tell the coefficients apart.
        ModelError: A joint mimics another.
    """
    terms = table_terms(robot)
    needed = len(terms) + 1
    wanted = needed if count is None else count
    if wanted < needed:
        raise InputError(f"count is {count}; this robot's table has {needed} coefficients and needs as many poses")
    random = np.random.default_rng(seed)
    of_joint = [nodes(robot, joint) for joint in range(robot.n)]
    candidates = np.column_stack([random.choice(places, CANDIDATES * wanted + 64) for places in of_joint])
    products = Products(terms, tuple(rotary(robot)))
    columns = np.column_stack([np.ones(len(candidates)), products.values(candidates)])
    chosen: list[int] = []
    rest = columns.copy()
    for _ in range(needed):  # the pose that adds most to what the chosen ones span, again and again
        sizes = np.sum(rest**2, axis=1)
        best = int(np.argmax(sizes))
        chosen.append(best)
        direction = rest[best] / max(np.sqrt(sizes[best]), 1e-300)
        rest -= np.outer(rest @ direction, direction)
    others = [index for index in range(len(candidates)) if index not in set(chosen)]
    chosen += others[: wanted - needed]
    _refuse_undetermined(columns[chosen], ("the constant", *_names(robot, terms)))
    return candidates[chosen]


def _names(robot: Robot, terms: tuple[Monomial, ...]) -> tuple[str, ...]:
    return tuple(term_name(term, robot.joint_names, rotary(robot)) for term in terms)


def _refuse_undetermined(columns: Array, names: tuple[str, ...]) -> None:
    """Raise InputError unless the columns, one per coefficient, are far enough from dependent."""
    k, count = columns.shape
    if k < count:
        raise InputError(f"{k} poses cannot determine {count} coefficients; measure at least as many poses")
    scale = np.linalg.norm(columns, axis=0)
    _, sizes, directions = np.linalg.svd(columns / np.where(scale > 0.0, scale, 1.0), full_matrices=False)
    if not sizes[-1] * MAX_CONDITION > sizes[0]:
        worst = names[int(np.argmax(np.abs(directions[-1])))]
        raise InputError(
            f"the poses do not determine the coefficient of {worst}: condition number "
            f"{sizes[0] / max(sizes[-1], 1e-300):.2g}; spread the poses wider (measuring_poses proposes some)"
        )
