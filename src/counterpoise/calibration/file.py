"""The calibration file: a fit that outlives the program, and that no other robot can be given by mistake.

JSON::

    {"schema": "counterpoise-calibration", "version": 1, "checksum": "sha256:…", "content": {…}}

The checksum covers the content as canonical JSON (sorted keys, no spaces). Files are written all or nothing. A file of
an older version is brought up to date step by step (MIGRATIONS); a newer one is refused. The file of a fit that is not
trusted says so in its name and in its content (``status``).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from ..description.files import read_bounded
from ..description.frozen import frozen
from ..dynamics.robot import Robot
from ..errors import DataFileError, InputError, ModelFileError, locate
from ..logs.atomic import write_atomically
from .calibrated_robot import with_inertial_parameters
from .columns import Columns
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
    RobotTable,
    TermsTable,
    from_numbers,
    rows,
    to_number,
    to_numbers,
)
from .fit import Fit, Parameter
from .identifiability import Combination, Identifiability
from .identity import Identity, kinematics_fingerprint
from .moving import MOUNT_TOLERANCE
from .sag import Sag
from .terms import Terms
from .verdict import Check, Verdict

NOT_TRUSTED = "not-trusted"
ENDING = ".calibration.json"
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For each older version, what turns its content into that of the next. Version 1 is the first."""


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
    document = {"schema": SCHEMA, "version": VERSION, "checksum": checksum(content), "content": content}
    data = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"

    def write(stream: BinaryIO) -> None:
        stream.write(data)

    write_atomically(target, write)
    return target


def load_calibration(path: str | Path, robot: Robot) -> Fit:
    """Read a calibration file for a robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter, the file has its own.

    Raises:
        DataFileError: The file cannot be read, is no calibration, is damaged, was written by a newer version, or
            belongs to another robot or mounting; the message says which.
    """
    content = read_content(path)
    _refuse_other_robot(content.robot, robot, path)
    try:
        return _fit(content, robot)
    except InputError as error:  # numbers that no fit has: lengths that differ, joints without measured effort
        raise DataFileError(f"does not hold together: {error}", path=path) from error


def read_content(path: str | Path) -> ContentTable:
    """Read and check what a calibration file says, whichever robot it is for.

    Raises:
        DataFileError: The file cannot be read, is no calibration, is damaged, or was written by a newer version.
    """
    try:
        data = read_bounded(path)
    except ModelFileError as error:
        message = str(error).removeprefix(f"{locate(error.path, error.line)}: ").partition("; give a path")[0]
        raise DataFileError(message, path=path) from error
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataFileError(f"is not JSON ({error}); the file is damaged or of another kind", path=path) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else type(document).__name__
        raise DataFileError(f"is no calibration: its schema is {found!r}, expected {SCHEMA!r}", path=path)
    version, content = document.get("version"), document.get("content")
    if isinstance(version, bool) or not isinstance(version, int) or not isinstance(content, dict):
        raise DataFileError("is damaged: version or content is missing", path=path)
    if version > VERSION:
        raise DataFileError(
            f"has version {version} of the format; this package reads up to {VERSION}. Update counterpoise", path=path
        )
    if document.get("checksum") != checksum(content):
        raise DataFileError(
            "is damaged: its checksum does not fit its content. It was changed after it was written; calibrate again "
            "or take "
            "the file from a copy",
            path=path,
        )
    while version < VERSION:
        if version not in MIGRATIONS:
            raise DataFileError(f"has version {version} of the format, which was never written", path=path)
        content = MIGRATIONS[version](content)
        version += 1
    try:
        return msgspec.convert(content, ContentTable)
    except msgspec.ValidationError as error:
        raise DataFileError(f"does not hold what a calibration has: {error}", path=path) from error


def checksum(content: dict[str, Any]) -> str:
    """Return the checksum of a file's content: sha256 of its canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _refuse_other_robot(made_for: RobotTable, robot: Robot, path: str | Path) -> None:
    if made_for.joints != robot.joint_names:
        raise DataFileError(
            f"belongs to robot '{made_for.name}' with joints {', '.join(made_for.joints)}; robot '{robot.name}' has "
            f"{', '.join(robot.joint_names)}",
            path=path,
        )
    if made_for.kinematics_sha256 != kinematics_fingerprint(robot):
        raise DataFileError(
            f"belongs to robot '{made_for.name}': joints of the same names, but another geometry than robot "
            f"'{robot.name}'. "
            "Load it with the description it was made with, or calibrate again",
            path=path,
        )
    then, now = np.array(made_for.gravity_base), robot.gravity_base
    angle = math.atan2(float(np.linalg.norm(np.cross(then, now))), float(then @ now))
    if angle > MOUNT_TOLERANCE or abs(np.linalg.norm(then) - np.linalg.norm(now)) > 0.01 * np.linalg.norm(now):
        raise DataFileError(
            f"was made with gravity along {np.round(then, 2).tolist()} in base axes; the robot is mounted with "
            f"{np.round(now, 2).tolist()}. What was measured on one mounting does not tell all for another: mount the "
            "robot as "
            "it was (robot.mounted), or calibrate again",
            path=path,
        )


def content_of(fit: Fit) -> ContentTable:
    """Return what a fit's file says, as plain tables."""
    identity = fit.identity
    return ContentTable(
        status="trusted" if fit.trusted else NOT_TRUSTED,
        method=fit.method,
        units=fit.units,
        created=fit.created,
        package=fit.version,
        robot=RobotTable(
            name=identity.robot,
            joints=fit.robot.joint_names,
            kinematics_sha256=identity.kinematics,
            masses_sha256=identity.masses,
            serial=identity.serial,
            tool=identity.tool,
            gravity_base=identity.gravity_base,
        ),
        data=DataTable(
            sha256=fit.data_sha256,
            kind=fit.data,
            why=fit.why,
            samples=fit.samples,
            check=fit.check,
            novelty=tuple(fit.novelty.tolist()),
            lower=tuple(fit.lower.tolist()),
            upper=tuple(fit.upper.tolist()),
        ),
        model=ModelTable(
            terms=TermsTable(**asdict(fit.columns.terms)),
            measured=tuple(bool(used) for used in fit.columns.active),
            coupling=rows(fit.columns.coupling),
            names=fit.columns.names,
            values=tuple(fit.x.tolist()),
            bodies=tuple(fit.robot.inertial_parameters[10:].tolist()),
            dynamics_allowed=fit.robot.tree.refusal == "",
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
            tolerated=to_numbers(fit.tolerated),
            friction_band=to_numbers(fit.friction_band),
            sag=to_numbers(fit.sag.per_joint),
            sag_total=to_number(fit.sag.total),
            sag_largest=to_number(fit.sag.largest),
            stiffness=tuple(fit.stiffness.tolist()),
            stiffness_assumed=fit.stiffness_assumed,
        ),
        prior=fit.prior,
        prior_share=to_numbers(fit.prior_share),
        unreliable=fit.unreliable,
        notes=fit.notes,
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
    columns = Columns(robot, terms, np.array(model.measured, dtype=bool), frozen(model.coupling))
    if columns.names != model.names or len(model.values) != len(columns.names):
        raise InputError("the model's values are not those of its terms")
    calibrated = with_inertial_parameters(robot, frozen(model.bodies), allow_unphysical=model.dynamics_allowed)
    return Fit(
        robot=calibrated,
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
        tolerated=from_numbers(errors.tolerated),
        lower=frozen(data.lower),
        upper=frozen(data.upper),
        prior=content.prior,
        prior_share=from_numbers(content.prior_share),
        unreliable=content.unreliable,
        notes=content.notes,
        verdict=_verdict(content),
        identity=Identity(
            content.robot.name,
            content.robot.kinematics_sha256,
            content.robot.masses_sha256,
            content.robot.serial,
            content.robot.tool,
            content.robot.gravity_base,
        ),
        data_sha256=data.sha256,
        created=content.created,
        version=content.package,
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
        "prior_share": content.prior_share,
        **{f"errors.{name}": getattr(errors, name) for name in ("fitted", "heldout", "described", "signal")},
        **{f"errors.{name}": getattr(errors, name) for name in ("tolerated", "friction_band", "sag")},
    }
    for name, values in per_joint.items():
        if len(values) != n:
            raise InputError(f"{name} has {len(values)} entries for {n} joints")
    if any(len(row) != n for row in model.coupling):
        raise InputError(f"model.coupling is no matrix of {n} rows and columns")
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
