"""Logs in files: .npz for size and speed, .csv for other programs. Both read back bit by bit.

A CSV log has a comment line ``# counterpoise-log 1 {what was declared, as JSON}``, a header and one line per sample:
``time, q.<joint>..., dq.<joint>..., tau.<joint>..., [sent.<joint>...,] [wrench.fx, ...,] flags``.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..description.frozen import Array
from ..errors import DataFileError, InputError
from .atomic import write_atomically
from .log import Log

FORMAT = 1
"""Version of both formats."""
MAX_LOG_BYTES = 4 * 1024**3
"""Largest log read, unpacked: four hours of 19 joints at 1 kHz are 2.3 GB."""
CHUNK_ROWS = 10_000
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")

_TAG = "# counterpoise-log "
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_ARRAYS = ("time", "q", "dq", "tau", "flags")


def save_log(log: Log, path: str | Path) -> None:
    """Write a log as .npz or .csv, by the ending of ``path``, all or nothing.

    Raises:
        DataFileError: Another ending, or the file cannot be written.
    """
    ending = _ending(path)
    write_atomically(path, lambda stream: (_write_npz if ending == ".npz" else _write_csv)(log, stream))


def load_log(path: str | Path) -> Log:
    """Read a log that :func:`save_log` wrote.

    Raises:
        DataFileError: The file cannot be read, is no log, or has numbers that do not belong together.
    """
    ending = _ending(path)
    try:
        if Path(path).stat().st_size > MAX_LOG_BYTES:
            raise DataFileError(f"has more than {MAX_LOG_BYTES / 1e9:.1f} GB; split it", path=path)
        return _read_npz(path) if ending == ".npz" else _read_csv(path)
    except DataFileError:
        raise
    except InputError as error:
        raise DataFileError(f"is no log: {error}", path=path) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataFileError(f"cannot be read: {reason}", path=path) from error


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending not in (".npz", ".csv"):
        raise DataFileError(f"ends in '{ending}'; a log is kept as .npz or .csv", path=path)
    return ending


def _write_npz(log: Log, stream: BinaryIO) -> None:
    arrays: dict[str, Any] = {name: getattr(log, name) for name in _ARRAYS}
    arrays |= {name: getattr(log, name) for name in ("wrench", "sent") if getattr(log, name) is not None}
    about = {"format": FORMAT, "joint_names": list(log.joint_names), "declared": dict(log.declared)}
    np.savez_compressed(stream, about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays)


def _read_npz(path: str | Path) -> Log:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_LOG_BYTES:
                raise DataFileError(f"unpacks to more than {MAX_LOG_BYTES / 1e9:.1f} GB; split it", path=path)
        with np.load(path, allow_pickle=False) as data:
            about = _about(bytes(data["about"].tobytes()).decode(), path)
            arrays = {name: data[name] for name in (*_ARRAYS, "wrench", "sent") if name in data}
        return Log(joint_names=tuple(about["joint_names"]), declared=about["declared"], **arrays)
    except KeyError as error:
        raise DataFileError(f"is no log: it lacks {error}", path=path) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, TypeError, NotImplementedError) as error:
        raise DataFileError(f"is damaged or no log: {error}", path=path) from error


def _about(text: str, path: str | Path) -> dict[str, Any]:
    try:
        about = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFileError(f"is no log: its description is not JSON ({error})", path=path) from error
    if not isinstance(about, dict) or not isinstance(about.get("declared", {}), dict):
        raise DataFileError("is no log: its description is not a table", path=path)
    if about.get("format") != FORMAT:
        raise DataFileError(f"has log format {about.get('format')!r}; this version reads {FORMAT}", path=path)
    return about


def _columns(log: Log) -> tuple[list[str], list[Array]]:
    """Return the header and the blocks of columns below it, flags left out."""
    parts = [("q", log.q), ("dq", log.dq), ("tau", log.tau)]
    if log.sent is not None:
        parts.append(("sent", log.sent))
    header = ["time", *(f"{part}.{joint}" for part, _ in parts for joint in log.joint_names)]
    blocks = [log.time[:, None], *(block for _, block in parts)]
    if log.wrench is not None:
        header += [f"wrench.{channel}" for channel in WRENCH]
        blocks.append(log.wrench)
    return [*header, "flags"], blocks


def _write_csv(log: Log, stream: BinaryIO) -> None:
    header, blocks = _columns(log)
    text = io.StringIO()
    text.write(f"{_TAG}{json.dumps({'format': FORMAT, 'declared': dict(log.declared)})}\n")
    csv.writer(text, lineterminator="\n").writerow(header)
    stream.write(text.getvalue().encode())
    for begin in range(0, len(log), CHUNK_ROWS):
        rows = np.hstack([block[begin : begin + CHUNK_ROWS] for block in blocks]).tolist()
        flags = log.flags[begin : begin + CHUNK_ROWS].tolist()
        for row, flag in zip(rows, flags, strict=True):
            stream.write(f"{','.join(map(repr, row))},{flag}\n".encode())


def _read_csv(path: str | Path) -> Log:
    with Path(path).open("rb") as stream:
        first = stream.readline(1_000_000)
        if not first.startswith(_TAG.encode()):
            raise DataFileError(f"does not begin with '{_TAG.strip()}'; it is no log of ours", path=path, line=1)
        about = _about(first[len(_TAG) :].decode(errors="replace"), path)
        header = _header(stream, path)
        groups = dict(_groups(header, path))
        joints = groups["q"]
        _skip_blank_lines(stream, path)
        try:
            table = np.loadtxt(stream, delimiter=",", comments=None, ndmin=2, dtype=np.float64, encoding="utf-8")
        except ValueError as error:
            raise _row_error(path, header) from error
    if table.shape[1] != len(header):
        raise _row_error(path, header)
    names = [name.partition(".")[0] for name in header]
    parts = {part: table[:, [i for i, name in enumerate(names) if name == part]] for part in groups}
    flags = parts.pop("flags")[:, 0]
    if not np.all((flags >= 0) & (flags < 2**31) & (flags == np.floor(flags))):
        raise DataFileError("has flags that are not whole numbers", path=path)
    return Log(
        joint_names=tuple(joints),
        time=parts.pop("time")[:, 0],
        flags=flags.astype(np.int64),
        declared=about.get("declared", {}),
        **parts,
    )


def _row_error(path: str | Path, header: list[str]) -> DataFileError:
    """Find the first line that is no row of numbers, and say so."""
    with Path(path).open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            fields = line.decode(errors="replace").strip().split(",")
            if number < 3 or fields == [""]:
                continue
            if len(fields) != len(header):
                return DataFileError(
                    f"has {len(fields)} fields here and {len(header)} in its header", path=path, line=number
                )
            for name, field in zip(header, fields, strict=True):
                if not _NUMBER.fullmatch(field.strip()):
                    return DataFileError(f"column {name} holds {field[:40]!r}, no number", path=path, line=number)
    return DataFileError("holds what is no table of numbers", path=path)


def _skip_blank_lines(stream: BinaryIO, path: str | Path) -> None:
    """Go to the first row of numbers."""
    while True:
        begin = stream.tell()
        line = stream.readline(10_000_000)
        if line.strip():
            stream.seek(begin)
            return
        if not line:
            raise DataFileError("has a header and no sample below it", path=path)


def _header(stream: BinaryIO, path: str | Path) -> list[str]:
    try:
        return next(csv.reader([stream.readline(10_000_000).decode()], strict=True), [])
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataFileError(f"has no readable header: {error}", path=path, line=2) from error


def _groups(header: list[str], path: str | Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the kinds of columns with the joints or channels they name, which must be the same for all."""
    found: dict[str, list[str]] = {}
    for name in header:
        part, _, joint = name.partition(".")
        found.setdefault(part, []).append(joint)
    joints = found.get("q", [])
    wanted = {"time": [""], "q": joints, "dq": joints, "tau": joints, "flags": [""]}
    optional = {"sent": joints, "wrench": list(WRENCH)}
    for part in found:
        if part not in wanted and part not in optional:
            raise DataFileError(f"has a column '{part}', which no log has", path=path, line=2)
    for part, expected in (wanted | optional).items():
        if part not in found and part in optional:
            continue
        if found.get(part) != expected:
            shown = ", ".join(f"{part}.{joint}" if joint else part for joint in expected)
            raise DataFileError(f"must have the columns {shown or part}, in this order", path=path, line=2)
        yield part, expected
