"""Which column is the time, and in which unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Column, Columns
from .garbage import without_garbage
from .mapping import LogMapping, Put
from .names import TIME_WORDS, kind_of, unit_of, word_set, words_of
from .table import TableSource
from .units import TIME

HEAD_ROWS = 200
"""Rows by which a time is recognised: it does not go back, and its size and steps tell the unit."""
SLOWEST, FASTEST = 0.5, 20_000.0
"""Sampling rates [Hz] that a recording of an arm has."""
LONGEST_STEP = 60.0
"""Time between two rows [s] beyond which large numbers are no seconds since 1970: they count something finer."""

_NANOSECONDS = word_set("nsec nsecs nanosec nanosecs nanoseconds")
_EPOCH = (0.94e9, 4.1e9)
"""Seconds since 1970 in the years 2000 to 2099."""


@dataclass(frozen=True, slots=True)
class TimeProposal:
    """What names and numbers say about the time.

    Attributes:
        columns: The column of the time by source; absent for sources that have time of their own, or none.
        open_units: Units that the time may have, by its steps, where neither name nor size tell; None where they do.
        refused: A column that is called time and goes back: "file", "column", the first "row" that does, counted from
            0, "back" of "steps".
    """

    columns: Mapping[int, Column]
    open_units: tuple[str, ...] | None = None
    refused: Mapping[str, Any] = field(default_factory=dict)


def propose_time(columns: Columns, given: LogMapping, put: Put) -> TimeProposal:
    """Find the column of the time in each source that has no time of its own.

    Args:
        columns: The columns of the recording.
        given: What the mapping says already.
        put: Sets a value of the mapping, with its reason.

    Raises:
        DataFileError: The mapping names a column that is not there.
    """
    if given.time.rate is not None:
        return TimeProposal({})
    if given.time.column is not None and not any(given.time.column in s.column_names for s in columns.sources):
        columns.find(given.time.column)  # by "file:name", or an error with the names there are
    found: dict[int, Column] = {}
    open_units: tuple[str, ...] | None = None
    refused: dict[str, Any] = {}
    for number, source in enumerate(columns.sources):
        if source.has_time:
            continue
        own = [column for column in columns.all if column.source == number]
        named = [column for column in own if given.time.column in (column.name, column.reference)]
        times = named or [column for column in own if _is_time(column.name, own)]
        if not times:
            continue
        head = _head(source)
        chosen = next((column for column in times if named or _increases(head[:, column.index])), None)
        if chosen is None:
            refused = refused or _refusal(source, times[0], head[:, times[0].index])
            continue
        found[number] = chosen
        put(("time", "column"), chosen.name, "its name says time, and it does not go back")
        if given.time.unit is not None:
            continue
        told = unit_of(chosen.name)
        unit = told if told in TIME else _unit_since_1970(head[:, chosen.index])
        if unit is None:
            open_units = _units_by_step(head[:, chosen.index]) if open_units is None else open_units
        elif unit != "s":
            put(("time", "unit"), unit, "its name says so" if told == unit else f"as time since 1970 it is in {unit}")
    return TimeProposal(found, open_units, refused)


def _is_time(name: str, own: list[Column]) -> bool:
    words = set(words_of(name))
    if not words & TIME_WORDS or words & _NANOSECONDS or kind_of(tuple(words - TIME_WORDS)) is not None:
        return False
    # Whole seconds beside a column of nanoseconds are no time by themselves.
    whole = words & {"sec", "secs"}
    return not (whole and any(_NANOSECONDS & set(words_of(column.name)) for column in own))


def _head(source: TableSource) -> np.ndarray[Any, np.dtype[np.float64]]:
    tables = source.tables(HEAD_ROWS)
    try:
        table = next(tables, None)
    finally:
        tables.close()  # type: ignore[attr-defined]
    return np.empty((0, len(source.column_names))) if table is None else without_garbage(table)


def _increases(values: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Whether nearly all steps go forward: a recording may have some bad times."""
    known = values[np.isfinite(values)]
    if known.size < 2:
        return bool(known.size == len(values))
    return bool(np.mean(known[1:] >= known[:-1]) > 0.9 and known[-1] > known[0])


def _unit_since_1970(values: np.ndarray[Any, np.dtype[np.float64]]) -> str | None:
    """Return the unit in which numbers are times of our century; None where they are not."""
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low, high = np.quantile(known, [0.1, 0.9]).tolist()  # single stamps may be wild
    step = float(np.median(np.abs(np.diff(known)))) if known.size > 1 else 0.0
    for unit, factor in TIME.items():
        if low * factor > _EPOCH[0] and high * factor < _EPOCH[1] and step * factor < LONGEST_STEP:
            return unit
    return None


def _units_by_step(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[str, ...] | None:
    """Return the units in which steps make a likely rate; None where seconds alone do, or nothing tells."""
    steps = np.diff(values[np.isfinite(values)])
    steps = steps[steps > 0.0]
    if not steps.size:
        return None
    usual = float(np.median(steps))
    units = tuple(unit for unit, factor in TIME.items() if SLOWEST <= 1.0 / (usual * factor) <= FASTEST)
    return None if units == ("s",) else units


def _refusal(source: TableSource, column: Column, values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    rows = np.flatnonzero(np.isfinite(values))
    back = np.flatnonzero(np.diff(values[rows]) < 0.0)
    file = Path(source.path).name
    first = int(rows[back[0] + 1]) if len(back) else 0
    return {"file": file, "column": column.name, "row": first, "back": len(back), "steps": max(len(rows) - 1, 0)}
