"""How a text file is laid out, judged by its first lines: delimiter, header, where rows begin, columns of text."""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataFileError, reason_of
from .budget import Spending
from .csv_numbers import COMMENTS, NUMBER, split_fields
from .dates import is_date

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
