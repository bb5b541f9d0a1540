"""Reading files of bounded size."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import DataFileError, ModelFileError, reason_of

MAX_FILE_BYTES = 8 * 1024 * 1024
"""Largest description accepted; the largest real ones are below 1 MB. Bounds time and memory for hostile files."""


def read_bounded(
    path: str | Path, most: int = MAX_FILE_BYTES, error: type[ModelFileError | DataFileError] = ModelFileError
) -> bytes:
    """Return the bytes of a file.

    Args:
        path: The file.
        most: Largest size that is accepted [bytes].
        error: What to raise, by what the file is.

    Raises:
        ModelFileError: The file is absent, is not a regular file, cannot be read or is larger; or the other ``error``.
    """
    file = Path(path)
    size, data = 0, b""
    try:
        exists, regular = file.exists(), file.is_file()
        if regular:
            with file.open("rb") as stream:
                # Not the stated size alone: a file can grow meanwhile, and those of /proc claim to be empty.
                size = os.fstat(stream.fileno()).st_size
                data = b"" if size > most else stream.read(most + 1)
    except (OSError, ValueError) as reason:  # ValueError: a NUL byte in the path
        raise error(f"cannot be read: {reason_of(reason)}", path=path) from reason
    if not exists:
        raise error("there is no such file", path=path)
    if not regular:
        raise error("is not a regular file", path=path)
    size = max(size, len(data))
    if size > most:
        raise error(f"has {size / 1e6:.1f} MB; at most {most / 1e6:.1f} MB are accepted", path=path)
    return data
