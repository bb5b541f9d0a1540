"""Unpacking the chunks of bags, never beyond the size that is allowed."""

from __future__ import annotations

import bz2
import sys
from importlib import import_module
from typing import Any

from ...errors import MissingExtraError
from .batch import MAX_CHUNK_BYTES, DamagedError

ZSTD_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""Python's own zstd module (from 3.14 on) or its backport."""
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def check_sizes(packed: int, size: int) -> None:
    """Refuse a chunk by what it claims, before it is read: packing hardly makes anything larger.

    Raises:
        DamagedError: A size is more than is unpacked, or the two do not belong together.
    """
    if size > MAX_CHUNK_BYTES:
        raise DamagedError(
            f"a chunk claims {size / 2**20:.0f} MiB, at most {MAX_CHUNK_BYTES / 2**20:.0f} MiB are unpacked"
        )
    if packed > 2 * size + 1024:
        raise DamagedError(f"a chunk of {size} bytes is said to be packed into {packed}")


def unpack(
    compression: str, data: bytes, size: int | None, *, cut: bool = False, limit: int = MAX_CHUNK_BYTES
) -> bytes:
    """Return the contents of a chunk.

    Args:
        compression: ``zstd``, ``lz4`` (the frame format), ``bz2``; empty or ``none``: the data as it is.
        data: The packed bytes.
        size: Size of the contents, as the file claims it and check_sizes has seen; None where it does not.
        cut: The data may end early; what can be unpacked is returned.
        limit: Largest size that is unpacked where none is claimed.

    Raises:
        DamagedError: The data are damaged, or their contents are not as large as claimed or larger than allowed.
        MissingExtraError: The library for this compression is not installed.
    """
    allowed = limit if size is None else size
    if compression in ("", "none"):
        contents = data
    else:
        machine = _decompressor(compression)
        try:
            # One byte more than claimed: a chunk that holds more than it says is refused, not cut.
            contents = machine.decompress(data, max_length=allowed + 1)
        except (OSError, EOFError, ValueError, RuntimeError, _zstd_error(compression)) as error:
            raise DamagedError(f"a {compression} chunk cannot be unpacked: {error}") from error
        if not cut and not machine.eof and len(contents) <= allowed:
            raise DamagedError(f"a {compression} chunk ends early")
    if len(contents) > allowed:
        raise DamagedError(f"a chunk holds more than the {allowed} bytes it may")
    if size is not None and len(contents) < size and not cut:
        raise DamagedError(f"a chunk holds {len(contents)} bytes instead of {size}")
    return contents


def _decompressor(compression: str) -> Any:
    """Return an object with ``decompress(data, max_length)`` and ``eof``."""
    if compression == "bz2":
        return bz2.BZ2Decompressor()
    if compression == "lz4":
        try:
            return import_module("lz4.frame").LZ4FrameDecompressor()
        except ImportError as error:
            raise MissingExtraError("reading a bag compressed with lz4", "ros") from error
    if compression == "zstd":
        return _zstd().ZstdDecompressor()
    raise DamagedError(f"a chunk is compressed with {compression!r}; zstd, lz4, bz2 and none are known")


def _zstd() -> Any:
    try:
        return import_module(ZSTD_MODULE)
    except ImportError as error:
        raise MissingExtraError("reading a bag compressed with zstd", "ros") from error


def _zstd_error(compression: str) -> type[Exception]:
    """Return the exception of the zstd module, which derives from Exception alone."""
    if compression != "zstd":
        return ValueError
    error: type[Exception] = _zstd().ZstdError
    return error
