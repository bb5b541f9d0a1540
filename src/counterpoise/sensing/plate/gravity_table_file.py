"""Gravity tables in files: the table as it is, read for the robot, mounting and payload that it was built for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...dynamics import Robot
from ...errors import DataFileError, InputError
from ...foundation import frozen, read_document, refuse_beyond, refuse_shape, write_document
from ...identification import FileBounds
from .gravity_table import COS, SIN, LinearTable, Monomial, TableTag, TrigonometricTable

TRIGONOMETRIC, LINEAR = "counterpoise-gravity-table", "counterpoise-gravity-grid"
VERSION = 1
MAX_TABLE_BYTES = 1 << 30


def save_table(table: TrigonometricTable | LinearTable, path: str | Path) -> Path:
    """Write a table, all or nothing.

    Returns:
        The file that was written.

    Raises:
        DataFileError: The file cannot be written.
    """
    return write_document(path, TRIGONOMETRIC if isinstance(table, TrigonometricTable) else LINEAR, VERSION, table)


def load_table(path: str | Path, robot: Robot) -> TrigonometricTable | LinearTable:
    """Read a table and check that it belongs to a robot as it stands: joints, geometry, mounting, payload.

    Raises:
        DataFileError: The file cannot be read, is no table, or belongs to another robot, mounting or payload.
    """
    tables: dict[str, type[TrigonometricTable | LinearTable]] = {TRIGONOMETRIC: TrigonometricTable, LINEAR: LinearTable}
    table = read_document(path, tables, VERSION, kind="gravity table", most=MAX_TABLE_BYTES)
    try:
        _check_tag(table.tag, robot)
        most = FileBounds.of(robot, "N m").torque
        return _trigonometric(table, most) if isinstance(table, TrigonometricTable) else _linear(table, most)
    except InputError as error:
        raise DataFileError(str(error), path=path) from error


def _check_tag(tag: TableTag, robot: Robot) -> None:
    """Refuse a table of another robot, mounting or payload."""
    refuse_shape("tag.gravity_base", tag.gravity_base, (3,))
    for name in ("gravity_base", "tips"):
        values = getattr(tag, name)
        refuse_beyond(f"tag.{name}", values, -np.inf, np.inf)  # NaN is within no tolerance, and beyond none
    tag.refuse_other(robot)


def _trigonometric(table: TrigonometricTable, most: float) -> TrigonometricTable:
    """Return a table of a file; refuse terms that are none, and moments [N m] that no arm of the robot's size has."""
    coefficients = table.coefficients if table.terms else frozen(np.zeros((0, 3)))
    refuse_shape("constant", table.constant, (6,))
    refuse_shape("residual_rms", table.residual_rms, (6,))
    refuse_shape("coefficients", coefficients, (len(table.terms), 3))
    refuse_beyond("constant", table.constant, -most, most)
    refuse_beyond("coefficients", coefficients, -most, most)
    refuse_beyond("residual_rms", table.residual_rms, 0.0, most)
    for term in table.terms:
        _check_term(term, table.tag)
    return TrigonometricTable(table.tag, table.constant, table.terms, coefficients, table.source, table.residual_rms)


def _check_term(term: Monomial, tag: TableTag) -> None:
    """Refuse a product that has no value: of a joint that is not there, of one joint twice, of another function."""
    joints = [joint for joint, _ in term]
    there = all(0 <= joint < len(tag.rotary) for joint in joints) and len(set(joints)) == len(joints)
    if not there or not all(kind in ((COS, SIN) if tag.rotary[joint] else (COS,)) for joint, kind in term):
        raise InputError(f"terms holds the factors {term}, which are none of this robot's")


def _linear(table: LinearTable, most: float) -> LinearTable:
    """Return a table of a file; refuse a grid that is none, and moments [N m] that no arm of the robot's size has."""
    size, counts = len(table.joints), table.moments.shape[:-1]
    if len(set(table.joints)) != size or not all(0 <= joint < len(table.tag.rotary) for joint in table.joints):
        raise InputError(f"joints holds {table.joints}: the grid is none over this robot's joints")
    if len(counts) != size or table.moments.shape[-1] != 3 or not all(count >= 2 for count in counts):
        raise InputError(f"moments has shape {table.moments.shape}: it fits no grid over {size} joints")
    refuse_shape("force", table.force, (3,))
    for name in ("lower", "step"):
        refuse_shape(f"grid {name}", getattr(table, name), (size,))
        refuse_beyond(f"grid {name}", getattr(table, name), -most if name == "lower" else 1e-9, most)
    refuse_beyond("force", table.force, -most, most)
    refuse_beyond("moments", table.moments, -most, most)
    return table
