"""Parquet files as tables, in batches of rows; by pyarrow, which is imported when the first one is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataFileError, MissingExtraError
from ..foundation import Array
from .budget import Spending
from .own_format import PARQUET_KEY, About, check_columns
from .table import CHUNK_ROWS, Recovery, Table, bounded_rows


def parquet_library() -> Any:
    """Return pyarrow with its parquet module.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("reading and writing Parquet", "parquet") from error
    return pyarrow


class ParquetSource:
    """A Parquet file: its columns of numbers; times become seconds, lists of fixed length one column per member.

    Attributes:
        about: What the file says of itself if it is a log of ours, else None.
    """

    name = ""
    has_time = False
    recovery: Recovery | None = None

    def __init__(self, path: str | Path, spending: Spending | None = None) -> None:
        """Look at the schema.

        Args:
            path: The file.
            spending: What it may cost.

        Raises:
            DataFileError: It cannot be read, is damaged, has no columns of numbers, or costs more than the budget.
            MissingExtraError: pyarrow is not installed.
        """
        self.path = str(path)
        self.progress = 0.0
        self._arrow = arrow = parquet_library()
        try:
            size = Path(path).stat().st_size
            with arrow.parquet.ParquetFile(self.path) as file:
                schema, self._rows = file.schema_arrow, file.metadata.num_rows
        except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
            raise DataFileError(f"cannot be read or is damaged: {error}", path=path) from error
        self._widths = {field.name: width for field in schema if (width := _width(arrow, field.type))}
        if repeated := [name for name, often in Counter(schema.names).items() if often > 1]:
            raise DataFileError(f"has several columns called '{repeated[0]}'; rename all but one", path=path)
        if not self._widths:
            raise DataFileError("has no columns of numbers", path=path)
        columns = sum(self._widths.values())
        self._spending = spending or Spending()
        self._spending.open(size)
        self._spending.spend("columns", columns, path)
        self._spending.foresee("unpacked", 8 * columns * self._rows, path)
        self.column_names = tuple(
            name if width == 1 else f"{name}.{member}"
            for name, width in self._widths.items()
            for member in range(width)
        )
        text = (schema.metadata or {}).get(PARQUET_KEY)
        self.about = None if text is None else About.from_text(text.decode(errors="replace"), path)
        if self.about is not None:
            check_columns(self.column_names, self.about, path)

    def tables(self, rows: int = CHUNK_ROWS) -> Iterator[Table]:
        """Yield the rows in pieces of at most ``rows``.

        Raises:
            DataFileError: The file is damaged.
        """
        arrow = self._arrow
        self.progress, given = 0.0, 0
        rows = bounded_rows(rows, len(self.column_names))
        try:
            with arrow.parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(batch_size=rows, columns=list(self._widths)):
                    blocks = [_numbers(arrow, batch.column(name), width) for name, width in self._widths.items()]
                    given += batch.num_rows
                    self._spending.spend("unpacked", 8 * len(self.column_names) * batch.num_rows, self.path)
                    self.progress = given / max(self._rows, 1)
                    if batch.num_rows:
                        yield Table(None, np.hstack(blocks))
        except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
            if isinstance(error, DataFileError):
                raise
            raise DataFileError(f"is damaged: {error}", path=self.path) from error


def _width(arrow: Any, kind: Any) -> int:
    """Return how many columns of numbers a Parquet column makes; 0 where it holds none."""
    types = arrow.types
    if types.is_fixed_size_list(kind):
        return int(kind.list_size) if _width(arrow, kind.value_type) == 1 else 0
    simple = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return 1 if simple or types.is_timestamp(kind) or types.is_duration(kind) else 0


def _numbers(arrow: Any, column: Any, width: int) -> Array:
    """Return a column as float64, shape (k, width), NaN where it has nothing."""
    kind = column.type
    if width > 1 or arrow.types.is_fixed_size_list(kind):
        flat = column.flatten() if column.null_count == 0 else column.fill_null([None] * width).flatten()
        return _numbers(arrow, flat, 1).reshape(-1, width)
    scale = 1.0
    if arrow.types.is_timestamp(kind) or arrow.types.is_duration(kind):
        scale = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
        column = column.cast(arrow.int64())
    elif not arrow.types.is_float64(kind):
        column = column.cast(arrow.float64(), safe=False)
    values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    return (values if scale == 1.0 else values * scale)[:, None]
