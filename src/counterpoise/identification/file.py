"""The calibration file: a fit that outlives the program, and that no other robot can be given by mistake.

Its content is the fit's record (fit.py), a status that says whether it is trusted, and the model of which robot and
numbers are made again. The file of a fit that is not trusted says so in its name, too.

A checksum does not tell whether numbers are possible. Bounds are generous multiples of what an arm of this size can
have; beyond them a number is a slip of a tool, a wrong unit or malice, and must not become a torque. They grow with the
described masses and lengths. A calibration in command units has other units for the same things, and COMMAND_SCALE as
much room.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import DataFileError, InputError
from ..fitting import (
    MOST_GAIN,
    ArmLimits,
    EffortModel,
    EffortTerm,
    Selection,
    Terms,
    arm_reach,
    covariance_root,
    marked,
    payload_parameters,
    with_inertial_parameters,
)
from ..foundation import Array, frozen, plain, refuse_beyond, refuse_shape, write_document
from ..recording import effort_guesses
from .estimate import COMMAND_UNITS
from .fit import Fit, FitRecord
from .identity import read_for_robot, why_command_units

SCHEMA = "counterpoise-calibration"
VERSION = 3
NOT_TRUSTED = "not-trusted"
ENDING = ".calibration.json"
ROOT_DIGITS = 7
"""Digits of a covariance's root: a rounded root is that of a covariance, a rounded covariance is not always one."""
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
MOST_DEVIATION = 1e3
"""Deviation of a value, over the largest that it may be: data without a prior leave much open."""
MOST_COUPLING = 1e4
LEAST_V0 = 1e-9
"""Smallest speed over which friction changes its sign [rad/s or m/s]."""
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

    def term(self, kind: EffortTerm) -> float:
        """Of the unknowns of a fitted term."""
        return kind.most(ArmLimits(self.scale * self.torque, self.scale * self.mass * self.length**2, MOST_LENGTH))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedModel:
    """The model that was fitted, n joints and p numbers.

    Attributes:
        terms: What was fitted.
        measured: Which joints had a measured effort, shape (n,).
        coupling: Of joints and actuators, shape (n, n).
        names: Names of the numbers.
        values: The numbers, shape (p,).
        root: The lower triangle of L, row by row, with L Lᵀ the covariance of the values; () where there is none.
        bodies: Inertial parameters of all moving bodies, shape (10 b,).
        dynamics_allowed: Whether dynamics are computed with them, which real bodies may not have.
        payload: What of ``bodies`` is declared payloads, shape (10 b,); empty for none.
    """

    terms: dict[str, Selection]
    measured: npt.NDArray[np.bool_]
    coupling: Array
    names: tuple[str, ...]
    values: Array
    root: tuple[tuple[float, ...], ...]
    bodies: Array
    dynamics_allowed: bool
    payload: Array

    @staticmethod
    def of(fit: Fit) -> FittedModel:
        """Return the model of a fit."""
        return FittedModel(
            terms=fit.model.terms.table(),
            measured=fit.model.active,
            coupling=fit.model.coupling,
            names=fit.model.names,
            values=fit.x,
            root=_triangle(fit.model_covariance),
            bodies=fit.robot.inertial_parameters[10:],
            dynamics_allowed=fit.robot.tree.refusal == "",
            payload=payload_parameters(fit.described) if fit.described.payloads else np.zeros(0),
        )

    @property
    def covariance(self) -> Array:
        """Covariance of the values, shape (p, p); empty where there is none."""
        root = np.zeros((len(self.root), len(self.root)))
        for at, row in enumerate(self.root):
            root[at, : at + 1] = row
        return frozen(root @ root.T)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationFile(FitRecord):
    """All that a calibration file holds.

    Attributes:
        status: "trusted" or "not-trusted".
        model: What robot and numbers are made of.
    """

    status: str
    model: FittedModel

    @staticmethod
    def of(fit: Fit) -> CalibrationFile:
        """Return what a fit's file holds."""
        status = "trusted" if fit.trusted else NOT_TRUSTED
        return CalibrationFile(status=status, model=FittedModel.of(fit), **fit.record())


def content_of(fit: Fit) -> dict[str, Any]:
    """Return what a fit's file says, as plain tables."""
    content: dict[str, Any] = plain(CalibrationFile.of(fit))
    return content


def save_calibration(fit: Fit, path: str | Path) -> Path:
    """Write a calibration file, all or nothing.

    Args:
        fit: What is written.
        path: The file; "not-trusted" is put into its name for a fit that is not trusted, so that a trusted file of that
            name stays.

    Returns:
        The file that was written.

    Raises:
        DataFileError: It cannot be written.
    """
    target = Path(path)
    if not fit.trusted and NOT_TRUSTED not in target.name:
        stem = target.name.removesuffix(ENDING) if target.name.endswith(ENDING) else target.stem
        target = target.with_name(f"{stem}.{NOT_TRUSTED}{target.name[len(stem) :]}")
    return write_document(target, SCHEMA, VERSION, CalibrationFile.of(fit))


def load_calibration(path: str | Path, robot: Robot) -> Fit:
    """Read a calibration file for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter, the file has its own.

    Raises:
        DataFileError: The file cannot be read, is no calibration, is damaged, was written by another version, belongs
            to another robot or mounting, or holds numbers that no arm has; the message says which.
    """
    made = partial(_fit, robot=robot, path=path)
    return read_for_robot(path, robot, CalibrationFile, made, schema=SCHEMA, version=VERSION, kind="calibration")


def _fit(content: CalibrationFile, robot: Robot, path: str | Path) -> Fit:
    model, guessed = content.model, content.data.guessed
    _refuse_other_payload(model.payload, robot, path)
    _require_lengths(content, robot)
    fitted = EffortModel(robot, Terms.from_table(model.terms), model.measured, model.coupling)
    if fitted.names != model.names or len(model.values) != len(fitted.names):
        raise InputError("the model's values are not those of its terms")
    if (guesses := effort_guesses(guessed)) and content.units != COMMAND_UNITS:
        raise InputError(f"its units are {content.units!r}, although {guesses}")
    _refuse_impossible(content, fitted)
    calibrated = with_inertial_parameters(robot, model.bodies, allow_unphysical=model.dynamics_allowed)
    fit = Fit(
        **content.record(),
        robot=marked(calibrated, why_command_units(guessed) if content.units == COMMAND_UNITS else ""),
        described=robot,
        model=fitted,
        x=model.values,
        model_covariance=model.covariance,
    )
    if not fit.verdict:
        raise InputError("verdict holds no check, so nothing says that the fit may be trusted")
    if content.status != ("trusted" if fit.trusted else NOT_TRUSTED):
        raise InputError(f"its status is {content.status!r}, which its own checks contradict")
    return fit


def _triangle(covariance: Array) -> tuple[tuple[float, ...], ...]:
    """Return the rows of a covariance's root, to ROOT_DIGITS digits."""
    root = covariance_root(covariance) if covariance.size else covariance
    return tuple(tuple(float(f"{value:.{ROOT_DIGITS}g}") for value in row[: at + 1]) for at, row in enumerate(root))


def _refuse_other_payload(made_with: Array, robot: Robot, path: str | Path) -> None:
    """Refuse a robot with another load: the file's weights include the load it was made with, and no other one."""
    now = payload_parameters(robot)
    then = made_with if made_with.size else np.zeros(len(now))
    if then.shape != now.shape or not np.allclose(then, now, rtol=0.0, atol=1e-9):
        raise DataFileError(
            f"was made with a declared payload of {then[::10].sum():.3g} kg; the robot carries {now[::10].sum():.3g} "
            "kg, or carries it elsewhere. Load it with the robot as it was then, and give fit.robot the payload of "
            "today: with_payload(), without_payload()",
            path=path,
        )


PER_JOINT = (
    *("fitted", "heldout", "described", "signal", "gravity", "gravity_size", "tolerated", "friction_band"),
    *("sag", "stiffness"),
)
"""Errors that every joint has."""


def _require_lengths(content: CalibrationFile, robot: Robot) -> None:
    """Refuse arrays whose shapes do not fit the robot, or each other."""
    n, model, size = robot.n, content.model, len(content.parameters)
    refuse_shape("model.measured", model.measured, (n,))
    refuse_shape("model.coupling", model.coupling, (n, n))
    refuse_shape("model.values", model.values, (len(model.names),))
    refuse_shape("model.bodies", model.bodies, (10 * robot.tree.bodies,))
    for name in ("lower", "upper", "v0"):
        refuse_shape(f"data.{name}", getattr(content.data, name), (n,))
    for name in PER_JOINT:
        refuse_shape(f"errors.{name}", getattr(content.errors, name), (n,))
    if model.root and [len(row) for row in model.root] != list(range(1, len(model.names) + 1)):
        raise InputError(f"model.root is no triangle of {len(model.names)} rows, one per name")
    if size:
        refuse_shape("covariance", content.covariance, (size, size))


def _refuse_impossible(content: CalibrationFile, fitted: EffortModel) -> None:
    """Refuse numbers that no calibration of the robot has.

    Args:
        content: What the file says; its shapes fit the robot.
        fitted: The model that it states.

    Raises:
        InputError: A number lies beyond its bound; the message names its field.
    """
    bounds = FileBounds.of(fitted.robot, content.units)
    model = content.model
    for name, bodies in (("model.bodies", model.bodies), ("model.payload", model.payload)):
        most = np.tile(bounds.body, len(bodies) // 10)
        refuse_beyond(name, bodies, -most, most)
    most = _value_bounds(fitted, bounds)
    least = -most
    least[fitted.groups["gain"]] = 1.0 / MOST_GAIN
    refuse_beyond("model.values", model.values, least, most, labels=fitted.names)
    for index, row in enumerate(model.root):
        refuse_beyond(f"model.root[{index}]", row, -MOST_DEVIATION * most[index], MOST_DEVIATION * most[index])
    refuse_beyond("model.coupling", model.coupling, -MOST_COUPLING, MOST_COUPLING)
    for index, one in enumerate(content.parameters):
        refuse_beyond(f"parameters[{index}].value", one.value, -MOST, MOST)
        refuse_beyond(f"parameters[{index}].described", one.described, -MOST, MOST, unknown=True)
        refuse_beyond(f"parameters[{index}].std", np.nan if np.isinf(one.std) else one.std, 0.0, MOST, unknown=True)
    for index, found in enumerate(content.identifiable.determined):
        where = f"identifiable.determined[{index}]"
        refuse_beyond(f"{where}.value", found.value, -MOST, MOST)
        refuse_beyond(f"{where}.std", found.std, 0.0, MOST)
        refuse_beyond(f"{where}.information", found.information, 0.0, MOST_INFORMATION)
        refuse_beyond(f"{where}.coefficients", found.coefficients, -MOST, MOST)
    values = content.identifiable.eigenvalues
    refuse_beyond("identifiable.eigenvalues", values, -MOST_INFORMATION, MOST_INFORMATION)
    _check_covariance(content.covariance)
    _check_data(content, bounds)


def _value_bounds(model: EffortModel, bounds: FileBounds) -> Array:
    most = np.empty(len(model.names))
    for term in model.terms.chosen:
        most[model.groups[term.name]] = bounds.term(term)
    most[model.groups["bodies"]] = bounds.body[model.body_parameters % model.body_size]
    return most


def _check_covariance(matrix: Array) -> None:
    """Refuse what is no covariance: not symmetric, or with a negative variance along some direction."""
    refuse_beyond("covariance", matrix, -MOST, MOST)
    if not matrix.size:
        return
    variance = np.diag(matrix)
    if np.any(variance < 0.0):
        at = int(np.argmin(variance))
        raise InputError(f"covariance[{at}][{at}] is {variance[at]:g}; a variance is 0 or more")
    std = np.sqrt(variance)
    scale = np.where(std > 0.0, std, 1.0)
    correlation = matrix / scale[:, None] / scale[None, :]
    if not np.abs(correlation - correlation.T).max() <= NEGATIVE:
        raise InputError("covariance is not symmetric")
    if float(np.linalg.eigvalsh(correlation)[0]) < -NEGATIVE * max(1.0, len(matrix)):
        raise InputError("covariance is not positive semidefinite: no errors vary together like that")


def _check_data(content: CalibrationFile, bounds: FileBounds) -> None:
    errors, data = content.errors, content.data
    for name in PER_JOINT:
        most = MOST if name in ("sag", "stiffness") else bounds.scale * bounds.torque
        refuse_beyond(f"errors.{name}", getattr(errors, name), 0.0, most, unknown=name != "stiffness")
    refuse_beyond("errors.sag_total", errors.sag_total, 0.0, MOST, unknown=True)
    refuse_beyond("errors.sag_largest", errors.sag_largest, 0.0, MOST, unknown=True)
    refuse_beyond("data.lower", data.lower, -MOST_POSITION, MOST_POSITION)
    refuse_beyond("data.upper", data.upper, -MOST_POSITION, MOST_POSITION)
    for index, (lower, upper) in enumerate(zip(data.lower, data.upper, strict=True)):
        if lower > upper:
            raise InputError(f"data.lower[{index}] is {lower:g}, above data.upper[{index}], {upper:g}")
    refuse_beyond("data.v0", data.v0, LEAST_V0, MOST_POSITION)
    refuse_beyond("data.samples", data.samples, 0.0, MOST)
    refuse_beyond("data.novelty", data.novelty, -MOST, MOST)
    for index, statement in enumerate(content.statements):
        refuse_beyond(f"statements[{index}].value", statement.value, -MOST, MOST, unknown=True)
    for index, check in enumerate(content.verdict):
        refuse_beyond(f"verdict[{index}].value", check.value, -MOST, MOST, unknown=True)
        refuse_beyond(f"verdict[{index}].limit", check.limit, -MOST, MOST, unknown=True)
