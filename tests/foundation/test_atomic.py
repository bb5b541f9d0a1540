"""Files are written whole or not at all, whoever writes them, is killed, or planted something beside them."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from counterpoise.cli.gravity import write_torques
from counterpoise.errors import DataFileError, InputError
from counterpoise.foundation import files as atomic
from counterpoise.foundation import write_atomically
from library.study_module import load_study

fcntl = pytest.importorskip("fcntl", reason="POSIX files")
study = load_study("atomic_files")
RIGHT = {"failed": 0, "corrupt": 0, "lost": 0}
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


def faults(found: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in found.items() if name in RIGHT}


def leftover(target: Path, *, age: float = 7200.0, token: str = "0" * 32) -> Path:
    """Plant what a killed process leaves beside a target."""
    place = target.with_name(f".counterpoise-{hashlib.sha256(target.name.encode()).hexdigest()[:16]}-{token}.tmp")
    place.write_bytes(b"half")
    os.utime(place, (time.time() - age,) * 2)
    return place


@pytest.mark.parametrize(
    ("groups", "same_pid"), [([("a", "b", "c", "d")], False), ([("a",), ("b",)], True)], ids=["threads", "containers"]
)
def test_many_writers(groups: list[tuple[str, ...]], same_pid: bool) -> None:
    """Threads, and processes with the same number: every save succeeds, no reader meets half a file, none is lost."""
    found = study.race(groups, 40, None, same_pid=same_pid, size=100_000)
    assert found["saves"] == 40 * sum(map(len, groups))
    assert found["reads"] > 0
    assert faults(found) == RIGHT


def test_killed_writers() -> None:
    """SIGKILL at random instants: the file is the last that was told to be saved, or the one after it."""
    found = study.killed(5, None, size=200_000)
    assert found["killed"] == 5
    assert faults(found) == RIGHT
    assert found["leftovers after an hour"] == 0


def test_planted_leftovers() -> None:
    """What lies there under any name that can be known before does no harm, and is not removed unless it is ours."""
    assert study.planted(None, 2) == {"saves": 2, "failed": 0, "foreign removed": 0}


def test_the_study_sees_faults(tmp_path: Path) -> None:
    """A checksum that does not fit is corrupt, and the same measurement finds a writer that is not atomic."""
    whole = study.content("a", 1, 1000)
    assert study.label(whole) == ("a", 1)
    assert study.label(whole[:-1]) is None
    source = tmp_path / "counterpoise"
    (source / "foundation").mkdir(parents=True)
    (source / "__init__.py").touch()
    (source / "errors.py").write_text("class CounterpoiseError(Exception): pass\n")
    (source / "foundation" / "__init__.py").write_text(
        "def write_atomically(path, content):\n    with open(path, 'wb') as stream:\n        content(stream)\n"
    )
    assert study.race([("a", "b")], 60, tmp_path, size=100_000)["corrupt"] > 0


@pytest.mark.parametrize("age", [10.0, 3500.0, 3700.0])
def test_leftovers_go_after_an_hour(tmp_path: Path, age: float) -> None:
    """Younger ones may still be written."""
    target = tmp_path / "gains.toml"
    place = leftover(target, age=age)
    write_atomically(target, b"new")
    assert place.exists() == (age < 3600.0)


def test_a_leftover_that_is_held_stays(tmp_path: Path) -> None:
    """A writer that takes more than an hour holds the lock of its file."""
    target = tmp_path / "gains.toml"
    place = leftover(target)
    with place.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_atomically(target, b"new")
        assert place.exists()
    write_atomically(target, b"new")
    assert not place.exists()


def test_a_writer_holds_its_temporary_file(tmp_path: Path) -> None:
    """While one thread writes, however long, another does not take its file for a leftover."""
    target = tmp_path / "log.npz"
    begun, done = threading.Event(), threading.Event()

    def slow(stream: BinaryIO) -> None:
        stream.write(b"slow")
        stream.flush()
        for place in tmp_path.iterdir():
            os.utime(place, (time.time() - 7200.0,) * 2)
        begun.set()
        done.wait(60.0)

    thread = threading.Thread(target=write_atomically, args=(target, slow))
    thread.start()
    assert begun.wait(60.0)
    write_atomically(target, b"quick")
    done.set()
    thread.join()
    assert target.read_bytes() == b"slow"
    assert [place.name for place in tmp_path.iterdir()] == ["log.npz"]


@ROOT
def test_leftovers_of_others_stay(tmp_path: Path) -> None:
    """The same user's only."""
    target = tmp_path / "gains.toml"
    place = leftover(target)
    os.chown(place, 65534, 65534)
    write_atomically(target, b"new")
    assert place.exists()


def test_leftovers_of_other_targets_stay(tmp_path: Path) -> None:
    """Each target removes its own."""
    places = [leftover(tmp_path / "other.toml"), leftover(tmp_path / "gains.toml", token="0" * 31)]
    write_atomically(tmp_path / "gains.toml", b"new")
    assert all(place.exists() for place in places)


def test_links_are_followed(tmp_path: Path) -> None:
    """The link stays, through several folders; the file behind it is replaced."""
    (tmp_path / "store").mkdir()
    (tmp_path / "links").mkdir()
    target = tmp_path / "store" / "arm.json"
    target.write_bytes(b"old")
    target.chmod(0o640)
    first, second = tmp_path / "links" / "first.json", tmp_path / "arm.json"
    first.symlink_to("../store/arm.json")
    second.symlink_to("links/first.json")
    write_atomically(second, b"new")
    assert (os.readlink(second), os.readlink(first)) == ("links/first.json", "../store/arm.json")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [place.name for place in (tmp_path / "store").iterdir()] == ["arm.json"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """Links that lead nowhere or in circles, folders, pipes, devices, open streams; nothing of them changes."""
    dangling, circle, fifo = tmp_path / "dangling", tmp_path / "circle", tmp_path / "fifo"
    dangling.symlink_to("absent.json")
    circle.symlink_to("circle")
    os.mkfifo(fifo)
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    for path, words in (
        (dangling, "absent.json', which is not there"),
        (circle, "circles"),
        (fifo, "pipe"),
        (tmp_path, "folder"),
        (Path("/dev/null"), "device"),
        (null, "device"),
        (Path("/dev/stdout"), "open stream"),
        (Path("/dev/fd/1"), "open stream"),
        (Path("/proc/self/fd/1"), "open stream"),
    ):
        with pytest.raises(DataFileError, match=f"cannot be written: .*{words}") as caught:
            write_atomically(path, b"new")
        assert caught.value.path == str(path)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["circle", "dangling", "fifo", "null"]
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_long_names(tmp_path: Path) -> None:
    """As long as the file system takes; the temporary name does not grow with it."""
    target = tmp_path / ("x" * 250 + ".json")
    for content in (b"one", b"two"):
        write_atomically(target, content)
        assert target.read_bytes() == content


def test_a_new_file_obeys_the_umask_and_an_old_one_is_never_wider(tmp_path: Path) -> None:
    """Also while it is written: a private file is not readable by others for a moment."""
    target = tmp_path / "private.json"
    modes: list[int] = []

    def write(stream: BinaryIO) -> None:
        modes.append(stat.S_IMODE(os.fstat(stream.fileno()).st_mode))
        stream.write(b"x")

    before = os.umask(0o027)
    try:
        write_atomically(target, write)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    target.chmod(0o400)
    write_atomically(target, write)
    assert stat.S_IMODE(target.stat().st_mode) == 0o400
    assert modes == [0o640, 0o400]


@ROOT
def test_the_owner_stays(tmp_path: Path) -> None:
    """Root does not take away a user's file."""
    target = tmp_path / "arm.json"
    target.touch()
    os.chown(target, 65534, 65534)
    write_atomically(target, b"new")
    assert (target.stat().st_uid, target.stat().st_gid) == (65534, 65534)


def test_errors_of_the_content_are_kept(tmp_path: Path) -> None:
    """What the writing function raises of ours is passed on as it is."""

    def refuse(stream: BinaryIO) -> None:
        raise InputError("no such joint")

    with pytest.raises(InputError, match=r"^no such joint$"):
        write_atomically(tmp_path / "x", refuse)
    assert not list(tmp_path.iterdir())


FULL = """
import resource, signal, sys
from counterpoise.errors import DataFileError
from counterpoise.foundation.files import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    write_atomically(sys.argv[1], bytes(100_000))
except DataFileError as error:
    print(error)
"""


def test_a_full_disk(tmp_path: Path) -> None:
    """The file cannot grow: our error, the old file unchanged, nothing left behind."""
    target = tmp_path / "log.npz"
    target.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", FULL, str(target)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{target}: cannot be written: {os.strerror(errno.EFBIG)}"
    assert target.read_bytes() == b"old"
    assert [place.name for place in tmp_path.iterdir()] == ["log.npz"]


@pytest.mark.parametrize("call", ["fsync", "write", "replace"])
def test_a_device_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """No space at any step: the same."""
    target = tmp_path / "log.npz"
    target.write_bytes(b"old")

    def fail(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    content: object = fail if call == "write" else b"new"
    if call != "write":
        monkeypatch.setattr(os, call, fail)
    with pytest.raises(DataFileError, match="cannot be written: No space left"):
        write_atomically(target, content)  # type: ignore[arg-type]
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert [place.name for place in tmp_path.iterdir()] == ["log.npz"]


def test_a_folder_that_cannot_be_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems flush no folders, which is no error; a device that fails is, and the message says what is."""
    true_fsync = os.fsync
    number = errno.EINVAL

    def fail(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        true_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    target = tmp_path / "log.npz"
    write_atomically(target, b"one")
    number = errno.EIO
    with pytest.raises(DataFileError, match=r"was written, but its folder was not flushed \(Input/output error\)"):
        write_atomically(target, b"two")
    assert target.read_bytes() == b"two"


def test_file_and_folder_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First the file, before it is in place, then the folder."""
    flushed: list[str] = []
    true_fsync = os.fsync

    def note(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        flushed.append(f"{'folder' if folder else 'file'}, {'new' if target.exists() else 'absent'}")
        true_fsync(descriptor)

    target = tmp_path / "log.npz"
    monkeypatch.setattr(os, "fsync", note)
    write_atomically(target, b"one")
    assert flushed == ["file, absent", "folder, new"]


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    """Our error; the file in it stays. Root may write anywhere but into /sys."""
    target = tmp_path / "log.npz" if os.geteuid() else Path("/sys/log.npz")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DataFileError, match=r"cannot be written: (Permission denied|Operation not|Read-only file)"):
            write_atomically(target, b"new")
    finally:
        tmp_path.chmod(0o700)


def test_windows_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses to replace a file that somebody reads; a moment later it does not, or never does."""
    target, partial = tmp_path / "log.npz", tmp_path / "partial"
    partial.write_bytes(b"new")
    true_replace, refused = os.replace, [PermissionError(errno.EACCES, "in use")] * 3

    def replace(*given: str) -> None:
        if refused:
            raise refused.pop()
        true_replace(*given)

    monkeypatch.setattr(os, "replace", replace)
    atomic._replace_on_windows(partial, target)
    assert target.read_bytes() == b"new"
    monkeypatch.setattr(atomic, "REPLACE_SECONDS", 0.0)
    refused.extend([PermissionError(errno.EACCES, "in use")] * 10**4)
    with pytest.raises(PermissionError):
        atomic._replace_on_windows(partial, target)


def test_torques_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line's torques: an old file stays when the new one cannot be written, and no link is broken."""
    target, link = tmp_path / "torques.csv", tmp_path / "link.csv"
    target.write_text("precious")
    link.symlink_to("torques.csv")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
        with pytest.raises(DataFileError, match="No space left"):
            write_torques(str(link), ["a"], np.zeros((3, 1)))
    assert target.read_text() == "precious"
    write_torques(str(link), ["a"], np.zeros((2, 1)))
    assert target.read_text() == "a\n0.0\n0.0\n"
    assert link.is_symlink()
