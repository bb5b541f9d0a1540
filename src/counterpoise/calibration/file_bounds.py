"""What the numbers of a calibration file can be: a checksum does not tell whether they are possible.

Bounds are generous multiples of what an arm of this size can have; beyond them a number is a slip of a tool, a wrong
unit or malice, and must not become a torque. They grow with the described masses and lengths. A calibration in command
units has other units for the same things, and COMMAND_SCALE as much room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..errors import InputError
from .columns import EffortColumns
from .estimate import COMMAND_UNITS
from .file_schema import ContentTable, Number
from .prior import arm_reach

MOST_MASS = 1000.0
"""Largest mass of a body [kg], or MASS_FACTOR times the described moving mass where that is more."""
MASS_FACTOR = 100.0
MOST_LENGTH = 5.0
"""Farthest that a mass can lie from its joint [m], or LENGTH_FACTOR times the arm's reach."""
LENGTH_FACTOR = 3.0
LEAST_GRAVITY = 9.81
"""Torques are bounded for at least this gravity [m/s²]; a model in free fall has friction too."""
COMMAND_SCALE = 1e6
"""Command units that may stand for one N m."""
MOST_SPEED_SHARE = 100.0
"""Viscous friction, as torque at 1/MOST_SPEED_SHARE rad/s."""
MOST_DEVIATION = 1e3
"""Deviation of a value, over the largest that it may be: data without a prior leave much open."""
MOST_GAIN = 1e3
"""A torque gain lies between this and its inverse."""
MOST_COUPLING = 1e4
MOST_POSITION = 1e6
"""Joint positions [rad or m]: many turns of a wheel."""
MOST = 1e15
"""Any other number: parameters, variances, stiffnesses ..."""
MOST_INFORMATION = 1e300
"""... and information, which is large where noise is small."""
NEGATIVE = 1e-6
"""Share of a covariance's largest eigenvalue, scaled to correlations, by which rounding makes others negative."""


@dataclass(frozen=True, slots=True)
class FileBounds:
    """Bounds for one robot.

    Attributes:
        mass: Of a body [kg].
        length: [m].
        torque: [N m or N].
        scale: How much larger numbers in the unit of the efforts may be.
    """

    mass: float
    length: float
    torque: float
    scale: float

    @staticmethod
    def of(robot: Robot, units: str) -> FileBounds:
        """Return the bounds for a robot and the unit of the efforts."""
        mass = max(MOST_MASS, MASS_FACTOR * float(np.abs(robot.tree.mass).sum()))
        length = max(MOST_LENGTH, LENGTH_FACTOR * arm_reach(robot))
        gravity = max(LEAST_GRAVITY, float(np.linalg.norm(robot.gravity_base)))
        scale = COMMAND_SCALE if units == COMMAND_UNITS else 1.0
        return FileBounds(mass, length, mass * length * gravity, scale)

    @property
    def body(self) -> Array:
        """Of a body's ten parameters: mass, three first moments, six of the inertia, shape (10,)."""
        own = [self.mass, *[self.mass * self.length] * 3, *[self.mass * self.length**2] * 6]
        return self.scale * np.array(own)

    def term(self, kind: str) -> float:
        """Of a fitted term, e.g. "coulomb"."""
        torque = self.scale * self.torque
        return {
            "viscous": MOST_SPEED_SHARE * torque,
            "rotor": self.scale * self.mass * self.length**2,
            "gain": MOST_GAIN,
            "zero": MOST_LENGTH,  # rad or m
            "tilt": np.pi,
        }.get(kind, torque)


def refuse_impossible(content: ContentTable, columns: EffortColumns) -> None:
    """Refuse numbers that no calibration of the robot has.

    Args:
        content: What the file says; its lengths fit the robot.
        columns: The model that it states.

    Raises:
        InputError: A number lies beyond its bound; the message names its field.
    """
    bounds = FileBounds.of(columns.robot, content.units)
    model = content.model
    for name, values in (("model.bodies", model.bodies), ("model.payload", model.payload)):
        _within(name, values, np.tile(bounds.body, len(values) // 10 + 1)[: len(values)])
    most = _value_bounds(columns, bounds)
    _within("model.values", model.values, most, columns.names)
    for index, row in enumerate(model.root):
        _within(f"model.root[{index}]", row, MOST_DEVIATION * most[index])
    gains = np.array(model.values)[columns.groups["gain"]]
    if np.any(gains < 1.0 / MOST_GAIN):
        raise InputError(f"model.values holds a torque gain of {gains.min():g}; expected {1.0 / MOST_GAIN:g} or more")
    for index, row in enumerate(model.coupling):
        _within(f"model.coupling[{index}]", row, MOST_COUPLING)
    _check_parameters(content)
    _check_covariance(content.covariance)
    _check_errors(content, bounds)


def _value_bounds(columns: EffortColumns, bounds: FileBounds) -> Array:
    most = np.empty(len(columns.names))
    for kind, place in columns.groups.items():
        if kind == "bodies":
            size = 4 if columns.terms.bodies == "gravity" else 10
            most[place] = bounds.body[columns.body_parameters % size]
        else:
            most[place] = bounds.term(kind)
    return most


def _check_parameters(content: ContentTable) -> None:
    for index, one in enumerate(content.parameters):
        where = f"parameters[{index}]"
        _within(f"{where}.value", [one.value], MOST)
        _within(f"{where}.described", [one.described], MOST)
        _within(f"{where}.std", [one.std], MOST, least=0.0)
    for index, found in enumerate(content.identifiable.determined):
        where = f"identifiable.determined[{index}]"
        _within(f"{where}.value", [found.value], MOST)
        _within(f"{where}.std", [found.std], MOST, least=0.0)
        _within(f"{where}.information", [found.information], MOST_INFORMATION, least=0.0)
        _within(f"{where}.coefficients", found.coefficients, MOST)
    _within("identifiable.eigenvalues", content.identifiable.eigenvalues, MOST_INFORMATION)


def _check_covariance(rows: Sequence[Sequence[float]]) -> None:
    """Refuse what is no covariance: not symmetric, or with a negative variance along some direction."""
    for index, row in enumerate(rows):
        _within(f"covariance[{index}]", row, MOST)
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), len(rows))
    variance = np.diag(matrix)
    if np.any(variance < 0.0):
        at = int(np.argmin(variance))
        raise InputError(f"covariance[{at}][{at}] is {variance[at]:g}; a variance is 0 or more")
    std = np.sqrt(variance)
    scale = np.where(std > 0.0, std, 1.0)
    correlation = matrix / scale[:, None] / scale[None, :]
    if not np.abs(correlation - correlation.T).max(initial=0.0) <= NEGATIVE:
        raise InputError("covariance is not symmetric")
    if len(matrix) and float(np.linalg.eigvalsh(correlation)[0]) < -NEGATIVE * max(1.0, len(matrix)):
        raise InputError("covariance is not positive semidefinite: no errors vary together like that")


def _check_errors(content: ContentTable, bounds: FileBounds) -> None:
    errors, data = content.errors, content.data
    for name in ("fitted", "heldout", "described", "signal", "gravity", "gravity_size", "tolerated", "friction_band"):
        _within(f"errors.{name}", getattr(errors, name), bounds.scale * bounds.torque, least=0.0)
    _within("errors.sag", errors.sag, MOST, least=0.0)
    _within("errors.sag_total", [errors.sag_total], MOST, least=0.0)
    _within("errors.sag_largest", [errors.sag_largest], MOST, least=0.0)
    _within("errors.stiffness", errors.stiffness, MOST, least=0.0)
    _within("data.lower", data.lower, MOST_POSITION)
    _within("data.upper", data.upper, MOST_POSITION)
    for index, (lower, upper) in enumerate(zip(data.lower, data.upper, strict=True)):
        if lower > upper:
            raise InputError(f"data.lower[{index}] is {lower:g}, above data.upper[{index}], {upper:g}")
    _within("data.samples", [data.samples], MOST, least=0.0)
    _within("data.novelty", data.novelty, MOST)
    for index, statement in enumerate(content.statements):
        _within(f"statements[{index}].value", [statement.value], MOST)
    for index, check in enumerate(content.verdict):
        _within(f"verdict[{index}].value", [check.value], MOST)
        _within(f"verdict[{index}].limit", [check.limit], MOST)
    if not content.verdict:
        raise InputError("verdict holds no check, so nothing says that the fit may be trusted")


def _within(
    name: str,
    values: Iterable[Number],
    most: float | Array,
    names: Sequence[str] = (),
    *,
    least: float | None = None,
) -> None:
    """Refuse a number beyond ±most, or below ``least``; null says nothing."""
    given = np.array([0.0 if value is None else _as_float(value) for value in values])
    lower = -np.asarray(most) if least is None else np.full(given.shape, least)
    bad = np.flatnonzero(~((given <= most) & (given >= lower)))  # NaN too
    if len(bad):
        at = int(bad[0])
        low, high = (float(np.broadcast_to(bound, given.shape)[at]) for bound in (lower, np.asarray(most)))
        label = f" ({names[at]})" if names else ""
        place = f"[{at}]" if len(given) > 1 else ""
        raise InputError(f"{name}{place}{label} is {given[at]:g}; expected {low:g} to {high:g}")


def _as_float(value: float) -> float:
    """Return a number as a float; a whole number too long for one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
