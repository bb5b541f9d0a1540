"""Data files that are read whole: of bounded size, with errors that name the file."""

from __future__ import annotations

from pathlib import Path

from ..description.files import MAX_FILE_BYTES, read_bounded
from ..description.toml_lines import TomlDocument, load_toml
from ..errors import DataFileError, ModelFileError, locate


def read_data(path: str | Path, most: int = MAX_FILE_BYTES) -> bytes:
    """Return the bytes of a file.

    Args:
        path: The file.
        most: Largest size that is accepted [bytes].

    Raises:
        DataFileError: The file is absent, is not a regular file, cannot be read or is larger.
    """
    return read_bounded(path, most, DataFileError)


def read_toml(path: str | Path) -> TomlDocument:
    """Return a TOML file with the lines of its keys.

    Raises:
        DataFileError: It cannot be read, or is no TOML; with the line.
    """
    try:
        return load_toml(read_data(path), str(path))
    except ModelFileError as error:
        message = str(error).removeprefix(f"{locate(error.path, error.line)}: ")
        raise DataFileError(message, path=path, line=error.line) from error
