"""Files that made other libraries' exceptions leave the package: each gives one of ours, with the file's name."""

from __future__ import annotations

import os
import sqlite3
import struct
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import PD, ControlLoop
from counterpoise.errors import DataFileError, InputError
from counterpoise.recording.declared import Declared
from counterpoise.recording.log import Log, Sample
from counterpoise.tasks import read_gains
from library.ideal_arm import IdealArm

GOOD = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 1), }"


def array(header: str, data: bytes = bytes(32), version: int = 1) -> bytes:
    """Return a member of an archive."""
    text = header.encode("latin-1") + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 1), ",  # TokenError
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 1), } '''",
        "{'descr': [('a', '<f8', (1,)), 5], 'fortran_order': False, 'shape': (4, 1)}",  # TypeError
        "{'descr': 5, 'fortran_order': False, 'shape': (4, 1)}",
        "{5: 1, 'descr': '<f8', 'fortran_order': False, 'shape': 4}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4.0, 1)}",
        "{'descr': '<f8', 'fortran_order': 'no', 'shape': (4, 1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 400 + ",)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}",
        "(" * 500,
        "[" * 9000,
        "-" * 9000 + "1",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (4, 1)}",
        "{'descr': '<f8,<f8', 'fortran_order': False, 'shape': (4, 1)}",
        "{'descr': '<U" + "9" * 30 + "', 'fortran_order': False, 'shape': (4, 1)}",
        "\0",
        "",
        "5",
        "{'descr'}",
        "lambda: 1",
    ],
    ids=range(22),
)
@pytest.mark.parametrize("version", [1, 2])
def test_headers_of_arrays(tmp_path: Path, header: str, version: int) -> None:
    """No header makes another error, and none is executed."""
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", array(header, version=version))
    with pytest.raises(DataFileError, match=r"run\.npz"):
        cp.read_log(path)


def test_headers_of_any_length(tmp_path: Path) -> None:
    """A header that says to have gigabytes is not read."""
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", b"\x93NUMPY\2\0" + struct.pack("<I", 2**32 - 1) + bytes(10**7))
    with pytest.raises(DataFileError, match="header of an array has 4294967295 bytes"):
        cp.read_log(path)


def test_headers_of_python_2(tmp_path: Path) -> None:
    """Old and foreign ways to write a header are understood."""
    path = tmp_path / "run.npz"
    for header in (GOOD, GOOD.replace("4, 1", "4L, 1L"), GOOD.replace("'", '"'), "{'shape':(4,1)," + GOOD[1:]):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("q.npy", array(header))
        assert cp.read_log(path).q.shape == (4, 1)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("name", ["q.npy", "about.npy", "joint_names.npy"])
@pytest.mark.parametrize("damaged", [True, False])
def test_other_packing(tmp_path: Path, method: int, name: str, damaged: bool) -> None:
    """NumPy packs by deflate alone (LZMAError)."""
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(name, array(GOOD, os.urandom(32)))
    if damaged:
        data = bytearray(path.read_bytes())
        data[50:80] = bytes(30)
        path.write_bytes(data)
    with pytest.raises(DataFileError, match=r"run\.npz"):
        cp.read_log(path)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Characters beyond Unicode (SystemError) and bytes that are no UTF-8."""
    path = tmp_path / "run.npz"
    for kind, data in (("<U1", b"\xff\xff\xff\x7f"), ("<U1", b"\xff" * 4), ("|S1", b"\xff"), ("<U0", b"")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("q.npy", array(GOOD))
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (1,), }}"
            archive.writestr("joint_names.npy", array(header, data))
        with pytest.raises(DataFileError, match=r"run\.npz"):
            cp.read_log(path)


def database(path: Path, *statements: str) -> None:
    """Write a bag's database, from statements."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as made:
        made.text_factory = bytes
        for statement in statements:
            made.execute(statement)
        made.commit()


TOPICS = (
    "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)",
    "INSERT INTO topics VALUES (1, '/j', 'sensor_msgs/msg/JointState', 'cdr')",
)


@pytest.mark.parametrize("name", ["rowid", "oid", "_rowid_", "ROWID"])
@pytest.mark.parametrize("value", ["'x'", "NULL", "1e300", "x'00'", "9223372036854775807"])
@pytest.mark.parametrize("recover", [False, True])
def test_a_column_called_rowid(tmp_path: Path, name: str, value: str, recover: bool) -> None:
    """It hides the number of the row (ValueError, OverflowError)."""
    path = tmp_path / "bag.db3"
    database(
        path,
        *TOPICS,
        f"CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB, {name})",
        f"INSERT INTO messages VALUES (1, 1, 1, x'00010000', {value}), (2, 1, 1, x'00010000', {value})",
    )
    with pytest.raises(DataFileError, match="hides the number of the row"):
        cp.read_log(path, recover=recover)


@pytest.mark.parametrize("recover", [False, True])
def test_words_of_the_database_that_are_no_text(tmp_path: Path, recover: bool) -> None:
    """Names in the schema are bytes like any other (UnicodeDecodeError)."""
    path = tmp_path / "bag.db3"
    database(
        path,
        *TOPICS,
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)",
        "CREATE INDEX other_one ON messages(timestamp)",
        "INSERT INTO messages VALUES (1, 1, 1, x'00010000')",
    )
    whole = path.read_bytes()
    for word in (b"timestamp", b"serialization_format", b"other_one", b"messages", b"CREATE INDEX", b"CREATE TABLE"):
        for count in (1, 2, -1):
            path.write_bytes(whole.replace(word, b"\xff" * len(word), count))
            with pytest.raises(DataFileError, match=r"bag\.db3"):
                cp.read_log(path, recover=recover)


@pytest.mark.parametrize(
    "text",
    [
        "kp = " + "[" * 5000,
        "a." * 5000 + "b = 1",
        "kp = " + "9" * 5000,
        'schema = "counterpoise/gains-1"\nlaw = "pd"\njoints = ["a"]\nkp = [1]\nkd = [1]\nki = [0]\nk_int = ['
        + "9" * 400
        + "]",
        "kp = nan",
        "\udcff",
        "x" * 9_000_000,
    ],
    ids=range(7),
)
def test_gains(tmp_path: Path, text: str) -> None:
    """Nested without end (RecursionError), numbers without end (ValueError), no text, too large."""
    path = tmp_path / "gains.toml"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(DataFileError, match=r"gains\.toml"):
        read_gains(path)


def test_gains_from_a_pipe_do_not_wait(tmp_path: Path) -> None:
    """What is no regular file is refused, of gains and of recordings."""
    for name, read in (("gains.toml", read_gains), ("run.csv", cp.read_log)):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DataFileError, match="not a regular file"):
            read(tmp_path / name)


def test_times_and_numbers_without_end() -> None:
    """A sample's time of 400 digits, and numbers that are declared."""
    zero = np.zeros(1)
    with pytest.raises(InputError, match="sample 0 does not fit"):
        Log.from_samples([Sample(10**400, zero, zero, zero)], ["a"])
    with pytest.raises(InputError, match="gravity_base"):
        Declared(gravity_base=[0, 0, -(10**400)])
    with pytest.raises(InputError):
        cp.load("pendulum").gravity([10**400])


class Endless(IdealArm):
    """Its clock jumps to a number of 400 digits."""

    def read(self) -> Sample:
        sample = super().read()
        if self.ticks < 20:
            return sample
        return Sample(10**400, sample.q, sample.dq, sample.tau, sample.wrench, sample.flags)


def test_a_clock_without_end_stops_the_arm() -> None:
    """The loop that records it ends by the safe stop, not by an exception of its own."""
    robot = cp.load("pendulum")
    arm = Endless(robot)
    with arm, pytest.raises(cp.SafetyError, match="time") as caught:
        ControlLoop(arm, [PD([1.0], [0.1])], robot).run(0.1, log=True)
    assert caught.value.report.log is not None
    assert len(caught.value.report.log) >= 20
