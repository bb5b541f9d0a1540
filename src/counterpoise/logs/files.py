"""Writing logs: .npz for size and speed, .csv and .parquet for other programs. All read back bit by bit."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..errors import DataFileError
from .atomic import write_atomically
from .log import Log
from .own_format import CSV_TAG, PARQUET_KEY, About, columns_of

CHUNK_ROWS = 10_000


def write_log(log: Log, path: str | Path) -> None:
    """Write a log as .npz, .csv or .parquet, by the ending of ``path``, all or nothing.

    The numbers are the log's: a mapping by which it was read does not apply to the new file and is kept as
    ``declared.notes["earlier_mapping"]``.

    Args:
        log: What is written.
        path: The file; replaced if it exists.

    Raises:
        DataFileError: Another ending, or the file cannot be written.
        MissingExtraError: pyarrow is needed for .parquet and not installed.
    """
    ending = Path(path).suffix.lower()
    writers: dict[str, Callable[[Log, BinaryIO], None]] = {
        ".npz": _write_npz,
        ".csv": _write_csv,
        ".parquet": _write_parquet,
    }
    if ending not in writers:
        raise DataFileError(f"ends in '{ending}'; a log is written as {', '.join(writers)}", path=path)
    if log.declared.mapping:
        notes = {**log.declared.notes, "earlier_mapping": log.declared.mapping}
        log = replace(log, declared=replace(log.declared, mapping={}, notes=notes))
    write_atomically(path, lambda stream: writers[ending](log, stream))


def _write_npz(log: Log, stream: BinaryIO) -> None:
    arrays: dict[str, Any] = {name: getattr(log, name) for name in ("time", "q", "dq", "tau", "flags")}
    arrays |= {name: getattr(log, name) for name in ("wrench", "sent") if getattr(log, name) is not None}
    about = np.frombuffer(About.of(log).to_text().encode(), dtype=np.uint8)
    np.savez_compressed(stream, about=about, **arrays)


def _write_csv(log: Log, stream: BinaryIO) -> None:
    names, blocks = columns_of(log)
    text = io.StringIO()
    text.write(f"# {CSV_TAG}{About.of(log).to_text()}\n")
    csv.writer(text, lineterminator="\n").writerow(names)
    stream.write(text.getvalue().encode())
    for begin in range(0, len(log), CHUNK_ROWS):
        rows = np.hstack([block[begin : begin + CHUNK_ROWS] for block in blocks[:-1]]).tolist()
        flags = log.flags[begin : begin + CHUNK_ROWS].tolist()
        lines = [f"{','.join(map(repr, row))},{flag}\n" for row, flag in zip(rows, flags, strict=True)]
        stream.write("".join(lines).encode())


def _write_parquet(log: Log, stream: BinaryIO) -> None:
    from .parquet_source import parquet_library

    arrow = parquet_library()
    names, blocks = columns_of(log)
    arrays = [arrow.array(column) for block in blocks[:-1] for column in block.T]
    schema = arrow.schema(
        [(name, arrow.float64()) for name in names[:-1]] + [("flags", arrow.int64())],
        metadata={PARQUET_KEY: About.of(log).to_text().encode()},
    )
    table = arrow.Table.from_arrays([*arrays, arrow.array(log.flags)], schema=schema)
    arrow.parquet.write_table(table, stream)
