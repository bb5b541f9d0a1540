"""Torques to a CSV file: a header of joint names, then one line per pose in full precision."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ..description.frozen import Array
from ..errors import DataFileError
from ..logs.atomic import write_atomically
from ..logs.files import CHUNK_ROWS, csv_blocks
from .output import Progressing

STDOUT = "-"


def write_torques(path: str, joint_names: Sequence[str], torques: Array, *, read_from: str | None = None) -> None:
    """Write torques as CSV.

    Args:
        path: The file, which is replaced if it exists, all or nothing, or "-" for standard output.
        joint_names: Names of the n joints.
        torques: Torques [N m or N], shape (k, n).
        read_from: File that the poses came from; it is never overwritten.

    Raises:
        DataFileError: The file cannot be written, or is the one the poses came from.
    """
    if path == STDOUT:
        sys.stdout.writelines(csv_blocks(joint_names, [torques]))
        return
    if read_from is not None and _same_file(path, read_from):
        raise DataFileError("is the file that the poses came from; give --out another one", path=path)
    with Progressing(f"writing {path}") as progressing:

        def write(stream: BinaryIO) -> None:
            for count, block in enumerate(csv_blocks(joint_names, [torques])):
                stream.write(block.encode())
                progressing.update(min(count * CHUNK_ROWS, len(torques)), len(torques))

        write_atomically(path, write)


def _same_file(one: str, other: str) -> bool:
    """Whether both names are those of one file that exists."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # ValueError: a NUL byte in the path
        return False
