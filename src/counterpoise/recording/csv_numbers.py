"""Rows of numbers from text: the specification line by line, and its quicker equal for plain text by NumPy."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from enum import IntEnum

import numpy as np

from ..foundation import Array

COMMENTS = (b"#", b"%")
"""What a line begins with that is no row."""
NUMBER = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
"""A number as we accept it: float() without underscores and foreign digits."""


class Status(IntEnum):
    """Why parsing ended."""

    DONE = 0
    """No whole line is left."""
    FULL = 1
    """There is no room for the next row."""
    FIELD_COUNT = 2
    """A line has another number of fields."""
    NO_NUMBER = 3
    """A field is no number."""
    OPEN_QUOTE = 4
    """A quote is not closed, or something follows it."""


Outcome = tuple[int, int, int, int, int, bytes]
"""Rows taken, position in the text, lines passed, Status, column at fault (or fields found), its text."""
ParseRows = Callable[[bytes | memoryview, int, Array, int, int, bytes], Outcome]


def parse_rows_reference(
    text: bytes | memoryview, begin: int, out: Array, columns: int, delimiter: int, skip: bytes
) -> Outcome:
    """Parse the whole lines of a text into rows of float64.

    Blank lines and those that begin with # or % are passed over. An empty field is NaN. Fields may be quoted. One
    delimiter too many at the end of a line is forgiven.

    Args:
        text: The text; what follows its last newline is left alone.
        begin: Where to begin.
        out: Room for rows, C-contiguous, shape (k, columns).
        columns: Fields of a row.
        delimiter: Its code; 0 for any run of spaces and tabs.
        skip: One byte per column: not 0 where a column holds text, which gives NaN.

    Returns:
        How far it went and why it ended.
    """
    text = bytes(text)
    rows = lines = 0
    position = begin
    while (newline := text.find(b"\n", position)) >= 0:
        line = text[position:newline].removesuffix(b"\r")
        bare = line.lstrip(b" \t")
        if (bare or (line and delimiter == ord("\t"))) and not bare.startswith(COMMENTS):
            if rows == len(out):
                return rows, position, lines, Status.FULL, 0, b""
            fields, closed = split_fields(line, delimiter)
            for column, field in enumerate(fields[:columns]):
                if not field or skip[column]:
                    out[rows, column] = np.nan
                elif NUMBER.fullmatch(field):
                    out[rows, column] = float(field)
                else:
                    return rows, position, lines, Status.NO_NUMBER, column, field
            if not closed:
                return rows, position, lines, Status.OPEN_QUOTE, len(fields), b""
            if len(fields) == columns + 1 and not fields[-1]:
                fields.pop()
            if len(fields) != columns:
                return rows, position, lines, Status.FIELD_COUNT, len(fields), b""
            rows += 1
        lines += 1
        position = newline + 1
    return rows, position, lines, Status.DONE, 0, b""


def split_fields(line: bytes, delimiter: int) -> tuple[list[bytes], bool]:
    """Return the bare fields of a line, up to a quote that is not closed, and whether all are closed."""
    if b'"' in line:
        return _quoted_fields(line, delimiter)
    blank = b" \t" if delimiter != ord("\t") else b" "
    if delimiter == 0:
        return [field for field in line.replace(b"\t", b" ").split(b" ") if field], True
    return [field.strip(blank) for field in line.split(bytes([delimiter]))], True


def _quoted_fields(line: bytes, delimiter: int) -> tuple[list[bytes], bool]:
    """Return the fields of a line with quotes, and whether all of them are closed."""
    blank = b" \t" if delimiter != ord("\t") else b" "
    position = 0
    fields: list[bytes] = []
    while True:
        while position < len(line) and line[position] in blank:
            position += 1
        if line[position : position + 1] == b'"':
            end = position + 1
            while end < len(line) and (line[end] != ord('"') or line[end + 1 : end + 2] == b'"'):
                end += 2 if line[end] == ord('"') else 1
            if end >= len(line):
                return fields, False
            fields.append(line[position + 1 : end].strip(blank))
            position = end + 1
            while position < len(line) and line[position] in blank:
                position += 1
            if delimiter and position < len(line) and line[position] != delimiter:
                return fields[:-1], False
        elif delimiter:
            end = line.find(bytes([delimiter]), position)
            end = len(line) if end < 0 else end
            fields.append(line[position:end].strip(blank))
            position = end
        else:
            end = position
            while end < len(line) and line[end] not in blank:
                end += 1
            fields.append(line[position:end])
            position = end
            while position < len(line) and line[position] in blank:
                position += 1
        if position >= len(line):
            return fields, True
        position += 1 if delimiter else 0


PLAIN = b"0123456789+-.eE \t\r\n"
"""Of these and the delimiter a text consists that NumPy reads as we do."""
PLAIN_DELIMITERS = b"\0\t,;|"


def parse_rows_numpy(
    text: bytes | memoryview, begin: int, out: Array, columns: int, delimiter: int, skip: bytes
) -> Outcome:
    """Parse as :func:`parse_rows_reference` does, some times faster where the text is plain rows of numbers.

    ``numpy.loadtxt`` reads what is plain: nothing but numbers and delimiters, no blank line, no empty field. Everything
    else, and every fault, goes line by line. Arguments and result are those of the specification.
    """
    text = bytes(text)
    end = text.rfind(b"\n") + 1
    taken = 0
    if len(out) and end > begin and delimiter in PLAIN_DELIMITERS and not any(skip):
        block = text[begin:end]
        lines = block.count(b"\n")
        if lines > len(out):
            lines = len(out)
            block = b"\n".join(block.split(b"\n", lines)[:lines]) + b"\n"
        if _is_plain(block, delimiter) and _load_plain(block, out[:lines], columns, delimiter):
            taken, begin = lines, begin + len(block)
    rest = parse_rows_reference(text, begin, out[taken:], columns, delimiter, skip)
    return taken + rest[0], rest[1], taken + rest[2], *rest[3:]


def _is_plain(block: bytes, delimiter: int) -> bool:
    """Tell whether a text may be rows of plain numbers; a lone carriage return would end a line for NumPy only."""
    others = block.translate(None, PLAIN + bytes([delimiter] if delimiter else []))
    return not others and block.count(b"\r") == block.count(b"\r\n")


def _load_plain(block: bytes, out: Array, columns: int, delimiter: int) -> bool:
    """Fill ``out`` by NumPy; False, with ``out`` as it was, where a line is no row of ``columns`` numbers."""
    if not block.strip():  # NumPy would warn
        return False
    try:
        found = np.loadtxt(
            io.StringIO(block.decode("ascii")), delimiter=chr(delimiter) if delimiter else None, comments=None, ndmin=2
        )
    except ValueError:
        return False
    if found.shape != (len(out), columns):
        return False
    out[:] = found
    return True
