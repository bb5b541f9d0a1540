"""Torques to a CSV file: a header of joint names, then one line per pose in full precision."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..description.frozen import Array
from ..errors import DataFileError, reason_of
from ..logs.files import CHUNK_ROWS, csv_blocks
from .output import Progressing

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
            sys.stdout.writelines(csv_blocks(joint_names, [torques]))
            return
        file = Path(path)
        if read_from is not None and file.exists() and Path(read_from).exists() and file.samefile(read_from):
            raise DataFileError("is the file that the poses came from; give --out another one", path=path)
        with file.open("w", encoding="utf-8", newline="") as stream, Progressing(f"writing {path}") as progressing:
            for count, block in enumerate(csv_blocks(joint_names, [torques])):
                stream.write(block)
                progressing.update(min(count * CHUNK_ROWS, len(torques)), len(torques))
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, BrokenPipeError | DataFileError):
            raise
        raise DataFileError(f"cannot be written: {reason_of(error)}", path=path) from error
