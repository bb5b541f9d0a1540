"""Files read in bounded size, and written so that readers find the old one or the new one, never half of either."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import CounterpoiseError, DataFileError, ModelFileError, reason_of

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


if sys.platform != "win32":
    import fcntl

LEFTOVER_AGE = 3600.0
"""Age [s] from which a temporary file that nobody holds is the leftover of a process that was killed."""
MAX_LINKS = 40
"""Symbolic links that are followed, as many as Linux follows."""
STREAM_FOLDERS = ("/proc", "/dev/fd")
"""Where the names of open streams are: /dev/stdout leads there, whatever standard output is."""
REPLACE_SECONDS = 2.0
"""How long Windows is asked again [s]: it refuses to replace a file while another process has it open."""
_NOT_FLUSHED = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)
"""What the system says of a folder that it cannot open or flush by itself."""


def write_atomically(path: str | Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    """Write a file beside its final name, flush it to the disk, then put it in place.

    Any number of threads, processes and machines may write the same file: each writes a temporary file of its own, with
    a name that nobody can guess, and the last to finish wins. A process that is killed leaves the old file and its
    temporary file, which a later write of the same file removes after an hour.

    A symbolic link to a file is followed: the link stays, the file behind it is replaced. A link that leads nowhere or
    in circles, a folder, a pipe, a device and /dev/stdout are refused. A hard link is not followed: the other name
    keeps the old content.

    Args:
        path: The file; replaced if it exists, keeping its permissions and, where allowed, its owner. A new one has the
            permissions that the umask gives.
        content: The bytes, or a function that writes them to the stream it is given.

    Raises:
        DataFileError: The file cannot be written; an existing one is then unchanged.
    """
    try:
        target = _final(Path(path))
        old = _old(target)
        _remove_leftovers(target)
        _replace(target, old, content)
    except (OSError, ValueError) as error:  # ValueError: also a NUL byte in the path, or a path without a name
        if isinstance(error, CounterpoiseError):
            raise
        raise DataFileError(f"cannot be written: {reason_of(error)}", path=path) from error
    try:
        _flush_folder(target.parent)
    except OSError as error:
        told = f"was written, but its folder was not flushed ({reason_of(error)}): a power cut may undo it"
        raise DataFileError(told, path=path) from error


def _final(path: Path) -> Path:
    """Return the file that a path leads to through symbolic links.

    Raises:
        ValueError: It leads nowhere, in circles or to an open stream.
    """
    place = path
    for _ in range(MAX_LINKS):
        folder = Path(os.path.realpath(place.parent))
        if any(folder.is_relative_to(streams) for streams in STREAM_FOLDERS):
            raise ValueError("it is an open stream; give the name of a file")
        if not place.is_symlink():
            if place is not path and not place.exists():
                raise ValueError(f"it is a symbolic link to '{place}', which is not there; remove the link")
            return place
        place = place.parent / os.readlink(place)
    raise ValueError("it is a symbolic link that leads in circles; remove it")


def _old(target: Path) -> os.stat_result | None:
    """Return the status of the file that is replaced; None where there is none.

    Raises:
        ValueError: What is there is no regular file.
    """
    try:
        old = target.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(old.st_mode):
        kind = "folder" if stat.S_ISDIR(old.st_mode) else "pipe, a socket or a device"
        raise ValueError(f"it is a {kind}; give the name of a file")
    return old


def _replace(target: Path, old: os.stat_result | None, content: bytes | Callable[[BinaryIO], object]) -> None:
    # The first mode of the temporary file is never wider than that of the file it replaces.
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o600
    partial = target.with_name(f"{_prefix(target)}{secrets.token_hex(16)}.tmp")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(partial, flags, mode)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            _lock(descriptor)
            if isinstance(content, bytes):
                stream.write(content)
            else:
                content(stream)
            stream.flush()
            if old is not None:
                _keep_permissions(descriptor, old)
            os.fsync(descriptor)
            if sys.platform != "win32":
                partial.replace(target)  # under the lock: nobody takes the finished file for a leftover
        if sys.platform == "win32":
            _replace_on_windows(partial, target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _prefix(target: Path) -> str:
    """Return what the names of a target's temporary files begin with; as long for a long name as for a short one."""
    return f".counterpoise-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


def _lock(descriptor: int) -> bool:
    """Hold a file until it is closed; False where another has it or the file system knows no locks."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _keep_permissions(descriptor: int, old: os.stat_result) -> None:
    """Give a new file the owner, where that is allowed, and the permissions of the old one."""
    if sys.platform == "win32":
        return
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _replace_on_windows(partial: Path, target: Path) -> None:
    end = time.monotonic() + REPLACE_SECONDS
    while True:
        try:
            partial.replace(target)
        except PermissionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of the same target that killed processes of the same user left behind.

    Not on Windows, where nothing tells whether somebody still writes them.
    """
    if sys.platform == "win32":
        return
    ours = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{32}\.tmp")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_leftover(entry.path)


def _remove_leftover(path: str) -> None:
    if sys.platform == "win32" or not stat.S_ISREG(os.lstat(path).st_mode):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        owned = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if owned and time.time() - found.st_mtime > LEFTOVER_AGE and _lock(descriptor):
            now = os.lstat(path)
            if (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino):
                os.unlink(path)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the system lets a folder be flushed."""
    if sys.platform == "win32":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NOT_FLUSHED:
            raise
