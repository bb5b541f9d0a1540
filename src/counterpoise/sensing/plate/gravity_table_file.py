"""Gravity tables in files: JSON, strictly read, with the tag of what the table belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from ...dynamics import Robot
from ...errors import DataFileError, InputError
from ...foundation import Array, frozen, read_data, write_atomically
from ...identification import FileBounds
from .gravity_table import COS, SIN, LinearTable, Monomial, TableTag, TrigonometricTable

SCHEMA = "counterpoise/gravity-table-1"
MAX_TABLE_BYTES = 1 << 30

_FUNCTIONS = {"cos": COS, "sin": SIN, "position": COS}
Factors = list[tuple[str, str]]
"""Factors of a term: joint name and "cos", "sin" or "position"."""


Three = Annotated[list[float], msgspec.Meta(min_length=3, max_length=3)]
Six = Annotated[list[float], msgspec.Meta(min_length=6, max_length=6)]


class GravityTableFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file holds; the fields that begin with grid_ are a linear table's."""

    schema: str
    kind: str
    source: str
    robot: str
    joints: list[tuple[str, bool]]
    gravity_base: Three
    payloads: list[tuple[str, float, tuple[float, float, float]]]
    tips: list[Three]
    constant: Six
    coefficients: list[Three]
    terms: list[Factors] = []
    residual_rms: Six = msgspec.field(default_factory=lambda: [0.0] * 6)
    grid_joints: list[str] = []
    grid_lower: list[float] = []
    grid_step: list[float] = []
    grid_counts: list[int] = []


def save_table(table: TrigonometricTable | LinearTable, path: str | Path) -> None:
    """Write a table.

    Raises:
        DataFileError: The file cannot be written.
    """
    tag = table.tag
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "trigonometric" if isinstance(table, TrigonometricTable) else "linear",
        "source": table.source,
        "robot": tag.robot,
        "joints": [[name, turns] for name, turns in zip(tag.joint_names, tag.rotary, strict=True)],
        "gravity_base": tag.gravity_base.tolist(),
        "payloads": [[link, mass, list(com)] for link, mass, com in tag.payloads],
        "tips": tag.tips.tolist(),
    }
    if isinstance(table, TrigonometricTable):
        content |= {
            "constant": table.constant.tolist(),
            "residual_rms": table.residual_rms.tolist(),
            "terms": [_factors(term, tag) for term in table.terms],
            "coefficients": table.coefficients.tolist(),
        }
    else:
        content |= {
            "constant": [*table.force.tolist(), 0.0, 0.0, 0.0],
            "grid_joints": [tag.joint_names[joint] for joint in table.joints],
            "grid_lower": table.lower.tolist(),
            "grid_step": table.step.tolist(),
            "grid_counts": list(table.moments.shape[:-1]),
            "coefficients": table.moments.reshape(-1, 3).tolist(),
        }
    write_atomically(path, msgspec.json.encode(content))


def load_table(path: str | Path, robot: Robot) -> TrigonometricTable | LinearTable:
    """Read a table and check that it belongs to a robot as it stands: joints, geometry, mounting, payload.

    Raises:
        DataFileError: The file cannot be read, is no table, or belongs to another robot, mounting or payload.
    """
    content = _decoded(path)
    tag = TableTag(
        content.robot,
        tuple(name for name, _ in content.joints),
        tuple(turns for _, turns in content.joints),
        frozen(content.gravity_base),
        tuple((link, mass, com) for link, mass, com in content.payloads),
        frozen(np.array(content.tips).reshape(-1, 3)),
    )
    numbers = frozen(np.array(content.coefficients).reshape(-1, 3))
    constant = frozen(content.constant)
    for array in (tag.gravity_base, tag.tips, numbers, constant):
        if not np.isfinite(array).all():
            raise DataFileError("holds numbers that are not finite", path=path)
    try:
        tag.refuse_other(robot)
    except InputError as error:
        raise DataFileError(str(error), path=path) from error
    _refuse_impossible(content, robot, path)
    if content.kind == "trigonometric":
        terms = tuple(_monomial(factors, tag, path) for factors in content.terms)
        if len(terms) != len(numbers):
            raise DataFileError(f"has {len(terms)} terms and {len(numbers)} coefficients", path=path)
        rms = frozen(content.residual_rms)
        return TrigonometricTable(tag, constant, terms, numbers, content.source, rms)
    return _linear(content, tag, constant, numbers, path)


def _refuse_impossible(content: GravityTableFile, robot: Robot, path: str | Path) -> None:
    """Refuse forces and moments that no arm of the robot's size has.

    Raises:
        DataFileError: A number lies beyond its bound; the message names its field.
    """
    torque = FileBounds.of(robot, "N m").torque
    for name, values in (
        ("constant", content.constant),
        ("coefficients", content.coefficients),
        ("residual_rms", content.residual_rms),
        ("grid_lower", content.grid_lower),
        ("grid_step", content.grid_step),
    ):
        array = np.asarray(values, dtype=np.float64)
        most = float(np.abs(array).max(initial=0.0))
        if not most <= torque:  # NaN too
            raise DataFileError(f"{name} holds {most:g}; expected at most {torque:g} for this robot", path=path)


def _linear(content: GravityTableFile, tag: TableTag, constant: Array, numbers: Array, path: str | Path) -> LinearTable:
    place = {name: index for index, name in enumerate(tag.joint_names)}
    unknown = [name for name in content.grid_joints if name not in place]
    sizes = {len(content.grid_joints), len(content.grid_lower), len(content.grid_step), len(content.grid_counts)}
    if unknown or len(sizes) != 1 or int(np.prod(content.grid_counts, dtype=object)) != len(numbers):
        raise DataFileError("is no gravity table: its grid does not fit its numbers", path=path)
    if not all(count >= 2 for count in content.grid_counts) or not all(step > 0.0 for step in content.grid_step):
        raise DataFileError("is no gravity table: its grid has no cells", path=path)
    joints = tuple(place[name] for name in content.grid_joints)
    lower, step = frozen(content.grid_lower), frozen(content.grid_step)
    moments = frozen(numbers.reshape(*content.grid_counts, 3))
    return LinearTable(tag, frozen(constant[:3]), joints, lower, step, moments)


def _decoded(path: str | Path) -> GravityTableFile:
    data = read_data(path, MAX_TABLE_BYTES)
    try:
        content = msgspec.json.decode(data, type=GravityTableFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataFileError(f"is no gravity table: {error}", path=path) from error
    if content.schema != SCHEMA or content.kind not in ("trigonometric", "linear"):
        told = f"has schema {content.schema!r} and kind {content.kind!r}; this version reads {SCHEMA}"
        raise DataFileError(told, path=path)
    if content.source not in ("model", "measured"):
        raise DataFileError(f"has source {content.source!r}; expected 'model' or 'measured'", path=path)
    return content


def _factors(term: Monomial, tag: TableTag) -> Factors:
    words = {COS: "cos", SIN: "sin"}
    return [(tag.joint_names[joint], words[kind] if tag.rotary[joint] else "position") for joint, kind in term]


def _monomial(factors: Factors, tag: TableTag, path: str | Path) -> Monomial:
    place = {name: index for index, name in enumerate(tag.joint_names)}
    found: list[tuple[int, int]] = []
    for name, word in factors:
        joint = place.get(name)
        fits = joint is not None and (word in ("cos", "sin")) == tag.rotary[joint] and word in _FUNCTIONS
        if joint is None or not fits or joint in (known for known, _ in found):
            raise DataFileError(f"is no gravity table: a term has the factor {word} {name!r}", path=path)
        found.append((joint, _FUNCTIONS[word]))
    return tuple(found)
