"""Which files make up a bag, and of what kind each is: by its contents, not by its ending."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from ...errors import BudgetError, DataFileError, reason_of
from . import mcap, ros1, sqlite
from .batch import Container, Ledger
from .decompress import ZSTD_MAGIC

METADATA = "metadata.yaml"
ENDINGS = (".db3", ".mcap")
MAX_METADATA_BYTES = 4 * 2**20


def open_containers(path: str | Path, ledger: Ledger) -> tuple[Container, ...]:
    """Open the files of a bag in the order in which they were recorded.

    Raises:
        DataFileError: A file is absent, is no bag, or is damaged and recovery was not asked for.
    """
    files = _files(Path(path))
    containers: list[Container] = []
    for file in files:
        try:
            containers.append(_open(file, ledger))
        except DataFileError as error:
            if not ledger.recover or len(files) == 1 or isinstance(error, BudgetError):
                raise
            ledger.damaged(file, None, str(error))
    return tuple(containers)


def _files(path: Path) -> list[Path]:
    """Return the files of a bag: one, or those of a directory."""
    try:
        if not path.exists():
            raise DataFileError(
                "no such file or directory; give a .bag, .db3 or .mcap file or the directory of a ROS 2 bag", path=path
            )
        if not path.is_dir():
            return [path]
        metadata = path / METADATA
        files = [path / name for name in _listed_files(metadata)] if metadata.is_file() else []
        # A recorder writes its list when it is closed. Without one, the number in the name tells the order.
        files = files or sorted((file for file in path.iterdir() if file.suffix in ENDINGS), key=_natural)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=path) from error
    if not files:
        raise DataFileError(f"is a directory without {' or '.join(ENDINGS)} files, so no ROS 2 bag", path=path)
    return files


def _listed_files(metadata: Path) -> list[str]:
    """Return the names under ``relative_file_paths``; the rest is not needed. Folders in them are ignored."""
    with metadata.open("rb") as stream:
        text = stream.read(MAX_METADATA_BYTES).decode("utf-8", "replace")
    found = re.search(
        r"^[ \t]*relative_file_paths:[ \t]*(?:\[([^\]\n]*)\]|((?:\r?\n[ \t]*-[^\r\n]*)+))", text, re.MULTILINE
    )
    if found is None:
        return []
    items = (
        found[1].split(",")
        if found[1] is not None
        else [line.strip()[1:] for line in found[2].split("\n") if line.strip()]
    )
    names = (PurePosixPath(item.strip().strip("'\"")).name for item in items)
    return [name for name in names if name]


def _natural(file: Path) -> list[tuple[int, str]]:
    """Return a key that sorts name_2 before name_10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d{1,18})", file.name)]


def _open(file: Path, ledger: Ledger) -> Container:
    try:
        with file.open("rb") as stream:
            start = stream.read(16)
            ledger.spending.open(os.fstat(stream.fileno()).st_size)
    except OSError as error:
        raise DataFileError(f"cannot be read: {reason_of(error)}", path=file) from error
    if start.startswith(mcap.MAGIC):
        return mcap.McapFile(file, ledger)
    if start.startswith(ros1.MAGIC):
        return ros1.Ros1File(file, ledger)
    if start.startswith(sqlite.MAGIC):
        return sqlite.SqliteFile(file, ledger)
    if start.startswith(ZSTD_MAGIC):
        raise DataFileError("is compressed as a whole; unpack it first: zstd -d", path=file)
    if start.startswith(b"#ROSBAG V"):
        raise DataFileError("is a bag of an old format; convert it first: rosbag fix", path=file)
    raise DataFileError(
        f"is no bag: it starts with {start.hex(' ') or 'nothing'}; a ROS 1 bag, a ROS 2 database or MCAP was expected",
        path=file,
    )
