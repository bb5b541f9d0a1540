"""Files of results: JSON with schema, version and checksum, written all or nothing, that no other robot is given.

JSON::

    {"schema": "counterpoise-…", "version": 1, "checksum": "sha256:…", "content": {…}}

The checksum covers the content as canonical JSON (sorted keys, no spaces).

What a calibration file holds: the tables of its JSON, checked strictly on reading.

JSON knows neither NaN nor infinity. ``null`` stands for "not measured" in a number per joint, and for "unknown" in a
standard error.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from ..description import MAX_GRAVITY
from ..dynamics import Robot
from ..errors import DataFileError, InputError
from ..fitting import Selection, covariance_root
from ..foundation import Array, frozen, read_data, write_atomically
from .identity import MOUNT_TOLERANCE, Identity, kinematics_fingerprint, mount_angle
from .statements import UseName


class HasRobot(Protocol):
    """What the file of something that belongs to one robot holds."""

    @property
    def robot(self) -> RobotTable:
        """Which robot it was made for."""


Content = TypeVar("Content")
OfRobot = TypeVar("OfRobot", bound=HasRobot)
Result = TypeVar("Result")


def write_document(path: str | Path, schema: str, version: int, content: dict[str, Any]) -> None:
    """Write a document, all or nothing.

    Raises:
        DataFileError: It cannot be written.
    """
    document = {"schema": schema, "version": version, "checksum": checksum(content), "content": content}
    data = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    write_atomically(path, data)


def read_document(path: str | Path, schema: str, newest: int, kind: str) -> tuple[int, dict[str, Any]]:
    """Read a document and check that it is whole; return its version and its content.

    Args:
        path: The file.
        schema: What it must be.
        newest: Version up to which this package reads.
        kind: What such a file is called in messages.

    Raises:
        DataFileError: The file cannot be read, is of another kind, is damaged, or was written by a newer version.
    """
    data = read_data(path)
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataFileError(f"is not JSON ({error}); the file is damaged or of another kind", path=path) from error
    if not isinstance(document, dict) or document.get("schema") != schema:
        found = document.get("schema") if isinstance(document, dict) else type(document).__name__
        raise DataFileError(f"is no {kind}: its schema is {found!r}, expected {schema!r}", path=path)
    version, content = document.get("version"), document.get("content")
    if isinstance(version, bool) or not isinstance(version, int) or not isinstance(content, dict):
        raise DataFileError("is damaged: version or content is missing", path=path)
    if version > newest:
        raise DataFileError(
            f"has version {version} of the format; this package reads up to {newest}. Update counterpoise", path=path
        )
    if document.get("checksum") != checksum(content):
        raise DataFileError(
            "is damaged: its checksum does not fit its content. It was changed after it was written; calibrate again "
            "or take the file from a copy",
            path=path,
        )
    return version, content


def converted(content: dict[str, Any], table: type[Content], kind: str, path: str | Path) -> Content:
    """Return a document's content as the table that such files hold.

    Args:
        content: What was read.
        table: What it must be.
        kind: What such a file is called in messages.
        path: The file.

    Raises:
        DataFileError: Something lacks, is unknown or of another type.
    """
    try:
        return msgspec.convert(content, table)
    except msgspec.ValidationError as error:
        raise DataFileError(f"does not hold what a {kind} has: {error}", path=path) from error


def read_for_robot(
    path: str | Path,
    robot: Robot,
    table: type[OfRobot],
    made: Callable[[OfRobot], Result],
    *,
    schema: str,
    newest: int,
    kind: str,
) -> Result:
    """Read a file that was made for one robot.

    Args:
        path: The file.
        robot: The robot as described and mounted; its masses do not matter.
        table: What the file holds.
        made: Makes the result; it raises where numbers do not hold together.
        schema: What the file must be.
        newest: Version up to which this package reads.
        kind: What such a file is called in messages.

    Raises:
        DataFileError: The file cannot be read, is of another kind, is damaged, was written by a newer version, or
            belongs to another robot or mounting; the message says which.
    """
    content = converted(read_document(path, schema, newest, kind)[1], table, kind, path)
    refuse_other_robot(content.robot, robot, path)
    try:
        return made(content)
    except (ValueError, TypeError, OverflowError) as error:  # numbers that nothing real has, or rows of other lengths
        raise DataFileError(f"does not hold together: {error}", path=path) from error


def refuse_beyond(name: str, given: npt.ArrayLike, least: float, most: float) -> None:
    """Refuse a number of a file that is not within bounds.

    Raises:
        InputError: One is below ``least``, above ``most``, or none; the message names its field.
    """
    values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    bad = values[~((values >= least) & (values <= most))]  # NaN too
    if bad.size:
        raise InputError(f"{name} holds {float(bad[0]):g}; expected {least:g} to {most:g}")


def checksum(content: dict[str, Any]) -> str:
    """Return the checksum of a file's content: sha256 of its canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def robot_table(identity: Identity, joint_names: tuple[str, ...]) -> RobotTable:
    """Return a robot's identity as files have it."""
    return RobotTable(
        name=identity.robot,
        joints=joint_names,
        kinematics_sha256=identity.kinematics,
        masses_sha256=identity.masses,
        serial=identity.serial,
        tool=identity.tool,
        gravity_base=identity.gravity_base,
    )


def robot_identity(table: RobotTable) -> Identity:
    """Return the identity that a file states."""
    return Identity(
        table.name, table.kinematics_sha256, table.masses_sha256, table.serial, table.tool, table.gravity_base
    )


def refuse_other_robot(made_for: RobotTable, robot: Robot, path: str | Path) -> None:
    """Refuse a robot of other joints, another geometry or another mounting than a file was made for.

    Raises:
        DataFileError: It is another; the message says how.
    """
    if made_for.joints != robot.joint_names:
        raise DataFileError(
            f"belongs to robot '{made_for.name}' with joints {', '.join(made_for.joints)}; robot '{robot.name}' has "
            f"{', '.join(robot.joint_names)}",
            path=path,
        )
    if made_for.kinematics_sha256 != kinematics_fingerprint(robot):
        raise DataFileError(
            f"belongs to robot '{made_for.name}': joints of the same names, but another geometry than robot "
            f"'{robot.name}'. Load it with the description it was made with, or calibrate again",
            path=path,
        )
    then, now = np.array(made_for.gravity_base), robot.gravity_base
    if not np.abs(then).max() <= MAX_GRAVITY:
        raise DataFileError(
            f"robot.gravity_base holds {np.abs(then).max():g} m/s²; expected at most {MAX_GRAVITY:g}", path=path
        )
    strengths = np.linalg.norm([then, now], axis=1)
    if mount_angle(then, now) > MOUNT_TOLERANCE or abs(strengths[0] - strengths[1]) > 0.01 * strengths[1]:
        raise DataFileError(
            f"was made with gravity along {np.round(then, 2).tolist()} in base axes; the robot is mounted with "
            f"{np.round(now, 2).tolist()}. What was measured on one mounting does not tell all for another: mount the "
            "robot as it was (robot.mounted), or calibrate again",
            path=path,
        )


SCHEMA = "counterpoise-calibration"
VERSION = 2
ROOT_DIGITS = 7
"""Digits of a covariance's root: a rounded root is that of a covariance, a rounded covariance is not always one."""

Number = float | None
Numbers = tuple[Number, ...]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table; unknown keys are refused, so that a file of another kind is not half read."""


class RobotTable(_Table, frozen=True, kw_only=True):
    """Which robot: name, joints, fingerprints, serial number, tool, gravity in base axes [m/s²]."""

    name: str
    joints: tuple[str, ...]
    kinematics_sha256: str
    masses_sha256: str
    serial: str
    tool: str
    gravity_base: tuple[float, float, float]


class ModelTable(_Table, frozen=True, kw_only=True):
    """What was fitted: terms, which joints had a measured effort, couplings, the values, and all bodies' parameters.

    ``terms`` are those of :class:`.Terms` by name: joint names, or "all"; yes or no for a term of the whole robot;
    "gravity" or "full" for the bodies. ``root`` is the lower triangle of L, row by row, with L Lᵀ the covariance of
    ``values``; empty where there is none. ``payload`` is the share of declared payloads in ``bodies``; empty for none.
    """

    terms: dict[str, Selection]
    measured: tuple[bool, ...]
    coupling: tuple[tuple[float, ...], ...]
    names: tuple[str, ...]
    values: tuple[float, ...]
    root: tuple[tuple[float, ...], ...]
    bodies: tuple[float, ...]
    dynamics_allowed: bool
    payload: tuple[float, ...] = ()


class ParameterTable(_Table, frozen=True, kw_only=True):
    """A number that may be spoken of."""

    name: str
    meaning: str
    unit: str
    value: float
    std: Number
    described: Number


class CombinationTable(_Table, frozen=True, kw_only=True):
    """A combination that the data determine."""

    text: str
    unit: str
    value: float
    std: float
    information: float
    coefficients: tuple[float, ...]


class IdentifiableTable(_Table, frozen=True, kw_only=True):
    """What the data determine and what not."""

    determined: tuple[CombinationTable, ...]
    undetermined: tuple[str, ...]
    eigenvalues: tuple[float, ...]
    never_felt: tuple[str, ...]


class ErrorTable(_Table, frozen=True, kw_only=True):
    """Errors per joint, in ``units``, and what they mean; ``gravity`` is the stated one of the gravity effort, 95 %."""

    fitted: Numbers
    heldout: Numbers
    described: Numbers
    signal: Numbers
    gravity: Numbers
    gravity_size: Numbers
    tolerated: Numbers
    friction_band: Numbers
    sag: Numbers
    sag_total: Number
    sag_largest: Number
    stiffness: tuple[float, ...]
    stiffness_assumed: bool


class DataTable(_Table, frozen=True, kw_only=True):
    """The recording: its fingerprint, how it was used and divided, how far the joints went [rad or m], what is guessed.

    ``guessed`` are keys of the mapping; ``rate_source`` says who knows how fast time goes.
    """

    sha256: str
    kind: str
    why: str
    samples: int
    check: str
    novelty: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    guessed: tuple[str, ...]
    rate_source: Literal["", "declared", "recorded", "measured", "guessed"]


class StatementTable(_Table, frozen=True, kw_only=True):
    """Something that the calibration is good for."""

    use: UseName
    sentence: str
    value: Number
    unit: str


class CheckTable(_Table, frozen=True, kw_only=True):
    """One check of the verdict."""

    name: str
    passed: bool
    sentence: str
    value: Number
    limit: Number


class ContentTable(_Table, frozen=True, kw_only=True):
    """All that the checksum covers."""

    status: str
    method: str
    units: Literal["N m", "command units"]
    created: str
    package: str
    robot: RobotTable
    data: DataTable
    model: ModelTable
    parameters: tuple[ParameterTable, ...]
    covariance: tuple[tuple[float, ...], ...]
    identifiable: IdentifiableTable
    errors: ErrorTable
    prior: str
    unreliable: tuple[str, ...]
    notes: tuple[str, ...]
    uses: tuple[UseName, ...]
    statements: tuple[StatementTable, ...]
    verdict: tuple[CheckTable, ...]


def to_numbers(values: npt.ArrayLike) -> Numbers:
    """Return numbers as JSON has them, null for what is no number."""
    return tuple(to_number(float(value)) for value in np.asarray(values, dtype=np.float64))


def to_number(value: float) -> Number:
    """Return a number as JSON has it, null for what is none or infinite."""
    return value if math.isfinite(value) else None


def from_numbers(values: Sequence[Number]) -> Array:
    """Return numbers of a file as an array, NaN for null."""
    return frozen([math.nan if value is None else value for value in values])


def triangle(covariance: Array) -> tuple[tuple[float, ...], ...]:
    """Return a covariance as JSON has it: the rows of its root, to ROOT_DIGITS digits."""
    if not covariance.size:
        return ()
    root = covariance_root(covariance)
    return tuple(tuple(float(f"{value:.{ROOT_DIGITS}g}") for value in row[: at + 1]) for at, row in enumerate(root))


def from_triangle(rows: Sequence[Sequence[float]]) -> Array:
    """Return the covariance of a file."""
    root = np.zeros((len(rows), len(rows)))
    for at, row in enumerate(rows):
        root[at, : at + 1] = row
    return frozen(root @ root.T)


def rows(matrix: Array) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as JSON has it."""
    return tuple(tuple(row) for row in matrix.tolist())
