"""Which combinations of masses the data determine, in the user's link names, and which they do not.

Two things hide a number. The mechanism: on a given mounting only some combinations of masses and first moments change
any torque, the structural base (``robot.base_parameters``); each of its members is a sum such as
"forearm.mx + 0.55·hand.m", and no data will ever split it. And the recording: joints that hardly moved leave even such
sums open.

The second is judged on the data's own information matrix I, prior left out, against a yardstick E: the information that
one measurement gives on average over the whole workspace (:func:`workspace_yardstick`), or that a prior gives. With
I v = λ E v, the data know the direction v as well as λ such measurements would: its error in a predicted torque is, on
average, σ_i/√λ. A direction counts as determined when λ ≥ THRESHOLD. With a threshold of 1 the model's error anywhere
is below the noise of a single measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics import GRAVITY_PARAMETERS, INERTIAL_PARAMETERS, Robot, rotary
from ..errors import InputError
from ..foundation import Array, frozen
from .regression import Solution
from .term import term_of_quantity

THRESHOLD = 1.0
"""Information of a determined direction, in average measurements."""
READABLE = 5e-3
"""A term is left out of a combination's text where its share is below this; the numbers keep it."""
NEGLIGIBLE = 1e-9
"""A link parameter's share in a number, below which it is rounding."""

Expansion = Mapping[str, Mapping[str, float]]
"""What a column stands for: per column name, the coefficients of named physical parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """A linear combination of unknowns that the data determine.

    Attributes:
        text: Readable, in link names, e.g. "forearm.mx + 0.55·hand.m".
        unit: Its unit, e.g. "kg m".
        value: Its estimate.
        std: Standard error of the estimate from the data alone.
        information: How well it is known, in average measurements, ≥ THRESHOLD.
        coefficients: Of the p columns, shape (p,).
    """

    text: str
    unit: str
    value: float
    std: float
    information: float
    coefficients: Array


@dataclass(frozen=True, slots=True, eq=False)
class Identifiability:
    """What a recording can tell.

    Attributes:
        determined: Independent combinations, one per determined direction.
        undetermined: Numbers that cannot be told on their own, in link names: they appear in sums only, or nowhere.
        eigenvalues: λ in falling order, shape (p,).
        never_felt: Physical parameters that no joint torque can reveal on this mounting, whatever the recording.
    """

    determined: tuple[Combination, ...]
    undetermined: tuple[str, ...]
    eigenvalues: Array
    never_felt: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every unknown is determined."""
        return not self.undetermined

    def summary(self) -> str:
        """Return one line per determined combination and one for what is missing."""
        lines = [f"{each.text} = {each.value:.4g} ± {each.std:.2g} {each.unit}" for each in self.determined]
        if self.undetermined:
            lines.append(f"not determined by these data: {', '.join(self.undetermined)}")
        if self.never_felt:
            lines.append(f"never felt by a joint torque on this mounting: {', '.join(self.never_felt)}")
        return "\n".join(lines)


def workspace_yardstick(rows: Array, sigma: Array) -> Array:
    """Return the mean information of one measured sample, shape (p, p).

    Args:
        rows: Rows of the model at samples spread over the workspace, shape (k, n, p).
        sigma: Noise of one sample per joint [N m or N], shape (n,); a joint with NaN is left out.
    """
    known = np.isfinite(sigma)
    weighted = (rows[:, known] / sigma[known][:, None]).reshape(-1, rows.shape[2])
    return np.asarray(weighted.T @ weighted / len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A fit's estimate and information, put into the numbers that a result may speak of.

    Attributes:
        names: Names of the p numbers.
        x: Their estimates, shape (p,).
        information: The data's own, shape (p, p).
        units: Their units.
        expansion: What each number stands for, in link names; one that is missing stands for itself.
        never_felt: Physical parameters that no torque reveals.
    """

    names: tuple[str, ...]
    x: Array
    information: Array
    units: tuple[str, ...]
    expansion: Expansion
    never_felt: tuple[str, ...] = ()


def base_language(robot: Robot, solution: Solution) -> Language:
    """Put a fit of gravity parameters into the structural base.

    Args:
        robot: The robot that was fitted.
        solution: A fit whose first columns are ``robot.base_parameters.names``.

    Raises:
        InputError: They are others.
    """
    base, names = robot.base_parameters, solution.column_names
    if names[: len(base.names)] != base.names:
        raise InputError(f"the fit's columns begin with '{names[0]}'; expected the base parameters of '{robot.name}'")
    expansion, never_felt = link_expansion(robot, base.names, base.regrouping)
    return Language(
        names=names,
        x=solution.x,
        information=solution.information,
        units=tuple(column_unit(robot, name) for name in names),
        expansion=expansion,
        never_felt=never_felt,
    )


def link_expansion(robot: Robot, names: Sequence[str], regrouping: Array) -> tuple[Expansion, tuple[str, ...]]:
    """Return what numbers stand for in link words, and the link parameters that none of them holds.

    Args:
        robot: The robot.
        names: Names of the p numbers.
        regrouping: G with numbers = G φ, shape (p, 4 b) for gravity parameters φ or (p, 10 b) for all inertial ones.
    """
    every = regrouping.shape[1] == len(INERTIAL_PARAMETERS) * robot.tree.bodies
    parameters = link_parameter_names(robot, INERTIAL_PARAMETERS if every else GRAVITY_PARAMETERS)
    felt = np.abs(regrouping) > NEGLIGIBLE
    expansion = {
        name: {parameters[at]: float(row[at]) for at in np.flatnonzero(seen)}
        for name, row, seen in zip(names, regrouping, felt, strict=True)
    }
    silent = np.flatnonzero(~felt.any(axis=0))
    return expansion, tuple(parameters[at] for at in silent)


def link_parameter_names(robot: Robot, labels: Sequence[str] = GRAVITY_PARAMETERS) -> tuple[str, ...]:
    """Return the moving bodies' parameters by link, e.g. "forearm.mx", body by body."""
    child = {joint.name: joint.child for joint in robot.description.joints}
    return tuple(f"{child[body]}.{label}" for body in robot.tree.body_names for label in labels)


def column_unit(robot: Robot, column: str) -> str:
    """Return the unit of a column "joint.quantity", as robot and terms name them; "" where the name says nothing."""
    joint, _, quantity = column.rpartition(".")
    term = term_of_quantity(quantity)
    turns = dict(zip(robot.joint_names, rotary(robot), strict=True)).get(joint, True)
    return "" if term is None else term.unit(quantity, turns=turns)


def identify(language: Language, yardstick: Array) -> Identifiability:
    """Sort the numbers of a fit into what the data determine and what not.

    Args:
        language: The fit.
        yardstick: E, shape (p, p): :func:`workspace_yardstick` of rows in the same language, or a prior's precision.
    """
    p = len(language.names)
    if yardstick.shape != (p, p):
        raise InputError(f"the yardstick has shape {yardstick.shape}; expected ({p}, {p})")
    # Units are taken out: each number is measured by its own part of the yardstick, or of the data where that has none.
    scale = np.sqrt(np.diag(yardstick))
    scale = np.where(scale > 0.0, scale, np.sqrt(np.diag(language.information)))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, functionals = _compared(language.information, yardstick, scale)
    seen = values >= THRESHOLD
    pivots = _pivots(functionals[seen])
    mixing = np.linalg.inv(functionals[seen][:, pivots])
    combined = mixing @ functionals[seen]  # a pivot with coefficient 1, and shares of numbers that are no pivots
    combined[np.abs(combined) < 1e-9] = 0.0
    variance = np.sum(mixing**2 / values[seen], axis=1)
    knowledge = np.sum(mixing**2, axis=1) / variance
    determined, alone = [], set()
    for index in np.argsort(pivots, kind="stable"):
        pivot = pivots[index]
        row = combined[index] * scale / scale[pivot]
        shown = np.abs(combined[index]) > READABLE
        if np.sum(shown) == 1:
            alone.add(pivot)
        determined.append(
            Combination(
                text=combination_text(np.where(shown, row, 0.0), language),
                unit=language.units[pivot],
                value=float(row @ language.x),
                std=float(np.sqrt(variance[index]) / scale[pivot]),
                information=float(knowledge[index]),
                coefficients=frozen(row),
            )
        )
    return Identifiability(
        determined=tuple(determined),
        undetermined=tuple(
            combination_text(one, language) for column, one in enumerate(np.eye(p)) if column not in alone
        ),
        eigenvalues=frozen(values),
        never_felt=language.never_felt,
    )


def _compared(information: Array, yardstick: Array, scale: Array) -> tuple[Array, Array]:
    """Solve I v = λ E v in scaled numbers.

    Returns:
        λ in falling order, shape (p,); and as rows the functionals of the scaled numbers whose variance is 1/λ, (p, p).
    """
    units = np.outer(scale, scale)
    # A little more than rounding, for what the yardstick itself does not see.
    lower = np.linalg.cholesky(yardstick / units + 1e-10 * np.eye(len(scale)))
    half = np.linalg.solve(lower, information / units)
    whitened = np.linalg.solve(lower, half.T)
    values, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
    return np.maximum(values[::-1], 0.0), np.asarray((lower @ vectors[:, ::-1]).T)


def _pivots(rows: Array) -> list[int]:
    """Choose as many well-conditioned columns as there are rows: the largest left, the first of equals."""
    left = rows.copy()
    chosen: list[int] = []
    for _ in range(len(rows)):
        sizes = np.linalg.norm(left, axis=0)
        sizes[chosen] = 0.0
        pivot = int(np.flatnonzero(sizes >= (1.0 - 1e-6) * sizes.max())[0])
        chosen.append(pivot)
        direction = left[:, pivot] / sizes[pivot]
        left = left - np.outer(direction, direction @ left)
    return chosen


def combination_text(row: Array, language: Language) -> str:
    """Write a combination in physical parameters, e.g. "forearm.mx + 0.55·hand.m − 0.1·hand.my"."""
    total: dict[str, float] = {}
    for name, coefficient in zip(language.names, row, strict=True):
        if coefficient != 0.0:
            for parameter, fraction in language.expansion.get(name, {name: 1.0}).items():
                total[parameter] = total.get(parameter, 0.0) + coefficient * fraction
    return sum_text(total)


def sum_text(shares: Mapping[str, float]) -> str:
    """Write a sum of named parameters, e.g. "forearm.mx + 0.55·hand.m"."""
    words: list[str] = []
    for parameter, fraction in shares.items():
        size = f"{abs(fraction):.3g}"
        if float(size) < 1e-6:
            continue
        sign = ("−" if fraction < 0.0 else "") if not words else (" − " if fraction < 0.0 else " + ")
        words.append(sign + (parameter if size == "1" else f"{size}·{parameter}"))
    return "".join(words)
