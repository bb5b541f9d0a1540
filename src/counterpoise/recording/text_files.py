"""Text files as tables: read in blocks, in constant memory, every number as Python's float() would give it.

How a file is laid out is judged by its first lines: delimiter, header, where rows begin, columns of text. Columns of
dates and times of day, as ISO 8601 and its neighbours write them, become seconds.
"""

from __future__ import annotations

import codecs
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import DataFileError, reason_of
from ..foundation import Array
from .budget import Spending
from .csv_numbers import COMMENTS, NUMBER, Status, split_fields
from .kernel import parse_rows
from .own_format import CSV_TAG, About, check_columns
from .table import CHUNK_ROWS, Recovery, RowFault, Table, bounded_rows

_DATE = re.compile(
    rb"(?P<year>[0-9]{4})[-/]?(?P<month>[0-9]{2})[-/]?(?P<day>[0-9]{2})[T_ ]+"
    rb"(?P<hour>[0-9]{2}):?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]{1,12}))?)?"
    rb"\s*(?P<zone>Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(
    rb"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]{1,12}))?"
)


def seconds_of(field: bytes) -> float:
    """Return a date with a time as seconds since 1970, or a time of day as seconds since midnight; NaN for all else.

    Read are "2024-05-01T12:00:00.25Z", also with slashes, or a space or an underline before the time, the basic form
    "20240501T120000", all with a zone or without, which is taken for UTC, and "12:00:00.25". Numbers are no dates.

    Args:
        field: The text.
    """
    text = field.strip()
    found = _DATE.fullmatch(text)
    if found is None:
        found = _TIME_OF_DAY.fullmatch(text)
        if found is None:
            return math.nan
        hour, minute, second = (int(found[part]) for part in ("hour", "minute", "second"))
        if hour > 24 or minute > 59 or second > 60:
            return math.nan
        return 3600.0 * hour + 60.0 * minute + second + _part(found["part"])
    numbers = [int(found[part]) for part in ("year", "month", "day", "hour", "minute")]
    second = int(found["second"] or 0)
    try:
        whole = datetime(*numbers, tzinfo=_zone(found["zone"]))  # type: ignore[misc, arg-type]
        since = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        return math.nan
    if second > 60:  # 60 is a leap second
        return math.nan
    return since + second + _part(found["part"])


def is_date(field: bytes) -> bool:
    """Whether a text is a date with a time, or a time of day."""
    return math.isfinite(seconds_of(field))


def _part(digits: bytes | None) -> float:
    return 0.0 if digits is None else int(digits) / 10.0 ** len(digits)


def _zone(text: bytes | None) -> timezone:
    if text is None or text.upper() in (b"Z", b"UTC"):
        return UTC
    digits = text[1:].replace(b":", b"")
    minutes = 60 * int(digits[:2]) + int(digits[2:] or 0)
    return timezone((1 if text[:1] == b"+" else -1) * timedelta(minutes=minutes))


def fill_dates(text: bytes, rows: Array, delimiter: int, columns: Iterable[int]) -> None:
    """Put the dates of some lines into the rows that were parsed from them.

    Args:
        text: The whole lines that the rows were parsed from; blank ones and comments are passed over.
        rows: The rows, shape (k, m); dates become seconds, what is no date NaN.
        delimiter: Its code; 0 for any run of spaces and tabs.
        columns: Indices of the columns of dates.
    """
    row = 0
    for line in text.split(b"\n"):
        if row == len(rows):
            return
        bare = line.removesuffix(b"\r").lstrip(b" \t")
        if not bare or bare.startswith(COMMENTS):
            continue
        fields, _ = split_fields(line.removesuffix(b"\r"), delimiter)
        for column in columns:
            rows[row, column] = seconds_of(fields[column]) if column < len(fields) else math.nan
        row += 1


HEAD_LINES = 200
"""Lines, without comments and blank ones, by which the layout is judged ..."""
HEAD_BYTES = 2_000_000
"""... and the most bytes that are looked at for it."""
MAX_LINE_BYTES = 1_000_000
"""Longest line; ten thousand numbers printed in full need a fourth of it."""
TEXT_SHARE = 0.2
"""A column with fewer numbers than this share of its fields holds text."""
DELIMITERS = (ord("\t"), ord(";"), ord(","), 0)
"""In order of preference: a file with semicolons may have decimal commas. 0 is any run of spaces and tabs."""
DELIMITER_NAMES = {ord("\t"): "tab", ord(";"): "semicolon", ord(","): "comma", 0: "space"}


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How the rows of a text file are written.

    Attributes:
        delimiter: Its code; 0 for runs of spaces and tabs.
        names: Names of all columns; made up (column_1, ...) where there are none.
        text_columns: Indices of the columns that hold no numbers.
        date_columns: Those of them that hold dates or times of day.
        begin: Where the rows begin [bytes].
        line: Line of the first row, counted from 1.
        comments: Comment lines before the rows, without their mark.
    """

    delimiter: int
    names: tuple[str, ...]
    text_columns: tuple[int, ...]
    date_columns: tuple[int, ...]
    begin: int
    line: int
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    begin: int
    text: bytes


def csv_layout(path: str | Path, spending: Spending) -> CsvLayout:
    """Look at the head of a text file and say how it is laid out.

    Args:
        path: The file.
        spending: Takes its columns.

    Raises:
        DataFileError: It cannot be read, is no text, holds no rows of numbers, or has more columns than the budget.
    """
    try:
        with Path(path).open("rb") as stream:
            lines = list(_head(stream, path))
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=path) from error
    comments = [line for line in lines if line.text.startswith(COMMENTS)]
    written = [line for line in lines if line.text and not line.text.startswith(COMMENTS)]
    binary = [line for line in written if b"\0" in line.text]
    if binary and (2 * len(binary) >= len(written) or binary[0] is written[0]):
        raise DataFileError("is no text: it holds NUL bytes", path=path, line=binary[0].number)
    if not written:
        raise DataFileError("is empty" if not comments else "holds comments and no rows", path=path)
    delimiter = _delimiter(written)
    rows = [_fields(line.text, delimiter) for line in written]
    first, header, units = 0, None, None
    if not _is_row(rows[0]):
        header, first = rows[0], 1
        if header is None:
            raise DataFileError("has a quote in its header that is not closed", path=path, line=written[0].number)
        if len(written) > 2 and _is_units(rows[1], len(header)) and _is_row(rows[2]):
            units, first = rows[1], 2
    elif comments and comments[-1].number < written[0].number:
        header = _commented_header(comments[-1].text, delimiter, len(rows[0] or ()))
    if first >= len(written):
        raise DataFileError("has a header and no row below it", path=path, line=written[0].number)
    sample = [row for row in rows[first:] if row is not None]
    columns = Counter(map(len, sample)).most_common(1)[0][0] if sample else 1
    columns = columns if header is None else len(header)
    spending.spend("columns", columns, path)
    date_columns = tuple(column for column in range(columns) if _is_dates(sample, column))
    text_columns = tuple(column for column in range(columns) if column in date_columns or _is_text(sample, column))
    if len(text_columns) == columns:
        shown = (rows[first] or [b""])[0][:40].decode(errors="replace")
        raise DataFileError(f"holds no numbers here, but {shown!r}", path=path, line=written[first].number)
    return CsvLayout(
        delimiter=delimiter,
        names=_names(header, units, columns),
        text_columns=text_columns,
        date_columns=date_columns,
        begin=written[first].begin,
        line=written[first].number,
        comments=tuple(line.text[1:].decode(errors="replace").strip() for line in comments),
    )


def _head(stream: io.BufferedReader, path: str | Path) -> Iterator[_Line]:
    """Yield the first lines, stripped, with their numbers and places."""
    start = stream.read(4)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataFileError("is UTF-16; save it as UTF-8", path=path)
    position = 3 if start.startswith(codecs.BOM_UTF8) else 0
    stream.seek(position)
    number = written = 0
    while written < HEAD_LINES and position < HEAD_BYTES:
        number += 1
        line = stream.readline(MAX_LINE_BYTES + 1)
        if not line:
            return
        if len(line) > MAX_LINE_BYTES:
            raise DataFileError(
                f"has a line of more than {MAX_LINE_BYTES} bytes; is it a table?", path=path, line=number
            )
        text = line.strip(b" \r\n")
        written += bool(text) and not text.startswith(COMMENTS)
        yield _Line(number, position, text)
        position += len(line)


def _delimiter(lines: list[_Line]) -> int:
    """Return the delimiter that splits most of the lines into the same number of fields, more than one."""
    for delimiter in DELIMITERS:
        counts = Counter(len(_fields(line.text, delimiter) or ()) for line in lines)
        columns, often = counts.most_common(1)[0]
        numeric = any(_is_row(_fields(line.text, delimiter)) for line in lines) if delimiter == 0 else True
        if columns > 1 and often >= 0.5 * len(lines) and numeric:
            return delimiter
    return ord(",")


def _fields(line: bytes, delimiter: int) -> list[bytes] | None:
    """Return the fields of a line; None where a quote is not closed."""
    fields, closed = split_fields(line, delimiter)
    return fields if closed else None


def _is_row(fields: list[bytes] | None) -> bool:
    """Whether a line is a row: at least one number or date, and the same for most of what is not empty."""
    if fields is None:
        return False
    numbers = sum(1 for field in fields if NUMBER.fullmatch(field) or is_date(field))
    filled = sum(1 for field in fields if field)
    return numbers > 0 and 2 * numbers >= filled


def _is_units(fields: list[bytes] | None, columns: int) -> bool:
    if fields is None or len(fields) != columns:
        return False
    return not any(NUMBER.fullmatch(field) for field in fields) and all(len(field) <= 12 for field in fields)


def _is_text(sample: list[list[bytes]], column: int) -> bool:
    """Whether the fields of a column that are not empty are no numbers, but for those of a few damaged rows."""
    fields = [row[column] for row in sample if column < len(row) and row[column]]
    return sum(1 for field in fields if NUMBER.fullmatch(field) or b"," in field) < TEXT_SHARE * len(fields)


def _is_dates(sample: list[list[bytes]], column: int) -> bool:
    """Whether nearly all fields of a column that are not empty are dates."""
    fields = [row[column] for row in sample if column < len(row) and row[column]]
    return bool(fields) and sum(map(is_date, fields)) >= 0.9 * len(fields)


def _commented_header(text: bytes, delimiter: int, columns: int) -> list[bytes] | None:
    """Return the names in the comment line above the rows, if it has as many as they have fields."""
    fields = _fields(text.lstrip(b"#% \t"), delimiter)
    return fields if fields is not None and len(fields) == columns and not _is_row(fields) else None


def _names(header: list[bytes] | None, units: list[bytes] | None, columns: int) -> tuple[str, ...]:
    names: list[str] = []
    for column in range(columns):
        name = header[column].decode(errors="replace").replace('""', '"').strip() if header else ""
        name = name or f"column_{column + 1}"
        if units and units[column]:
            unit = units[column].decode(errors="replace").strip("[]()")
            name = f"{name} [{unit}]"
        names.append(name)
    return tuple(names)


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
        return f"column '{names[column]}' holds {field[:40].decode(errors='replace')!r}, not a number"


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
