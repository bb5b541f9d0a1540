"""Text files as tables: read in blocks, in constant memory, every number as Python's float() would give it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..description.frozen import Array
from ..errors import DataFileError
from .csv_layout import DELIMITER_NAMES, MAX_LINE_BYTES, csv_layout
from .csv_numbers import Status, parse_rows
from .table import CHUNK_ROWS, Recovery, Table

BLOCK_BYTES = 1 << 20

_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")


class CsvSource:
    """A CSV file. Its columns keep the names of its header; those that hold text are left out.

    Attributes:
        layout: How the file is laid out.
    """

    name = ""
    has_time = False

    def __init__(self, path: str | Path, *, recover: bool = False) -> None:
        """Look at the head of the file.

        Args:
            path: The file.
            recover: End with what can be read when a line is damaged, instead of refusing the file.

        Raises:
            DataFileError: It cannot be read or holds no rows of numbers.
        """
        self.path = str(path)
        self.layout = csv_layout(path)
        self._recover = recover
        self._kept = [i for i in range(len(self.layout.names)) if i not in self.layout.text_columns]
        self.column_names = tuple(self.layout.names[i] for i in self._kept)
        self.progress = 0.0
        self.recovery: Recovery | None = None

    def tables(self, rows: int = CHUNK_ROWS) -> Iterator[Table]:
        """Yield the rows in pieces of at most ``rows``.

        Raises:
            DataFileError: A line is no row, or the file cannot be read.
        """
        try:
            with Path(self.path).open("rb") as stream:
                yield from self._tables(stream, rows)
        except OSError as error:
            raise DataFileError(f"cannot be read: {error.strerror or error}", path=self.path) from error

    def _tables(self, stream: BinaryIO, rows: int) -> Iterator[Table]:
        layout = self.layout
        columns = len(layout.names)
        skip = bytes(1 if column in layout.text_columns else 0 for column in range(columns))
        total = stream.seek(0, 2)
        stream.seek(layout.begin)
        self.recovery, self.progress = None, 0.0
        text, position, ended = b"", 0, False
        begin, line, given = layout.begin, layout.line, 0
        out, filled = np.empty((rows, columns)), 0
        while True:
            taken, position, lines, status, column, field = parse_rows(
                text, position, out[filled:], columns, layout.delimiter, skip
            )
            filled += taken
            line += lines
            if status == Status.FULL:
                yield self._piece(out[:filled])
                given += filled
                out, filled = np.empty((rows, columns)), 0
            elif status != Status.DONE:
                fault = self._fault(line, Status(status), column, field)
                if not self._recover:
                    raise fault
                reason = str(fault).removeprefix(f"{self.path}:")
                self.recovery = Recovery(given + filled, begin + position, total, f"line {reason}")
                break
            elif ended:
                break
            else:
                text, begin = text[position:], begin + position
                if len(text) > MAX_LINE_BYTES:
                    raise DataFileError(f"has a line of more than {MAX_LINE_BYTES} bytes", path=self.path, line=line)
                block = stream.read(BLOCK_BYTES)
                ended = not block
                text, position = text + (b"\n" if ended and text else block), 0
                self.progress = min((begin + len(text)) / total, 1.0)
        if filled:
            yield self._piece(out[:filled])
        self.progress = 1.0

    def _piece(self, rows: Array) -> Table:
        return Table(None, rows if len(self._kept) == rows.shape[1] else rows[:, self._kept])

    def _fault(self, line: int, status: Status, column: int, field: bytes) -> DataFileError:
        names = self.layout.names
        if status == Status.FIELD_COUNT:
            what = f"has {column} fields here and {len(names)} columns ({DELIMITER_NAMES[self.layout.delimiter]}-separated)"
        elif status == Status.OPEN_QUOTE:
            what = f"has a quote in column {column + 1} that is not closed"
        elif _DECIMAL_COMMA.fullmatch(field):
            what = (
                f"column '{names[column]}' holds {field.decode()!r}, a decimal comma; save the file with decimal points "
                "(1.5, not 1,5)"
            )
        else:
            what = f"column '{names[column]}' holds {field[:40].decode(errors='replace')!r}, no number"
        if not self._recover:
            what += "; recover=True (--recover) reads what is before it"
        return DataFileError(what, path=self.path, line=line)
