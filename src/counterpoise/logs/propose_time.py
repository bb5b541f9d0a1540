"""Which column is the time, and in which unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import Column, Columns
from .garbage import without_garbage
from .mapping import LogMapping, Put
from .names import TIME_WORDS, kind_of, unit_of, word_set, words_of
from .table import TableSource

HEAD_ROWS = 200
"""Rows by which a time is recognised: it does not go back, and its size tells the unit."""

_NANOSECONDS = word_set("nsec nsecs nanosec nanosecs nanoseconds")
_EPOCH_UNITS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""Seconds since 1970 are 1.8e9: larger numbers are finer units."""


def propose_time(columns: Columns, given: LogMapping, put: Put) -> dict[int, Column]:
    """Find the column of the time in each source that has no time of its own.

    Args:
        columns: The columns of the recording.
        given: What the mapping says already.
        put: Sets a value of the mapping, with its reason.

    Returns:
        Columns by source.

    Raises:
        DataFileError: The mapping names a column that is not there.
    """
    if given.time.rate is not None:
        return {}
    if given.time.column is not None and not any(given.time.column in s.column_names for s in columns.sources):
        columns.find(given.time.column)  # by "file:name", or an error with the names there are
    found: dict[int, Column] = {}
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
            continue
        found[number] = chosen
        put(("time", "column"), chosen.name, "its name says time, and it does not go back")
        if given.time.unit is not None:
            continue
        told = unit_of(chosen.name)
        unit = told if told in ("s", "ms", "us", "ns") else _unit_by_size(head[:, chosen.index])
        if unit != "s":
            put(("time", "unit"), unit, "its name says so" if told == unit else "seconds since 1970 would be 1.8e9")
    return found


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


def _unit_by_size(values: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    known = values[np.isfinite(values)]
    size = float(np.sort(np.abs(known))[known.size // 2]) if known.size else 0.0
    return next((unit for least, unit in _EPOCH_UNITS if size > least), "s")
