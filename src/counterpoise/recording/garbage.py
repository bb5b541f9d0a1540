"""Rows that are no measurement: damaged lines, and numbers that no recording holds. They are named, or left out.

A packet that was read from the wrong byte on, or a line that two programs wrote into, gives fields that are no numbers,
too many or too few of them, or numbers like 1e242. One such row among many says nothing of the others: without recovery
the file is refused with the lines, with recovery exactly these rows are left out.

Where most numbers of a column are beyond all bounds they are in another unit, which is no matter of single rows. NaN
and infinite numbers say that nothing was measured; they are flagged (recording/conversion.py). A log of ours holds what
was sampled, whatever it was, with flags of its own: its numbers are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import DataFileError
from ..foundation import Array
from .table import Recovery, Table, TableSource

LARGEST = 1e10
"""Largest position, speed, effort or wrench, in whatever unit: encoders count to 2³² = 4.3e9."""
LARGEST_TIME = 1e20
"""Largest time, in whatever unit: 1.8e18 ns have passed since 1970."""
SHOWN = 5
"""Rows that are named."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Census:
    """What a whole source holds of garbage.

    Attributes:
        rows: All rows.
        count: Those that are garbage.
        first: What is wrong with the first one; "" where there is none.
        places: Where the first ones are: lines of a text file, else rows, both counted from 1.
        lines: Whether places are lines.
        usual: Which of the wanted columns are mostly within bounds, shape (m,); the time is the last one.
    """

    rows: int
    count: int
    first: str
    places: tuple[int, ...]
    lines: bool
    usual: Mask

    @property
    def described(self) -> str:
        """What is wrong, and where, in words."""
        kind = "line" if self.lines else "row"
        if self.count == 1:
            return f"{kind} {self.places[0]}: {self.first}"
        shown = ", ".join(str(place) for place in self.places)
        more = f" and {self.count - len(self.places)} more" if self.count > len(self.places) else ""
        return f"{kind} {self.places[0]}: {self.first}; {self.count} rows are garbage: {kind}s {shown}{more}"


def without_garbage(table: Table) -> Array:
    """Return the rows of a table, of whose columns nothing is known yet, that are no garbage, shape (k, m)."""
    good = ~np.any((np.abs(table.columns) > LARGEST_TIME) & np.isfinite(table.columns), axis=1)
    good[[fault.row for fault in table.faults]] = False
    return np.asarray(table.columns[good])


class Screen:
    """Gives the rows of a source with a mask of those that are garbage.

    Attributes:
        recovery: What was left out, known after the iteration; None where nothing was.
    """

    def __init__(self, source: TableSource, columns: tuple[int, ...], time_column: int | None, recover: bool) -> None:
        """Screen some columns of a source.

        Args:
            source: Where the rows come from.
            columns: Those that are wanted: what others hold does not matter.
            time_column: The column that is the time; None where there is none among them.
            recover: Mark garbage instead of refusing the source.
        """
        self._source, self._recover = source, recover
        self._columns = [*columns] if time_column is None else [*columns, time_column]
        self._bounds = np.array([LARGEST] * len(columns) + [LARGEST_TIME] * (time_column is not None))
        self.recovery: Recovery | None = None

    def tables(self, rows: int) -> Iterator[tuple[Table, Mask | None]]:
        """Yield the tables, and which of their rows are garbage, shape (k,); None where none is.

        Raises:
            DataFileError: Rows are garbage and recovery was not asked for, or most of them are.
        """
        census: Census | None = None
        for table in self._source.tables(rows):
            beyond = self._beyond(table)
            if not table.faults and not beyond.any():
                yield table, None
                continue
            if census is None:
                census = self._census()
                self._judge(census)
            bad = np.any(beyond & census.usual, axis=1)
            bad[[fault.row for fault in table.faults]] = True
            yield table, bad if bad.any() else None
        if census is not None and census.count:
            path = Path(self._source.path)
            size = path.stat().st_size if path.is_file() else 0
            self.recovery = Recovery(census.rows - census.count, size, size, census.described, census.count)

    def _beyond(self, table: Table) -> Mask:
        """Return which of the wanted numbers are beyond all bounds, shape (k, m)."""
        if self._source.about is not None:
            return np.zeros((len(table.columns), len(self._columns)), dtype=bool)
        values = np.abs(table.columns[:, self._columns])
        return np.asarray((values > self._bounds) & (values < np.inf))

    def _census(self) -> Census:
        """Look through the whole source."""
        total, counts = 0, np.zeros(len(self._columns), dtype=np.int64)
        for table in self._source.tables():
            counts += self._beyond(table).sum(axis=0)
            total += len(table.columns)
        usual = counts <= total // 2
        count, begin, first = 0, 0, ""
        found: list[int] = []
        for table in self._source.tables():
            beyond = self._beyond(table) & usual
            damaged = {fault.row: fault.what for fault in table.faults}
            rows = np.union1d(np.flatnonzero(beyond.any(axis=1)), np.array(list(damaged), dtype=np.int64))
            if len(rows) and not count:
                row = int(rows[0])
                first = damaged.get(row) or self._named(table, row, beyond[row])
            count += len(rows)
            found += [begin + int(row) for row in rows[: SHOWN - len(found)]]
            begin += len(table.columns)
        lines = getattr(self._source, "lines_of", None)
        places = [row + 1 for row in found] if lines is None else lines(found)
        return Census(total, count, first, tuple(places), lines is not None, usual)

    def _named(self, table: Table, row: int, beyond: Array) -> str:
        column = self._columns[int(np.argmax(beyond))]
        value, name = table.columns[row, column], self._source.column_names[column]
        return f"column '{name}' holds {value:.6g}, which no recording can hold"

    def _judge(self, census: Census) -> None:
        """Refuse a source with garbage, where recovery was not asked for or is of no use."""
        if not census.count:
            return
        place, told = census.places[0], census.described.split(": ", 1)[1]
        if census.count > census.rows - census.count:
            told += f", of {census.rows} in all: is this a table of numbers?"
        elif self._recover:
            return
        else:
            told += f"; recover=True (--recover) leaves {'this row' if census.count == 1 else 'these rows'} out"
        if not census.lines:
            told = f"row {place}: {told}"
        raise DataFileError(told, path=self._source.path, line=place if census.lines else None)
