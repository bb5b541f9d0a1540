"""Opening recordings: which reader a file needs is judged by its first bytes, not by its ending."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataFileError, InputError, reason_of
from .budget import Spending
from .csv_source import CsvSource

if TYPE_CHECKING:
    from .table import MessageTime, TableSource

MAX_FILES = 1000
Paths = str | Path | Sequence[str | Path]

_BAGS = (b"SQLite format 3\0", b"\x89MCAP0\r\n", b"#ROSBAG V")
_UNREADABLE = {
    b"\x1f\x8b": "is packed with gzip; unpack it first (gunzip)",
    b"\x28\xb5\x2f\xfd": "is packed with zstd; unpack it first (unzstd)",
    b"\x93NUMPY": "is a single array; keep time, q and tau together in an .npz (np.savez)",
    b"\x89HDF": "is HDF5, which is not read; write it as .csv, .npz or .parquet",
    b"MATLAB": "is a MATLAB file, which is not read; write it as .csv (writetable)",
}


def open_sources(
    paths: Paths,
    *,
    recover: bool = False,
    time: MessageTime = "stamp",
    spending: Spending | None = None,
) -> tuple[TableSource, ...]:
    """Open the files of a recording.

    Args:
        paths: One file or bag, or several that belong together.
        recover: Read what is intact of damaged files instead of refusing them.
        time: Which time of a bag's messages counts.
        spending: What the recording may cost; None for the default budget.

    Raises:
        DataFileError: One of them cannot be read, or they cost more than the budget.
        InputError: There is none, or absurdly many.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not 0 < len(files) <= MAX_FILES:
        raise InputError(f"{len(files)} files; expected 1 to {MAX_FILES}")
    spending = spending or Spending()
    return tuple(source for file in files for source in _open(file, recover, time, spending))


def _open(path: str | Path, recover: bool, time: MessageTime, spending: Spending) -> Sequence[TableSource]:
    head = _head(path)
    if head is None or head.startswith(_BAGS):
        from .bags.source import open_bag

        return open_bag(path, recover=recover, time=time, spending=spending)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        from .npz_source import NpzSource

        return (NpzSource(path, spending),)
    if head.startswith(b"PAR1"):
        from .parquet_source import ParquetSource

        return (ParquetSource(path, spending),)
    for magic, told in _UNREADABLE.items():
        if head.startswith(magic):
            raise DataFileError(told, path=path)
    return (CsvSource(path, spending),)


def _head(path: str | Path) -> bytes | None:
    """Return the first bytes of a file, None for a folder."""
    try:
        if Path(path).is_dir():
            return None
        if Path(path).exists() and not Path(path).is_file():  # a pipe would be waited for, and can be read only once
            raise DataFileError("is not a regular file", path=path)
        with Path(path).open("rb") as stream:
            return stream.read(16)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=path) from error
