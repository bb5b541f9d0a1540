"""Writing a file so that readers find the old one or the new one, never half of either."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ..errors import DataFileError, reason_of


def write_atomically(path: str | Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    """Write a file beside its final name, flush it to the disk, then put it in place.

    Args:
        path: The file; replaced if it exists, keeping its permissions.
        content: The bytes, or a function that writes them to the stream it is given.

    Raises:
        DataFileError: The file cannot be written; an existing one is then unchanged.
    """
    try:
        target = Path(path)
        partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            # Not tempfile: its files have mode 0600; a log has the permissions that the user's umask gives.
            with partial.open("xb") as stream:
                if isinstance(content, bytes):
                    stream.write(content)
                else:
                    content(stream)
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                partial.chmod(stat.S_IMODE(target.stat().st_mode))
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        _flush_folder(target.parent)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path, or a path without a name
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"cannot be written: {reason_of(error)}", path=path) from error


def _flush_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the system lets a folder be flushed."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
