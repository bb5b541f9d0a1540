"""Arrays in an .npz file as a table, ours or anybody's: those with as many rows as there are samples.

Members are read piece by piece, never unpickled, so neither memory nor trust depends on the file.
"""

from __future__ import annotations

import ast
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..dynamics import WRENCH_COMPONENTS
from ..errors import DataFileError, reason_of
from ..foundation import Array
from .budget import Spending
from .names import TIME_WORDS, words_of
from .own_format import About, check_columns
from .table import CHUNK_ROWS, Recovery, Table, bounded_rows

MAX_NAMES_BYTES = 1_000_000
MAX_HEADER_BYTES = 10_000
NAME_KEYS = ("joint_names", "joints", "names", "joint_name")

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError),
    *(OSError, MemoryError, OverflowError, TypeError, AttributeError, KeyError, IndexError, SystemError),
)
"""What reading a damaged archive raises; RuntimeError is an encrypted member."""


@dataclass(frozen=True, slots=True)
class _Member:
    """An array of the archive; ``turned`` where its columns are the times."""

    key: str
    file: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    turned: bool = False

    @property
    def width(self) -> int:
        return 1 if len(self.shape) == 1 else self.shape[0 if self.turned else 1]

    @property
    def is_read_whole(self) -> bool:
        """Whether its samples lie side by side, so that the first needs the whole array."""
        return self.turned or (self.fortran and len(self.shape) == 2)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


class NpzSource:
    """An .npz file. An array q of n columns gives the columns q.<joint>, or q.0 to q.(n − 1) where no names are given.

    Attributes:
        about: What the file says of itself if it is a log of ours, else None.
    """

    name = ""
    has_time = False
    recovery: Recovery | None = None

    def __init__(self, path: str | Path, spending: Spending | None = None) -> None:
        """Look at the headers of the arrays.

        Args:
            path: The file.
            spending: What it may cost.

        Raises:
            DataFileError: It cannot be read, is damaged, holds no arrays that belong together, or costs more than the
                budget.
        """
        self.path = str(path)
        self.progress = 0.0
        self.about: About | None = None
        try:
            size = Path(path).stat().st_size
            with zipfile.ZipFile(path) as archive:
                members = [found for file in archive.infolist() if (found := _member(archive, file)) is not None]
                about = archive.NameToInfo.get("about.npy")
                if about is not None:
                    self.about = About.from_text(_bytes_of(archive, about).decode(), path)
                joints = self.about.joint_names if self.about else _joint_names(archive)
        except DataFileError:
            raise
        except _DAMAGE as error:
            raise DataFileError(f"cannot be read or is damaged: {reason_of(error)}", path=path) from error
        rows, self._members = _table_members(members)
        if not self._members:
            shown = ", ".join(f"{member.key} {member.shape}" for member in members[:20]) or "nothing"
            raise DataFileError(f"holds no arrays with a row per sample; it holds {shown}", path=path)
        columns = sum(member.width for member in self._members)
        self._spending = spending or Spending()
        self._spending.open(size)
        self._spending.spend("columns", columns, path)
        self._spending.foresee("unpacked", 8 * columns * rows, path)
        self._whole = sum(member.size for member in self._members if member.is_read_whole)
        self._spending.foresee("memory", self._whole, path)
        self._rows = rows
        self.column_names = tuple(name for member in self._members for name in _column_names(member, joints))
        if self.about is not None:
            check_columns(self.column_names, self.about, path)

    def tables(self, rows: int = CHUNK_ROWS) -> Iterator[Table]:
        """Yield the rows in pieces of at most ``rows``.

        Raises:
            DataFileError: The file is damaged.
        """
        self.progress = 0.0
        rows = bounded_rows(rows, len(self.column_names))
        self._spending.spend("memory", self._whole, self.path)
        try:
            with zipfile.ZipFile(self.path) as archive, ExitStack() as streams:
                readers = [_Reader(archive, member, streams, self.path) for member in self._members]
                for begin in range(0, self._rows, rows):
                    count = min(rows, self._rows - begin)
                    self._spending.spend("unpacked", 8 * len(self.column_names) * count, self.path)
                    blocks = [reader.take(count) for reader in readers]
                    self.progress = (begin + count) / self._rows
                    yield Table(None, np.hstack(blocks))
        except DataFileError:
            raise
        except _DAMAGE as error:
            raise DataFileError(f"is damaged: {error}", path=self.path) from error
        finally:
            self._spending.give_back("memory", self._whole)


class _Reader:
    """Gives the rows of one array, one piece after the other."""

    def __init__(self, archive: zipfile.ZipFile, member: _Member, streams: ExitStack, path: str) -> None:
        self._member = member
        self._path = path
        self._stream: IO[bytes] = streams.enter_context(archive.open(member.file))
        _header(self._stream)
        self._whole: npt.NDArray[Any] | None = None
        self._given = 0
        if member.is_read_whole:
            array = self._numbers(member.size).reshape(member.shape, order="F" if member.fortran else "C")
            self._whole = array.T if member.turned else array

    def take(self, rows: int) -> Array:
        if self._whole is not None:
            block = self._whole[self._given : self._given + rows]
            self._given += rows
        else:
            block = self._numbers(rows * self._member.width * self._member.dtype.itemsize)
        if self._member.dtype.kind in "mM":
            block = _seconds(block)
        return np.asarray(block, dtype=np.float64).reshape(rows, self._member.width)

    def _numbers(self, size: int) -> npt.NDArray[Any]:
        data = self._stream.read(size)
        if len(data) < size:
            raise DataFileError(f"is damaged: array '{self._member.key}' ends early", path=self._path)
        return np.frombuffer(data, dtype=self._member.dtype)


def _seconds(times: npt.NDArray[Any]) -> Array:
    """Return dates or durations of NumPy as seconds, dates since 1970; NaN where there is none."""
    fine = times.astype(f"{times.dtype.kind}8[ns]")
    return np.where(np.isnat(fine), np.nan, fine.astype(np.int64) * 1e-9)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, Fortran order and kind of an array. NumPy's own reader takes headers of any length.

    Raises:
        ValueError: It is no header, or one of no array of single values.
    """
    magic = stream.read(8)
    if len(magic) < 8 or magic[:6] != b"\x93NUMPY" or magic[6] not in (1, 2, 3):
        raise ValueError("a member is no array of NumPy")
    length = int.from_bytes(stream.read(2 if magic[6] == 1 else 4), "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"the header of an array has {length} bytes")
    text = stream.read(length).decode("latin-1")
    try:
        header = ast.literal_eval(re.sub(r"(\d)L\b", r"\1", text.strip()))  # Python 2 wrote 3L
        shape, fortran, kind = header["shape"], header["fortran_order"], header["descr"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError, SystemError) as error:
        raise ValueError("the header of an array cannot be read") from error
    if not isinstance(kind, str):  # a table of several kinds, which is passed over
        kind = "V1"
    if (
        not isinstance(shape, tuple)
        or not all(type(length) is int and 0 <= length < 2**62 for length in shape)
        or not isinstance(fortran, bool)
        or re.fullmatch(r"[<>|=]?[A-Za-z?][0-9]{0,6}(\[[0-9]{0,6}[A-Za-z]{1,2}\])?", kind) is None
    ):
        raise ValueError("the header of an array cannot be read")
    try:
        return shape, fortran, np.dtype(kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"an array holds '{kind}', which is no kind of number") from error


def _opened(archive: zipfile.ZipFile, file: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member.

    Raises:
        ValueError: It is packed as NumPy never does, by a method that takes memory without bound.
    """
    if file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"'{file.filename}' is packed by a method that NumPy does not use")
    return archive.open(file)


def _member(archive: zipfile.ZipFile, file: zipfile.ZipInfo) -> _Member | None:
    """Return an array of numbers in one or two dimensions; None for anything else."""
    if not file.filename.endswith(".npy") or file.filename == "about.npy":
        return None
    with _opened(archive, file) as stream:
        shape, fortran, dtype = _header(stream)
    if dtype.kind not in "fiubmM" or not 1 <= len(shape) <= 2 or 0 in shape:
        return None
    member = _Member(file.filename.removesuffix(".npy"), file.filename, shape, dtype, fortran)
    return member if member.size <= file.file_size else None


def _table_members(members: list[_Member]) -> tuple[int, list[_Member]]:
    """Return the number of samples and the arrays that have a row, or a column, for each."""
    times = [member for member in members if len(member.shape) == 1 and set(words_of(member.key)) & TIME_WORDS]
    counts = Counter(member.shape[0] for member in members if len(member.shape) == 2)
    counts.update(member.shape[1] for member in members if len(member.shape) == 2)
    if not counts:
        counts = Counter(member.shape[0] for member in members)
    if times:
        rows = times[0].shape[0]
    elif counts:
        rows = max(counts, key=lambda count: (counts[count], count))
    else:
        return 0, []
    kept = []
    for member in members:
        if member.shape[0] == rows:
            kept.append(member)
        elif len(member.shape) == 2 and member.shape[1] == rows:
            kept.append(_Member(member.key, member.file, member.shape, member.dtype, member.fortran, turned=True))
    return rows, kept


def _bytes_of(archive: zipfile.ZipFile, file: zipfile.ZipInfo) -> bytes:
    """Return the content of an array of bytes, at most MAX_NAMES_BYTES."""
    with _opened(archive, file) as stream:
        _, _, dtype = _header(stream)
        if dtype.itemsize != 1 or dtype.kind not in "ui":
            raise ValueError(f"'{file.filename}' is no array of bytes")
        return stream.read(MAX_NAMES_BYTES)


def _joint_names(archive: zipfile.ZipFile) -> tuple[str, ...] | None:
    """Return the joints' names, if there is an array of text that gives them."""
    for key in NAME_KEYS:
        file = archive.NameToInfo.get(f"{key}.npy")
        if file is None:
            continue
        with _opened(archive, file) as stream:
            shape, _, dtype = _header(stream)
            size = int(np.prod(shape, dtype=object)) * dtype.itemsize
            if dtype.kind not in "US" or len(shape) != 1 or size > MAX_NAMES_BYTES:
                continue
            array = np.frombuffer(stream.read(size), dtype=dtype)
        return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in array.tolist())
    return None


def _column_names(member: _Member, joints: tuple[str, ...] | None) -> list[str]:
    if len(member.shape) == 1:
        return [member.key]
    if member.width == 6 and "wrench" in words_of(member.key):  # first: many an arm has six joints
        return [f"{member.key}.{channel}" for channel in WRENCH_COMPONENTS]
    if joints is not None and len(joints) == member.width:
        return [f"{member.key}.{joint}" for joint in joints]
    return [f"{member.key}.{column}" for column in range(member.width)]
