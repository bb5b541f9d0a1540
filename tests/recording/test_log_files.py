"""Logs in files: exact round trips, refusals by line, never half a file."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import DataFileError
from counterpoise.foundation import write_atomically
from counterpoise.recording.declared import Declared
from counterpoise.recording.log import Log
from counterpoise.recording.own_format import write_log
from counterpoise.recording.reading import read_log

ENDINGS = (".npz", ".csv", ".parquet")
NAMES = ("shoulder", 'el"bow, left', "q.roll")

DECLARED = Declared(
    effort_kind="torque",
    effort_side="link",
    motor_per_link=[[1.0, 0.1, 0.0], [0.0, -48.0, 0.0], [0.0, 1.0 / 3.0, 1.0]],
    torque_constant=[0.1, 0.2, 0.3],
    adds_gravity=False,
    T_base_sensor=np.eye(4),
    gravity_base=[0.0, 0.1, -9.8],
    notes={"by": "Größe, 1 \n 2", "list": [1, 2.5, None]},
)


def example(count: int = 5, *, wrench: bool = True, sent: bool = True) -> Log:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(count, 3)) * 10.0 ** rng.integers(-300, 300, size=(count, 3))
    return Log(
        NAMES,
        np.linspace(0.1, 1.0, count),
        rows,
        -rows,
        np.where(rng.uniform(size=rows.shape) < 0.2, np.nan, rows),
        wrench=rng.normal(size=(count, 6)) if wrench else None,
        flags=np.arange(count),
        sent=rows / 3.0 if sent else None,
        declared=DECLARED,
    )


def assert_same(one: Log, other: Log) -> None:
    assert one.joint_names == other.joint_names
    assert one.declared == other.declared
    for name in ("time", "q", "dq", "tau", "wrench", "flags", "sent"):
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None)
        if first is not None:
            assert np.array_equal(first, second, equal_nan=True), name


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("wrench", [True, False])
@pytest.mark.parametrize("sent", [True, False])
def test_round_trip(tmp_path: Path, ending: str, wrench: bool, sent: bool) -> None:
    """What is read is what was written, bit by bit, names with commas and quotes included."""
    log = example(wrench=wrench, sent=sent)
    path = tmp_path / f"run{ending}"
    write_log(log, path)
    assert_same(log, read_log(path))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@given(
    st.lists(st.lists(st.floats(), min_size=4, max_size=4), min_size=1, max_size=4),
    st.sampled_from(ENDINGS),
)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip_of_any_float(tmp_path: Path, rows: list[list[float]], ending: str) -> None:
    """NaN, infinity and subnormals survive both formats."""
    table = np.array(rows)
    log = Log(("one",), table[:, 0], table[:, 1:2], table[:, 2:3], table[:, 3:4])
    path = tmp_path / f"any{ending}"
    write_log(log, path)
    assert_same(log, read_log(path))


def test_csv_is_readable_by_others(tmp_path: Path) -> None:
    """One comment line, one header, numbers."""
    path = tmp_path / "run.csv"
    zeros = np.zeros((2, 1))
    write_log(Log(("one",), np.arange(2.0), zeros, zeros, zeros, declared=Declared(effort_kind="current")), path)
    lines = path.read_text().splitlines()
    about = '{"format": 1, "joint_names": ["one"], "declared": {"effort_kind": "current"}}'
    assert lines[0] == f"# counterpoise-log {about}"
    assert lines[1] == "time,q.one,dq.one,tau.one,flags"
    assert lines[2:] == ["0.0,0.0,0.0,0.0,0", "1.0,0.0,0.0,0.0,0"]


HEAD = '# counterpoise-log {"format": 1, "joint_names": ["a"], "declared": {}}\n'
COLUMNS = "time,q.a,dq.a,tau.a,flags\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "is empty"),
        ("# counterpoise-log {broken\n" + COLUMNS + "0,0,0,0,0\n", 1, "not JSON"),
        ("# counterpoise-log [1]\n" + COLUMNS + "0,0,0,0,0\n", 1, "not a table"),
        ('# counterpoise-log {"format": 2}\n' + COLUMNS + "0,0,0,0,0\n", 1, "format 2; this version reads 1"),
        ('# counterpoise-log {"format": 1}\n' + COLUMNS + "0,0,0,0,0\n", 1, "does not name the joints"),
        (HEAD.replace('["a"]', '["a", "a"]') + COLUMNS + "0,0,0,0,0\n", 1, "not all different"),
        (HEAD.replace("{}}", '{"effort_kind": 3}}') + COLUMNS + "0,0,0,0,0\n", 1, "effort_kind"),
        (HEAD.replace("{}}", '{"mood": 3}}') + COLUMNS + "0,0,0,0,0\n", 1, "has no 'mood'"),
        (HEAD, None, "no rows"),
        (HEAD + "time,q.a,dq.a,tau.a\n0,0,0,0\n", 2, "lacks the columns flags"),
        (HEAD + "time,q.a,dq.b,tau.a,flags\n0,0,0,0,0\n", 2, r"dq\.a"),
        (HEAD + "time,q.a,dq.a,tau.a,flags,mood\n0,0,0,0,0,0\n", 2, "mood"),
        (HEAD + "time,q.a,dq.a,tau.a,wrench.fx,flags\n0,0,0,0,0,0\n", 2, r"wrench\.fy"),
        (HEAD + 'time,"q.a\n', 2, "quote"),
        (HEAD + COLUMNS, 2, "no row"),
        (HEAD + COLUMNS + "\n\n", 2, "no row"),
        (HEAD + COLUMNS + "0,0,0,0\n", 3, "4 fields"),
        (HEAD + COLUMNS + "0,0,0,0,0\n1,0,x,0,0\n", 4, r"dq\.a' holds 'x'"),
        (HEAD + COLUMNS + "\n0,0,0,0,0\n\n1,0,0,0\n", 6, "4 fields here and 5"),
        (HEAD + COLUMNS + "0,0,0,0,0.5\n", None, "flags"),
        (HEAD + COLUMNS + "0,0,0,0,-1\n", None, "flags"),
        (HEAD + COLUMNS + "0,0,0,0,nan\n", None, "flags"),
    ],
)
def test_bad_csv_is_refused_by_line(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    """The message names the file, the line and what is wrong."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataFileError, match=words) as caught:
        read_log(path)
    assert caught.value.path == str(path)
    assert caught.value.line == line


def test_bad_npz_is_refused(tmp_path: Path) -> None:
    """Truncated, foreign, incomplete, pickled or inconsistent: one error of ours."""
    good = tmp_path / "good.npz"
    write_log(example(), good)
    data = good.read_bytes()
    bad = tmp_path / "bad.npz"
    about = np.frombuffer(b'{"format": 1, "joint_names": ["a"], "declared": {}}', dtype=np.uint8)
    zeros = np.zeros((2, 1))
    table: dict[str, Any] = {"time": np.arange(2.0), "q": zeros, "dq": zeros, "tau": zeros, "flags": np.zeros(2, int)}
    contents: list[bytes | dict[str, Any]] = [
        b"",
        b"PK\x03\x04 not really",
        data[: len(data) // 2],
        data[:100] + bytes(200) + data[300:],
        {"x": np.zeros(3)},
        {"about": about},
        {"about": about, **table, "q": np.zeros((3, 1))},
        {"about": about, **table, "q": np.array([["a"], ["b"]])},
        {"about": np.frombuffer(b"[]", dtype=np.uint8), **table},
        {"about": np.frombuffer(b'{"format": 1, "declared": {}, "joint_names": 5}', dtype=np.uint8), **table},
        {"about": np.array([{}], dtype=object), **table},
        {"about": np.frombuffer(b"\xff\xfe", dtype=np.uint8), **table},
    ]
    for content in contents:
        if isinstance(content, bytes):
            bad.write_bytes(content)
        else:
            np.savez(bad, **content)
        with pytest.raises(DataFileError):
            read_log(bad)


@given(st.data())
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_give_a_log_or_our_error(tmp_path: Path, data: st.DataObject) -> None:
    """Any change of bytes is either harmless or refused."""
    ending = data.draw(st.sampled_from(ENDINGS))
    path = tmp_path / f"damaged{ending}"
    write_log(example(2), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    with contextlib.suppress(DataFileError):
        log = read_log(path)
        assert log.q.shape == log.tau.shape == (len(log), len(log.joint_names))


def test_paths(tmp_path: Path) -> None:
    """Absent files, folders, other endings, NUL bytes: refused with our error."""
    log = example()
    for path in (tmp_path / "run.txt", tmp_path / "run"):
        with pytest.raises(DataFileError, match=r"\.npz, \.csv, \.parquet"):
            write_log(log, path)
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path / "absent.csv", tmp_path / "folder.csv", tmp_path / "no" / "run.npz", Path("nul\0.csv")):
        with pytest.raises(DataFileError, match=r"cannot be read|is a directory"):
            read_log(path)
    for path in (tmp_path / "folder.csv", tmp_path / "no" / "run.npz", Path("nul\0.csv")):
        with pytest.raises(DataFileError, match="cannot be written"):
            write_log(log, path)
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(".tmp")]


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """An exception half way, of whatever kind, changes nothing and leaves nothing behind."""
    path = tmp_path / "run.csv"
    path.write_text("precious")

    def half(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, half)
    assert path.read_text() == "precious"
    assert [file.name for file in tmp_path.iterdir()] == ["run.csv"]


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_permissions_are_kept(tmp_path: Path) -> None:
    """A new file has the usual permissions, a replaced one keeps its own."""
    path, plain = tmp_path / "run.npz", tmp_path / "plain"
    plain.touch()
    write_log(example(), path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    write_log(example(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_public_names() -> None:
    """The log, its reader and its writer are public."""
    assert (cp.Log, cp.read_log, cp.write_log) == (Log, read_log, write_log)
