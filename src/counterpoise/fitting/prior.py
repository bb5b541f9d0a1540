"""What is known before any data: the CAD values, and how far a real arm may lie from them.

This is what "cad" means, wherever it is said: in fits, in on-line estimators, of payloads and of plates. Per body, with
CAD mass m, centre of mass c and reach L of the arm, three independent errors are allowed for:

- its density: all ten parameters scale by 1 ± MASS_SHARE,
- its centre of mass: c moves by COM_SHARE · L in each direction (first moment and inertia follow),
- its shape: each moment of inertia changes by m (2 · COM_SHARE · L)²;

and on each leaf **an unknown tool**: mass TOOL_MASS_SHARE of the mass that the arm carries to there, its centre of mass
TOOL_REACH_SHARE · L from the last joint's frame, with the inertia that follows. A tool that is not in the description
is the largest error that real recordings show. The covariance is what these errors give, so it does not depend on where
a description puts its frames.

Unknowns other than masses have their prior from their terms (``terms``). Most have no CAD values. They get standard
deviations of WIDE times what would make up a joint's whole effort, which keep them at zero where nothing excites them
and do not matter elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ..dynamics import TENSOR_COLUMNS, TENSOR_ROWS, Robot, ancestors
from ..errors import InputError
from ..foundation import Array, frozen
from .effort_model import EffortModel
from .term import WIDE, Scales


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """What is known of x beforehand: W (x − mean) has independent entries of standard deviation 1.

    Attributes:
        mean: x₀, in the units of the columns, shape (p,).
        root: W, shape (m, p); a column of zeros stands for a number of which nothing is known beforehand.
    """

    mean: Array
    root: Array

    def __post_init__(self) -> None:
        """Freeze the arrays; refuse shapes that do not fit and entries that are no numbers."""
        object.__setattr__(self, "mean", frozen(self.mean))
        object.__setattr__(self, "root", frozen(self.root))
        if self.mean.ndim != 1 or self.root.ndim != 2 or self.root.shape[1] != len(self.mean):
            raise InputError(
                f"the prior's mean has shape {self.mean.shape} and its root {self.root.shape}; expected (p,) and (m, p)"
            )
        if not (np.isfinite(self.mean).all() and np.isfinite(self.root).all()):
            raise InputError("the prior's mean or root has NaN or infinite entries; leave out what is not known")

    @classmethod
    def from_covariance(cls, mean: npt.ArrayLike, covariance: npt.ArrayLike) -> Self:
        """Make a prior from a positive definite covariance matrix.

        Args:
            mean: x₀, shape (p,).
            covariance: Shape (p, p). A row and column whose diagonal is infinite stand for an entry of which nothing is
                known beforehand.
        """
        center, spread = np.array(mean, dtype=np.float64), np.array(covariance, dtype=np.float64)
        if spread.shape != (len(center), len(center)):
            raise InputError(f"the covariance has shape {spread.shape}; expected ({len(center)}, {len(center)})")
        known = np.flatnonzero(np.isfinite(np.diag(spread)))
        size = np.sqrt(np.abs(np.diag(spread)[known]))
        size[size == 0.0] = 1.0
        try:
            factor = np.linalg.cholesky(spread[np.ix_(known, known)] / np.outer(size, size))
        except np.linalg.LinAlgError as error:
            raise InputError("the prior's covariance is not positive definite; drop a column that is known") from error
        root = np.zeros((len(known), len(center)))
        root[:, known] = np.linalg.inv(factor) / size
        return cls(center, root)


MASS_SHARE = 0.1
COM_SHARE = 0.02
TOOL_MASS_SHARE = 0.1
TOOL_REACH_SHARE = 0.1
LEAST_REACH = 0.1
"""Reach of an arm whose joints all lie at one point [m]."""
LEAST_BODY_SHARE = 0.02
"""Least mass that a body is taken to have for its uncertainty, as a share of the moving mass: descriptions leave small
links without any."""
COMMON = 0.3
"""Relative standard deviation of a factor that all masses share."""


@dataclass(frozen=True, slots=True)
class CadPrior:
    """A prior towards the description's own masses.

    Attributes:
        weight: How well the description is trusted, without unit: 1 for the standard deviations above, 4 for half as
            wide ones (of the tool as above); None to average over many (posterior_search.py).
        source: Where the values come from, for the report; "" for the description's name.
    """

    weight: float | None = None
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse a weight that means nothing."""
        if self.weight is not None and not (np.isfinite(self.weight) and self.weight > 0.0):
            raise InputError(f"a prior's weight is {self.weight!r}; expected a positive number, or prior=None")

    def named(self, robot: Robot) -> str:
        """Return what the prior is, in words."""
        return self.source or f"CAD values of {robot.name}"


def arm_reach(robot: Robot) -> float:
    """Return the length of the longest chain of joints [m], linear joints at their middle."""
    tree = robot.tree
    if tree.bodies == 0:
        return 0.0
    lengths = np.linalg.norm(tree.origin, axis=1)
    return float(max(sum(lengths[i] for i in ancestors(tree, body)) for body in range(tree.bodies)))


def body_covariance(robot: Robot, weight: float = 1.0, *, tool: bool = True) -> Array:
    """Return the covariance of every body's ten parameters about their CAD values, shape (b, 10, 10).

    Args:
        robot: The description.
        weight: How well the description is trusted: its errors' variances are divided by it. A tool is no error of
            the description, so its variance stays.
        tool: Whether the last links may carry a tool that the description does not know.

    Raises:
        InputError: The description has no masses, or no extent.
    """
    tree = robot.tree
    moving = float(tree.mass.sum())
    reach = arm_reach(robot)
    if not moving > 0.0:
        raise InputError(
            f"robot '{robot.name}' has no masses that a prior could start from; give a description with masses, or "
            "prior=None"
        )
    if not reach > 0.0:
        reach = float(np.max(np.linalg.norm(tree.first_moment, axis=1) / np.maximum(tree.mass, 1e-12)))
    parameters = robot.inertial_parameters[10:].reshape(-1, 10)
    found = np.empty((tree.bodies, 10, 10))
    for body in range(tree.bodies):
        mass = max(float(tree.mass[body]), LEAST_BODY_SHARE * moving)
        directions = _own_errors(parameters[body], mass, COM_SHARE * reach) / np.sqrt(weight)
        if tool and body not in tree.parent:
            path = ancestors(tree, body)
            carried = TOOL_MASS_SHARE * float(tree.mass[path].sum())
            away = TOOL_REACH_SHARE * reach
            sizes = [carried, *[carried * away] * 3, *[carried * away**2] * 6]
            directions = np.vstack([directions, np.diag(sizes)])
        found[body] = directions.T @ directions
    return found


def parameter_covariance(robot: Robot, size: int = 4, weight: float = 1.0, *, tool: bool = True) -> Array:
    """Return :func:`body_covariance` as one matrix, shape (size b, size b).

    Args:
        robot: The description.
        size: 4 for the gravity parameters of each body, 10 for all.
        weight: How well the description is trusted.
        tool: Whether the last links may carry a tool that the description does not know.
    """
    blocks = body_covariance(robot, weight, tool=tool)[:, :size, :size]
    covariance = np.zeros((len(blocks), size, len(blocks), size))
    for body, block in enumerate(blocks):
        covariance[body, :, body] = block
    return covariance.reshape(len(blocks) * size, len(blocks) * size)


def inertial_root(robot: Robot) -> Array:
    """Return L with L Lᵀ the covariance of every body's ten parameters, without an unknown tool, shape (10 b, 10 b).

    Raises:
        InputError: The description has no masses.
    """
    return np.asarray(np.linalg.cholesky(parameter_covariance(robot, 10, tool=False)), dtype=np.float64)


def whole_covariance(robot: Robot, *, tool: bool = True) -> Array:
    """Return the covariance of [m, mx, my, mz] of the base and of every body, base first, shape (4 (b + 1), 4 (b + 1)).

    Args:
        robot: The description.
        tool: Whether the last links may carry a tool that the description does not know.

    Raises:
        InputError: The description has no masses.
    """
    tree = robot.tree
    covariance = np.zeros((4 + 4 * tree.bodies, 4 + 4 * tree.bodies))
    covariance[4:, 4:] = parameter_covariance(robot, tool=tool)
    base = np.array([tree.base_mass, *tree.base_first_moment])
    mass = max(float(tree.base_mass), LEAST_BODY_SHARE * float(tree.mass.sum()))
    shift = COM_SHARE * arm_reach(robot) * mass
    covariance[:4, :4] = MASS_SHARE**2 * np.outer(base, base) + np.diag([(1e-3 * mass) ** 2, *[shift**2] * 3])
    return covariance


def prior_of(model: EffortModel, weight: float, scales: Scales, mean: Array) -> Gaussian:
    """Return the prior of a fit's unknowns.

    Args:
        model: The unknowns.
        weight: The prior's weight; see CadPrior.
        scales: Sizes of what was measured.
        mean: Where the unknowns start, shape (p,): :meth:`.EffortModel.start`, gains at their first guess.
    """
    root = np.zeros((len(mean), len(mean)))
    _fill_bodies(root, model, weight)
    for term, deviations in drive_deviations(model, scales, mean).items():
        group = model.groups[term]
        root[np.arange(group.start, group.stop), np.arange(group.start, group.stop)] = 1.0 / deviations
    known = np.any(root != 0.0, axis=1)
    return Gaussian(mean, root[known])


def drive_deviations(model: EffortModel, scales: Scales, mean: Array) -> dict[str, Array]:
    """Return how far the unknowns besides the bodies may lie from their start, by term, one standard deviation.

    Args:
        model: The unknowns.
        scales: Sizes of what was measured.
        mean: Where the unknowns start, shape (p,).
    """
    others = [term for term in model.terms.chosen if term.name != "bodies"]
    return {term.name: term.deviations(model, scales, mean[model.groups[term.name]]) for term in others}


def body_root(model: EffortModel, weight: float | None, scales: Scales) -> Array:
    """Return L with L Lᵀ the covariance of the bodies' parameters about the description's, shape (·, ·).

    Besides the errors of single bodies all of them may be off by one factor: COMMON, less where the description is
    trusted more.

    Args:
        model: The unknowns.
        weight: How well the description is trusted; None not at all.
        scales: Sizes of what was measured.
    """
    robot, chosen = model.robot, model.body_parameters
    if weight is None:
        return np.diag(_body_sizes(model, scales))
    values = model.cad_parameters[chosen]
    covariance = parameter_covariance(robot, model.body_size, weight)[np.ix_(chosen, chosen)]
    # A factor that all masses share is one of all gains, where these are fitted.
    if not any(term.scales_efforts for term in model.terms.chosen):
        covariance += COMMON**2 / max(weight, 1.0) * np.outer(values, values)
    return covariance_root(covariance)


def covariance_root(covariance: Array) -> Array:
    """Return a lower triangular L with L Lᵀ a covariance, to rounding, shape (p, p)."""
    spread = np.sqrt(np.diag(covariance))
    spread[spread == 0.0] = 1.0
    scaled = covariance / np.outer(spread, spread)
    try:
        factor = np.linalg.cholesky(scaled + 1e-14 * np.eye(len(scaled)))
    except np.linalg.LinAlgError:  # rounding has made it indefinite
        values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
        half = vectors * np.sqrt(np.maximum(values, 1e-12 * values[-1]))
        factor = np.linalg.qr(half.T)[1].T
    return np.asarray(spread[:, None] * factor)


def bounds_of(model: EffortModel, scales: Scales, mean: Array) -> Gaussian:
    """Return what keeps bodies of a size that can be where there is no prior and the data do not determine them.

    A body's mass is one whose weight at the arm's whole reach would be the largest effort, or the moving mass of the
    description, and WIDE times that is its standard deviation; moments and inertias follow with the reach. Where data
    tell a number they outweigh this by far; elsewhere it stays near its start instead of following the last digits.

    Args:
        model: The unknowns.
        scales: Sizes of what was measured.
        mean: Where the unknowns start, shape (p,).
    """
    group = model.groups["bodies"]
    root = np.zeros((group.stop - group.start, len(mean)))
    root[:, group] = np.diag(1.0 / _body_sizes(model, scales))
    return Gaussian(mean, root)


def _body_sizes(model: EffortModel, scales: Scales) -> Array:
    """Return how large the bodies' parameters may be at most, shape (·,); see :func:`bounds_of`."""
    robot = model.robot
    reach = max(arm_reach(robot), LEAST_REACH)
    effort = float(np.nanmax(np.where(np.isfinite(scales.effort), scales.effort, 0.0), initial=0.0))
    gravity = max(float(np.linalg.norm(robot.gravity_world)), 1.0)
    mass = WIDE * max(float(robot.tree.mass.sum()), effort / (gravity * reach), 1e-3)
    sizes = mass * np.array([1.0, *[reach] * 3, *[reach**2] * 6])[: model.body_size]
    return np.asarray(np.tile(sizes, len(model.body_parameters) // len(sizes)))


def _fill_bodies(root: Array, model: EffortModel, weight: float) -> None:
    size = model.body_size
    covariance = body_covariance(model.robot, weight)[:, :size, :size]
    bodies = model.body_parameters[::size] // size
    start = model.groups["bodies"].start
    for place, body in enumerate(bodies):
        at = slice(start + size * place, start + size * (place + 1))
        root[at, at] = Gaussian.from_covariance(np.zeros(size), covariance[body]).root


def _own_errors(parameters: Array, mass: float, shift: float) -> Array:
    """Return one row per independent error of a body: density, centre of mass (3), shape (6), shape (10, 10)."""
    rows = np.zeros((10, 10))
    own = float(parameters[0])
    rows[0] = MASS_SHARE * (parameters * (mass / own) if own > 0.0 else np.eye(10)[0] * mass)
    com = parameters[1:4] / own if own > 0.0 else np.zeros(3)
    for axis in range(3):
        step = shift * np.eye(3)[axis]
        # I about the origin is I_com + m (c·c 1 − c cᵀ).
        change = mass * (2.0 * (com @ step) * np.eye(3) - np.outer(com, step) - np.outer(step, com))
        rows[1 + axis, 1 + axis] = mass * shift
        rows[1 + axis, 4:] = change[TENSOR_ROWS, TENSOR_COLUMNS]
    rows[4:, 4:] = np.eye(6) * mass * (2.0 * shift) ** 2
    return rows
