"""Writing logs: .npz for size and speed, .csv and .parquet for other programs. All read back bit by bit."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

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


def csv_blocks(names: Sequence[str], blocks: Sequence[npt.NDArray[Any]]) -> Iterator[str]:
    """Yield the text of a CSV table: the header, then CHUNK_ROWS lines at a time. Every number reads back exactly.

    Args:
        names: Names of all columns.
        blocks: Numbers below them, side by side, each of shape (k, ·).
    """
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(names)
    yield header.getvalue()
    for begin in range(0, len(blocks[0]), CHUNK_ROWS):
        rows = zip(*(block[begin : begin + CHUNK_ROWS].tolist() for block in blocks), strict=True)
        yield "".join(",".join(map(repr, chain.from_iterable(row))) + "\n" for row in rows)


def _write_npz(log: Log, stream: BinaryIO) -> None:
    arrays: dict[str, Any] = {name: getattr(log, name) for name in ("time", "q", "dq", "tau", "flags")}
    optional = ("wrench", "sent", "side", "pair")
    arrays |= {name: getattr(log, name) for name in optional if getattr(log, name) is not None}
    about = np.frombuffer(About.of(log).to_text().encode(), dtype=np.uint8)
    np.savez_compressed(stream, about=about, **arrays)


def _write_csv(log: Log, stream: BinaryIO) -> None:
    names, blocks = columns_of(log)
    stream.write(f"# {CSV_TAG}{About.of(log).to_text()}\n".encode())
    for text in csv_blocks(names, [*blocks[:-1], log.flags[:, None]]):
        stream.write(text.encode())


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
