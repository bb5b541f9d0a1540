"""Opening recordings: which reader a file needs is judged by its first bytes, not by its ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..errors import DataFileError, InputError
from .csv_source import CsvSource
from .own_format import CSV_TAG, About, check_columns

if TYPE_CHECKING:
    from .table import TableSource

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
    time: Literal["stamp", "received"] = "stamp",
    progress: Callable[[float], None] | None = None,
) -> tuple[TableSource, ...]:
    """Open the files of a recording.

    Args:
        paths: One file or bag, or several that belong together.
        recover: Read what is intact of damaged files instead of refusing them.
        time: Which time of a bag's messages counts.
        progress: Called while a bag is looked through, with the share done.

    Raises:
        DataFileError: One of them cannot be read.
        InputError: There is none, or absurdly many.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not 0 < len(files) <= MAX_FILES:
        raise InputError(f"{len(files)} files; expected 1 to {MAX_FILES}")
    return tuple(source for file in files for source in _open(file, recover, time, progress))


def _open(
    path: str | Path,
    recover: bool,
    time: Literal["stamp", "received"],
    progress: Callable[[float], None] | None,
) -> Sequence[TableSource]:
    head = _head(path)
    if head is None or head.startswith(_BAGS):
        from .bags.source import open_bag

        return open_bag(Path(path), recover=recover, time=time, progress=progress)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        from .npz_source import NpzSource

        return (NpzSource(path),)
    if head.startswith(b"PAR1"):
        from .parquet_source import ParquetSource

        return (ParquetSource(path),)
    for magic, told in _UNREADABLE.items():
        if head.startswith(magic):
            raise DataFileError(told, path=path)
    return (CsvSource(path, recover=recover),)


def about_of(source: TableSource) -> About | None:
    """Return what a source says of itself if it is a log of ours, else None.

    Raises:
        DataFileError: It claims to be one, and is not.
    """
    if isinstance(source, CsvSource):
        layout = source.layout
        text = next((comment for comment in layout.comments if comment.startswith(CSV_TAG)), None)
        if text is None:
            return None
        about = About.from_text(text.removeprefix(CSV_TAG), source.path, line=1)
        check_columns(source.column_names, about, source.path, line=2)
        return about
    told = getattr(source, "about", None)
    return told if isinstance(told, About) else None


def _head(path: str | Path) -> bytes | None:
    """Return the first bytes of a file, None for a folder."""
    try:
        if Path(path).is_dir():
            return None
        with Path(path).open("rb") as stream:
            return stream.read(16)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataFileError(f"cannot be read: {reason}", path=path) from error
