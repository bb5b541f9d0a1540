"""The calibration file: a fit that outlives the program, and that no other robot can be given by mistake.

JSON with schema "counterpoise-calibration", version and checksum (document.py). A file of a newer version is refused,
and so is one of version 1, which states no gravity errors. The file of a fit that is not trusted says so in its name
and in its content (``status``).

What the numbers of a calibration file can be: a checksum does not tell whether they are possible.

Bounds are generous multiples of what an arm of this size can have; beyond them a number is a slip of a tool, a wrong
unit or malice, and must not become a torque. They grow with the described masses and lengths. A calibration in command
units has other units for the same things, and COMMAND_SCALE as much room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from ..dynamics import Robot
from ..errors import DataFileError, InputError
from ..fitting import (
    MOST_GAIN,
    ArmLimits,
    Combination,
    EffortModel,
    EffortTerm,
    Identifiability,
    Terms,
    arm_reach,
    marked,
    payload_parameters,
    with_inertial_parameters,
)
from ..foundation import Array, frozen
from ..recording import effort_guesses
from .document import (
    SCHEMA,
    VERSION,
    CheckTable,
    CombinationTable,
    ContentTable,
    DataTable,
    ErrorTable,
    IdentifiableTable,
    ModelTable,
    Number,
    ParameterTable,
    StatementTable,
    converted,
    from_numbers,
    from_triangle,
    read_document,
    refuse_other_robot,
    robot_identity,
    robot_table,
    rows,
    to_number,
    to_numbers,
    triangle,
    write_document,
)
from .estimate import COMMAND_UNITS
from .fit import Check, Fit, Parameter, Verdict
from .identity import why_command_units
from .statements import Sag, UseStatement

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


def refuse_impossible(content: ContentTable, columns: EffortModel) -> None:
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


def _value_bounds(columns: EffortModel, bounds: FileBounds) -> Array:
    most = np.empty(len(columns.names))
    for term in columns.terms.chosen:
        most[columns.groups[term.name]] = bounds.term(term)
    most[columns.groups["bodies"]] = bounds.body[columns.body_parameters % columns.body_size]
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


NOT_TRUSTED = "not-trusted"
ENDING = ".calibration.json"


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
    content = msgspec.to_builtins(content_of(fit))
    write_document(target, SCHEMA, VERSION, content)
    return target


def load_calibration(path: str | Path, robot: Robot) -> Fit:
    """Read a calibration file for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter, the file has its own.

    Raises:
        DataFileError: The file cannot be read, is no calibration, is damaged, was written by a newer version, belongs
            to another robot or mounting, or holds numbers that no arm has; the message says which.
    """
    content = read_content(path)
    refuse_other_robot(content.robot, robot, path)
    _refuse_other_payload(content.model.payload, robot, path)
    try:
        return _fit(content, robot)
    except InputError as error:  # numbers that no fit has: lengths that differ, joints without measured effort
        raise DataFileError(f"does not hold together: {error}", path=path) from error


def read_content(path: str | Path) -> ContentTable:
    """Read and check what a calibration file says, whichever robot it is for.

    Raises:
        DataFileError: The file cannot be read, is no calibration, is damaged, or was written by a newer version.
    """
    version, content = read_document(path, SCHEMA, VERSION, "calibration")
    if version < VERSION:
        raise DataFileError(
            "was written by release 0.1.0, whose calibrations state no gravity errors; calibrate again from the "
            "recording",
            path=path,
        )
    return converted(content, ContentTable, "calibration", path)


def content_of(fit: Fit) -> ContentTable:
    """Return what a fit's file says, as plain tables."""
    return ContentTable(
        status="trusted" if fit.trusted else NOT_TRUSTED,
        method=fit.method,
        units=fit.units,
        created=fit.created,
        package=fit.version,
        robot=robot_table(fit.identity, fit.robot.joint_names),
        data=DataTable(
            sha256=fit.data_sha256,
            kind=fit.data,
            why=fit.why,
            samples=fit.samples,
            check=fit.check,
            novelty=tuple(fit.novelty.tolist()),
            lower=tuple(fit.lower.tolist()),
            upper=tuple(fit.upper.tolist()),
            guessed=fit.guessed,
            rate_source=fit.rate_source,
        ),
        model=ModelTable(
            terms=fit.columns.terms.table(),
            measured=tuple(bool(used) for used in fit.columns.active),
            coupling=rows(fit.columns.coupling),
            names=fit.columns.names,
            values=tuple(fit.x.tolist()),
            root=triangle(fit.model_covariance),
            bodies=tuple(fit.robot.inertial_parameters[10:].tolist()),
            dynamics_allowed=fit.robot.tree.refusal == "",
            payload=tuple(payload_parameters(fit.described).tolist()) if fit.described.payloads else (),
        ),
        parameters=tuple(
            ParameterTable(
                name=one.name,
                meaning=one.meaning,
                unit=one.unit,
                value=one.value,
                std=to_number(one.std),
                described=to_number(one.described),
            )
            for one in fit.parameters
        ),
        covariance=rows(fit.covariance),
        identifiable=IdentifiableTable(
            determined=tuple(
                CombinationTable(
                    text=one.text,
                    unit=one.unit,
                    value=one.value,
                    std=one.std,
                    information=one.information,
                    coefficients=tuple(one.coefficients.tolist()),
                )
                for one in fit.identifiable.determined
            ),
            undetermined=fit.identifiable.undetermined,
            eigenvalues=tuple(fit.identifiable.eigenvalues.tolist()),
            never_felt=fit.identifiable.never_felt,
        ),
        errors=ErrorTable(
            fitted=to_numbers(fit.torque_rms),
            heldout=to_numbers(fit.heldout_rms),
            described=to_numbers(fit.described_rms),
            signal=to_numbers(fit.signal),
            gravity=to_numbers(fit.gravity_error),
            gravity_size=to_numbers(fit.gravity_size),
            tolerated=to_numbers(fit.tolerated),
            friction_band=to_numbers(fit.friction_band),
            sag=to_numbers(fit.sag.per_joint),
            sag_total=to_number(fit.sag.total),
            sag_largest=to_number(fit.sag.largest),
            stiffness=tuple(fit.stiffness.tolist()),
            stiffness_assumed=fit.stiffness_assumed,
        ),
        prior=fit.prior,
        unreliable=fit.unreliable,
        notes=fit.notes,
        uses=fit.uses,
        statements=tuple(
            StatementTable(use=one.use, sentence=one.sentence, value=to_number(one.value), unit=one.unit)
            for one in fit.statements
        ),
        verdict=tuple(
            CheckTable(
                name=check.name,
                passed=check.passed,
                sentence=check.sentence,
                value=to_number(check.value),
                limit=to_number(check.limit),
            )
            for check in fit.verdict.checks
        ),
    )


def _fit(content: ContentTable, robot: Robot) -> Fit:
    model, errors, data = content.model, content.errors, content.data
    _require_lengths(content, robot)
    terms = Terms.from_table(model.terms)
    columns = EffortModel(robot, terms, np.array(model.measured, dtype=bool), frozen(model.coupling))
    if columns.names != model.names or len(model.values) != len(columns.names):
        raise InputError("the model's values are not those of its terms")
    if (guessed := effort_guesses(data.guessed)) and content.units != COMMAND_UNITS:
        raise InputError(f"its units are {content.units!r}, although {guessed}")
    refuse_impossible(content, columns)
    calibrated = with_inertial_parameters(robot, frozen(model.bodies), allow_unphysical=model.dynamics_allowed)
    return Fit(
        robot=marked(calibrated, why_command_units(data.guessed) if content.units == COMMAND_UNITS else ""),
        described=robot,
        method=content.method,
        data=data.kind,
        why=data.why,
        columns=columns,
        x=frozen(model.values),
        parameters=tuple(
            Parameter(
                one.name,
                one.meaning,
                one.unit,
                one.value,
                math.inf if one.std is None else one.std,
                math.nan if one.described is None else one.described,
            )
            for one in content.parameters
        ),
        covariance=frozen(content.covariance),
        model_covariance=from_triangle(model.root),
        identifiable=_identifiable(content.identifiable),
        units=content.units,
        samples=data.samples,
        torque_rms=from_numbers(errors.fitted),
        heldout_rms=from_numbers(errors.heldout),
        described_rms=from_numbers(errors.described),
        signal=from_numbers(errors.signal),
        check=data.check,
        novelty=frozen(data.novelty),
        sag=Sag(from_numbers(errors.sag), *from_numbers((errors.sag_total, errors.sag_largest)).tolist()),
        stiffness=frozen(errors.stiffness),
        stiffness_assumed=errors.stiffness_assumed,
        friction_band=from_numbers(errors.friction_band),
        gravity_error=from_numbers(errors.gravity),
        gravity_size=from_numbers(errors.gravity_size),
        tolerated=from_numbers(errors.tolerated),
        lower=frozen(data.lower),
        upper=frozen(data.upper),
        prior=content.prior,
        unreliable=content.unreliable,
        notes=content.notes,
        uses=content.uses,
        statements=tuple(
            UseStatement(one.use, one.sentence, math.nan if one.value is None else one.value, one.unit)
            for one in content.statements
        ),
        verdict=_verdict(content),
        identity=robot_identity(content.robot),
        data_sha256=data.sha256,
        guessed=data.guessed,
        rate_source=data.rate_source,
        created=content.created,
        version=content.package,
    )


def _refuse_other_payload(made_with: tuple[float, ...], robot: Robot, path: str | Path) -> None:
    """Refuse a robot with another load: the file's weights include the load it was made with, and no other one."""
    now = payload_parameters(robot)
    then = np.array(made_with) if made_with else np.zeros(len(now))
    if then.shape != now.shape or not np.allclose(then, now, rtol=0.0, atol=1e-9):
        raise DataFileError(
            f"was made with a declared payload of {then[::10].sum():.3g} kg; the robot carries {now[::10].sum():.3g} "
            "kg, or carries it elsewhere. Load it with the robot as it was then, and give fit.robot the payload of "
            "today: with_payload(), without_payload()",
            path=path,
        )


def _require_lengths(content: ContentTable, robot: Robot) -> None:
    """Refuse tables whose lengths do not fit the robot."""
    n, model, errors = robot.n, content.model, content.errors
    per_joint = {
        "model.measured": model.measured,
        "model.coupling": model.coupling,
        "data.lower": content.data.lower,
        "data.upper": content.data.upper,
        "errors.stiffness": errors.stiffness,
        **{f"errors.{name}": getattr(errors, name) for name in ("fitted", "heldout", "described", "signal")},
        **{
            f"errors.{name}": getattr(errors, name)
            for name in ("gravity", "gravity_size", "tolerated", "friction_band", "sag")
        },
    }
    for name, values in per_joint.items():
        if len(values) != n:
            raise InputError(f"{name} has {len(values)} entries for {n} joints")
    if any(len(row) != n for row in model.coupling):
        raise InputError(f"model.coupling is no matrix of {n} rows and columns")
    if model.root and [len(row) for row in model.root] != list(range(1, len(model.names) + 1)):
        raise InputError(f"model.root is no triangle of {len(model.names)} rows, one per name")
    size = len(content.parameters)
    if len(content.covariance) != size or any(len(row) != size for row in content.covariance):
        raise InputError(f"covariance is no matrix of {size} rows and columns, one per parameter")


def _identifiable(table: IdentifiableTable) -> Identifiability:
    return Identifiability(
        determined=tuple(
            Combination(one.text, one.unit, one.value, one.std, one.information, frozen(one.coefficients))
            for one in table.determined
        ),
        undetermined=table.undetermined,
        eigenvalues=frozen(table.eigenvalues),
        never_felt=table.never_felt,
    )


def _verdict(content: ContentTable) -> Verdict:
    """Return the verdict; a status that contradicts its checks is refused."""
    verdict = Verdict(
        tuple(
            Check(one.name, one.passed, one.sentence, *from_numbers((one.value, one.limit)).tolist())
            for one in content.verdict
        )
    )
    if content.status != ("trusted" if verdict.trusted else NOT_TRUSTED):
        raise InputError(f"its status is {content.status!r}, which its own checks contradict")
    return verdict
