r"""Gravity tables: the wrench of gravity stored as trigonometric terms, exactly, or on a grid ([Patent], claim 5).

**Trigonometric.** The gravity moment is multilinear in (1, cos q, sin q) per rotary joint and (1, q) per linear one, so
a few coefficients, those that are structurally not zero, reproduce it to rounding: 24 on a PUMA with six joints, where
a table with linear interpolation is hopeless. Which products of cosines and sines it is made of follows from the tree.
The first moment of what joint i carries, about its origin and in the axes of the body before it, is

.. math:: S_i(q) = M_i r_i + C_i R_z(q_i) \Big( h_i + \sum_{c} S_c(q) \Big) \quad\text{or}\quad
          M_i (r_i + C_i z q_i) + C_i \Big( h_i + \sum_{c} S_c(q) \Big)

for a rotary and for a linear joint (M_i: mass that it carries, h_i: its body's own first moment, c: the next bodies).
Read from the tips to the base, this is a sum of products with at most one factor of each joint on a way to a tip: cos q
or sin q of a rotary joint, q of a linear one. Branches only add up, so a tree needs no products across branches.

**Linear**, as the patent draws it: the moment on a grid of joint positions, interpolated linearly. Fair for three
joints and hopeless for six; the exact trigonometric table is the better one. Kept for robots whose joints mimic each
other, and to compare.

A table has a tag of what it belongs to (``TableTag``): a table of another mounting, payload or arm is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...dynamics import BASE, REVOLUTE, WRENCH_COMPONENTS, Robot, Tree, as_rows, rotary
from ...errors import InputError, ModelError
from ...foundation import Array, frozen
from .gravity_wrench import constant_gravity_wrench, refuse_mimics

LENGTH_TOLERANCE = 1e-6
"""How far tips may differ between a table's robot and the one it is used with [m]."""
GRAVITY_TOLERANCE = 1e-6
"""How far gravity may differ [m/s²]."""


@dataclass(frozen=True, eq=False)
class TableTag:
    """What a table was built for.

    Attributes:
        robot: Name of the robot.
        joint_names: Its joints.
        rotary: Which of them turn.
        gravity_base: Gravity in the base frame [m/s²], shape (3,): the mounting.
        payloads: Link, mass [kg] and centre of mass [m] of each payload.
        tips: Origins of the leaf links [m] with every joint at CHECK_POSITION, shape (leaves, 3): the geometry.
    """

    robot: str
    joint_names: tuple[str, ...]
    rotary: tuple[bool, ...]
    gravity_base: Array
    payloads: tuple[tuple[str, float, tuple[float, float, float]], ...]
    tips: Array

    def refuse_other(self, robot: Robot) -> None:
        """Raise InputError where the table does not belong to a robot as it stands."""
        other = tag_of(robot)
        built = f"the gravity table was built for robot '{self.robot}'"
        if (self.joint_names, self.rotary) != (other.joint_names, other.rotary):
            raise InputError(f"{built} with joints {list(self.joint_names)}; this one has {list(other.joint_names)}")
        if self.tips.shape != other.tips.shape or np.abs(self.tips - other.tips).max(initial=0.0) > LENGTH_TOLERANCE:
            raise InputError(f"{built}, whose links have other lengths; build the table again")
        if np.abs(self.gravity_base - other.gravity_base).max() > GRAVITY_TOLERANCE:
            raise InputError(
                f"{built} with gravity {np.round(self.gravity_base, 6).tolist()} m/s² in its base frame; here it is "
                f"{np.round(other.gravity_base, 6).tolist()}: build the table again for this mounting"
            )
        if not _same_payloads(self.payloads, other.payloads):
            raise InputError(
                f"{built} with payload {_shown(self.payloads)}; it now carries {_shown(other.payloads)}: build the "
                "table again"
            )


CHECK_POSITION = 0.5
"""Position of every joint at which the tips of two robots are compared [rad or m]."""


def tag_of(robot: Robot) -> TableTag:
    """Return the tag of tables for a robot as it stands."""
    pose = np.full(robot.n, CHECK_POSITION)
    tips = [robot.forward_kinematics(pose, at=leaf)[:3, 3] for leaf in robot.tree.leaves]
    loads = []
    for payload in robot.payloads:
        x, y, z = payload.inertia.com.tolist()
        loads.append((payload.link, float(payload.inertia.mass), (x, y, z)))
    return TableTag(
        robot.name,
        robot.joint_names,
        tuple(rotary(robot)),
        robot.gravity_base,
        tuple(loads),
        frozen(np.array(tips).reshape(-1, 3)),
    )


Payloads = tuple[tuple[str, float, tuple[float, float, float]], ...]


def _same_payloads(one: Payloads, other: Payloads) -> bool:
    if [entry[0] for entry in one] != [entry[0] for entry in other]:
        return False
    return all(
        np.allclose([mass, *com], [their_mass, *their_com], rtol=1e-9, atol=1e-9)
        for (_, mass, com), (_, their_mass, their_com) in zip(one, other, strict=True)
    )


def _shown(payloads: Payloads) -> str:
    return ", ".join(f"{mass:g} kg on '{link}'" for link, mass, _ in payloads) or "none"


MAX_ENTRIES = 10_000_000
"""Most grid points of a table: 240 MB of moments."""
TABLE_ROWS = 16_384


@dataclass(frozen=True, eq=False)
class LinearTable:
    """A gravity wrench generator from a grid.

    Attributes:
        tag: What the table belongs to.
        force: Weight on the plate [N], on the robot, base axes, shape (3,).
        joints: The d joints that the moment depends on.
        lower: First grid position of each [rad or m], shape (d,).
        step: Distance of its grid positions, shape (d,).
        moments: Moment at the base origin [N m], shape (k_1, …, k_d, 3).
    """

    tag: TableTag
    force: Array
    joints: tuple[int, ...]
    lower: Array
    step: Array
    moments: Array

    complete = True
    source = "model"

    @property
    def entries(self) -> int:
        """Number of grid points."""
        return int(np.prod(self.moments.shape[:-1]))

    def wrench(self, q: Array) -> Array:
        """Return w_g [N, N m] on the robot, base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).

        Raises:
            InputError: A joint is outside the table.
        """
        rows = np.atleast_2d(q)
        result = np.empty((len(rows), 6))
        result[:, :3] = self.force
        for first in range(0, len(rows), TABLE_ROWS):
            piece = slice(first, first + TABLE_ROWS)
            result[piece, 3:] = self._moments(rows[piece])
        return result if q.ndim == 2 else result[0]

    def covers(self, q: Array) -> npt.NDArray[np.bool_]:
        """Say which poses of shape (k, n) lie inside the table, shape (k,)."""
        return np.asarray(~self._outside(q).any(axis=1))

    def _outside(self, q: Array) -> npt.NDArray[np.bool_]:
        """Say which of the d joints are outside the table, shape (k, d)."""
        counts = np.array(self.moments.shape[:-1])
        place = (q[:, list(self.joints)] - self.lower) / self.step
        slack = 1e-9 * counts
        return np.asarray((place < -slack) | (place > counts - 1 + slack))

    def _moments(self, q: Array) -> Array:
        counts = np.array(self.moments.shape[:-1], dtype=np.intp)
        place = (q[:, list(self.joints)] - self.lower) / self.step
        outside = self._outside(q)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            joint = self.joints[column]
            raise InputError(
                f"q['{self.tag.joint_names[joint]}'] is {q[row, joint]:.6g}; the gravity table covers "
                f"{self.lower[column]:.6g} to {self.lower[column] + self.step[column] * (counts[column] - 1):.6g}"
            )
        cell = np.clip(np.floor(place).astype(np.intp), 0, counts - 2)
        share = np.clip(place - cell, 0.0, 1.0)
        strides = np.array([int(np.prod(counts[column + 1 :])) for column in range(len(counts))], dtype=np.intp)
        flat = self.moments.reshape(-1, 3)
        base = cell @ strides
        total = np.zeros((len(q), 3))
        for corner in product((0, 1), repeat=len(self.joints)):
            up = np.array(corner, dtype=np.intp)
            weight = np.prod(np.where(up == 1, share, 1.0 - share), axis=1)
            total += weight[:, None] * flat[base + up @ strides]
        return total

    @staticmethod
    def from_model(robot: Robot, spacing: npt.ArrayLike) -> LinearTable:
        """Tabulate a robot's gravity moment over its joint limits.

        Args:
            robot: The robot. A joint without limits is tabulated over ±π.
            spacing: Largest distance of grid positions [rad or m], one number or one per joint, shape (n,).

        Raises:
            InputError: The spacing is not positive, a linear joint has no limits, or the table would be too large.
            ModelError: There are no masses.
        """
        if not robot.tree.mass.any():
            raise ModelError(f"robot '{robot.name}' has no masses to build a gravity table from; measure static poses")
        steps = _spacings(robot, spacing)
        lower, upper = _ranges(robot)
        joints = _felt_joints(robot, lower, upper)
        counts = [max(2, int(np.ceil((upper[j] - lower[j]) / steps[j] - 1e-9)) + 1) for j in joints]
        entries = math.prod(counts)
        if entries > MAX_ENTRIES:
            raise InputError(
                f"a grid of {' × '.join(map(str, counts))} = {entries:.3g} entries exceeds {MAX_ENTRIES:g}; widen the "
                "spacing, or use kind='trigonometric', which is exact"
            )
        axes = [np.linspace(lower[j], upper[j], count) for j, count in zip(joints, counts, strict=True)]
        moments = np.empty((entries, 3))
        for first in range(0, entries, TABLE_ROWS):
            piece = np.arange(first, min(first + TABLE_ROWS, entries))
            places = np.unravel_index(piece, counts) if counts else ()
            q = np.tile(lower, (len(piece), 1))
            for j, axis, place in zip(joints, axes, places, strict=True):
                q[:, j] = axis[place]
            moments[first : first + len(q)] = robot.base_wrench(q)[:, 3:]
        return LinearTable(
            tag_of(robot),
            frozen(-robot.total_mass * robot.gravity_base),
            tuple(joints),
            frozen([lower[j] for j in joints]),
            frozen([(upper[j] - lower[j]) / (count - 1) for j, count in zip(joints, counts, strict=True)]),
            frozen(moments.reshape(*counts, 3)),
        )


def _spacings(robot: Robot, spacing: npt.ArrayLike) -> Array:
    try:
        given = np.asarray(spacing, dtype=np.float64)
        steps = np.broadcast_to(given, (robot.n,))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"spacing is {spacing!r}; expected one positive number, or one for each joint") from error
    if not (np.isfinite(steps).all() and (steps > 0.0).all()):
        raise InputError(f"spacing is {given.tolist()}; expected positive numbers [rad or m]")
    return steps


def _ranges(robot: Robot) -> tuple[Array, Array]:
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for joint, turns in enumerate(rotary(robot)):
        if np.isfinite(lower[joint]) and np.isfinite(upper[joint]):
            continue
        if not turns:
            raise InputError(f"joint '{robot.joint_names[joint]}' slides without limits; a linear table needs them")
        lower[joint], upper[joint] = -np.pi, np.pi
    return lower, upper


def _felt_joints(robot: Robot, lower: Array, upper: Array) -> list[int]:
    """Return the joints that move the gravity moment at all: a grid over the others would be memory for nothing."""
    random = np.random.default_rng(0)
    poses = random.uniform(lower, upper, (64, robot.n))
    still = robot.base_wrench(poses)
    felt = []
    for joint in range(robot.n):
        moved = poses.copy()
        moved[:, joint] = random.uniform(lower[joint], upper[joint], len(poses))
        if np.abs(robot.base_wrench(moved) - still).max() > 1e-12 * max(1.0, float(np.abs(still).max())):
            felt.append(joint)
    return felt


Monomial = tuple[tuple[int, int], ...]
"""Factors (joint, function) along a branch, each joint at most once; () is the constant."""
COS, SIN, POSITION = 1, 2, 1
"""Functions of a factor: cos q and sin q of a rotary joint, q of a linear one."""
ZERO_SHARE = 1e-13
"""A coefficient below this share of the largest counts as structurally zero: right angles in files have 16 digits."""
BATCH_ROWS = 4096


def gravity_moment_terms(tree: Tree, mass: Array, first_moment: Array) -> dict[Monomial, Array]:
    """Return the position-dependent coefficients of the gravity moment on the robot, each of shape (3,) [N m].

    Args:
        tree: The robot's geometry and gravity.
        mass: Masses of the b bodies [kg], shape (b,).
        first_moment: Their first moments in their body frames [kg m], shape (b, 3).

    Raises:
        ModelError: A joint mimics another.
    """
    refuse_mimics(tree, "the terms of a trigonometric table")
    carried = np.array(mass, dtype=np.float64)
    inner: dict[int, dict[Monomial, Array]] = {body: {(): first_moment[body]} for body in range(tree.bodies)}
    inner[BASE] = {}
    scale = float(np.abs(first_moment).max(initial=0.0) + mass.sum() * np.abs(tree.origin).max(initial=0.0))
    for body in reversed(range(tree.bodies)):
        C, joint, target = tree.rotation[body], int(tree.q_index[body]), inner[int(tree.parent[body])]
        rotary = tree.kind[body] == REVOLUTE
        _add(target, (), carried[body] * tree.origin[body])
        if not rotary:
            _add(target, ((joint, POSITION),), carried[body] * C[:, 2])
        for monomial, (x, y, z) in inner.pop(body).items():
            if rotary:
                _add(target, monomial, C @ [0.0, 0.0, z])
                _add(target, ((joint, COS), *monomial), C @ [x, y, 0.0])
                _add(target, ((joint, SIN), *monomial), C @ [-y, x, 0.0])
            else:
                _add(target, monomial, C @ [x, y, z])
        for monomial in [key for key, value in target.items() if np.abs(value).max() <= ZERO_SHARE * scale]:
            del target[monomial]
        if tree.parent[body] != BASE:
            carried[tree.parent[body]] += carried[body]
    strength = float(np.abs(tree.gravity_base).max(initial=0.0))
    moments = {key: np.cross(tree.gravity_base, value) for key, value in inner[BASE].items() if key}
    return {
        key: value
        for key, value in sorted(moments.items(), key=lambda item: (len(item[0]), item[0]))
        if np.abs(value).max() > ZERO_SHARE * scale * strength
    }


def generic_terms(tree: Tree) -> tuple[Monomial, ...]:
    """Return every product that some masses on this kinematics and mounting can give.

    Found with masses in general position: no coefficient cancels by chance.
    """
    numbers = np.sqrt(np.arange(2.0, 2.0 + 4 * tree.bodies)).reshape(-1, 4)
    return tuple(gravity_moment_terms(tree, 1.0 + numbers[:, 0], np.sin(40.0 * numbers[:, 1:])))


def _add(polynomial: dict[Monomial, Array], monomial: Monomial, value: Array) -> None:
    polynomial[monomial] = polynomial[monomial] + value if monomial in polynomial else value


@dataclass(frozen=True, eq=False)
class Products:
    """Evaluates the products of a trigonometric form.

    Attributes:
        terms: The products, T of them.
        rotary: Which joints turn, shape (n,).
    """

    terms: tuple[Monomial, ...]
    rotary: tuple[bool, ...]

    @cached_property
    def _levels(self) -> tuple[list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]], npt.NDArray[np.intp]]:
        """The prefix tree of the terms.

        Level by level (place of the shorter product, its new factor); then where each term ends up.
        """
        place: dict[Monomial, int] = {(): 0}
        needed = {term[:length] for term in self.terms for length in range(1, len(term) + 1)}
        levels = []
        for length in range(1, max((len(term) for term in self.terms), default=0) + 1):
            level = sorted(term for term in needed if len(term) == length)
            parents = np.array([place[term[:-1]] for term in level], dtype=np.intp)
            factors = np.array([3 * term[-1][0] + term[-1][1] for term in level], dtype=np.intp)
            place |= {term: len(place) + index for index, term in enumerate(level)}
            levels.append((parents, factors))
        return levels, np.array([place[term] for term in self.terms], dtype=np.intp)

    def values(self, q: Array) -> Array:
        """Return the products at joint positions of shape (k, n), shape (k, T)."""
        levels, wanted = self._levels
        turns = np.array(self.rotary)
        functions = np.empty((len(q), len(self.rotary), 3))
        functions[:, :, 0] = 1.0
        functions[:, :, 1] = np.where(turns, np.cos(q), q)
        functions[:, :, 2] = np.sin(q)
        factors_of = functions.reshape(len(q), -1)
        grown = [np.ones((len(q), 1))]
        products = grown[0]
        for parents, factors in levels:
            grown.append(products[:, parents] * factors_of[:, factors])
            products = np.concatenate(grown, axis=1)
        chosen: Array = products[:, wanted]
        return chosen

    def combined(self, q: Array, coefficients: Array) -> Array:
        """Return values(q) @ coefficients, shape (k, 3), in pieces that fit the cache."""
        result = np.empty((len(q), coefficients.shape[1]))
        for first in range(0, len(q), BATCH_ROWS):
            rows = slice(first, first + BATCH_ROWS)
            result[rows] = self.values(q[rows]) @ coefficients
        return result


def term_name(term: Monomial, joint_names: Sequence[str], rotary: Sequence[bool]) -> str:
    """Return a term in words, e.g. "cos joint2 · sin joint3"."""
    words = {True: {COS: "cos ", SIN: "sin "}, False: {POSITION: ""}}
    return " · ".join(words[rotary[joint]][function] + joint_names[joint] for joint, function in term)


def coefficients_of(terms: Mapping[Monomial, Array]) -> Array:
    """Return the coefficients in the order of the terms, shape (T, 3)."""
    return np.array(list(terms.values())).reshape(-1, 3)


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
    source: Literal["model", "measured"] = "model"
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
