"""The calibration file: a fit that outlives the program, and that no other robot can be given by mistake.

JSON with schema "counterpoise-calibration", version and checksum (document.py). A file of a newer version is refused,
and so is one of version 1, which states no gravity errors. The file of a fit that is not trusted says so in its name
and in its content (``status``).
"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np

from ..description.frozen import frozen
from ..dynamics.robot import Robot
from ..errors import DataFileError, InputError
from ..logs.provenance import effort_guesses
from .calibrated_robot import marked, payload_parameters, with_inertial_parameters
from .columns import EffortColumns
from .document import converted, read_document, refuse_other_robot, robot_identity, robot_table, write_document
from .estimate import COMMAND_UNITS
from .file_bounds import refuse_impossible
from .file_schema import (
    SCHEMA,
    VERSION,
    CheckTable,
    CombinationTable,
    ContentTable,
    DataTable,
    ErrorTable,
    IdentifiableTable,
    ModelTable,
    ParameterTable,
    StatementTable,
    TermsTable,
    from_numbers,
    from_triangle,
    rows,
    to_number,
    to_numbers,
    triangle,
)
from .fit import Fit, Parameter
from .guesses import why_command_units
from .identifiability import Combination, Identifiability
from .sag import Sag
from .statements import UseStatement
from .terms import Terms
from .verdict import Check, Verdict

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
            terms=TermsTable(**asdict(fit.columns.terms)),
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
    terms = Terms(**{name: getattr(model.terms, name) for name in TermsTable.__struct_fields__})
    columns = EffortColumns(robot, terms, np.array(model.measured, dtype=bool), frozen(model.coupling))
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
