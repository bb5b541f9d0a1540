"""Columns of dates in text files."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..description.frozen import Array
from .csv_numbers import COMMENTS, split_fields
from .dates import seconds_of


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
