"""Torques to a CSV file: a header of joint names, then one line per pose in full precision."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..description.frozen import Array
from ..errors import DataFileError
from .output import Progressing

CHUNK_ROWS = 10_000
STDOUT = "-"


def write_torques(path: str, joint_names: Sequence[str], torques: Array, *, read_from: str | None = None) -> None:
    """Write torques as CSV.

    Args:
        path: The file, which is replaced if it exists, or "-" for standard output.
        joint_names: Names of the n joints.
        torques: Torques [N m or N], shape (k, n).
        read_from: File that the poses came from; it is never overwritten.

    Raises:
        DataFileError: The file cannot be written, or is the one the poses came from.
    """
    try:
        if path == STDOUT:
            sys.stdout.writelines(_blocks(joint_names, torques))
            return
        file = Path(path)
        if read_from is not None and file.exists() and Path(read_from).exists() and file.samefile(read_from):
            raise DataFileError("is the file that the poses came from; give --out another one", path=path)
        with file.open("w", encoding="utf-8", newline="") as stream, Progressing(f"writing {path}") as progressing:
            for count, block in enumerate(_blocks(joint_names, torques)):
                stream.write(block)
                progressing.update(min(count * CHUNK_ROWS, len(torques)), len(torques))
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, BrokenPipeError | DataFileError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataFileError(f"cannot be written: {reason}", path=path) from error


def _blocks(joint_names: Sequence[str], torques: Array) -> Iterator[str]:
    """Yield the header, then the text of CHUNK_ROWS lines at a time; repr() of a float reads back exactly."""
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(joint_names)
    yield header.getvalue()
    for begin in range(0, len(torques), CHUNK_ROWS):
        yield "".join(",".join(map(repr, row)) + "\n" for row in torques[begin : begin + CHUNK_ROWS].tolist())
