"""Reading files of bounded size."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ModelFileError

MAX_FILE_BYTES = 8 * 1024 * 1024
"""Largest description accepted; the largest real ones are below 1 MB. Bounds time and memory for hostile files."""


def read_bounded(path: str | Path) -> bytes:
    """Return the bytes of a description file.

    Raises:
        ModelFileError: The file is absent, is not a regular file, cannot be read or exceeds MAX_FILE_BYTES.
    """
    file = Path(path)
    try:
        if not file.exists():
            raise ModelFileError("no such file; give a path to .urdf, .xml (MJCF) or .toml (DH)", path=path)
        if not file.is_file():
            raise ModelFileError("is not a regular file", path=path)
        with file.open("rb") as stream:
            # Not stat alone: a file can grow after it, and those of /proc claim to be empty.
            size = os.fstat(stream.fileno()).st_size
            data = b"" if size > MAX_FILE_BYTES else stream.read(MAX_FILE_BYTES + 1)
        if max(size, len(data)) > MAX_FILE_BYTES:
            raise ModelFileError(
                f"{max(size, len(data)) / 1e6:.1f} MB; at most {MAX_FILE_BYTES / 1e6:.1f} MB are accepted", path=path
            )
        return data
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise ModelFileError(f"cannot be read: {error}", path=path) from error
