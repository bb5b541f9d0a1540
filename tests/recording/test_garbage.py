"""Rows of garbage in recordings: named with file and line, or left out, and no others with them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.errors import DataFileError
from counterpoise.recording.garbage import SHOWN
from counterpoise.recording.log import joined
from counterpoise.recording.reading import stream_log
from library.simulated_motion import recording

WAM = cp.load("wam7")
NAMES = ["time", *(f"{part}.{joint}" for part in ("position", "velocity", "effort") for joint in WAM.joint_names)]
Garble = Callable[[list[str], np.random.Generator], str]


def _huge(fields: list[str], random: np.random.Generator) -> str:
    for at in random.choice(len(fields), size=int(random.integers(1, 4)), replace=False).tolist():
        fields[at] = f"{random.choice([-1.0, 1.0]) * 10.0 ** random.uniform(30, 300):.6g}"
    return ",".join(fields)


def _misaligned(fields: list[str], random: np.random.Generator) -> str:
    """The packet of float64 read from a wrong byte on."""
    packet = struct.pack(f"<{len(fields)}d", *map(float, fields))
    shift = int(random.integers(1, 8))
    values = list(struct.unpack(f"<{len(fields) - 1}d", packet[shift : shift + 8 * (len(fields) - 1)]))
    values.append(1e200)  # whatever follows the packet
    return ",".join(map(repr, values))


def _text(fields: list[str], random: np.random.Generator) -> str:
    fields[int(random.integers(len(fields)))] = str(random.choice(["ERR", "0x1F", "1.2.3", "--", "1.5e", "true", "?"]))
    return ",".join(fields)


def _fewer(fields: list[str], random: np.random.Generator) -> str:
    return ",".join(fields[: int(random.integers(1, len(fields)))])


def _more(fields: list[str], random: np.random.Generator) -> str:
    return ",".join([*fields, *fields[: int(random.integers(1, len(fields)))]])


def _quote(fields: list[str], random: np.random.Generator) -> str:
    fields[int(random.integers(len(fields)))] = '"1.5'
    return ",".join(fields)


def _binary(fields: list[str], random: np.random.Generator) -> str:
    return "\x01" + "".join(chr(int(code)) for code in random.choice([0, 3, 27, 200, 65, 44], size=30)) + "z"


KINDS: tuple[Garble, ...] = (_huge, _misaligned, _text, _fewer, _more, _quote, _binary)


def rows_of(seed: int, seconds: float = 3.0) -> list[str]:
    log = recording(WAM, seed, noise=0.05, seconds=seconds)
    return [",".join(map(repr, row)) for row in np.column_stack([log.time, log.q, log.dq, log.tau]).tolist()]


def write(path: Path, rows: list[str], names: list[str] = NAMES) -> Path:
    path.write_bytes(("\n".join([",".join(names), *rows]) + "\n").encode("latin-1"))
    return path


def same(first: cp.Log, second: cp.Log) -> bool:
    parts = ("time", "q", "dq", "tau", "flags")
    return all(np.array_equal(getattr(first, part), getattr(second, part), equal_nan=True) for part in parts)


@pytest.mark.parametrize("seed", range(30))
def test_garbage_is_named_by_line_and_nothing_else_is_left_out(tmp_path: Path, seed: int) -> None:
    """Random garbage in place of random rows, comments and blank lines between: exactly these lines."""
    random = np.random.default_rng([5, seed])
    rows = rows_of(seed)
    count = int(random.integers(1, 30))
    at = sorted(random.choice(np.arange(1, len(rows)), size=count, replace=False).tolist())
    clean = write(tmp_path / "clean.csv", [row for index, row in enumerate(rows) if index not in at])
    lines, where = [], []
    for index, row in enumerate(rows):
        if random.random() < 0.05:
            lines.append(str(random.choice(["", "# a comment", "   "])))
        if index in at:
            where.append(len(lines) + 2)
            lines.append(KINDS[int(random.integers(len(KINDS)))](row.split(","), random))
        else:
            lines.append(row)
    path = write(tmp_path / "run.csv", lines)
    with pytest.raises(DataFileError, match=r"recover=True \(--recover\) leaves") as caught:
        cp.read_log(path, WAM)
    assert caught.value.path == str(path) and caught.value.line == where[0]
    if count > 1:
        more = f" and {count - SHOWN} more" if count > SHOWN else ""
        told = f"{count} rows are garbage: lines {', '.join(map(str, where[:SHOWN]))}{more};"
        assert told in str(caught.value)
    log = cp.read_log(path, WAM, recover=True)
    assert same(log, cp.read_log(clean, WAM))
    (entry,) = log.declared.notes["recovered"]
    assert entry["file"] == "run.csv" and entry["left_out"] == count and entry["rows"] == len(rows) - count
    pieces = list(stream_log(path, WAM, recover=True, rows=int(random.integers(1, 50))))
    assert same(joined(pieces), log)


def test_files_that_are_joined_row_by_row_lose_the_same_rows(tmp_path: Path) -> None:
    """Garbage in one of two files without time: the rows of the other stay beside their own."""
    rows = [row.split(",") for row in rows_of(0)]
    positions = write(tmp_path / "q.csv", [",".join(row[1:8]) for row in rows], NAMES[1:8])
    efforts = [",".join(row[15:]) for row in rows]
    efforts[100] = "garbage"
    efforts[200] = ",".join(["1e99"] * 7)
    other = write(tmp_path / "tau.csv", efforts, NAMES[15:])
    mapping = {"time": {"rate": 100.0}}
    with pytest.raises(DataFileError, match=r"tau.csv:102: column .* not a number.*lines 102, 202"):
        cp.read_log([positions, other], WAM, mapping)
    log = cp.read_log([positions, other], WAM, mapping, recover=True)
    kept = [index for index in range(len(rows)) if index not in (100, 200)]
    assert np.array_equal(log.q, np.array([row[1:8] for row in rows], dtype=float)[kept])
    assert np.array_equal(log.tau, np.array([row[15:] for row in rows], dtype=float)[kept])
    assert np.allclose(log.time, np.array(kept) / 100.0)


def test_garbage_of_a_follower_is_not_interpolated(tmp_path: Path) -> None:
    """Two files merged on time: what the second holds at a row of garbage comes from its neighbours."""
    rows = [row.split(",") for row in rows_of(0)]
    lead = write(tmp_path / "q.csv", [",".join(row[:8]) for row in rows], NAMES[:8])
    efforts = [",".join([row[0], *row[15:]]) for row in rows]
    efforts[100] = ",".join([rows[100][0], *["1e99"] * 7])
    other = write(tmp_path / "tau.csv", efforts, [NAMES[0], *NAMES[15:]])
    log = cp.read_log([lead, other], WAM, recover=True)
    assert len(log) == len(rows)
    near = 0.5 * (np.array(rows[99][15:], dtype=float) + np.array(rows[101][15:], dtype=float))
    np.testing.assert_allclose(log.tau[100], near, rtol=1e-9)


def test_arrays_with_garbage_are_named_by_row(tmp_path: Path) -> None:
    """An NPZ file has rows instead of lines."""
    log = recording(WAM, 0, seconds=2.0)
    q = log.q.copy()
    q[50, 2] = 1e242
    np.savez(tmp_path / "run.npz", time=log.time, position=q, velocity=log.dq, effort=log.tau)
    with pytest.raises(DataFileError, match=r"run.npz: row 51: .*1e\+242"):
        cp.read_log(tmp_path / "run.npz", WAM)
    kept = np.delete(np.arange(len(log)), 50)
    assert same(cp.read_log(tmp_path / "run.npz", WAM, recover=True)[kept[0] : 50], log[:50])


def test_files_that_are_mostly_garbage_are_no_recordings(tmp_path: Path) -> None:
    """Leaving out most of a file would be a claim that the rest is sound."""
    rows = rows_of(0, seconds=1.0)
    path = write(tmp_path / "run.csv", [row if index % 3 == 0 else "a,b" for index, row in enumerate(rows)])
    for recover in (False, True):
        with pytest.raises(DataFileError, match="is this a table of numbers"):
            cp.read_log(path, WAM, recover=recover)


def test_not_measured_is_no_garbage(tmp_path: Path) -> None:
    """NaN and inf say that nothing was measured there; the sample is flagged."""
    rows = rows_of(0)
    for index in range(50, 60):
        fields = rows[index].split(",")
        fields[3] = "nan" if index % 2 else "inf"
        rows[index] = ",".join(fields)
    log = cp.read_log(write(tmp_path / "run.csv", rows), WAM)
    assert len(log) == len(rows) and np.count_nonzero(log.flags) == 10
