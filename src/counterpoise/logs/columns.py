"""Columns of several sources under one roof: what each is called, and how a mapping refers to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataFileError, listed
from .names import words_of
from .table import TableSource

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
