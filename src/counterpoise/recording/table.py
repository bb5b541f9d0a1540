"""What every reader gives: named columns of numbers over time, in pieces. Meaning comes later, from the mapping.

``Columns`` has the columns of several sources together: what each is called, and how a mapping refers to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from ..errors import DataFileError, listed
from ..foundation import Array
from .names import words_of

if TYPE_CHECKING:
    from .own_format import About


MessageTime = Literal["stamp", "received"]
"""Which time of a bag's message counts: when it was made, as it says itself, or when it was received."""
CHUNK_ROWS = 65_536
"""Rows of a piece, unless told otherwise."""
MAX_PIECE_BYTES = 1 << 26
"""Largest piece: wide tables come in fewer rows."""


def bounded_rows(rows: int, columns: int) -> int:
    """Return how many rows a piece of so many columns may have, at most ``rows``."""
    return max(1, min(rows, MAX_PIECE_BYTES // (8 * max(columns, 1))))


@dataclass(frozen=True, slots=True)
class RowFault:
    """A row of a piece that is damaged.

    Attributes:
        row: Which one, counted from 0.
        what: What is wrong with it.
    """

    row: int
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A piece of a source: rows in the order of the file.

    Attributes:
        time: When each row was measured [s], shape (k,); None where the source has no time of its own (a CSV file keeps
            its time among the columns until a mapping says which one it is).
        columns: The numbers, shape (k, m), float64; NaN where a row has none.
        faults: Rows that are damaged; they hold NaN and keep their place.
    """

    time: Array | None
    columns: Array
    faults: tuple[RowFault, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovery:
    """How much of a damaged source could be read.

    Attributes:
        rows: Rows that were read.
        bytes_read: Bytes of the file up to the last good row.
        bytes_total: Bytes of the file.
        reason: What is wrong where reading ended, or with the rows that were left out.
        left_out: Rows in between that were left out.
    """

    rows: int
    bytes_read: int
    bytes_total: int
    reason: str
    left_out: int = 0


class TableSource(Protocol):
    """One table of one file: a CSV file, a set of arrays, a topic of a bag.

    Attributes:
        path: The file.
        name: Its name within the file: a topic; empty where the file holds one table.
        column_names: Names of the m columns. A ``sensor_msgs/JointState`` topic has ``position.<joint>``,
            ``velocity.<joint>``, ``effort.<joint>``; a ``geometry_msgs/WrenchStamped`` topic has ``force.x`` …
            ``torque.z``.
        has_time: Whether the tables carry time.
        about: What a log file of ours says of itself; None for any other file.
    """

    @property
    def path(self) -> str:
        """The file."""
        ...

    @property
    def name(self) -> str:
        """Its name within the file."""
        ...

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    @property
    def has_time(self) -> bool:
        """Whether the tables carry time."""
        ...

    @property
    def about(self) -> About | None:
        """What a log file of ours says of itself."""
        ...

    def tables(self, rows: int = CHUNK_ROWS) -> Iterator[Table]:
        """Yield the rows in pieces of at most ``rows``, from the start; memory does not grow with the file.

        Raises:
            DataFileError: The file cannot be read or is damaged (and recovery was not asked for).
        """
        ...

    @property
    def progress(self) -> float:
        """Share of the source that the running iteration has read, 0 to 1."""
        ...

    @property
    def recovery(self) -> Recovery | None:
        """What recovery had to leave out, known after the iteration; None for a whole file."""
        ...


SHOWN_NAMES = 60
"""Names that a message lists at most."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one source.

    Attributes:
        source: Index of the source.
        index: Index of the column within it.
        name: Its name in the source.
        reference: How a mapping refers to it: the name, or "file:name" or "topic:name" where several sources have that
            name, with "#2" behind it for the second of that name within one source.
    """

    source: int
    index: int
    name: str
    reference: str


class Columns:
    """All columns of the sources of a recording."""

    def __init__(self, sources: Sequence[TableSource]) -> None:
        """Give each column its reference."""
        self.sources = tuple(sources)
        self.labels = _labels(self.sources)
        often = Counter(name for source in self.sources for name in source.column_names)
        found = []
        for number, source in enumerate(self.sources):
            within = Counter(source.column_names)
            seen: Counter[str] = Counter()
            for index, name in enumerate(source.column_names):
                seen[name] += 1
                exact = name if within[name] == 1 else f"{name}#{seen[name]}"
                alone = often[name] == within[name]
                found.append(Column(number, index, name, exact if alone else f"{self.labels[number]}:{exact}"))
        self.all = tuple(found)
        self._by_reference: dict[str, list[Column]] = {}
        for column in self.all:
            label = self.labels[column.source]
            exact = column.reference.removeprefix(f"{label}:")
            for reference in {column.name, exact, f"{label}:{column.name}", f"{label}:{exact}"}:
                self._by_reference.setdefault(reference, []).append(column)

    @property
    def path(self) -> str:
        """The first file, for messages."""
        return self.sources[0].path

    def find(self, reference: str) -> Column:
        """Return the column that a mapping refers to.

        Raises:
            DataFileError: There is none, or there are several.
        """
        found = self._by_reference.get(reference, [])
        if len(found) == 1:
            return found[0]
        if found:
            told = ", ".join(f"'{column.reference}'" for column in found)
            raise DataFileError(f"several columns are called '{reference}'; write one of {told}", path=self.path)
        raise DataFileError(f"has no column '{reference}'; it has {self.listed()}", path=self.path)

    def listed(self) -> str:
        """Name the columns, for messages."""
        return listed([column.reference for column in self.all], SHOWN_NAMES)

    def words(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the words of a source's topic and of its file's name."""
        source = self.sources[number]
        return words_of(source.name), words_of(Path(source.path).stem)


def _labels(sources: Sequence[TableSource]) -> tuple[str, ...]:
    """Return a name for each source: its topic, else its file; with its number where that is not unique."""
    names = [source.name or Path(source.path).name for source in sources]
    often = Counter(names)
    return tuple(name if often[name] == 1 else f"{name}#{number + 1}" for number, name in enumerate(names))
