"""What a calibration file holds: the tables of its JSON, checked strictly on reading.

JSON knows neither NaN nor infinity. ``null`` stands for "not measured" in a number per joint, and for "unknown" in a
standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from .prior import covariance_root
from .statements import UseName

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


class TermsTable(_Table, frozen=True, kw_only=True):
    """What was fitted, as in terms.py: joint names, or "all", for each term."""

    bodies: Literal["gravity", "full"]
    offset: tuple[str, ...]
    coulomb: tuple[str, ...]
    viscous: tuple[str, ...]
    rotor: tuple[str, ...]
    spring: tuple[str, ...]
    counterbalance: tuple[str, ...]
    gain: tuple[str, ...]
    zero: tuple[str, ...]
    tilt: bool


class ModelTable(_Table, frozen=True, kw_only=True):
    """What was fitted: terms, which joints had a measured effort, couplings, the values, and all bodies' parameters.

    ``root`` is the lower triangle of L, row by row, with L Lᵀ the covariance of ``values``; empty where there is none.
    ``payload`` is the share of declared payloads in ``bodies``; empty for none.
    """

    terms: TermsTable
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
