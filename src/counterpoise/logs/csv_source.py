"""Text files as tables: read in blocks, in constant memory, every number as Python's float() would give it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..description.frozen import Array
from ..errors import DataFileError, reason_of
from .budget import Spending
from .csv_dates import fill_dates
from .csv_layout import DELIMITER_NAMES, MAX_LINE_BYTES, csv_layout
from .csv_numbers import COMMENTS, Status, parse_rows
from .own_format import CSV_TAG, About, check_columns
from .table import CHUNK_ROWS, Recovery, RowFault, Table, bounded_rows

BLOCK_BYTES = 1 << 18

_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")


class CsvSource:
    """A CSV file. Its columns keep the names of its header; dates become seconds, other text is left out.

    Attributes:
        layout: How the file is laid out.
        about: What the file says of itself if it is a log of ours, else None.
    """

    name = ""
    has_time = False
    recovery: Recovery | None = None

    def __init__(self, path: str | Path, spending: Spending | None = None) -> None:
        """Look at the head of the file.

        Args:
            path: The file.
            spending: What it may cost.

        Raises:
            DataFileError: It cannot be read, holds no rows of numbers, or claims to be a log of ours and is none.
        """
        self.path = str(path)
        self.layout = csv_layout(path, spending or Spending())
        unread = set(self.layout.text_columns) - set(self.layout.date_columns)
        self._kept = [i for i in range(len(self.layout.names)) if i not in unread]
        self.column_names = tuple(self.layout.names[i] for i in self._kept)
        self.progress = 0.0
        self.about: About | None = None
        text = next((comment for comment in self.layout.comments if comment.startswith(CSV_TAG)), None)
        if text is not None:
            self.about = About.from_text(text.removeprefix(CSV_TAG), path, line=1)
            check_columns(self.column_names, self.about, path, line=2)

    def tables(self, rows: int = CHUNK_ROWS) -> Iterator[Table]:
        """Yield the rows in pieces of at most ``rows``; a line that is no row is one of NaN, and a fault of its piece.

        Raises:
            DataFileError: The file cannot be read.
        """
        try:
            with Path(self.path).open("rb") as stream:
                yield from self._tables(stream, rows)
        except OSError as error:
            raise DataFileError(f"cannot be read: {reason_of(error)}", path=self.path) from error

    def _tables(self, stream: BinaryIO, rows: int) -> Iterator[Table]:
        layout = self.layout
        columns = len(layout.names)
        rows = bounded_rows(rows, columns)
        skip = bytes(1 if column in layout.text_columns else 0 for column in range(columns))
        total = stream.seek(0, 2)
        stream.seek(layout.begin)
        self.progress = 0.0
        lines_left = _LineBuffer(stream, layout.begin)
        out, filled = np.empty((rows, columns)), 0
        faults: list[RowFault] = []
        while True:
            taken, position, _, status, column, field = parse_rows(
                lines_left.text, lines_left.position, out[filled:], columns, layout.delimiter, skip
            )
            if layout.date_columns:
                passed = bytes(lines_left.text[lines_left.position : position])
                fill_dates(passed, out[filled : filled + taken], layout.delimiter, layout.date_columns)
            lines_left.position = position
            filled += taken
            what = ""
            if status not in (Status.DONE, Status.FULL):
                what = self._fault(Status(status), column, field)
            elif status == Status.DONE and lines_left.size - position > MAX_LINE_BYTES:
                what = f"has a line of more than {MAX_LINE_BYTES} bytes"
            elif status == Status.DONE and not lines_left.read_on():
                break
            if what:
                if filled == rows:
                    yield self._piece(out, faults)
                    out, filled, faults = np.empty((rows, columns)), 0, []
                out[filled] = np.nan
                faults.append(RowFault(filled, what))
                filled += 1
                lines_left.skip_line()
            if filled == rows:
                yield self._piece(out, faults)
                out, filled, faults = np.empty((rows, columns)), 0, []
            self.progress = min(lines_left.passed / total, 1.0)
        if filled:
            yield self._piece(out[:filled], faults)
        self.progress = 1.0

    def lines_of(self, rows: list[int]) -> list[int]:
        """Return the lines of some rows, counted from 1; rows are counted from 0 and in order."""
        found: list[int] = []
        row, tabs = 0, self.layout.delimiter == ord("\t")
        with Path(self.path).open("rb") as stream:
            stream.seek(self.layout.begin)
            for number, text in enumerate(stream, self.layout.line):
                if len(found) == len(rows):
                    break
                line = text.removesuffix(b"\n").removesuffix(b"\r")
                bare = line.lstrip(b" \t")
                if (bare or (line and tabs)) and not bare.startswith(COMMENTS):
                    if row == rows[len(found)]:
                        found.append(number)
                    row += 1
        return found

    def _piece(self, rows: Array, faults: list[RowFault]) -> Table:
        return Table(None, rows if len(self._kept) == rows.shape[1] else rows[:, self._kept], tuple(faults))

    def _fault(self, status: Status, column: int, field: bytes) -> str:
        names = self.layout.names
        if status == Status.FIELD_COUNT:
            between = DELIMITER_NAMES[self.layout.delimiter]
            return f"has {column} fields here and {len(names)} columns ({between}-separated)"
        if status == Status.OPEN_QUOTE:
            return f"has a quote in column {column + 1} that is not closed"
        if _DECIMAL_COMMA.fullmatch(field):
            return (
                f"column '{names[column]}' holds {field.decode()!r}, a decimal comma; save it with decimal points: 1.5"
            )
        return f"column '{names[column]}' holds {field[:40].decode(errors='replace')!r}, no number"


class _LineBuffer:
    """Text of a file, block by block, in one piece of memory; what is left of a block is kept for the next.

    Attributes:
        position: How far the text has been used.
        size: Bytes of the text.
    """

    def __init__(self, stream: BinaryIO, begin: int) -> None:
        self._stream = stream
        self._memory = bytearray(2 * BLOCK_BYTES)
        self._begin = begin
        self._ended = False
        self.position = 0
        self.size = 0

    @property
    def text(self) -> memoryview:
        return memoryview(self._memory)[: self.size]

    @property
    def passed(self) -> int:
        """Bytes of the file up to where the text has been used."""
        return self._begin + self.position

    def skip_line(self) -> None:
        """Pass over the present line, however long it is."""
        while (end := self._memory.find(b"\n", self.position, self.size)) < 0:
            self.position = self.size
            if not self.read_on():
                return
        self.position = end + 1

    def read_on(self) -> bool:
        """Put the next block behind what is left; False where nothing comes any more."""
        left = self._memory[self.position : self.size]
        self._begin += self.position
        if len(self._memory) < len(left) + BLOCK_BYTES:
            self._memory = bytearray(2 * len(left) + 2 * BLOCK_BYTES)
        self._memory[: len(left)] = left
        self.position, self.size = 0, len(left)
        if self._ended:
            return False
        count = self._stream.readinto(memoryview(self._memory)[self.size : self.size + BLOCK_BYTES])  # type: ignore[attr-defined]
        self.size += count
        if count == 0:
            self._ended = True
            if left:  # the last line may lack its end
                self._memory[self.size : self.size + 1] = b"\n"
                self.size += 1
        return self.size > 0
