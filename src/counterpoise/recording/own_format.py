"""Our own log files: how they describe themselves, whatever their ending, and writing them.

They state the names of the joints and what was declared about them as JSON.

Their columns are ``time, q.<joint>..., dq.<joint>..., tau.<joint>..., [sent.<joint>...,]
[side.<joint>...,] [wrench.fx, ...,] [pair,] flags``.

Files are written as .npz for size and speed, as .csv and .parquet for other programs. All read back bit by bit.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..dynamics import WRENCH_COMPONENTS
from ..errors import DataFileError, InputError
from ..foundation import Array, write_atomically
from .declared import Declared
from .log import Log

FORMAT = 1
"""Version of all three formats."""
CSV_TAG = "counterpoise-log "
"""What the first comment line of a CSV log begins with."""
PARQUET_KEY = b"counterpoise-log"
"""Key of the description in the metadata of a Parquet log."""


@dataclass(frozen=True, slots=True)
class About:
    """What a log file of ours says of itself.

    Attributes:
        joint_names: Names of the n joints.
        declared: What is known about the numbers.
    """

    joint_names: tuple[str, ...]
    declared: Declared

    @staticmethod
    def of(log: Log) -> About:
        """Return the description of a log."""
        return About(log.joint_names, log.declared)

    def to_text(self) -> str:
        """Return the description as one line of JSON."""
        table = {"format": FORMAT, "joint_names": list(self.joint_names), "declared": self.declared.to_table()}
        return json.dumps(table, allow_nan=False)

    @staticmethod
    def from_text(text: str, path: str | Path, line: int | None = None) -> About:
        """Read a description.

        Raises:
            DataFileError: It is no description of a log that this version reads.
        """
        try:
            table: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFileError(f"is no log: its description is not JSON ({error})", path=path, line=line) from error
        if not isinstance(table, dict) or not isinstance(table.get("declared", {}), dict):
            raise DataFileError("is no log: its description is not a table", path=path, line=line)
        if table.get("format") != FORMAT:
            told = f"has log format {table.get('format')!r}; this version reads {FORMAT}"
            raise DataFileError(told, path=path, line=line)
        names = table.get("joint_names")
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise DataFileError("is no log: its description does not name the joints", path=path, line=line)
        if len(set(names)) != len(names):
            raise DataFileError(f"is no log: its joint_names {names} are not all different", path=path, line=line)
        try:
            return About(tuple(names), Declared.from_table(table.get("declared", {})))
        except (InputError, RecursionError) as error:
            raise DataFileError(f"is no log: {error}", path=path, line=line) from error


def columns_of(log: Log) -> tuple[tuple[str, ...], list[Array]]:
    """Return the names of all columns of a log and the blocks of numbers below them, flags last."""
    parts = [("q", log.q), ("dq", log.dq), ("tau", log.tau)]
    parts += [(part, values) for part, values in (("sent", log.sent), ("side", log.side)) if values is not None]
    names = ["time", *(f"{part}.{joint}" for part, _ in parts for joint in log.joint_names)]
    blocks = [log.time[:, None], *(block for _, block in parts)]
    if log.wrench is not None:
        names += [f"wrench.{channel}" for channel in WRENCH_COMPONENTS]
        blocks.append(log.wrench)
    if log.pair is not None:
        names.append("pair")
        blocks.append(log.pair[:, None])
    return (*names, "flags"), [*blocks, log.flags[:, None].astype(np.float64)]


def check_columns(names: tuple[str, ...], about: About, path: str | Path, line: int | None = None) -> None:
    """Refuse a log file whose columns are not those that its description calls for.

    Raises:
        DataFileError: A column is missing, or one is there that no log has.
    """
    needed = {"time", "flags", *(f"{part}.{joint}" for part in ("q", "dq", "tau") for joint in about.joint_names)}
    optional = [
        {f"sent.{joint}" for joint in about.joint_names},
        {f"side.{joint}" for joint in about.joint_names},
        {"pair"},
        {f"wrench.{channel}" for channel in WRENCH_COMPONENTS},
    ]
    for group in optional:
        if group & set(names):
            needed |= group
    if missing := sorted(needed - set(names)):
        raise DataFileError(f"is no log: it lacks the columns {', '.join(missing[:20])}", path=path, line=line)
    if extra := sorted(set(names) - needed):
        raise DataFileError(f"has columns that no log has: {', '.join(extra[:20])}", path=path, line=line)


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
    from .parquet_files import parquet_library

    arrow = parquet_library()
    names, blocks = columns_of(log)
    arrays = [arrow.array(column) for block in blocks[:-1] for column in block.T]
    schema = arrow.schema(
        [(name, arrow.float64()) for name in names[:-1]] + [("flags", arrow.int64())],
        metadata={PARQUET_KEY: About.of(log).to_text().encode()},
    )
    table = arrow.Table.from_arrays([*arrays, arrow.array(log.flags)], schema=schema)
    arrow.parquet.write_table(table, stream)
